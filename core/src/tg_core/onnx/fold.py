"""Computing with arrays that are known while the graph is built: shapes, axes, numbers of steps.

Small constants and what is computed from shapes never reach a device: the operators that models use
for such arithmetic have a second implementation here, on numpy arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tg_core.dtype import to_numpy
from tg_core.onnx.element_types import CODES
from tg_core.onnx.graph import Node
from tg_core.onnx.tensor_data import FOLDED_SIZE
from tg_core.onnx.values import Anything, Lane, Value

__all__ = ["FOLDED_OPERATORS", "fold"]

Arrays: TypeAlias = Sequence[Any]
Attributes: TypeAlias = Mapping[str, Any]
Folder: TypeAlias = Callable[[Arrays, Attributes], Any]


def fold(node: Node, inputs: Sequence[Anything], attributes: Attributes) -> list[Value] | None:
    """Return the outputs of a node whose inputs are all known and small; None otherwise."""
    folder = FOLDED_OPERATORS.get(node.op) if node.operator is not None else None
    if folder is None or node.domain or not inputs:
        return None
    lane = Lane.CONSTANT
    weak = False
    arrays: list[np.ndarray | None] = []
    for entry in inputs:
        if entry is None:
            arrays.append(None)
            continue
        if not isinstance(entry, Value) or entry.lane is Lane.TENSOR or entry.element.is_narrow:
            return None
        known = entry.known
        if known is None or known.size > FOLDED_SIZE:
            return None
        weak = weak or entry.lane is Lane.PARAMETER
        lane = max(lane, entry.lane)
        arrays.append(known)
    if weak and lane is not Lane.SHAPE:
        return None
    with np.errstate(all="ignore"):
        results = folder(arrays, attributes)
    if results is None:
        return None
    listed = results if isinstance(results, list) else [results]
    return [Value(None, np.asarray(result), lane) for result in listed]


def _same(function: Callable[..., Any]) -> Folder:
    """Return the folder of a numpy function that keeps the dtype of its operands."""

    def folder(arrays: Arrays, attributes: Attributes) -> Any:
        if attributes.keys() & {"axis", "broadcast"}:
            return None
        return np.asarray(function(*arrays)).astype(arrays[0].dtype, copy=False)

    return folder


def _truth(function: Callable[..., Any]) -> Folder:
    """Return the folder of a numpy function that gives bools."""

    def folder(arrays: Arrays, attributes: Attributes) -> Any:
        return None if attributes.keys() & {"axis", "broadcast"} else function(*arrays)

    return folder


def _divide(a: np.ndarray, b: np.ndarray) -> Any:
    """Divide; integers are rounded toward zero, and a zero divisor gives 0."""
    if a.dtype.kind == "f":
        return a / b
    safe = np.where(b == 0, 1, b)
    quotient = a // safe
    inexact = (a % safe != 0) & ((a < 0) != (safe < 0))
    return np.where(b == 0, 0, quotient + inexact)


def _variadic(function: Callable[[Any, Any], Any]) -> Folder:
    def folder(arrays: Arrays, attributes: Attributes) -> Any:
        result = arrays[0]
        for other in arrays[1:]:
            result = function(result, other)
        return result

    return folder


def _modulo(arrays: Arrays, attributes: Attributes) -> Any:
    if (arrays[1] == 0).any():
        return None
    return (np.fmod if attributes.get("fmod", 0) else np.mod)(arrays[0], arrays[1])


def _cast(arrays: Arrays, attributes: Attributes) -> Any:
    element = CODES.get(attributes.get("to", 0)) if isinstance(attributes.get("to"), int) else None
    target = None if element is None or element.is_narrow else to_numpy(element.dtype)
    finite = arrays[0].dtype.kind != "f" or np.isfinite(arrays[0]).all()
    return arrays[0].astype(target) if target is not None and finite else None


def _cast_like(arrays: Arrays, attributes: Attributes) -> Any:
    return arrays[0].astype(arrays[1].dtype)


def _gather(arrays: Arrays, attributes: Attributes) -> Any:
    data, indices = arrays
    size = data.shape[attributes.get("axis", 0)]
    if ((indices < -size) | (indices >= size)).any():
        return None
    return np.take(data, indices, axis=attributes.get("axis", 0))


def _concat(arrays: Arrays, attributes: Attributes) -> Any:
    return np.concatenate(arrays, axis=attributes.get("axis", 1))


def _axes(arrays: Arrays, attributes: Attributes) -> tuple[int, ...] | None:
    """Return the axes, which are an input or an attribute depending on the version."""
    if len(arrays) > 1 and arrays[1] is not None:
        return tuple(arrays[1].reshape(-1).tolist())
    return attributes.get("axes")


def _unsqueeze(arrays: Arrays, attributes: Attributes) -> Any:
    axes = _axes(arrays, attributes)
    return None if axes is None else np.expand_dims(arrays[0], axes)


def _squeeze(arrays: Arrays, attributes: Attributes) -> Any:
    return np.squeeze(arrays[0], _axes(arrays, attributes))


def _reshape(arrays: Arrays, attributes: Attributes) -> Any:
    shape = attributes.get("shape") if len(arrays) < 2 else tuple(arrays[1].reshape(-1).tolist())
    if shape is None or (0 in shape) or arrays[0].size == 0:
        return None
    return arrays[0].reshape(shape)


def _transpose(arrays: Arrays, attributes: Attributes) -> Any:
    return np.transpose(arrays[0], attributes.get("perm"))


def _slice(arrays: Arrays, attributes: Attributes) -> Any:
    data = arrays[0]
    if len(arrays) < 3:
        return None
    starts, ends = (entry.reshape(-1).tolist() for entry in arrays[1:3])
    given = [None if entry is None else entry.reshape(-1).tolist() for entry in arrays[3:]]
    axes = given[0] if given and given[0] is not None else range(len(starts))
    steps = given[1] if len(given) > 1 and given[1] is not None else [1] * len(starts)
    keep: list[slice] = [slice(None)] * data.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        size = data.shape[axis]
        # before the first element, which Python spells None
        stop = None if step < 0 and end < -size else end
        keep[axis] = slice(start, stop, step)
    return data[tuple(keep)]


def _expand(arrays: Arrays, attributes: Attributes) -> Any:
    target = np.broadcast_shapes(arrays[0].shape, tuple(arrays[1].reshape(-1).tolist()))
    return np.broadcast_to(arrays[0], target) if math.prod(target) <= FOLDED_SIZE else None


def _tile(arrays: Arrays, attributes: Attributes) -> Any:
    if len(arrays) != 2 or arrays[1].size != arrays[0].ndim:
        return None
    repeats = arrays[1].reshape(-1).tolist()
    if min(repeats, default=1) < 0 or math.prod(repeats) * arrays[0].size > FOLDED_SIZE:
        return None
    return np.tile(arrays[0], repeats)


def _constant_of_shape(arrays: Arrays, attributes: Attributes) -> Any:
    shape = tuple(arrays[0].reshape(-1).tolist())
    value = attributes.get("value")
    known = np.zeros(1, np.float32) if value is None else value.known
    if known is None or (value is not None and value.element.is_narrow):
        return None
    if min(shape, default=0) < 0 or math.prod(shape) > FOLDED_SIZE:
        return None
    return np.full(shape, known.reshape(-1)[0], known.dtype)


def _range(arrays: Arrays, attributes: Attributes) -> Any:
    start, limit, delta = (entry.reshape(-1)[0] for entry in arrays)
    if arrays[0].dtype.kind != "i" or delta == 0:
        return None
    count = max(-((int(start) - int(limit)) // int(delta)), 0)
    if count > FOLDED_SIZE:
        return None
    return (int(start) + int(delta) * np.arange(count)).astype(arrays[0].dtype)


def _reduction(function: Callable[..., Any]) -> Folder:
    def folder(arrays: Arrays, attributes: Attributes) -> Any:
        data, axes = arrays[0], _axes(arrays, attributes)
        if data.size == 0 or (not axes and attributes.get("noop_with_empty_axes", 0)):
            return None
        keep = bool(attributes.get("keepdims", 1))
        result = function(data, axis=tuple(axes) if axes else None, keepdims=keep)
        return np.asarray(result).astype(data.dtype)

    return folder


def _split(arrays: Arrays, attributes: Attributes) -> Any:
    sizes = arrays[1] if len(arrays) > 1 else attributes.get("split")
    axis = attributes.get("axis", 0)
    if sizes is None or sum(sizes) != arrays[0].shape[axis]:
        return None
    return np.split(arrays[0], np.cumsum(sizes)[:-1], axis)


def _identity(arrays: Arrays, attributes: Attributes) -> Any:
    return arrays[0]


def _where(arrays: Arrays, attributes: Attributes) -> Any:
    return np.where(*arrays)


def _flatten(arrays: Arrays, attributes: Attributes) -> Any:
    axis = attributes.get("axis", 1)
    shape = arrays[0].shape
    axis += len(shape) if axis < 0 else 0
    return arrays[0].reshape(math.prod(shape[:axis]), -1) if arrays[0].size else None


FOLDED_OPERATORS: Mapping[str, Folder] = {
    "Abs": _same(np.abs),
    "Add": _same(np.add),
    "And": _truth(np.logical_and),
    "Cast": _cast,
    "CastLike": _cast_like,
    "Ceil": _same(np.ceil),
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "Div": _same(_divide),
    "Equal": _truth(np.equal),
    "Expand": _expand,
    "Flatten": _flatten,
    "Floor": _same(np.floor),
    "Gather": _gather,
    "Greater": _truth(np.greater),
    "GreaterOrEqual": _truth(np.greater_equal),
    "Identity": _identity,
    "Less": _truth(np.less),
    "LessOrEqual": _truth(np.less_equal),
    "Max": _variadic(np.maximum),
    "Min": _variadic(np.minimum),
    "Mod": _modulo,
    "Mul": _same(np.multiply),
    "Neg": _same(np.negative),
    "Not": _truth(np.logical_not),
    "Or": _truth(np.logical_or),
    "Range": _range,
    "Reciprocal": _same(np.reciprocal),
    "ReduceMax": _reduction(np.max),
    "ReduceMin": _reduction(np.min),
    "ReduceProd": _reduction(np.prod),
    "ReduceSum": _reduction(np.sum),
    "Reshape": _reshape,
    "Round": _same(np.round),
    "Slice": _slice,
    "Split": _split,
    "Sqrt": _same(np.sqrt),
    "Squeeze": _squeeze,
    "Sub": _same(np.subtract),
    "Sum": _variadic(np.add),
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}
"""The operators that are folded; None of a folder leaves it to the operator on tensors."""
