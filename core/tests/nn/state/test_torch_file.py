"""Torch files, written with the standard library alone: values, sharing, and what is refused."""

from __future__ import annotations

import io
import pickle
import struct
import sys
import types
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tg_core.dtype import dtypes
from tg_core.errors import FileFormatError
from tg_core.nn.state import load_state_dict, torch_load
from tg_core.tensor import Tensor

Layout = tuple[str, int, tuple[int, ...], tuple[int, ...]]
"""Storage key, offset, shape, strides."""
MAGIC = 0x1950A86A20F9469CFC6C
FLOATS = {"0": np.arange(24, dtype=np.float32)}


class Reference:
    """Stands for a storage while pickling."""

    def __init__(self, key: str) -> None:
        self.key = key


class Row:
    """Pickles as a call of one of torch's rebuild functions."""

    def __init__(self, function: Callable[..., Any], layout: Layout, *more: Any) -> None:
        self.function = function
        key, offset, shape, strides = layout
        self.arguments = (Reference(key), offset, shape, strides, False, OrderedDict(), *more)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.function, self.arguments


@contextmanager
def fake_torch() -> Iterator[tuple[types.ModuleType, types.ModuleType]]:
    """Modules with the names that torch pickles by reference."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    for name in ("_rebuild_tensor_v2", "_rebuild_tensor_v3"):
        function = types.FunctionType((lambda: None).__code__, {}, name)
        function.__module__, function.__qualname__ = "torch._utils", name
        setattr(utils, name, function)
    for name in ("FloatStorage", "HalfStorage", "BFloat16Storage", "LongStorage", "BoolStorage"):
        setattr(torch, name, type(name, (), {"__module__": "torch", "__qualname__": name}))
    torch._utils = utils  # type: ignore[attr-defined]
    saved = {name: sys.modules.get(name) for name in ("torch", "torch._utils")}
    sys.modules.update({"torch": torch, "torch._utils": utils})
    try:
        yield torch, utils
    finally:
        for name, module in saved.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def dump(
    layouts: dict[str, Layout], storages: dict[str, np.ndarray], kind: str, legacy: bool
) -> bytes:
    """Pickle tensors as `torch.save` does; their storages are of one class."""
    stream = io.BytesIO()
    with fake_torch() as (torch, utils):

        class Pickler(pickle.Pickler):
            def persistent_id(self, value: Any) -> Any:
                if not isinstance(value, Reference):
                    return None
                count = len(storages[value.key])
                base = ("storage", getattr(torch, kind), value.key, "cpu", count)
                return (*base, None) if legacy else base

        rows = OrderedDict(
            (name, Row(utils._rebuild_tensor_v2, layout)) for name, layout in layouts.items()
        )
        # A state dict keeps its version as an attribute.
        rows._metadata = {"version": 1}  # type: ignore[attr-defined]
        Pickler(stream, protocol=2).dump(rows)
    return stream.getvalue()


def write_zip(path: Path, pickled: bytes, storages: dict[str, np.ndarray]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/byteorder", "little")
        for key, values in storages.items():
            archive.writestr(f"archive/data/{key}", values.tobytes())
        archive.writestr("archive/version", "3\n")
    return path


def write_legacy(path: Path, pickled: bytes, storages: dict[str, np.ndarray]) -> Path:
    system = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"int": 4}}
    head = b"".join(pickle.dumps(value, protocol=2) for value in (MAGIC, 1001, system))
    keys = pickle.dumps(sorted(storages), protocol=2)
    data = b"".join(
        struct.pack("<q", len(storages[key])) + storages[key].tobytes() for key in sorted(storages)
    )
    path.write_bytes(head + pickled + keys + data)
    return path


def save(
    path: Path,
    layouts: dict[str, Layout],
    storages: dict[str, np.ndarray],
    legacy: bool = False,
    kind: str = "FloatStorage",
) -> Path:
    write = write_legacy if legacy else write_zip
    return write(path, dump(layouts, storages, kind, legacy), storages)


LAYOUTS: dict[str, Layout] = {
    "whole": ("0", 0, (24,), (1,)),
    "matrix": ("0", 0, (4, 6), (6, 1)),
    "part": ("0", 10, (2, 3), (3, 1)),
    "transposed": ("0", 0, (6, 4), (1, 6)),
    "gaps": ("0", 1, (3, 2), (8, 3)),
    "permuted": ("0", 0, (3, 2, 4), (1, 12, 3)),
    "last_row_is_short": ("0", 19, (2, 2), (3, 1)),
    "expanded": ("0", 5, (3, 2), (0, 1)),
    "repeated": ("0", 7, (2, 2), (0, 0)),
    "ones": ("0", 2, (1, 3, 1), (99, 1, 7)),
    "scalar": ("0", 23, (), ()),
    "empty": ("0", 0, (0, 4), (4, 1)),
}


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])
def test_views_of_a_shared_storage(tmp_path: Path, legacy: bool) -> None:
    loaded = torch_load(save(tmp_path / "s.pt", LAYOUTS, FLOATS, legacy))
    assert type(loaded) is OrderedDict
    assert list(loaded) == list(LAYOUTS)
    for name, (key, offset, shape, strides) in LAYOUTS.items():
        steps = tuple(4 * stride for stride in strides)
        expected = np.lib.stride_tricks.as_strided(FLOATS[key][offset:], shape, steps)
        np.testing.assert_array_equal(loaded[name].numpy(), expected, err_msg=name)
        assert loaded[name].shape == shape


def test_tied_weights_share_one_buffer(tmp_path: Path) -> None:
    layouts: dict[str, Layout] = {"a": ("0", 0, (24,), (1,)), "b": ("0", 0, (24,), (1,))}
    loaded = torch_load(save(tmp_path / "t.pt", layouts, FLOATS))
    assert loaded["a"].uop is loaded["b"].uop


def test_several_storages_go_into_a_model(tmp_path: Path) -> None:
    storages = {"0": np.array([1.0, 2.0], np.float32), "1": np.array([3.0], np.float32)}
    layouts: dict[str, Layout] = {"w": ("0", 0, (2,), (1,)), "b": ("1", 0, (1,), (1,))}
    model = {"w": Tensor.zeros(2).contiguous(), "b": Tensor.zeros(1).contiguous()}
    load_state_dict(model, torch_load(save(tmp_path / "m.pt", layouts, storages)))
    assert [model["w"].tolist(), model["b"].tolist()] == [[1.0, 2.0], [3.0]]


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])
@pytest.mark.parametrize(
    ("kind", "values", "name", "expected"),
    [
        ("HalfStorage", np.array([1.5, -2], np.float16), "float16", [1.5, -2.0]),
        ("BFloat16Storage", np.array([0x3FC0, 0xC000], np.uint16), "bfloat16", [1.5, -2.0]),
        ("LongStorage", np.array([-(2**62), 7]), "int64", [-(2**62), 7]),
        ("BoolStorage", np.array([True, False]), "bool", [True, False]),
    ],
)
def test_dtypes(
    tmp_path: Path, kind: str, values: np.ndarray, name: str, expected: list[Any], legacy: bool
) -> None:
    path = save(tmp_path / "d.pt", {"x": ("0", 0, (2,), (1,))}, {"0": values}, legacy, kind)
    found = torch_load(path)["x"]
    assert found.dtype is getattr(dtypes, name)
    assert found.tolist() == expected


def test_tensors_with_a_dtype_of_their_own_lie_in_bytes(tmp_path: Path) -> None:
    values = np.array([1, 65535, 7, 9], np.uint16)
    # GLOBAL, MARK, the storage's tuple, BINPERSID, offset, shape, strides, flags, dtype, REDUCE.
    pickled = (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v3\n((X\x07\0\0\0storagectorch.storage\n"
        b"UntypedStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x08tQK\x01K\x03\x85K\x01\x85\x89N"
        b"ctorch\nuint16\ntR."
    )
    found = torch_load(write_zip(tmp_path / "u.pt", pickled, {"0": values}))
    assert found.dtype is dtypes.uint16
    assert found.tolist() == [65535, 7, 9]


def test_numbers_strings_and_containers_come_back(tmp_path: Path) -> None:
    value = {"step": 7, "lr": 0.5, "tags": {"a"}, "list": [1, (None, True), b"\xff"], "big": 2**80}
    for protocol in (2, 3, 4, 5):
        path = write_zip(tmp_path / f"{protocol}.pt", pickle.dumps(value, protocol), {})
        assert torch_load(path) == value
    path = write_zip(tmp_path / "0.pt", pickle.dumps({"a": [1, 2.5, "x"]}, 0), {})
    assert torch_load(path) == {"a": [1, 2.5, "x"]}


class Attack:
    """Would create a file when unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.target,)


class System:
    def __reduce__(self) -> tuple[Any, ...]:
        return eval, ("1 + 1",)


@pytest.mark.parametrize("write", [write_zip, write_legacy])
def test_nothing_of_the_file_is_executed_invalid(
    tmp_path: Path, write: Callable[..., Path]
) -> None:
    target = tmp_path / "created"
    for value in (Attack(target), System(), Reference("0"), OrderedDict.fromkeys):
        path = write(tmp_path / "a.pt", pickle.dumps(value, 2), {})
        with pytest.raises(FileFormatError, match=r"a\.pt: offset \d+: .* is not allowed"):
            torch_load(path)
    assert not target.exists()


def test_opcodes_that_make_objects_invalid(tmp_path: Path) -> None:
    cases = {
        b"\x80\x02c__builtin__\neval\n.": "__builtin__.eval is not allowed",
        b"\x80\x02ctorch\nSize\n)\x81.": "opcode NEWOBJ is not allowed",
        b"(S'os'\nios\nsystem\n.": "opcode INST is not allowed",
        b"\x80\x02}}b.": "opcode BUILD expects a OrderedDict",
        b"\x80\x02}()K\x01s.": "a tuple is not allowed as a key",
        b"\x80\x02}]K\x01s.": "a list is not allowed as a key",
        b"\x80\x02K\x01K\x02R.": "calls what is no function",
        b"\x80\x02h\x05.": "no value number 5",
        b"\x80\x02.": "ends without a value",
        b"\x80\x02a.": "opcode APPEND finds no value",
        b"\x80\x02K\x01": "does not end|not enough|exhausted",
        b"\x80\x02\x8a\xff\x00.": "malformed pickle",
        b"\x80\x02B\xff\xff\xff\x7f.": "malformed pickle",
        b"\x80\x02NQ.": "malformed storage reference",
    }
    for number, (pickled, message) in enumerate(cases.items()):
        path = write_zip(tmp_path / f"{number}.pt", pickled, {})
        with pytest.raises(FileFormatError, match=rf"\.pt: offset \d+: .*({message})"):
            torch_load(path)


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])
@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (("0", 0, (25,), (1,)), "reach element 24 of 24"),
        (("0", 24, (1,), (1,)), "reach element 24 of 24"),
        (("0", 0, (2**40, 2**40), (0, 0)), "too many elements"),
        (("0", 0, (20, 5), (1, 1)), "overlap"),
        (("0", -1, (2,), (1,)), "malformed shape"),
        (("0", 0, (2,), (1, 1)), "fit no view"),
        (("0", 0, (2.0,), (1,)), "malformed shape"),
    ],
)
def test_views_that_do_not_fit_invalid(
    tmp_path: Path, layout: Layout, message: str, legacy: bool
) -> None:
    path = save(tmp_path / "v.pt", {"x": layout}, FLOATS, legacy)
    with pytest.raises(FileFormatError, match=rf"offset \d+: storage 0: .*{message}"):
        torch_load(path)


def test_storages_that_contradict_the_file_invalid(tmp_path: Path) -> None:
    pickled = dump({"x": ("0", 0, (2,), (1,))}, FLOATS, "FloatStorage", False)
    with pytest.raises(FileFormatError, match="storage 0 is not in the file"):
        torch_load(write_zip(tmp_path / "a.pt", pickled, {}))
    with pytest.raises(FileFormatError, match=r"24 elements of float32 do not take the 8 bytes"):
        torch_load(write_zip(tmp_path / "b.pt", pickled, {"0": FLOATS["0"][:2]}))


def test_compressed_members_are_refused_invalid(tmp_path: Path) -> None:
    path = tmp_path / "c.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\0" * 100_000)
    with pytest.raises(FileFormatError, match=r"data\.pkl: it is compressed or encrypted"):
        torch_load(path)


def test_files_of_another_kind_invalid(tmp_path: Path) -> None:
    for number, raw in enumerate((b"", b"hello", b"\x80\x02K\x01.", b"PK\x03\x04" + b"\0" * 60)):
        path = tmp_path / f"{number}.pt"
        path.write_bytes(raw)
        with pytest.raises(FileFormatError, match=rf"{number}\.pt: offset \d+: "):
            torch_load(path)
    with pytest.raises(FileFormatError, match=r"none\.pt: cannot be read"):
        torch_load(tmp_path / "none.pt")


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])
def test_every_truncation_is_refused_with_its_offset(tmp_path: Path, legacy: bool) -> None:
    path = save(tmp_path / "t.pt", {"x": ("0", 0, (4, 6), (6, 1))}, FLOATS, legacy)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(FileFormatError, match=r"t\.pt: offset \d+: "):
            torch_load(path)


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])
def test_bit_flips_never_crash(tmp_path: Path, legacy: bool) -> None:
    path = save(tmp_path / "f.pt", {"x": ("0", 0, (4, 6), (1, 4))}, FLOATS, legacy)
    whole = path.read_bytes()
    refused = 0
    for position in range(len(whole)):
        flipped = bytearray(whole)
        flipped[position] ^= 1 << position % 8
        path.write_bytes(flipped)
        try:
            torch_load(path)
        except FileFormatError as error:
            assert f"{path}: offset " in str(error)  # noqa: PT017
            refused += 1
    # The zip format has a checksum of all data; the one before it has none.
    assert refused > len(whole) // 4
