"""Patterns that describe a shape of graph, and matchers: ordered lists of (pattern, function)."""

from __future__ import annotations

import inspect
import itertools
from typing import TYPE_CHECKING, Any, TypeAlias

from tg_core.dtype import DType, dtypes
from tg_core.uop.opcodes import GroupOp, Ops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tg_core.uop.uop import UOp

    Rewrite: TypeAlias = Callable[..., UOp | None]

_UNSET: Any = object()


class UPat:
    """A pattern of one node and its sources.

    Args:
        op: an operation, several of them, or None for any.
        src: None accepts any sources; a tuple matches them in order; a list in any order; one
            pattern matches every source.
        arg: the argument, compared by `==`.
        name: the function's parameter that receives the node; a name used twice must be the same
            node.
        dtype: a dtype, or several of them.
        allow_any_len: the node may have more sources than the tuple.
    """

    def __init__(
        self,
        op: Ops | Iterable[Ops] | None = None,
        src: tuple[UPat, ...] | list[UPat] | UPat | None = None,
        arg: Any = _UNSET,
        name: str | None = None,
        dtype: DType | Iterable[DType] | None = None,
        allow_any_len: bool = False,
    ) -> None:
        self.ops: tuple[Ops, ...] | None = (
            None if op is None else (op,) if isinstance(op, Ops) else tuple(sorted(op))
        )
        self.src = src
        self.arg = arg
        self.name = name
        self.dtypes: tuple[DType, ...] | None = (
            None if dtype is None else (dtype,) if isinstance(dtype, DType) else tuple(dtype)
        )
        self.allow_any_len = allow_any_len
        self.constant: Any = _UNSET
        self.is_constant = False
        self.alternatives: tuple[UPat, ...] = ()

    # ---- constructors

    @staticmethod
    def var(name: str | None = None, dtype: DType | Iterable[DType] | None = None) -> UPat:
        """Return a pattern of any node."""
        return UPat(None, name=name, dtype=dtype)

    @staticmethod
    def cvar(name: str | None = None, dtype: DType | Iterable[DType] | None = None) -> UPat:
        """Return a pattern of a constant: CONST, or CAST around one."""
        pattern = UPat(None, name=name, dtype=dtype)
        pattern.is_constant = True
        return pattern

    @staticmethod
    def const(value: Any, dtype: DType | Iterable[DType] | None = None) -> UPat:
        """Return a pattern of a constant of this value, whatever its width."""
        pattern = UPat.cvar(dtype=dtype)
        pattern.constant = value
        return pattern

    @staticmethod
    def any(*patterns: UPat) -> UPat:
        """Return a pattern that accepts what one of these accepts."""
        pattern = UPat(None)
        pattern.alternatives = patterns
        return pattern

    def named(self, name: str) -> UPat:
        """Return the pattern with a name."""
        other = UPat(self.ops, self.src, self.arg, name, self.dtypes, self.allow_any_len)
        other.constant = self.constant
        other.is_constant = self.is_constant
        other.alternatives = self.alternatives
        return other

    # ---- operators build patterns of their operation

    def _alu(self, op: Ops, *others: UPat | bool | int | float, reverse: bool = False) -> UPat:
        operands = [self, *(o if isinstance(o, UPat) else UPat.const(o) for o in others)]
        if reverse:
            operands.reverse()
        return UPat(op, operands if op in GroupOp.Commutative else tuple(operands))

    def __add__(self, other: UPat | float) -> UPat:
        return self._alu(Ops.ADD, other)

    def __radd__(self, other: float) -> UPat:
        return self._alu(Ops.ADD, other)

    def __sub__(self, other: UPat | float) -> UPat:
        return self._alu(Ops.SUB, other)

    def __rsub__(self, other: float) -> UPat:
        return self._alu(Ops.SUB, other, reverse=True)

    def __mul__(self, other: UPat | float) -> UPat:
        return self._alu(Ops.MUL, other)

    def __rmul__(self, other: float) -> UPat:
        return self._alu(Ops.MUL, other)

    def __truediv__(self, other: UPat | float) -> UPat:
        return self._alu(Ops.FDIV, other)

    def __floordiv__(self, other: UPat | int) -> UPat:
        return self._alu(Ops.FLOORDIV, other)

    def __mod__(self, other: UPat | int) -> UPat:
        return self._alu(Ops.FLOORMOD, other)

    def __lt__(self, other: UPat | float) -> UPat:
        return self._alu(Ops.CMPLT, other)

    def __gt__(self, other: UPat | float) -> UPat:
        return self._alu(Ops.CMPLT, other, reverse=True)

    def __and__(self, other: UPat | int) -> UPat:
        return self._alu(Ops.AND, other)

    def __or__(self, other: UPat | int) -> UPat:
        return self._alu(Ops.OR, other)

    def __xor__(self, other: UPat | int) -> UPat:
        return self._alu(Ops.XOR, other)

    def __lshift__(self, other: UPat | int) -> UPat:
        return self._alu(Ops.SHL, other)

    def __rshift__(self, other: UPat | int) -> UPat:
        return self._alu(Ops.SHR, other)

    def ne(self, other: UPat | float) -> UPat:
        """Return a pattern of CMPNE."""
        return self._alu(Ops.CMPNE, other)

    def eq(self, other: UPat | float) -> UPat:
        """Return a pattern of CMPEQ."""
        return self._alu(Ops.CMPEQ, other)

    def maximum(self, other: UPat | float) -> UPat:
        """Return a pattern of MAX."""
        return self._alu(Ops.MAX, other)

    def where(self, if_true: UPat | float, if_false: UPat | float) -> UPat:
        """Return a pattern of WHERE with this pattern as the condition."""
        return self._alu(Ops.WHERE, if_true, if_false)

    def cast(self, dtype: DType | None = None, name: str | None = None) -> UPat:
        """Return a pattern of CAST, to `dtype` when given."""
        return UPat(Ops.CAST, (self,), _UNSET if dtype is None else dtype, name)

    def load(self, name: str | None = None) -> UPat:
        """Return a pattern of an ungated LOAD."""
        return UPat(Ops.LOAD, (self,), name=name)

    # ---- compilation

    def variants(self) -> Iterator[UPat]:
        """Yield patterns without alternatives or unordered sources that together accept what
        this one accepts.
        """
        if self.alternatives:
            for alternative in self.alternatives:
                for variant in alternative.variants():
                    yield variant.named(self.name) if self.name else variant
            return
        if self.src is None or isinstance(self.src, UPat):
            yield self
            return
        orders = itertools.permutations(self.src) if isinstance(self.src, list) else (self.src,)
        for order in orders:
            for sources in itertools.product(*(tuple(s.variants()) for s in order)):
                variant = self.named(self.name) if self.name else self.named("")
                variant.src = tuple(sources)
                yield variant


class PatternMatcher:
    """An ordered list of `(pattern, function)`; the first function that returns a node wins.

    A function's parameters name the pattern's nodes; a parameter `ctx` receives the context of the
    rewrite. It returns the replacement, or None to decline. Matchers add with `+` and are
    immutable. Each is compiled, per operation on first use, to straight-line Python.

    Args:
        rules: the rules, in order.
        mark: for rules that look at nothing but the node: the entry of a node's dictionary that
            says that its whole graph is final under them, so that no rewrite enters it again. A sum
            of matchers has none.
    """

    def __init__(self, rules: Iterable[tuple[UPat, Rewrite]] = (), mark: str | None = None) -> None:
        self.rules: tuple[tuple[UPat, Rewrite], ...] = tuple(rules)
        self.mark = mark
        self._table: list[Any] = [_UNSET] * (max(Ops) + 1)

    def __add__(self, other: PatternMatcher) -> PatternMatcher:
        return PatternMatcher((*self.rules, *other.rules))

    def for_op(self, op: Ops) -> Callable[[UOp, Any], UOp | None] | None:
        """Return the compiled function of the rules that can match `op`, or None when there is
        none.
        """
        found: Callable[[UOp, Any], UOp | None] | None = self._table[op]
        if found is _UNSET:
            found = self._table[op] = _compile(self.rules, op, None)
        return found

    def rewrite(self, node: UOp, ctx: Any = None) -> UOp | None:
        """Return the first replacement of the node, or None."""
        function = self.for_op(node.op)
        return None if function is None else function(node, ctx)

    def traced(
        self, op: Ops, fired: Callable[[Rewrite, UOp, UOp], None]
    ) -> Callable[[UOp, Any], UOp | None] | None:
        """Return a compiled function like `for_op`'s that reports each rule that fires."""
        return _compile(self.rules, op, fired)


class _Emitter:
    """Writes the checks of one rule variant as conditions over local variables."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self.conditions: list[tuple[str, str]] = []
        """Pairs (assignments to run before, condition)."""
        self.names: dict[str, str] = {}
        self.count = 0
        self.known_sources: tuple[str, ...] | None = None
        """Locals that hold the matched node's sources, if the operation fixes their number."""

    def constant(self, value: Any) -> str:
        name = f"k{len(self.namespace)}"
        self.namespace[name] = value
        return name

    def check(self, condition: str, before: str = "") -> None:
        self.conditions.append((before, condition))

    def emit(self, pattern: UPat, node: str, op_known: bool) -> None:
        if pattern.ops is not None and not op_known:
            if len(pattern.ops) == 1:
                self.check(f"{_op_of(node)} == {int(pattern.ops[0])}")
            else:
                self.check(f"{_op_of(node)} in {self.constant(frozenset(pattern.ops))}")
        if pattern.is_constant:
            self.check(
                f"({_op_of(node)} == {int(Ops.CONST)} or {_op_of(node)} == {int(Ops.CAST)}"
                f" and {node}.const_value is not None)"
            )
            if pattern.constant is not _UNSET:
                self.check(f"{node}.const_value == {self.constant(pattern.constant)}")
        if pattern.dtypes is not None:
            if len(pattern.dtypes) == 1:
                self.check(f"{node}.dtype is {self.constant(pattern.dtypes[0])}")
            else:
                self.check(f"{node}.dtype in {self.constant(frozenset(pattern.dtypes))}")
        if pattern.arg is not _UNSET:
            self.check(f"{node}.arg == {self.constant(pattern.arg)}")
        if pattern.name:
            known = self.names.get(pattern.name)
            if known is not None:
                self.check(f"{node} is {known}")
            else:
                self.names[pattern.name] = node
        if pattern.src is None:
            return
        self.count += 1
        sources = f"s{self.count}"
        if isinstance(pattern.src, UPat):
            check = self.constant(_single_matcher(pattern.src))
            self.check(f"all({check}(s, None) is not None for s in {node}.src)")
            return
        if node == "u" and self.known_sources is not None:
            self.emit_sources(pattern.src, self.known_sources)
            return
        compare = ">=" if pattern.allow_any_len else "=="
        self.check(f"len({sources}) {compare} {len(pattern.src)}", f"{sources} = {node}.src")
        inner = []
        for i, source in enumerate(pattern.src):
            assert isinstance(source, UPat)
            if _is_trivial(source):
                if source.name:
                    inner.append((source, f"{sources}[{i}]"))
                continue
            local = f"n{self.count}_{i}"
            inner.append((source, local))
        for _, local in inner:
            if local.startswith("n"):
                index = local.rsplit("_", 1)[1]
                self.check("True", f"{local} = {sources}[{index}]")
        for source, local in sorted(inner, key=_cost):
            self.emit(source, local, False)

    def emit_sources(self, patterns: Any, local_names: tuple[str, ...]) -> None:
        """Check sources that are already in local variables, the cheapest to reject first."""
        pairs = [
            (pattern, name)
            for pattern, name in zip(patterns, local_names)
            if pattern.name or not _is_trivial(pattern)
        ]
        for pattern, name in sorted(pairs, key=_cost):
            self.emit(pattern, name, False)


def _op_of(node: str) -> str:
    """Return the source text of a node's operation; `x0` has it in `o0`."""
    return f"o{node[1:]}" if node[0] == "x" else f"{node}.op"


def _arity(op: Ops) -> int | None:
    """Return the number of sources that every node of an operation has, or None when it varies."""
    if op in GroupOp.Unary or op in (Ops.CAST, Ops.BITCAST):
        return 1
    if op in GroupOp.Binary:
        return 2
    return 3 if op in GroupOp.Ternary else None


def _fits_arity(pattern: UPat, arity: int | None) -> bool:
    """Tell whether a pattern's number of sources can be that of the operation."""
    if arity is None or not isinstance(pattern.src, tuple) or len(pattern.src) == arity:
        return True
    return pattern.allow_any_len and len(pattern.src) < arity


def _is_trivial(pattern: UPat) -> bool:
    """Tell whether the pattern accepts every node, so that only its name matters."""
    return (
        pattern.ops is None
        and pattern.src is None
        and pattern.arg is _UNSET
        and pattern.dtypes is None
        and not pattern.is_constant
    )


def _cost(item: tuple[UPat, str]) -> int:
    """Order sibling checks: those on the operation alone reject most cheaply."""
    pattern = item[0]
    if pattern.ops is not None:
        return 0 if pattern.src is None else 1
    return 1 if pattern.is_constant else 2


def _single_matcher(pattern: UPat) -> Callable[[UOp, Any], UOp | None]:
    """Return a function whose result is not None when the pattern accepts a node."""

    def accept() -> Any:
        # not the node: a rule that returns what it was given has declined
        return True

    return PatternMatcher([(pattern, accept)]).rewrite


def _compile(
    rules: tuple[tuple[UPat, Rewrite], ...],
    op: Ops,
    fired: Callable[[Rewrite, UOp, UOp], None] | None,
) -> Callable[[UOp, Any], UOp | None] | None:
    namespace: dict[str, Any] = {"fired": fired}
    lines: list[str] = []
    arity = _arity(op)
    known = None if arity is None else tuple(f"x{i}" for i in range(arity))
    for pattern, function in rules:
        for variant in pattern.variants():
            if not _may_match(variant, op) or not _fits_arity(variant, arity):
                continue
            emitter = _Emitter(namespace)
            emitter.known_sources = known
            emitter.emit(variant, "u", variant.ops is not None)
            target = emitter.constant(function)
            arguments = []
            for parameter in inspect.signature(function).parameters:
                if parameter == "ctx":
                    arguments.append("ctx")
                elif parameter in emitter.names:
                    arguments.append(emitter.names[parameter])
                else:
                    raise TypeError(
                        f"rule {function.__qualname__}: the pattern has no node named {parameter}"
                    )
            indent = "  "
            for before, condition in emitter.conditions:
                if before:
                    lines.append(f"{indent}{before}")
                if condition != "True":
                    lines.append(f"{indent}if {condition}:")
                    indent += " "
            lines.append(f"{indent}r = {target}({', '.join(arguments)})")
            lines.append(f"{indent}if r is not None and r is not u:")
            if fired is not None:
                lines.append(f"{indent} fired({target}, u, r)")
            lines.append(f"{indent} return r")
    if not lines:
        return None
    if known is not None:
        prelude = [
            "  sources = u.src",
            f"  if len(sources) != {arity}:",
            "   return None",
            f"  {', '.join(known)}, = sources",
            *(f"  {_op_of(name)} = {name}.op" for name in known),
        ]
        lines = prelude + lines
    source = "def match(u, ctx):\n" + "\n".join(lines) + "\n  return None\n"
    exec(compile(source, f"<matcher for {op.name}>", "exec"), namespace)
    match: Callable[[UOp, Any], UOp | None] = namespace["match"]
    return match


def _may_match(pattern: UPat, op: Ops) -> bool:
    if pattern.ops is not None:
        return op in pattern.ops
    if pattern.is_constant:
        return op in (Ops.CONST, Ops.CAST)
    if pattern.dtypes is not None and op in GroupOp.Void:
        return dtypes.void in pattern.dtypes
    return True
