"""Launch sizes that depend on variables, made ready to be computed at every run."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from tg_core.errors import CompileError
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def _cdiv(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _cmod(a: int, b: int) -> int:
    return a - _cdiv(a, b) * b


def _where(condition: int, a: int, b: int) -> int:
    return a if condition else b


_FUNCTIONS: dict[Ops, Callable[..., Any]] = {
    Ops.ADD: operator.add,
    Ops.SUB: operator.sub,
    Ops.MUL: operator.mul,
    Ops.FLOORDIV: operator.floordiv,
    Ops.FLOORMOD: operator.mod,
    Ops.CDIV: _cdiv,
    Ops.CMOD: _cmod,
    Ops.MAX: max,
    Ops.CMPLT: operator.lt,
    Ops.CMPNE: operator.ne,
    Ops.CMPEQ: operator.eq,
    Ops.AND: operator.and_,
    Ops.OR: operator.or_,
    Ops.XOR: operator.xor,
    Ops.SHL: operator.lshift,
    Ops.SHR: operator.rshift,
    Ops.WHERE: _where,
    Ops.CAST: int,
}
"""What each operation does to ints. Sizes never wrap: codegen gave them a width that holds them."""


class LaunchSize:
    """A size over variables as steps on a list of ints.

    Args:
        size: an integer expression over scalar PARAMs.

    Raises:
        CompileError: it contains what is no arithmetic of integers.
    """

    def __init__(self, size: UOp) -> None:
        order = size.toposort()
        place = {node: i for i, node in enumerate(order)}
        self._start: list[int] = [0] * len(order)
        self._variables: list[tuple[int, UOp]] = []
        self._steps: list[tuple[int, Callable[..., Any], list[int]]] = []
        for i, node in enumerate(order):
            if node.op is Ops.CONST:
                self._start[i] = node.arg
            elif node.op is Ops.PARAM:
                self._variables.append((i, node))
            elif node.op in _FUNCTIONS:
                self._steps.append((i, _FUNCTIONS[node.op], [place[s] for s in node.src]))
            else:
                raise CompileError(f"launch size: {node.op.name} is no arithmetic of integers")

    def value(self, values: Mapping[UOp, int]) -> int:
        """Return the size for values of the variables."""
        cells = self._start.copy()
        for i, variable in self._variables:
            cells[i] = values[variable]
        for i, function, sources in self._steps:
            cells[i] = function(*[cells[s] for s in sources])
        return int(cells[-1])
