"""REF runs kernels with the interpreter, or as native functions of the host."""

from __future__ import annotations

import numpy as np
import pytest

from tg_conformance.refdev.kernels import NATIVE, NativeRenderer, read_kernel
from tg_conformance.refdev.packets import pack_image, unpack_image
from tg_core import Device, Tensor, TinyJit, Variable
from tg_core.codegen import compile_program
from tg_core.config import Context
from tg_core.dtype import dtypes
from tg_core.uop.ops import KernelInfo, UOp

SIZE = 8


def kernel() -> UOp:
    """Return the kernel `out = in * n`."""
    out, given = (UOp.param(slot, dtypes.float32, (SIZE,), "REF") for slot in (0, 1))
    n = UOp.variable("n", 0, 99, slot=2)
    i = UOp.range(SIZE, 0)
    value = given.index(i).load() * n.cast(dtypes.float32)
    return UOp.sink(out.index(i).store(value).end(i), arg=KernelInfo("scale", ()))


def test_both_texts_say_what_the_arguments_are() -> None:
    texts = [
        compile_program(kernel(), renderer).src[3].arg
        for renderer in (Device["REF"].renderer, NativeRenderer())
    ]
    assert [text.startswith(NATIVE) for text in texts] == [False, True]
    expected = [("float32", SIZE), ("float32", SIZE), (None, None)]
    for text in texts:
        read = read_kernel(text)
        assert read.arguments[:2] == expected[:2]
        assert read.arguments[2][1] is None
        assert read.name.startswith("scale_")


@pytest.mark.parametrize("renderer", [None, NativeRenderer])
def test_images_run(renderer: type[NativeRenderer] | None) -> None:
    made = compile_program(kernel(), renderer() if renderer else Device["REF"].renderer)
    image = unpack_image(pack_image(made.src[3].arg, made.arg))
    assert (image.buffers, image.variables) == (((4 * SIZE, 2), (4 * SIZE, 1)), 1)
    out, given = np.zeros(SIZE, np.float32), np.arange(SIZE, dtype=np.float32)
    cells = [out.view(np.uint8), given.view(np.uint8)]
    image.program(cells, (3,), made.arg.global_size, made.arg.local_size)
    assert out.tolist() == (given * 3).tolist()


def test_tensors_are_computed_by_native_kernels() -> None:
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal((33, 33)).astype(np.float32) for _ in range(2))
    with Context(DEV="REF:NATIVE"):
        assert isinstance(Device["REF"].renderer, NativeRenderer)
        a, b = (Tensor(v).to("REF").realize() for v in (x, w))
        made = ((a @ b).relu() + 1).softmax().numpy()
        n = Variable("n", 1, 33)

        @TinyJit
        def head(rows: Tensor, count: object) -> Tensor:
            return rows[:count].sum(0).realize()

        for count in (3, 33, 1, 20):
            found = head(a, n.bind(count)).numpy()
            np.testing.assert_allclose(found, x[:count].sum(0), rtol=1e-4, atol=1e-5)
    raw = np.maximum(x @ w, 0) + 1
    power = np.exp(raw - raw.max(1, keepdims=True))
    np.testing.assert_allclose(made, power / power.sum(1, keepdims=True), rtol=1e-4)
