"""Random captured functions that read, write and rebind state, beside eager numpy.

A program is the body of a function, which is captured, and what happens between its calls.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tg_core import Tensor, TinyJit, function
from tg_core.errors import JitError

SIZE = 4
STATES = 3
BODY = (
    "assign", "add", "item", "read", "realize", "positions", "swap", "argument", "traced", "part",
    "read_argument", "replace", "realize_read", "fill",
)  # fmt: skip
BETWEEN = (
    "call", "call", "call", "call", "call_view", "call_flipped", "call_state", "call_alias", "call_lazy", "read", "alias", "write",
    "write_alias", "realize", "drop", "check", "renew",
)  # fmt: skip

REFUSED = ("share memory", "from outside of its arguments", "in one of both ways")
"""What errors say when uses of an argument cannot be told apart."""


@dataclass(frozen=True)
class Step:
    """One step: a kind, and numbers that choose what it works on."""

    kind: str
    a: int
    b: int


def _steps(kinds: tuple[str, ...], least: int, most: int) -> Any:
    number = st.integers(0, 5)
    return st.lists(
        st.builds(Step, st.sampled_from(kinds), number, number), min_size=least, max_size=most
    )


bodies = _steps(BODY, 1, 5)
programs = _steps(BETWEEN, 4, int(os.environ.get("JUDGE_STEPS", "12")))


@function
def traced(x: Tensor, y: Tensor) -> Tensor:
    """Compute x * 3 - y."""
    return x * 3 - y


class Machine:
    """Runs a program on tensors and on numpy arrays at once.

    Args:
        body: of the function.
    """

    def __init__(self, body: list[Step]) -> None:
        self.body = body
        self.made = 0
        self.tensors: list[Tensor] = []
        self.arrays: list[np.ndarray] = []
        for _ in range(STATES):
            array = self.numbers()
            self.tensors.append(Tensor(array.copy()).realize())
            self.arrays.append(array)
        self.readers: list[tuple[Tensor, np.ndarray]] = []
        self.aliases: list[tuple[Tensor, np.ndarray]] = []
        self.jit = TinyJit(self.on_tensors)

    def numbers(self) -> np.ndarray:
        """Return an array that is like no other."""
        self.made += 1
        return np.arange(self.made * 10, self.made * 10 + SIZE, dtype=np.int32)

    def on_tensors(self, x: Tensor) -> list[Tensor]:
        """The function."""
        results = [x + 1]
        states = self.tensors
        for step in self.body:
            one, other = states[step.a % STATES], states[step.b % STATES]
            match step.kind:
                case "assign":
                    one.assign(other * 2 + x)
                case "add":
                    one += x + step.b
                case "item":
                    one[step.b % SIZE] = x[0]
                case "part":
                    one[1:3].assign(other[:2] + one[1:3])
                case "read":
                    results.append(one - other)
                case "realize":
                    one.realize()
                case "realize_read":
                    results.append((one * other).realize())
                case "positions":
                    one[Tensor([step.b % SIZE, 0])] = x[1:3]
                case "swap":
                    kept = one.detach()
                    one.replace(other)
                    other.replace(kept)
                case "replace":
                    one.replace((one + x).contiguous())
                case "argument":
                    x.assign(x + one)
                case "read_argument":
                    results.append(x * 2)
                case "traced":
                    one.assign(traced(one, x))
                case "fill":
                    one.assign(step.b)
        return results

    def on_arrays(self, x: np.ndarray, state: int | None) -> list[np.ndarray]:
        """The same function of numpy.

        Args:
            x: its argument.
            state: number of the state that is the argument itself, and not another tensor.
        """
        results = [x + 1]
        states = self.arrays
        for step in self.body:
            if state is not None:
                x = states[state]
            a, b = step.a % STATES, step.b % STATES
            one, other = states[a], states[b]
            match step.kind:
                case "assign":
                    one[:] = other * 2 + x
                case "add":
                    one += x + step.b
                case "item":
                    one[step.b % SIZE] = x[0]
                case "part":
                    one[1:3] = other[:2] + one[1:3]
                case "read":
                    results.append(one - other)
                case "realize_read":
                    results.append(one * other)
                case "positions":
                    states[a] = one.copy()
                    states[a][[step.b % SIZE, 0]] = x[1:3]
                case "swap":
                    states[a], states[b] = other, one
                case "replace":
                    states[a] = one + x
                case "argument":
                    x += one
                case "read_argument":
                    results.append(x * 2)
                case "traced":
                    one[:] = one * 3 - x
                case "fill":
                    one[:] = step.b
        return results

    def call(self, tensor: Tensor, array: np.ndarray, state: int | None = None) -> None:
        """Call the function, and compare what it returns and what it leaves of the argument.

        Raises:
            JitError: the capture cannot tell uses of the argument apart, and says so.
        """
        results = self.jit(tensor)
        expected = self.on_arrays(array, state)
        if len(self.readers) < 8:
            self.readers.extend((r, e.copy()) for r, e in zip(results, expected, strict=True))
        else:
            for result, wanted in zip(results, expected, strict=True):
                assert result.tolist() == wanted.tolist()
        if state is None:
            self.aliases.append((tensor, array))

    def step(self, step: Step) -> None:
        """Make one step between calls."""
        state, number = step.a % STATES, step.b % STATES
        one, array = self.tensors[state], self.arrays[state]
        match step.kind:
            case "call":
                x = self.numbers()
                self.call(Tensor(x.copy()), x)
            case "call_view":
                x = np.concatenate([self.numbers(), self.numbers()])
                whole = Tensor(x.copy()).realize()
                self.call(whole[step.b % 4 : step.b % 4 + SIZE], x[step.b % 4 : step.b % 4 + SIZE])
                self.aliases.append((whole, x))
            case "call_flipped":
                x = self.numbers()
                whole = Tensor(x.copy()).realize()
                self.call(whole.flip(0), x[::-1])
                self.aliases.append((whole, x))
            case "call_state":
                self.call(one, array, state)
            case "call_alias":
                self.call(one.detach(), array)
            case "call_lazy":
                self.call(one + 1, array + 1)
            case "read":
                other = self.arrays[number]
                self.readers.append((one * 2 + self.tensors[number], array * 2 + other))
            case "alias":
                self.aliases.append((one[1:], array[1:]))
            case "write":
                one.assign(self.tensors[number] + step.b)
                array[:] = self.arrays[number] + step.b
            case "write_alias" if self.aliases:
                tensor, view = self.aliases[step.b % len(self.aliases)]
                tensor.assign(tensor + step.a)
                view += step.a
            case "realize":
                one.realize()
            case "drop" if self.aliases:
                self.aliases.pop(step.b % len(self.aliases))
            case "check":
                self.check()
            case "renew":
                new = self.numbers()
                one.replace(Tensor(new.copy()))
                self.arrays[state] = new

    def check(self) -> None:
        """Compare everything."""
        for tensor, array in (*self.readers, *self.aliases):
            assert tensor.tolist() == array.tolist()
        for tensor, array in zip(self.tensors, self.arrays, strict=True):
            assert tensor.tolist() == array.tolist()


def run(body: list[Step], program: list[Step]) -> bool:
    """Run a program; returns whether it came to its end, and was not refused at a capture."""
    machine = Machine(body)
    for step in program:
        try:
            machine.step(step)
        except JitError as error:
            if not any(text in str(error) for text in REFUSED):
                raise
            return False
    machine.check()
    return True
