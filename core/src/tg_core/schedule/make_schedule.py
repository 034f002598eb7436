"""The passes that make a LINEAR of calls of kernels and copies out of the body of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.errors import ScheduleError
from tg_core.schedule.abilities import has_row_kernels, most_reads
from tg_core.schedule.choose_materialized import choose_materialized
from tg_core.schedule.drop_dead_writes import drop_dead_writes
from tg_core.schedule.graph_facts import collect_facts
from tg_core.schedule.insert_temporaries import insert_temporaries
from tg_core.schedule.lower_scatters import lower_scatters
from tg_core.schedule.lower_store_to_kernel import call_kernel, lower_store_to_kernel
from tg_core.schedule.order_kernels import Step, order_kernels
from tg_core.schedule.plan_memory import plan_memory
from tg_core.schedule.prepare_graph import prepare_graph
from tg_core.schedule.schedule import schedule_body
from tg_core.schedule.views import contiguous_view, state_of, storage_argument, strip_state
from tg_core.uop.graph import toposort
from tg_core.uop.ops import CallInfo, KernelInfo, Ops, UOp
from tg_core.uop.passes import run_pass
from tg_core.uop.record import recorded_section
from tg_core.uop.sizes import static_size

if TYPE_CHECKING:
    from collections.abc import Sequence


def make_schedule(body: UOp, default_device: str | None) -> UOp:
    """Return the schedule of a body; see `schedule_body`, which remembers them."""
    count = len(body.src)
    with recorded_section("schedule", f"{count} result{'s' * (count != 1)}") as section:
        root = run_pass("prepare-graph", "tensor", body, prepare_graph, body)
        root = run_pass("lower-scatters", "tensor", root, lower_scatters, root)
        root = run_pass("drop-dead-writes", "tensor", root, drop_dead_writes, root)
        order = toposort((root,), enter_calls=False)
        device = _main_device(order, default_device)
        facts = collect_facts(order, most_reads(device))
        chosen = choose_materialized(order, facts, has_row_kernels(device))
        root = run_pass(
            "insert-temporaries", "tensor", root, insert_temporaries, order, chosen, device
        )
        linear = run_pass("order-kernels", "calls", root, _in_order, root)
        if section is not None:
            section.target = device or ""
        return run_pass("plan-memory", "calls", linear, plan_memory, linear)


def _in_order(root: UOp) -> UOp:
    steps, of_effect = _steps(root)
    return UOp(Ops.LINEAR, tuple(_call(step) for step in order_kernels(steps, of_effect)))


def _main_device(order: Sequence[UOp], default: str | None) -> str | None:
    for node in order:
        if node.op is Ops.STORE and isinstance(node.device, str):
            return node.device
    return default


def _steps(root: UOp) -> tuple[list[Step], dict[UOp, list[int]]]:
    steps: list[Step] = []
    of_effect: dict[UOp, list[int]] = {}
    order = toposort((root,), enter_calls=False)
    returned = _returned(order)
    for node in order:
        if node.op is Ops.CALL:
            new = _call_steps(node, returned.get(node, set()))
        elif node.op is Ops.STORE:
            new = _store_steps(node)
        else:
            continue
        of_effect[node] = list(range(len(steps), len(steps) + len(new)))
        steps.extend(new)
    return steps, of_effect


def _returned(order: Sequence[UOp]) -> dict[UOp, set[UOp]]:
    """Return for each call the states that others see after it."""
    found: dict[UOp, set[UOp]] = {}
    for node in order:
        if node.op is Ops.AFTER:
            for effect in node.src[1:]:
                if effect.op is Ops.CALL:
                    found.setdefault(effect, set()).add(node.src[0])
    return found


def _call_steps(call: UOp, returned: set[UOp]) -> list[Step]:
    """Return the steps of a call: the kernel itself, or the schedule of a body of tensor
    operations.
    """
    if isinstance(call.src[0].arg, KernelInfo) or call.src[0].op is not Ops.SINK:
        kernel = call_kernel(call, returned)
        onto = [state for slot, state in enumerate(kernel.states) if slot in kernel.writes]
        reads = [state for state in kernel.states if state not in onto]
        return [Step(kernel, reads, onto, list(call.src[1 : 1 + len(kernel.states)]))]
    arguments = [a if not a.shape else state_of(a) for a in call.src[1:]]
    own: dict[UOp, UOp] = {}
    steps = []
    for inner in schedule_body(call.src[0]).src:
        outer = []
        for node in inner.src[1:]:
            if node.shape:
                outer.append(_outer_storage(node, arguments, own))
            else:
                outer.append(arguments[node.arg.slot])
        steps.append(Step(None, [], [], outer, body=inner.src[0], label=call.arg.name))
    written = [
        a for i, a in enumerate(arguments) if a.shape and i in written_parameters(call.src[0])
    ]
    for step in steps:
        step.reads = [a for a in arguments if a.shape and a not in written]
        step.onto = written
    return steps


def _outer_storage(node: UOp, arguments: Sequence[UOp], own: dict[UOp, UOp]) -> UOp:
    """Return an argument of a nested schedule in terms of the arguments of its call; its own
    buffers are declared anew.
    """
    base = node
    while base.op in (Ops.SHRINK, Ops.BITCAST):
        base = base.src[0]
    if base.op is Ops.PARAM:
        outer = storage_argument(arguments[base.arg.slot])
    else:
        if base not in own:
            own[base] = UOp.buffer(base.arg.size, base.dtype, base.arg.device)
        outer = own[base]
    return node.substitute({base: outer})


def written_parameters(body: UOp) -> set[int]:
    """Return the slots of a body's parameters that its states write."""
    found = set()
    for node in toposort((body,), enter_calls=False):
        if node.op is Ops.STORE:
            base = strip_state(node.src[0].base)
            if base.op is Ops.PARAM:
                found.add(base.arg.slot)
    return found


def _store_steps(store: UOp) -> list[Step]:
    value = store.src[1]
    if value.op is Ops.COPY:
        return _copy_steps(store)
    kernels = lower_store_to_kernel(store) or []
    steps = []
    for kernel in kernels:
        state = kernel.states[0]
        steps.append(
            Step(kernel, list(kernel.states[1:]), [state], list(kernel.states), list(kernel.deps))
        )
    return steps


def _copy_steps(store: UOp) -> list[Step]:
    target, copy = store.src[:2]
    source = copy.src[0]
    if 0 in source.shape:
        return []
    to, of = contiguous_view(target), contiguous_view(source)
    if to is None or of is None:
        raise ScheduleError(
            f"copy: {source.shape} to {target.shape} is not one run of bytes on both sides"
        )
    arguments = [
        storage_argument(to.state, to.offset, to.size),
        storage_argument(of.state, of.offset, of.size),
    ]
    return [Step(None, [of.state], [to.state], arguments, label="copy")]


def _call(step: Step) -> UOp:
    if step.body is not None:
        return UOp.call(step.body, *step.arguments)
    if step.kernel is None:
        destination, source = step.arguments
        body = UOp(
            Ops.COPY,
            (UOp.param(1, source.dtype, (static_size(source.shape[0]),), _device(source)),),
            _device(destination),
        )
        return UOp.call(body, destination, source, info=CallInfo("copy"))
    arguments = [storage_argument(a) if a.shape else a for a in step.arguments]
    return UOp.call(step.kernel.body, *arguments, *step.kernel.variables)


def _device(argument: UOp) -> str:
    assert isinstance(argument.device, str)
    return argument.device
