"""Tensors on devices: files, exhaustion, memory that comes back, unknown targets."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tg_core import Context, Device, GlobalCounters, Tensor
from tg_core.errors import DeviceError, DeviceMismatch, FileFormatError, OutOfMemory


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_file_is_read_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_bytes(np.arange(10, dtype=np.int32).tobytes())
    tensor = Tensor(path, dtype="int32", device=f"DISK:{path}")
    assert tensor.device == f"DISK:{path}"
    assert tensor[3:6].to("PYTHON").tolist() == [3, 4, 5]
    assert (tensor.to(Device.DEFAULT) + 1).tolist() == list(range(1, 11))


def test_a_tensor_is_written_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    Tensor([1, 2, 3], dtype="int32").to(f"DISK:{path}").realize()
    assert np.fromfile(path, np.int32).tolist() == [1, 2, 3]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="cannot read the file: No such file"):
        Tensor.empty(4, dtype="uint8", device=f"DISK:{tmp_path}/gone").tolist()


def test_a_file_that_ends_early(tmp_path: Path) -> None:
    path = tmp_path / "short"
    path.write_bytes(b"abc")
    with pytest.raises(FileFormatError, match="ends at offset 3"):
        Tensor.empty(4, dtype="uint8", device=f"DISK:{path}").tolist()


@pytest.mark.parametrize("device", ["PYTHON", Device.DEFAULT])
def test_exhaustion_is_an_error_and_the_device_goes_on(device: str) -> None:
    gc.collect()  # what earlier tests left in cycles
    before = GlobalCounters.mem_used
    with pytest.raises(OutOfMemory, match=f"{device}: out of memory: .* wanted"):
        Tensor.ones(1 << 46, device=device).contiguous().realize()
    gc.collect()
    assert GlobalCounters.mem_used == before
    assert (Tensor([1, 2, 3], device=device) + 1).tolist() == [2, 3, 4]


def test_memory_comes_back_with_the_collector_off() -> None:
    def step() -> None:
        (Tensor.ones(64, 64).contiguous() + 1).sum().item()

    # the second run makes what later ones reuse
    step()
    step()
    gc.collect()
    before = GlobalCounters.mem_used
    gc.disable()
    try:
        for _ in range(10):
            step()
        assert GlobalCounters.mem_used == before
    finally:
        gc.enable()


def test_two_devices_of_a_type() -> None:
    first, second = "PYTHON:1", "PYTHON:2"
    a = Tensor([1, 2, 3], device=first)
    b = Tensor([10, 20, 30], device=second)
    assert (a.to(second) + b).tolist() == [11, 22, 33]
    with pytest.raises(DeviceMismatch, match=r"PYTHON:1.*PYTHON:2"):
        _ = a + b


def test_default_device_follows_the_context() -> None:
    with Context(DEV="PYTHON"):
        assert Tensor([1, 2]).device == "PYTHON"


@pytest.mark.parametrize(
    ("dev", "message"),
    [
        ("GPU", "no device type GPU; installed: "),
        ("AMD", "to add it: pip install tg-amd"),
        ("USB+PYTHON", "no interface USB of PYTHON; interfaces of PYTHON: none"),
        ("PYTHON:PTX", "no renderer PTX of PYTHON; renderers of PYTHON: PYTHON"),
        ("a;;b", "expected [interface[:indices]+]TYPE[:renderer[:arch]]"),
    ],
)
def test_unknown_targets(dev: str, message: str) -> None:
    done = run("from tg_core import Tensor; print((Tensor([1.0]) + 1).tolist())", DEV=dev)
    assert done.returncode == 1
    assert "DeviceNotFound" in done.stderr
    assert message in done.stderr


def test_without_any_backend_the_interpreter_is_used_with_a_warning() -> None:
    code = "from tg_core import Tensor; print((Tensor([1, 2]) + 1).tolist())"
    done = run(code, TG_BLOCK_PLUGINS="cpu", DEV="")
    assert done.stdout == "[2, 3]\n"
    assert "running on the interpreter PYTHON, which is slow (pip install tg-cpu)" in done.stderr


@pytest.mark.parametrize("device", ["PYTHON", Device.DEFAULT])
def test_memory_of_the_caller(device: str) -> None:
    memory = np.arange(4, dtype=np.float32)
    tensor = Tensor.from_blob(memory.ctypes.data, (4,), dtype="float32", device=device)
    assert tensor.tolist() == [0, 1, 2, 3]
    memory[0] = 9
    assert (tensor + 1).tolist() == [10, 2, 3, 4]
