"""What a capture records, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from tg_core import Tensor
from tg_core.device import buffer_of, new_buffer_uop
from tg_core.engine.capture import Capture, Unrecorded, capturing, shared_memory
from tg_core.errors import JitError


def test_what_runs_outside_is_not_recorded() -> None:
    x = Tensor(np.arange(4, dtype=np.float32)).realize()
    with Capture() as capture:
        assert capturing()
        (x + 1).realize()
        with Unrecorded():
            assert capturing()
            (x + 2).realize()
        (x + 3).realize()
    assert not capturing()
    (x + 4).realize()
    assert len(capture.entries) == 2


def test_memory_with_two_names_is_refused_when_it_is_written() -> None:
    x = Tensor(np.arange(4, dtype=np.float32)).realize()
    own = new_buffer_uop("CPU", 4, x.dtype, buffer_of(x.uop))
    argument = Tensor._from_uop(own)
    with Capture({own: "args[0]"}):
        assert (argument + x).tolist() == [0.0, 2.0, 4.0, 6.0]
        with pytest.raises(JitError, match=r"args\[0\] is storage that the function also uses"):
            x.assign(argument + 1).realize()
    assert buffer_of(own).numpy().tolist() == [0.0, 1.0, 2.0, 3.0]  # type: ignore[union-attr]  # it has one


def test_errors_name_the_arguments() -> None:
    assert "args[0] and x share memory" in str(shared_memory("args[0]", "x"))
    assert "x is storage" in str(shared_memory("x", None))
