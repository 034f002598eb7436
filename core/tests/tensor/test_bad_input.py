"""Every public method given nonsense raises one of our errors, or Python's for a wrong call."""

import inspect
import random
from typing import Any

import pytest

from tg_core.dtype import dtypes
from tg_core.errors import TGError
from tg_core.tensor import Tensor

COSTLY = {"qr", "svd", "keccak", "hash", "newton_schulz", "from_url", "from_blob"}
"""Slow to build, or not safe to call with nonsense."""
EFFECTS = {
    "realize", "item", "tolist", "numpy", "data", "assign", "to", "to_", "shard", "shard_", "is_param",
    "is_param_", "manual_seed", "replace", "custom_kernel", "callify", "sequential", "clone",
    "schedule_linear", "linear_with_vars", "call", "backward", "train", "alu", "random_bits",
    "as_param", "masked_select", "nonzero", "grad", "uop",
}  # fmt: skip
METHODS = sorted(
    name
    for name in dir(Tensor)
    if not name.startswith("_") and name not in COSTLY | EFFECTS and callable(getattr(Tensor, name))
)


def nonsense() -> list[Any]:
    return [
        0, 1, -1, 5, -7, 2.5, float("nan"), None, True, "x", (1, 2), [0, 1], (), [], (2, -3),
        Tensor([1.0, 2.0]), Tensor([[1, 2], [3, 4]]), Tensor(3), Tensor.const(2),
        Tensor.full((0, 2), 0.0, buffer=False), Tensor([True, False]),
    ]  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_errors_are_ours(name: str) -> None:
    draw = random.Random(name)
    receivers = [
        Tensor([1.0, 2.0, 3.0]),
        Tensor([[1, 2], [3, 4]]),
        Tensor(2.0),
        Tensor([True, False]),
        Tensor.full((0, 3), 0.0, buffer=False),
        Tensor.full((1, 2, 4, 4), 1.0, buffer=False),
        Tensor([1, 2], dtype=dtypes.uint8),
        Tensor.const(1.5),
    ]
    values = nonsense()
    for receiver in receivers:
        method = getattr(receiver, name)
        needed = [
            p
            for p in inspect.signature(method).parameters.values()
            if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty
        ]
        for _ in range(6):
            args = [draw.choice(values) for _ in range(len(needed) + draw.randint(0, 2))]
            error = _foreign_error(method, args)
            # what Python itself says of a wrong number of arguments or of operands is right
            assert error is None or "argument" in error or "unsupported operand" in error, args


def _foreign_error(method: Any, args: list[Any]) -> str | None:
    """Return the message of an error that is not ours."""
    try:
        method(*args)
    except TGError:
        return None
    except TypeError as error:
        return str(error)
    return None
