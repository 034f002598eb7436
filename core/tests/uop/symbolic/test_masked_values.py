"""Counters that are padded or joined still become index arithmetic."""

import numpy as np
import pytest

from tg_core.codegen.simplify_kernel import simplify_kernel
from tg_core.tensor import Tensor
from tg_core.uop.ops import Ops

COUNTERS = {
    "joined": (
        lambda: Tensor.arange(50).cat(Tensor.arange(30)),
        np.concatenate([np.arange(50), np.arange(30)]),
    ),
    "padded": (lambda: Tensor.arange(40).pad((3, 5)), np.pad(np.arange(40), (3, 5))),
    "stacked": (
        lambda: Tensor.arange(9).stack(Tensor.arange(9) * 2),
        np.stack([np.arange(9), np.arange(9) * 2]),
    ),
}


@pytest.mark.parametrize("name", COUNTERS)
def test_no_loop_is_left(name: str) -> None:
    build, wanted = COUNTERS[name]
    linear = build().clone().schedule_linear()
    kernels = [call.src[0] for call in linear.src if call.src[0].op is Ops.SINK]
    assert kernels
    for kernel in kernels:
        assert all(n.op is not Ops.REDUCE for n in simplify_kernel(kernel).toposort())
    np.testing.assert_array_equal(build().numpy(), wanted)
