"""DLPack: memory lent to other libraries through a capsule.

Source:
    DLPack 1.0, `dlpack.h`; Python specification for DLPack
    (https://dmlc.github.io/dlpack/latest/python_spec.html).
"""

from __future__ import annotations

import ctypes
from typing import Any

from tg_core.dtype import DType, dtypes

__all__ = ["CPU", "VERSION", "capsule_of"]

CPU = 1
"""`kDLCPU`: memory that the host addresses."""
VERSION = (1, 0)
"""The version of the structures."""

_CODES = {"int": 0, "uint": 1, "float": 2, "bool": 6}
_BFLOAT_CODE = 4
_FLAG_IS_COPIED = 2


class _Device(ctypes.Structure):
    _fields_ = (("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Array(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (("array", _Array), ("context", ctypes.c_void_p), ("deleter", _Deleter))


class _ManagedVersioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("array", _Array),
    )


_lent: dict[int, tuple[Any, ...]] = {}
"""What each structure that was handed out needs, by its address, until its deleter is called."""


def _give_back(address: int) -> None:
    _lent.pop(address, None)


_deleter = _Deleter(_give_back)
_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _Destructor)(
    ("PyCapsule_New", ctypes.pythonapi)
)
# By address rather than as an object: in its destructor a capsule has no references to count.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_NAME = b"dltensor"
_VERSIONED_NAME = b"dltensor_versioned"


def _destroy(capsule: int) -> None:
    """Give back what a capsule holds that nobody took over; takers rename it."""
    for name in (_NAME, _VERSIONED_NAME):
        if _is_valid(capsule, name):
            _give_back(_pointer(capsule, name))


_destructor = _Destructor(_destroy)


def _data_type(dtype: DType) -> _DataType:
    code = _BFLOAT_CODE if dtype is dtypes.bfloat16 else _CODES[dtype.kind]
    return _DataType(code, dtype.itemsize * 8, 1)


def capsule_of(
    address: int,
    shape: tuple[int, ...],
    dtype: DType,
    owner: Any,
    versioned: bool,
    is_copied: bool,
) -> Any:
    """Return a capsule over contiguous host memory.

    Args:
        address: where the memory is.
        shape: its shape, in elements.
        dtype: the dtype of the elements.
        owner: kept alive until the taker calls the deleter, or the capsule is dropped.
        versioned: use the structure of DLPack 1.0, else that before it.
        is_copied: tell the taker that nobody else sees the memory.
    """
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    vector = ctypes.c_int64 * max(len(shape), 1)
    sizes, steps = vector(*shape), vector(*strides)
    pointer = ctypes.POINTER(ctypes.c_int64)
    array = _Array(
        address,
        _Device(CPU, 0),
        len(shape),
        _data_type(dtype),
        ctypes.cast(sizes, pointer),
        ctypes.cast(steps, pointer),
        0,
    )
    managed: _Managed | _ManagedVersioned
    if versioned:
        flags = _FLAG_IS_COPIED if is_copied else 0
        managed = _ManagedVersioned(*VERSION, None, _deleter, flags, array)
    else:
        managed = _Managed(array, None, _deleter)
    place = ctypes.addressof(managed)
    _lent[place] = (managed, sizes, steps, owner)
    return _new_capsule(place, _VERSIONED_NAME if versioned else _NAME, _destructor)
