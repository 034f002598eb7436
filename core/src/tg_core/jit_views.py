"""Which storage a tensor argument shows, read from its node without building any graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from tg_core.device import buffer_of, new_buffer_uop
from tg_core.schedule.views import is_whole_view
from tg_core.tensor.states import ALIASING
from tg_core.uop.ops import GroupOp, Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.dtype import DType

__all__ = ["ArgumentView", "Layout", "SymbolicView", "Whole", "split_view", "view_of"]

_STEPS = 256
"""Nodes of a symbolic view that are compared at most; what is larger goes the long way."""


class Whole:
    """All of a buffer, in a shape.

    Args:
        node: the shape.
        base: the BUFFER.
    """

    __slots__ = ("device", "dtype", "reshape", "shape", "size")

    def __init__(self, node: UOp, base: UOp) -> None:
        self.shape = node.shape
        self.reshape = None if self.shape == base.shape else self.shape
        """Argument of a RESHAPE to this shape, None for the shape of a BUFFER itself."""
        self.size: int = base.arg.size
        self.dtype: DType = base.arg.dtype
        self.device: str | None = base.arg.device

    def base_of(self, node: UOp) -> UOp | None:
        """Return the BUFFER of a node that is all of one like this, in this shape."""
        if self.reshape is not None:
            if node.op is not Ops.RESHAPE or node.arg != self.reshape:
                return None
            node = node.src[0]
        if node.op is not Ops.BUFFER:
            return None
        arg = node.arg
        if arg.size != self.size or arg.dtype is not self.dtype or arg.device != self.device:
            return None
        return node

    def part_of(self, node: UOp) -> UOp | None:
        """Return a new BUFFER for a node of this shape that is one run of a larger buffer."""
        found = _run_of(node)
        if found is None or node.shape != self.shape:
            return None
        base, start = found
        storage = buffer_of(base)
        arg = base.arg
        if storage is None or arg.dtype is not self.dtype or arg.device != self.device:
            return None
        if start == 0 and arg.size == self.size:
            return base
        part = storage.view(self.size, self.dtype, start * self.dtype.itemsize)
        return new_buffer_uop(part.device, self.size, self.dtype, part)


class SymbolicView:
    """A view of a buffer whose shape has variables.

    Args:
        node: the view, over a BUFFER and bound variables.
        base: that BUFFER.
    """

    __slots__ = ("_arg", "_layout", "_place")

    def __init__(self, node: UOp, base: UOp) -> None:
        # a node that stands for storage of the kind, so that none of it is kept
        self._arg = base.arg
        self._place = UOp.param(0, base.dtype, (base.arg.size,), base.arg.device, tag="view")
        replaced = {n: n.src[0] for n in node.toposort() if n.op is Ops.BIND}
        replaced[base] = self._place
        self._layout = node.substitute(replaced)

    def base_of(self, node: UOp) -> UOp | None:
        """Return nothing: no node is known at a glance."""
        return None

    def match(self, node: UOp, symbols: list[UOp]) -> UOp | None:
        """Return the BUFFER of a node that is this view of another buffer of the kind.

        Args:
            node: of the argument.
            symbols: grows by the BIND nodes in its shape.
        """
        base: UOp | None = None
        pairs = [(node, self._layout)]
        for _ in range(_STEPS):
            if not pairs:
                return base
            found, wanted = pairs.pop()
            if found is wanted:
                continue
            if wanted is self._place:
                if not self._is_alike(found) or base not in (None, found):
                    return None
                base = found
            elif wanted.op is Ops.PARAM:
                if found.op is not Ops.BIND or found.src[0] is not wanted:
                    return None
                symbols.append(found)
            elif (
                found.op is wanted.op
                and found.arg == wanted.arg
                and found.tag == wanted.tag
                and len(found.src) == len(wanted.src)
            ):
                pairs.extend(zip(found.src, wanted.src, strict=True))
            else:
                return None
        return None

    def _is_alike(self, node: UOp) -> bool:
        mine = self._arg
        if node.op is not Ops.BUFFER:
            return False
        arg = node.arg
        return bool(arg.size == mine.size and arg.dtype is mine.dtype and arg.device == mine.device)


class Layout:
    """A view of one run of a buffer in another order, such as a transposed matrix.

    Args:
        steps: the operations from the top down, each with its argument.
        run: what they are a view of.
    """

    __slots__ = ("run", "steps")

    def __init__(self, steps: Sequence[UOp], run: Whole) -> None:
        self.steps = [(step.op, step.arg) for step in steps]
        self.run = run

    def base_of(self, node: UOp) -> UOp | None:
        """Return the BUFFER of a node that is the same view of all of a buffer like this."""
        found = self._inner(node)
        return None if found is None else self.run.base_of(found)

    def part_of(self, node: UOp) -> UOp | None:
        """Return a new BUFFER for a node that is the same view of one run of a larger buffer."""
        found = self._inner(node)
        return None if found is None else self.run.part_of(found)

    def _inner(self, node: UOp) -> UOp | None:
        for op, arg in self.steps:
            while node.op is Ops.DETACH:
                node = node.src[0]
            if node.op is not op or node.arg != arg or len(node.src) != 1:
                return None
            node = node.src[0]
        return node


ArgumentView: TypeAlias = Whole | Layout | SymbolicView
"""How an argument shows its storage."""


def view_of(node: UOp) -> ArgumentView | None:
    """Return how to recognize views like this one, None for what is none of storage.

    Args:
        node: of an argument of a capture.
    """
    steps, inner = split_view(node)
    base = inner
    while base.op in GroupOp.Movement:
        base = base.src[0]
    if base.op is not Ops.BUFFER:
        return None
    if any(len(n.src) > 1 for n in steps):
        return SymbolicView(node, base)
    if not is_whole_view(inner):
        return None
    run = Whole(inner, base)
    return Layout(steps, run) if steps else run


def split_view(node: UOp) -> tuple[list[UOp], UOp]:
    """Return the operations of a view that are above one run of storage, from the top down, and
    that run: storage seen through reshapes and cuts.
    """
    chain = []
    base = node
    while base.op in ALIASING:
        chain.append(base)
        base = base.src[0]
    inner = base
    while chain and chain[-1].op in (Ops.RESHAPE, Ops.SHRINK, Ops.DETACH):
        above = chain[-1]
        if _run_of(above) is None:
            break
        inner = chain.pop()
    return [step for step in chain if step.op is not Ops.DETACH], inner


def _run_of(node: UOp) -> tuple[UOp, int] | None:
    """Return the BUFFER and the first element of a view that is one run of it, as far as reshapes
    and cuts tell.
    """
    start = 0
    while node.op is not Ops.BUFFER:
        if len(node.src) != 1:
            return None
        inner = node.src[0]
        if node.op is Ops.SHRINK:
            first = _first_of_run(inner.shape, node.arg)
            if first is None:
                return None
            start += first
        elif node.op is not Ops.RESHAPE and node.op is not Ops.DETACH:
            return None
        node = inner
    return node, start


def _first_of_run(shape: tuple[Any, ...], cut: tuple[tuple[int, int], ...]) -> int | None:
    """Return the first element of a cut out of an array, None where it is not one run of it."""
    first, stride, is_cut = 0, 1, False
    for size, (begin, end) in zip(reversed(shape), reversed(cut), strict=True):
        length = end - begin
        # outside of an axis of which only a part is taken, one element is taken of every axis
        if length == 0 or (is_cut and length != 1):
            return None
        is_cut = is_cut or length != size
        first += begin * stride
        stride *= size
    return first
