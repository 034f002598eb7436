"""Loading tensors into a model."""

from __future__ import annotations

import pytest

from tg_core.dtype import dtypes
from tg_core.errors import ShapeError, StateError
from tg_core.nn.state import get_state_dict, load_state_dict
from tg_core.tensor import Tensor


class Model:
    def __init__(self) -> None:
        self.weight = Tensor([[1.0, 2.0], [3.0, 4.0]])
        self.bias = Tensor([0.5, 0.5], dtype="float16")
        self.steps = Tensor([3], dtype="int32")


def other_state() -> dict[str, Tensor]:
    return {
        "weight": Tensor([[5.0, 6.0], [7.0, 8.0]]),
        "bias": Tensor([1.5, 2.5]),
        "steps": Tensor([9], dtype="int32"),
    }


def test_values_are_written_into_the_tensors_the_model_holds() -> None:
    model = Model()
    weight = model.weight
    loaded = load_state_dict(model, other_state())
    assert [id(t) for t in loaded] == [id(t) for t in get_state_dict(model).values()]
    assert model.weight is weight
    assert weight.tolist() == [[5.0, 6.0], [7.0, 8.0]]
    assert model.steps.tolist() == [9]


def test_values_are_cast_to_the_models_dtype() -> None:
    model = Model()
    load_state_dict(model, other_state())
    assert model.bias.dtype is dtypes.float16
    assert model.bias.tolist() == [1.5, 2.5]


def test_the_loaded_state_is_a_copy() -> None:
    model, state = Model(), other_state()
    load_state_dict(model, state)
    state["weight"].assign(Tensor([[0.0, 0.0], [0.0, 0.0]])).realize()
    assert model.weight.tolist() == [[5.0, 6.0], [7.0, 8.0]]


def test_a_model_can_load_its_own_state() -> None:
    model = Model()
    load_state_dict(model, get_state_dict(model))
    assert model.weight.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_strict_names_everything_that_does_not_fit_invalid() -> None:
    model, state = Model(), other_state()
    del state["weight"], state["steps"]
    state["extra"] = Tensor([1.0])
    with pytest.raises(StateError) as caught:
        load_state_dict(model, state)
    assert "missing weight, steps" in str(caught.value)
    assert "not in the model extra" in str(caught.value)
    assert model.bias.tolist() == [0.5, 0.5]


def test_not_strict_loads_what_is_shared() -> None:
    model = Model()
    load_state_dict(
        model, {"weight": other_state()["weight"], "extra": Tensor([1.0])}, strict=False
    )
    assert model.weight.tolist() == [[5.0, 6.0], [7.0, 8.0]]
    assert model.steps.tolist() == [3]


def test_a_shape_that_differs_leaves_the_model_alone_invalid() -> None:
    model, state = Model(), other_state()
    state["bias"] = Tensor([1.0, 2.0, 3.0])
    with pytest.raises(ShapeError, match=r"bias: the model has \(2,\), found \(3,\)"):
        load_state_dict(model, state)
    assert model.weight.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_long_lists_of_names_are_cut_invalid() -> None:
    state = {f"layer{i}": Tensor([1.0]) for i in range(50)}
    with pytest.raises(StateError, match="and 42 more") as caught:
        load_state_dict(Model(), {**other_state(), **state})
    assert len(str(caught.value)) < 300
