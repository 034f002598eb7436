"""The table of operations: for each its sources, its rule, and the stages that may contain it.

| stage | graphs |
|---|---|
| `tensor` | what Tensor builds, calls and schedules |
| `kernel` | one kernel, from `schedule` to the last pass before `linearize` |
| `program` | a linear program |
"""

from __future__ import annotations

from typing import NamedTuple

from tg_core.uop import spec_rules as rules
from tg_core.uop.opcodes import GroupOp, Ops
from tg_core.uop.spec_rules import Rule, sources


class Row(NamedTuple):
    """One operation in one set of stages."""

    ops: tuple[Ops, ...]
    """The operations the row describes."""
    stages: tuple[str, ...]
    """`tensor`, `kernel`, `program`."""
    rules: tuple[Rule, ...]
    """All of them must accept the node; the number of sources comes first."""


TENSOR, KERNEL, PROGRAM = "tensor", "kernel", "program"
_ALL = (TENSOR, KERNEL, PROGRAM)
_GRAPHS = (TENSOR, KERNEL)
_ARITHMETIC = (
    Ops.ADD, Ops.SUB, Ops.MUL, Ops.FDIV, Ops.FLOORDIV, Ops.FLOORMOD, Ops.CDIV, Ops.CMOD, Ops.MAX,
    Ops.POW,
)  # fmt: skip
_COMPARISONS = tuple(sorted(GroupOp.Comparison))
_UNARY = tuple(sorted(GroupOp.Unary))
_MOVEMENT = tuple(sorted(GroupOp.Movement))

TABLE: tuple[Row, ...] = (
    Row((Ops.CONST,), _ALL, (sources(0), rules.const_value_rule)),
    Row((Ops.PARAM, Ops.BUFFER), _ALL, (sources(0), rules.storage_argument)),
    Row((Ops.BIND,), _GRAPHS, (sources(2), rules.bind_rule)),
    Row(_MOVEMENT, (TENSOR,), (sources(1, None), rules.movement_rule)),
    Row((Ops.CAST,), _ALL, (sources(1), rules.dtype_argument)),
    Row((Ops.BITCAST,), _ALL, (sources(1), rules.dtype_argument)),
    Row(_UNARY, _ALL, (sources(1), rules.numbers)),
    Row(_ARITHMETIC, _ALL, (sources(2), rules.numbers, rules.same_dtypes)),
    Row(_COMPARISONS, _ALL, (sources(2), rules.numbers, rules.same_dtypes)),
    Row((Ops.AND, Ops.OR, Ops.XOR), _ALL, (sources(2), rules.integers_or_bools, rules.same_dtypes)),
    Row((Ops.SHL, Ops.SHR), _ALL, (sources(2), rules.integers)),
    Row((Ops.THREEFRY,), _ALL, (sources(2), rules.integers)),
    Row((Ops.WHERE,), _ALL, (sources(3), rules.where_rule)),
    Row((Ops.MULACC,), _ALL, (sources(3), rules.numbers, rules.same_dtypes)),
    Row((Ops.REDUCE_AXIS,), (TENSOR,), (sources(1), rules.reduce_axis_rule)),
    Row((Ops.REDUCE,), _GRAPHS, (sources(1, None), rules.reduce_rule)),
    Row((Ops.CONTIGUOUS, Ops.CONTIGUOUS_BACKWARD), (TENSOR,), (sources(1), rules.numbers)),
    Row((Ops.DETACH,), (TENSOR,), (sources(1), rules.detach_rule)),
    Row((Ops.COPY,), (TENSOR,), (sources(1, 2), rules.copy_rule)),
    Row((Ops.MSELECT,), (TENSOR,), (sources(1), rules.mselect_rule)),
    Row((Ops.MSTACK,), (TENSOR,), (sources(1, None),)),
    Row((Ops.MULTI,), (TENSOR,), (sources(1, None), rules.multi_rule)),
    Row((Ops.ALLREDUCE,), (TENSOR,), (sources(1, None),)),
    Row((Ops.WMMA,), (KERNEL, PROGRAM), (sources(3), rules.wmma_rule)),
    Row((Ops.STORE,), (TENSOR,), (sources(2, 3), rules.tensor_store, rules.store_gate)),
    Row((Ops.STORE,), (KERNEL, PROGRAM), (sources(2, 3), rules.kernel_store, rules.store_gate)),
    Row((Ops.AFTER,), (TENSOR,), (sources(2, None), rules.tensor_after)),
    Row((Ops.AFTER,), (KERNEL,), (sources(2, None),)),
    Row((Ops.GROUP,), _GRAPHS, (sources(0, None), rules.group_rule)),
    Row((Ops.SINK,), _GRAPHS, (sources(0, None), rules.sink_argument)),
    Row((Ops.RANGE,), _ALL, (sources(1), rules.range_rule)),
    Row((Ops.END,), _GRAPHS, (sources(1, None), rules.graph_end_rule)),
    Row((Ops.END,), (PROGRAM,), (sources(1, None), rules.end_rule)),
    Row((Ops.SPECIAL,), _ALL, (sources(1), rules.special_rule)),
    Row((Ops.INDEX,), _ALL, (sources(2), rules.index_rule)),
    Row((Ops.LOAD,), _ALL, (sources(1, 3), rules.load_rule)),
    Row((Ops.STACK,), _ALL, (sources(0, None), rules.stack_rule)),
    Row((Ops.BARRIER,), (KERNEL, PROGRAM), (sources(0, None),)),
    Row((Ops.IF,), (KERNEL, PROGRAM), (sources(1, None), rules.condition_rule)),
    Row((Ops.ENDIF,), (KERNEL, PROGRAM), (sources(1),)),
    Row((Ops.NOOP,), _ALL, (sources(0, None),)),
    Row((Ops.CALL,), _ALL, (sources(1, None), rules.call_rule)),
    Row((Ops.LINEAR,), (TENSOR,), (sources(0, None),)),
    Row((Ops.PROGRAM,), (TENSOR,), (sources(0, 4), rules.program_rule)),
    Row((Ops.SOURCE,), (TENSOR,), (sources(0), rules.argument(str))),
    Row((Ops.BINARY,), (TENSOR,), (sources(0), rules.argument(bytes))),
    Row((Ops.CUSTOM_FUNCTION, Ops.INS, Ops.GETADDR), _ALL, (sources(0, None),)),
)
"""Every operation, in the order of `docs/ir.md`."""

PROGRAM_RULES: dict[Ops, tuple[Rule, ...]] = {
    **dict.fromkeys(GroupOp.ALU, (rules.concrete_operands,)),
    Ops.INDEX: (rules.machine_index,),
    Ops.RANGE: (rules.machine_index,),
    Ops.SPECIAL: (rules.machine_index,),
}
"""What a linear program asks beyond the table."""
