"""The arguments of a captured function: which tensors and variables they hold, and what must stay
the same from call to call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tg_core.device import Buffer, buffer_of, copy_buffer, new_buffer_uop
from tg_core.errors import JitError
from tg_core.jit_views import split_view
from tg_core.schedule.shards import multi
from tg_core.schedule.views import contiguous_view
from tg_core.tensor import Tensor
from tg_core.tensor.readers import replace_storage, storage_of
from tg_core.tensor.realize import realize_tensors
from tg_core.tensor.registry import live_tensors
from tg_core.tensor.states import is_virtual, storage_base
from tg_core.tensor.structure import FROZEN, frozen_key, leaves, rebuild
from tg_core.tensor.writes import bases_of
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Container, Iterator


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
    original: UOp
    """What the caller's tensor shows of the storage, as a vector of the size of `buffer`."""
    is_copy: bool = False
    """Whether the storage is a copy of what the caller's tensor shows."""

    @property
    def storage(self) -> Buffer:
        """The memory."""
        buffer = buffer_of(self.buffer)
        assert buffer is not None
        return buffer

    def with_own_node(self) -> Input:
        """Return the same input with a BUFFER node that nothing else has, for the same memory."""
        arg = self.buffer.arg
        own = new_buffer_uop(arg.device, arg.size, arg.dtype, self.storage)
        node = self.node.substitute({self.buffer: own})
        return Input(self.name, node, own, self.original, self.is_copy)

    def in_layout(self, layout: UOp) -> Input:
        """Return a copy of the input in the layout of a capture.

        Args:
            layout: a view of a placeholder.

        Raises:
            JitError: it is a view that shows elements of its storage more than once or not.
        """
        stand_in = storage_base(layout)
        own = new_buffer_uop(stand_in.device, stand_in.arg.shape[0], stand_in.dtype)  # type: ignore[arg-type]  # one device
        buffer_of(own).ensure_allocated()  # type: ignore[union-attr]  # it has one
        copy = Tensor._from_uop(layout.substitute({stand_in: own}))
        realize_tensors([copy.assign(Tensor._from_uop(self.node))])
        return Input(self.name, layout.substitute({stand_in: own}), own, own, is_copy=True)

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
        symbolic = "symbolic" in self.shape
        if symbolic and self.layout is not new.layout:
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
    originals: list[Tensor] = field(default_factory=list)
    """The tensors among the arguments, by number."""
    numbers: list[int] = field(default_factory=list)
    """Of each entry of `tensors`, which of the originals it is of, or is a part of."""
    pinned: dict[int, Buffer] = field(default_factory=dict)
    """Storage by number in `tensors` for which no node of their own was made."""
    swapped: list[Tensor] = field(default_factory=list)
    """What the function is given in the place of `originals`."""

    @staticmethod
    def collect(
        args: tuple[Any, ...], kwargs: dict[str, Any], keep: frozenset[int] | None = None
    ) -> tuple[Inputs, tuple[Any, ...], dict[str, Any]]:
        """Realize the tensors among arguments.

        Args:
            args: positional arguments of the call.
            kwargs: named arguments of the call.
            keep: for a capture: slots of BUFFER nodes that are kept. Other tensors get nodes for
                their memory that nothing else has, so that uses of it can be told apart.

        Returns:
            The inputs, and the arguments with the tensors replaced by ones whose node is a view of
            a whole buffer.
        """
        found = [*leaves(args, "args"), *(leaf for k, v in kwargs.items() for leaf in leaves(v, k))]
        realize_tensors([value for _, value in found if isinstance(value, Tensor)])
        inputs = Inputs()
        for name, value in found:
            if isinstance(value, Tensor):
                inputs.add(name, value, keep)
            elif isinstance(value, UOp) and value.op is Ops.BIND:
                inputs.add_variable(value)
            elif isinstance(value, FROZEN):
                inputs.frozen[name] = value
        swapped = iter(inputs.swapped)

        def swap(_: Tensor) -> Tensor:
            return next(swapped)

        return inputs, rebuild(args, Tensor, swap), rebuild(kwargs, Tensor, swap)

    def add(self, name: str, tensor: Tensor, keep: frozenset[int] | None = None) -> None:
        """Note a realized tensor, with what the function is given for it."""
        nodes = len(self.tensors)
        value = tensor.uop
        several = isinstance(value.device, tuple)
        if several:
            if value.op is not Ops.MULTI:
                # a view that does not keep the split has no parts
                value = tensor.clone().realize().uop
            self.add_parts(name, value, keep)
        else:
            self.add_tensor(name, tensor, keep)
        new = iter([t.node for t in self.tensors[nodes:]])
        node = _joined(value, new) if several else next(new)
        swapped = tensor
        if node is not tensor.uop:
            swapped = Tensor._from_uop(node)
            swapped.is_param = tensor.is_param
        self.numbers.extend([len(self.originals)] * (len(self.tensors) - nodes))
        self.originals.append(tensor)
        self.swapped.append(swapped)

    def add_variable(self, bound: UOp) -> None:
        """Note a bound variable; the same name must have one value."""
        variable, value = bound.unbind()
        name = variable.arg.name
        first = self.variables.setdefault(name, bound)
        if first is not bound:
            raise JitError(
                f"jit: variable {name} is bound to {first.unbind()[1]} and to {value} in one call"
            )

    def add_parts(self, name: str, value: UOp, keep: frozenset[int] | None) -> None:
        """Note a realized tensor over several devices as one input for each part."""
        split = "copy" if value.arg.axis is None else f"part along axis {value.arg.axis}"
        for part, device in zip(value.src, value.arg.devices, strict=True):
            if _is_input_part(part):
                tensor = Tensor._from_uop(part)
                if is_virtual(part):
                    tensor = tensor.clone(device).realize()
                self.add_tensor(f"{name} ({split} on {device})", tensor, keep)

    def add_tensor(self, name: str, tensor: Tensor, keep: frozenset[int] | None) -> None:
        """Note a realized tensor as a view of a whole buffer."""
        for node in tensor.uop.toposort():
            if node.op is Ops.BIND:
                self.add_variable(node)
        found = input_of(name, tensor)
        if keep is not None and not found.is_copy:
            if found.buffer.arg.slot in keep:
                self.pinned[len(self.tensors)] = found.storage
            else:
                found = found.with_own_node()
        self.tensors.append(found)

    def of(self, number: int) -> list[Input]:
        """Return what one of the originals is taken as: itself, or its parts on devices."""
        return [t for t, n in zip(self.tensors, self.numbers, strict=True) if n == number]

    def slots(self) -> dict[UOp, int]:
        """Return the number of each BUFFER node."""
        return {t.buffer: number for number, t in enumerate(self.tensors)}

    def bind_back(self) -> None:
        """Let the tensors of the caller have the values that those given in their place got other
        than by writes.
        """
        for number, (original, swapped) in enumerate(
            zip(self.originals, self.swapped, strict=True)
        ):
            own = {t.buffer for t in self.of(number)}
            if swapped is not original and own.isdisjoint(bases_of(swapped.uop)):
                original.replace(swapped)

    def hand_back(self) -> None:
        """Let the tensors of the caller have the pending writes of those given in their place."""
        for original, swapped in zip(self.originals, self.swapped, strict=True):
            if swapped is not original and any(b.op is Ops.AFTER for b in bases_of(swapped.uop)):
                original.assign(swapped)

    def copy_back(self, written: Container[int]) -> None:
        """Write copies that were written to where they were copied from.

        Args:
            written: numbers of inputs.
        """
        changed = []
        for slot, (taken, number) in enumerate(zip(self.tensors, self.numbers, strict=True)):
            original = self.originals[number]
            if taken.is_copy and slot in written and original.uop.op is not Ops.MULTI:
                changed.append(original.assign(Tensor._from_uop(taken.node)))
        realize_tensors(changed)

    def give_own_nodes_up(self) -> None:
        """Let live tensors show the storage of the caller's tensors, and not by nodes that only
        the inputs have.
        """
        own = {t.buffer: t.original for t in self.tensors if t.buffer is not t.original}
        changed = [t for t in live_tensors() if any(n in own for n in storage_of(t.uop))]
        replace_storage(changed, own)

    def placeholders(self) -> dict[UOp, UOp]:
        """Return storage and bound variables with what a capture keeps in their place."""
        kept = {t.buffer: placeholder(i, t.buffer) for i, t in enumerate(self.tensors)}
        kept.update((bound, bound.src[0]) for bound in self.variables.values())
        return kept

    def buffers(self) -> list[Buffer]:
        """Return the storage by slot."""
        return [t.storage for t in self.tensors]


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

    def fit(self, inputs: Inputs) -> None:
        """Give inputs the layouts they had at capture, where they have others."""
        for slot, (old, new) in enumerate(zip(self.tensors, inputs.tensors, strict=True)):
            if old.layout is not new.signature().layout:
                inputs.tensors[slot] = new.in_layout(old.layout)

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


def input_of(name: str, tensor: Tensor) -> Input:
    """Return a realized tensor as a view of all of a buffer: of its own, of a part of it, or of a
    copy.
    """
    node = _without_detach(tensor.uop)
    base = storage_base(node)
    if any(n.op is Ops.BIND for n in node.toposort()):
        return Input(name, node, base, base)
    steps, run = split_view(node)
    if is_virtual(node) or any(n.op in (Ops.EXPAND, Ops.PAD) for n in steps):
        copy = _without_detach(tensor.clone().realize().uop)
        base = storage_base(copy)
        return Input(name, copy, base, base, is_copy=True)
    if steps and contiguous_view(node) is not None:
        steps, run = [], node
    view = contiguous_view(run)
    assert view is not None
    if (view.offset, view.size) == (0, view.state.shape[0]):
        buffer = original = view.state
    else:
        storage = buffer_of(view.state)
        assert storage is not None
        part = storage.view(view.size, run.dtype, view.offset * run.dtype.itemsize)
        buffer = new_buffer_uop(part.device, view.size, run.dtype, part)
        original = run._movement(Ops.RESHAPE, (view.size,))
    node = buffer._movement(Ops.RESHAPE, tuple(run.shape))
    for step in reversed(steps):
        node = UOp(step.op, (node,), step.arg, step.tag)
    return Input(name, node, buffer, original)


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


def copy_of(buffer: Buffer) -> Buffer:
    """Return a copy of a buffer."""
    copy = Buffer(buffer.device, buffer.size, buffer.dtype)
    copy_buffer(copy, buffer.ensure_allocated())
    return copy
