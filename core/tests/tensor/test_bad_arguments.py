"""Every argument of every public method, replaced by what cannot be right: a specific error that names
the method, the value or the shapes, when the expression is built.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tg_core import Tensor
from tg_core.errors import TGError

NAN = math.nan
V, M, I = Tensor([1.0, 2.0, 3.0]), Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([1, 2, 3])
IMAGE, WEIGHT = Tensor(np.ones((1, 2, 4, 4), np.float32)), Tensor(np.ones((2, 2, 3, 3), np.float32))
MASK, PLACES, SQUARES = Tensor([True, False, True]), Tensor([0, 1, 1]), Tensor([[0, 1], [1, 0]])
Z = Tensor(np.ones((2, 3, 4), np.float32))

# name: (receiver, arguments that are right)
CALLS: dict[str, tuple[Any, dict[str, Any]]] = {
    **{name: (V, {"x": V}) for name in (
        "add", "sub", "mul", "div", "mod", "pow", "maximum", "minimum", "fmod", "eq", "ne", "logaddexp", "copysign",
        "atan2", "isclose", "allclose",
    )},
    **{name: (I, {"x": I}) for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "lshift", "rshift")},
    **{name: (Z, {"axis": 1}) for name in (
        "sum", "mean", "prod", "max", "min", "any", "all", "var", "std", "var_mean", "std_mean", "argmax", "argmin",
        "logsumexp", "softmax", "log_softmax", "softmin", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp",
    )},
    **{name: (Z, {"dim": 1}) for name in ("sort", "argsort", "unsqueeze", "normalize", "squeeze")},
    "layernorm": (M, {"axis": 1}), "topk": (Z, {"k": 1, "dim": 1}), "lerp": (V, {"end": V, "weight": V}),
    "where": (MASK, {"x": V, "y": V}), "masked_fill": (V, {"mask": MASK, "value": 1.0}), "cast": (V, {"dtype": "int32"}),
    "clamp": (V, {"min_": 0.0, "max_": 1.0}), "masked_select": (V, {"mask": MASK}), "gather": (V, {"dim": 0, "index": PLACES}),
    "scatter": (V, {"dim": 0, "index": PLACES, "src": V}), "one_hot": (I, {"num_classes": 4}), "nonzero": (V, {"size": 2}),
    "scatter_reduce": (V, {"dim": 0, "index": PLACES, "src": V, "reduce": "sum"}), "bitcast": (V, {"dtype": "int32"}),
    "matmul": (M, {"x": M}), "dot": (M, {"w": M}), "linear": (M, {"weight": M, "bias": Tensor([1.0, 2.0])}),
    "conv2d": (IMAGE, {"weight": WEIGHT, "bias": Tensor([1.0, 2.0]), "groups": 1, "stride": 1, "dilation": 1, "padding": 1}),
    "conv_transpose2d": (IMAGE, {"weight": WEIGHT, "stride": 2, "dilation": 1, "padding": 1, "output_padding": 1}),
    "max_pool2d": (IMAGE, {"kernel_size": (2, 2), "stride": 1, "dilation": 1, "padding": 1}),
    "avg_pool2d": (IMAGE, {"kernel_size": (2, 2), "stride": 1, "dilation": 1, "padding": 1}),
    "interpolate": (IMAGE, {"size": (2, 2), "mode": "linear"}), "unfold": (V, {"dim": 0, "size": 2, "step": 1}),
    "scaled_dot_product_attention": (M, {"key": M, "value": M, "attn_mask": Tensor([[True, False], [True, True]])}),
    "cross_entropy": (M, {"Y": Tensor([0, 1])}), "nll_loss": (M, {"Y": Tensor([0, 1])}),
    "binary_crossentropy": (V, {"Y": V}), "binary_crossentropy_logits": (V, {"Y": V}),
    "sparse_categorical_crossentropy": (M, {"Y": Tensor([0, 1])}),
    "reshape": (Z, {"shape": (6, 4)}), "view": (Z, {"shape": (6, 4)}), "expand": (V, {"shape": (2, 3)}),
    "permute": (Z, {"order": (2, 0, 1)}), "transpose": (Z, {"dim0": 0, "dim1": 1}), "flip": (Z, {"axis": 1}),
    "shrink": (V, {"arg": ((0, 2),)}), "shrink_to": (V, {"shape": (2,)}), "pad": (V, {"padding": (1, 1)}),
    "pad_to": (V, {"shape": (5,)}), "flatten": (Z, {"start_dim": 0, "end_dim": 1}), "repeat": (V, {"repeats": 2}),
    "unflatten": (Tensor([1.0, 2.0]), {"dim": 0, "sizes": (1, 2)}), "repeat_interleave": (V, {"repeats": 2, "dim": 0}),
    "roll": (V, {"shifts": 1, "dims": 0}), "tril": (M, {"diagonal": 0}), "triu": (M, {"diagonal": 0}),
    "diagonal": (M, {"offset": 0, "dim1": 0, "dim2": 1}), "split": (V, {"sizes": 2, "dim": 0}),
    "chunk": (V, {"chunks": 2, "dim": 0}), "rearrange": (M, {"formula": "a b -> b a"}), "size": (V, {"dim": 0}),
    "zeros_like": (V, {"dtype": "int8"}), "ones_like": (V, {"dtype": "int8"}), "full_like": (V, {"fill_value": 1, "dtype": "int8"}),
    "empty_like": (V, {"dtype": "int8", "device": "CPU"}), "rand_like": (V, {"dtype": "float16"}),
    "randn_like": (V, {"dtype": "float16"}), "to": (V, {"device": "CPU"}), "clone": (V, {"device": "CPU"}),
    "assign": (Tensor([0.0, 0.0, 0.0]), {"x": V}), "replace": (Tensor([0.0, 0.0, 0.0]), {"x": V}),
    "multinomial": (V, {"num_samples": 2}), "gradient": (V.sum(), {"*": V}),
    "batchnorm": (M, {"weight": None, "bias": None, "mean": Tensor([0.0, 0.0]), "invstd": Tensor([1.0, 1.0]), "axis": 1}),
    "arange": (Tensor, {"start": 0, "stop": 5, "step": 1, "dtype": "int32"}),
    "linspace": (Tensor, {"start": 0, "stop": 5, "steps": 3, "dtype": "float32"}),
    "eye": (Tensor, {"n": 2, "m": 3, "dtype": "int8"}), "full": (Tensor, {"shape": (2,), "fill_value": 1, "dtype": "int8", "device": "CPU"}),
    "randint": (Tensor, {"*": 3, "low": 0, "high": 4, "dtype": "int32"}), "randperm": (Tensor, {"n": 3, "device": "CPU"}),
    "zeros": (Tensor, {"*": 3, "dtype": "int8", "device": "CPU"}), "ones": (Tensor, {"*": 3, "dtype": "int8"}),
    "empty": (Tensor, {"*": 3, "dtype": "int8", "device": "CPU"}), "rand": (Tensor, {"*": 3, "dtype": "float16", "device": "CPU"}),
    "randn": (Tensor, {"*": 3, "dtype": "float16"}), "uniform": (Tensor, {"*": 3, "low": 0, "high": 1}),
    "normal": (Tensor, {"*": 3, "mean": 0.0, "std": 1.0}),
}  # fmt: skip

AXES = frozenset({"axis", "dim", "dim0", "dim1", "dim2", "start_dim", "end_dim", "dims", "order"})
SIZES = frozenset({
    "shape", "size", "sizes", "repeats", "padding", "kernel_size", "stride", "dilation", "output_padding", "k",
    "num_classes", "steps", "n", "m", "num_samples", "chunks", "arg", "groups", "step",
})  # fmt: skip
OTHER = Tensor(np.ones((7, 5), np.float32))
BAD: dict[str, list[Any]] = {
    "axes": [99, -99, "x", 1.5, NAN],
    "sizes": [-7, "x", 1.5, NAN, [NAN], ["x"]],
    "dtype": ["int33", 3.5],
    "device": ["NOPE", 3],
    "tensor": ["x", [1.0, "x"], OTHER, object()],
    "scalar": ["x", object()],
}


def bad_values(name: str, parameter: str, value: Any) -> list[Any]:
    if (name, parameter) == ("arange", "step"):
        return ["x", NAN, 0]
    if parameter in AXES:
        return BAD["axes"]
    if parameter in SIZES or (parameter == "*" and isinstance(value, int)):
        return BAD["sizes"]
    if parameter in ("dtype", "device"):
        return BAD[parameter]
    if isinstance(value, Tensor):
        return BAD["tensor"]
    return BAD["scalar"] if isinstance(value, (int, float, str)) else []


CASES = [
    pytest.param(name, parameter, bad, id=f"{name}-{parameter}-{number}")
    for name, (_, arguments) in CALLS.items()
    for parameter, value in arguments.items()
    for number, bad in enumerate(bad_values(name, parameter, value))
]


def call(name: str, arguments: dict[str, Any]) -> Any:
    receiver, _ = CALLS[name]
    given = dict(arguments)
    several = given.pop("*", None)
    first = [] if several is None else [several]
    if name in ("logaddexp", "copysign", "isclose", "allclose") and "x" in given:
        first.append(given.pop("x"))
    return getattr(receiver, name)(*first, **given)


@pytest.mark.parametrize("name", CALLS)
def test_the_right_arguments_are_accepted(name: str) -> None:
    call(name, CALLS[name][1])


@pytest.mark.parametrize(("name", "parameter", "bad"), CASES)
def test_bad_arguments_have_an_error(name: str, parameter: str, bad: Any) -> None:
    arguments = {**CALLS[name][1], parameter: bad}
    with pytest.raises((TGError, IndexError, ValueError, TypeError)) as caught:
        call(name, arguments)
    message = str(caught.value)
    known = (
        name,
        parameter,
        repr(bad[0] if isinstance(bad, list) else bad),
        "(7, 5)",
        type(bad).__name__,
        "index",
        "unknown",
        "argument",
    )
    assert any(part in message for part in known), message
