"""The arguments of a captured function: which tensors and variables they hold, and what must stay
the same from call to call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tg_core.device import Buffer, buffer_of, copy_buffer, new_buffer_uop
from tg_core.errors import JitError
from tg_core.schedule.shards import multi
from tg_core.schedule.views import contiguous_view
from tg_core.tensor import Tensor
from tg_core.tensor.realize import realize_tensors
from tg_core.tensor.states import is_virtual, storage_base
from tg_core.tensor.structure import FROZEN, frozen_key, leaves, rebuild
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Iterator


def placeholder(slot: int, buffer: UOp) -> UOp:
    """Return the node that stands for the storage of a slot in what a capture keeps."""
    return UOp.param(slot, buffer.dtype, (buffer.arg.size,), buffer.arg.device, tag="jit")


@dataclass
class Input:
    """One tensor among the arguments."""

    name: str
    node: UOp
    """The value as a view of `buffer`."""
    buffer: UOp
    """The BUFFER node."""

    @property
    def storage(self) -> Buffer:
        """The memory."""
        buffer = buffer_of(self.buffer)
        assert buffer is not None
        return buffer

    def signature(self) -> Signature:
        """Return what must stay the same from call to call."""
        replaced = {n: n.src[0] for n in self.node.toposort() if n.op is Ops.BIND}
        replaced[self.buffer] = placeholder(0, self.buffer)
        shape = tuple(s if isinstance(s, int) else "symbolic" for s in self.node.shape)
        return Signature(
            self.name, self.node.dtype.name, self.node.device, shape, self.node.substitute(replaced)
        )


class Signature(NamedTuple):
    """What must stay the same of a tensor argument."""

    name: str
    dtype: str
    device: Any
    shape: tuple[Any, ...]
    layout: UOp
    """The view, with storage and bound values left out."""

    def check(self, new: Signature) -> None:
        """Raise a JitError that names the argument, what it was at capture and what it is."""
        for what in ("dtype", "device", "shape"):
            was, now = getattr(self, what), getattr(new, what)
            if was != now:
                raise JitError(f"jit: {new.name} had {what} {was} at capture and has {now}")
        if self.layout is not new.layout:
            raise JitError(
                f"jit: {new.name} had another layout at capture (a symbolic view of other storage);"
                " pass a view of a buffer of the same size, or call contiguous() on it"
            )


@dataclass
class Inputs:
    """All arguments of one call."""

    tensors: list[Input] = field(default_factory=list)
    variables: dict[str, UOp] = field(default_factory=dict)
    """BIND nodes by the name of their variable."""
    frozen: dict[str, Any] = field(default_factory=dict)
    """Plain Python values, which are compiled in."""
    copies: dict[int, Buffer] = field(default_factory=dict)
    """Slots that hold a copy because another has the same storage, each with the original."""

    @staticmethod
    def collect(
        args: tuple[Any, ...], kwargs: dict[str, Any], distinct: bool = False
    ) -> tuple[Inputs, tuple[Any, ...], dict[str, Any]]:
        """Realize the tensors among arguments.

        Args:
            args: positional arguments of the call.
            kwargs: named arguments of the call.
            distinct: give a tensor whose storage an earlier one has a copy, so that slots can be
                told apart.

        Returns:
            The inputs, and the arguments with the tensors replaced by ones whose node is a view of
            a whole buffer.
        """
        found = [*leaves(args, "args"), *(leaf for k, v in kwargs.items() for leaf in leaves(v, k))]
        realize_tensors([value for _, value in found if isinstance(value, Tensor)])
        inputs = Inputs()
        for name, value in found:
            if isinstance(value, Tensor) and value.uop.op is Ops.MULTI:
                inputs.add_parts(name, value.uop, distinct)
            elif isinstance(value, Tensor):
                inputs.add_tensor(name, value, distinct)
            elif isinstance(value, UOp) and value.op is Ops.BIND:
                inputs.add_variable(value)
            elif isinstance(value, FROZEN):
                inputs.frozen[name] = value
        nodes = iter([t.node for t in inputs.tensors])

        def swap(tensor: Tensor) -> Tensor:
            several = tensor.uop.op is Ops.MULTI
            node = _joined(tensor.uop, nodes) if several else next(nodes)
            if node is tensor.uop:
                return tensor
            swapped = Tensor._from_uop(node)
            swapped.is_param = tensor.is_param
            return swapped

        return inputs, rebuild(args, Tensor, swap), rebuild(kwargs, Tensor, swap)

    def add_variable(self, bound: UOp) -> None:
        """Note a bound variable; the same name must have one value."""
        variable, value = bound.unbind()
        name = variable.arg.name
        first = self.variables.setdefault(name, bound)
        if first is not bound:
            raise JitError(
                f"jit: variable {name} is bound to {first.unbind()[1]} and to {value} in one call"
            )

    def add_parts(self, name: str, value: UOp, distinct: bool) -> None:
        """Note a realized tensor over several devices as one input for each part."""
        split = "copy" if value.arg.axis is None else f"part along axis {value.arg.axis}"
        for part, device in zip(value.src, value.arg.devices, strict=True):
            if _is_input_part(part):
                tensor = Tensor._from_uop(part)
                if is_virtual(part):
                    tensor = tensor.clone(device).realize()
                self.add_tensor(f"{name} ({split} on {device})", tensor, distinct)

    def add_tensor(self, name: str, tensor: Tensor, distinct: bool) -> None:
        """Note a realized tensor as a view of a whole buffer."""
        node = _without_detach(tensor.uop)
        symbolic = [n for n in node.toposort() if n.op is Ops.BIND]
        for bound in symbolic:
            self.add_variable(bound)
        if is_virtual(node):
            node = tensor.clone().realize().uop
        elif not symbolic:
            node = _as_whole_buffer(tensor, node)
        base = storage_base(node)
        if distinct and any(t.buffer is base for t in self.tensors):
            if symbolic:
                raise JitError(
                    f"jit: {name} is a symbolic view of storage that another argument has too"
                )
            original = buffer_of(base)
            assert original is not None
            node = tensor.clone().realize().uop
            base = storage_base(node)
            self.copies[len(self.tensors)] = original
        self.tensors.append(Input(name, node, base))

    def placeholders(self) -> dict[UOp, UOp]:
        """Return storage and bound variables with what a capture keeps in their place."""
        kept = {t.buffer: placeholder(i, t.buffer) for i, t in enumerate(self.tensors)}
        kept.update((bound, bound.src[0]) for bound in self.variables.values())
        return kept

    def buffers(self) -> list[Buffer]:
        """Return the storage by slot."""
        return [t.storage for t in self.tensors]


def separate(buffers: list[Buffer], names: list[str], written: set[int]) -> list[Buffer]:
    """Return storage by slot in which no written slot overlaps another: the other is a copy.

    Args:
        buffers: of the tensors among the arguments.
        names: of the arguments, for the error.
        written: slots that the replay writes.

    Raises:
        JitError: two written slots overlap.
    """
    separated = list(buffers)
    for slot in sorted(s for s in written if s < len(buffers)):
        for other, buffer in enumerate(buffers):
            if other == slot or not _overlap(buffers[slot], buffer):
                continue
            if other in written:
                raise JitError(
                    f"jit: {names[slot]} and {names[other]} are both written and share memory"
                )
            separated[other] = copy_of(buffer)
    return separated


class CaptureSignature:
    """What must stay the same of all arguments."""

    def __init__(self, inputs: Inputs) -> None:
        self.tensors = [t.signature() for t in inputs.tensors]
        self.variables = list(inputs.variables)
        self.frozen = inputs.frozen

    @staticmethod
    def of(
        tensors: list[Signature], variables: list[str], frozen: dict[str, Any]
    ) -> CaptureSignature:
        """Return a signature from its parts."""
        signature = CaptureSignature(Inputs())
        signature.tensors, signature.variables, signature.frozen = tensors, variables, frozen
        return signature

    def check(self, inputs: Inputs) -> None:
        """Compare the inputs of a call with those of the capture.

        Raises:
            JitError: names the argument, what it was and what it is.
        """
        mine, theirs = [t.name for t in self.tensors], [t.name for t in inputs.tensors]
        if mine != theirs:
            raise JitError(
                f"jit: tensors among the arguments were {mine} at capture and are {theirs}"
            )
        for old, new in zip(self.tensors, inputs.tensors, strict=True):
            old.check(new.signature())
        if self.variables != list(inputs.variables):
            raise JitError(
                f"jit: variables among the arguments were {self.variables} at capture"
                f" and are {list(inputs.variables)}"
            )
        if self.frozen.keys() != inputs.frozen.keys():
            changed = sorted(self.frozen.keys() ^ inputs.frozen.keys())
            raise JitError(
                f"jit: the structure of the arguments changed since the capture at {changed}"
            )
        for name, value in self.frozen.items():
            now = inputs.frozen[name]
            if frozen_key(now) != frozen_key(value):
                raise JitError(
                    f"jit: {name} was {value!r} at capture and is {now!r}; plain values are"
                    " compiled in, pass a bound Variable or a Tensor for what changes"
                )


def _as_whole_buffer(tensor: Tensor, node: UOp) -> UOp:
    """Return a realized value as a view of all of a buffer: of its own, of a part of it, or of a
    copy.
    """
    view = contiguous_view(node)
    if view is None:
        return tensor.clone().realize().uop
    if (view.offset, view.size) == (0, view.state.shape[0]):
        return node
    storage = buffer_of(view.state)
    assert storage is not None
    part = storage.view(view.size, node.dtype, view.offset * node.dtype.itemsize)
    buffer = new_buffer_uop(part.device, view.size, node.dtype, part)
    return buffer._movement(Ops.RESHAPE, tuple(node.shape))


def _is_input_part(part: UOp) -> bool:
    return 0 not in part.shape


def _joined(value: UOp, nodes: Iterator[UOp]) -> UOp:
    """Return a value over several devices with the next nodes as its parts."""
    parts = [next(nodes) if _is_input_part(part) else part for part in value.src]
    return multi(parts, value.arg.devices, value.arg.axis)


def _without_detach(node: UOp) -> UOp:
    while node.op is Ops.DETACH:
        node = node.src[0]
    return node


def _overlap(a: Buffer, b: Buffer) -> bool:
    if a.root is not b.root:
        return False
    return a.offset < b.offset + b.nbytes and b.offset < a.offset + a.nbytes


def copy_of(buffer: Buffer) -> Buffer:
    """Return a copy of a buffer."""
    copy = Buffer(buffer.device, buffer.size, buffer.dtype)
    copy_buffer(copy, buffer.ensure_allocated())
    return copy
