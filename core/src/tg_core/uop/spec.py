"""Specifications of the IR: which nodes are legal at which stage.

* `spec_tensor`: graphs of tensors, calls and schedules.
* `spec_shared`: one kernel, between any two passes of code generation.
* `spec_program`: the nodes of a linear program, in order.

Invariants they share

* Every operation has the sources and the argument that `spec_table` gives.
* Concrete operand dtypes are equal; a weak operand adapts within its kind.
* STORE targets have storage at their base; a contiguous marker or a view of one is no target.
* A detached storage may carry pending writes, a detached computed value may not.
* GROUP collects effects; LOAD and STORE point into storage; gates and conditions are bool.

A linear program, besides: no weak dtype but in the CONST under a CAST, operands of equal shape,
int32 or int64 positions, sources before their readers.

With `SPEC=1` passes verify their result; with `SPEC=2` every node is verified when it is created.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from tg_core.config import SPEC
from tg_core.dtype import dtypes
from tg_core.errors import SpecError, TGError
from tg_core.uop.opcodes import Ops
from tg_core.uop.spec_rules import Rule, concrete_dtype
from tg_core.uop.spec_table import KERNEL, PROGRAM, PROGRAM_RULES, TABLE, TENSOR
from tg_core.uop.uop import UOp, creation_check


class Spec:
    """A set of legal nodes.

    Args:
        name: how errors call it.
        stage: the stage of the table whose rows it takes.
        extra: more rules by operation.
        everywhere: rules for every operation.
        ordered: whether the nodes are a program, sources before their readers.
    """

    def __init__(
        self,
        name: str,
        stage: str,
        extra: dict[Ops, tuple[Rule, ...]] | None = None,
        everywhere: tuple[Rule, ...] = (),
        ordered: bool = False,
    ) -> None:
        self.name = name
        self.ordered = ordered
        self.rules: dict[Ops, tuple[Rule, ...]] = {}
        for row in TABLE:
            if stage in row.stages:
                for op in row.ops:
                    more = (extra or {}).get(op, ())
                    self.rules[op] = (*row.rules, *everywhere, *more)
        self.mark = f"_legal_{name}"

    def complaint(self, u: UOp) -> tuple[str, str] | None:
        """Judge one node.

        Args:
            u: the node; its sources are taken as they are.

        Returns:
            Name of the violated rule and what is wrong, or None for a legal node.
        """
        rules = self.rules.get(u.op)
        if rules is None:
            return "allowed operations", f"{u.op.name} is not allowed here"
        try:
            for rule in rules:
                problem = rule(u)
                if problem is not None:
                    return rule.__qualname__.split(".")[0], problem
            u.dtype  # noqa: B018 - deriving it checks the operands
        except TGError as error:
            return "derived properties", str(error)
        return None


spec_tensor = Spec("spec_tensor", TENSOR)
"""Graphs of tensors, calls and schedules."""
spec_shared = Spec("spec_shared", KERNEL)
"""One kernel between passes of code generation."""
spec_program = Spec("spec_program", PROGRAM, PROGRAM_RULES, (concrete_dtype,), ordered=True)
"""A linear program."""


def type_verify(uops: Iterable[UOp] | UOp, spec: Spec, stage: str = "") -> None:
    """Check nodes against a specification.

    A node that was found legal is not looked at again, so verifying after each pass costs only the
    nodes the pass made.

    Args:
        uops: the nodes, or the root of a graph. For `spec_program` a list in program order.
        spec: what is legal.
        stage: the pass whose result this is, for the message.

    Raises:
        SpecError: naming the stage, the rule, the node and its neighbours.
    """
    nodes = uops.toposort() if isinstance(uops, UOp) else list(uops)
    mark = spec.mark
    for u in nodes:
        known = u.__dict__
        if mark in known:
            continue
        found = spec.complaint(u)
        if found is not None:
            raise SpecError(_message(u, spec, stage, *found))
        known[mark] = True
    if spec.ordered:
        _verify_order(nodes, spec, stage)


def _verify_order(nodes: list[UOp], spec: Spec, stage: str) -> None:
    """Check that every source comes before its reader, and that loops nest."""
    seen: set[UOp] = set()
    loops: list[UOp] = []
    for u in nodes:
        for source in u.src:
            if source not in seen:
                raise SpecError(
                    _message(u, spec, stage, "program order", f"{source.op.name} comes later")
                )
        if u.op is Ops.RANGE:
            loops.append(u)
        elif u.op is Ops.END:
            closed = [s for s in u.src[1:] if s.op is Ops.RANGE]
            innermost = loops[len(loops) - len(closed) :]
            if set(innermost) != set(closed):
                raise SpecError(
                    _message(u, spec, stage, "program order", "END closes a loop that is not open")
                )
            del loops[len(loops) - len(closed) :]
        seen.add(u)
    if loops:
        raise SpecError(_message(loops[-1], spec, stage, "program order", "the loop has no END"))


def _message(u: UOp, spec: Spec, stage: str, rule: str, problem: str) -> str:
    """Describe a violation: stage, rule, node and neighbours."""
    lines = [f"{stage or spec.name}: {u.op.name} violates {spec.name} ({rule}): {problem}"]
    lines.append(f"  node: {_summary(u)}")
    for position, source in enumerate(u.src[:8]):
        lines.append(f"  source {position}: {_summary(source)}")
    if len(u.src) > 8:
        lines.append(f"  and {len(u.src) - 8} more sources")
    return "\n".join(lines)


def _summary(u: UOp) -> str:
    try:
        kind = f"{u.dtype.name} {u.shape}"
    except TGError as error:
        kind = f"without a dtype or shape ({error})"
    arg = "" if u.arg is None else f" arg={repr(u.arg)[:200]}"
    tag = "" if u.tag is None else f" tag={u.tag!r}"
    return f"{u.op.name}{arg}{tag} : {kind}, reads {[s.op.name for s in u.src[:8]]}"


def verify_creation(u: UOp) -> None:
    """Check a new node against all stages; `SPEC=2` runs this when it is created.

    Args:
        u: the new node.

    Raises:
        SpecError: the node is legal at no stage.
    """
    # deriving the dtype may raise a user's error, which is to arrive as it is
    if u.dtype is dtypes.void and u.op in (Ops.NOOP, Ops.SINK):
        return
    complaints = [s.complaint(u) for s in (spec_tensor, spec_shared, spec_program)]
    if all(complaint is not None for complaint in complaints):
        found = next((c for c in complaints if c and c[0] != "allowed operations"), complaints[0])
        assert found is not None
        raise SpecError(_message(u, spec_tensor, "creation", *found))


@contextlib.contextmanager
def verified_creation() -> Iterator[None]:
    """Verify every node that a block creates."""
    creation_check.append(verify_creation)
    try:
        yield
    finally:
        creation_check.remove(verify_creation)


if SPEC.value >= 2:
    creation_check.append(verify_creation)
