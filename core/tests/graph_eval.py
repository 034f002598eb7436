"""An independent evaluator of tensor-level graphs in numpy, as an oracle for the front end.

It follows `docs/ir.md` and shares no code with the compiler or with any device.
"""

from __future__ import annotations

import math

import numpy as np

from tg_core.dtype import DType, dtypes, to_numpy, truncate
from tg_core.uop.ops import Ops, UOp

_BINARY = {
    Ops.ADD: np.add,
    Ops.SUB: np.subtract,
    Ops.MUL: np.multiply,
    Ops.FDIV: np.true_divide,
    Ops.MAX: np.maximum,
    Ops.CMPLT: np.less,
    Ops.CMPNE: np.not_equal,
    Ops.CMPEQ: np.equal,
    Ops.AND: np.bitwise_and,
    Ops.OR: np.bitwise_or,
    Ops.XOR: np.bitwise_xor,
    Ops.SHL: np.left_shift,
    Ops.SHR: np.right_shift,
    Ops.POW: np.power,
}
_UNARY = {
    Ops.EXP2: np.exp2,
    Ops.LOG2: np.log2,
    Ops.SIN: np.sin,
    Ops.SQRT: np.sqrt,
    Ops.TRUNC: np.trunc,
}
_REDUCE = {Ops.ADD: np.add, Ops.MUL: np.multiply, Ops.MAX: np.maximum}


def storage_dtype(dtype: DType) -> np.dtype:
    """Return the numpy dtype that values of `dtype` are kept in here."""
    if dtype is dtypes.weakint:
        return np.dtype(np.int64)
    if dtype is dtypes.weakfloat:
        return np.dtype(np.float64)
    return to_numpy(dtype) or np.dtype(np.float32)


def as_dtype(value: np.ndarray, dtype: DType) -> np.ndarray:
    """Return `value` converted to `dtype`, rounded where numpy has no such dtype."""
    if dtypes.is_int(dtype) and value.dtype.kind == "f":
        flat = [truncate(v, dtype) if math.isfinite(v) else 0 for v in value.reshape(-1).tolist()]
        return np.array(flat, dtype=storage_dtype(dtype)).reshape(value.shape)
    with np.errstate(all="ignore"):
        result = value.astype(storage_dtype(dtype))
    if to_numpy(dtype) is None and not dtypes.is_weak(dtype):
        flat = [truncate(v, dtype) for v in result.reshape(-1).tolist()]
        result = np.array(flat, dtype=np.float32).reshape(value.shape)
    return result


def _threefry(counter: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Threefry-2x32 with 20 rounds (Salmon et al., SC 2011).

    Both operands packed low word first.
    """
    mask = 0xFFFFFFFF
    low, high = (counter & np.uint64(mask)), counter >> np.uint64(32)
    keys = [key & np.uint64(mask), key >> np.uint64(32)]
    keys.append(keys[0] ^ keys[1] ^ np.uint64(0x1BD11BDA))
    rotations = ((13, 15, 26, 6), (17, 29, 16, 24))
    low = (low + keys[0]) & np.uint64(mask)
    high = (high + keys[1]) & np.uint64(mask)
    for group in range(5):
        for amount in rotations[group % 2]:
            low = (low + high) & np.uint64(mask)
            high = ((high << np.uint64(amount)) | (high >> np.uint64(32 - amount))) & np.uint64(
                mask
            )
            high ^= low
        low = (low + keys[(group + 1) % 3]) & np.uint64(mask)
        high = (high + keys[(group + 2) % 3] + np.uint64(group + 1)) & np.uint64(mask)
    return (high << np.uint64(32)) | low


def _divide_floor(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(b == 0, 0, np.floor_divide(a, np.where(b == 0, 1, b))).astype(a.dtype)


def _integer_or_float(op: Ops, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if op is Ops.FLOORDIV:
        return np.floor(a / b) if a.dtype.kind == "f" else _divide_floor(a, b)
    if op is Ops.FLOORMOD:
        if a.dtype.kind == "f":
            return np.mod(a, b)
        return (a - _divide_floor(a, b) * b).astype(a.dtype)
    safe = np.where(b == 0, 1, b) if a.dtype.kind != "f" else b
    remainder = np.fmod(a, safe)
    if op is Ops.CMOD:
        return remainder
    return np.trunc(a / b) if a.dtype.kind == "f" else ((a - remainder) // safe).astype(a.dtype)


class Evaluator:
    """Evaluates graphs; values of PARAMs and BUFFERs come from `inputs`."""

    def __init__(self, inputs: dict[UOp, np.ndarray] | None = None) -> None:
        self.values: dict[UOp, np.ndarray] = dict(inputs or {})

    def __call__(self, root: UOp) -> np.ndarray:
        """Return the value of a node."""
        with np.errstate(all="ignore"):
            for node in root.toposort():
                if node not in self.values:
                    value = self._evaluate(node)
                    if value is not None:
                        self.values[node] = value
        return self.values[root]

    def _operands(self, node: UOp) -> list[np.ndarray]:
        sources = node.src[1:] if node.op is Ops.WHERE else node.src
        wanted = sources[0].dtype
        for source in sources:
            if dtypes.is_weak(wanted) and not dtypes.is_weak(source.dtype):
                wanted = source.dtype
        if node.op in (Ops.SHL, Ops.SHR):
            wanted = node.dtype
        concrete = {s.dtype for s in sources if not dtypes.is_weak(s.dtype)}
        assert len(concrete) <= 1 or node.op in (Ops.SHL, Ops.SHR), f"mixed dtypes in {node.op}"
        shapes = {s.shape for s in node.src if s.shape}
        assert len(shapes) <= 1, f"mixed shapes in {node.op}: {shapes}"
        operands = [as_dtype(self.values[s], wanted) for s in sources]
        return [self.values[node.src[0]], *operands] if node.op is Ops.WHERE else operands

    def _size(self, entry: int | UOp) -> int:
        return entry if isinstance(entry, int) else int(self(entry))

    def _movement(self, node: UOp) -> np.ndarray:
        source, arg = self.values[node.src[0]], node.marg
        if node.op is Ops.RESHAPE:
            return source.reshape([self._size(s) for s in arg])
        if node.op is Ops.EXPAND:
            return np.broadcast_to(source, [self._size(s) for s in arg])
        if node.op is Ops.PERMUTE:
            return source.transpose(arg)
        if node.op is Ops.FLIP:
            return np.flip(source, arg)
        if node.op is Ops.PAD:
            return np.pad(source, [(self._size(a), self._size(b)) for a, b in arg])
        return source[tuple(slice(self._size(a), self._size(b)) for a, b in arg)]

    def _evaluate(self, node: UOp) -> np.ndarray | None:
        op, dtype = node.op, node.dtype
        if op is Ops.CONST:
            return np.array(
                node.arg,
                dtype=storage_dtype(dtype)
                if abs(node.arg) < 2**63 or dtype is not dtypes.weakint
                else object,
            )
        if op is Ops.BIND:
            return self.values[node.src[1]]
        if op is Ops.PARAM:
            return None  # a variable: its BIND has the value
        if op is Ops.BUFFER:
            return np.zeros(node.shape, dtype=storage_dtype(dtype))
        if op in (Ops.RESHAPE, Ops.EXPAND, Ops.PERMUTE, Ops.FLIP, Ops.PAD, Ops.SHRINK):
            return self._movement(node)
        if op is Ops.CAST:
            source = self.values[node.src[0]]
            if source.dtype == object:
                return np.array(truncate(source.item(), dtype), dtype=storage_dtype(dtype))
            return as_dtype(source, dtype)
        if op is Ops.BITCAST:
            return np.ascontiguousarray(self.values[node.src[0]]).view(storage_dtype(dtype))
        if op in (Ops.CONTIGUOUS, Ops.CONTIGUOUS_BACKWARD, Ops.DETACH, Ops.COPY):
            return self.values[node.src[0]]
        if op is Ops.STORE:
            return self.values[node.src[1]]
        if op is Ops.AFTER:
            return self._after(node)
        if op is Ops.REDUCE_AXIS:
            return self._reduce(node)
        if op is Ops.STACK:
            return np.stack([as_dtype(self.values[s], dtype) for s in node.src])
        return as_dtype(np.asarray(self._elementwise(node)), dtype)

    def _after(self, node: UOp) -> np.ndarray:
        """Return the state after its writes, each through a view of the state."""
        state = np.array(self.values[node.src[0]])
        for write in node.src[1:]:
            assert write.op is Ops.STORE, write.op
            target, value = write.src[0], self.values[write.src[1]]
            chain = []
            while target is not node.src[0]:
                chain.append(target)
                target = target.src[0]
            places = Evaluator({node.src[0]: np.arange(1, state.size + 1).reshape(state.shape)})
            for view in reversed(chain):
                places.values[view] = places._movement(view)
            where = places.values[write.src[0]]
            state.reshape(-1)[where.reshape(-1) - 1] = np.broadcast_to(value, where.shape).reshape(
                -1
            )
        return state

    def _reduce(self, node: UOp) -> np.ndarray:
        source, (op, axes) = self.values[node.src[0]], node.arg
        if op is Ops.MAX and any(source.shape[axis] == 0 for axis in axes):
            shape = [1 if i in axes else s for i, s in enumerate(source.shape)]
            return np.full(shape, dtypes.min(node.dtype), dtype=source.dtype)
        if op is Ops.MAX and source.dtype == np.bool_:
            return np.logical_or.reduce(source, axis=axes, keepdims=True)
        return as_dtype(
            _REDUCE[op].reduce(source, axis=axes, keepdims=True, dtype=source.dtype), node.dtype
        )

    def _elementwise(self, node: UOp) -> np.ndarray:
        op, operands = node.op, self._operands(node)
        if op is Ops.WHERE:
            return np.where(*operands)
        if op is Ops.RECIPROCAL:
            return 1 / operands[0]
        if op is Ops.MULACC:
            return operands[0] * operands[1] + operands[2]
        if op is Ops.THREEFRY:
            return _threefry(*operands)
        if op in (Ops.FLOORDIV, Ops.FLOORMOD, Ops.CDIV, Ops.CMOD):
            return _integer_or_float(op, *operands)
        return _UNARY[op](operands[0]) if op in _UNARY else _BINARY[op](*operands)


def evaluate(root: UOp, inputs: dict[UOp, np.ndarray] | None = None) -> np.ndarray:
    """Return the value of a tensor-level node, with `inputs` for its PARAMs and BUFFERs."""
    return Evaluator(inputs)(root)
