"""Data types: their table, promotion, value ranges and conversion to numpy.

A dtype is always scalar: how many values a node stands for is its shape. *Weak* dtypes have a kind
but no width; Python scalars and index arithmetic carry them until a width is committed.
"""

from __future__ import annotations

import math
import struct
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

from tg_core.config import DEFAULT_FLOAT, DEFAULT_INT
from tg_core.errors import DTypeError
from tg_core.support.frozen import frozen_identity

if TYPE_CHECKING:
    import numpy as np


class InvalidType:
    """The type of `Invalid`, the boolean constant that poisons what it touches and marks masked
    lanes.
    """

    _instance: InvalidType | None = None

    def __new__(cls) -> InvalidType:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "Invalid"

    def __reduce__(self) -> str:
        return "Invalid"


Invalid: Final = InvalidType()
PyConst: TypeAlias = bool | int | float
ConstType: TypeAlias = bool | int | float | InvalidType


@frozen_identity
class DType:
    """One scalar data type; instances are unique, so comparison is identity."""

    name: str
    """Name as in `dtypes`."""
    kind: str
    """One of `bool`, `int`, `uint`, `float`, `weakint`, `weakfloat`, `void`."""
    bits: int
    """Width in bits; 0 for weak dtypes and void."""
    rank: int
    """Position in the order in which expressions print and constants sort."""
    exponent_bits: int = 0
    """Exponent field width of floats."""
    finite_max: float = 0.0
    """Largest finite value of floats."""

    @property
    def itemsize(self) -> int:
        """Size of one element in bytes; bool takes one."""
        return (self.bits + 7) // 8

    def __repr__(self) -> str:
        return f"dtypes.{self.name}"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return to_dtype, (self.name,)

    def __lt__(self, other: DType) -> bool:
        return self.rank < other.rank


DTypeLike: TypeAlias = str | DType


class dtypes:  # noqa: N801 - the name of the specification
    """The table of data types."""

    void: Final = DType("void", "void", 0, 0)
    bool: Final = DType("bool", "bool", 1, 1)
    weakint: Final = DType("weakint", "weakint", 0, 2)
    int8: Final = DType("int8", "int", 8, 3)
    uint8: Final = DType("uint8", "uint", 8, 4)
    int16: Final = DType("int16", "int", 16, 5)
    uint16: Final = DType("uint16", "uint", 16, 6)
    int32: Final = DType("int32", "int", 32, 7)
    uint32: Final = DType("uint32", "uint", 32, 8)
    int64: Final = DType("int64", "int", 64, 9)
    uint64: Final = DType("uint64", "uint", 64, 10)
    weakfloat: Final = DType("weakfloat", "weakfloat", 0, 11)
    # OCP 8-bit floating point specification 1.0 (e4m3 has no infinity); the fnuz variants have one
    # NaN and no negative zero
    fp8e4m3: Final = DType("fp8e4m3", "float", 8, 12, 4, 448.0)
    fp8e5m2: Final = DType("fp8e5m2", "float", 8, 13, 5, 57344.0)
    fp8e4m3fnuz: Final = DType("fp8e4m3fnuz", "float", 8, 14, 4, 240.0)
    fp8e5m2fnuz: Final = DType("fp8e5m2fnuz", "float", 8, 15, 5, 57344.0)
    float16: Final = DType("float16", "float", 16, 16, 5, 65504.0)
    bfloat16: Final = DType("bfloat16", "float", 16, 17, 8, 2.0**127 * (2 - 2.0**-7))
    float32: Final = DType("float32", "float", 32, 18, 8, 2.0**127 * (2 - 2.0**-23))
    float64: Final = DType("float64", "float", 64, 19, 11, float(2**1023 * (2 - 2.0**-52)))

    half: Final = float16
    float: Final = float32
    double: Final = float64
    char: Final = int8
    short: Final = int16
    int: Final = int32
    long: Final = int64
    uchar: Final = uint8
    ushort: Final = uint16
    uint: Final = uint32
    ulong: Final = uint64

    ints: Final = (int8, int16, int32, int64, uint8, uint16, uint32, uint64)
    uints: Final = (uint8, uint16, uint32, uint64)
    sints: Final = (int8, int16, int32, int64)
    fp8s: Final = (fp8e4m3, fp8e5m2, fp8e4m3fnuz, fp8e5m2fnuz)
    floats: Final = (*fp8s, float16, bfloat16, float32, float64)
    all: Final = (bool, *ints, *floats)
    """Every dtype that storage can have."""

    @staticmethod
    def is_float(dtype: DType) -> builtin_bool:
        """Tell whether the dtype is floating point, weakfloat included."""
        return dtype.kind in ("float", "weakfloat")

    @staticmethod
    def is_int(dtype: DType) -> builtin_bool:
        """Tell whether the dtype is an integer, weakint included and bool excluded."""
        return dtype.kind in ("int", "uint", "weakint")

    @staticmethod
    def is_unsigned(dtype: DType) -> builtin_bool:
        """Tell whether the dtype is an unsigned integer."""
        return dtype.kind == "uint"

    @staticmethod
    def is_weak(dtype: DType) -> builtin_bool:
        """Tell whether the dtype has a kind but no width."""
        return dtype.kind in ("weakint", "weakfloat")

    @staticmethod
    def is_bool(dtype: DType) -> builtin_bool:
        """Tell whether the dtype is bool."""
        return dtype is dtypes.bool

    @staticmethod
    def min(dtype: DType) -> PyConst:
        """Return the least value of the dtype; minus infinity for floats and weak integers."""
        return _LIMITS[dtype][0]

    @staticmethod
    def max(dtype: DType) -> PyConst:
        """Return the greatest value of the dtype; infinity for floats and weak integers."""
        return _LIMITS[dtype][1]

    @staticmethod
    def from_py(value: object) -> DType:
        """Return the dtype of a Python scalar as a constant: bool, weakint or weakfloat."""
        if isinstance(value, (bool_type, InvalidType)):
            return dtypes.bool
        if isinstance(value, int_type):
            return dtypes.weakint
        if isinstance(value, float_type):
            return dtypes.weakfloat
        raise DTypeError(f"constant: expected bool, int or float, found {type(value).__name__}")

    @staticmethod
    def default_float() -> DType:
        """Return the dtype that Python floats and float-valued functions of integers commit to
        (`DEFAULT_FLOAT`).
        """
        return to_dtype(DEFAULT_FLOAT.value)

    @staticmethod
    def default_int() -> DType:
        """Return the dtype that Python integers commit to (`DEFAULT_INT`)."""
        return to_dtype(DEFAULT_INT.value)


builtin_bool: TypeAlias = bool
bool_type, int_type, float_type = bool, int, float


def _limits(dtype: DType) -> tuple[PyConst, PyConst]:
    if dtype.kind == "bool":
        return False, True
    if dtype.kind == "int":
        return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1
    if dtype.kind == "uint":
        return 0, (1 << dtype.bits) - 1
    return -math.inf, math.inf


_BY_NAME: Final[dict[str, DType]] = {k: v for k, v in vars(dtypes).items() if isinstance(v, DType)}
_LIMITS: Final[dict[DType, tuple[PyConst, PyConst]]] = {v: _limits(v) for v in _BY_NAME.values()}


def to_dtype(dtype: DTypeLike) -> DType:
    """Return the dtype of a name, or the dtype itself.

    Raises:
        DTypeError: the name is not in `dtypes`.
    """
    if isinstance(dtype, DType):
        return dtype
    try:
        return _BY_NAME[dtype]
    except (KeyError, TypeError):
        known = ", ".join(sorted(_BY_NAME))
        raise DTypeError(f"dtype: unknown {dtype!r}, expected one of {known}") from None


# Direct successors in the promotion lattice, after JAX ("Type promotion semantics",
# jax.readthedocs.io); here bool and the weak kinds lie below every width of their kind, and fp8
# variants meet at float16.
_ABOVE: Final[dict[DType, tuple[DType, ...]]] = {
    dtypes.bool: (dtypes.weakint,),
    dtypes.weakint: (dtypes.int8, dtypes.uint8),
    dtypes.int8: (dtypes.int16,),
    dtypes.uint8: (dtypes.uint16, dtypes.int16),
    dtypes.int16: (dtypes.int32,),
    dtypes.uint16: (dtypes.uint32, dtypes.int32),
    dtypes.int32: (dtypes.int64,),
    dtypes.uint32: (dtypes.uint64, dtypes.int64),
    dtypes.int64: (dtypes.weakfloat,),
    dtypes.uint64: (dtypes.weakfloat,),
    dtypes.weakfloat: dtypes.fp8s,
    **dict.fromkeys(dtypes.fp8s, (dtypes.float16, dtypes.bfloat16)),
    dtypes.float16: (dtypes.float32,),
    dtypes.bfloat16: (dtypes.float32,),
    dtypes.float32: (dtypes.float64,),
    dtypes.float64: (),
}


@cache
def _upper_set(dtype: DType) -> frozenset[DType]:
    found = {dtype}
    for above in _ABOVE[dtype]:
        found |= _upper_set(above)
    return frozenset(found)


@cache
def promote(*args: DType) -> DType:
    """Return the least dtype of the lattice that all arguments promote to.

    bool < weakint < integers < weakfloat < floats; mixed signedness widens; int64 with uint64 gives
    weakfloat, which commits to the default float; two different fp8 variants meet at float16.

    Raises:
        DTypeError: an argument is void, or there is no argument.
    """
    if not args or any(d not in _ABOVE for d in args):
        raise DTypeError(
            f"promotion: no common dtype of {', '.join(d.name for d in args) or 'nothing'}"
        )
    common = frozenset.intersection(*(_upper_set(d) for d in args))
    return max(common, key=lambda d: (len(_upper_set(d)), -d.rank))


def promote_concrete(*args: DType) -> DType:
    """Return `promote(*args)` with a weak result committed to its default width, unless all
    arguments are weak.
    """
    result = promote(*args)
    if dtypes.is_weak(result) and not all(dtypes.is_weak(d) or d is dtypes.bool for d in args):
        return dtypes.default_float() if result is dtypes.weakfloat else dtypes.default_int()
    return result


def least_float(dtype: DType) -> DType:
    """Return the dtype itself when it is a float, else the default float: the result dtype of float
    functions.
    """
    if dtypes.is_float(dtype):
        return dtype
    return dtypes.weakfloat if dtype is dtypes.weakint else dtypes.default_float()


def sum_dtype(dtype: DType) -> DType:
    """Return the dtype that a sum of this dtype accumulates in and has.

    Narrow integers and bool widen to the default int (unsigned ones to the unsigned of that width);
    floats stay, and narrow ones are accumulated in float32 by the front end.
    """
    if dtype is dtypes.bool or dtype is dtypes.weakint:
        return dtypes.default_int()
    if dtypes.is_unsigned(dtype):
        return promote(dtype, dtypes.uint32)
    if dtypes.is_int(dtype):
        return promote(dtype, dtypes.default_int())
    return dtype


def truncate(value: PyConst, dtype: DType) -> PyConst:
    """Return `value` as the dtype stores it: wrapped for integers, rounded to nearest even for
    floats.

    A float goes to an integer dtype by truncation toward zero; NaN and infinities give 0 there, and
    NaN gives True for bool.
    """
    if dtype is dtypes.bool:
        return bool_type(value)
    if dtypes.is_int(dtype):
        if isinstance(value, float_type):
            value = int_type(value) if math.isfinite(value) else 0
        value = int_type(value)
        if dtype is dtypes.weakint:
            return value
        value &= (1 << dtype.bits) - 1
        return (
            value - (1 << dtype.bits)
            if dtype.kind == "int" and value >> (dtype.bits - 1)
            else value
        )
    if not dtypes.is_float(dtype):
        raise DTypeError(f"truncate: {dtype.name} holds no values")
    try:
        value = float_type(value)
    except OverflowError:
        value = math.inf if value > 0 else -math.inf
    if dtype in (dtypes.weakfloat, dtypes.float64) or not math.isfinite(value):
        return _fp8_special(value, dtype)
    if dtype is dtypes.float32:
        try:
            return float_type(struct.unpack("f", struct.pack("f", value))[0])
        except OverflowError:
            return math.copysign(math.inf, value)
    return _round_float(value, dtype)


def _fp8_special(value: float, dtype: DType) -> float:
    if dtype in dtypes.fp8s and math.isinf(value):
        return math.copysign(dtype.finite_max, value)
    return value


def _round_float(value: float, dtype: DType) -> float:
    """Round a finite value to the grid of a narrow float; fp8 saturates, the others overflow to
    infinity.
    """
    if value == 0.0:
        return 0.0 if dtype.name.endswith("fnuz") else value
    mantissa_bits = dtype.bits - 1 - dtype.exponent_bits
    bias = 2 ** (dtype.exponent_bits - 1) - (0 if dtype.name.endswith("fnuz") else 1)
    exponent = max(math.frexp(value)[1] - 1, 1 - bias)
    step = math.ldexp(1.0, exponent - mantissa_bits)
    rounded = round(value / step) * step
    if abs(rounded) > dtype.finite_max:
        return math.copysign(dtype.finite_max if dtype in dtypes.fp8s else math.inf, value)
    if rounded == 0.0:
        return 0.0 if dtype.name.endswith("fnuz") else math.copysign(0.0, value)
    return rounded


_NUMPY_NAMES: Final[dict[DType, str]] = {
    dtypes.bool: "bool",
    **{d: d.name for d in dtypes.ints},
    dtypes.float16: "float16",
    dtypes.float32: "float32",
    dtypes.float64: "float64",
}


@cache
def to_numpy(dtype: DType) -> np.dtype | None:
    """Return numpy's dtype of the same representation, or None when numpy has none (bfloat16, fp8,
    weak, void).
    """
    import numpy as np

    name = _NUMPY_NAMES.get(dtype)
    return None if name is None else np.dtype(name)


@cache
def from_numpy(dtype: np.dtype) -> DType:
    """Return the dtype of numpy's native-endian `dtype`.

    Raises:
        DTypeError: there is no such dtype here (complex, object, datetime, ...).
    """
    for ours, name in _NUMPY_NAMES.items():
        if dtype.name == name:
            return ours
    raise DTypeError(
        f"numpy dtype {dtype} has no counterpart,"
        f" expected one of {', '.join(_NUMPY_NAMES.values())}"
    )
