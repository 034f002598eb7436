"""Text of the LLVM renderer; what the text computes is tested in tg-cpu, which can run it."""

from __future__ import annotations

import numpy as np
import pytest
from linear_programs import int32, linear_of, map_program, splat

from tg_core.dtype import DType, dtypes
from tg_core.errors import CompileError
from tg_core.renderer.api import Target
from tg_core.renderer.llvm_ir import LLVM_DTYPES, LLVM_OPS, LLVMRenderer
from tg_core.renderer.llvm_ir.types import literal, memory_type, overload, value_type
from tg_core.uop.ops import Ops, UOp

RENDERER = LLVMRenderer(
    device_type="TEST",
    name="LLVM",
    target=Target("any"),
    native_ops=LLVM_OPS,
    native_dtypes=LLVM_DTYPES,
)


def test_vector_loop() -> None:
    linear = map_program(Ops.MUL, dtypes.float32, (dtypes.float32,) * 2, 32, 4)
    assert (
        RENDERER.render("k", linear)
        == """define void @k(ptr noalias readonly %args, i64 %chunk) nounwind {
entry:
  %v1 = getelementptr inbounds i64, ptr %args, i64 0
  %v2 = load ptr, ptr %v1, align 8
  %v3 = getelementptr inbounds i64, ptr %args, i64 1
  %v4 = load ptr, ptr %v3, align 8
  %v5 = getelementptr inbounds i64, ptr %args, i64 2
  %v6 = load ptr, ptr %v5, align 8
  br label %before9
before9:
  br label %loop10
loop10:
  %i7 = phi i32 [ 0, %before9 ], [ %n8, %latch11 ]
  %v13 = mul nsw i32 %i7, 4
  %v14 = getelementptr inbounds float, ptr %v2, i32 %v13
  %v15 = getelementptr inbounds float, ptr %v4, i32 %v13
  %v16 = load <4 x float>, ptr %v15, align 4
  %v17 = getelementptr inbounds float, ptr %v6, i32 %v13
  %v18 = load <4 x float>, ptr %v17, align 4
  %v19 = fmul <4 x float> %v16, %v18
  store <4 x float> %v19, ptr %v14, align 4
  br label %latch11
latch11:
  %n8 = add nuw nsw i32 %i7, 1
  %v20 = icmp slt i32 %n8, 8
  br i1 %v20, label %loop10, label %exit12, !llvm.loop !1
exit12:
  ret void
}
!0 = !{!"llvm.loop.unroll.disable"}
!1 = distinct !{!1, !0}
"""
    )


def body(*statements: UOp) -> str:
    """Return what comes after the arguments were read."""
    text = RENDERER.render("k", linear_of(*statements))
    lines = text.split("entry:\n")[1].splitlines()
    return "\n".join(x.strip() for x in lines if "%args" not in x and "load ptr" not in x)


def out(index: int, lanes: int | None = None) -> UOp:
    return UOp.param(0, dtypes.float32, (64,)).index(int32(index), lanes)


def test_gates() -> None:
    """A gate of one value is a branch, one of lanes a masked access."""
    gate = UOp.variable("n", 0, 9, dtypes.int32, 1).alu(Ops.CMPLT, int32(5))
    value = out(8).load(UOp.const(1.0, dtypes.float32), gate)
    text = body(out(0).store(value))
    assert "br i1 %v" in text
    assert "= phi float [ %v" in text
    lanes = UOp.stack_of(*[int32(i) for i in range(4)]).alu(Ops.CMPLT, splat(int32(3), 4))
    zero = splat(UOp.const(0.0, dtypes.float32), 4)
    masked = RENDERER.render("k", linear_of(out(0, 4).store(out(8, 4).load(zero, lanes), lanes)))
    assert (
        "declare <4 x float> @llvm.masked.load.v4f32.p0(ptr, i32, <4 x i1>, <4 x float>)" in masked
    )
    assert "call void @llvm.masked.store.v4f32.p0(" in masked
    assert "br i1" not in masked


def test_empty_loop_is_guarded_only_when_possible() -> None:
    def loop(low: int) -> str:
        size = UOp.variable("n", low, 9, dtypes.int32, 1)
        counter = UOp.range(size, 0)
        store = UOp.param(0, dtypes.int32, (64,)).index(counter).store(counter)
        return RENDERER.render("k", linear_of(counter, store.end(counter)))

    assert "icmp sgt i32" in loop(0)
    assert "icmp sgt i32" not in loop(1)


@pytest.mark.parametrize(
    ("divisor", "op", "wanted", "absent"),
    [
        (8, Ops.FLOORDIV, "ashr", "div"),
        (8, Ops.FLOORMOD, "and", "rem"),
        (3, Ops.CDIV, "sdiv", "select"),
        (0, Ops.CDIV, "select", "udiv"),
    ],
)
def test_division_guards_only_what_can_happen(
    divisor: int, op: Ops, wanted: str, absent: str
) -> None:
    value = UOp.param(1, dtypes.int32, (4,)).index(int32(0)).load()
    store = UOp.param(0, dtypes.int32, (4,)).index(int32(0)).store(value.alu(op, int32(divisor)))
    text = body(store)
    assert wanted in text
    assert absent not in text


def test_data_may_wrap_and_indices_do_not() -> None:
    data = UOp.param(1, dtypes.int32, (4,)).index(int32(0)).load()
    store = UOp.param(0, dtypes.int32, (4,)).index(int32(0)).store(data.alu(Ops.ADD, int32(1)))
    assert " = add i32" in body(store)


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (True, dtypes.bool, "true"),
        (300, dtypes.uint8, "44"),
        (-1, dtypes.int64, "-1"),
        (0.1, dtypes.float32, "0x3FB99999A0000000"),
        (0.1, dtypes.float64, "0x3FB999999999999A"),
        (-0.0, dtypes.float32, "0x8000000000000000"),
        (1.5, dtypes.float16, "0xH3E00"),
        (1.5, dtypes.bfloat16, "16320"),
    ],
)
def test_literals_are_exact(value: float, dtype: DType, text: str) -> None:
    assert literal(value, dtype) == text


def test_special_literals() -> None:
    assert literal(float("inf"), dtypes.float32) == "0x7FF0000000000000"
    bits = int(literal(float("nan"), dtypes.float64), 16)
    assert np.isnan(np.array([bits], np.uint64).view(np.float64)[0])


def test_types() -> None:
    assert value_type(dtypes.bool, 8) == "<8 x i1>"
    assert memory_type(dtypes.bool) == "i8"
    assert value_type(dtypes.bfloat16) == "i16"
    assert overload("<8 x half>") == "v8f16"
    assert overload("i32") == "i32"
    with pytest.raises(CompileError, match="no type for fp8e4m3"):
        value_type(dtypes.fp8e4m3)


def test_what_it_cannot_render_is_an_error() -> None:
    with pytest.raises(CompileError, match="cannot render EXP2"):
        RENDERER.render("k", map_program(Ops.EXP2, dtypes.float32, (dtypes.float32,), 8, 0))
    loop = UOp.range(int32(4), 0)
    with pytest.raises(CompileError, match="1 loops"):
        RENDERER.render("k", linear_of(loop))
    with pytest.raises(CompileError, match="no lidx0 here"):
        RENDERER.render("k", linear_of(UOp.special(int32(4), "lidx0")))
    weak = UOp.param(0, dtypes.int32, (4,)).index(UOp.const(0)).store(int32(1))
    with pytest.raises(CompileError, match="has no width"):
        RENDERER.render("k", linear_of(weak))


def test_key_depends_on_every_field() -> None:
    wide = LLVMRenderer(device_type="TEST", name="LLVM", target=Target("any"), vector_bytes=32)
    narrow = LLVMRenderer(device_type="TEST", name="LLVM", target=Target("any"), vector_bytes=16)
    assert wide.key != narrow.key
    assert wide.key == LLVMRenderer(
        device_type="TEST", name="LLVM", target=Target("any"), vector_bytes=32
    ).key  # fmt: skip
