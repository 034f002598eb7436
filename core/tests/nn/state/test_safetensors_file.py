"""Safetensors files: written by us and read by the reference package, and the reverse."""

from __future__ import annotations

import builtins
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tg_core.dtype import dtypes, to_dtype
from tg_core.errors import DTypeError, FileFormatError, MissingExtra
from tg_core.nn.state import safe_load, safe_load_metadata, safe_save
from tg_core.tensor import Tensor

safetensors = pytest.importorskip("safetensors", reason="the io extra is not installed")


def write_file(
    path: Path, entries: dict[str, tuple[str, list[int], bytes]], start: int = 0
) -> None:
    """Write a file whose data starts at an offset that is `start` modulo 8."""
    fields: dict[str, Any] = {}
    body = b""
    for name, (dtype, shape, raw) in entries.items():
        span = [len(body), len(body) + len(raw)]
        fields[name] = {"dtype": dtype, "shape": shape, "data_offsets": span}
        body += raw
    text = json.dumps(fields).encode()
    text += b" " * ((start - len(text)) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def test_zero_size_scalar_unaligned_and_bfloat16_entries(tmp_path: Path) -> None:
    path = tmp_path / "s.safetensors"
    write_file(
        path,
        {
            "none": ("F32", [0, 4], b""),
            "one": ("F32", [], struct.pack("<f", 2.5)),
            "b": ("BF16", [2], struct.pack("<HH", 0x3FC0, 0xC000)),
            "wide": ("I64", [2], struct.pack("<qq", -(2**62), 7)),
        },
        start=1,
    )
    loaded = safe_load(path)
    assert list(loaded) == ["none", "one", "b", "wide"]
    assert loaded["none"].numpy().shape == (0, 4)
    assert loaded["one"].shape == ()
    assert loaded["one"].item() == 2.5
    assert loaded["b"].dtype is dtypes.bfloat16
    assert loaded["b"].float().tolist() == [1.5, -2.0]
    assert loaded["wide"].tolist() == [-(2**62), 7]


@pytest.mark.parametrize(
    "name", ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
)
def test_integers_go_round(tmp_path: Path, name: str) -> None:
    values = [[0, 1, 1], [1, 0, 1]]
    safe_save({"x": Tensor(values, dtype=name)}, tmp_path / "x.safetensors")
    loaded = safe_load(tmp_path / "x.safetensors")["x"]
    assert loaded.dtype is to_dtype(name)
    assert loaded.numpy().astype(int).tolist() == values


@pytest.mark.parametrize(
    "name", ["float16", "bfloat16", "float32", "float64", "fp8e4m3", "fp8e5m2", "fp8e4m3fnuz"]
)
def test_floats_go_round(tmp_path: Path, name: str) -> None:
    values = [0.0, 1.5, -2.0, 0.25]
    safe_save({"x": Tensor(values, dtype=name)}, tmp_path / "x.safetensors")
    loaded = safe_load(tmp_path / "x.safetensors")["x"]
    assert loaded.dtype is to_dtype(name)
    assert loaded.float().tolist() == values


def test_views_are_saved_in_their_own_order(tmp_path: Path) -> None:
    tensor = Tensor([[1.0, 2.0], [3.0, 4.0]]).realize().permute(1, 0)
    safe_save({"x": tensor, "row": tensor[1]}, tmp_path / "r.safetensors")
    loaded = safe_load(tmp_path / "r.safetensors")
    assert loaded["x"].tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert loaded["row"].tolist() == [2.0, 4.0]


def test_the_reference_package_reads_what_we_write(tmp_path: Path) -> None:
    path = tmp_path / "ours.safetensors"
    tensors = {"a": Tensor([[1, 2, 3]], dtype="int16"), "scalar": Tensor(3.5, dtype="float32")}
    safe_save(tensors, path, metadata={"note": "x"})
    with safetensors.safe_open(str(path), framework="numpy") as file:
        assert file.metadata() == {"note": "x"}
        np.testing.assert_array_equal(file.get_tensor("a"), np.array([[1, 2, 3]], np.int16))
        assert file.get_tensor("scalar").shape == ()
    assert safe_load_metadata(path) == {"note": "x"}


def test_we_read_what_the_reference_package_writes(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    save_file({"x": values, "flag": np.array([True, False])}, str(tmp_path / "theirs.safetensors"))
    loaded = safe_load(tmp_path / "theirs.safetensors")
    np.testing.assert_array_equal(loaded["x"].numpy(), values)
    assert loaded["flag"].tolist() == [True, False]


def test_a_loaded_tensor_outlives_its_file(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    safe_save({"x": Tensor([1.0, 2.0])}, path)
    loaded = safe_load(path)["x"]
    path.write_bytes(b"gone")
    assert loaded.tolist() == [1.0, 2.0]


def test_saving_replaces_a_file_whole_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(b"old")
    safe_save({"x": Tensor([1.0])}, path)
    assert safe_load(path)["x"].tolist() == [1.0]
    assert [p.name for p in tmp_path.iterdir()] == ["x.safetensors"]


@pytest.mark.parametrize("length", [0, 3, 8, 30, -1])
def test_truncated_files_are_errors_invalid(tmp_path: Path, length: int) -> None:
    path = tmp_path / "cut.safetensors"
    safe_save({"x": Tensor([1.0, 2.0, 3.0])}, path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(FileFormatError, match=r"cut\.safetensors: offset \d+: "):
        safe_load(path)


def test_hostile_sizes_are_refused_before_allocation_invalid(tmp_path: Path) -> None:
    path = tmp_path / "bomb.safetensors"
    span = [0, 2**60]
    text = json.dumps({"x": {"dtype": "U8", "shape": [2**60], "data_offsets": span}}).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text)
    with pytest.raises(FileFormatError, match=r"bomb\.safetensors: offset \d+: tensor 'x'"):
        safe_load(path)


def test_unreadable_files_are_errors_invalid(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"missing\.safetensors: cannot be read"):
        safe_load(tmp_path / "missing.safetensors")
    with pytest.raises(FileFormatError, match="cannot be read"):
        safe_load(tmp_path)


def test_a_dtype_without_name_is_an_error_invalid(tmp_path: Path) -> None:
    with pytest.raises(DTypeError, match="tensor 'x' is weak"):
        safe_save({"x": Tensor.const(1)}, tmp_path / "x.safetensors")


def test_without_the_package_the_error_names_the_extra_invalid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_import = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "safetensors":
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtra, match=r"pip install 'tg-core\[io\]'"):
        safe_load(tmp_path / "x.safetensors")
