"""How arguments become tensors of a common dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg_core.dtype import DType, dtypes
from tg_core.errors import DTypeError

if TYPE_CHECKING:
    from tg_core.tensor import Tensor

SCALARS = (bool, int, float)


def plain(x: Any) -> Any:
    """Return a scalar of numpy as the Python scalar it stands for, all else as it is."""
    if type(x).__module__ == "numpy" and getattr(x, "shape", None) == ():
        return x.item()
    return x


def array_of(x: Any, name: str) -> Tensor:
    """Return an argument that must be an array, with a weak dtype committed to its width.

    Raises:
        DTypeError: it is something else.
    """
    from tg_core.tensor import Tensor

    if isinstance(x, Tensor):
        return x._commit()
    refuse_complex(x, name)
    raise DTypeError(f"{name}: expected an array, found {type(x).__name__}")


def refuse_complex(x: Any, name: str) -> None:
    """Raise an error that tells why a complex number is refused; nothing for other arguments.

    Raises:
        DTypeError: it is one.
    """
    if isinstance(x, complex):
        raise DTypeError(f"{name}: complex numbers have no data type here")


def floats_of(x: Any, name: str) -> Tensor:
    """Return an array as floats; integers give the default float."""
    return array_of(x, name)._require_float()


def as_dtype(x: Any, dtype: DType, name: str) -> Tensor:
    """Return an array or a Python scalar as an array of `dtype`.

    Raises:
        DTypeError: it is neither.
    """
    from tg_core.tensor import Tensor

    x = plain(x)
    if isinstance(x, SCALARS):
        return Tensor.const(x, dtype)
    return array_of(x, name).cast(dtype)


def pair(x1: Any, x2: Any, name: str) -> tuple[Tensor, Tensor]:
    """Return two arguments in their common dtype; one of them may be a Python scalar.

    Raises:
        DTypeError: both are scalars, or they have no common dtype.
    """
    from tg_core.array_api.data_types import result_type

    x1, x2 = plain(x1), plain(x2)
    if isinstance(x1, SCALARS) and isinstance(x2, SCALARS):
        raise DTypeError(f"{name}: expected at least one array, found two Python scalars")
    dtype = result_type(x1, x2)
    return as_dtype(x1, dtype, name), as_dtype(x2, dtype, name)


def float_pair(x1: Any, x2: Any, name: str) -> tuple[Tensor, Tensor]:
    """Return two arguments in their common float dtype; integers give the default float."""
    left, right = pair(x1, x2, name)
    return left._require_float(), right._require_float()


def fresh(result: Tensor, x: Tensor) -> Tensor:
    """Return a result that shares no memory with the argument it may be.

    A write to what a function returned must not show in its argument.
    """
    return result.clone() if result.uop is x.uop and x.uop.device is not None else result


def sum_dtype_of(dtype: DType) -> DType:
    """Return the dtype of sums and products: narrow integers and bool widen to the default int.

    Unsigned ones widen to the unsigned integer of as many bits.
    """
    default = dtypes.default_int()
    if dtype is dtypes.bool:
        return default
    if not dtypes.is_int(dtype) or dtype.bits >= default.bits:
        return dtype
    if not dtypes.is_unsigned(dtype):
        return default
    return dtypes.uint64 if default.bits == 64 else dtypes.uint32
