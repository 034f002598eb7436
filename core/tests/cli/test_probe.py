"""Trying devices in processes of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sample_plugins import HOST, OPENER, installed, plugin

from tg_core.cli.probe import probe, probe_here, result_of
from tg_core.device.host import HostAllocator
from tg_core.plugins import Capability, Registry


def process(code: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_device_that_holds_data() -> None:
    found = probe("NPY")
    assert found == {"ok": True, "interface": None, "check": "memory"}


def test_a_device_that_does_not_exist() -> None:
    found = probe("NOPE")
    assert not found["ok"]
    assert "no device type NOPE" in found["reason"]


def test_a_driver_that_takes_the_process_down() -> None:
    found = result_of(process("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"))
    assert found == {"ok": False, "reason": "the process that opened it died of SIGSEGV"}


def test_a_driver_that_hangs() -> None:
    found = result_of(process("import time; time.sleep(100)"), time_limit=0.2)
    assert found == {"ok": False, "reason": "no answer in 0 s: the device hangs"}


def test_a_driver_that_exits_or_talks() -> None:
    assert result_of(process("raise SystemExit('bye')"))["reason"] == "bye"
    assert result_of(process("print('chatter')"))["reason"] == "exit code 0"
    assert result_of(process("print('chatter'); print('{\"ok\": true}')")) == {"ok": True}


class ForgetfulAllocator(HostAllocator):
    """Memory that does not keep what is written."""

    def copyin(self, opaque: object, data: memoryview) -> None:
        pass


@pytest.mark.parametrize("dry", [False, True])
def test_memory_that_reads_back_different(dry: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "probe_objects", sys.modules[__name__])

    def register(registry: Registry) -> None:
        registry.device_type("BAD", OPENER)
        registry.allocator("BAD", "probe_objects:ForgetfulAllocator")
        if dry:
            registry.capability("BAD", Capability.DRY)

    with installed(plugin("bad", register)):
        found = probe_here("BAD")
    assert found["ok"] is dry
    if not dry:
        assert found["reason"] == "BAD: bytes written to its memory read back different"


def test_the_reason_is_what_the_device_said() -> None:
    def register(registry: Registry) -> None:
        registry.device_type("BAD", "no_such_module_:Device")
        registry.allocator("BAD", HOST)

    with installed(plugin("bad", register)):
        assert "No module named 'no_such_module_'" in probe_here("BAD")["reason"]
