"""The names of the standard, version 2024.12, and what of them is left out.

Source:
    Python array API standard 2024.12, https://data-apis.org/array-api/2024.12/API_specification/.
"""

from __future__ import annotations

from typing import Final

NAMES: Final[dict[str, str]] = {
    "constants": "e inf nan newaxis pi",
    "creation functions": "arange asarray empty empty_like eye from_dlpack full full_like linspace"
    " meshgrid ones ones_like tril triu zeros zeros_like",
    "data type functions": "astype can_cast finfo iinfo isdtype result_type",
    "data types": "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64"
    " complex64 complex128",
    "elementwise functions": "abs acos acosh add asin asinh atan atan2 atanh bitwise_and"
    " bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor ceil clip conj"
    " copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot imag"
    " isfinite isinf isnan less less_equal log log10 log1p log2 logaddexp logical_and logical_not"
    " logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow"
    " real reciprocal remainder round sign signbit sin sinh sqrt square subtract tan tanh trunc",
    "indexing functions": "take take_along_axis",
    "inspection": "__array_namespace_info__",
    "linear algebra functions": "matmul matrix_transpose tensordot vecdot",
    "manipulation functions": "broadcast_arrays broadcast_to concat expand_dims flip moveaxis"
    " permute_dims repeat reshape roll squeeze stack tile unstack",
    "searching functions": "argmax argmin count_nonzero nonzero searchsorted where",
    "set functions": "unique_all unique_counts unique_inverse unique_values",
    "sorting functions": "argsort sort",
    "statistical functions": "cumulative_prod cumulative_sum max mean min prod std sum var",
    "utility functions": "all any diff",
}
"""The names of the namespace by the section of the standard that defines them."""

EXTENSIONS: Final[dict[str, str]] = {
    "fft": "fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq"
    " rfftn",
    "linalg": "cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power"
    " matrix_rank matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot"
    " vector_norm",
}
"""The names of the optional extensions."""

ARRAY: Final[dict[str, str]] = {
    "attributes": "T device dtype mT ndim shape size",
    "methods": "__array_namespace__ __bool__ __complex__ __dlpack__ __dlpack_device__ __float__"
    " __getitem__ __index__ __int__ __setitem__ to_device",
    "operators": "__abs__ __add__ __and__ __eq__ __floordiv__ __ge__ __gt__ __invert__ __le__"
    " __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__ __pow__"
    " __rshift__ __sub__ __truediv__ __xor__",
    "reflected operators": "__radd__ __rand__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__"
    " __rmul__ __ror__ __rpow__ __rrshift__ __rsub__ __rtruediv__ __rxor__",
    "in-place operators": "__iadd__ __iand__ __ifloordiv__ __ilshift__ __imatmul__ __imod__"
    " __imul__ __ior__ __ipow__ __irshift__ __isub__ __itruediv__ __ixor__",
}
"""What an array has by itself."""

LEFT_OUT: Final[dict[str, str]] = {
    "complex64 complex128": "there are no complex data types",
    "fft.fft fft.fftn fft.hfft fft.ifft fft.ifftn fft.ihfft fft.irfft fft.irfftn fft.rfft"
    " fft.rfftn": "they take or give complex arrays; they are there and raise DTypeError",
}
"""What is left out, and why."""
