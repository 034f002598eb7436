"""Name a kernel and describe how its program is launched."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tg_core.codegen.utils import axis_type, greatest_size
from tg_core.uop.ops import AxisType, Estimates, KernelInfo, Ops, ProgramInfo, UOp

if TYPE_CHECKING:
    from tg_core.uop.ops import sint

_HASH_DIGITS = 6


def name_kernel(sink: UOp, loops: UOp) -> str:
    """Return an identifier: `r` with a reduction, else `E`, the sizes of the loops, and some digits
    of the kernel's hash.

    A name that the kernel carries itself takes the place of kind and sizes.

    Args:
        sink: a kernel as `docs/ir.md` defines it, normalized.
        loops: the same kernel simplified, with the loops that are left to run.
    """
    info = sink.arg
    given = info.name if isinstance(info, KernelInfo) else ""
    ranges = sorted((n for n in loops.toposort() if n.op is Ops.RANGE), key=lambda r: r.arg[:-1])
    kind = "r" if any(axis_type(r) is AxisType.REDUCE for r in ranges) else "E"
    label = given or "_".join([kind, *(str(greatest_size(r)) for r in ranges)])
    return f"{re.sub('[^0-9a-zA-Z_]', '_', label)[:60]}_{sink.key.hex()[:_HASH_DIGITS]}"


def _storage(access: UOp) -> UOp:
    node = access.src[0]
    while node.op in (Ops.INDEX, Ops.AFTER):
        node = node.src[0]
    return node


def _is_parameter(argument: UOp) -> bool:
    return argument.op is Ops.PARAM and argument.shape != ()


def _size(special: UOp) -> sint:
    value = special.src[0].const_value
    return special.src[0] if value is None else int(value)  # type: ignore[arg-type]  # a size is never Invalid


def describe_program(linear: UOp, name: str, estimates: Estimates) -> ProgramInfo:
    """Return the launch information of a linear program."""
    sizes: dict[str, sint] = {}
    storages: dict[int, None] = {}
    variables: dict[tuple[int, str], UOp] = {}
    outs: dict[int, None] = {}
    ins: dict[int, None] = {}
    for node in linear.src:
        if node.op is Ops.SPECIAL:
            sizes[node.arg] = _size(node)
        elif node.op is Ops.PARAM and node.arg.name is None:
            storages[node.arg.slot] = None
        elif node.op is Ops.PARAM:
            variables[node.arg.slot, node.arg.name] = node
        elif node.op in (Ops.LOAD, Ops.STORE) and (storage := _storage(node)).op is Ops.PARAM:
            (outs if node.op is Ops.STORE else ins)[storage.arg.slot] = None
        elif node.op is Ops.CALL:
            # what a foreign function does with an array is not known
            passed = dict.fromkeys(a.arg.slot for a in node.src[1:] if _is_parameter(a))
            outs.update(passed)
            ins.update(passed)
    return ProgramInfo(
        name=name,
        global_size=tuple(sizes.get(f"gidx{i}", 1) for i in range(3)),
        local_size=tuple(sizes.get(f"lidx{i}", 1) for i in range(3)),
        params=tuple(sorted(storages)),
        outs=tuple(sorted(outs)),
        ins=tuple(sorted(ins)),
        variables=tuple(variables[key] for key in sorted(variables)),
        estimates=estimates,
    )
