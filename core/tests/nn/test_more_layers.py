"""Convolutions of one axis, transposed convolutions, norms and the LSTM cell against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from tg_core import nn
from tg_core.errors import ShapeError
from tg_core.nn.state import get_parameters, get_state_dict
from tg_core.tensor import Tensor

Array = np.ndarray
generator = np.random.default_rng(11)


def draw(*shape: int) -> Array:
    return generator.standard_normal(shape).astype(np.float32)


def close(tensor: Tensor, expected: Array, tolerance: float = 1e-4) -> None:
    assert tensor.shape == expected.shape
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("stride", "padding", "dilation"), [(1, (0, 0), 1), (2, (1, 1), 1), (1, (2, 0), 2)]
)
def test_conv1d_follows_its_definition(
    stride: int, padding: tuple[int, int], dilation: int
) -> None:
    layer, x = nn.Conv1d(3, 4, 3, stride, padding, dilation), draw(2, 3, 9)
    weight, padded = layer.weight.numpy(), np.pad(x, ((0, 0), (0, 0), padding))
    reach = dilation * 2 + 1
    columns = [
        np.einsum("bci,oci->bo", padded[:, :, left : left + reach : dilation], weight)
        for left in range(0, padded.shape[2] - reach + 1, stride)
    ]
    assert layer.bias is not None
    close(layer(Tensor(x)), np.stack(columns, axis=2) + layer.bias.numpy().reshape(1, 4, 1))


def spread(x: Array, weight: Array, stride: int, padding: int, dilation: int, extra: int) -> Array:
    """Transpose a convolution by its definition: every input adds a scaled window."""
    reach = dilation * (weight.shape[2] - 1) + 1
    sizes = [(size - 1) * stride + reach + extra for size in x.shape[2:]]
    result = np.zeros((x.shape[0], weight.shape[1], *sizes))
    for row in range(x.shape[2]):
        for column in range(x.shape[3]):
            top, left = row * stride, column * stride
            result[:, :, top : top + reach : dilation, left : left + reach : dilation] += np.einsum(
                "bc,coij->boij", x[:, :, row, column], weight
            )
    inside = slice(padding, -padding or None)
    return result[:, :, inside, inside]


@pytest.mark.parametrize(
    ("stride", "padding", "dilation", "extra"), [(1, 0, 1, 0), (2, 1, 1, 1), (3, 0, 2, 0)]
)
def test_transposed_convolution_follows_its_definition(
    stride: int, padding: int, dilation: int, extra: int
) -> None:
    layer = nn.ConvTranspose2d(3, 2, 3, stride, padding, extra, dilation)
    x = draw(2, 3, 4, 5)
    assert layer.bias is not None
    expected = spread(x, layer.weight.numpy(), stride, padding, dilation, extra)
    close(layer(Tensor(x)), expected + layer.bias.numpy().reshape(1, 2, 1, 1))


def test_transposed_convolution_of_one_axis_in_groups() -> None:
    layer, x = nn.ConvTranspose1d(4, 6, 3, stride=2, groups=2, bias=False), draw(2, 4, 5)
    weight = layer.weight.numpy()
    assert weight.shape == (4, 3, 3)
    result = np.zeros((2, 6, 11))
    for group in range(2):
        for step in range(5):
            channels = slice(2 * group, 2 * group + 2)
            result[:, 3 * group : 3 * group + 3, 2 * step : 2 * step + 3] += np.einsum(
                "bc,coi->boi", x[:, channels, step], weight[channels]
            )
    close(layer(Tensor(x)), result)


@pytest.mark.parametrize("layer", [nn.ConvTranspose1d, nn.Conv1d])
def test_groups_must_divide_the_channels_invalid(layer: type[nn.Conv1d]) -> None:
    with pytest.raises(ShapeError, match=rf"{layer.__name__}: groups=2 does not divide"):
        layer(3, 4, 3, groups=2)


@pytest.mark.parametrize("groups", [1, 2, 6])
def test_groupnorm_normalizes_groups_of_each_sample(groups: int) -> None:
    layer, x = nn.GroupNorm(groups, 6), draw(2, 6, 3, 4) * 3 + 1
    scale, shift = draw(6), draw(6)
    assert layer.weight is not None
    assert layer.bias is not None
    layer.weight.assign(scale)
    layer.bias.assign(shift)
    split = x.astype(np.float64).reshape(2, groups, -1)
    centred = split - split.mean(2, keepdims=True)
    normal = (centred / np.sqrt(split.var(2, keepdims=True) + 1e-5)).reshape(x.shape)
    close(layer(Tensor(x)), normal * scale.reshape(1, 6, 1, 1) + shift.reshape(1, 6, 1, 1))


def test_instancenorm_is_a_group_per_channel() -> None:
    layer, x = nn.InstanceNorm(3, affine=False), draw(2, 3, 8)
    normal = (x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + 1e-5)
    close(layer(Tensor(x)), normal)
    assert get_parameters(layer) == []


def test_rmsnorm_divides_by_the_root_mean_square() -> None:
    layer, x, scale = nn.RMSNorm(8, eps=1e-3), draw(2, 3, 8), draw(8)
    assert layer.weight is not None
    layer.weight.assign(scale)
    close(layer(Tensor(x)), x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-3) * scale)


def test_rmsnorm_squares_narrow_floats_in_float32() -> None:
    layer = nn.RMSNorm(4, elementwise_affine=False)
    normal = layer(Tensor([[1000.0, -1000.0, 1000.0, 1000.0]], dtype="float16"))
    assert normal.dtype.name == "float16"
    assert normal.tolist() == [[1.0, -1.0, 1.0, 1.0]]


@pytest.mark.parametrize(
    "layer", [nn.GroupNorm(2, 4), nn.InstanceNorm(4), nn.RMSNorm(4)], ids=["group", "inst", "rms"]
)
def test_norms_check_their_axis_invalid(layer: nn.GroupNorm | nn.RMSNorm) -> None:
    with pytest.raises(ShapeError, match=rf"{type(layer).__name__}: expected .* found shape"):
        layer(Tensor.zeros(2, 3))


def test_groups_must_divide_the_normalized_channels_invalid() -> None:
    with pytest.raises(ShapeError, match="GroupNorm: 4 groups do not divide 6 channels"):
        nn.GroupNorm(4, 6)


def sigmoid(x: Array) -> Array:
    result: Array = 1 / (1 + np.exp(-x))
    return result


def test_lstm_cell_follows_its_equations() -> None:
    layer, hidden, cell = nn.LSTMCell(3, 5), np.zeros((2, 5)), np.zeros((2, 5))
    parts = {name: tensor.numpy() for name, tensor in get_state_dict(layer).items()}
    state = None
    for _ in range(3):
        x = draw(2, 3)
        state = layer(Tensor(x), state)
        rows = x @ parts["weight_ih"].T + hidden @ parts["weight_hh"].T
        rows += parts["bias_ih"] + parts["bias_hh"]
        admit, forget, candidate, emit = np.split(rows, 4, axis=1)
        cell = sigmoid(forget) * cell + sigmoid(admit) * np.tanh(candidate)
        hidden = sigmoid(emit) * np.tanh(cell)
        close(state[0], hidden)
        close(state[1], cell)


def test_lstm_cell_checks_shapes_invalid() -> None:
    layer = nn.LSTMCell(3, 5, bias=False)
    assert list(get_state_dict(layer)) == ["weight_ih", "weight_hh"]
    with pytest.raises(ShapeError, match=r"expected an input of shape \(batch, 3\)"):
        layer(Tensor.zeros(2, 4))
    with pytest.raises(ShapeError, match=r"expected states of shape \(2, 5\)"):
        layer(Tensor.zeros(2, 3), (Tensor.zeros(2, 4), Tensor.zeros(2, 5)))
