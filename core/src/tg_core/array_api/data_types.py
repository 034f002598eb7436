"""The data types of the standard, their groups and their promotion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg_core.array_api.operands import array_of, fresh, plain
from tg_core.dtype import DType, dtypes, promote
from tg_core.errors import DTypeError

if TYPE_CHECKING:
    from tg_core.tensor import Tensor

bool_ = dtypes.bool
int8 = dtypes.int8
int16 = dtypes.int16
int32 = dtypes.int32
int64 = dtypes.int64
uint8 = dtypes.uint8
uint16 = dtypes.uint16
uint32 = dtypes.uint32
uint64 = dtypes.uint64
float32 = dtypes.float32
float64 = dtypes.float64

SIGNED = (int8, int16, int32, int64)
UNSIGNED = (uint8, uint16, uint32, uint64)
FLOATS = (float32, float64)
BY_KIND: dict[str, tuple[DType, ...]] = {
    "bool": (bool_,),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED + UNSIGNED,
    "real floating": FLOATS,
    "complex floating": (),
    "numeric": SIGNED + UNSIGNED + FLOATS,
}
"""The data types of each kind of `isdtype`; complex ones do not exist here."""


def kind_of(dtype: DType) -> str:
    """Return `bool`, `integral` or `real floating`: what promotion does not cross."""
    if dtype is dtypes.bool:
        return "bool"
    return "real floating" if dtypes.is_float(dtype) else "integral"


def _common(dtype: DType, other: DType) -> DType:
    """Return the dtype that two concrete dtypes promote to.

    Raises:
        DTypeError: one is uint64 and the other signed; no integer holds both.
    """
    common = promote(dtype, other)
    if dtypes.is_weak(common):
        raise DTypeError(
            f"result_type: no integer holds {dtype.name} and {other.name}, convert one with astype"
        )
    return common


def result_type(*arrays_and_dtypes: Tensor | DType | bool | int | float) -> DType:
    """Return the data type that an operation on the arguments has.

    Within a kind the standard's tables decide. Across kinds, which the standard leaves open, a
    bool gives way to integers and those to floats. Python scalars count by their kind only.

    Args:
        *arrays_and_dtypes: arrays, data types and Python scalars.

    Raises:
        DTypeError: there is no argument, uint64 meets a signed type, or an argument is neither.
    """
    concrete: DType | None = None
    scalars: list[DType] = []
    for given in arrays_and_dtypes:
        entry = plain(given)
        if isinstance(entry, (bool, int, float)):
            scalars.append(dtypes.from_py(entry))
            continue
        dtype = entry if isinstance(entry, DType) else array_of(entry, "result_type").dtype
        concrete = dtype if concrete is None else _common(concrete, dtype)
    if concrete is None and not scalars:
        raise DTypeError("result_type: expected at least one argument")
    found = promote(*scalars) if concrete is None else promote(concrete, *scalars)
    if found is dtypes.weakint:
        return dtypes.default_int()
    return dtypes.default_float() if found is dtypes.weakfloat else found


def can_cast(from_: DType | Tensor, to: DType, /) -> bool:
    """Return whether promotion leads from one data type to the other.

    Args:
        from_: a data type, or an array that has it.
        to: the data type wanted.
    """
    source = from_ if isinstance(from_, DType) else array_of(from_, "can_cast").dtype
    return kind_of(source) == kind_of(to) and promote(source, to) is to


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> bool:
    """Return whether a data type is of a kind.

    Args:
        dtype: the data type.
        kind: a data type, one of `bool`, `signed integer`, `unsigned integer`, `integral`,
            `real floating`, `complex floating` and `numeric`, or a tuple of such.

    Raises:
        DTypeError: the kind is unknown.
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return any(_is_of(dtype, entry) for entry in kinds)


def _is_of(dtype: DType, kind: Any) -> bool:
    if isinstance(kind, DType):
        return dtype is kind
    if kind not in BY_KIND:
        known = ", ".join(BY_KIND)
        raise DTypeError(f"isdtype: unknown kind {kind!r}, expected a dtype or one of {known}")
    if dtype in BY_KIND[kind]:
        return True
    # float16, bfloat16 and the 8-bit floats are ours, beside the standard
    return kind in ("real floating", "numeric") and dtypes.is_float(dtype)


def astype(x: Tensor, dtype: DType, /, *, copy: bool = True, device: str | None = None) -> Tensor:
    """Return the values in another data type; floats truncate toward zero to integers.

    Args:
        x: the array.
        dtype: the data type wanted.
        copy: give the result memory of its own even if the data type is the same.
        device: where the result is, where `x` is unless given.
    """
    value = array_of(x, "astype")
    if device is not None:
        value = value.to(device)
    if value.dtype is dtype:
        return fresh(value, value) if copy else value
    return value.cast(dtype)
