"""Printing of a compiled kernel, as much of it as `DEBUG` asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from tg_core.renderer import Renderer

KERNEL, SOURCE, LINEAR, ASSEMBLY = 3, 4, 5, 7
"""Levels of `DEBUG` from which on a form is shown."""


def show_program(program: UOp, renderer: Renderer, level: int) -> None:
    """Print the kernel, its source, its linear program and its assembly, by level."""
    sink, linear, source = program.src[:3]
    print(f"--- {program.arg.name}")
    if level >= KERNEL:
        print(repr(sink))
    if level >= LINEAR and linear.op is Ops.LINEAR:
        number = {node: i for i, node in enumerate(linear.src)}
        for i, node in enumerate(linear.src):
            sources = ", ".join(str(number.get(s, _short(s))) for s in node.src)
            print(f"{i:5d} {node.op.name:<10} {node.dtype.name:<9} [{sources}] {node.arg or ''}")
    if level >= SOURCE:
        print(source.arg)
    if level >= ASSEMBLY:
        assembly = assembly_of(source.arg, renderer)
        if assembly:
            print(assembly)


def assembly_of(source: str, renderer: Renderer) -> str:
    """Return the machine code of a source as text; empty where a renderer cannot tell."""
    return str(renderer.assembly(source)) if hasattr(renderer, "assembly") else ""


def _short(node: UOp) -> str:
    value = node.const_value
    return node.op.name if value is None else repr(value)
