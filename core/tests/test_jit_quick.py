"""Which calls go the short way, and that it sees what changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from tg_core import Tensor, Variable
from tg_core.device import buffer_of
from tg_core.jit_inputs import Inputs
from tg_core.jit_quick import QuickForm


def tensor(*shape: int, fill: float = 1.0) -> Tensor:
    return Tensor(np.full(shape, fill, np.float32)).realize()


def form_of(*args: Any, **kwargs: Any) -> QuickForm:
    inputs, args, kwargs = Inputs.collect(args, kwargs, frozenset())
    return QuickForm(inputs, args, kwargs)


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass
class State:
    weight: Any
    step: Any


def test_equal_arguments_on_other_storage_match() -> None:
    n = Variable("n", 1, 9)
    form = form_of([tensor(2, 3), {"b": Pair(tensor(4), 7)}], n.bind(2), mode="fast", x=tensor(1))
    new = tensor(2, 3), tensor(4), tensor(1)
    found = form.match(([new[0], {"b": Pair(new[1], 7)}], n.bind(5)), {"mode": "fast", "x": new[2]})
    assert found is not None
    nodes, buffers, variables = found
    assert [b.size for b in buffers] == [6, 4, 1]
    assert [v.unbind()[1] for v in variables] == [5]
    assert [node.arg.size for node in nodes] == [6, 4, 1]


@pytest.mark.parametrize(
    "changed",
    [
        (tensor(3, 2), 1),
        (tensor(6), 1),
        (tensor(2, 3), 2),
        (tensor(2, 3), True),
        (tensor(2, 3), 1.0),
        (tensor(2, 3), None),
        (tensor(2, 3), tensor(1)),
        (1, tensor(2, 3)),
        (tensor(2, 3),),
        ([tensor(2, 3)], 1),
        (tensor(2, 3) + 1, 1),
        (tensor(2, 4)[:, :3], 1),
        (tensor(3, 2).permute(1, 0), 1),
        (Tensor(np.ones((2, 3), np.int32)).realize(), 1),
        (Tensor(np.ones((2, 3), np.float32), device="PYTHON").realize(), 1),
    ],
    ids=range(15),
)
def test_anything_else_goes_the_long_way(changed: tuple[Any, ...]) -> None:
    form = form_of(tensor(2, 3), 1)
    assert form.match((tensor(2, 3), 1), {}) is not None
    assert form.match(changed, {}) is None


def test_containers_are_told_apart() -> None:
    x = tensor(2)
    for was, now in [
        ([x], (x,)),
        ({"a": x}, {"b": x}),
        (Pair(x, x), (x, x)),
        (State(x, 1), State(x, 2)),
        ([x, []], [x]),
    ]:
        form = form_of(was)
        assert form.match((was,), {}) is not None
        assert form.match((now,), {}) is None


def test_another_variable_goes_the_long_way() -> None:
    n, m = Variable("n", 1, 9), Variable("m", 1, 9)
    form = form_of(tensor(2), n.bind(3))
    assert form.match((tensor(2), n.bind(4)), {}) is not None
    assert form.match((tensor(2), m.bind(4)), {}) is None
    assert form.match((tensor(2), n), {}) is None


def test_some_captures_always_go_the_long_way() -> None:
    n = Variable("n", 1, 4)

    class Number(int):
        pass

    assert not form_of(tensor(4), Number(3)).usable
    assert not form_of(tensor(4), n).usable
    assert form_of(tensor(4)).usable


def test_one_variable_has_one_value() -> None:
    n = Variable("n", 1, 4)
    form = form_of(n.bind(1), n.bind(1), tensor(4)[: n.bind(1)])
    for value in (1, 3):
        found = form.match((n.bind(value), n.bind(value), tensor(4)[: n.bind(value)]), {})
        assert found is not None
        assert [v.unbind()[1] for v in found[2]] == [value]
    assert form.match((n.bind(1), n.bind(2), tensor(4)[: n.bind(1)]), {}) is None
    assert form.match((n.bind(1), n.bind(1), tensor(4)[: n.bind(2)]), {}) is None


def test_runs_of_larger_buffers_match() -> None:
    rows = Tensor(np.arange(24, dtype=np.float32).reshape(6, 4)).realize()
    form = form_of(tensor(2, 4))
    for view, first in [
        (rows[2:4], 8),
        (rows[1:5][1:3], 8),
        (rows.reshape(3, 2, 4)[1], 8),
        (rows.reshape(24)[3:11].reshape(2, 4), 3),
        (rows[4:6].detach(), 16),
    ]:
        found = form.match((view,), {})
        assert found is not None
        (node,), (buffer,), _ = found
        assert buffer_of(node) is buffer
        assert buffer.numpy().tolist() == list(range(first, first + 8))
    for other in [rows[:, :2].reshape(4, 3), rows[::3], rows[0:4:2], rows[2:4].flip(0), rows[2:3]]:
        assert form.match((other,), {}) is None
    column = form_of(tensor(6, 1))
    assert column.match((rows[:, 1:2],), {}) is None
    single = form_of(tensor(1, 1))
    found = single.match((rows[3:4, 1:2],), {})
    assert found is not None and found[1][0].numpy().tolist() == [13]


def test_symbolic_views_match() -> None:
    n, m = Variable("n", 1, 4), Variable("m", 1, 4)
    form = form_of(tensor(4, 3)[: n.bind(2)])
    source = tensor(4, 3)
    found = form.match((source[: n.bind(3)],), {})
    assert found is not None
    (node,), (buffer,), (bound,) = found
    assert (node, buffer) == (source.uop.base, buffer_of(source.uop.base))
    assert bound.unbind() == (n.bind(3).src[0], 3)
    for other in [
        tensor(4, 3)[: m.bind(3)],
        tensor(5, 3)[: n.bind(3)],
        tensor(4, 3)[:2],
        tensor(4, 3)[1 : n.bind(3)],
        (tensor(4, 3) + 1)[: n.bind(3)],
        Tensor(np.ones((4, 3), np.int32)).realize()[: n.bind(3)],
    ]:
        assert form.match((other,), {}) is None


def test_objects_that_are_no_data_do_not_matter() -> None:
    form = form_of(tensor(2), object())
    assert form.match((tensor(2), object()), {}) is not None
