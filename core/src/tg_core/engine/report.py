"""One line per launch on standard output, for `DEBUG=2` and above."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg_core.device import GlobalCounters

if TYPE_CHECKING:
    from tg_core.device import Buffer
    from tg_core.uop.ops import ProgramInfo


def _line(device: str, name: str, seconds: float, rates: str) -> None:
    memory = GlobalCounters.mem_used / 1e6
    print(f"*** {device:<8} {name:<36} {seconds * 1e6:10.1f} us {rates}  mem {memory:8.2f} MB")


def report_kernel(device: str, info: ProgramInfo, seconds: float) -> None:
    """Print a kernel's name, time, and the rates that its estimates give."""
    seconds = max(seconds, 1e-9)
    flops = info.estimates.flops / seconds / 1e9
    rate = info.estimates.bytes / seconds / 1e9
    _line(device, info.name, seconds, f"{flops:8.2f} GFLOP/s {rate:8.2f} GB/s")


def kernel_rates(device: str, info: ProgramInfo, seconds: float) -> dict[str, Any]:
    """Return what a time line shows of a launch."""
    seconds = max(seconds, 1e-9)
    return {
        "device": device,
        "gflops": info.estimates.flops / seconds / 1e9,
        "gbytes_per_second": info.estimates.bytes / seconds / 1e9,
        "global_size": [s if isinstance(s, int) else "symbolic" for s in info.global_size],
    }


def report_copy(destination: Buffer, source: Buffer, seconds: float) -> None:
    """Print a copy's ends, size and time."""
    rate = destination.nbytes / max(seconds, 1e-9) / 1e9
    _line(destination.device, f"copy from {source.device}", seconds, f"{'':16} {rate:8.2f} GB/s")
