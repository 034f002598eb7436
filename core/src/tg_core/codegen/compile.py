"""From a kernel to a compiled program, with a cache in memory and one on disk."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

from tg_core.codegen.disk_programs import load_compiled, store_compiled
from tg_core.codegen.normalize_kernel import normalize_kernel
from tg_core.config import DEBUG, PROFILE, codegen_state
from tg_core.support.trace import add_event, span
from tg_core.uop.ops import Ops, UOp
from tg_core.uop.record import recorded_section

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from tg_core.renderer import Renderer

_WORKERS: Final = 4
"""Threads that wait for compilers."""
_SWITCH_SECONDS: Final = 5e-4

_compiled: dict[tuple[bytes, str, object], UOp] = {}


def lower_kernel(sink: UOp, renderer: Renderer) -> UOp:
    """Return `PROGRAM(SINK, LINEAR)` of a kernel.

    Args:
        sink: a kernel as `docs/ir.md` defines it.
        renderer: the target.

    Raises:
        CompileError: the kernel cannot be lowered for this target.
    """
    # only a process that compiles loads the passes
    from tg_core.codegen.describe_program import describe_program, name_kernel
    from tg_core.codegen.estimate_work import estimate_work
    from tg_core.codegen.pipeline import LOWERING, SIMPLIFICATION, run_pipeline

    normal = normalize_kernel(sink)
    loops = run_pipeline(normal, renderer, SIMPLIFICATION)
    linear = run_pipeline(loops, renderer, LOWERING)
    info = describe_program(linear, name_kernel(normal, loops), estimate_work(loops))
    return UOp(Ops.PROGRAM, (normal, linear), info)


def compile_program(sink: UOp, renderer: Renderer) -> UOp:
    """Return `PROGRAM(SINK, LINEAR, SOURCE, BINARY)` of a kernel; equal kernels for equal targets
    are compiled once.

    Args:
        sink: a kernel as `docs/ir.md` defines it.
        renderer: the target.

    Raises:
        CompileError: the kernel cannot be lowered or compiled for this target.
    """
    return compile_programs([(sink, renderer)])[0]


def compile_programs(kernels: Sequence[tuple[UOp, Renderer]]) -> list[UOp]:
    """Return the PROGRAM of each kernel, see `compile_program`; the compilers of the targets work
    in other threads, while the next kernels are lowered in this one.

    Args:
        kernels: kernels with their targets.

    Raises:
        CompileError: a kernel cannot be lowered or compiled for its target.
    """
    state = codegen_state()
    wanted = [_Wanted(normalize_kernel(sink), renderer, state) for sink, renderer in kernels]
    missing: dict[tuple[bytes, str, object], _Wanted] = {}
    for one in wanted:
        if one.key not in _compiled and one.key not in missing:
            with span("load program", "load"):
                found = load_compiled(one.normal, one.renderer, state)
            if found is None:
                missing[one.key] = one
            else:
                _keep(one, found)
    if len(missing) > 1:
        _compile_overlapped(list(missing.values()))
    else:
        for one in missing.values():
            one.start()
            _finish(one)
    return [_compiled[one.key] for one in wanted]


class _Wanted:
    """A kernel on its way to a program."""

    def __init__(self, normal: UOp, renderer: Renderer, state: object) -> None:
        self.normal, self.renderer, self.state = normal, renderer, state
        self.key = normal.key, renderer.key, state
        self.name = ""
        self.lowered = normal
        self.source = ""

    def start(self) -> None:
        """Lower the kernel and print its source."""
        from tg_core.codegen.show_program import assembly_of

        started = time.perf_counter()
        with recorded_section("kernel", self.normal.key.hex()[:6]) as section:
            self.lowered = lower_kernel(self.normal, self.renderer)
            self.name = self.lowered.arg.name
            self.source = self.renderer.render(self.name, self.lowered.src[1])
            if section is not None:
                section.name, section.target, section.source = (
                    self.name,
                    self.renderer.name,
                    self.source,
                )
                section.assembly = assembly_of(self.source, self.renderer)
        if PROFILE.value:
            add_event(f"lower {self.name}", "compile", started, time.perf_counter() - started)

    def compile(self) -> bytes:
        """Return the binary of the source."""
        with span(f"{self.renderer.name} {self.name}", "compile"):
            return self.renderer.compile(self.source)


def _finish(one: _Wanted, binary: bytes | None = None) -> None:
    """Keep the program of a kernel that was started."""
    code = one.compile() if binary is None else binary
    parts = (UOp(Ops.SOURCE, (), one.source), UOp(Ops.BINARY, (), code))
    program = UOp(Ops.PROGRAM, (*one.lowered.src, *parts), one.lowered.arg)
    store_compiled(one.normal, one.renderer, one.state, program)
    _keep(one, program)


def _keep(one: _Wanted, program: UOp) -> None:
    _compiled[one.key] = program
    if DEBUG.value >= 3:
        from tg_core.codegen.show_program import show_program

        show_program(program, one.renderer, DEBUG.value)


def _compile_overlapped(missing: list[_Wanted]) -> None:
    # imported where something is compiled, which most processes do not
    from concurrent.futures import ThreadPoolExecutor

    # a thread that comes back from native code waits this long for one that runs Python
    interval = sys.getswitchinterval()
    pool = ThreadPoolExecutor(_WORKERS, "compiler")
    sys.setswitchinterval(min(interval, _SWITCH_SECONDS))
    try:
        binaries: list[Future[bytes]] = []
        for one in missing:
            one.start()
            binaries.append(pool.submit(one.compile))
        for one, binary in zip(missing, binaries, strict=True):
            _finish(one, binary.result())
    finally:
        sys.setswitchinterval(interval)
        pool.shutdown(cancel_futures=True)


def clear_compiled() -> None:
    """Forget every compiled program of this process."""
    _compiled.clear()
