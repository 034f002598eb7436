"""What tests of queues have in common: devices, calls, batches, and the order emulators go in."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from tg_core import Device, dtypes
from tg_core.codegen import compile_program
from tg_core.device import Buffer
from tg_core.device.queues import HCQCompiled
from tg_core.errors import DeviceError
from tg_core.hcq import batch, link_submits
from tg_core.support.emulation import Machine
from tg_core.uop.ops import AxisType, KernelInfo, Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.hcq import LinkedSubmits

__all__ = [
    "batch_of",
    "copy_call",
    "filled",
    "free_running",
    "has_copies",
    "link",
    "machine_of",
    "mix_call",
    "numbers",
    "opened",
    "peers",
    "reseed",
]


def opened(name: str) -> HCQCompiled:
    """Return a device with queues."""
    device = Device[name]
    assert isinstance(device, HCQCompiled), (
        f"{name}: declares QUEUES, but is a {type(device).__name__} and no HCQCompiled"
    )
    return device


def peers(name: str, most: int = 3) -> list[str]:
    """Return the device and others of its type, as far as they open."""
    found = [name]
    for index in range(1, most):
        try:
            found.append(Device[f"{Device[name].type}:{index}"].name)
        except DeviceError:
            break
    return found


def has_copies(name: str) -> bool:
    """Tell whether copies go through a queue."""
    declared = {capability.name for capability in Device[name].capabilities}
    return bool(declared & {"COPY_QUEUE", "COMPUTE_COPIES"})


def machine_of(name: str) -> Machine | None:
    """Return what emulated queues advance by; None for hardware.

    An emulated backend has its `Machine` as `machine` of the device, or of its interface.
    """
    device = Device[name]
    for owner in (device, device.interface):
        machine = getattr(owner, "machine", None)
        if isinstance(machine, Machine):
            return machine
    return None


def reseed(name: str, seed: int) -> None:
    """Let emulated queues advance in another order; hardware has an order of its own."""
    machine = machine_of(name)
    if machine is not None:
        machine.reseed(seed)


def free_running(name: str) -> AbstractContextManager[None]:
    """Let emulated queues run by themselves, each in a thread; hardware does so anyway."""
    machine = machine_of(name)
    return nullcontext() if machine is None else machine.free_running()


def mix_call(target: UOp, source: UOp, elements: int) -> UOp:
    """Return the call of a kernel `target[i] = target[i] + source[i] * 2` on int32, which wraps.

    Args:
        target: a PARAM, or a part of one.
        source: likewise, on the same device.
        elements: how many.
    """
    device = target.device
    assert isinstance(device, str)
    a, b = (UOp.param(slot, dtypes.int32, (elements,), device) for slot in (0, 1))
    axis = AxisType.GLOBAL if Device[device].renderer.has_global else AxisType.LOOP
    i = UOp.range(elements, 0, axis)
    value = a.index(i).load() + b.index(i).load() * UOp.const(2, dtypes.int32)
    kernel = UOp.sink(a.index(i).store(value).end(i), arg=KernelInfo("mix", ()))
    return UOp.call(compile_program(kernel, Device[device].renderer), target, source)


def copy_call(target: UOp, source: UOp) -> UOp:
    """Return the call that copies one PARAM, or a part of one, to another."""
    device = target.device
    assert isinstance(device, str)
    return UOp.call(UOp(Ops.COPY, (source,), device), target, source)


def batch_of(calls: Sequence[UOp]) -> UOp:
    """Return the calls as one batch for queues."""
    joined = batch(UOp(Ops.LINEAR, tuple(calls))).src
    assert len(joined) == 1, f"{len(calls)} calls that queues take became {len(joined)} batches"
    return joined[0]


def link(calls: Sequence[UOp]) -> LinkedSubmits:
    """Return the calls as one batch, ready to run on buffers that are given by parameter slot."""
    return link_submits(batch_of(calls), {})


def numbers(seed: int, *shape: int) -> np.ndarray[Any, Any]:
    """Return small numbers."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.int32)


def filled(device: str, values: np.ndarray[Any, Any]) -> Buffer:
    """Return a buffer of int32 with these values."""
    cells = values.astype(np.int32)
    return Buffer(device, cells.size, dtypes.int32).copyin(cells.tobytes())
