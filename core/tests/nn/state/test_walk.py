"""Finding tensors in objects."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from tg_core.nn.state import get_parameters, get_state_dict
from tg_core.tensor import Tensor


class Holder:
    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


def names(obj: object, prefix: str = "") -> list[str]:
    return list(get_state_dict(obj, prefix))


def test_names_follow_attributes_keys_and_positions_in_order() -> None:
    pair = namedtuple("pair", "left right")
    model = Holder(
        stem=Tensor([1.0]),
        layers=[Holder(weight=Tensor([2.0]), bias=None), Holder(weight=Tensor([3.0]))],
        heads={"a": Tensor([4.0]), 7: (Tensor([5.0]),)},
        ends=pair(Tensor([6.0]), "text"),
        size=3,
    )
    assert names(model) == [
        "stem",
        "layers.0.weight",
        "layers.1.weight",
        "heads.a",
        "heads.7.0",
        "ends.left",
    ]
    assert names(model.layers, "model") == ["model.0.weight", "model.1.weight"]
    assert names(model.layers, "model.") == ["model.0.weight", "model.1.weight"]


def test_a_tensor_alone_takes_the_prefix() -> None:
    tensor = Tensor([1.0])
    assert get_state_dict(tensor, "x")["x"] is tensor


def test_shared_tensors_have_two_names_and_are_one_parameter() -> None:
    shared = Tensor([1.0])
    model = Holder(embed=Holder(weight=shared), head=Holder(weight=shared))
    assert names(model) == ["embed.weight", "head.weight"]
    (only,) = get_parameters(model)
    assert only is shared


def test_cycles_end() -> None:
    model = Holder(weight=Tensor([1.0]))
    model.child = Holder(parent=model, bias=Tensor([2.0]))
    assert names(model) == ["weight", "child.bias"]


def test_slots_are_entered() -> None:
    class Slotted:
        __slots__ = ("empty", "weight")

    model = Slotted()
    model.weight = Tensor([1.0])
    assert names(model) == ["weight"]


def test_deep_nesting_needs_no_recursion() -> None:
    model: Any = Tensor([1.0])
    for _ in range(5000):
        model = [model]
    ((name, _),) = get_state_dict(model).items()
    assert name.count("0") == 5000


def test_modules_classes_and_functions_are_not_entered() -> None:
    class Static:
        weight = Tensor([1.0])

    def function() -> None: ...

    function.weight = Tensor([2.0])  # type: ignore[attr-defined]
    import sys

    assert names([Static, function, sys.modules[__name__], "text", 3.0]) == []
