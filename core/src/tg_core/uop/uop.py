"""The node of the intermediate representation: immutable, interned, all else derived."""

from __future__ import annotations

import itertools
import math
import threading
import weakref
from typing import TYPE_CHECKING, Any, TypeAlias

from tg_core.dtype import (
    ConstType,
    DType,
    DTypeLike,
    Invalid,
    InvalidType,
    PyConst,
    dtypes,
    to_dtype,
    truncate,
)
from tg_core.support.digest import blake2b
from tg_core.uop.args import BufferArg, CallInfo, ParamArg
from tg_core.uop.bounds import bounds_of
from tg_core.uop.derive import derived
from tg_core.uop.graph import substitute_many, toposort
from tg_core.uop.mixin import OpMixin
from tg_core.uop.opcodes import AddrSpace, AxisType, GroupOp, Ops
from tg_core.uop.properties import device_of, ranges_of
from tg_core.uop.shapes import (
    decode_movement,
    dtype_of,
    encode_movement,
    shape_of,
    sint_max,
    sint_simplify,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


class _Entry(weakref.ref["UOp"]):
    """A weak reference that knows under which key its node is interned."""

    __slots__ = ("key",)
    key: tuple[Any, ...]


_interned: dict[tuple[Any, ...], _Entry] = {}
_changing = threading.RLock()
"""Held where an entry of `_interned` is removed or replaced. Adding one is atomic by itself."""


def _forget(
    entry: _Entry,
    table: dict[tuple[Any, ...], _Entry] = _interned,
    changing: threading.RLock = _changing,
) -> None:
    # defaults are still there when the module's names are gone, at the end of the process
    with changing:
        if table.get(entry.key) is entry:
            del table[entry.key]


def _lost_race(node: UOp, entry: _Entry, kept: _Entry) -> UOp:
    """Return the node that all threads use for a key, when another entry was there first."""
    while kept is not entry:
        found = kept()
        if found is not None:
            return found
        _forget(kept)
        kept = _interned.setdefault(entry.key, entry)
    return node


def _identity(arg: Any) -> Any:
    """Return what interning compares of an argument: type as well as value, floats by bit
    pattern.
    """
    kind = type(arg)
    if kind is tuple:
        kinds = set(map(type, arg))
        if kinds <= {int}:
            return arg
        return (tuple, *map(_identity, arg))
    if kind is float:
        if arg == 0.0:
            return (float, "-0" if math.copysign(1.0, arg) < 0 else "0")
        return (float, "nan") if arg != arg else (float, arg)
    if kind is bool or kind is int:
        return (kind, arg)
    return arg


creation_check: list[Callable[[UOp], None]] = []
"""Called with every new node; `SPEC=2` puts the verifier here."""


class UOp(OpMixin):
    """One node: operation, sources, argument and tag.

    Equal nodes are the same object, so identity is equality and graphs share structure. Nodes are
    held weakly by the table that interns them.

    Args:
        op: the operation.
        src: the nodes it reads, in the order `docs/ir.md` gives.
        arg: what is not a node; hashable.
        tag: a mark that makes otherwise equal nodes different.
    """

    op: Ops
    src: tuple[UOp, ...]
    arg: Any
    tag: Any

    def __new__(cls, op: Ops, src: tuple[UOp, ...] = (), arg: Any = None, tag: Any = None) -> UOp:
        key = (
            op,
            src,
            arg if arg is None else _identity(arg),
            tag if tag is None else _identity(tag),
        )
        entry = _interned.get(key)
        if entry is not None:
            found = entry()
            if found is not None:
                return found
        node = object.__new__(cls)
        node.op = op
        node.src = src
        node.arg = math.nan if type(arg) is float and arg != arg else arg
        node.tag = tag
        for check in creation_check:
            check(node)
        entry = _Entry(node, _forget)
        entry.key = key
        kept = _interned.setdefault(key, entry)
        return node if kept is entry else _lost_race(node, entry, kept)

    def __reduce__(self) -> tuple[Any, ...]:
        # a flat list of rows, because pickle itself would recurse into the sources
        order = self.toposort()
        number = {node: i for i, node in enumerate(order)}
        return _rebuild, (
            tuple((n.op, tuple(number[s] for s in n.src), n.arg, n.tag) for n in order),
        )

    def __copy__(self) -> UOp:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> UOp:
        return self

    def __repr__(self) -> str:
        from tg_core.uop.printer import to_source

        return to_source(self)

    # ---- derived properties

    @derived
    def dtype(self) -> DType:
        """The scalar dtype of the value; void for effects."""
        return dtype_of(self)

    @derived
    def shape(self) -> tuple[sint, ...]:
        """Sizes of the axes, ints or symbolic nodes."""
        return shape_of(self)

    @derived
    def device(self) -> str | tuple[str, ...] | None:
        """Where the value lives; None for constants and other values without storage."""
        return device_of(self)

    @derived
    def ranges(self) -> tuple[UOp, ...]:
        """The RANGEs this value depends on that no END or REDUCE has closed, in order of first
        use.
        """
        return ranges_of(self)

    @derived
    def bounds(self) -> tuple[PyConst, PyConst]:
        """Least and greatest value, never wrong, possibly loose."""
        return bounds_of(self)

    @derived
    def key(self) -> bytes:
        """A structural hash, the same in every process."""
        digest = blake2b(digest_size=16)
        digest.update(f"{self.op.name}|{self.arg!r}|{self.tag!r}|{len(self.src)}".encode())
        for source in self.src:
            digest.update(source.key)
        return digest.digest()

    @property
    def vmin(self) -> PyConst:
        """The least value this node can take."""
        return self.bounds[0]

    @property
    def vmax(self) -> PyConst:
        """The greatest value this node can take."""
        return self.bounds[1]

    @property
    def max_shape(self) -> tuple[int, ...]:
        """The shape with every symbolic size at its greatest."""
        return tuple(sint_max(s) for s in self.shape)

    @property
    def marg(self) -> tuple[Any, ...]:
        """The argument of a movement with its symbolic entries filled in."""
        return decode_movement(self.arg, self.src)

    @property
    def const_value(self) -> ConstType | None:
        """The Python value of a CONST, or of CASTs around one as the width stores it; None for
        anything else.
        """
        if self.op is Ops.CONST:
            value: ConstType = self.arg
            return value
        if self.op is not Ops.CAST:
            return None
        casts = [self]
        while casts[-1].src[0].op is Ops.CAST:
            casts.append(casts[-1].src[0])
        constant = casts[-1].src[0]
        if constant.op is not Ops.CONST:
            return None
        value = constant.arg
        if value is Invalid:
            return value
        for cast in reversed(casts):
            value = truncate(value, cast.arg)  # type: ignore[arg-type]  # Invalid was handled above
        return value

    @property
    def base(self) -> UOp:
        """The node under all movement ops."""
        node = self
        while node.op in GroupOp.Movement:
            node = node.src[0]
        return node

    # ---- graph

    def toposort(self, gate: Callable[[UOp], bool] | None = None) -> list[UOp]:
        """Return this node and everything it reads, sources before their readers.

        Args:
            gate: nodes for which it is False are listed, but their sources are not visited through
                them.
        """
        return toposort((self,), gate)

    def replace(self, **changes: Any) -> UOp:
        """Return the node with some of `op`, `src`, `arg`, `tag` changed."""
        return UOp(
            changes.get("op", self.op),
            changes.get("src", self.src),
            changes.get("arg", self.arg),
            changes.get("tag", self.tag),
        )

    def substitute(self, mapping: Mapping[UOp, UOp], enter_calls: bool = False) -> UOp:
        """Return the graph with every node of `mapping` replaced; replacements are not searched
        again.

        Args:
            mapping: old node to new node.
            enter_calls: also replace inside the bodies of CALLs.
        """
        return substitute_many((self,), mapping, enter_calls)[0]

    # ---- constructors

    @staticmethod
    def const(value: ConstType | UOp, dtype: DType | None = None) -> UOp:
        """Return a constant; with a concrete dtype, a CAST around it."""
        if isinstance(value, UOp):
            return value if dtype is None else value.cast(dtype)
        if dtype is None or isinstance(value, InvalidType):
            return UOp(Ops.CONST, (), value)
        if dtype is dtypes.bool:
            return UOp(Ops.CONST, (), bool(value))
        if dtypes.is_float(dtype):
            node = UOp(Ops.CONST, (), float(value))
            return node if dtype is dtypes.weakfloat else UOp(Ops.CAST, (node,), dtype)
        if isinstance(value, float):
            value = truncate(value, dtypes.int64)
        node = UOp(Ops.CONST, (), int(value))
        return node if dtype is dtypes.weakint else UOp(Ops.CAST, (node,), dtype)

    @staticmethod
    def range(
        size: sint, axis_id: int | tuple[int, ...], axis_type: AxisType = AxisType.LOOP
    ) -> UOp:
        """Return a loop variable in `[0, size)`; ids make loops of equal size different."""
        ids = (axis_id,) if isinstance(axis_id, int) else axis_id
        count = to_uop(size)
        if count.op in GroupOp.Binary:
            # in canonical form, else simplifying an index would make another loop of this one
            count = to_uop(sint_simplify(count))
        return UOp(Ops.RANGE, (count,), (*ids, axis_type))

    @staticmethod
    def special(size: sint, name: str) -> UOp:
        """Return the index of a work item along `name` (`gidx0`, `lidx1`, ...)."""
        return UOp(Ops.SPECIAL, (to_uop(size),), name)

    @staticmethod
    def param(
        slot: int,
        dtype: DType,
        shape: tuple[int, ...],
        device: str | None = None,
        addrspace: AddrSpace = AddrSpace.GLOBAL,
        tag: Any = None,
    ) -> UOp:
        """Return positional storage argument `slot` of a call body."""
        return UOp(Ops.PARAM, (), ParamArg(slot, dtype, shape, device, addrspace=addrspace), tag)

    @staticmethod
    def variable(
        name: str, low: PyConst, high: PyConst, dtype: DType = dtypes.weakint, slot: int = -1
    ) -> UOp:
        """Return a scalar variable within inclusive bounds; `bind` gives it a value."""
        return UOp(Ops.PARAM, (), ParamArg(slot, dtype, (), None, name, (low, high)))

    @staticmethod
    def buffer(size: int, dtype: DType, device: str | None, slot: int | None = None) -> UOp:
        """Return storage; without a slot it is a fresh unbound declaration with a globally
        decreasing negative slot.
        """
        return UOp(
            Ops.BUFFER, (), BufferArg(next(_fresh) if slot is None else slot, dtype, size, device)
        )

    @staticmethod
    def register(size: int, dtype: DType, slot: int) -> UOp:
        """Return a private array of one work item."""
        return UOp(Ops.BUFFER, (), BufferArg(slot, dtype, size, None, AddrSpace.REG))

    @staticmethod
    def local(size: int, dtype: DType, slot: int) -> UOp:
        """Return an array shared by a group of work items."""
        return UOp(Ops.BUFFER, (), BufferArg(slot, dtype, size, None, AddrSpace.LOCAL))

    @staticmethod
    def sink(*src: UOp, arg: Any = None) -> UOp:
        """Return the root that collects effects."""
        return UOp(Ops.SINK, src, arg)

    @staticmethod
    def group(*src: UOp) -> UOp:
        """Return the effects as one; a single effect is itself."""
        return src[0] if len(src) == 1 else UOp(Ops.GROUP, src)

    @staticmethod
    def stack_of(*src: UOp) -> UOp:
        """Return the values as lanes along a new leading axis."""
        return UOp(Ops.STACK, src)

    @staticmethod
    def call(body: UOp, *args: UOp, info: CallInfo | None = None) -> UOp:
        """Return a call of a body with arguments by position."""
        return UOp(Ops.CALL, (body, *args), info or CallInfo())

    def index(self, position: sint, lanes: int | None = None) -> UOp:
        """Return the element at `position`, or `lanes` consecutive elements from it."""
        return UOp(Ops.INDEX, (self, to_uop(position)), lanes)

    def load(self, alt: UOp | None = None, gate: UOp | None = None) -> UOp:
        """Return the value at this INDEX; `alt` where `gate` is false."""
        if gate is None:
            return UOp(Ops.LOAD, (self,))
        return UOp(Ops.LOAD, (self, UOp.const(0, self.dtype) if alt is None else alt, gate))

    def store(self, value: UOp, gate: UOp | None = None) -> UOp:
        """Return the write of `value` to this target where `gate` holds."""
        return UOp(Ops.STORE, (self, value) if gate is None else (self, value, gate))

    def end(self, *ranges: UOp) -> UOp:
        """Close loops around this effect, the last given innermost; without ranges, the node
        itself.
        """
        return UOp(Ops.END, (self, *ranges)) if ranges else self

    def after(self, *deps: UOp) -> UOp:
        """Return this value once the effects have happened; without effects, the node itself."""
        return UOp(Ops.AFTER, (self, *deps)) if deps else self

    def reduce(self, op: Ops, *ranges: UOp) -> UOp:
        """Combine the value over kernel ranges."""
        return UOp(Ops.REDUCE, (self, *ranges), op) if ranges else self

    def bind(self, value: int) -> UOp:
        """Give a variable its value for this run.

        Raises:
            ValueError: the node is no integer variable, or the value lies outside of its bounds.
        """
        if self.op is not Ops.PARAM or self.arg.bounds is None or dtypes.is_float(self.dtype):
            found = f"{self.op.name} of {self.dtype.name}"
            raise ValueError(f"bind: expected an integer variable, found {found}")
        low, high = self.arg.bounds
        if not low <= value <= high:
            raise ValueError(f"bind: {self.arg.name} must lie in [{low}, {high}], found {value}")
        return UOp(Ops.BIND, (self, UOp.const(value)))

    def unbind(self) -> tuple[UOp, int]:
        """Return the variable and the value of a BIND."""
        if self.op is not Ops.BIND:
            raise ValueError(f"unbind: expected a bound variable, found {self.op.name}")
        return self.src[0], int(self.src[1].arg)

    # ---- what the op surface builds on

    def _apply(self, op: Ops, others: tuple[UOp, ...] = (), arg: Any = None) -> UOp:
        return UOp(op, (self, *others), arg)

    def _const(self, value: ConstType | UOp, dtype: DType | None = None) -> UOp:
        return UOp.const(value, dtype)

    def _movement(self, op: Ops, arg: tuple[Any, ...]) -> UOp:
        encoded, symbolic = encode_movement(arg)
        node = UOp(op, (self, *symbolic), encoded)
        node.shape  # noqa: B018 - a wrong argument fails here, at the call that caused it
        return node

    def cast(self, dtype: DTypeLike) -> UOp:
        """Convert to another dtype; the node itself when it has it already."""
        target = to_dtype(dtype)
        return self if self.dtype is target else UOp(Ops.CAST, (self,), target)

    def bitcast(self, dtype: DTypeLike) -> UOp:
        """Read the bytes as another dtype; the last axis scales when the sizes differ."""
        target = to_dtype(dtype)
        if self.dtype is target:
            return self
        node = UOp(Ops.BITCAST, (self,), target)
        node.shape  # noqa: B018 - a size that does not fit fails here
        return node

    def alu(self, op: Ops, *src: UOp) -> UOp:
        """Apply an elementwise operation without conversions or broadcasting."""
        return UOp(op, (self, *src))

    def copy_to(self, device: str | tuple[str, ...]) -> UOp:
        """Return the value on another device."""
        return UOp(Ops.COPY, (self,), device)

    def contiguous(self) -> UOp:
        """Mark the value to be computed in contiguous layout."""
        return UOp(Ops.CONTIGUOUS, (self,))

    def detach(self) -> UOp:
        """Return the value cut off from gradients."""
        return UOp(Ops.DETACH, (self,))

    def contiguous_backward(self) -> UOp:
        """Return the value with its gradient computed in contiguous layout."""
        return UOp(Ops.CONTIGUOUS_BACKWARD, (self,))

    def rop(self, op: Ops, axes: Iterable[int]) -> UOp:
        """Reduce over axes, which stay with size 1."""
        ordered = tuple(sorted(axes))
        return UOp(Ops.REDUCE_AXIS, (self,), (op, ordered)) if ordered else self


sint: TypeAlias = int | UOp
_fresh = itertools.count(-1, -1)


def to_uop(value: sint) -> UOp:
    """Return a size or index as a node."""
    return value if isinstance(value, UOp) else UOp.const(value)


def Variable(name: str, low: int, high: int, dtype: DType = dtypes.weakint) -> UOp:
    """Return a scalar variable in `[low, high]`.

    Raises:
        ValueError: the bounds are empty.
    """
    if low > high:
        raise ValueError(f"variable {name}: low {low} is above high {high}")
    return UOp.variable(name, low, high, dtype)


def _rebuild(rows: tuple[tuple[Any, ...], ...]) -> UOp:
    nodes: list[UOp] = []
    for op, src, arg, tag in rows:
        nodes.append(UOp(op, tuple(nodes[i] for i in src), arg, tag))
    return nodes[-1]
