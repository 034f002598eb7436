"""Decide which values of a tensor graph get storage of their own, and so where kernels begin and
end.

Values are visited from their readers down. Each carries the accesses its readers make; a value is
materialised when computing it once per access would repeat expensive work, or when a kernel could
not be optimised with it inside:

* a reduction of stored data that is read in more than one way, or through windows that overlap;
* a value that a reduction reads once for every element of an axis it does not depend on (the
  operand of a matrix product), when it costs more than a load;
* a reduction inside the loop of another reduction;
* anything whose repeated evaluation costs more than a store and a load.

A reduction that only depends on some of a kernel's output loops may stay inside (a row of a
softmax), when the device has no grid of work items that would each repeat it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tg_core.dtype import dtypes
from tg_core.schedule.graph_facts import Facts, cost_of, is_materialised, is_state
from tg_core.schedule.indexing import Access, full_access, is_injective, through_movement
from tg_core.schedule.views import contiguous_view, is_whole_view
from tg_core.uop.ops import AxisType, GroupOp, Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

REPEAT_BUDGET = 200
"""Operations per element that may be repeated rather than stored and loaded."""
CHEAP_OPERAND = 2
"""Operations that an operand of a matrix product or a window may cost inside the loops that repeat
it.
"""
CHEAP_INDEX = 4
"""The same for integers: counting a negative index from the end takes that many at most."""
FEW_ELEMENTS = 1 << 15
"""Output elements below which one thread is enough."""
ENOUGH_ROWS = 16
"""Rows that keep the threads busy when each is reduced by one of them."""
PADDING_REPEATS = 4
"""Times a reduction reads each element of a padded operand from which on padding it first pays."""
ROW_WORK = 4
"""How many times more elements a reduction inside a row kernel may visit than the kernel writes."""
ROW_VALUES = 256
"""Values looked at to find the reductions that a row kernel would share."""


MOST_ROWS = 16
"""Reductions that a row kernel may hold: compilation takes more than twice as long for twice as
many.
"""


@dataclass
class Kernel:
    """A kernel under construction: its output loops, and the loop sets its inner reductions depend
    on.
    """

    ranges: tuple[UOp, ...] = ()
    rows: list[frozenset[UOp]] = field(default_factory=list)
    outer: dict[UOp, frozenset[UOp]] = field(default_factory=dict)
    """The loops around each reduce loop."""
    ids: Iterator[int] = field(default_factory=itertools.count)
    """Numbers of loops. Those of different kernels may be equal, so that equal kernels ask for
    equal accesses, which `indexing` remembers.
    """

    def loops(self, shape: Sequence[object], kind: AxisType) -> tuple[UOp, ...]:
        """Return fresh loops over the axes that are not of size 1."""
        return tuple(
            UOp.range(size, next(self.ids), kind)  # type: ignore[arg-type]  # sizes are sint
            for size in shape
            if size != 1
        )

    @property
    def elements(self) -> int:
        """How many elements the kernel writes at most."""
        return _elements(self.ranges)


@dataclass(frozen=True)
class Demand:
    """One way in which a kernel reads a value."""

    kernel: int
    access: Access


def _elements(ranges: Sequence[UOp] | frozenset[UOp]) -> int:
    total = 1
    for loop in ranges:
        total *= int(loop.vmax) + 1
    return total


class Chooser:
    """One pass over a graph; `materialized` is the result, in the order found."""

    def __init__(self, facts: Facts, row_kernels: bool) -> None:
        self.facts = facts
        self.row_kernels = row_kernels
        self.kernels: list[Kernel] = []
        self.demands: dict[UOp, dict[Demand, None]] = {}
        self.materialized: dict[UOp, None] = {}

    def run(self, order: Sequence[UOp]) -> dict[UOp, None]:
        """Visit a graph, given in topological order."""
        for node in reversed(order):
            if node.op is Ops.STORE:
                self.visit_store(node)
            elif node.op is Ops.CALL:
                self.visit_call(node)
            elif is_state(node):
                continue
            elif node.op is Ops.BITCAST and node.arg.itemsize != node.src[0].dtype.itemsize:
                if not is_whole_view(node.src[0]):
                    self.materialize(node.src[0])
            else:
                self.visit_value(node)
        return self.materialized

    def new_kernel(self, shape: Sequence[object]) -> int:
        """Return the number of a kernel with loops over a shape."""
        kernel = Kernel()
        kernel.ranges = kernel.loops(shape, AxisType.LOOP)
        self.kernels.append(kernel)
        return len(self.kernels) - 1

    def demand(self, node: UOp, kernel: int, access: Access) -> None:
        if not node.shape:
            access = Access((), access.valid)
        self.demands.setdefault(node, {})[Demand(kernel, access)] = None

    def start_kernel(self, value: UOp) -> None:
        number = self.new_kernel(value.shape)
        self.demand(value, number, full_access(value.shape, self.kernels[number].ranges))

    def visit_store(self, node: UOp) -> None:
        value = node.src[1]
        if value.op is Ops.COPY and contiguous_view(node.src[0]) is not None:
            self.visit_copy(value)
            return
        while value.op is Ops.CONTIGUOUS:
            value = value.src[0]
        if not is_state(value.base):
            self.start_kernel(value)

    def visit_call(self, node: UOp) -> None:
        for argument in node.src[1:]:
            if argument.shape and not is_whole_view(argument):
                self.materialize(argument)

    def visit_copy(self, node: UOp) -> None:
        source = node.src[0]
        if contiguous_view(source) is None:
            self.materialize(source)

    def materialize(self, node: UOp) -> None:
        """Give a value storage of its own, unless it is a view of storage already."""
        if not is_state(node):
            self.materialized[node] = None

    def visit_value(self, node: UOp) -> None:
        if node in self.materialized:
            self.open_materialized(node)
            return
        demands = self.demands.get(node)
        if demands is None:
            return
        if self.must_materialize(node, list(demands)):
            self.materialized[node] = None
            self.open_materialized(node)
            return
        for demand in demands:
            self.pass_on(node, demand)

    def open_materialized(self, node: UOp) -> None:
        if node.op is Ops.COPY:
            self.visit_copy(node)
            return
        number = self.new_kernel(node.shape)
        self.pass_on(node, Demand(number, full_access(node.shape, self.kernels[number].ranges)))

    def pass_on(self, node: UOp, demand: Demand) -> None:
        """Turn the access of a node into accesses of its sources."""
        if node.op in GroupOp.Movement:
            self.demand(node.src[0], demand.kernel, through_movement(node, demand.access))
        elif node.op is Ops.REDUCE_AXIS:
            self.demand(node.src[0], demand.kernel, self.reduced_access(node, demand))
        elif node.op is Ops.AFTER:
            self.demand(node.src[0], demand.kernel, demand.access)
        else:
            for source in node.src:
                self.demand(source, demand.kernel, demand.access)

    def reduced_access(self, node: UOp, demand: Demand) -> Access:
        source, access = node.src[0], demand.access
        axes, kernel = node.arg[1], self.kernels[demand.kernel]
        loops = iter(kernel.loops([source.shape[a] for a in axes], AxisType.REDUCE))
        outer = frozenset(access.ranges)
        positions = list(access.positions)
        for axis in axes:
            if source.shape[axis] != 1:
                positions[axis] = next(loops)
                kernel.outer[positions[axis]] = outer
        return Access(tuple(positions), access.valid)

    # ---- the decision

    def must_materialize(self, node: UOp, demands: list[Demand]) -> bool:
        if is_materialised(node) or node in self.facts.cut:
            return True
        if node.op is Ops.PAD:
            return self.row_kernels and any(self.masks_a_product(node, d) for d in demands)
        if node.op in GroupOp.Movement or node.op is Ops.AFTER or not node.src:
            return False
        cost, heavy = self.facts.cost[node], node in self.facts.heavy
        if heavy and len(demands) > 1 and not self.shares_rows(node, demands):
            return True
        allowed = REPEAT_BUDGET // max(len(demands) - 1, 1)
        if len(demands) > 1 and cost > allowed and self.facts.reads[node]:
            # what counts uses is quick to know and too high where values are shared
            if self.distinct_cost(node, allowed) > allowed:
                return True
        return any(self.repeats_work(node, d, heavy, cost) for d in demands)

    def distinct_cost(self, node: UOp, limit: int) -> int:
        """Return how many operations an element takes when those at the same position are shared;
        anything above the limit when it is more.
        """
        total = 0
        seen = {node}
        stack = [node]
        while stack and total <= limit:
            current = stack.pop()
            if current.op in GroupOp.Movement or current.op is Ops.REDUCE_AXIS:
                total += self.facts.cost[current]
                continue
            total += cost_of(current)
            for source in current.src:
                if source not in seen and source not in self.facts.expected:
                    seen.add(source)
                    stack.append(source)
        return total

    def masks_a_product(self, node: UOp, demand: Demand) -> bool:
        """Tell whether a padded operand is read often by a reduction, whose vectors would all
        need masks.
        """
        reduce_loops, repeats = self.repeats(demand)
        return bool(self.facts.reads[node]) and bool(reduce_loops) and repeats >= PADDING_REPEATS

    def repeats(self, demand: Demand) -> tuple[list[UOp], int]:
        """Return the reduce loops of a demand, and how often they read each element."""
        used = demand.access.ranges
        reduce_loops = [r for r in used if r.arg[-1] is AxisType.REDUCE]
        around = self.kernels[demand.kernel].outer
        outer = frozenset().union(*(around[r] for r in reduce_loops))
        return reduce_loops, _elements(outer - set(used))

    def shares_rows(self, node: UOp, demands: list[Demand]) -> bool:
        """Tell whether all demands, of one kernel, need the same elements of the same reductions,
        which the kernel then computes once.
        """
        if (
            not self.row_kernels
            or node.op is Ops.REDUCE_AXIS
            or len({d.kernel for d in demands}) > 1
        ):
            return False
        reached = [self.reductions_reached(node, d.access) for d in demands]
        return reached[0] is not None and all(r == reached[0] for r in reached)

    def reductions_reached(self, node: UOp, access: Access) -> frozenset[tuple[UOp, Access]] | None:
        """Return the reductions of stored data that an element needs, with their accesses; None
        when it needs too much.
        """
        found: set[tuple[UOp, Access]] = set()
        stack = [(node, access)]
        seen = set(stack)
        while stack:
            current, at = stack.pop()
            if current not in self.facts.heavy or (
                current in self.facts.expected and current is not node
            ):
                continue
            if current.op is Ops.REDUCE_AXIS:
                found.add((current, at))
                continue
            if is_materialised(current):
                return None
            inner = through_movement(current, at) if current.op in GroupOp.Movement else at
            for source in current.src if current.op not in GroupOp.Movement else current.src[:1]:
                item = (source, inner if source.shape else Access((), inner.valid))
                if item not in seen:
                    seen.add(item)
                    stack.append(item)
            if len(seen) > ROW_VALUES:
                return None
        return frozenset(found)

    def repeats_work(self, node: UOp, demand: Demand, heavy: bool, cost: int) -> bool:
        """Tell whether computing the node where this demand is would repeat expensive work."""
        cheap = CHEAP_INDEX if dtypes.is_int(node.dtype) else CHEAP_OPERAND
        if not self.facts.reads[node] or not (heavy or cost > cheap):
            return False
        if not is_injective(demand.access):
            return True
        reduce_loops, repeats = self.repeats(demand)
        if reduce_loops and repeats > 1:
            return True
        if node.op is not Ops.REDUCE_AXIS:
            return False
        if reduce_loops:
            return True
        return not self.fits_row(node, demand.kernel, frozenset(demand.access.ranges))

    def fits_row(self, node: UOp, index: int, used: frozenset[UOp]) -> bool:
        """Tell whether a reduction may stay inside a kernel although it does not depend on all
        output loops, and note it.
        """
        kernel = self.kernels[index]
        if used >= set(kernel.ranges):
            return True
        if not self.row_kernels or len(kernel.rows) >= MOST_ROWS:
            return False
        rows = _elements(used)
        work = rows
        for axis in node.arg[1]:
            work *= int(node.src[0].max_shape[axis])
        if kernel.elements > FEW_ELEMENTS and rows < ENOUGH_ROWS:
            return False
        if work > ROW_WORK * kernel.elements:
            return False
        if any(not (used <= other or other <= used) for other in kernel.rows):
            return False
        kernel.rows.append(used)
        return True


def choose_materialized(order: Sequence[UOp], facts: Facts, row_kernels: bool) -> dict[UOp, None]:
    """Return the values that get storage of their own.

    Args:
        order: the graph, sources first; its effects are STOREs into states.
        facts: `collect_facts` of it.
        row_kernels: whether a kernel may hold reductions that not all of its output loops change.
    """
    return Chooser(facts, row_kernels).run(order)
