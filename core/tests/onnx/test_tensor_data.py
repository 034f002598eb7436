from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="ONNX is not installed: pip install ./core[onnx]")

import onnx
from onnx import TensorProto, helper, numpy_helper

from tg_core.dtype import dtypes
from tg_core.errors import FileFormatError, UnsupportedModel
from tg_core.onnx.element_types import CODES, element_of_array, element_of_dtype
from tg_core.onnx.tensor_data import read_tensor

PLAIN = [e for e in CODES.values() if not e.array_name]
EXTENDED = [e for e in CODES.values() if e.array_name]


def named(element: Any) -> str:
    return str(element.name)


@pytest.mark.parametrize("element", CODES.values(), ids=named)
def test_codes_are_those_of_the_format(element: Any) -> None:
    assert TensorProto.DataType.Name(element.code).lower() == element.name
    array = helper.tensor_dtype_to_np_dtype(element.code)
    assert element_of_array(np.dtype(array)) is element
    if not element.is_narrow:
        assert element_of_dtype(element.dtype) is element


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("element", PLAIN, ids=named)
def test_plain_types_are_read(element: Any, raw: bool) -> None:
    kind = helper.tensor_dtype_to_np_dtype(element.code)
    values = np.array(
        [[0, 1, 1], [1, 0, 1]] if element.name == "bool" else [[0, 1, 2], [3, 100, 5]]
    )
    values = values.astype(kind)
    data = values.tobytes() if raw else values.reshape(-1)
    proto = helper.make_tensor("t", element.code, (2, 3), data, raw=raw)
    found = read_tensor(proto, None)
    assert found.element is element
    assert (found.array() == values).all()
    assert (found.tensor.numpy() == values).all()
    assert found.tensor.dtype is element.dtype


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("element", EXTENDED, ids=named)
def test_extended_types_are_read(element: Any, raw: bool) -> None:
    kind = helper.tensor_dtype_to_np_dtype(element.code)
    low, high = element.limits or (1, 4)
    values = np.array([low, 1, high, 0 if element.name != "float8e8m0" else 2, 1])
    packed = numpy_helper.from_array(values.astype(np.float32).astype(kind), "t")
    if not raw:
        stored = list(packed.raw_data)
        if element.dtype is dtypes.bfloat16:
            stored = list(np.frombuffer(packed.raw_data, np.uint16))
        packed.ClearField("raw_data")
        packed.int32_data.extend(int(entry) for entry in stored)
        assert (numpy_helper.to_array(packed).astype(np.float32) == values).all()
    found = read_tensor(packed, None)
    assert found.element is element
    assert found.shape == (5,)
    assert found.tensor.dtype is element.dtype
    assert (found.tensor.float().numpy() == values).all()


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (TensorProto.STRING, "string: tensors hold numbers"),
        (TensorProto.COMPLEX64, "complex64: no dtype"),
        (99, "unknown element type 99"),
    ],
)
def test_other_types_are_named(kind: int, why: str) -> None:
    with pytest.raises(UnsupportedModel, match=rf"tensor 't': {why}"):
        read_tensor(onnx.TensorProto(name="t", data_type=kind), None)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dims": [3], "float_data": [1.0]}, "3 elements of float take 3 entries of float_data, found 1"),
        ({"dims": [1 << 62], "raw_data": b"1234"}, "takes 18446744073709551616 bytes, found 4"),
        ({"dims": [1 << 62, 1 << 62], "int32_data": [1]}, "entries of float_data, found 0"),
        ({"dims": [-1], "raw_data": b""}, "must not be negative"),
        ({"dims": [0, 1 << 62, 1 << 62], "raw_data": b""}, "shape"),
    ],
)  # fmt: skip
def test_sizes_are_checked_before_anything_is_reserved(fields: Any, message: str) -> None:
    proto = onnx.TensorProto(name="t", data_type=TensorProto.FLOAT, **fields)
    with pytest.raises(FileFormatError, match=message):
        read_tensor(proto, None)


def test_segments_are_refused() -> None:
    proto = onnx.TensorProto(name="t", data_type=TensorProto.FLOAT, dims=[1], raw_data=b"1234")
    proto.segment.begin = 0
    with pytest.raises(UnsupportedModel, match="segments"):
        read_tensor(proto, None)
