"""Trying a device in a process of its own, so that no driver can take `tg` down or hold it up.

    python -m tg_core.cli.probe TYPE

prints one line of JSON. The check is the one a user would make: bytes go to the device and come
back, and where it runs programs, a small sum is computed and compared.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from typing import Any

__all__ = ["probe", "probe_here", "result_of", "start_probe"]

TIME_LIMIT = 60.0
"""How long a device may take to open and compute, in seconds."""


def start_probe(device_type: str) -> subprocess.Popen[str]:
    """Start trying a device type in a new process."""
    return subprocess.Popen(
        [sys.executable, "-m", "tg_core.cli.probe", device_type],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"DEBUG": "0"},
    )


def result_of(process: subprocess.Popen[str], time_limit: float = TIME_LIMIT) -> dict[str, Any]:
    """Wait for a probe, and describe how it ended.

    Returns:
        `ok`; `reason` where it is not; `interface`, `arch` and `check` where the device opened.
    """
    try:
        output, errors = process.communicate(timeout=time_limit)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return {"ok": False, "reason": f"no answer in {time_limit:.0f} s: the device hangs"}
    if process.returncode < 0:
        name = signal.Signals(-process.returncode).name
        return {"ok": False, "reason": f"the process that opened it died of {name}"}
    lines = output.strip().splitlines()
    try:
        found: dict[str, Any] = json.loads(lines[-1]) if lines else {}
    except json.JSONDecodeError:
        found = {}
    if "ok" not in found:
        last = errors.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
        return {"ok": False, "reason": last[0]}
    return found


def probe(device_type: str) -> dict[str, Any]:
    """Try a device type in a new process and wait for the answer."""
    return result_of(start_probe(device_type))


def probe_here(device_type: str) -> dict[str, Any]:
    """Try a device type in this process.

    Returns:
        As `result_of`.
    """
    from tg_core.device import Device
    from tg_core.plugins import Capability

    found: dict[str, Any] = {"ok": False}
    try:
        device = Device[device_type]
        found["interface"] = device.interface_name
        _check_memory(device_type)
        found["check"] = "memory"
        if Capability.PROGRAMS in device.capabilities:
            target = getattr(device.renderer, "target", None)
            found["arch"] = getattr(target, "arch", "")
            if Capability.DRY not in device.capabilities:
                _check_program(device_type)
                found["check"] = "memory, program"
        found["ok"] = True
    # The answer of a probe is the failure, whatever it is.
    except Exception as error:
        found["reason"] = str(error) or type(error).__name__
    return found


def _check_memory(device_type: str) -> None:
    from tg_core.device import Buffer
    from tg_core.dtype import dtypes
    from tg_core.errors import DeviceError
    from tg_core.plugins import Capability

    buffer = Buffer(device_type, 256, dtypes.uint8)
    sent = bytes(range(256))
    received = bytes(buffer.copyin(sent).copyout(bytearray(256)))
    if received != sent and Capability.DRY not in buffer.compiled.capabilities:
        raise DeviceError(f"{device_type}: bytes written to its memory read back different")


def _check_program(device_type: str) -> None:
    from tg_core.errors import DeviceError
    from tg_core.tensor import Tensor

    result = (Tensor([1, 2, 3], device=device_type) + 1).tolist()
    if result != [2, 3, 4]:
        raise DeviceError(f"{device_type}: [1, 2, 3] + 1 gave {result}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(probe_here(sys.argv[1])))
