"""Branches and loops. They are decided while the graph is built: loops are unrolled."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from tg_core.errors import FileFormatError, ShapeError
from tg_core.onnx.axes import place_of
from tg_core.onnx.context import Context
from tg_core.onnx.element_types import CODES
from tg_core.onnx.graph import Graph, Signature
from tg_core.onnx.kinds import Int
from tg_core.onnx.registry import operator
from tg_core.onnx.sizes import size_of
from tg_core.onnx.values import Anything, Lane, Value
from tg_core.tensor import Tensor

__all__ = ["if_", "loop", "scan"]

Result: TypeAlias = "Anything | Tensor"

MAX_STEPS = 100_000
"""How many steps of a loop are unrolled."""


@operator("If")
def if_(
    condition: Int, *, then_branch: Graph, else_branch: Graph, context: Context
) -> tuple[Anything, ...]:
    """Return the outputs of one of two graphs; a condition that is computed is realized."""
    return tuple(context.run(then_branch if condition else else_branch, ()))


@operator("Loop")
def loop(
    count: Int | None,
    condition: Int | None,
    *initial: Anything,
    body: Graph,
    context: Context,
) -> tuple[Result, ...]:
    """Run a graph for a number of steps, while a condition holds.

    The graph gets the number of the step, the condition and the state; it returns the condition,
    the state, and values that are stacked.
    """
    state = list(initial)
    running = condition is None or bool(condition)
    stacked: list[list[Tensor]] = [[] for _ in body.outputs[1 + len(state) :]]
    step = 0
    while running and (count is None or step < count):
        if step == MAX_STEPS:
            raise ShapeError(f"the loop has more than {MAX_STEPS} steps")
        number = Value(None, np.array(step, np.int64), Lane.CONSTANT)
        holds = Value(None, np.array(running), Lane.CONSTANT)
        results = context.run(body, (number, holds, *state))
        state = results[1 : 1 + len(state)]
        for rows, result in zip(stacked, results[1 + len(state) :], strict=True):
            rows.append(_tensor(result))
        # the condition is looked at only where it may end the loop
        if isinstance(results[0], Value):
            running = bool(results[0].array().reshape(-1)[0])
        step += 1
    said = body.results[1 + len(state) :]
    return (*state, *(_stack(rows, one) for rows, one in zip(stacked, said, strict=True)))


def _tensor(value: Result) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if not isinstance(value, Value):
        raise FileFormatError("only tensors can be stacked")
    return value.tensor


def _stack(rows: list[Tensor], said: Signature | None = None) -> Tensor:
    """Return rows along a new first axis; of none, what the graph says about one.

    Raises:
        ShapeError: there are none, and nothing is said.
    """
    if rows:
        return rows[0].stack(*rows[1:])
    if said is None or said.element not in CODES:
        raise ShapeError("a loop without steps has nothing to stack, not even a type")
    # a size that is left open is that of nothing
    sizes = tuple(size if isinstance(size, int) else 0 for size in said.shape or ())
    return Tensor.zeros(0, *sizes, dtype=CODES[said.element].dtype)


@operator("Scan", since=8)
def scan_with_batch(
    sequence_lens: Value | None,
    *values: Value,
    body: Graph,
    num_scan_inputs: int,
    directions: tuple[int, ...] | None = None,
    context: Context,
) -> tuple[Result, ...]:
    """Scan every batch entry (the first axis) along the second axis."""
    if sequence_lens is not None:
        raise ShapeError("sequences of different lengths are not supported")
    states = len(values) - num_scan_inputs
    batch = size_of(values[0].tensor, 0)
    results = []
    for entry in range(batch):
        own = [Value(value.tensor[entry]) for value in values]
        results.append(_scanned(own, states, body, directions or (), (), (), (), context))
    return tuple(_stack([_tensor(value) for value in column]) for column in zip(*results))


@operator("Scan", since=9)
def scan(
    *values: Value,
    body: Graph,
    num_scan_inputs: int,
    scan_input_axes: tuple[int, ...] = (),
    scan_input_directions: tuple[int, ...] = (),
    scan_output_axes: tuple[int, ...] = (),
    scan_output_directions: tuple[int, ...] = (),
    context: Context,
) -> tuple[Result, ...]:
    """Run a graph for every slice of the last inputs; the first ones are the state."""
    return _scanned(
        list(values),
        len(values) - num_scan_inputs,
        body,
        scan_input_directions,
        scan_input_axes,
        scan_output_directions,
        scan_output_axes,
        context,
    )


def _scanned(
    values: list[Value],
    states: int,
    body: Graph,
    input_directions: tuple[int, ...],
    input_axes: tuple[int, ...],
    output_directions: tuple[int, ...],
    output_axes: tuple[int, ...],
    context: Context,
) -> tuple[Result, ...]:
    state: list[Anything] = list(values[:states])
    inputs = []
    for number, value in enumerate(values[states:]):
        axis = input_axes[number] if input_axes else 0
        backward = bool(input_directions and input_directions[number])
        moved = _axis_first(value.tensor, axis)
        inputs.append(moved.flip(0) if backward else moved)
    lengths = {size_of(each, 0) for each in inputs}
    if len(lengths) != 1:
        raise ShapeError(f"sequences of lengths {sorted(lengths)}, expected the same")
    steps = lengths.pop()
    if steps > MAX_STEPS:
        raise ShapeError(f"the scan has more than {MAX_STEPS} steps")
    stacked: list[list[Tensor]] = [[] for _ in body.outputs[states:]]
    for step in range(steps):
        results = context.run(body, (*state, *(Value(each[step]) for each in inputs)))
        state = results[:states]
        for rows, result in zip(stacked, results[states:], strict=True):
            rows.append(_tensor(result))
    outputs: list[Tensor] = []
    for number, rows in enumerate(stacked):
        whole = _stack(rows, body.results[states + number])
        if output_directions and output_directions[number]:
            whole = whole.flip(0)
        axis = output_axes[number] if output_axes else 0
        outputs.append(_first_to(whole, axis))
    return (*state, *outputs)


def _axis_first(x: Tensor, axis: int) -> Tensor:
    place = place_of(axis, x.ndim)
    return x.permute((place, *(other for other in range(x.ndim) if other != place)))


def _first_to(x: Tensor, axis: int) -> Tensor:
    order = list(range(1, x.ndim))
    order.insert(place_of(axis, x.ndim), 0)
    return x.permute(tuple(order))
