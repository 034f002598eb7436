"""The values that flow through a model: tensors, and arrays that are known without running.

Shapes, axes and other arguments are computed in a model by the same operators as its data. They
must be known while the graph of tensors is built, so a value keeps the array it was made of, and
operators on such arrays are computed at once by numpy (`fold`).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np

from tg_core.dtype import DType, to_numpy
from tg_core.engine.capture import capturing
from tg_core.errors import JitError
from tg_core.onnx.element_types import ElementType, element_of_array, element_of_dtype
from tg_core.tensor import Tensor
from tg_core.uop.ops import Ops, UOp

__all__ = ["Anything", "Lane", "Value", "value_of"]


class Lane(IntEnum):
    """Where a value comes from, which decides whether numpy computes with it."""

    TENSOR = 0
    """A tensor given to the model, or computed by a device: never."""
    PARAMETER = 1
    """A number that training may change: only together with what a shape gave."""
    CONSTANT = 2
    """A constant, or integers given to the model as an array or numbers."""
    SHAPE = 3
    """Computed from the shape of a tensor."""


class Value:
    """A tensor of a model.

    Args:
        tensor: the tensor; made of `array` when it is asked for, where None.
        array: what it holds, where that is known.
        lane: where it comes from.
        element: the type that files give it, where its dtype holds a narrower one.
    """

    __slots__ = ("_array", "_element", "_node", "_tensor", "lane")

    def __init__(
        self,
        tensor: Tensor | None = None,
        array: np.ndarray | None = None,
        lane: Lane = Lane.TENSOR,
        element: ElementType | None = None,
    ) -> None:
        self._tensor = tensor
        self._array = array
        self._element = element
        self._node: UOp | None = None if tensor is None else tensor.uop
        self.lane = lane

    @property
    def tensor(self) -> Tensor:
        """The values as a tensor."""
        if self._tensor is None:
            assert self._array is not None
            self._tensor = tensor_of_array(self._array)
            self._node = self._tensor.uop
        return self._tensor

    @property
    def known(self) -> np.ndarray | None:
        """The values where they are known without running anything.

        Those of a parameter are not any more once its tensor was assigned to.
        """
        if self.lane is Lane.PARAMETER and self.tensor.uop is not self._node:
            return None
        return self._array

    def array(self) -> np.ndarray:
        """Return the values, computed if needed; bfloat16 and fp8 come as float32.

        Raises:
            JitError: they would have to be computed inside of a capture, which would freeze them.
        """
        known = self.known
        if known is not None:
            return known
        if capturing() and any(node.op is Ops.BUFFER for node in self.tensor.uop.toposort()):
            raise JitError(
                "a shape, a condition or another number that decides what is computed depends on "
                "the values of tensors; it cannot change in a replay, so it is not captured"
            )
        return self.tensor.numpy()

    @property
    def element(self) -> ElementType:
        """The type that files give it."""
        if self._element is not None:
            return self._element
        if self._tensor is not None:
            return element_of_dtype(self._tensor.dtype)
        assert self._array is not None
        return element_of_array(self._array.dtype)

    @property
    def dtype(self) -> DType:
        """What holds the values."""
        return self.element.dtype

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape; entries are ints, or symbolic in tensors from outside."""
        if self._tensor is not None:
            return self._tensor.shape
        assert self._array is not None
        return self._array.shape

    def __repr__(self) -> str:
        return f"<Value {self.element.name} {self.shape}, {self.lane.name.lower()}>"


Anything: TypeAlias = "Value | list[Value] | None"
"""What a name of a model stands for: a tensor, a sequence of tensors, or an absent optional."""


def tensor_of_array(array: np.ndarray) -> Tensor:
    """Return an array as a tensor; one of equal values becomes a constant without storage."""
    first = array.reshape(-1)[:1]
    if array.size and array.size <= 4096 and (array == first).all():
        return Tensor.full(array.shape, first[0].item(), dtype=element_of_array(array.dtype).dtype)
    return Tensor(array)


def value_of(data: Any) -> Value:
    """Return an input of a model as a value: a tensor, an array, a number or a list."""
    if isinstance(data, Tensor):
        return Value(data)
    array = np.asarray(data)
    if array.dtype == np.float64 and not hasattr(data, "dtype"):
        array = array.astype(np.float32)
    if array.dtype.kind in "biu" and not element_of_array(array.dtype).array_name:
        return Value(None, array, Lane.CONSTANT)
    return carried(array, element_of_array(array.dtype))


def carried(array: np.ndarray, element: ElementType) -> Value:
    """Return an array of any element type, extensions of numpy included, as a value."""
    if not element.array_name:
        return Value(None, array)
    if element.is_narrow:
        wide = to_numpy(element.dtype)
        assert wide is not None
        return Value(None, array.astype(wide), element=element)
    bits = np.ascontiguousarray(array).reshape(array.shape).view(f"u{element.dtype.itemsize}")
    return Value(Tensor(bits).bitcast(element.dtype))
