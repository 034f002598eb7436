"""The shortest way from the arguments of a call to a replay.

It takes calls whose arguments are exactly what they were at capture: the same containers, tensors
that are whole realized buffers, equal plain values. Anything else, errors included, is left to
`Inputs`, which looks at arguments one by one.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tg_core.device import Buffer, buffer_of
from tg_core.tensor import Tensor
from tg_core.tensor.structure import FROZEN
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from tg_core.dtype import DType
    from tg_core.jit_inputs import Inputs

_PLAIN = frozenset(FROZEN)


class _Whole(NamedTuple):
    """What a tensor's node must be: a BUFFER, or the RESHAPE of one."""

    reshape: Any
    """Argument of the RESHAPE, None for the BUFFER itself."""
    size: int
    dtype: DType
    device: str | None


class QuickInputs(NamedTuple):
    """What a replay takes of one call."""

    nodes: list[UOp]
    """BUFFER nodes of the tensors."""
    buffers: list[Buffer]
    variables: list[UOp]
    """BIND nodes, each variable once."""


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
        self.variables = [symbol.src[0] for symbol in gathered.symbols if symbol.op is Ops.BIND]
        self.whole = [_whole(node) for node in gathered.tensors]
        names = {variable.arg.name for variable in self.variables}
        self.usable = (
            None not in self.form
            and None not in self.whole
            and len(self.whole) == len(inputs.tensors)
            and len(self.variables) == len(gathered.symbols) == len(names)
            and names == set(inputs.variables)
        )

    def match(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> QuickInputs | None:
        """Return what a replay takes of a call, None when it has to go the long way."""
        if not self.usable:
            return None
        gathered = _gather(args, kwargs)
        if (
            gathered.form != self.form
            or gathered.frozen != self.frozen
            or len(gathered.symbols) != len(self.variables)
            or (self.variables and not _all_bound(gathered.symbols, self.variables))
        ):
            return None
        nodes: list[UOp] = []
        buffers: list[Buffer] = []
        for node, wanted in zip(gathered.tensors, self.whole, strict=True):
            base = _base_if(node, wanted)
            if base is None:
                return None
            buffer = buffer_of(base)
            if buffer is None:
                return None
            nodes.append(base)
            buffers.append(buffer)
        return QuickInputs(nodes, buffers, gathered.symbols)


def _whole(node: UOp) -> _Whole | None:
    base = node.src[0] if node.op is Ops.RESHAPE and len(node.src) == 1 else node
    if base.op is not Ops.BUFFER:
        return None
    return _Whole(
        None if base is node else node.arg, base.arg.size, base.arg.dtype, base.arg.device
    )


def _base_if(node: UOp, wanted: _Whole | None) -> UOp | None:
    """Return the BUFFER of a node that is as wanted."""
    assert wanted is not None
    reshape, size, dtype, device = wanted
    if reshape is not None:
        if node.op is not Ops.RESHAPE or node.arg != reshape:
            return None
        node = node.src[0]
    if node.op is not Ops.BUFFER:
        return None
    arg = node.arg
    if arg.size != size or arg.dtype is not dtype or arg.device != device:
        return None
    return node


def _all_bound(symbols: list[UOp], variables: list[UOp]) -> bool:
    return all(
        symbol.op is Ops.BIND and symbol.src[0] is variable
        for symbol, variable in zip(symbols, variables, strict=True)
    )
