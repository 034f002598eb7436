"""Integer division and shifts in LLVM IR, defined for every operand.

| case | result |
|---|---|
| division by zero, truncating or floor | 0, and the remainder is 0 |
| least value divided by -1 | the least value (it wraps), and the remainder is 0 |
| shift by the width or more, or by a negative amount | 0; for SHR of a negative value -1 |

Bounds of the operands, where they prove that a case cannot occur, remove its guard.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.dtype import dtypes
from tg_core.renderer.llvm_ir.conversions import constant
from tg_core.renderer.llvm_ir.types import value_type, with_lanes
from tg_core.renderer.utils import lanes_of
from tg_core.uop.ops import Ops

if TYPE_CHECKING:
    from tg_core.renderer.llvm_ir.kernel import Kernel
    from tg_core.uop.ops import UOp


def _within(uop: UOp, low: int, high: int) -> bool:
    return low <= uop.vmin and uop.vmax <= high


def _power_of_two(uop: UOp) -> int | None:
    """Return the exponent when a node is a constant power of two, in one lane or in all."""
    low, high = uop.vmin, uop.vmax
    if low != high or low <= 0 or int(low) & (int(low) - 1):
        return None
    return int(low).bit_length() - 1


def _safe_divisor(kernel: Kernel, uop: UOp, divisor: str) -> tuple[str, str | None]:
    """Return a divisor that cannot trap, and when the true one is zero (None: never)."""
    builder, dtype, lanes = kernel.builder, uop.dtype, lanes_of(uop)
    dividend = uop.src[0]
    kind, flag = value_type(dtype, lanes), with_lanes("i1", lanes)
    zero: str | None = None
    unsafe: str | None = None
    if uop.src[1].vmin <= 0 <= uop.src[1].vmax:
        zero = builder.value(f"icmp eq {kind} {divisor}, {constant(0, dtype, lanes)}")
        unsafe = zero
    if not dtypes.is_unsigned(dtype):
        lowest = dtypes.min(dtype)
        if dividend.vmin <= lowest and uop.src[1].vmin <= -1 <= uop.src[1].vmax:
            value, least = kernel.operand(dividend, lanes), constant(lowest, dtype, lanes)
            is_lowest = builder.value(f"icmp eq {kind} {value}, {least}")
            minus = builder.value(f"icmp eq {kind} {divisor}, {constant(-1, dtype, lanes)}")
            both = builder.value(f"and {flag} {is_lowest}, {minus}")
            unsafe = both if unsafe is None else builder.value(f"or {flag} {unsafe}, {both}")
    if unsafe is None:
        return divisor, None
    one = constant(1, dtype, lanes)
    return builder.value(f"select {flag} {unsafe}, {kind} {one}, {kind} {divisor}"), zero


def render_division(kernel: Kernel, uop: UOp) -> str:
    """Render CDIV, CMOD, FLOORDIV and FLOORMOD."""
    builder, dtype, lanes = kernel.builder, uop.dtype, lanes_of(uop)
    kind, flag = value_type(dtype, lanes), with_lanes("i1", lanes)
    dividend, divisor = (kernel.operand(s, lanes) for s in uop.src)
    wants_quotient = uop.op in (Ops.CDIV, Ops.FLOORDIV)
    floor = uop.op in (Ops.FLOORDIV, Ops.FLOORMOD) and not dtypes.is_unsigned(dtype)
    exponent = _power_of_two(uop.src[1])
    if floor and exponent is not None:
        if wants_quotient:
            return builder.value(f"ashr {kind} {dividend}, {constant(exponent, dtype, lanes)}")
        mask = constant((1 << exponent) - 1, dtype, lanes)
        return builder.value(f"and {kind} {dividend}, {mask}")
    safe, is_zero = _safe_divisor(kernel, uop, divisor)
    positive = uop.src[0].vmin >= 0 and uop.src[1].vmin >= 0
    sign = "u" if dtypes.is_unsigned(dtype) or positive else "s"
    zero = constant(0, dtype, lanes)
    result = builder.value(f"{sign}{'div' if wants_quotient else 'rem'} {kind} {dividend}, {safe}")
    if floor and not positive:
        rest = result
        if wants_quotient:
            rest = builder.value(f"srem {kind} {dividend}, {safe}")
        uneven = builder.value(f"icmp ne {kind} {rest}, {zero}")
        mixed = builder.value(f"xor {kind} {rest}, {safe}")
        opposite = builder.value(f"icmp slt {kind} {mixed}, {zero}")
        adjust = builder.value(f"and {flag} {uneven}, {opposite}")
        if wants_quotient:
            step = builder.value(f"sext {flag} {adjust} to {kind}")
        else:
            step = builder.value(f"select {flag} {adjust}, {kind} {safe}, {kind} {zero}")
        result = builder.value(f"add {kind} {result}, {step}")
    if is_zero is None or not wants_quotient:
        # the remainder of the stand-in divisor 1 is 0 already
        return result
    return builder.value(f"select {flag} {is_zero}, {kind} {zero}, {kind} {result}")


def render_shift(kernel: Kernel, uop: UOp) -> str:
    """Render SHL and SHR; SHR repeats the sign of signed values."""
    builder, dtype, lanes = kernel.builder, uop.dtype, lanes_of(uop)
    kind, flag = value_type(dtype, lanes), with_lanes("i1", lanes)
    value, shift = uop.src
    bits = dtype.bits
    small = _within(shift, 0, bits - 1)
    amount = kernel.operand(shift, lanes)
    amount_kind = value_type(shift.dtype, lanes)
    in_range: str | None = None
    if not small:
        limit = constant(bits, shift.dtype, lanes)
        in_range = builder.value(f"icmp ult {amount_kind} {amount}, {limit}")
    if shift.dtype.bits > bits:
        amount = builder.value(f"trunc {amount_kind} {amount} to {kind}")
    elif shift.dtype.bits < bits:
        amount = builder.value(f"zext {amount_kind} {amount} to {kind}")
    arithmetic = uop.op is Ops.SHR and not dtypes.is_unsigned(dtype)
    operation = "shl" if uop.op is Ops.SHL else "ashr" if arithmetic else "lshr"
    operand = kernel.operand(value, lanes)
    if in_range is None:
        return builder.value(f"{operation} {kind} {operand}, {amount}")
    if arithmetic:
        most = constant(bits - 1, dtype, lanes)
        clamped = builder.value(f"select {flag} {in_range}, {kind} {amount}, {kind} {most}")
        return builder.value(f"ashr {kind} {operand}, {clamped}")
    shifted = builder.value(f"{operation} {kind} {operand}, {amount}")
    zero = constant(0, dtype, lanes)
    return builder.value(f"select {flag} {in_range}, {kind} {shifted}, {kind} {zero}")
