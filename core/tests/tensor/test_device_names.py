"""A device that does not exist is an error of the call that names it, before anything runs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tg_core import Tensor
from tg_core.errors import DeviceNotFound


@pytest.mark.parametrize(
    "make",
    [
        lambda name: Tensor([1, 2], device=name),
        lambda name: Tensor.zeros(3, device=name),
        lambda name: Tensor.rand(3, device=name),
        lambda name: Tensor.empty(3, device=name),
        lambda name: Tensor([1, 2]).to(name),
        lambda name: Tensor([1, 2]).clone(device=name),
    ],
    ids=["list", "zeros", "rand", "empty", "to", "clone"],
)
def test_unknown_device(make: Callable[[str], Tensor]) -> None:
    with pytest.raises(DeviceNotFound, match=r"no device type GPU; installed: .*PYTHON"):
        make("gpu")
    with pytest.raises(DeviceNotFound, match="index 'x', expected a number"):
        make("PYTHON:x")


def test_names_are_canonical() -> None:
    assert Tensor.empty(2, device="python:0").device == "PYTHON"
    assert Tensor([1.0]).to("python:1").device == "PYTHON:1"
