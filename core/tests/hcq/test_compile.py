from __future__ import annotations

import pytest

from tg_core.config import Context
from tg_core.errors import DeviceError, DeviceNotFound
from tg_core.hcq.compile import compile_host_program, runtime_device
from tg_core.hcq.encode import host_program


def test_there_is_one_host_program_for_all_batches() -> None:
    assert compile_host_program(host_program()) is compile_host_program(host_program())


def test_checked_accesses_do_not_concern_tables() -> None:
    with Context(CHECK_OOB=1):
        compile_host_program(host_program())


def test_the_runtime_device_runs_native_functions() -> None:
    assert runtime_device() == "CPU"
    with Context(HCQ_RUNTIME_DEV="PYTHON"), pytest.raises(DeviceError, match="PYTHON cannot run"):
        runtime_device()
    with Context(HCQ_RUNTIME_DEV="NOWHERE"), pytest.raises(DeviceNotFound, match="NOWHERE"):
        runtime_device()
