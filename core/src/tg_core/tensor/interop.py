"""How tensors meet numpy, copying and pickling."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tg_core.dtype import to_dtype
from tg_core.tensor.families import join_family

if TYPE_CHECKING:
    import numpy as np

    from tg_core.tensor.tensor import Tensor


class InteropMethods:
    """`numpy.asarray(x)`, `copy.copy(x)`, `copy.deepcopy(x)`, `pickle.dumps(x)`."""

    __slots__ = ()

    __array_ufunc__ = None
    """Lets `array + tensor` be a tensor: numpy leaves the operation to us."""

    def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return the values as numpy sees them; always a copy.

        Raises:
            ValueError: `copy` is False.
        """
        if copy is False:
            raise ValueError("array: the values of a tensor cannot be shown without a copy")
        values = self.numpy()
        return values if dtype is None else values.astype(dtype)

    def __copy__(self: Tensor) -> Tensor:
        """Return a tensor of the same node: it shares storage."""
        copied = self._moved(self.uop)
        join_family(copied, self)
        return copied

    def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
        """Return a tensor with storage of its own."""
        return self.clone() if self.uop.device is not None else self.__copy__()

    def __reduce__(self: Tensor) -> tuple[Callable[..., Tensor], tuple[Any, ...]]:
        """Return the values, which loading puts on the default device."""
        shape = self._int_shape()
        raw = b"" if 0 in shape else bytes(self._host_bytes())
        return _rebuilt, (raw, self.dtype.name, shape, self.is_param)


def _rebuilt(raw: bytes, dtype: str, shape: tuple[int, ...], is_param: bool) -> Tensor:
    from tg_core.tensor.tensor import Tensor

    if 0 in shape:
        return Tensor.full(shape, 0, dtype=dtype, buffer=False).is_param_(is_param)
    return Tensor(raw, dtype=to_dtype(dtype)).reshape(shape).is_param_(is_param)
