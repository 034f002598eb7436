"""Random programs of lazy reads, writes through views, swaps, appends and realizations, beside an
eager numpy model.

The rule they check: a tensor is its value when it was built; a write makes later readers see the
new value, and earlier ones keep theirs, whatever is realized when.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tg_core import Tensor

SIZE = 6


@dataclass(frozen=True)
class Step:
    """One step of a program: a kind, the variables it names, and numbers."""

    kind: str
    a: int
    b: int
    x: int
    y: int

    def __str__(self) -> str:
        return f"({self.kind!r}, {self.a}, {self.b}, {self.x}, {self.y})"


KINDS = (
    "new", "read", "add", "view", "alias", "detach", "clone", "contiguous", "sum", "assign", "assign_slice",
    "assign_flip", "inplace_slice", "swap", "overlap", "append", "setitem_list", "realize", "realize_pair", "check",
)  # fmt: skip

programs = st.lists(
    st.builds(
        Step,
        st.sampled_from(KINDS),
        st.integers(0, 7),
        st.integers(0, 7),
        st.integers(0, SIZE - 1),
        st.integers(1, SIZE),
    ),
    min_size=1,
    max_size=int(os.environ.get("JUDGE_STEPS", "14")),
)


class Machine:
    """Runs a program on tensors and on numpy arrays at once.

    Numpy arrays alias as the tensors do: a view of storage is a numpy view, everything computed is
    a copy.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self.tensors: list[Tensor] = []
        self.arrays: list[np.ndarray] = []
        self.stored: list[bool] = []
        self.new(0)
        self.new(1)

    def new(self, seed: int) -> None:
        values = np.arange(SIZE, dtype=np.float32) * (seed + 1) - seed
        self.push(Tensor(values.copy(), device=self.device).realize(), values, True)

    def push(self, tensor: Tensor, array: np.ndarray, stored: bool) -> None:
        self.tensors.append(tensor)
        self.arrays.append(array)
        self.stored.append(stored)

    def pick(self, number: int) -> int:
        return number % len(self.tensors)

    def pick_stored(self, number: int) -> int:
        """Return a variable that is storage or a view of some, so that numpy and tensors alias
        alike.
        """
        candidates = [i for i, s in enumerate(self.stored) if s]
        return candidates[number % len(candidates)]

    def run(self, program: list[Step]) -> None:
        for step in program:
            getattr(self, f"do_{step.kind}")(step)
        for i in range(len(self.tensors)):
            self.compare(i)

    def compare(self, i: int) -> None:
        np.testing.assert_array_equal(
            self.tensors[i].numpy(), self.arrays[i], err_msg=f"variable {i}"
        )

    def do_new(self, s: Step) -> None:
        self.new(s.x)

    def do_read(self, s: Step) -> None:
        i = self.pick(s.a)
        self.push(self.tensors[i] * 2 + 1, self.arrays[i] * 2 + 1, False)

    def do_add(self, s: Step) -> None:
        i, j = self.pick(s.a), self.pick(s.b)
        if self.arrays[i].shape == self.arrays[j].shape:
            self.push(self.tensors[i] + self.tensors[j], self.arrays[i] + self.arrays[j], False)

    def do_view(self, s: Step) -> None:
        i = self.pick_stored(s.a)
        n = len(self.arrays[i])
        lo, hi = sorted((s.x % n, s.y % n + 1))
        if lo < hi:
            self.push(self.tensors[i][lo:hi], self.arrays[i][lo:hi], True)

    def do_alias(self, s: Step) -> None:
        i = self.pick_stored(s.a)
        n = len(self.arrays[i])
        self.push(
            self.tensors[i].reshape(n, 1).permute(1, 0).reshape(n), self.arrays[i].reshape(n), True
        )

    def do_detach(self, s: Step) -> None:
        i = self.pick_stored(s.a)
        self.push(self.tensors[i].detach(), self.arrays[i][:], True)

    def do_clone(self, s: Step) -> None:
        i = self.pick(s.a)
        self.push(self.tensors[i].clone(), self.arrays[i].copy(), True)

    def do_contiguous(self, s: Step) -> None:
        i = self.pick(s.a)
        self.push((self.tensors[i] + 1).contiguous(), self.arrays[i] + 1, False)

    def do_sum(self, s: Step) -> None:
        i = self.pick(s.a)
        n = len(self.arrays[i])
        value = np.full(n, self.arrays[i].sum(dtype=np.float32), np.float32)
        self.push(self.tensors[i].sum().reshape(1).expand(n), value, False)

    def do_assign(self, s: Step) -> None:
        i, j = self.pick_stored(s.a), self.pick(s.b)
        if self.arrays[i].shape == self.arrays[j].shape:
            value = self.arrays[j] + np.float32(s.x)
            self.tensors[i].assign(self.tensors[j] + s.x)
            self.arrays[i][:] = value

    def do_assign_slice(self, s: Step) -> None:
        i = self.pick_stored(s.a)
        n = len(self.arrays[i])
        lo, hi = sorted((s.x % n, s.y % n + 1))
        if lo < hi:
            self.tensors[i][lo:hi] = float(s.b)
            self.arrays[i][lo:hi] = s.b

    def do_assign_flip(self, s: Step) -> None:
        i = self.pick_stored(s.a)
        value = self.arrays[i][::-1].copy()
        self.tensors[i].assign(self.tensors[i].flip(0))
        self.arrays[i][:] = value

    def do_inplace_slice(self, s: Step) -> None:
        i = self.pick_stored(s.a)
        step = 1 + s.b % 3
        self.tensors[i][::step] += s.x
        self.arrays[i][::step] += s.x

    def do_swap(self, s: Step) -> None:
        i, j = self.pick_stored(s.a), self.pick_stored(s.b)
        if self.arrays[i].shape != self.arrays[j].shape or np.shares_memory(
            self.arrays[i], self.arrays[j]
        ):
            return
        ti, tj = self.tensors[j] + 0, self.tensors[i] + 0
        ai, aj = self.arrays[j].copy(), self.arrays[i].copy()
        self.tensors[i].assign(ti)
        self.tensors[j].assign(tj)
        self.arrays[i][:] = ai
        self.arrays[j][:] = aj

    def do_overlap(self, s: Step) -> None:
        i = self.pick_stored(s.a)
        if len(self.arrays[i]) > 1:
            value = self.arrays[i][:-1].copy()
            self.tensors[i][1:] = self.tensors[i][:-1]
            self.arrays[i][1:] = value

    def do_append(self, s: Step) -> None:
        i, j = self.pick(s.a), self.pick(s.b)
        if len(self.arrays[i]) + len(self.arrays[j]) <= 2 * SIZE:
            joined = np.concatenate([self.arrays[i], self.arrays[j]])
            self.push(self.tensors[i].cat(self.tensors[j]), joined, False)

    def do_setitem_list(self, s: Step) -> None:
        i = self.pick_stored(s.a)
        n = len(self.arrays[i])
        base = self.clone_of(i)
        index = [s.x % n, s.y % n, s.x % n]
        self.tensors[base][index] = Tensor([1.0, 2.0, 3.0], device=self.device)
        for position, value in zip(index, (1.0, 2.0, 3.0), strict=True):
            self.arrays[base][position] = value

    def clone_of(self, i: int) -> int:
        self.push(self.tensors[i].clone(), self.arrays[i].copy(), False)
        return len(self.tensors) - 1

    def do_realize(self, s: Step) -> None:
        self.tensors[self.pick(s.a)].realize()

    def do_realize_pair(self, s: Step) -> None:
        self.tensors[self.pick(s.a)].realize(self.tensors[self.pick(s.b)])

    def do_check(self, s: Step) -> None:
        self.compare(self.pick(s.a))


def run_program(program: list[Any], device: str = "CPU") -> None:
    """Run a program given as steps or tuples; raises AssertionError where tensors and numpy
    differ.
    """
    Machine(device).run([s if isinstance(s, Step) else Step(*s) for s in program])
