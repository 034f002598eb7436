"""The plugin is found like any other."""

from __future__ import annotations

import subprocess
import sys

from tg_core.backend import Capability, Device
from tg_cpu.device import CPUDevice
from tg_cpu.plugin import TG_HOOK_VERSION, tg_report_header


def test_the_device_is_discovered() -> None:
    device = Device["CPU"]
    assert isinstance(device, CPUDevice)
    assert "CPU" in Device.get_available_devices()
    assert Capability.PROGRAMS in device.capabilities
    assert Capability.HOST_CALL in device.capabilities
    assert TG_HOOK_VERSION == (1, 0)


def test_report_names_compiler_and_threads() -> None:
    lines = tg_report_header()
    assert lines is not None
    assert any("llvm-" in line for line in lines)
    assert any("threads" in line for line in lines)


def test_opening_imports_no_compiler() -> None:
    code = "import sys; from tg_core.backend import Device; Device['CPU'].allocator;"
    code += "print('llvmlite' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "False"
