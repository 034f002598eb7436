"""Random integer expressions, and an evaluator of them that shares no code with the compiler."""

from __future__ import annotations

import random
from collections.abc import Callable

from tg_core.dtype import DType, Invalid, dtypes
from tg_core.uop.ops import Ops, UOp

Assignment = dict[UOp, int]


def wrap(value: int, dtype: DType) -> int:
    """Bring an exact integer to what the dtype stores."""
    if dtype is dtypes.weakint:
        return value
    if dtype is dtypes.bool:
        return bool(value)
    size = 1 << dtype.bits
    value %= size
    return value - size if dtype.name.startswith("int") and value >= size // 2 else value


def c_divide(a: int, b: int) -> int:
    """Divide as C does."""
    sign = 1 if (a >= 0) == (b >= 0) else -1
    return sign * (abs(a) // abs(b))


class Unspecified(Exception):
    """The expression has no defined value for this assignment."""


def _nonzero(b: int) -> int:
    if b == 0:
        raise Unspecified
    return b


def _floor_div(a: int, b: int) -> int:
    return a // _nonzero(b)


def _floor_mod(a: int, b: int) -> int:
    return a - _nonzero(b) * (a // b)


def _c_div(a: int, b: int) -> int:
    return c_divide(a, _nonzero(b))


def _c_mod(a: int, b: int) -> int:
    return a - b * c_divide(a, _nonzero(b))


_BINARY: dict[Ops, Callable[[int, int], int]] = {
    Ops.ADD: lambda a, b: a + b,
    Ops.SUB: lambda a, b: a - b,
    Ops.MUL: lambda a, b: a * b,
    Ops.FLOORDIV: _floor_div,
    Ops.FLOORMOD: _floor_mod,
    Ops.CDIV: _c_div,
    Ops.CMOD: _c_mod,
    Ops.MAX: max,
    Ops.CMPLT: lambda a, b: a < b,
    Ops.CMPNE: lambda a, b: a != b,
    Ops.CMPEQ: lambda a, b: a == b,
    Ops.AND: lambda a, b: a & b,
    Ops.OR: lambda a, b: a | b,
    Ops.XOR: lambda a, b: a ^ b,
    Ops.SHL: lambda a, b: a << b,
    Ops.SHR: lambda a, b: a >> b,
}


class OutOfBounds(Exception):
    """A load leaves its storage."""


def stored(position: int | None, storage: UOp) -> int:
    """Return what storage holds at a position; a masked position reads 0.

    Raises:
        OutOfBounds: the position is outside of it.
    """
    if position is None:
        return 0
    if not 0 <= position < storage.arg.shape[0]:
        raise OutOfBounds(position)
    return wrap(position * 7 % 11 - 2, storage.dtype)


def evaluate(root: UOp, values: Assignment) -> int | None:
    """Evaluate an expression for an assignment of its leaves; storage holds what `stored` says.

    Returns:
        The value, or None for Invalid.

    Raises:
        Unspecified: the value depends on a division by zero.
        OutOfBounds: a load leaves its storage, whether its value matters or not.
    """
    memo: dict[UOp, int | None] = {}
    for u in root.toposort(lambda node: node not in values):
        if u in values:
            memo[u] = values[u]
        elif u.op is Ops.CONST:
            memo[u] = None if u.arg is Invalid else u.arg
        elif u.op is Ops.WHERE:
            cond = memo[u.src[0]]
            chosen = None if cond is None else memo[u.src[1] if cond else u.src[2]]
            memo[u] = None if chosen is None else wrap(chosen, u.dtype)
        elif u.op is Ops.CAST:
            inner = memo[u.src[0]]
            memo[u] = None if inner is None else wrap(inner, u.dtype)
        elif u.op is Ops.INDEX:
            memo[u] = memo[u.src[1]]
        elif u.op is Ops.LOAD:
            memo[u] = stored(memo[u.src[0]], u.src[0].src[0])
        elif u.op is Ops.PARAM and u.shape:
            continue
        elif u.op in _BINARY:
            operands = [memo[s] for s in u.src]
            if None in operands:
                memo[u] = None
            else:
                memo[u] = wrap(_BINARY[u.op](*operands), u.dtype)
        else:
            raise AssertionError(f"no meaning for {u.op}")
    return memo[root]


class Generator:
    """Draws expressions over a few leaves.

    Args:
        rng: source of randomness.
        dtype: dtype of the integers in the expressions.
    """

    def __init__(self, rng: random.Random, dtype: DType = dtypes.weakint) -> None:
        self.rng = rng
        self.dtype = dtype
        sizes = [rng.choice((2, 3, 4, 5, 6, 8, 12, 16, 32)) for _ in range(3)]
        self.leaves = [self._fit(UOp.range(size, i)) for i, size in enumerate(sizes)]
        self.inputs: list[UOp] = [UOp.range(size, i) for i, size in enumerate(sizes)]
        low = 0 if dtypes.is_unsigned(dtype) else rng.randint(-20, 5)
        variable = UOp.variable("v", low, low + rng.randint(0, 30), dtype)
        self.leaves.append(variable)
        self.inputs.append(variable)

    def _fit(self, u: UOp) -> UOp:
        return u if self.dtype is dtypes.weakint else u.cast(self.dtype)

    def const(self, low: int, high: int) -> UOp:
        """Draw a constant."""
        return UOp.const(wrap(self.rng.randint(low, high), self.dtype), self.dtype)

    def divisor(self) -> UOp:
        """Draw a constant that is not zero."""
        value = self.rng.choice((1, 2, 2, 3, 4, 4, 5, 6, 8, 8, 12, 16, 32))
        if not dtypes.is_unsigned(self.dtype) and self.rng.random() < 0.15:
            value = -value
        return UOp.const(value, self.dtype)

    def integer(self, depth: int) -> UOp:
        """Draw an integer expression."""
        rng = self.rng
        if depth == 0 or rng.random() < 0.1:
            return rng.choice(self.leaves) if rng.random() < 0.85 else self.const(-10, 40)
        kind = rng.random()
        if kind < 0.3:
            return UOp(Ops.ADD, (self.integer(depth - 1), self.integer(depth - 1)))
        if kind < 0.36:
            return UOp(Ops.SUB, (self.integer(depth - 1), self.integer(depth - 1)))
        if kind < 0.52:
            return UOp(Ops.MUL, (self.integer(depth - 1), self.const(-8, 16)))
        if kind < 0.55:
            return UOp(Ops.MUL, (self.integer(depth - 1), self.integer(depth - 1)))
        if kind < 0.80:
            op = rng.choice((Ops.FLOORDIV, Ops.FLOORMOD) * 3 + (Ops.CDIV, Ops.CMOD))
            return UOp(op, (self.integer(depth - 1), self.divisor()))
        if kind < 0.85:
            return UOp(Ops.MAX, (self.integer(depth - 1), self.integer(depth - 1)))
        if kind < 0.88:
            op = rng.choice((Ops.AND, Ops.OR, Ops.XOR))
            return UOp(op, (self.integer(depth - 1), self.const(-4, 31)))
        if kind < 0.90:
            op = rng.choice((Ops.SHL, Ops.SHR))
            return UOp(op, (self.integer(depth - 1), self.const(0, 5)))
        if kind < 0.92:
            return UOp(Ops.CAST, (self.boolean(depth - 1),), self.dtype)
        return UOp(
            Ops.WHERE,
            (self.boolean(depth - 1), self.integer(depth - 1), self.integer(depth - 1)),
        )

    def boolean(self, depth: int) -> UOp:
        """Draw a bool expression."""
        rng = self.rng
        depth = max(depth, 0)
        kind = rng.random()
        if depth == 0 or kind < 0.6:
            op = rng.choice((Ops.CMPLT, Ops.CMPLT, Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ))
            inner = max(depth - 1, 0)
            sides = [self.integer(inner), self.integer(inner)]
            if rng.random() < 0.6:
                sides[rng.randrange(2)] = self.const(-10, 40)
            return UOp(op, tuple(sides))
        if kind < 0.75:
            return UOp(Ops.AND, (self.boolean(depth - 1), self.boolean(depth - 1)))
        if kind < 0.87:
            return UOp(Ops.OR, (self.boolean(depth - 1), self.boolean(depth - 1)))
        return UOp(Ops.CMPNE, (self.boolean(depth - 1), UOp.const(True)))

    def assignment(self) -> Assignment:
        """Draw a value for every leaf, the ends of its interval more often."""
        values: Assignment = {}
        for leaf in self.inputs:
            low, high = int(leaf.vmin), int(leaf.vmax)
            values[leaf] = self.rng.choice((low, high, self.rng.randint(low, high)))
        return values
