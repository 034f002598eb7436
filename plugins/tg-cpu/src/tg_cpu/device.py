"""The CPU as a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.backend import Compiled

if TYPE_CHECKING:
    from tg_core.backend import ProgramInfo
    from tg_cpu.program import CPUProgram


class CPUDevice(Compiled):
    """This machine's processor: kernels are native functions and run in program order."""

    def load_program(self, name: str, binary: bytes, info: ProgramInfo) -> CPUProgram:
        # loads LLVM, which a process that only holds data never needs
        from tg_cpu.program import CPUProgram

        return CPUProgram(name, binary, len(info.params) + len(info.variables))

    def program_address(self, program: CPUProgram) -> int:
        return program.address

    def runner_address(self) -> int:
        # compiled at the first kernel of several chunks, not before
        from tg_cpu.pool import pool

        return pool().run_address
