"""Realizing: running the pending writes that requested tensors depend on.

A live tensor that still reads a state which a write supersedes gets a snapshot of it in the same
schedule, ordered before the write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.callify import callify
from tg_core.config import CHECK_INDEX
from tg_core.device import Buffer, Device, buffer_of
from tg_core.dtype import dtypes
from tg_core.engine import capture
from tg_core.engine.realize import link
from tg_core.errors import DTypeError, FunctionError
from tg_core.schedule import schedule_body
from tg_core.schedule.graph_facts import is_state
from tg_core.schedule.prepare_graph import prepare_graph
from tg_core.tensor.copies import write_through_copies
from tg_core.tensor.families import keep_apart
from tg_core.tensor.index_checks import check_positions
from tg_core.tensor.interrupted import carry_out, finish_interrupted
from tg_core.tensor.moves import apply_moves, moves_of_live
from tg_core.tensor.registry import live_lock, live_tensors
from tg_core.tensor.shard_states import expand_live_shards, parts_of
from tg_core.tensor.states import is_realized, is_virtual, pending_storage, storage_base
from tg_core.tensor.writes import captured_call
from tg_core.uop.graph import substitute_many, toposort, with_sources
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tg_core.engine.run import Run
    from tg_core.tensor.tensor import Tensor


def _unbound(node: UOp) -> bool:
    return node.op is not Ops.BIND


def _order(roots: Iterable[UOp]) -> list[UOp]:
    """Return the nodes of graphs in topological order; bodies of calls and the inside of bound
    variables are not theirs.
    """
    return toposort(roots, _unbound, enter_calls=False)


def _outputs(nodes: Sequence[UOp]) -> list[UOp]:
    """Return the nodes that need work, each once."""
    wanted: dict[UOp, None] = {}
    for node in parts_of(nodes):
        if is_realized(node) or is_virtual(node):
            continue
        if dtypes.is_weak(node.dtype):
            raise DTypeError(
                f"realize: {node.dtype.name} has no width, cast it to a concrete dtype first"
            )
        wanted[node] = None
    return list(wanted)


def _fold_nothing(nodes: Sequence[UOp]) -> dict[UOp, UOp]:
    """Return replacements for values that are constants because all they read has no elements."""
    if not any(0 in n.shape for n in _order(nodes)):
        return {}
    folded = {}
    for node in nodes:
        if not is_state(storage_base(node)):
            simple = prepare_graph(node)
            if simple.device is None:
                folded[node] = simple
    return folded


def _give_storage(outputs: Sequence[UOp]) -> tuple[dict[UOp, UOp], dict[UOp, UOp]]:
    """Return for each output the view of a state that computes it, and what became of all nodes
    because outputs read the storage of other outputs.
    """
    requested = set(outputs)
    done: dict[UOp, UOp] = {}
    for node in _order(outputs):
        rebuilt = with_sources(node, done) if _unbound(node) else node
        if node in requested and not is_state(storage_base(rebuilt)):
            device = node.device
            rebuilt = pending_storage(rebuilt, device if isinstance(device, str) else None)
        done[node] = rebuilt
    return {node: done[node] for node in outputs}, done


def _other_results(done: Mapping[UOp, UOp]) -> dict[UOp, UOp]:
    """Return the states of live tensors that calls of a schedule fill beside the requested ones,
    each with what it became.

    A call runs once, so all its results are there afterwards.
    """
    calls = {node: new for node, new in done.items() if node.op is Ops.CALL}
    if not calls:
        return {}
    found = {}
    for node in _order(t.uop for t in live_tensors()):
        if node.op is Ops.AFTER and node not in done and any(d in calls for d in node.src[1:]):
            deps = (calls.get(d, d) for d in node.src[1:])
            found[node] = UOp(Ops.AFTER, (done.get(node.src[0], node.src[0]), *deps))
    return found


def _written_states(order: Iterable[UOp]) -> tuple[dict[UOp, UOp], set[UOp]]:
    """Return the pending states of a graph, each with the storage under it, and the states they
    supersede.
    """
    pending: dict[UOp, UOp] = {}
    superseded: set[UOp] = set()
    for node in order:
        if node.op is Ops.AFTER:
            pending[node] = pending.get(node.src[0], node.src[0])
            if is_state(node):
                superseded.add(node.src[0])
    return pending, superseded


def _read_by_live(
    pending: Mapping[UOp, UOp], superseded: set[UOp]
) -> tuple[dict[UOp, UOp], list[UOp]]:
    """Return what live tensors outside of the schedule read of it.

    A reader reaches a superseded state without passing the pending state above it.

    Returns:
        Replacements for superseded states, and the newest states that nothing but an overwritten
        one may lead to: live tensors take them for computed, so they must not be dropped with it.
    """
    at_risk = {s for s in superseded if s.op is Ops.AFTER or _is_allocated(s)}
    if not at_risk:
        return {}, []
    replaced: dict[UOp, UOp] = {}
    newest: dict[UOp, None] = {}
    may_drop = any(state.op is Ops.AFTER for state in at_risk)

    def gate(node: UOp) -> bool:
        return node not in pending and _unbound(node)

    for tensor in live_tensors():
        if is_realized(tensor.uop):
            continue
        for node in toposort((tensor.uop,), gate, enter_calls=False):
            if node in at_risk:
                if node not in replaced:
                    replaced[node] = _snapshot(node)
            elif may_drop and node in pending and is_state(node):
                newest[node] = None
    return replaced, list(newest)


def _snapshot(state: UOp) -> UOp:
    device = state.device
    return pending_storage(state, device if isinstance(device, str) else None)


def _is_allocated(node: UOp) -> bool:
    buffer = buffer_of(node)
    return buffer is not None and buffer.is_allocated()


def argument_of(node: UOp) -> Buffer | int:
    """Return what runs as the argument of a call: a buffer, or the value of a bound variable.

    Raises:
        FunctionError: the node is a parameter of a function that is being traced.
    """
    if node.op is Ops.BIND:
        return node.unbind()[1]
    buffer = buffer_of(node)
    if buffer is None:
        raise FunctionError(
            "realize: a traced function must not look at the values of its arguments; use where()"
            " in place of a condition, or take the decision outside"
        )
    return buffer


def run_of(sink: UOp) -> Run:
    """Schedule and link what a SINK of states asks for, and return it ready to be run."""
    call = callify(sink)
    linear = schedule_body(call.src[0], Device.DEFAULT)
    arguments = [argument_of(a) for a in call.src[1:]]
    run = link(linear).start(arguments)
    capture.record(linear, call.src[1:])
    return run


class Pending:
    """The work that realizing some tensors takes.

    Attributes:
        sink: SINK of the states to reach, None when there is nothing to run.
    """

    def __init__(self, nodes: Sequence[UOp]) -> None:
        outputs = _outputs(nodes)
        self._folded = _fold_nothing(outputs)
        views, done = _give_storage([o for o in outputs if o not in self._folded])
        others = _other_results(done)
        states = dict.fromkeys((*map(storage_base, views.values()), *others.values()))
        pending, superseded = _written_states(_order(states))
        for old, new in (*done.items(), *others.items()):
            if old.op is Ops.AFTER and new in pending:
                pending[old] = pending[new]
        snapshots, newest = _read_by_live(pending, superseded)
        taken = [storage_base(v) for v in snapshots.values()]
        reached = dict.fromkeys((*states, *(done.get(n, n) for n in newest)))
        self.sink = UOp.sink(*reached, *taken) if states else None
        pending.update((s, s.src[0]) for s in taken)
        self._pending, self._values = pending, {**views, **snapshots}

    @property
    def overwrites(self) -> bool:
        """Whether the work writes storage that has values already."""
        return any(_is_allocated(storage_base(base)) for base in self._pending.values())

    def overwritten(self) -> set[int]:
        """Return identities of the memory (`Buffer.root`) that the work writes and that has values
        already.
        """
        buffers = (buffer_of(storage_base(base)) for base in self._pending.values())
        return {id(b.root) for b in buffers if b is not None and b.is_allocated()}

    def replaced(self, call: UOp | None = None) -> dict[UOp, UOp]:
        """Return what nodes of live tensors become.

        Args:
            call: what does the work; without it, the work is done.
        """
        states = self._pending
        if call is not None:
            states = {state: base.after(call) for state, base in states.items()}
        settled = substitute_many(self._values.values(), states)
        return {**states, **self._folded, **dict(zip(self._values, settled, strict=True))}


def realize_tensors(tensors: Sequence[Tensor]) -> None:
    """Compute and store the values of tensors, with the pending writes they depend on.

    Tensors that are realized or virtual are left alone; intermediates stay unrealized.

    Raises:
        DTypeError: a tensor has a weak dtype.
        IndexingError: with `CHECK_INDEX=1`, a position in a tensor is out of range; then nothing
            was written.
        ScheduleError, CompileError, DeviceError: from the stages below.
    """
    if CHECK_INDEX.value:
        check_positions([t.uop for t in tensors], _realize_all)
    _realize_all(tensors)


def _realize_all(tensors: Sequence[Tensor]) -> None:
    with live_lock:
        expand_live_shards(tensors)
        finish_interrupted(tensors)
        call = captured_call()
        if call is None:
            run_pending(tensors)
            return
        # few programs capture
        from tg_core.tensor.outside import settle_outside

        settle_outside(call, tensors)
        call.note_replaced(run_pending(tensors))


def _gets_storage(node: UOp) -> bool:
    base = storage_base(node)
    return not (is_state(base) or base.op is Ops.MULTI or is_virtual(node))


def run_pending(tensors: Sequence[Tensor]) -> dict[UOp, UOp]:
    """Compute tensors, and let live tensors see it. The caller holds `live_lock`.

    Returns:
        What nodes of live tensors became.
    """
    owners = {t.uop: t for t in reversed(tensors) if _gets_storage(t.uop)}
    if owners:
        keep_apart(owners)
    pending = Pending([t.uop for t in tensors])
    replaced = pending.replaced()
    moves = moves_of_live(replaced)
    if pending.sink is None:
        apply_moves(moves)
        return replaced
    run = run_of(write_through_copies(pending.sink, [after for _, _, after in moves]))
    if pending.overwrites:
        carry_out(run, replaced)
    else:
        run.finish()
        apply_moves(moves)
    return replaced
