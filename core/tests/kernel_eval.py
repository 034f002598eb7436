"""Runs a schedule with numpy straight from its kernels, before any code generation: every loop is
an axis of an array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from graph_eval import Evaluator, storage_dtype

from tg_core.dtype import Invalid, to_numpy
from tg_core.hcq.arguments import parse_argument
from tg_core.uop.ops import GroupOp, Ops, UOp

_REDUCE = {Ops.ADD: np.sum, Ops.MUL: np.prod, Ops.MAX: np.max}


class KernelEvaluator(Evaluator):
    """Evaluates one kernel on flat arrays."""

    def __init__(self, body: UOp, storage: list[np.ndarray], variables: list[int]) -> None:
        super().__init__()
        self.storage = storage
        self.variables = variables
        self.loops: list[UOp] = []
        nodes = body.toposort()
        self.loops = [n for n in nodes if n.op is Ops.RANGE]
        self.sizes: dict[UOp, int] = {}
        with np.errstate(all="ignore"):
            for node in nodes:
                self.values[node] = self.value(node)

    def grid(self, loops: Any) -> list[int]:
        return [self.sizes[loop] if loop in loops else 1 for loop in self.loops]

    def value(self, node: UOp) -> Any:
        src = [self.values[s] for s in node.src]
        if node.op is Ops.PARAM:
            slot = node.arg.slot
            return (
                np.array(self.variables[slot - len(self.storage)])
                if node.shape == ()
                else self.storage[slot]
            )
        if node.op is Ops.CONST and node.arg is Invalid:
            return Invalid
        if node.op is Ops.RANGE:
            self.sizes[node] = int(src[0])
            return np.arange(int(src[0]), dtype=np.int64).reshape(self.grid((node,)))
        if node.op is Ops.WHERE and src[2] is Invalid:
            return (src[1], src[0])
        if node.op is Ops.INDEX:
            return (src[0], src[1])
        if node.op is Ops.LOAD:
            return self.load(*src[0])
        if node.op is Ops.STORE:
            return self.store(node, src)
        if node.op is Ops.REDUCE:
            return self.reduce(node, src[0])
        if node.op in GroupOp.ALU:
            return np.asarray(self._elementwise(node)).astype(storage_dtype(node.dtype))
        return None if node.op in (Ops.END, Ops.SINK, Ops.GROUP) else self._evaluate(node)

    def load(self, array: np.ndarray, index: Any) -> np.ndarray:
        if not isinstance(index, tuple):
            assert np.all((index >= 0) & (index < len(array))), "load out of bounds"
            return array[index]
        position, valid = np.broadcast_arrays(*index)
        picked = (
            array[np.where(valid, position, 0)]
            if len(array)
            else np.zeros(position.shape, array.dtype)
        )
        return np.where(valid, picked, np.zeros((), array.dtype))

    def store(self, node: UOp, src: list[Any]) -> None:
        array, index = src[0]
        shape = self.grid(node.ranges)
        value = np.broadcast_to(np.asarray(src[1]).astype(array.dtype), shape)
        array[np.broadcast_to(index, shape).reshape(-1)] = value.reshape(-1)

    def reduce(self, node: UOp, value: np.ndarray) -> np.ndarray:
        axes = tuple(self.loops.index(r) for r in node.src[1:])
        full = np.broadcast_to(value, np.broadcast_shapes(np.shape(value), self.grid(node.src[1:])))
        return _REDUCE[node.arg](full, axis=axes, keepdims=True).astype(storage_dtype(node.dtype))


def run_schedule(linear: UOp, arguments: list[Any]) -> None:
    """Execute a LINEAR on flat numpy arrays and ints, by parameter slot."""
    temporaries: dict[UOp, np.ndarray] = {}

    def view(node: UOp) -> np.ndarray:
        argument = parse_argument(node)
        base = argument.base
        if base.op is Ops.PARAM:
            array = arguments[base.arg.slot]
        else:
            if base not in temporaries:
                temporaries[base] = np.full(base.arg.size * base.dtype.itemsize, 0xA5, np.uint8)
            array = temporaries[base]
        nbytes = argument.size * argument.dtype.itemsize
        return array.view(np.uint8)[argument.offset : argument.offset + nbytes].view(
            to_numpy(argument.dtype)
        )

    for call in linear.src:
        storage = [view(a) for a in call.src[1:] if a.shape]
        variables = [arguments[a.arg.slot] for a in call.src[1:] if not a.shape]
        if call.src[0].op is Ops.COPY:
            storage[0][:] = storage[1]
        else:
            KernelEvaluator(call.src[0], storage, variables)
