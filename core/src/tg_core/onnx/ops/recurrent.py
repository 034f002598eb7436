"""Recurrent networks, unrolled over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tg_core.errors import ShapeError
from tg_core.onnx.registry import operator
from tg_core.onnx.sizes import size_of
from tg_core.tensor import Tensor

__all__ = ["gru", "lstm", "rnn"]

State: TypeAlias = tuple[Tensor, ...]
Cell: TypeAlias = Callable[[Tensor, State], State]
Activation: TypeAlias = Callable[[Tensor], Tensor]

MAX_STEPS = 100_000

_DEFAULTS: dict[str, tuple[float, float]] = {
    "affine": (1.0, 0.0),
    "elu": (1.0, 0.0),
    "hardsigmoid": (0.2, 0.5),
    "leakyrelu": (0.01, 0.0),
    "scaledtanh": (1.0, 1.0),
    "thresholdedrelu": (1.0, 0.0),
}
"""Alpha and beta of activations that have them. Source: Operators.md, LSTM."""


def _activation(name: str, alpha: float, beta: float) -> Activation:
    """Return an activation by its name, which is written in any case.

    Raises:
        ShapeError: the name is unknown.
    """
    plain: dict[str, Activation] = {
        "relu": Tensor.relu,
        "sigmoid": Tensor.sigmoid,
        "softplus": Tensor.softplus,
        "softsign": Tensor.softsign,
        "tanh": Tensor.tanh,
    }
    if name in plain:
        return plain[name]

    def affine(x: Tensor) -> Tensor:
        return x * alpha + beta

    def elu(x: Tensor) -> Tensor:
        return x.elu(alpha)

    def hard_sigmoid(x: Tensor) -> Tensor:
        return (x * alpha + beta).clip(0, 1)

    def leaky_relu(x: Tensor) -> Tensor:
        return x.leaky_relu(alpha)

    def scaled_tanh(x: Tensor) -> Tensor:
        return (x * beta).tanh() * alpha

    def thresholded_relu(x: Tensor) -> Tensor:
        return (x > alpha).where(x, 0)

    shaped: dict[str, Activation] = {
        "affine": affine,
        "elu": elu,
        "hardsigmoid": hard_sigmoid,
        "leakyrelu": leaky_relu,
        "scaledtanh": scaled_tanh,
        "thresholdedrelu": thresholded_relu,
    }
    if name not in shaped:
        raise ShapeError(f"activation {name!r} is not known")
    return shaped[name]


def _activations(
    names: Sequence[str], alphas: Sequence[float], betas: Sequence[float]
) -> list[Activation]:
    """Return activations; alphas and betas belong to those of them that have one, in order."""
    alpha, beta = list(alphas), list(betas)
    found = []
    for name in names:
        key = name.lower()
        first, second = _DEFAULTS.get(key, (0.0, 0.0))
        takes_both = key in ("affine", "hardsigmoid", "scaledtanh")
        a = alpha.pop(0) if alpha and key in _DEFAULTS else first
        b = beta.pop(0) if beta and takes_both else second
        found.append(_activation(key, a, b))
    return found


@dataclass(frozen=True)
class _Layer:
    """What the three kinds of network have in common."""

    x: Tensor
    """(time, batch, input)"""
    weight: Tensor
    """(directions, gates * hidden, input)"""
    recurrent: Tensor
    """(directions, gates * hidden, hidden)"""
    bias: Tensor | None
    lengths: Tensor | None
    direction: str
    clip: float | None

    @property
    def directions(self) -> int:
        return 2 if self.direction == "bidirectional" else 1

    def clipped(self, x: Tensor) -> Tensor:
        return x if self.clip is None else x.clip(-self.clip, self.clip)

    def biases(self, number: int) -> tuple[Tensor, Tensor]:
        """Return the biases of the input and of the state, for one direction."""
        size = self.weight.shape[1]
        if self.bias is None:
            nothing = Tensor.zeros(size, dtype=self.x.dtype)
            return nothing, nothing
        return self.bias[number, :size], self.bias[number, size:]

    def initial(self, given: Tensor | None, number: int) -> Tensor:
        if given is not None:
            return given[number]
        return Tensor.zeros(self.x.shape[1], self.recurrent.shape[2], dtype=self.x.dtype)

    def run(self, number: int, cell: Cell, state: State) -> tuple[Tensor, State]:
        """Return all outputs of one direction, and the last state."""
        steps = size_of(self.x, 0)
        if not 0 < steps <= MAX_STEPS:
            raise ShapeError(f"{steps} steps in time, expected 1 to {MAX_STEPS}")
        backward = self.direction == "reverse" or number == 1
        outputs: list[Tensor] = [state[0]] * steps
        for count in range(steps):
            time = steps - 1 - count if backward else count
            following = cell(self.x[time], state)
            if self.lengths is not None:
                # entries that ended keep their state, and give 0
                alive = (self.lengths > time).reshape((-1, 1))
                outputs[time] = alive.where(following[0], 0)
                state = tuple(alive.where(new, old) for new, old in zip(following, state))
            else:
                outputs[time] = following[0]
                state = following
        return outputs[0].stack(*outputs[1:]), state


def _results(layer: _Layer, runs: list[tuple[Tensor, State]], layout: int) -> tuple[Tensor, ...]:
    """Return all outputs as (time, directions, batch, hidden), and the last states."""
    whole, states = zip(*runs, strict=True)
    y = whole[0].stack(*whole[1:], dim=1)
    last = [column[0].stack(*column[1:]) for column in zip(*states, strict=True)]
    if layout == 0:
        return (y, *last)
    return (y.permute((2, 0, 1, 3)), *(each.transpose(0, 1) for each in last))


def _batch_second(
    x: Tensor, states: Sequence[Tensor | None], layout: int
) -> tuple[Tensor, list[Tensor | None]]:
    if layout == 0:
        return x, list(states)
    return x.transpose(0, 1), [s if s is None else s.transpose(0, 1) for s in states]


def _linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return x.matmul(weight.transpose()) + bias


@operator("RNN")
def rnn(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    sequence_lens: Tensor | None = None,
    initial_h: Tensor | None = None,
    *,
    activation_alpha: tuple[float, ...] = (),
    activation_beta: tuple[float, ...] = (),
    activations: tuple[str, ...] | None = None,
    clip: float | None = None,
    direction: Literal["forward", "reverse", "bidirectional"] = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    output_sequence: int = 0,
) -> tuple[Tensor, ...]:
    """Return the outputs and the last state of a simple recurrent network."""
    x, (h0,) = _batch_second(x, [initial_h], layout)
    layer = _Layer(x, w, r, b, sequence_lens, direction, clip)
    names = activations or ("Tanh",) * layer.directions
    functions = _activations(names, activation_alpha, activation_beta)
    runs = []
    for number in range(layer.directions):
        own, recurrent = w[number], r[number]
        of_input, of_state = layer.biases(number)
        activate = functions[number]

        def cell(
            step: Tensor,
            state: State,
            own: Tensor = own,
            recurrent: Tensor = recurrent,
            bias: Tensor = of_input + of_state,
            activate: Activation = activate,
        ) -> State:
            total = _linear(step, own, bias) + state[0].matmul(recurrent.transpose())
            return (activate(layer.clipped(total)),)

        runs.append(layer.run(number, cell, (layer.initial(h0, number),)))
    return _results(layer, runs, layout)


@operator("GRU")
def gru(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    sequence_lens: Tensor | None = None,
    initial_h: Tensor | None = None,
    *,
    activation_alpha: tuple[float, ...] = (),
    activation_beta: tuple[float, ...] = (),
    activations: tuple[str, ...] | None = None,
    clip: float | None = None,
    direction: Literal["forward", "reverse", "bidirectional"] = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    linear_before_reset: bool = False,
    output_sequence: int = 0,
) -> tuple[Tensor, ...]:
    """Return the outputs and the last state of gated recurrent units."""
    x, (h0,) = _batch_second(x, [initial_h], layout)
    layer = _Layer(x, w, r, b, sequence_lens, direction, clip)
    names = activations or ("Sigmoid", "Tanh") * layer.directions
    functions = _activations(names, activation_alpha, activation_beta)
    size = size_of(r, 2)
    runs = []
    for number in range(layer.directions):
        cell = _gru_cell(layer, number, functions[2 * number :], size, linear_before_reset)
        runs.append(layer.run(number, cell, (layer.initial(h0, number),)))
    return _results(layer, runs, layout)


def _gru_cell(
    layer: _Layer, number: int, functions: list[Activation], size: int, linear_before_reset: bool
) -> Cell:
    """Return the cell: gates are update, reset, hidden, in this order."""
    gate, activate = functions[:2]
    weight, recurrent = layer.weight[number], layer.recurrent[number]
    of_input, of_state = layer.biases(number)

    def cell(step: Tensor, state: State) -> State:
        (h,) = state
        from_input = _linear(step, weight, of_input)
        gates = from_input[:, : 2 * size] + _linear(h, recurrent[: 2 * size], of_state[: 2 * size])
        gates = gate(layer.clipped(gates))
        update, reset = gates[:, :size], gates[:, size:]
        hidden, bias = recurrent[2 * size :], of_state[2 * size :]
        if linear_before_reset:
            seen = reset * _linear(h, hidden, bias)
        else:
            seen = _linear(reset * h, hidden, bias)
        proposed = activate(layer.clipped(from_input[:, 2 * size :] + seen))
        return ((1 - update) * proposed + update * h,)

    return cell


@operator("LSTM")
def lstm(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    sequence_lens: Tensor | None = None,
    initial_h: Tensor | None = None,
    initial_c: Tensor | None = None,
    p: Tensor | None = None,
    *,
    activation_alpha: tuple[float, ...] = (),
    activation_beta: tuple[float, ...] = (),
    activations: tuple[str, ...] | None = None,
    clip: float | None = None,
    direction: Literal["forward", "reverse", "bidirectional"] = "forward",
    hidden_size: int | None = None,
    input_forget: bool = False,
    layout: int = 0,
    output_sequence: int = 0,
) -> tuple[Tensor, ...]:
    """Return the outputs and the last states of a long short-term memory."""
    x, (h0, c0) = _batch_second(x, [initial_h, initial_c], layout)
    layer = _Layer(x, w, r, b, sequence_lens, direction, clip)
    names = activations or ("Sigmoid", "Tanh", "Tanh") * layer.directions
    functions = _activations(names, activation_alpha, activation_beta)
    runs = []
    for number in range(layer.directions):
        peephole = None if p is None else p[number]
        cell = _lstm_cell(layer, number, functions[3 * number :], peephole, input_forget)
        start = (layer.initial(h0, number), layer.initial(c0, number))
        runs.append(layer.run(number, cell, start))
    return _results(layer, runs, layout)


def _lstm_cell(
    layer: _Layer,
    number: int,
    functions: list[Activation],
    peephole: Tensor | None,
    input_forget: bool,
) -> Cell:
    """Return the cell: gates are input, output, forget, cell; peepholes input, output, forget."""
    gate, activate, squash = functions[:3]
    weight, recurrent = layer.weight[number], layer.recurrent[number]
    of_input, of_state = layer.biases(number)
    bias = of_input + of_state
    size = size_of(recurrent, 1)

    def cell(step: Tensor, state: State) -> State:
        h, c = state
        total = _linear(step, weight, bias) + h.matmul(recurrent.transpose())
        at_input, at_output, at_forget, at_cell = total.split(size, 1)
        if peephole is not None:
            at_input = at_input + peephole[:size] * c
            at_forget = at_forget + peephole[2 * size :] * c
        let_in = gate(layer.clipped(at_input))
        keep = 1 - let_in if input_forget else gate(layer.clipped(at_forget))
        memory = keep * c + let_in * activate(layer.clipped(at_cell))
        if peephole is not None:
            at_output = at_output + peephole[size : 2 * size] * memory
        return gate(layer.clipped(at_output)) * squash(memory), memory

    return cell
