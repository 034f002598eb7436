"""Proofs that every index stays inside its storage (`CHECK_OOB`).

Interval bounds are tried first; what they cannot decide goes to z3, over the whole index and its
gate, in a context of its own and with a time limit. A timeout is unproved, never safe.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tg_core.errors import SpecError, TGError
from tg_core.uop.opcodes import Ops
from tg_core.uop.printer import render
from tg_core.uop.uop import UOp, to_uop
from tg_core.uop.validate_model import Model

TIME_LIMIT_MS = 2000
"""Time that one query may take."""


class Verdict(enum.Enum):
    """What is known about one index."""

    BOUNDS = "in bounds by its interval"
    PROVED = "in bounds by proof"
    VECTOR = "lanes are not modelled, accepted"
    VIOLATED = "may be out of bounds"
    TIMEOUT = "undecided within the time limit"


@dataclass(frozen=True)
class IndexReport:
    """The verdict on one access."""

    access: UOp
    """The LOAD or STORE, or the INDEX itself when nothing accesses it."""
    index: UOp
    """The INDEX."""
    verdict: Verdict
    """The outcome."""
    detail: str = ""
    """For a violation, an assignment that leaves the storage."""

    @property
    def safe(self) -> bool:
        """Whether the access was shown to stay inside, or holds lanes that are not modelled."""
        return self.verdict in (Verdict.BOUNDS, Verdict.PROVED, Verdict.VECTOR)

    def __str__(self) -> str:
        size = self.index.src[0].shape[0]
        text = f"{self.access.op.name} of {render(self.index)} in storage of {size}"
        return f"{text}: {self.verdict.value}{': ' + self.detail if self.detail else ''}"


def _z3() -> Any:
    try:
        import z3
    except ImportError as error:
        raise TGError(
            "CHECK_OOB: proving an index needs z3, which is missing: pip install 'tg-core[verify]'"
        ) from error
    return z3


def prove_index(
    index: UOp,
    gate: UOp | None = None,
    access: UOp | None = None,
    time_limit_ms: int = TIME_LIMIT_MS,
) -> IndexReport:
    """Decide whether an INDEX stays inside its storage wherever its gate holds.

    Args:
        index: the INDEX node; with lanes, all of them are checked.
        gate: a bool node, or None.
        access: the LOAD or STORE it belongs to, for the report.
        time_limit_ms: limit of the query in milliseconds.

    Returns:
        The report.

    Raises:
        TGError: the bounds do not decide and z3 is not installed.
    """
    access = access or index
    storage, position = index.src
    size = storage.shape[0]
    lanes = 1 if index.arg is None else int(index.arg)
    least = size if isinstance(size, int) else int(size.vmin)
    if position.vmin >= 0 and position.vmax + lanes <= least:
        return IndexReport(access, index, Verdict.BOUNDS)
    if position.shape or (gate is not None and gate.shape):
        return IndexReport(access, index, Verdict.VECTOR)
    z3 = _z3()
    context = z3.Context()
    model = Model(z3, context)
    value, poison = model.add(position)
    limit, _ = model.add(to_uop(size))
    conditions = [z3.Not(poison)]
    if gate is not None:
        allowed, gate_poison = model.add(gate)
        conditions += [allowed, z3.Not(gate_poison)]
    if model.has_vectors:
        return IndexReport(access, index, Verdict.VECTOR)
    solver = z3.Solver(ctx=context)
    solver.set("timeout", time_limit_ms)
    solver.add(*model.constraints(), *conditions, z3.Or(value < 0, value + lanes > limit))
    outcome = solver.check()
    if outcome == z3.unsat:
        return IndexReport(access, index, Verdict.PROVED)
    if outcome == z3.unknown:
        return IndexReport(access, index, Verdict.TIMEOUT, solver.reason_unknown())
    found = solver.model().eval(value, model_completion=True)
    return IndexReport(access, index, Verdict.VIOLATED, f"position {found} is possible")


def check_accesses(uops: Iterable[UOp] | UOp) -> list[IndexReport]:
    """Judge every LOAD and STORE of a kernel or a linear program.

    Args:
        uops: the nodes, or the root of a graph.

    Returns:
        One report for each access with an INDEX, in order.
    """
    nodes = uops.toposort() if isinstance(uops, UOp) else uops
    reports: list[IndexReport] = []
    for node in nodes:
        if node.op not in (Ops.LOAD, Ops.STORE) or node.src[0].op is not Ops.INDEX:
            continue
        gate = node.src[2] if len(node.src) > 2 else None
        reports.append(prove_index(node.src[0], gate, node))
    return reports


def require_in_bounds(uops: Iterable[UOp] | UOp, stage: str = "") -> list[IndexReport]:
    """Judge every access, and refuse the kernel when one is not shown to stay inside.

    Args:
        uops: the nodes, or the root of a graph.
        stage: the pass whose result this is, for the message.

    Returns:
        The reports, all of them safe.

    Raises:
        SpecError: listing every access that is not.
    """
    reports = check_accesses(uops)
    unsafe = [str(report) for report in reports if not report.safe]
    if unsafe:
        raise SpecError("\n  ".join([f"{stage or 'CHECK_OOB'}: accesses out of bounds", *unsafe]))
    return reports
