"""Values and numeric gradients of tensors through the numpy oracle, without compiling anything."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from graph_eval import evaluate

from tg_core.device import buffer_of
from tg_core.dtype import dtypes
from tg_core.tensor import Tensor
from tg_core.tensor.gradient import compute_gradients
from tg_core.uop.ops import Ops, UOp

Array = np.ndarray[Any, Any]


def value(tensor: Tensor) -> Array:
    """Return the value of a tensor as the oracle computes it.

    With `FRONT_END_ON=device` in the environment the default device computes it instead, which
    turns every test of the front end into one of the whole stack.
    """
    if os.environ.get("FRONT_END_ON") == "device":
        return tensor.numpy()
    inputs = {}
    for node in tensor.uop.toposort():
        if node.op is Ops.BUFFER:
            buffer = buffer_of(node)
            if buffer is not None and buffer.is_allocated():
                inputs[node] = buffer.numpy()
    return evaluate(tensor.uop, inputs)


def check_gradient(function: Callable[..., Any], *arrays: Array, tolerance: float = 1e-5) -> None:
    """Compare the gradient of a function with central differences in float64."""
    params = [UOp.param(i, dtypes.float64, (a.size,)) for i, a in enumerate(arrays)]
    inputs = [p.reshape(a.shape) for p, a in zip(params, arrays, strict=True)]
    result = function(*inputs)
    weights = np.random.default_rng(7).standard_normal(result.shape)
    weight = UOp.param(len(arrays), dtypes.float64, (weights.size,))
    loss = (result * weight.reshape(weights.shape)).sum()

    def run(node: UOp, values: list[Array]) -> Array:
        given = {p: v.reshape(-1) for p, v in zip(params, values, strict=True)}
        return evaluate(node, {**given, weight: weights.reshape(-1)})

    grads = compute_gradients(loss, UOp.const(1.0, dtypes.float64), inputs)
    for position, grad in enumerate(grads):
        assert grad is not None, f"input {position} has no gradient"
        assert grad.shape == arrays[position].shape
        wanted = np.zeros_like(arrays[position])
        for index in np.ndindex(wanted.shape):
            above, below = [a.copy() for a in arrays], [a.copy() for a in arrays]
            above[position][index] += 1e-6
            below[position][index] -= 1e-6
            wanted[index] = (run(loss, above) - run(loss, below)) / 2e-6
        scale = max(1.0, np.abs(wanted).max(initial=0.0))
        np.testing.assert_allclose(run(grad, list(arrays)), wanted, atol=tolerance * scale)
