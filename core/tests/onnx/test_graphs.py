"""Small versions of published architectures, as exporters write them, against the reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="ONNX is not installed: pip install ./core[onnx]")

from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx_graphs import GraphBuilder, floats, ints

from tg_core import Tensor
from tg_core.onnx import load

Case = tuple[Any, list[dict[str, np.ndarray]]]
"""A model, and inputs for calls of it."""
DRAW = np.random.default_rng(7)
SINGLE = np.float32


def residual() -> Case:
    b = GraphBuilder()

    def block(x: str, channels: int, out: int, stride: int = 1, size: int = 3) -> str:
        weight = b.weight(out, channels, size, size, fan=channels * size * size)
        x = b("Conv", x, weight, pads=[size // 2] * 4, strides=[stride, stride])
        scale, spread = np.abs(b.weight(out)), np.abs(b.weight(out)) + 1
        return b("BatchNormalization", x, scale, b.weight(out), b.weight(out), spread)

    y = b("Relu", block("x", 3, 8, 2, 7))
    y = b("MaxPool", y, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for channels, out, stride in ((8, 8, 1), (8, 16, 2)):
        inner = block(b("Relu", block(y, channels, out, stride)), out, out)
        short = y if stride == 1 else block(y, channels, out, stride, 1)
        y = b("Relu", b("Add", inner, short))
    y = b("Flatten", b("GlobalAveragePool", y))
    y = b("Softmax", b("Gemm", y, b.weight(10, 16), b.weight(10), transB=1))
    calls = [{"x": floats(DRAW, batch, 3, 16, 16)} for batch in (1, 2)]
    return b.model(calls[0], [y], open_sizes={"x": ["n", 3, 16, 16]}), calls


def heads_of(b: GraphBuilder, x: str, shape: Any, order: list[int]) -> str:
    return b("Transpose", b("Reshape", x, shape), perm=order)


def encoder() -> Case:
    b, hidden, heads = GraphBuilder(1), 16, 4
    size = b("Shape", "ids")
    steps = b("Unsqueeze", b("Gather", size, np.array(1)), ints(0))
    batch = b("Unsqueeze", b("Gather", size, np.array(0)), ints(0))
    x = b("Gather", b.weight(50, hidden), "ids")
    x = b("Add", x, b("Slice", b.weight(32, hidden), ints(0), steps, ints(0)))
    seen = b("Cast", b("Unsqueeze", "mask", ints(1, 2)), to=TensorProto.FLOAT)
    hidden_ones = b("Mul", b("Sub", SINGLE(1), seen), SINGLE(-1e4))
    shape = b("Concat", batch, steps, ints(heads, hidden // heads), axis=0)
    q, k, v = (
        heads_of(b, b("Add", b("MatMul", x, b.weight(16, 16)), b.weight(16)), shape, order)
        for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
    )
    scale = b("Sqrt", b("Cast", b("Constant", value_int=hidden // heads), to=1))
    weights = b("Softmax", b("Add", b("Div", b("MatMul", q, k), scale), hidden_ones), axis=-1)
    mixed = b("Transpose", b("MatMul", weights, v), perm=[0, 2, 1, 3])
    mixed = b("Reshape", mixed, b("Concat", batch, steps, ints(-1), axis=0))
    x = b("LayerNormalization", b("Add", x, mixed), np.abs(b.weight(16)), b.weight(16))
    wide = b("MatMul", x, b.weight(16, 64))
    bent = b("Add", b("Erf", b("Div", wide, SINGLE(2**0.5))), SINGLE(1))
    x = b("Add", x, b("MatMul", b("Mul", b("Mul", wide, SINGLE(0.5)), bent), b.weight(64, 16)))
    first = b("Tanh", b("Gemm", b("Gather", x, np.array(0), axis=1), b.weight(16, 16)))
    calls = []
    for entries, length in ((2, 7), (1, 3)):
        mask = np.ones((entries, length), np.int64)
        mask[-1, length // 2 :] = 0
        calls.append({"ids": DRAW.integers(0, 50, (entries, length)), "mask": mask})
    return b.model(calls[0], [x, first], open_sizes={"ids": ["n", "t"], "mask": ["n", "t"]}), calls


def decoder() -> Case:
    """Return a decoder whose cache grows from call to call."""
    b, hidden, heads = GraphBuilder(2), 16, 2
    past = b("Gather", b("Shape", "keys"), np.array(2))
    total = b("Add", past, b("Gather", b("Shape", "ids"), np.array(1)))
    places = b("Gather", b.weight(32, hidden), b("Range", past, total, np.array(1)))
    x = b("Add", b("Gather", b.weight(50, hidden), "ids"), places)
    normal = b("LayerNormalization", x, np.abs(b.weight(hidden)), b.weight(hidden))
    parts = b.several("Split", 3, b("MatMul", normal, b.weight(hidden, 3 * hidden)), axis=-1)
    shape = ints(0, 0, heads, hidden // heads)
    q, k, v = (heads_of(b, part, shape, [0, 2, 1, 3]) for part in parts)
    k, v = b("Concat", "keys", k, axis=2), b("Concat", "values", v, axis=2)
    scores = b("MatMul", q, b("Transpose", k, perm=[0, 1, 3, 2]))
    side = b("Unsqueeze", total, ints(0))
    one = numpy_helper.from_array(np.array([1], np.uint8))
    square = b("ConstantOfShape", b("Concat", side, side, axis=0), value=one)
    rows = b("Slice", b("Trilu", square, upper=0), b("Unsqueeze", past, ints(0)), side, ints(0))
    scores = b("Where", b("Cast", rows, to=TensorProto.BOOL), scores, SINGLE(-3.4e38))
    mixed = b("Transpose", b("MatMul", b("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    x = b("Add", x, b("Reshape", mixed, ints(0, 0, -1)))
    logits = b("MatMul", x, b.weight(hidden, 50))
    calls = []
    for before, steps in ((0, 5), (5, 1)):
        cache = {name: floats(DRAW, 1, heads, before, 8) for name in ("keys", "values")}
        calls.append({"ids": DRAW.integers(0, 50, (1, steps)), **cache})
    open_sizes = {"ids": [1, "t"], "keys": [1, 2, "p", 8], "values": [1, 2, "p", 8]}
    outputs = [logits, k, v, b("ArgMax", logits, axis=-1)]
    return b.model(calls[0], outputs, open_sizes=open_sizes), calls


def recurrent() -> Case:
    b = GraphBuilder(3)
    weights = b.weight(2, 24, 4), b.weight(2, 24, 6), b.weight(2, 48)
    found = b.several("LSTM", 3, "x", *weights, hidden_size=6, direction="bidirectional")
    joined = b("Reshape", b("Transpose", found[0], perm=[0, 2, 1, 3]), ints(0, 0, -1))
    weights = b.weight(2, 9, 12), b.weight(2, 9, 3), b.weight(2, 18)
    both = b.several(
        "GRU", 2, joined, *weights, hidden_size=3, direction="bidirectional", linear_before_reset=1
    )
    calls = [{"x": floats(DRAW, 2, 2, 4)}]
    return b.model(calls[0], [*found, *both]), calls


def detector() -> Case:
    b = GraphBuilder(4)
    x = b("Relu", b("Conv", "x", b.weight(8, 3, 3, 3, fan=27), pads=[1] * 4, strides=[2, 2]))
    corner = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    x = b("Resize", x, "", np.array([1, 1, 2, 2], SINGLE), mode="nearest", **corner)
    x = b("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = b("Transpose", b("Conv", x, b.weight(14, 8, 1, 1, fan=8)), perm=[0, 2, 3, 1])
    x = b("Reshape", x, ints(1, -1, 7))
    middle = b("Sigmoid", b("Slice", x, ints(0), ints(2), ints(2)))
    half = b("Mul", b("Exp", b("Slice", x, ints(2), ints(4), ints(2))), SINGLE(0.1))
    scores = b("Sigmoid", b("Slice", x, ints(4), ints(2**63 - 1), ints(2)))
    boxes = b("Concat", b("Sub", middle, half), b("Add", middle, half), axis=2)
    by_class = b("Transpose", scores, perm=[0, 2, 1])
    limits = ints(5), np.array([0.5], SINGLE), np.array([0.5], SINGLE)
    chosen = b("NonMaxSuppression", boxes, by_class, *limits)
    places = b("Squeeze", b("Slice", chosen, ints(2), ints(3), ints(1)), ints(1))
    best = b("Gather", b("Squeeze", boxes, ints(0)), places)
    greatest = b("ReduceMax", scores, axes=[2], keepdims=0)
    passing = b("Compress", greatest, b("Reshape", b("Greater", greatest, SINGLE(0.6)), ints(-1)))
    count = b("ReduceMin", b("Concat", b("Shape", passing), ints(3), axis=0), axes=[0])
    top = b.several("TopK", 2, passing, count)
    calls = [{"x": floats(DRAW, 1, 3, 16, 16)}]
    return b.model(calls[0], [chosen, best, b("GatherND", by_class, chosen), *top]), calls


def quantized() -> Case:
    b = GraphBuilder(5)

    def rounded(x: str, scale: float, zero: int) -> str:
        at = SINGLE(scale), np.int8(zero)
        return b("DequantizeLinear", b("QuantizeLinear", x, *map(np.array, at)), *map(np.array, at))

    scales = np.abs(b.weight(8)) * SINGLE(0.02) + SINGLE(0.001)
    stored = b.draw.integers(-127, 127, (8, 3, 3, 3)).astype(np.int8)
    kernel = b("DequantizeLinear", stored, scales, np.zeros(8, np.int8), axis=0)
    sums = b.draw.integers(-500, 500, 8).astype(np.int32)
    bias = b("DequantizeLinear", sums, scales * SINGLE(0.02), np.zeros(8, np.int32), axis=0)
    x = b("Relu", b("Conv", rounded("x", 0.02, 0), kernel, bias, pads=[1] * 4))
    x = b("Flatten", rounded(b("GlobalAveragePool", rounded(x, 0.05, -128)), 0.03, -128))
    q, scale, zero = b.several("DynamicQuantizeLinear", 3, x)
    columns = b.draw.integers(-127, 127, (8, 4)).astype(np.int8)
    whole = b("MatMulInteger", q, columns, zero, np.array(0, np.int8))
    y = b("Mul", b("Cast", whole, to=TensorProto.FLOAT), b("Mul", scale, SINGLE(0.01)))
    calls = [{"x": floats(DRAW, 2, 3, 8, 8)}]
    return b.model(calls[0], [y], opset=19), calls


GRAPHS: list[Callable[[], Case]] = [residual, encoder, decoder, recurrent, detector, quantized]


@pytest.mark.parametrize("make", GRAPHS)
def test_a_graph_gives_what_the_reference_gives(make: Callable[[], Case]) -> None:
    proto, calls = make()
    model, reference = load(proto), ReferenceEvaluator(proto)
    for given in calls:
        expected = reference.run(None, given)
        found = model({name: Tensor(array) for name, array in given.items()}).values()
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.shape == theirs.shape
            np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-3, atol=1e-5)
