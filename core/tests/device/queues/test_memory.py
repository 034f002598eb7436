from __future__ import annotations

import numpy as np
import pytest

from tg_core.device.queues import HCQBuffer
from tg_core.errors import DeviceError


class Owner:
    name = "X"


def buffer(host: bool = True) -> tuple[HCQBuffer, np.ndarray]:
    cells = np.arange(64, dtype=np.uint8)
    view = cells.data if host else None
    return HCQBuffer(Owner(), 0x1000, 64, view, meta="m", in_host=True), cells  # type: ignore[arg-type]  # only the name is read


def test_parts_are_offsets_into_one_allocation() -> None:
    whole, cells = buffer()
    part = whole.part(8, 16).part(4, 8)
    assert (part.address, part.nbytes, part.meta, part.in_host) == (0x100C, 8, "m", True)
    assert part.base is whole
    assert part.mapped is whole.mapped
    assert part.host_bytes().tolist() == list(range(12, 20))
    assert part.host_address == int(cells.ctypes.data) + 12


def test_memory_without_a_view_says_so() -> None:
    whole, _ = buffer(host=False)
    with pytest.raises(DeviceError, match="X: memory at 0x1010 has no view of the host"):
        whole.part(16, 4).host_bytes()
    with pytest.raises(DeviceError, match="no view"):
        _ = whole.host_address
