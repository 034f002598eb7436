"""Integer expressions as z3 terms: the meaning of every op that an index may contain.

Everything is an unbounded z3 integer or a bool. Where a value may wrap at its width the wrap is
written out; what cannot be modelled (values derived from floats, loads, general bit operations) is
an unknown within the bounds of its node. A term is thus never narrower than the value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tg_core.dtype import DType, Invalid, dtypes
from tg_core.uop.bounds_common import dtype_bounds
from tg_core.uop.opcodes import GroupOp, Ops

if TYPE_CHECKING:
    from tg_core.uop.uop import UOp

_LEAVES = frozenset((Ops.LOAD, Ops.REDUCE, Ops.INDEX, Ops.AFTER, Ops.PARAM, Ops.BIND, Ops.CALL))
_MAY_WRAP = frozenset((Ops.ADD, Ops.SUB, Ops.MUL, Ops.MULACC, Ops.SHL, Ops.FLOORDIV, Ops.CDIV))


class Model:
    """The terms of one query.

    Args:
        z3: the module.
        context: its context.
    """

    def __init__(self, z3: Any, context: Any) -> None:
        self.z3 = z3
        self.context = context
        self.has_vectors = False
        """Whether a STACK was met; lanes are not modelled."""
        self._terms: dict[UOp, Any] = {}
        self._poison: dict[UOp, Any] = {}
        self._known: dict[UOp, list[Any]] = {}
        """What is known about the unknown that stands for a node."""
        self._opaque: set[UOp] = set()
        """Nodes whose term does not depend on their sources."""
        self._roots: list[UOp] = []
        self._false = z3.BoolVal(False, context)

    def add(self, root: UOp) -> tuple[Any, Any]:
        """Translate an expression.

        Args:
            root: an integer or bool node.

        Returns:
            Its term, and the condition under which it is Invalid.
        """
        for node in _integer_graph(root):
            if node not in self._terms:
                self._poison[node] = self._poison_of(node)
                self._terms[node] = self._term_of(node)
        self._roots.append(root)
        return self._terms[root], self._poison[root]

    def constraints(self) -> list[Any]:
        """Return what is known about the unknowns that the terms so far depend on."""
        order: dict[UOp, None] = {}
        stack = self._roots[::-1]
        while stack:
            node = stack.pop()
            if node in order:
                continue
            order[node] = None
            read = [s for s in node.src if s in self._terms]
            if node in self._opaque:
                read = [s for s in read if self._poison[s] is not self._false]
            stack.extend(read)
        return [constraint for node in order for constraint in self._known.get(node, ())]

    # ---- unknowns

    def _unknown(self, u: UOp) -> Any:
        self._opaque.add(u)
        if u.dtype is dtypes.bool:
            return self.z3.FreshBool("b", self.context)
        value = self.z3.FreshInt("i", self.context)
        low, high = u.bounds
        self._known[u] = [value >= int(low), value <= int(high)]
        return value

    def _index_variable(self, u: UOp) -> Any:
        value = self.z3.FreshInt("r", self.context)
        self._known[u] = [value >= 0, value < self._terms[u.src[0]]]
        return value

    # ---- poison

    def _poison_of(self, u: UOp) -> Any:
        if u.op is Ops.CONST:
            return self.z3.BoolVal(True, self.context) if u.arg is Invalid else self._false
        if u.op in _LEAVES or u.op in (Ops.RANGE, Ops.SPECIAL, Ops.STACK):
            return self._false
        if u.op is Ops.WHERE:
            cond, a, b = u.src
            if all(self._poison[s] is self._false for s in u.src):
                return self._false
            chosen = self.z3.If(self._terms[cond], self._poison[a], self._poison[b])
            return self.z3.Or(self._poison[cond], chosen)
        parts = [self._poison[s] for s in u.src if s in self._poison]
        # most graphs hold no Invalid, and then nothing is said about it
        parts = [part for part in parts if part is not self._false]
        return self.z3.Or(*parts) if parts else self._false

    # ---- terms

    def _term_of(self, u: UOp) -> Any:
        if u.op is Ops.CONST:
            # the value of Invalid does not matter, for its poison excludes it
            if u.arg is Invalid or type(u.arg) is bool:
                return self.z3.BoolVal(u.arg is True, self.context)
            return self.z3.IntVal(u.arg, self.context)
        if u.op in (Ops.RANGE, Ops.SPECIAL):
            return self._index_variable(u)
        if u.op is Ops.BIND:
            return self._terms[u.src[0]]
        if u.op is Ops.STACK:
            self.has_vectors = True
            return self._unknown(u)
        if any(s not in self._terms for s in u.src) or u.op in _LEAVES:
            return self._unknown(u)
        if u.op is Ops.CAST:
            return self._cast(u)
        if u.op is Ops.BITCAST:
            return self._bitcast(u)
        if u.op is Ops.WHERE:
            return self._where(u)
        operands = [self._terms[s] for s in u.src]
        if u.dtype is dtypes.bool:
            return self._bool_term(u, operands)
        operands = [self._as_int(x) for x in operands]
        value = self._int_term(u, operands)
        if value is None:
            return self._unknown(u)
        return self._wrapped(value, u.dtype) if u.op in _MAY_WRAP and _may_wrap(u) else value

    def _as_int(self, term: Any) -> Any:
        if not self.z3.is_bool(term):
            return term
        one, zero = (self.z3.IntVal(i, self.context) for i in (1, 0))
        return self.z3.If(term, one, zero)

    def _wrapped(self, value: Any, dtype: DType) -> Any:
        low = int(dtype_bounds(dtype)[0])
        return (value - low) % (1 << dtype.bits) + low

    def _cast(self, u: UOp) -> Any:
        source = u.src[0]
        term = self._terms[source]
        if u.dtype is dtypes.bool:
            return term if self.z3.is_bool(term) else term != 0
        if not dtypes.is_int(u.dtype):
            return self._unknown(u)
        value = self._as_int(term)
        low, high = dtype_bounds(u.dtype)
        fits = low <= source.vmin and source.vmax <= high
        return value if fits else self._wrapped(value, u.dtype)

    def _bitcast(self, u: UOp) -> Any:
        source = u.src[0]
        if not dtypes.is_int(source.dtype) or source.dtype.bits != u.dtype.bits:
            return self._unknown(u)
        if not dtypes.is_int(u.dtype):
            return self._unknown(u)
        return self._wrapped(self._terms[source], u.dtype)

    def _where(self, u: UOp) -> Any:
        cond, a, b = (self._terms[s] for s in u.src)
        if u.dtype is not dtypes.bool:
            a, b = self._as_int(a), self._as_int(b)
        return self.z3.If(cond, a, b)

    def _bool_term(self, u: UOp, operands: list[Any]) -> Any:
        a, b = operands
        z3 = self.z3
        if u.op is Ops.AND:
            return z3.And(a, b)
        if u.op is Ops.OR or u.op is Ops.MAX:
            return z3.Or(a, b)
        if u.op is Ops.XOR:
            return z3.Xor(a, b)
        if u.op in GroupOp.Comparison:
            if not (z3.is_bool(a) and z3.is_bool(b)) or u.op is Ops.CMPLT:
                a, b = self._as_int(a), self._as_int(b)
            if u.op is Ops.CMPLT:
                return a < b
            return a != b if u.op is Ops.CMPNE else a == b
        return self._unknown(u)

    def _int_term(self, u: UOp, operands: list[Any]) -> Any | None:
        if u.op is Ops.MULACC:
            return operands[0] * operands[1] + operands[2]
        if len(operands) != 2:
            return None
        a, b = operands
        simple = _ARITHMETIC.get(u.op)
        if simple is not None:
            return simple(self.z3, a, b)
        constant = u.src[1].const_value
        if type(constant) is not int:
            return None
        return _with_constant(u, a, constant)


def _with_constant(u: UOp, a: Any, constant: int) -> Any | None:
    """Model shifts by constants, contiguous masks, and the bitwise complement."""
    if u.op in (Ops.SHL, Ops.SHR):
        if not 0 <= constant < (u.dtype.bits or 64):
            return None
        return a * (1 << constant) if u.op is Ops.SHL else a / (1 << constant)
    if u.op is Ops.AND:
        if constant >= 0 and constant & (constant + 1) == 0:
            return a % (constant + 1)
        if constant < 0 and -constant & (-constant - 1) == 0:
            return a - a % -constant
    if u.op is Ops.XOR and constant == -1:
        return -a - 1
    return None


def _add(z3: Any, a: Any, b: Any) -> Any:
    return a + b


def _sub(z3: Any, a: Any, b: Any) -> Any:
    return a - b


def _mul(z3: Any, a: Any, b: Any) -> Any:
    return a * b


def _maximum(z3: Any, a: Any, b: Any) -> Any:
    return z3.If(a > b, a, b)


def _floor_div(z3: Any, a: Any, b: Any) -> Any:
    # z3 rounds so that the remainder is not negative, which is floor for a positive divisor
    return z3.If(b > 0, a / b, -a / -b)


def _floor_mod(z3: Any, a: Any, b: Any) -> Any:
    return a - b * _floor_div(z3, a, b)


def _trunc_div(z3: Any, a: Any, b: Any) -> Any:
    magnitude = z3.If(a >= 0, a, -a) / z3.If(b >= 0, b, -b)
    return z3.If((a >= 0) == (b >= 0), magnitude, -magnitude)


def _trunc_mod(z3: Any, a: Any, b: Any) -> Any:
    return a - b * _trunc_div(z3, a, b)


_ARITHMETIC: dict[Ops, Callable[[Any, Any, Any], Any]] = {
    Ops.ADD: _add,
    Ops.SUB: _sub,
    Ops.MUL: _mul,
    Ops.MAX: _maximum,
    Ops.FLOORDIV: _floor_div,
    Ops.FLOORMOD: _floor_mod,
    Ops.CDIV: _trunc_div,
    Ops.CMOD: _trunc_mod,
}


def _may_wrap(u: UOp) -> bool:
    """Whether the exact value may leave the dtype: the bounds of the node are then the dtype's."""
    return u.dtype is not dtypes.weakint and u.bounds == dtype_bounds(u.dtype)


def _integer_graph(root: UOp) -> list[UOp]:
    """List what matters to an index: integer and bool nodes, not looking into what they load."""
    stops = (Ops.LOAD, Ops.REDUCE, Ops.INDEX, Ops.AFTER, Ops.CALL)

    def inside(u: UOp) -> bool:
        return u.op not in stops and (dtypes.is_int(u.dtype) or u.dtype is dtypes.bool)

    return [u for u in root.toposort(inside) if dtypes.is_int(u.dtype) or u.dtype is dtypes.bool]
