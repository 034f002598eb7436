"""Operators mean what they meant in the version of the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="ONNX is not installed: pip install ./core[onnx]")

from onnx_models import FLOAT, INT64, one_node

from tg_core.onnx import load

GRID = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 7 - 1
IMAGE = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
LONG = np.int64


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    powers = np.exp(x - x.max(axis, keepdims=True))
    result: np.ndarray = powers / powers.sum(axis, keepdims=True)
    return result


def run(op: str, opset: int, arrays: list[Any], outputs: int = 1, **attributes: Any) -> Any:
    described = []
    for entry in arrays:
        kind = {"float32": FLOAT, "int64": INT64, "bool": 9, "uint8": 2}[entry.dtype.name]
        described.append((entry.shape, kind))
    model = load(one_node(op, described, outputs, opset, **attributes))
    found = [each.numpy() for each in model(*arrays).values()]
    return found[0] if outputs == 1 else found


CASES: list[tuple[str, int, list[Any], dict[str, Any], Any]] = [
    ("Softmax", 11, [GRID], {}, softmax(GRID.reshape(2, 12), 1).reshape(2, 3, 4)),
    ("Softmax", 11, [GRID], {"axis": -1}, softmax(GRID, 2)),
    ("Softmax", 13, [GRID], {}, softmax(GRID, 2)),
    ("Softmax", 13, [GRID], {"axis": 1}, softmax(GRID, 1)),
    ("LogSoftmax", 1, [GRID], {"axis": 2}, np.log(softmax(GRID, 2))),
    ("Hardmax", 11, [GRID[0]], {}, np.eye(4, dtype=np.float32)[[3, 3, 3]]),
    ("Clip", 6, [GRID], {"min": -0.5, "max": 1.0}, GRID.clip(-0.5, 1)),
    ("Clip", 11, [GRID, np.float32(-0.5), np.float32(1)], {}, GRID.clip(-0.5, 1)),
    ("Pad", 2, [GRID[0]], {"pads": [1, 0, 0, 2], "value": 5.0}, np.pad(GRID[0], [(1, 0), (0, 2)], constant_values=5)),
    ("Pad", 1, [GRID[0]], {"paddings": [1, 0, 0, 2], "mode": "edge"}, np.pad(GRID[0], [(1, 0), (0, 2)], mode="edge")),
    ("Pad", 11, [GRID[0], np.array([0, 2, 0, 2], LONG)], {"mode": "reflect"}, np.pad(GRID[0], [(0, 0), (2, 2)], mode="reflect")),
    ("Pad", 18, [GRID[0], np.array([-1, 1], LONG), np.float32(3), np.array([1], LONG)], {}, np.pad(GRID[0][:, 1:], [(0, 0), (0, 1)], constant_values=3)),
    ("Pad", 19, [GRID[0], np.array([0, 5, 0, 3], LONG)], {"mode": "wrap"}, np.pad(GRID[0], [(0, 0), (5, 3)], mode="wrap")),
    ("Slice", 1, [GRID], {"starts": [0, -3], "ends": [1, 1000], "axes": [0, 2]}, GRID[:1, :, -3:]),
    ("Slice", 10, [GRID, np.array([-1], LONG), np.array([-100], LONG), np.array([2], LONG), np.array([-2], LONG)], {}, GRID[:, :, ::-2]),
    ("ReduceSum", 11, [GRID], {"axes": [1], "keepdims": 0}, GRID.sum(1)),
    ("ReduceSum", 13, [GRID, np.array([1], LONG)], {"keepdims": 0}, GRID.sum(1)),
    ("ReduceSum", 13, [GRID, np.array([], LONG)], {"noop_with_empty_axes": 1}, GRID),
    ("ReduceMean", 13, [GRID], {"axes": [-1]}, GRID.mean(2, keepdims=True)),
    ("ReduceMean", 18, [GRID], {}, GRID.mean(keepdims=True)),
    ("Squeeze", 11, [GRID[:1]], {"axes": [0]}, GRID[0]),
    ("Squeeze", 13, [GRID[:1], np.array([0], LONG)], {}, GRID[0]),
    ("Unsqueeze", 11, [GRID], {"axes": [0, 4]}, GRID[None, ..., None]),
    ("Unsqueeze", 13, [GRID, np.array([-1, 0], LONG)], {}, GRID[None, ..., None]),
    ("Upsample", 7, [IMAGE], {"scales": [1.0, 1.0, 2.0, 1.0]}, IMAGE.repeat(2, 2)),
    ("Upsample", 9, [IMAGE, np.array([1, 1, 1, 3], np.float32)], {}, IMAGE.repeat(3, 3)),
    ("Resize", 10, [IMAGE, np.array([1, 1, 0.5, 2], np.float32)], {}, IMAGE[:, :, ::2].repeat(2, 3)),
    ("Reshape", 1, [GRID], {"shape": [0, -1]}, GRID.reshape(2, 12)),
    ("Add", 6, [GRID, GRID[0, :, 0]], {"broadcast": 1, "axis": 1}, GRID + GRID[0, :, :1]),
    ("Add", 7, [GRID, GRID[0]], {}, GRID + GRID[0]),
    ("Gemm", 6, [GRID[0], GRID[1].T.copy(), np.ones(3, np.float32)], {"broadcast": 1, "beta": 2.0}, GRID[0] @ GRID[1].T + 2),
    ("PRelu", 6, [GRID, np.array([1, 2, 3], np.float32)], {}, np.where(GRID < 0, GRID * np.array([[1], [2], [3]], np.float32), GRID)),
    ("Dropout", 6, [GRID], {"is_test": 1}, GRID),
    ("Dropout", 12, [GRID, np.float32(0.5), np.array(False)], {}, GRID),
    ("Cast", 1, [GRID], {"to": "INT64"}, GRID.astype(LONG)),
    ("Concat", 1, [GRID, GRID], {}, np.concatenate([GRID, GRID], 1)),
    ("Split", 2, [GRID[0, 0]], {"split": [4]}, GRID[0, 0]),
    ("Flatten", 9, [GRID], {"axis": 2}, GRID.reshape(6, 4)),
    ("HardSigmoid", 1, [GRID], {}, (GRID * 0.2 + 0.5).clip(0, 1)),
    ("Selu", 1, [GRID], {}, 1.0507 * np.where(GRID > 0, GRID, 1.6732 * np.expm1(GRID))),
    ("Mean", 6, [GRID, GRID * 3], {}, GRID * 2),
    ("AveragePool", 7, [IMAGE], {"kernel_shape": [2, 2], "pads": [1, 1, 0, 0], "strides": [3, 3], "count_include_pad": 1}, np.array([[[[0, 1.25], [5, 12.5]]]], np.float32)),
    ("GlobalLpPool", 1, [IMAGE], {"p": 2.0}, np.sqrt((IMAGE**2).sum((2, 3), keepdims=True))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "opset", "arrays", "attributes", "expected"),
    CASES,
    ids=[f"{op}-{opset}-{number}" for number, (op, opset, *_) in enumerate(CASES)],
)
def test_version(
    op: str, opset: int, arrays: list[Any], attributes: dict[str, Any], expected: Any
) -> None:
    found = run(op, opset, [np.asarray(entry) for entry in arrays], **attributes)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("opset", "arrays", "attributes"),
    [
        (1, [], {"k": 2}),
        (10, [np.array([2], LONG)], {}),
        (11, [np.array([2], LONG)], {"largest": 1}),
    ],
)
def test_topk(opset: int, arrays: list[Any], attributes: dict[str, Any]) -> None:
    values, places = run("TopK", opset, [GRID, *arrays], 2, **attributes)
    assert (places == [3, 2]).all()
    assert (values == GRID[..., [3, 2]]).all()
    assert places.dtype == LONG


def test_batch_normalization_in_training_since_14() -> None:
    x = np.random.default_rng(0).standard_normal((4, 2, 3)).astype(np.float32)
    scale, bias = np.array([1, 2], np.float32), np.array([0, 1], np.float32)
    mean, var = np.array([0, 1], np.float32), np.array([1, 2], np.float32)
    arrays = [x, scale, bias, mean, var]
    own_mean, own_var = x.mean((0, 2)), x.var((0, 2))

    def normal(m: np.ndarray, v: np.ndarray) -> np.ndarray:
        unit = (x - m[:, None]) / np.sqrt(v[:, None] + 1e-5)
        result: np.ndarray = unit * scale[:, None] + bias[:, None]
        return result

    np.testing.assert_allclose(
        run("BatchNormalization", 9, arrays), normal(mean, var), rtol=1e-4, atol=1e-5
    )
    y, new_mean, new_var = run("BatchNormalization", 14, arrays, 3, training_mode=1, momentum=0.8)
    np.testing.assert_allclose(y, normal(own_mean, own_var), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(new_mean, mean * 0.8 + own_mean * 0.2, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(new_var, var * 0.8 + own_var * 0.2, rtol=1e-4, atol=1e-6)


def test_dropout_in_training_drops_and_scales() -> None:
    x = np.ones(4000, np.float32)
    arrays = [x, np.array(0.25, np.float32), np.array(True)]
    y, mask = run("Dropout", 13, arrays, 2)
    assert mask.mean() == pytest.approx(0.75, abs=0.04)
    np.testing.assert_allclose(y, mask / np.float32(0.75), rtol=1e-6)


def test_random_numbers_have_their_moments() -> None:
    like = np.zeros((100, 100), np.float32)
    uniform = run("RandomUniformLike", 20, [like], low=-1.0, high=3.0)
    normal = run("RandomNormalLike", 20, [like], mean=2.0, scale=0.5)
    coin = run("Bernoulli", 20, [like + 0.3])
    assert -1 <= uniform.min() and uniform.max() < 3
    assert uniform.mean() == pytest.approx(1, abs=0.1)
    assert normal.mean() == pytest.approx(2, abs=0.05)
    assert normal.std() == pytest.approx(0.5, abs=0.05)
    assert coin.mean() == pytest.approx(0.3, abs=0.03)
