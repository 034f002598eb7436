"""LINEARs of calls on storage -> one LINEAR over parameters, and what each parameter stands for.

The compiled form of the result serves for any storage, and equal calls on different storage have
equal results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from tg_core.hcq.arguments import base_of
from tg_core.uop.ops import Ops, ParamArg, UOp
from tg_core.uop.passes import verified

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

V = TypeVar("V", bound="Hashable")


class _Numbering(Generic[V]):
    """Numbers what parameters stand for by first use."""

    def __init__(self) -> None:
        self.slots: dict[V, int] = {}

    def parameter(self, node: UOp, value: V) -> UOp:
        """Return the PARAM that takes the place of a PARAM or BUFFER."""
        slot = self.slots.setdefault(value, len(self.slots))
        if node.op is Ops.BUFFER:
            arg = ParamArg(slot, node.dtype, (node.arg.size,), node.arg.device)
        elif node.arg.slot == slot:
            return node
        else:
            known: ParamArg = node.arg
            rest = (known.dtype, known.shape, known.device, known.name, known.bounds)
            arg = ParamArg(slot, *rest, known.addrspace)
        return UOp(Ops.PARAM, (), arg)


def parametrize(
    entries: Iterable[tuple[UOp, Sequence[V], Callable[[UOp], V]]],
) -> tuple[UOp, list[V]]:
    """Join LINEARs into one whose calls refer to nothing but its parameters.

    Args:
        entries: each LINEAR, what its parameters stand for by slot, and a function that tells what
            a BUFFER it declares stands for. Equal values become one parameter.

    Returns:
        LINEAR of all calls in order, and what its parameters stand for, by slot.
    """
    numbering: _Numbering[V] = _Numbering()
    calls: list[UOp] = []
    for linear, values, declared in entries:
        done: dict[UOp, UOp] = {}
        for call in linear.src:
            src = [call.src[0]]
            for argument in call.src[1:]:
                new = done.get(argument)
                if new is None:
                    base = base_of(argument)
                    stands_for = values[base.arg.slot] if base.op is Ops.PARAM else declared(base)
                    parameter = numbering.parameter(base, stands_for)
                    new = done[argument] = _with_base(argument, base, parameter)
                src.append(new)
            calls.append(UOp(Ops.CALL, tuple(src), call.arg))
    linear = verified("parametrize", "calls", UOp(Ops.LINEAR, tuple(calls)))
    return linear, list(numbering.slots)


def _with_base(argument: UOp, base: UOp, new: UOp) -> UOp:
    """Return an argument over another base. The order of a LINEAR says all that AFTERs do."""
    views = []
    while argument is not base:
        if argument.op is not Ops.AFTER:
            views.append(argument)
        argument = argument.src[0]
    for view in reversed(views):
        new = UOp(view.op, (new, *view.src[1:]), view.arg, view.tag)
    return new
