"""Mistakes that the device makes when told to, to see that they are found.

Each replaces one method of the encoder, the driver or the hardware by one that gets something
wrong. `TG_REF_FAULT` names those of a process, separated by commas.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tg_conformance.refdev import faults_driver, faults_encoder, faults_hardware
from tg_conformance.refdev.device import RefDevice
from tg_conformance.refdev.encoder import RefComputeQueue, RefQueue
from tg_conformance.refdev.executor import RefExecutor
from tg_conformance.refdev.interface import RefInterface
from tg_conformance.refdev.memory import RefAllocator

__all__ = ["FAULTS", "VARIABLE", "Fault", "plant", "plant_chosen"]

VARIABLE = "TG_REF_FAULT"

Method: TypeAlias = Callable[..., Any]


@dataclass(frozen=True)
class Fault:
    """One mistake."""

    what: str
    place: Literal["encoder", "driver", "hardware"]
    owner: type
    method: str
    """Name of the method of `owner` that is replaced."""
    damage: Callable[[Method], Method]
    """Makes the method that is wrong out of the one that is right."""


def _encoder(what: str, owner: type, method: str, damage: Callable[[Method], Method]) -> Fault:
    return Fault(what, "encoder", owner, method, damage)


def _driver(what: str, owner: type, method: str, damage: Callable[[Method], Method]) -> Fault:
    return Fault(what, "driver", owner, method, damage)


def _hardware(what: str, method: str, damage: Callable[[Method], Method]) -> Fault:
    return Fault(what, "hardware", RefExecutor, method, damage)


FAULTS = {
    "missing wait": _encoder("waits are left out", RefQueue, "wait", faults_encoder.without_effect),
    "wrong signal value": _encoder(
        "waits inside of a batch are for one less", RefQueue, "wait", faults_encoder.one_early
    ),
    "missing barrier": _encoder(
        "barriers are left out", RefQueue, "barrier", faults_encoder.without_effect
    ),
    "doorbell before write": _encoder(
        "the doorbell is rung before the ring is written",
        RefQueue,
        "submit",
        faults_encoder.doorbell_first,
    ),
    "room never checked": _encoder(
        "packets are written over those not yet read", RefQueue, "room", faults_encoder.endless_room
    ),
    "arguments reversed": _encoder(
        "the buffers of a kernel are given last to first",
        RefComputeQueue,
        "exec",
        faults_encoder.reversed_buffers,
    ),
    "variable left out": _encoder(
        "variables of a kernel are always 1",
        RefComputeQueue,
        "exec",
        faults_encoder.constant_values,
    ),
    "ring wrap off by one": _hardware(
        "a packet cut by the end of the ring goes on one word late",
        "_ring_word",
        faults_hardware.late_wrap,
    ),
    "stale arguments": _hardware(
        "a kernel gets the arguments of the launch before",
        "_arguments",
        faults_hardware.arguments_before,
    ),
    "copy cut": _hardware("copies lose their last byte", "_copy", faults_hardware.last_byte_lost),
    "copy tail lost": _hardware(
        "copies end at a multiple of four bytes", "_copy", faults_hardware.whole_words
    ),
    "copy start aligned": _hardware(
        "copies begin at a multiple of four bytes", "_copy", faults_hardware.aligned_target
    ),
    "copy size of 32 bits": _hardware(
        "copies lose what their size has beyond 4 GiB", "_copy", faults_hardware.short_size
    ),
    "copy backwards": _hardware(
        "copies go from destination to source", "_copy", faults_hardware.backwards
    ),
    "timestamps swapped": _hardware(
        "the clock runs backwards", "_clock", faults_hardware.backward_clock
    ),
    "clock of another unit": _hardware(
        "the clock counts in another unit than is declared", "_clock", faults_hardware.slow_clock
    ),
    "lost store": _hardware(
        "stores to signals are not made", "_store", faults_hardware.without_effect
    ),
    "lost wake-up": _hardware(
        "a wait that had to wait once is not looked at again", "ready", faults_hardware.asleep
    ),
    "wait for equal": _hardware(
        "a wait ends only at the very value", "_satisfied", faults_hardware.equal_only
    ),
    "signal reset": _hardware(
        "a wait that is over sets its signal to 0", "_wait", faults_hardware.reset_signal
    ),
    "fence too early": _hardware(
        "signals are stored before the kernel or copy in front of them is done",
        "step",
        faults_hardware.store_first,
    ),
    "signals of 32 bits": _hardware(
        "stores to signals lose their high word", "_store", faults_hardware.low_word
    ),
    "hang": _hardware(
        "a compute queue stops before its first kernel", "ready", faults_hardware.stuck_at_kernels
    ),
    "launch size off by one": _hardware(
        "the last group of a launch is missing", "_launch", faults_hardware.group_missing
    ),
    "launch twice": _hardware("kernels run twice", "_launch", faults_hardware.launched_twice),
    "halves truncated": _hardware(
        "results of dtype float16 are rounded towards zero",
        "_launch",
        faults_hardware.truncated_halves,
    ),
    "subnormals flushed": _hardware(
        "results of dtype float32 below the normal ones are zero",
        "_launch",
        faults_hardware.flushed_subnormals,
    ),
    "read pointer stuck": _hardware(
        "the host is not told how far a ring was read", "_pop", faults_hardware.untold_position
    ),
    "packets after reset": _hardware(
        "a reset leaves the packets of the work that failed", "reset", faults_hardware.half_reset
    ),
    "queue mix-up": _driver(
        "copy queues get the doorbell of the compute queue",
        RefDevice,
        "create_queue",
        faults_driver.doorbell_of_another_queue,
    ),
    "fault not reported": _driver(
        "the driver keeps a fault of the hardware to itself",
        RefInterface,
        "fault",
        faults_driver.no_fault,
    ),
    "use after free": _driver(
        "memory is released while work in flight uses it",
        RefAllocator,
        "free",
        faults_driver.released_at_once,
    ),
    "freed memory given twice": _driver(
        "memory that was freed is given to two buffers",
        RefAllocator,
        "create",
        faults_driver.same_memory_again,
    ),
    "memory of the wrong device": _driver(
        "what is mapped for a peer is memory of its own",
        RefAllocator,
        "map_peer",
        faults_driver.own_memory,
    ),
    "stale address": _driver(
        "the address of memory is that of the last memory of its size",
        RefAllocator,
        "address_of",
        faults_driver.remembered_address,
    ),
    "host memory cut": _driver(
        "memory of the host is mapped without its last byte",
        RefInterface,
        "pin",
        faults_driver.cut_by_a_byte,
    ),
    "host memory read-only": _driver(
        "memory of the host is mapped for reading alone",
        RefInterface,
        "pin",
        faults_driver.pinned_for_reading,
    ),
    "view at the base": _driver(
        "views begin where their memory begins", RefAllocator, "offset", faults_driver.at_the_base
    ),
}

_originals: dict[tuple[type, str], Method] = {}


def plant(*names: str) -> None:
    """Make these mistakes from now on, and no others.

    Raises:
        KeyError: there is no such mistake.
    """
    unknown = [name for name in names if name not in FAULTS]
    if unknown:
        raise KeyError(f"no fault {unknown[0]!r}; there are: {', '.join(FAULTS)}")
    for (owner, method), original in _originals.items():
        setattr(owner, method, original)
    for name in names:
        fault = FAULTS[name]
        before = getattr(fault.owner, fault.method)
        _originals.setdefault((fault.owner, fault.method), before)
        setattr(fault.owner, fault.method, fault.damage(before))


def plant_chosen() -> None:
    """Make the mistakes that the environment names.

    Raises:
        KeyError: there is no such mistake.
    """
    names = [name for name in os.environ.get(VARIABLE, "").split(",") if name]
    if names and not _originals:
        plant(*names)
