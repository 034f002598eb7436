"""STORE of a tensor value -> kernel: loops over the target, with the value as scalar code over
loads.

In: `STORE(view of a state, value)` where everything the value reads is storage. Out: the kernel
    SINK of `docs/ir.md` in normal form (parameters numbered by
first use, then variables; loops numbered outermost first) and its arguments.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tg_core.errors import ScheduleError
from tg_core.schedule.graph_facts import is_state
from tg_core.schedule.indexing import (
    Access,
    as_index,
    full_access,
    storage_access,
    through_movement,
)
from tg_core.schedule.views import strip_bitcast
from tg_core.uop.ops import AxisType, GroupOp, KernelInfo, Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Collection

_OPAQUE: Final = frozenset(
    (Ops.CALL, Ops.CUSTOM_FUNCTION, Ops.INS, Ops.PROGRAM, Ops.LINEAR, Ops.GETADDR, Ops.BUFFER)
)
"""What may write without a STORE that names its target."""


@dataclass
class Kernel:
    """A kernel and what it is called with."""

    body: UOp
    states: list[UOp]
    """Storage states by parameter slot; the first is the one written onto, for a STORE."""
    variables: list[UOp]
    """Scalar parameters of the schedule, in the order of the kernel's variables."""
    writes: tuple[int, ...]
    """Slots that are written."""
    deps: tuple[UOp, ...] = ()
    """Effects to run after, besides those in `states`."""


class _Lowering:
    """Lowers the value of one STORE; equal values at equal accesses are lowered once."""

    def __init__(self) -> None:
        self.ids = itertools.count()
        self.params: dict[UOp, UOp] = {}
        self.deps: dict[UOp, None] = {}
        self.done: dict[tuple[UOp, Access], UOp] = {}
        self.reduced: dict[tuple[UOp, Access], tuple[Access, tuple[UOp, ...]]] = {}

    def loops(self, sizes: list[object], kind: AxisType) -> list[UOp]:
        return [UOp.range(s, next(self.ids), kind) for s in sizes if s != 1]  # type: ignore[arg-type]  # sint

    def param(self, state: UOp) -> UOp:
        found = self.params.get(state)
        if found is None:
            size = int(state.shape[0])  # type: ignore[arg-type]  # storage has a static size
            found = self.params[state] = UOp.param(len(self.params), state.dtype, (size,))
        return found

    def load(self, state: UOp, access: Access) -> UOp:
        return self.param(state).index(as_index(access.positions[0], access.valid)).load()

    def value(self, root: UOp, access: Access) -> UOp:
        """Return the scalar code that computes an element of a value."""
        start = self.key(root, access)
        stack: list[tuple[tuple[UOp, Access], list[tuple[UOp, Access]] | None]] = [(start, None)]
        while stack:
            key, sources = stack.pop()
            if key in self.done:
                continue
            if sources is None:
                sources = self.sources(*key)
                stack.append((key, sources))
                stack.extend([(s, None) for s in reversed(sources) if s not in self.done])
            else:
                self.done[key] = self.combine(key, [self.done[s] for s in sources])
        return self.done[start]

    def key(self, node: UOp, access: Access) -> tuple[UOp, Access]:
        return (node, access if node.shape else Access((), access.valid))

    def sources(self, node: UOp, access: Access) -> list[tuple[UOp, Access]]:
        """Return what a node's element is computed from."""
        if is_state(node):
            return []
        if node.op in GroupOp.Movement:
            return [self.key(node.src[0], through_movement(node, access))]
        if node.op is Ops.REDUCE_AXIS:
            return [self.key(node.src[0], self.reduce_access(node, access)[0])]
        if node.op is Ops.AFTER:
            self.deps.update(dict.fromkeys(node.src[1:]))
            return [self.key(node.src[0], access)]
        if node.op is Ops.STACK:
            inner = Access(access.positions[1:], access.valid)
            return [self.key(s, inner) for s in node.src]
        return [self.key(s, access) for s in node.src]

    def reduce_access(self, node: UOp, access: Access) -> tuple[Access, tuple[UOp, ...]]:
        found = self.reduced.get((node, access))
        if found is None:
            source = node.src[0]
            loops = self.loops([source.shape[a] for a in node.arg[1]], AxisType.REDUCE)
            remaining = iter(loops)
            positions = list(access.positions)
            for axis in node.arg[1]:
                if source.shape[axis] != 1:
                    positions[axis] = next(remaining)
            found = self.reduced[node, access] = (
                Access(tuple(positions), access.valid),
                tuple(loops),
            )
        return found

    def combine(self, key: tuple[UOp, Access], values: list[UOp]) -> UOp:
        node, access = key
        if is_state(node):
            return self.load(node, access)
        if node.op is Ops.PAD:
            inside = through_movement(node, Access(access.positions, None)).valid
            return (
                values[0] if inside is None else inside.where(values[0], UOp.const(0, node.dtype))
            )
        if node.op in GroupOp.Movement or node.op in (Ops.AFTER, Ops.CONTIGUOUS):
            return values[0]
        if node.op is Ops.REDUCE_AXIS:
            return values[0].reduce(node.arg[0], *self.reduce_access(node, access)[1])
        if node.op is Ops.STACK:
            result = values[-1]
            for i, value in enumerate(values[:-1]):
                result = access.positions[0].eq(i).where(value, result)
            return result
        if node.op in GroupOp.Elementwise or node.op in (Ops.CONST, Ops.PARAM, Ops.BIND):
            return node if not node.src else UOp(node.op, tuple(values), node.arg, node.tag)
        raise ScheduleError(f"kernel: {node.op.name} cannot be computed inside of a kernel")


def lower_store_to_kernel(store: UOp) -> list[Kernel] | None:
    """Return the kernel of a STORE, or two with storage between them when the value reads its own
    target elsewhere.

    None when there is nothing to store.
    """
    from tg_core.schedule.insert_temporaries import stored

    target, value = store.src[:2]
    if 0 in target.shape:
        return None
    lowering = _Lowering()
    loops = lowering.loops(list(target.shape), AxisType.LOOP)
    access = full_access(target.shape, loops)
    state, flat, _ = storage_access(target, access)
    index = lowering.param(state).index(flat)
    result = lowering.value(value, access)
    if result.dtype is not state.dtype:
        result = result.cast(state.dtype)
    if _reads_elsewhere(result, index) or _reads_as_other_dtype(lowering, state):
        temporary = stored(value, store.device)
        first = lower_store_to_kernel(temporary.base.src[1])
        second = lower_store_to_kernel(target.store(temporary))
        assert first is not None and second is not None
        return [*first, *second]
    body = _normal_form(index.store(result).end(*_outermost_first(loops, result)))
    body, variables = _number_variables(body, len(lowering.params))
    return [Kernel(body, list(lowering.params), variables, (0,), tuple(lowering.deps))]


def _reads_elsewhere(value: UOp, index: UOp) -> bool:
    """Tell whether a value loads another element of the storage than the one it will be stored
    to.
    """
    param = index.src[0]
    return any(
        node.op is Ops.INDEX and node.src[0] is param and node is not index
        for node in value.toposort()
    )


def _reads_as_other_dtype(lowering: _Lowering, target: UOp) -> bool:
    """Tell whether a value also loads the storage it will be stored to as a dtype of another
    size.
    """
    state = strip_bitcast(target)
    return any(s is not target and strip_bitcast(s) is state for s in lowering.params)


def _outermost_first(loops: list[UOp], value: UOp) -> list[UOp]:
    """Order output loops so that those an inner reduction depends on enclose those it does not."""
    count = dict.fromkeys(loops, 0)
    every = set(loops)
    for node in value.toposort():
        if node.op is Ops.REDUCE and not every <= set(node.ranges):
            for loop in node.ranges:
                if loop in count:
                    count[loop] += 1

    def depth(loop: UOp) -> int:
        return -count[loop]

    return sorted(loops, key=depth)


def _normal_form(effect: UOp) -> UOp:
    """Number loops: output loops outermost first, then reduce loops in the order of their use."""
    numbers: dict[UOp, UOp] = {}
    ordered = [*(effect.src[1:] if effect.op is Ops.END else ()), *effect.toposort()]
    for node in ordered:
        if node.op is Ops.RANGE and node not in numbers:
            numbers[node] = UOp(Ops.RANGE, node.src, (len(numbers), *node.arg[1:]))
    return UOp.sink(effect.substitute(numbers), arg=KernelInfo())


def _number_variables(body: UOp, first_slot: int) -> tuple[UOp, list[UOp]]:
    """Rename scalar parameters by first use, so that kernels that differ only in them are one."""
    found = [n for n in body.toposort() if n.op is Ops.PARAM and n.arg.bounds is not None]
    renamed = {}
    for i, v in enumerate(found):
        low, high = v.arg.bounds
        renamed[v] = UOp.variable(f"v{i}", low, high, v.dtype, slot=first_slot + i)
    return body.substitute(renamed), found


def call_kernel(call: UOp, returned: Collection[UOp]) -> Kernel:
    """Return a hand-written kernel's call as a kernel.

    Args:
        call: the call.
        returned: arguments whose state after the call something refers to. They count as written,
            as does what the kernel stores to.
    """
    states = [strip_bitcast(_storage_of(a)) for a in call.src[1:] if a.shape != ()]
    variables = [a for a in call.src[1:] if a.shape == ()]
    stored = _stored_slots(call.src[0])
    storage = [slot for slot, argument in enumerate(call.src[1:]) if argument.shape != ()]
    writes = tuple(
        number
        for number, (slot, state) in enumerate(zip(storage, states, strict=True))
        if stored is None or slot in stored or state in returned or call.src[1 + slot] in returned
    )
    return Kernel(call.src[0], states, variables, writes)


def _stored_slots(body: UOp) -> set[int] | None:
    """Return the slots of the parameters that a kernel stores to; None where that is not told."""
    found = set()
    for node in body.toposort():
        if node.op in _OPAQUE:
            return None
        if node.op is Ops.STORE:
            target = node.src[0]
            while target.op is Ops.INDEX or target.op in GroupOp.Movement:
                target = target.src[0]
            if target.op is not Ops.PARAM:
                return None
            found.add(target.arg.slot)
    return found


def _storage_of(argument: UOp) -> UOp:
    while argument.op is Ops.RESHAPE:
        argument = argument.src[0]
    return argument
