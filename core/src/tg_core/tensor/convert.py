"""From tensors to Python and numpy values, and facts about their size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg_core.dtype import PyConst, dtypes, to_numpy
from tg_core.errors import DeviceError, DTypeError, ShapeError
from tg_core.tensor.data import format_of
from tg_core.uop.mixin.shape_utils import shape_text
from tg_core.uop.ops import Ops, UOp
from tg_core.uop.shapes import sint_simplify

if TYPE_CHECKING:
    import numpy as np

    from tg_core.tensor.tensor import Tensor


class ConvertMethods:
    """`numpy tolist item data` and sizes."""

    __slots__ = ()

    def _int_shape(self: Tensor) -> tuple[int, ...]:
        """Return the shape with bound variables replaced by their values."""
        sizes: list[int] = []
        for size in self.shape:
            sizes.append(size if isinstance(size, int) else bound_size(size))
        return tuple(sizes)

    def _host_bytes(self: Tensor) -> memoryview:
        """Return the values in row-major order as bytes, computing them if needed."""
        from tg_core.device.storage import buffer_of

        if isinstance(self.uop.device, tuple):
            return self.to(self.uop.device[0])._host_bytes()
        stored = self.contiguous().realize()
        base = stored.uop.base
        buffer = buffer_of(base)
        if buffer is None or buffer.size != base.arg.size:
            # a scalar constant or another value that realize leaves without storage
            stored = self.clone().realize()
            buffer = buffer_of(stored.uop.base)
        if buffer is None:
            raise DeviceError(f"tensor: {self!r} has no storage after it was computed")
        held, wanted = stored.max_shape, self._int_shape()
        if held == wanted:
            return buffer.as_memoryview()
        # storage of a symbolic shape has room for the greatest one
        import numpy as np

        room = np.frombuffer(buffer.as_memoryview(), np.uint8).reshape(*held, self.element_size())
        part = room[tuple(slice(size) for size in wanted)]
        return np.ascontiguousarray(part).reshape(-1).data

    def numpy(self: Tensor) -> np.ndarray:
        """Return the values as a new numpy array; bfloat16 and fp8 come as float32."""
        import numpy as np

        dtype = to_numpy(self.dtype)
        if dtype is None:
            return self.cast(
                dtypes.default_int() if dtypes.is_int(self.dtype) else dtypes.float32
            ).numpy()
        shape = self._int_shape()
        if 0 in shape:
            return np.empty(shape, dtype)
        return np.frombuffer(self._host_bytes(), dtype=dtype).reshape(shape).copy()

    def data(self: Tensor) -> memoryview:
        """Return the values as a memory view of the tensor's shape.

        Raises:
            DTypeError: Python has no format for the dtype.
        """
        fmt: Any = format_of(self.dtype)
        if fmt is None:
            raise DTypeError(f"data: {self.dtype.name} has no memoryview format, cast it first")
        shape = self._int_shape()
        if 0 in shape:
            empty: memoryview = memoryview(b"").cast(fmt)
            return empty
        flat = self._host_bytes().cast("B")
        shaped: memoryview = flat.cast(fmt, shape) if shape else flat.cast(fmt)
        return shaped

    def tolist(self: Tensor) -> Any:
        """Return the values as nested lists, or as a scalar for shape `()`."""
        return self.numpy().tolist()

    def item(self: Tensor) -> PyConst:
        """Return the only value.

        Raises:
            ShapeError: there is not exactly one.
        """
        if self.numel() != 1:
            raise ShapeError(f"item: expected one value, found shape {shape_text(self.shape)}")
        value: PyConst = self.reshape(()).tolist()
        return value

    def is_floating_point(self: Tensor) -> bool:
        """Return whether the dtype is a float."""
        return dtypes.is_float(self.dtype)


def bound_size(size: UOp) -> int:
    """Return a symbolic size with its bound variables put in.

    Raises:
        ShapeError: a variable has no value.
    """
    bound = {node: node.src[1] for node in size.toposort() if node.op is Ops.BIND}
    value = sint_simplify(size.substitute(bound))
    if not isinstance(value, int):
        raise ShapeError(f"tensor: the size {size} depends on a variable without value")
    return value
