"""The language of the interpreter: a linear program as JSON text.

One object with these members:

| member | content |
|---|---|
| `format` | 1 |
| `name` | name of the kernel |
| `arguments` | node numbers of the arguments in order: buffers, then variables |
| `nodes` | one row per node in execution order: `[op, dtype, lanes, sources, argument]` |

`lanes` is 0 for one value and for effects. `sources` are node numbers. A constant is the op `CONST`
with the value, truncated to its dtype, as argument; infinities and NaN are `Infinity`, `-Infinity`
and `NaN`. The other arguments: PARAM has its size (null for a variable), BUFFER its size and
address space, SPECIAL its name, INDEX its number of lanes, and anything else null.

Three ops are the language's own: EXP and COS, for what the front end writes as a power of two of a
product and as a sine of a sum, whose rounding would cost digits; and NEG, for the operand of EXP.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tg_core.dtype import Invalid, dtypes, truncate
from tg_core.errors import CompileError
from tg_core.renderer.api import Renderer, Target
from tg_core.renderer.utils import arguments_of, foreign_function, is_storage, lanes_of
from tg_core.uop.ops import GroupOp, Ops

if TYPE_CHECKING:
    from tg_core.uop.ops import UOp

FORMAT = 1

_STATEMENTS = frozenset((Ops.STORE, Ops.END, Ops.IF, Ops.ENDIF, Ops.BARRIER))

_KNOWN = (
    GroupOp.Elementwise
    | _STATEMENTS
    | {Ops.PARAM, Ops.BUFFER, Ops.SPECIAL, Ops.RANGE, Ops.INDEX, Ops.LOAD, Ops.STACK, Ops.CALL}
)

_UNLIMITED = 1 << 62


@dataclass(frozen=True, kw_only=True, init=False)
class InterpreterRenderer(Renderer):
    """Serialises a linear program for the PYTHON device, which executes any op on any dtype.

    MULACC runs but is not declared, because numpy has none and emulating it is slow.

    Args:
        arch: ignored; there is one.
    """

    language: ClassVar[str] = "JSON"

    def __init__(self, arch: str = "") -> None:
        everything = frozenset(dtypes.all)
        super().__init__(
            device_type="PYTHON",
            name="PYTHON",
            target=Target(arch or "python"),
            has_global=True,
            global_max=(_UNLIMITED, _UNLIMITED, _UNLIMITED),
            native_ops=GroupOp.ALU - {Ops.MULACC},
            native_dtypes=everything,
            storage_dtypes=everything,
            has_masked_access=True,
        )

    @property
    def version(self) -> str:
        return str(FORMAT)

    def render(self, name: str, linear: UOp) -> str:
        numbers: dict[UOp, int] = {}
        rows: list[list[Any]] = []

        def number(uop: UOp) -> int:
            """Return the number of a node, for a new constant after giving it a row."""
            found = numbers.get(uop)
            if found is None:
                found = numbers[uop] = len(rows)
                rows.append(_constant_row(uop))
            return found

        for uop in linear.src:
            if uop.const_value is not None or uop.op in (Ops.NOOP, Ops.CUSTOM_FUNCTION):
                # a constant has its row where it stands, not at its first use: that may be in a
                # loop that runs zero times
                if (
                    uop.const_value is not None
                    and uop.const_value is not Invalid
                    and not dtypes.is_weak(uop.dtype)
                ):
                    number(uop)
                continue
            if uop.op not in _KNOWN:
                raise CompileError(f"{name}: the interpreter has no {uop.op.name}")
            found = _composed(uop)
            if found is not None:
                op, operand, negated = found
                source = number(operand)
                if negated:
                    rows.append(["NEG", uop.dtype.name, lanes_of(uop), [source], None])
                    source = len(rows) - 1
                numbers[uop] = len(rows)
                rows.append([op, uop.dtype.name, lanes_of(uop), [source], None])
                continue
            sources = [number(s) for s in _sources(uop)]
            numbers[uop] = len(rows)
            lanes = 0 if uop.op in _STATEMENTS or is_storage(uop) else lanes_of(uop)
            rows.append([uop.op.name, uop.dtype.name, lanes, sources, _argument(uop)])
        arguments = [numbers[uop] for uop in arguments_of(linear).all]
        lines = ",\n".join(json.dumps(row) for row in rows)
        head = f'"format": {FORMAT}, "name": {json.dumps(name)}, "arguments": {arguments}'
        return f'{{{head}, "nodes": [\n{lines}\n]}}\n'

    def compile(self, source: str) -> bytes:
        return source.encode()


def _composed(uop: UOp) -> tuple[str, UOp, bool] | None:
    """Return what a node is as a function the front end composed: name, operand, and whether the
    operand is negated; None where it is what it says.
    """
    if uop.op is Ops.EXP2 and uop.src[0].op is Ops.MUL:
        operand, value = _with_constant(uop.src[0])
        if value is not None and abs(value) == truncate(math.log2(math.e), uop.dtype):
            return "EXP", operand, value < 0
    if uop.op is Ops.SIN and uop.src[0].op is Ops.ADD:
        operand, value = _with_constant(uop.src[0])
        if value == truncate(math.pi / 2, uop.dtype):
            return "COS", operand, False
    if uop.op is Ops.MUL and uop.src[0].op is Ops.LOG2:
        logarithm, value = _with_constant(uop)
        for name, factor in (("LOG", math.log(2)), ("LOG10", math.log10(2))):
            if value == truncate(factor, uop.dtype):
                return name, logarithm.src[0], False
    if uop.op is Ops.FDIV and all(s.op is Ops.SIN for s in uop.src):
        angle, cosine = uop.src[0].src[0], _composed(uop.src[1])
        if cosine is not None and cosine[1] is angle:
            return "TAN", angle, False
    return None


def _with_constant(uop: UOp) -> tuple[UOp, float | None]:
    """Return the operands of a binary node where the second is a float constant or lanes of one."""
    operand, other = uop.src
    lanes = set(other.src) if other.op is Ops.STACK else {other}
    value = lanes.pop().const_value if len(lanes) == 1 else None
    return operand, value if isinstance(value, float) else None


def _constant_row(uop: UOp) -> list[Any]:
    value = uop.const_value
    if value is None or value is Invalid:
        raise CompileError(f"{uop.op.name}: value is used before it is computed")
    if dtypes.is_weak(uop.dtype):
        raise CompileError(f"{uop.op.name}: constant {value} has no width")
    exact = truncate(value, uop.dtype)  # type: ignore[arg-type]  # Invalid was handled above
    return [Ops.CONST.name, uop.dtype.name, lanes_of(uop), [], exact]


def _sources(uop: UOp) -> tuple[UOp, ...]:
    """Return what a node needs to run: values, and for an END the loops it closes."""
    if uop.op is Ops.END:
        return tuple(s for s in uop.src[1:] if s.op is Ops.RANGE)
    if uop.op is Ops.CALL:
        return (foreign_function(uop).src[0], *uop.src[1:])
    return () if uop.op in (Ops.BARRIER, Ops.ENDIF) else uop.src


def _argument(uop: UOp) -> Any:
    if uop.op is Ops.PARAM:
        return uop.shape[0] if is_storage(uop) else None
    if uop.op is Ops.BUFFER:
        return [uop.arg.size, uop.arg.addrspace.value]
    if uop.op is Ops.CALL:
        return _signature(uop)
    if uop.op is Ops.SPECIAL or (uop.op is Ops.INDEX and uop.arg is not None):
        return uop.arg
    return None


def _signature(call: UOp) -> list[Any]:
    function = call.src[0].arg
    kinds = [None if is_storage(a) else a.dtype.name for a in call.src[1:]]
    if any(lanes_of(a) for a in call.src[1:] if not is_storage(a)):
        raise CompileError(f"CALL {function}: a vector cannot be an argument of a C function")
    name = function if isinstance(function, str) else function[0]
    result = None if call.dtype is dtypes.void else call.dtype.name
    return [name, result, kinds]
