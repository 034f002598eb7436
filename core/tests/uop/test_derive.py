"""Derived properties are computed once per node, on demand, and without recursion."""

from __future__ import annotations

from typing import Any

import pytest

from tg_core.uop.derive import derived


class Node:
    def __init__(self, *src: Node) -> None:
        self.src = src
        self.computed = 0

    @derived
    def height(self) -> int:
        """Longest way to a leaf."""
        self.computed += 1
        return 1 + max((s.height for s in self.src), default=0)

    @derived
    def broken(self) -> int:
        """Fail once."""
        self.computed += 1
        if self.computed == 1:
            raise ValueError("first time")
        return 7


def test_once_per_node_and_sources_first() -> None:
    leaf = Node()
    left, right = Node(leaf), Node(Node(leaf))
    root: Any = Node(left, right)
    assert root.height == 4
    assert root.height == 4
    assert [n.computed for n in (leaf, left, right, root)] == [1, 1, 1, 1]
    assert Node(root).height == 5
    assert root.computed == 1


def test_depth_is_not_bounded() -> None:
    node = Node()
    for _ in range(100_000):
        node = Node(node, node)
    assert node.height == 100_001
    assert node.src[0].computed == 1


def test_a_failure_is_not_remembered() -> None:
    node: Any = Node()
    with pytest.raises(ValueError, match="first time"):
        node.broken
    assert node.broken == 7


def test_of_the_class_is_the_descriptor() -> None:
    assert isinstance(Node.height, derived)
    assert Node.height.__doc__ == "Longest way to a leaf."
