from __future__ import annotations

import pytest

from tg_core.config import Context
from tg_core.errors import DeviceError, DeviceNotFound
from tg_core.hcq.compile import (
    compiled_host_program,
    load_host_program,
    provide_host_program,
    runtime_device,
    written_host_program,
)
from tg_core.hcq.encode import host_program
from tg_core.uop.ops import KernelInfo, Ops, UOp


def test_there_is_one_host_program_for_all_batches() -> None:
    assert load_host_program(host_program()) is load_host_program(host_program())


def test_checked_accesses_do_not_concern_tables() -> None:
    with Context(CHECK_OOB=1):
        load_host_program(UOp.sink(*host_program().src, arg=KernelInfo("checked", ())))


def test_a_provided_program_takes_the_place_of_compiling() -> None:
    written = written_host_program(host_program())
    other = UOp.sink(*host_program().src, arg=KernelInfo("provided", ()))
    provide_host_program(written._replace(key=other.key))
    program = compiled_host_program(other)
    assert program.src[2:] == compiled_host_program(host_program()).src[2:]
    assert program.src[1].op is Ops.NOOP
    assert load_host_program(other) is not load_host_program(host_program())


def test_a_program_for_another_target_is_never_taken() -> None:
    written = written_host_program(host_program())
    other = UOp.sink(*host_program().src, arg=KernelInfo("elsewhere", ()))
    provide_host_program(written._replace(key=other.key, target="another machine"))
    assert compiled_host_program(other).src[1].op is Ops.LINEAR


def test_the_runtime_device_runs_native_functions() -> None:
    assert runtime_device() == "CPU"
    with Context(HCQ_RUNTIME_DEV="PYTHON"), pytest.raises(DeviceError, match="PYTHON cannot run"):
        runtime_device()
    with Context(HCQ_RUNTIME_DEV="NOWHERE"), pytest.raises(DeviceNotFound, match="NOWHERE"):
        runtime_device()
