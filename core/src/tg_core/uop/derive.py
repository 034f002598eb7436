"""Properties derived from a node's sources, computed once per node and without recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg_core.uop.uop import UOp

T = TypeVar("T")


class derived(Generic[T]):  # noqa: N801 - used as a decorator
    """A property whose function may read the same property of the node's sources.

    The value is kept in the instance dictionary, where later reads find it without entering this
    descriptor. Sources are computed first, on an explicit stack, so depth of the graph is not
    bounded by Python's recursion limit.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function = function
        self.name = function.__name__
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, node: None, owner: type) -> derived[T]: ...
    @overload
    def __get__(self, node: UOp, owner: type | None = None) -> T: ...
    def __get__(self, node: UOp | None, owner: type | None = None) -> T | derived[T]:
        if node is None:
            return self
        name = self.name
        for source in node.src:
            if name not in source.__dict__:
                if source.src:
                    break
                source.__dict__[name] = self.function(source)
        else:
            # nearly always: graphs are built and rewritten sources first
            value: T = self.function(node)
            node.__dict__[name] = value
            return value
        stack = [node]
        while stack:
            current = stack[-1]
            values = current.__dict__
            if name in values:
                stack.pop()
                continue
            pending = [s for s in current.src if name not in s.__dict__]
            if pending:
                stack.extend(pending)
            else:
                values[name] = self.function(current)
                stack.pop()
        result: T = node.__dict__[name]
        return result
