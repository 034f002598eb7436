"""Layers against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from tg_core import nn
from tg_core.dtype import dtypes
from tg_core.errors import ConfigError, DTypeError, ShapeError
from tg_core.nn.state import get_parameters, get_state_dict
from tg_core.tensor import Tensor

Array = np.ndarray
generator = np.random.default_rng(5)


def draw(*shape: int) -> Array:
    return generator.standard_normal(shape).astype(np.float32)


def close(tensor: Tensor, expected: Array, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=tolerance, atol=tolerance)


def test_linear_multiplies_by_the_transposed_weight() -> None:
    layer, x = nn.Linear(4, 3), draw(2, 5, 4)
    assert layer.bias is not None
    close(layer(Tensor(x)), x @ layer.weight.numpy().T + layer.bias.numpy())


def test_linear_without_bias_has_one_parameter() -> None:
    layer = nn.Linear(4, 3, bias=False)
    assert list(get_state_dict(layer)) == ["weight"]
    assert layer(Tensor(np.zeros((1, 4), np.float32))).tolist() == [[0.0, 0.0, 0.0]]


def test_first_weights_are_uniform_and_bounded_by_the_fan_in() -> None:
    Tensor.manual_seed(1)
    weight = nn.Linear(64, 256).weight.numpy()
    bound = 1 / 8
    assert np.abs(weight).max() <= bound
    # The standard deviation of a uniform distribution is its half width over sqrt(3).
    assert abs(weight.std() - bound / np.sqrt(3)) < 0.02 * bound
    assert abs(weight.mean()) < 0.02 * bound


def convolve(x: Array, weight: Array, stride: int, padding: int, dilation: int) -> Array:
    """Cross-correlate by its definition."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    reach = dilation * (weight.shape[2] - 1) + 1
    size = [(x.shape[axis] - reach) // stride + 1 for axis in (2, 3)]
    result = np.zeros((x.shape[0], weight.shape[0], *size))
    for row in range(size[0]):
        for column in range(size[1]):
            top, left = row * stride, column * stride
            window = x[:, :, top : top + reach : dilation, left : left + reach : dilation]
            result[:, :, row, column] = np.einsum("bcij,ocij->bo", window, weight)
    return result


@pytest.mark.parametrize(
    ("stride", "padding", "dilation"), [(1, 0, 1), (2, 1, 1), (1, 2, 2), (3, 1, 1)]
)
def test_convolution_follows_its_definition(stride: int, padding: int, dilation: int) -> None:
    layer = nn.Conv2d(3, 4, 3, stride=stride, padding=padding, dilation=dilation)
    assert layer.bias is not None
    x = draw(2, 3, 8, 8)
    expected = convolve(x, layer.weight.numpy(), stride, padding, dilation)
    close(layer(Tensor(x)), expected + layer.bias.numpy().reshape(1, 4, 1, 1), 1e-4)


def test_groups_convolve_apart() -> None:
    layer = nn.Conv2d(4, 6, 3, groups=2, bias=False)
    x, weight = draw(1, 4, 5, 5), layer.weight.numpy()
    halves = [
        convolve(x[:, :2], weight[:3], 1, 0, 1),
        convolve(x[:, 2:], weight[3:], 1, 0, 1),
    ]
    assert weight.shape == (6, 2, 3, 3)
    close(layer(Tensor(x)), np.concatenate(halves, axis=1), 1e-4)


def test_groups_must_divide_the_channels_invalid() -> None:
    with pytest.raises(ShapeError, match=r"groups=2 .* in_channels=3 and out_channels=4"):
        nn.Conv2d(3, 4, 3, groups=2)


def test_batchnorm_normalizes_by_the_batch_and_keeps_statistics_in_training() -> None:
    layer, x = nn.BatchNorm(3), draw(4, 3, 2, 5) * 3 + 1
    mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
    with Tensor.train():
        normal = layer(Tensor(x))
    wide = mean.reshape(1, 3, 1, 1), variance.reshape(1, 3, 1, 1)
    close(normal, (x - wide[0]) / np.sqrt(wide[1] + 1e-5), 1e-4)
    close(layer.running_mean, 0.1 * mean)
    close(layer.running_var, 0.9 + 0.1 * variance * 40 / 39)
    assert layer.num_batches_tracked.tolist() == [1]


def test_batchnorm_uses_its_statistics_outside_training() -> None:
    layer, x = nn.BatchNorm2d(2), draw(3, 2, 4, 4)
    layer.running_mean.assign([1.0, -1.0])
    layer.running_var.assign([4.0, 0.25])
    assert layer.weight is not None
    assert layer.bias is not None
    layer.weight.assign([2.0, 1.0])
    layer.bias.assign([0.0, 3.0])
    scale = np.array([2.0 / np.sqrt(4.0 + 1e-5), 1 / np.sqrt(0.25 + 1e-5)]).reshape(1, 2, 1, 1)
    centred = x - np.array([1.0, -1.0]).reshape(1, 2, 1, 1)
    close(layer(Tensor(x)), centred * scale + np.array([0.0, 3.0]).reshape(1, 2, 1, 1), 1e-4)
    assert layer.num_batches_tracked.tolist() == [0]


def test_an_optimizer_step_computes_pending_statistics() -> None:
    layer, x = nn.BatchNorm(3), draw(8, 3)
    optimizer = nn.optim.SGD(get_parameters(layer), lr=0.1)
    with Tensor.train():
        for _ in range(2):
            optimizer.zero_grad()
            layer(Tensor(x)).square().sum().backward()
            optimizer.step()
    close(layer.running_mean, 0.19 * x.mean(0))
    assert layer.num_batches_tracked.tolist() == [2]


def test_statistics_are_not_trained() -> None:
    """Outside training the output depends on the statistics, which stay as they are."""
    layer, x = nn.BatchNorm(3), draw(8, 3)
    optimizer = nn.optim.SGD(get_parameters(layer), lr=0.1)
    layer(Tensor(x)).square().sum().backward()
    optimizer.step()
    assert [id(t) for t in optimizer.params] == [id(layer.weight), id(layer.bias)]
    np.testing.assert_array_equal(layer.running_mean.numpy(), 0.0)
    np.testing.assert_array_equal(layer.running_var.numpy(), 1.0)


def test_batchnorm_has_a_gradient_through_the_batch_statistics() -> None:
    """Normalized outputs do not change when their input is shifted or scaled as a whole."""
    layer = nn.BatchNorm(2, affine=False, track_running_stats=False)
    x = Tensor(draw(6, 2))
    weights = Tensor(draw(6, 2))
    with Tensor.train():
        (gradient,) = (layer(x) * weights).sum().gradient(x)
    found = gradient.numpy()
    np.testing.assert_allclose(found.sum(0), 0, atol=1e-4)
    np.testing.assert_allclose((found * x.numpy()).sum(0), 0, atol=1e-3)


def test_batchnorm_of_halves_takes_statistics_in_float32() -> None:
    layer = nn.BatchNorm(1, track_running_stats=False)
    x = np.full((4096, 1), 100.0, np.float16)
    x[::2] += 1
    normal = layer(Tensor(x))
    assert normal.dtype is dtypes.float16
    np.testing.assert_allclose(np.abs(normal.numpy().astype(np.float32)), 1.0, atol=2e-3)


@pytest.mark.parametrize("shape", [(4, 2), (3,)])
def test_batchnorm_checks_the_channels_invalid(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="expected 3 channels on axis 1"):
        nn.BatchNorm(3)(Tensor(np.zeros(shape, np.float32)))


def test_batchnorm_needs_two_values_in_training_invalid() -> None:
    with Tensor.train(), pytest.raises(ShapeError, match="more than one value per channel"):
        nn.BatchNorm(3)(Tensor(np.zeros((1, 3), np.float32)))


@pytest.mark.parametrize(("shape", "axes"), [(5, (2,)), ((4, 5), (1, 2))])
def test_layernorm_normalizes_the_last_axes(
    shape: int | tuple[int, ...], axes: tuple[int, ...]
) -> None:
    layer, x = nn.LayerNorm(shape), draw(3, 4, 5)
    assert layer.weight is not None
    assert layer.bias is not None
    scale, shift = draw(*layer.normalized_shape), draw(*layer.normalized_shape)
    layer.weight.assign(Tensor(scale))
    layer.bias.assign(Tensor(shift))
    normal = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)
    close(layer(Tensor(x)), normal * scale + shift, 1e-4)


def test_layernorm_without_affine_has_no_parameters() -> None:
    assert get_parameters(nn.LayerNorm(3, elementwise_affine=False)) == []


def test_layernorm_checks_the_shape_invalid() -> None:
    with pytest.raises(ShapeError, match=r"ends in \(3,\), found \(2, 4\)"):
        nn.LayerNorm(3)(Tensor(np.zeros((2, 4), np.float32)))


def test_embedding_reads_rows_and_adds_gradients_of_repeated_ones() -> None:
    table = nn.Embedding(4, 3)
    index = np.array([[1, 1], [3, 0]])
    rows = table(Tensor(index))
    np.testing.assert_array_equal(rows.numpy(), table.weight.numpy()[index])
    (gradient,) = rows.sum().gradient(table.weight)
    assert gradient.tolist() == [[1.0] * 3, [2.0] * 3, [0.0] * 3, [1.0] * 3]


def test_embedding_wants_integers_invalid() -> None:
    with pytest.raises(DTypeError, match="expected integer indices, found float32"):
        nn.Embedding(4, 3)(Tensor([1.0]))


def test_dropout_only_acts_in_training() -> None:
    layer, x = nn.Dropout(0.25), Tensor(np.ones(4000, np.float32))
    np.testing.assert_array_equal(layer(x).numpy(), 1.0)
    Tensor.manual_seed(2)
    with Tensor.train():
        dropped = layer(x).numpy()
    assert set(np.unique(dropped)) == {np.float32(0.0), np.float32(1 / 0.75)}
    # Four standard deviations of a binomial count.
    assert abs((dropped == 0).mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 4000)


def test_dropout_wants_a_probability_invalid() -> None:
    with pytest.raises(ConfigError, match=r"p=1\.5"):
        nn.Dropout(1.5)


def test_layers_mark_their_parameters() -> None:
    for layer in (nn.Linear(2, 2), nn.Conv2d(1, 1, 1), nn.LayerNorm(2), nn.Embedding(2, 2)):
        assert all(tensor.is_param for tensor in get_parameters(layer))
    state = get_state_dict(nn.BatchNorm(2))
    assert [name for name, tensor in state.items() if tensor.is_param] == ["weight", "bias"]
