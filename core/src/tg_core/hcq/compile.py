"""The device that runs host programs, and their compiled form."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg_core.codegen import compile_program
from tg_core.config import HCQ_RUNTIME_DEV, Context
from tg_core.device import Device
from tg_core.errors import DeviceError
from tg_core.hcq.programs import load_program
from tg_core.plugins import Capability
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from tg_core.device import Program

_NEEDED = (Capability.PROGRAMS, Capability.HOST_CALL, Capability.HOST_VISIBLE)

_compiled: dict[tuple[UOp, str], UOp] = {}

_written: dict[tuple[bytes, str], UOp] = {}
"""Host programs out of files, by the key of their body, which is not known before it is made."""


def runtime_device() -> str:
    """Return the name of the device that runs host programs, `HCQ_RUNTIME_DEV`.

    Raises:
        DeviceNotFound: there is no such device.
        DeviceError: its programs are no native functions of this process.
    """
    name = Device.canonicalize(HCQ_RUNTIME_DEV.value)
    missing = [c.name for c in _NEEDED if c not in Device[name].capabilities]
    if missing:
        raise DeviceError(f"HCQ_RUNTIME_DEV: {name} cannot run host programs, no {missing[0]}")
    return name


def _target() -> str:
    key: str = Device[runtime_device()].renderer.key
    return key


def compiled_host_program(body: UOp) -> UOp:
    """Return the PROGRAM of a host program, compiled for the runtime device like any kernel.

    Args:
        body: a kernel SINK.

    Raises:
        DeviceError: the runtime device cannot run host programs.
        CompileError: the runtime device's renderer does not take it.
    """
    key = body, _target()
    found = _compiled.get(key)
    if found is None:
        written = _written.get((body.key, key[1]))
        if written is not None:
            parts = (body, UOp(Ops.NOOP), *written.src)
            found = _compiled[key] = UOp(Ops.PROGRAM, parts, written.arg)
    if found is None:
        # positions come from tables that core itself has written, which no check can see
        with Context(CHECK_OOB=0):
            found = compile_program(body, Device[runtime_device()].renderer)
        _compiled[key] = found
    return found


class WrittenProgram(NamedTuple):
    """A host program for a file."""

    key: bytes
    """Of the body that it was compiled from."""
    target: str
    """The key of the renderer that it was compiled with."""
    program: UOp
    """PROGRAM of SOURCE and BINARY."""


def written_host_program(body: UOp) -> WrittenProgram:
    """Return a host program for a file.

    Raises:
        DeviceError: the runtime device cannot run host programs.
        CompileError: the runtime device's renderer does not take it.
    """
    program = compiled_host_program(body)
    return WrittenProgram(body.key, _target(), UOp(Ops.PROGRAM, program.src[2:], program.arg))


def provide_host_program(written: WrittenProgram) -> None:
    """Take a host program from a file, so that running what else the file holds needs no compiler.
    One that nothing here is compiled from is never looked at.
    """
    _written[written.key, written.target] = written.program


def load_host_program(body: UOp) -> Program:
    """Return a host program, compiled and loaded.

    Args:
        body: a kernel SINK.

    Raises:
        DeviceError: the runtime device cannot run host programs.
        CompileError: the runtime device's renderer does not take it.
    """
    return load_program(runtime_device(), compiled_host_program(body))
