"""From a kernel to a compiled program, with a cache in memory and one on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.codegen.describe_program import describe_program, name_kernel
from tg_core.codegen.disk_programs import load_compiled, store_compiled
from tg_core.codegen.estimate_work import estimate_work
from tg_core.codegen.normalize_kernel import normalize_kernel
from tg_core.codegen.pipeline import run_pipeline
from tg_core.codegen.show_program import assembly_of, show_program
from tg_core.config import DEBUG, codegen_state
from tg_core.support.trace import span
from tg_core.uop.ops import Ops, UOp
from tg_core.uop.record import recorded_section

if TYPE_CHECKING:
    from tg_core.renderer import Renderer
    from tg_core.uop.record import Section

_compiled: dict[tuple[bytes, str, object], UOp] = {}


def lower_kernel(sink: UOp, renderer: Renderer) -> UOp:
    """Return `PROGRAM(SINK, LINEAR)` of a kernel.

    Args:
        sink: a kernel as `docs/ir.md` defines it.
        renderer: the target.

    Raises:
        CompileError: the kernel cannot be lowered for this target.
    """
    normal = normalize_kernel(sink)
    linear = run_pipeline(normal, renderer)
    info = describe_program(linear, name_kernel(normal), estimate_work(normal))
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
    normal, state = normalize_kernel(sink), codegen_state()
    key = (normal.key, renderer.key, state)
    found = _compiled.get(key)
    if found is None:
        with span("load program", "load"):
            found = load_compiled(normal, renderer, state)
        if found is None:
            name = name_kernel(normal)
            with span(name, "compile"), recorded_section("kernel", name) as section:
                found = _compile(normal, renderer, section)
            store_compiled(normal, renderer, state, found)
        _compiled[key] = found
        if DEBUG.value >= 3:
            show_program(found, renderer, DEBUG.value)
    return found


def _compile(sink: UOp, renderer: Renderer, section: Section | None) -> UOp:
    lowered = lower_kernel(sink, renderer)
    source = renderer.render(lowered.arg.name, lowered.src[1])
    if section is not None:
        section.target, section.source = renderer.name, source
        section.assembly = assembly_of(source, renderer)
    binary = renderer.compile(source)
    parts = (UOp(Ops.SOURCE, (), source), UOp(Ops.BINARY, (), binary))
    return UOp(Ops.PROGRAM, (*lowered.src, *parts), lowered.arg)


def clear_compiled() -> None:
    """Forget every compiled program of this process."""
    _compiled.clear()
