"""The shortest way from the arguments of a call to a replay.

It takes calls whose arguments are what they were at capture: the same containers, tensors that are
one run of realized storage or the same symbolic view, equal plain values. Anything else, errors
included, is left to `Inputs`, which looks at arguments one by one.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from tg_core.device import Buffer, buffer_of
from tg_core.jit_views import ArgumentView, SymbolicView, Whole, view_of
from tg_core.tensor import Tensor
from tg_core.tensor.structure import FROZEN
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from tg_core.jit_inputs import Inputs

_PLAIN = frozenset(FROZEN)

QuickInputs: TypeAlias = tuple[list[UOp], list[Buffer], list[UOp]]
"""What a replay takes of one call: BUFFER nodes of the tensors, their storage, and the BIND nodes
of variables.
"""


class _Gathered(NamedTuple):
    """The leaves of arguments by kind, and the types and containers around them in order."""

    form: list[Any]
    tensors: list[UOp]
    frozen: list[Any]
    symbols: list[UOp]


def _gather(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Gathered:
    gathered = _Gathered([], [], [], [])
    form, tensors, frozen, _ = gathered
    for value in args:
        kind = type(value)
        if kind is Tensor:
            form.append(kind)
            tensors.append(value.uop)
        elif kind in _PLAIN:
            form.append(kind)
            frozen.append(value if value or kind is not float else repr(value))
        else:
            _add(value, gathered)
    if kwargs:
        _add(kwargs, gathered)
    return gathered


def _add(value: Any, gathered: _Gathered) -> None:
    """Take apart one argument; containers nest as deep as the caller wrote them."""
    kind = type(value)
    form = gathered.form
    form.append(kind)
    if kind is Tensor:
        gathered.tensors.append(value.uop)
    elif kind in _PLAIN:
        # 0.0 and -0.0 are equal but not the same
        gathered.frozen.append(value if value or kind is not float else repr(value))
    elif kind is UOp:
        gathered.symbols.append(value)
    elif isinstance(value, (list, tuple)):
        form.append(len(value))
        for item in value:
            _add(item, gathered)
    elif isinstance(value, dict):
        form.append(tuple(value))
        for item in value.values():
            _add(item, gathered)
    elif is_dataclass(value) and not isinstance(value, type):
        for name in value.__dataclass_fields__:
            _add(getattr(value, name), gathered)
    elif isinstance(value, (Tensor, *FROZEN)):
        # an instance of a subclass, which only the long way knows how to take
        form.append(None)


class QuickForm:
    """What the arguments of a capture looked like.

    Args:
        inputs: of the capture.
        args, kwargs: of the capture, whose tensors are views of whole buffers.
    """

    def __init__(self, inputs: Inputs, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        gathered = _gather(args, kwargs)
        self.form, self.frozen = gathered.form, gathered.frozen
        self.symbols = [symbol.src[0] for symbol in gathered.symbols if symbol.op is Ops.BIND]
        self.views = _views_of(inputs)
        self.variables = len(inputs.variables)
        self.only_tensors = (
            not kwargs
            and self.form == [Tensor] * len(args)
            and all(isinstance(view, Whole) for view in self.views)
        )
        self.usable = (
            None not in self.form
            and len(self.views) == len(inputs.tensors) == len(gathered.tensors)
            and len(self.symbols) == len(gathered.symbols)
        )

    def match(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> QuickInputs | None:
        """Return what a replay takes of a call, None when it has to go the long way."""
        if not self.usable:
            return None
        if self.only_tensors:
            if kwargs or len(args) != len(self.views):
                return None
            tensors = []
            for value in args:
                if type(value) is not Tensor:
                    return None
                tensors.append(value.uop)
            return self._storage(tensors, [])
        gathered = _gather(args, kwargs)
        symbols = gathered.symbols
        if (
            gathered.form != self.form
            or gathered.frozen != self.frozen
            or len(symbols) != len(self.symbols)
            or (symbols and not _all_bound(symbols, self.symbols))
        ):
            return None
        found = self._storage(gathered.tensors, symbols)
        if found is None or not self.variables:
            return found
        # one value for each variable, whether it came by itself or in the shape of a view
        values = {bound.src[0]: bound for bound in symbols}
        unique = list(values.values())
        if len(unique) != self.variables or any(values[b.src[0]] is not b for b in symbols):
            return None
        return found[0], found[1], unique

    def _storage(self, tensors: list[UOp], symbols: list[UOp]) -> QuickInputs | None:
        """Return the storage of tensors, and add the variables in their shapes to `symbols`."""
        nodes: list[UOp] = []
        buffers: list[Buffer] = []
        for node, view in zip(tensors, self.views, strict=True):
            base = view.base_of(node)
            if base is None:
                if isinstance(view, SymbolicView):
                    base = view.match(node, symbols)
                else:
                    base = view.part_of(node)
                if base is None:
                    return None
            buffer = buffer_of(base)
            if buffer is None:
                return None
            nodes.append(base)
            buffers.append(buffer)
        return nodes, buffers, symbols


def _views_of(inputs: Inputs) -> list[ArgumentView]:
    """Return how to recognize the arguments; fewer than there are when one cannot be."""
    views = [view_of(t.node) for t in inputs.tensors]
    return [view for view in views if view is not None]


def _all_bound(symbols: list[UOp], variables: list[UOp]) -> bool:
    return all(
        symbol.op is Ops.BIND and symbol.src[0] is variable
        for symbol, variable in zip(symbols, variables, strict=True)
    )
