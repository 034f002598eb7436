"""Executes linear programs with numpy, all work items of a block at once.

The text is that of `tg_core.renderer.interpreter`. Loops run in Python; each node of a loop's body
is one numpy call over the whole block. Work items of a block advance in lock step, so a BARRIER has
nothing to do; a group is never split between blocks.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tg_core.device.interpreter_calls import caller_of
from tg_core.device.interpreter_loops import BATCH, LoopPlan, Node, plan_loop, run_planned
from tg_core.device.interpreter_memory import (
    Storage,
    argument_storage,
    load,
    private_storage,
    store,
)
from tg_core.device.interpreter_ops import FUNCTIONS, apply
from tg_core.device.interpreter_values import Array, bitcast, cast, value_type
from tg_core.dtype import to_dtype
from tg_core.errors import CompileError, DeviceError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg_core.uop.ops import ProgramInfo

FORMAT = 1

BLOCK = 1 << 16
"""How many work items run at once, at most (but always a whole group)."""

SMALL = 1 << 10
"""Up to this many, what is known of the items of a block is kept."""


@dataclass
class Frame:
    """The state of one block."""

    values: list[Any]
    """Per node: an array, a `Storage`, or for an INDEX of storage the pair of storage and index."""
    items: int
    """Number of work items."""
    coordinates: dict[str, Array]
    """Per SPECIAL: its value for each work item."""
    group: Array
    """Number of each work item's group within the block."""
    groups: int
    loops: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Per open RANGE: its value and its size."""
    masks: list[Array] = field(default_factory=list)
    """Which work items are inside of each open IF, the outer ones included."""

    def mask(self, gate: Array | None) -> Array | None:
        """Return a gate combined with the open IFs."""
        if not self.masks:
            return gate
        outer = self.masks[-1]
        if gate is None:
            return outer
        return gate & (outer[:, None] if gate.ndim == 2 else outer)


Step: TypeAlias = "Callable[[Frame], int | None]"
"""Executes a node; returns where to go on, or None for the next node."""


class InterpreterProgram:
    """A kernel for the PYTHON device.

    Args:
        name: name of the kernel, for errors.
        binary: the text.
        info: not needed; sizes come with each call.

    Raises:
        CompileError: the text is of another format.
    """

    def __init__(self, name: str, binary: bytes, info: ProgramInfo | None = None) -> None:
        text = json.loads(binary)
        if text.get("format") != FORMAT:
            raise CompileError(f"{name}: format {text.get('format')}, expected {FORMAT}")
        self.name = name
        self._arguments: list[int] = text["arguments"]
        self._nodes = [
            Node(number, op, to_dtype(dtype), lanes, tuple(sources), argument)
            for number, (op, dtype, lanes, sources, argument) in enumerate(text["nodes"])
        ]
        self._steps = [self._step(node) for node in self._nodes]
        self._group_at_a_time = _has_uneven_loops(self._nodes)

    def __call__(
        self,
        buffers: Sequence[Any],
        values: tuple[int, ...] = (),
        global_size: tuple[int, ...] = (1, 1, 1),
        local_size: tuple[int, ...] = (1, 1, 1),
        wait: bool = False,
    ) -> float | None:
        """Run the kernel; see `tg_core.device.Program`.

        Raises:
            DeviceError: an access out of bounds, or arguments that do not fit.
        """
        start = time.perf_counter()
        arguments = self._bind(buffers, values)
        per_group = prod(local_size)
        groups, whole = prod(global_size), max(BLOCK // max(per_group, 1), 1)
        if self._group_at_a_time:
            whole = 1
        with np.errstate(all="ignore"):
            for first in range(0, groups, whole):
                count = min(whole, groups - first)
                self._run(_block(arguments, first, count, global_size, local_size))
        return time.perf_counter() - start if wait else None

    def _bind(self, buffers: Sequence[Any], values: tuple[int, ...]) -> list[Any]:
        given = [*buffers, *values]
        if len(given) != len(self._arguments):
            raise DeviceError(
                f"{self.name}: {len(given)} arguments, expected {len(self._arguments)}"
            )
        bound: list[Any] = [None] * len(self._nodes)
        for position, (number, value) in enumerate(zip(self._arguments, given)):
            node = self._nodes[number]
            if node.argument is None:
                wide = np.array([value], np.int64)
                bound[number] = wide.astype(value_type(node.dtype))
            else:
                label = f"argument {position}"
                bound[number] = argument_storage(label, node.dtype, node.argument, value)
        return bound

    def _run(self, frame: Frame) -> None:
        at, steps = 0, self._steps
        try:
            while at < len(steps):
                following = steps[at](frame)
                at = at + 1 if following is None else following
        except DeviceError as error:
            raise DeviceError(f"{self.name}: {error}") from None

    def _step(self, node: Node) -> Step:
        if node.op in FUNCTIONS:
            return _elementwise(node)
        if node.op == "END":
            return _end(node)
        if node.op == "RANGE":
            return self._loop(node)
        maker = _MAKERS.get(node.op)
        if maker is None:
            raise CompileError(f"{self.name}: the interpreter has no {node.op}")
        if node.op in ("CAST", "BITCAST"):
            return maker(node, self._nodes[node.sources[0]])
        return maker(node)

    def _loop(self, node: Node) -> Step:
        end = self._end_of(node.number)
        plain = _range(node, end)
        plan = plan_loop(self._nodes, node.number, end)
        if plan is None:
            return plain
        kinds = [value_type(self._nodes[number].dtype) for number in plan.ranges]
        return _planned(plan, end, plain, kinds, self._evaluate)

    def _evaluate(self, frame: Frame, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._steps[number](frame)

    def _end_of(self, number: int) -> int:
        for node in self._nodes[number:]:
            if node.op == "END" and number in node.sources:
                return node.number
        raise CompileError(f"{self.name}: loop {number} has no END")


def _has_uneven_loops(nodes: Sequence[Node]) -> bool:
    """Tell whether the size of a loop depends on the work item: groups then run one by one."""
    varies: list[bool] = []
    for node in nodes:
        varies.append(node.op == "SPECIAL" or any(varies[s] for s in node.sources))
        if node.op == "RANGE" and varies[node.sources[0]]:
            return True
    return False


def _block(
    arguments: list[Any],
    first: int,
    count: int,
    global_size: tuple[int, ...],
    local_size: tuple[int, ...],
) -> Frame:
    """Return the frame of `count` groups from `first` on."""
    small = count * prod(local_size) <= SMALL
    make = _kept_places if small else _places
    places = make(first, count, tuple(global_size), tuple(local_size))
    return Frame(list(arguments), len(places.group), places.coordinates, places.group, count)


@dataclass(frozen=True)
class _Places:
    """Where the work items of a block are; frames share it, and nothing writes to it."""

    coordinates: dict[str, Array]
    group: Array


def _places(
    first: int, count: int, global_size: tuple[int, ...], local_size: tuple[int, ...]
) -> _Places:
    """Return the places of all items of some groups; `gidx0` and `lidx0` vary fastest."""
    per_group = prod(local_size)
    item = np.arange(count * per_group, dtype=np.int64)
    group, local = item // per_group, item % per_group
    coordinates: dict[str, Array] = {}
    for stem, sizes, flat in (("gidx", global_size, group + first), ("lidx", local_size, local)):
        for axis, size in enumerate(sizes):
            coordinates[f"{stem}{axis}"] = flat % size
            flat = flat // size
    for cells in (group, *coordinates.values()):
        cells.flags.writeable = False
    return _Places(coordinates, group)


_kept_places = lru_cache(maxsize=256)(_places)
"""Small kernels are launched again and again, and spend much of their time here."""


def _elementwise(node: Node) -> Step:
    number, op, dtype, sources = node.number, node.op, node.dtype, node.sources
    vector = bool(node.lanes)

    def run(frame: Frame) -> None:
        operands = [frame.values[s] for s in sources]
        if vector:
            # a condition of one value chooses between vectors
            operands = [x if x.ndim == 2 else x[:, None] for x in operands]
        frame.values[number] = apply(op, operands, dtype)

    return run


def _cast(node: Node, operand: Node) -> Step:
    number, (source,), start, end = node.number, node.sources, operand.dtype, node.dtype

    def run(frame: Frame) -> None:
        frame.values[number] = cast(frame.values[source], start, end)

    return run


def _bitcast(node: Node, operand: Node) -> Step:
    number, (source,), start, end = node.number, node.sources, operand.dtype, node.dtype

    def run(frame: Frame) -> None:
        frame.values[number] = bitcast(frame.values[source], start, end)

    return run


def _const(node: Node) -> Step:
    value = np.full((1, node.lanes) if node.lanes else 1, node.argument, value_type(node.dtype))

    def run(frame: Frame) -> None:
        frame.values[node.number] = value

    return run


def _call(node: Node) -> Step:
    name, result, kinds = node.argument
    caller = caller_of(name, result, kinds)
    pointer, *sources = node.sources

    def run(frame: Frame) -> None:
        arguments = [frame.values[s] for s in sources]
        frame.values[node.number] = caller(frame.values[pointer], arguments, frame.mask(None))

    return run


def _nothing(node: Node) -> Step:
    def run(frame: Frame) -> None:
        pass

    return run


def _special(node: Node) -> Step:
    kind = value_type(node.dtype)

    def run(frame: Frame) -> None:
        frame.values[node.number] = frame.coordinates[node.argument].astype(kind)

    return run


def _buffer(node: Node) -> Step:
    size, space = node.argument

    def run(frame: Frame) -> None:
        local = space == "local"
        owners = frame.groups if local else frame.items
        owner = frame.group if local else np.arange(frame.items)
        label = f"{'local' if local else 'register'} array"
        frame.values[node.number] = private_storage(label, node.dtype, size, owners, owner)

    return run


def _range(node: Node, end: int) -> Step:
    number, (size,), kind = node.number, node.sources, value_type(node.dtype)

    def run(frame: Frame) -> int | None:
        count = _uniform(frame.values[size])
        if count <= 0:
            # END takes it from here: an outer loop it closes may go on
            frame.loops[number] = (0, 0)
            return end
        frame.loops[number] = (0, count)
        frame.values[number] = np.zeros(1, kind)
        return None

    return run


def _planned(
    plan: LoopPlan,
    end: int,
    plain: Step,
    kinds: list[np.dtype[Any]],
    evaluate: Callable[[Frame, Sequence[int]], None],
) -> Step:
    """Run nested loops in batches, but where an IF is open or batches would be small."""

    def run(frame: Frame) -> int | None:
        evaluate(frame, plan.setup)
        sizes = [_uniform(frame.values[size]) for size in plan.sizes]
        if frame.masks or min(sizes) <= 0 or frame.items > BATCH // 2:
            return plain(frame)

        def evaluate_here(values: list[Any], numbers: Sequence[int]) -> None:
            evaluate(replace(frame, values=values), numbers)

        def load_place(place: Any) -> Array:
            storage, index, lanes = place
            return load(storage, index, lanes, None, None)

        def store_place(place: Any, value: Array) -> None:
            storage, index, lanes = place
            store(storage, index, lanes, value, None)

        for number, kind in zip(plan.ranges, kinds):
            frame.values[number] = np.zeros(1, kind)
        run_planned(
            plan, frame.values, frame.items, sizes, evaluate_here, (load_place, store_place)
        )
        for number, size in zip(plan.ranges, sizes):
            frame.loops[number] = (size - 1, size)
        return end

    return run


def _uniform(values: Array) -> int:
    first = int(values[0])
    if len(values) > 1 and not (values == first).all():
        raise DeviceError("RANGE: work items disagree on the size of a loop")
    return first


def _end(node: Node) -> Step:
    # the ranges were opened in order of their numbers
    loops = sorted(node.sources, reverse=True)

    def run(frame: Frame) -> int | None:
        for loop in loops:
            last, size = frame.loops.pop(loop, (0, 0))
            if last + 1 < size:
                frame.loops[loop] = (last + 1, size)
                frame.values[loop] = np.full(1, last + 1, frame.values[loop].dtype)
                return loop + 1
        return None

    return run


def _if(node: Node) -> Step:
    def run(frame: Frame) -> None:
        condition = np.broadcast_to(frame.values[node.sources[0]], (frame.items,))
        inside = frame.mask(condition)
        assert inside is not None
        frame.masks.append(inside)

    return run


def _endif(node: Node) -> Step:
    def run(frame: Frame) -> None:
        frame.masks.pop()

    return run


def _index(node: Node) -> Step:
    number, (base, position), lanes = node.number, node.sources, node.argument or 0

    def run(frame: Frame) -> None:
        vector, index = frame.values[base], frame.values[position]
        if isinstance(vector, Storage):
            frame.values[number] = (vector, index, lanes)
        elif lanes:
            start = _uniform(index)
            frame.values[number] = vector[:, start : start + lanes]
        elif len(index) == 1:
            frame.values[number] = vector[:, int(index[0])]
        else:
            wide = np.broadcast_to(vector, (len(index), vector.shape[1]))
            picked = np.take_along_axis(wide, index[:, None].astype(np.int64), 1)
            frame.values[number] = picked[:, 0]

    return run


def _load(node: Node) -> Step:
    number, (source, *rest) = node.number, node.sources

    def run(frame: Frame) -> None:
        storage, index, lanes = frame.values[source]
        alt, gate = (frame.values[s] for s in rest) if rest else (None, None)
        frame.values[number] = load(storage, index, lanes, alt, frame.mask(gate))

    return run


def _store(node: Node) -> Step:
    source, value, *rest = node.sources

    def run(frame: Frame) -> None:
        storage, index, lanes = frame.values[source]
        gate = frame.values[rest[0]] if rest else None
        store(storage, index, lanes, frame.values[value], frame.mask(gate))

    return run


def _stack(node: Node) -> Step:
    number, sources = node.number, node.sources

    def run(frame: Frame) -> None:
        lanes = np.broadcast_arrays(*[frame.values[s] for s in sources])
        frame.values[number] = np.stack(lanes, axis=1)

    return run


_MAKERS: dict[str, Callable[..., Step]] = {
    "BARRIER": _nothing,
    "BITCAST": _bitcast,
    "BUFFER": _buffer,
    "CALL": _call,
    "CAST": _cast,
    "CONST": _const,
    "ENDIF": _endif,
    "IF": _if,
    "INDEX": _index,
    "LOAD": _load,
    "PARAM": _nothing,
    "SPECIAL": _special,
    "STACK": _stack,
    "STORE": _store,
}
"""How the steps of the other ops are made."""
