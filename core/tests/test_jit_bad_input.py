"""Arguments that are not what they were at capture: the error names which, and nothing is broken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tg_core import Tensor, TinyJit, Variable
from tg_core.errors import JitError


def tensor(*shape: int, dtype: Any = np.float32, device: str = "CPU") -> Tensor:
    return Tensor(np.ones(shape, dtype), device=device).realize()


@dataclass
class Batch:
    x: Any
    scale: Any = 2.0


def total(value: Any, **named: Any) -> Tensor:
    """Add up every tensor in nested containers."""
    found: list[Tensor] = []
    left = [value, *named.values()]
    while left:
        item = left.pop()
        if isinstance(item, Tensor):
            found.append(item.cast("float32").to("CPU").sum())
        elif isinstance(item, dict):
            left.extend(item.values())
        elif isinstance(item, (list, tuple)):
            left.extend(item)
        elif isinstance(item, Batch):
            left.extend((item.x, item.scale))
    return sum(found[1:], found[0]).contiguous()


N, M = Variable("n", 1, 4), Variable("m", 1, 4)

CASES = {
    "shape": (
        tensor(2, 3),
        tensor(3, 2),
        r"args\[0\] had shape \(2, 3\) at capture and has \(3, 2\)",
    ),
    "rank": (tensor(6), tensor(6, 1), r"args\[0\] had shape \(6,\) at capture and has \(6, 1\)"),
    "dtype": (tensor(2), tensor(2, dtype=np.int32), r"args\[0\] had dtype float32 .* has int32"),
    "device": (
        tensor(2),
        tensor(2, device="PYTHON"),
        r"args\[0\] had device CPU at capture and has PYTHON",
    ),
    "layout": (
        lambda: tensor(4, 2)[: N.bind(2)],
        lambda: tensor(8, 2)[: N.bind(2)],
        r"args\[0\] had another layout at capture",
    ),
    "variable": (
        lambda: tensor(4)[: N.bind(2)],
        lambda: tensor(4)[: M.bind(2)],
        r"another layout|variables among the arguments were \['n'\] at capture",
    ),
    "no longer symbolic": (
        lambda: tensor(4)[: N.bind(2)],
        tensor(2),
        r"args\[0\] had shape \('symbolic',\) at capture and has \(2,\)",
    ),
    "a list that grew": (
        [tensor(2)],
        [tensor(2), tensor(2)],
        r"were \['args\[0\]\[0\]'\] at capture and are \['args\[0\]\[0\]', 'args\[0\]\[1\]'\]",
    ),
    "another key": ({"a": tensor(2)}, {"b": tensor(2)}, r"\['a'\].*at capture and are.*\['b'\]"),
    "a tensor for a number": (Batch(tensor(2)), Batch(tensor(2), tensor(1)), r"args\[0\]\.scale"),
    "another number": (Batch(tensor(2), 2.0), Batch(tensor(2), 3.0), r"args\[0\]\.scale was 2.0"),
    "an int for a float": (Batch(tensor(2), 2.0), Batch(tensor(2), 2), r"args\[0\]\.scale was 2.0"),
    "None": ([tensor(2), None], [tensor(2), 1], r"args\[0\]\[1\] was None"),
}


def made(value: Any) -> Any:
    return value() if callable(value) and not isinstance(value, (Tensor, Batch)) else value


@pytest.mark.parametrize("name", CASES)
def test_what_changed_is_named_and_the_capture_stays(name: str) -> None:
    was, now, message = CASES[name]
    jit = TinyJit(total)
    for _ in range(3):
        expected = jit(made(was)).item()
    for _ in range(2):
        with pytest.raises(JitError, match=message):
            jit(made(now))
        assert jit(made(was)).item() == expected
    jit.reset()
    for _ in range(3):
        result = jit(made(now)).item()
    assert result == total(made(now)).item()


def test_named_arguments_are_named() -> None:
    jit = TinyJit(total)
    for _ in range(3):
        jit(tensor(2), bias=tensor(3))
    with pytest.raises(JitError, match=r"bias had shape \(3,\) at capture and has \(4,\)"):
        jit(tensor(2), bias=tensor(4))
    with pytest.raises(
        JitError, match=r"\['args\[0\]', 'bias'\] at capture and are \['args\[0\]'\]"
    ):
        jit(tensor(2))
    assert jit(tensor(2), bias=tensor(3)).item() == 5


def test_a_variable_with_two_values_is_refused() -> None:
    jit = TinyJit(total)
    for _ in range(3):
        jit([tensor(4)[: N.bind(2)], tensor(4)[: N.bind(2)]])
    with pytest.raises(JitError, match="variable n is bound to 2 and to 3"):
        jit([tensor(4)[: N.bind(2)], tensor(4)[: N.bind(3)]])
    assert jit([tensor(4)[: N.bind(3)], tensor(4)[: N.bind(3)]]).item() == 6


def test_a_refused_call_writes_nothing() -> None:
    state = Tensor([0.0]).contiguous().realize()

    def step(x: Tensor) -> Tensor:
        state.assign(state + x)
        return (state * 2).contiguous()

    jit = TinyJit(step)
    for _ in range(3):
        jit(tensor(1))
    for bad in (tensor(2), "text", None):
        with pytest.raises(JitError):
            jit(bad)  # type: ignore[arg-type]
    assert state.item() == 3
    assert jit(tensor(1)).item() == 8
