"""Random programs over tensors of several axes, dtypes and devices, beside an eager numpy model.

Like `storage_programs`, with permuted, strided, flipped, reshaped and reinterpreted views that are
written, copies between devices, and pieces that run as traced or captured functions.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tg_core import Tensor, TinyJit, Variable, function
from tg_core.dtype import dtypes

DEVICES = ("CPU", "CPU:1", "PYTHON")
DTYPES = {"float32": np.float32, "int32": np.int32, "int8": np.int8, "uint8": np.uint8}
SHAPES = ((2, 3), (3, 2), (2, 2, 2), (4,), (1, 4))
KINDS = (
    "new", "permute", "shrink", "flip", "reshape", "bitcast", "unary", "add", "reduce", "clone", "contiguous", "move",
    "cast", "assign", "assign_own", "fill", "add_in_place", "row", "setitem_list", "traced", "captured", "symbolic",
    "drop", "realize", "realize_pair", "callify", "check",
)  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One step of a program: a kind, the variables it names, and numbers."""

    kind: str
    a: int
    b: int
    x: int
    y: int


programs = st.lists(
    st.builds(
        Step,
        st.sampled_from(KINDS),
        st.integers(0, 7),
        st.integers(0, 7),
        st.integers(0, 5),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=int(os.environ.get("JUDGE_STEPS", "12")),
)


@dataclass
class Entry:
    """One variable: a tensor, the numpy array it must equal, and whether both are storage."""

    tensor: Tensor
    array: np.ndarray
    stored: bool


def double_plus(t: Tensor, k: int) -> Tensor:
    """Compute t * 2 + k."""
    return t * 2 + k


inlined = function(double_plus)
precompiled = function(double_plus, precompile=True)


class Machine:
    """Runs a program on tensors and on numpy arrays at once."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.jit = TinyJit(lambda t: (t * 3).contiguous() - 1)
        self.new(0, 0, 0, 0)
        self.new(1, 1, 0, 1)

    def new(self, seed: int, shape: int, device: int, dtype: int) -> None:
        sizes = SHAPES[shape % len(SHAPES)]
        kind = list(DTYPES.values())[dtype % len(DTYPES)]
        values = (np.arange(np.prod(sizes)) * (seed + 1) - seed).astype(kind).reshape(sizes)
        tensor = Tensor(values.copy(), device=DEVICES[device % len(DEVICES)]).realize()
        self.entries.append(Entry(tensor, values, True))

    def push(self, tensor: Tensor, array: np.ndarray, stored: bool) -> None:
        self.entries.append(Entry(tensor, array, stored))

    def any(self, number: int) -> Entry:
        return self.entries[number % len(self.entries)]

    def storage(self, number: int) -> Entry:
        found = [e for e in self.entries if e.stored]
        return found[number % len(found)]

    def run(self, program: list[Step]) -> None:
        for step in program:
            with np.errstate(all="ignore"):
                getattr(self, f"do_{step.kind}")(step)
        for number in range(len(self.entries)):
            self.compare(number)

    def compare(self, number: int) -> None:
        entry = self.any(number)
        found = entry.tensor.numpy()
        assert found.dtype == entry.array.dtype, (number, found.dtype, entry.array.dtype)
        np.testing.assert_array_equal(found, entry.array, err_msg=f"variable {number}")

    # ---- views

    def view(self, number: int) -> Entry:
        return self.storage(number)

    def do_new(self, s: Step) -> None:
        self.new(s.a, s.b, s.x, s.y)

    def do_permute(self, s: Step) -> None:
        e = self.view(s.a)
        order = np.roll(np.arange(e.array.ndim), s.x).tolist()
        self.push(e.tensor.permute(*order), e.array.transpose(order), e.stored)

    def do_shrink(self, s: Step) -> None:
        e = self.view(s.a)
        axis = s.b % e.array.ndim
        low, high = sorted((s.x % e.array.shape[axis], s.y % e.array.shape[axis] + 1))
        if low < high:
            index = tuple(
                slice(low, high) if i == axis else slice(None) for i in range(e.array.ndim)
            )
            self.push(e.tensor[index], e.array[index], e.stored)

    def do_flip(self, s: Step) -> None:
        e = self.view(s.a)
        axis = s.b % e.array.ndim
        self.push(e.tensor.flip(axis), np.flip(e.array, axis), e.stored)

    def do_reshape(self, s: Step) -> None:
        e = self.view(s.a)
        flat = e.array.view()
        try:
            flat.shape = (e.array.size,)
        except AttributeError:
            return  # numpy would copy, so it is no view there
        self.push(e.tensor.reshape(-1), flat, e.stored)

    def do_bitcast(self, s: Step) -> None:
        e = self.view(s.a)
        names = list(DTYPES)
        name = names[s.x % len(names)]
        if (
            not e.array.flags.c_contiguous
            or e.array.shape[-1] * e.array.itemsize % np.dtype(name).itemsize
        ):
            return
        if e.array.dtype == np.float32 or name == "float32":
            return  # any bits must do
        self.push(e.tensor.bitcast(name), e.array.view(DTYPES[name]), e.stored)

    # ---- values

    def do_unary(self, s: Step) -> None:
        e = self.any(s.a)
        one = e.array.dtype.type(1)
        self.push(e.tensor * 2 + 1, e.array * e.array.dtype.type(2) + one, False)

    def do_add(self, s: Step) -> None:
        e, f = self.any(s.a), self.any(s.b)
        if e.array.shape == f.array.shape and e.array.dtype == f.array.dtype:
            self.push(e.tensor + f.tensor.to(e.tensor.device), e.array + f.array, False)

    def do_reduce(self, s: Step) -> None:
        e = self.any(s.a)
        axis = s.x % e.array.ndim
        self.push(e.tensor.max(axis, keepdim=True), e.array.max(axis, keepdims=True), False)

    def do_clone(self, s: Step) -> None:
        e = self.any(s.a)
        self.push(e.tensor.clone(), e.array.copy(), True)

    def do_contiguous(self, s: Step) -> None:
        e = self.any(s.a)
        self.push((e.tensor + 1).contiguous(), e.array + e.array.dtype.type(1), False)

    def do_move(self, s: Step) -> None:
        e = self.any(s.a)
        target = DEVICES[s.x % len(DEVICES)]
        if e.tensor.device == target:
            return
        self.push(e.tensor.to(target) + 0, e.array.copy(), False)

    def do_cast(self, s: Step) -> None:
        e = self.any(s.a)
        name = list(DTYPES)[s.x % len(DTYPES)]
        if e.array.dtype.name == name:
            return  # the tensor itself, an alias
        if e.array.dtype == np.float32 and np.abs(e.array).max(initial=0) > 100:
            return  # such casts are the backend's to define
        if e.array.dtype == np.float32:
            self.push(e.tensor.cast(name), e.array.astype(np.int64).astype(name), False)
            return
        self.push(e.tensor.cast(name), e.array.astype(name), False)

    # ---- writes

    def value_for(self, e: Entry, number: int) -> Entry | None:
        f = self.any(number)
        if f.array.shape != e.array.shape or f.array.dtype != e.array.dtype:
            return None
        return Entry(f.tensor.to(e.tensor.device), f.array.copy(), False)

    def do_assign(self, s: Step) -> None:
        e = self.storage(s.a)
        f = self.value_for(e, s.b)
        if f is not None:
            e.tensor.assign(f.tensor)
            e.array[...] = f.array

    def do_assign_own(self, s: Step) -> None:
        e = self.storage(s.a)
        axis = s.x % e.array.ndim
        value = np.flip(e.array, axis).copy()
        e.tensor.assign(e.tensor.flip(axis))
        e.array[...] = value

    def do_fill(self, s: Step) -> None:
        e = self.storage(s.a)
        e.tensor[...] = s.x
        e.array[...] = s.x

    def do_row(self, s: Step) -> None:
        e = self.storage(s.a)
        row = s.x % e.array.shape[0]
        e.tensor[row] = s.y
        e.array[row] = s.y

    def do_add_in_place(self, s: Step) -> None:
        e = self.storage(s.a)
        step = 1 + s.b % 2
        with np.errstate(all="ignore"):
            e.array[..., ::step] += e.array.dtype.type(s.x)
        e.tensor[..., ::step] += s.x

    def do_setitem_list(self, s: Step) -> None:
        e = self.any(s.a)
        copy, array = e.tensor.clone(), e.array.copy()
        index = [s.x % array.shape[0], s.y % array.shape[0]]
        copy[index] = s.b
        array[index] = s.b
        self.push(copy, array, False)

    # ---- calls

    def do_traced(self, s: Step) -> None:
        e = self.any(s.a)
        call = precompiled if s.x % 2 else inlined
        kind = e.array.dtype.type
        self.push(call(e.tensor, s.y), e.array * kind(2) + kind(s.y), False)

    def do_captured(self, s: Step) -> None:
        for shift in range(3):
            values = np.full((2, 3), s.x + shift, np.float32)
            result = self.jit(Tensor(values).realize())
            self.push(result, values * 3 - 1, False)

    def do_symbolic(self, s: Step) -> None:
        e = self.any(s.a)
        size = e.array.shape[0]
        n = s.x % size + 1
        bounds = ((0, Variable("n", 1, size).bind(n)), *((0, d) for d in e.array.shape[1:]))
        total = e.tensor.shrink(bounds).max(0, keepdim=True)
        self.push(total, e.array[:n].max(0, keepdims=True), False)

    # ---- when

    def do_drop(self, s: Step) -> None:
        if len(self.entries) > 2 and sum(e.stored for e in self.entries) > 1:
            entry = self.any(s.a)
            if not entry.stored or sum(e.stored for e in self.entries) > 1:
                self.entries.pop(s.a % len(self.entries))

    def do_realize(self, s: Step) -> None:
        self.any(s.a).tensor.realize()

    def do_realize_pair(self, s: Step) -> None:
        self.any(s.a).tensor.realize(self.any(s.b).tensor)

    def do_callify(self, s: Step) -> None:
        self.any(s.a).tensor.callify(self.any(s.b).tensor)

    def do_check(self, s: Step) -> None:
        self.compare(s.a)


def run_program(program: list[Any]) -> None:
    """Run a program given as steps or tuples; raises AssertionError where tensors and numpy
    differ.
    """
    Machine().run([s if isinstance(s, Step) else Step(*s) for s in program])


assert set(DTYPES) <= {d.name for d in dtypes.all}
