"""PYTHON: runs linear programs by interpretation, which defines what each op means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.device.api import Compiled, Program

if TYPE_CHECKING:
    from tg_core.uop.ops import ProgramInfo

__all__ = ["PythonDevice"]


class PythonDevice(Compiled):
    """Host memory and the interpreter."""

    def load_program(self, name: str, binary: bytes, info: ProgramInfo) -> Program:
        # The interpreter is not needed to hold data, which most processes use the device for.
        from tg_core.device.interpreter import InterpreterProgram

        return InterpreterProgram(name, binary, info)
