"""Loaded programs: each PROGRAM once per device and process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.device import Device

if TYPE_CHECKING:
    from tg_core.device import Program
    from tg_core.uop.ops import ProgramInfo, UOp

_programs: dict[tuple[str, UOp], Program] = {}


def load_program(device: str, program: UOp) -> Program:
    """Return the runnable form of a PROGRAM on a device; loaded once."""
    found = _programs.get((device, program))
    if found is None:
        info: ProgramInfo = program.arg
        found = Device[device].load_program(info.name, program.src[3].arg, info)
        _programs[device, program] = found
    return found


def adopt_program(device: str, program: UOp, loaded: Program) -> None:
    """Let a PROGRAM stand for a kernel that is loaded already."""
    _programs[device, program] = loaded
