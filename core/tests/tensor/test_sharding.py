"""Tensors over several devices compute what one device does, and stay where they are."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tg_core import Tensor, Variable, dtypes, function, nn
from tg_core.config import Context
from tg_core.errors import DeviceError, DeviceMismatch, ShapeError
from tg_core.uop.ops import Ops

TWO = ("PYTHON", "PYTHON:1")
THREE = ("PYTHON", "PYTHON:1", "PYTHON:2")
RNG = np.random.default_rng(11)
A = RNG.normal(size=(6, 4)).astype(np.float32)
B = RNG.normal(size=(6, 4)).astype(np.float32)

Step = tuple[Callable[[Tensor], Tensor], Callable[[np.ndarray], np.ndarray]]


@pytest.fixture(autouse=True)
def on_the_interpreter() -> object:
    with Context(DEV="PYTHON"):
        yield


def copies(*tensors: Tensor) -> int:
    return sum(call.src[0].op is Ops.COPY for call in tensors[0].schedule_linear(*tensors[1:]).src)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("devices", [TWO, THREE])
def test_a_tensor_comes_back_as_it_went(devices: tuple[str, ...], axis: int | None) -> None:
    sharded = Tensor(A).shard(devices, axis)
    assert sharded.shape == A.shape
    assert sharded.device == devices
    np.testing.assert_array_equal(sharded.numpy(), A)
    np.testing.assert_array_equal(sharded.to(devices[1]).numpy(), A)
    assert sharded.tolist() == A.tolist()


def test_parts_are_on_their_devices_and_as_equal_as_they_can_be() -> None:
    sharded = Tensor(np.arange(8.0, dtype=np.float32)).shard(THREE, 0).realize()
    assert sharded.uop.op is Ops.MULTI
    assert [part.shape for part in sharded.uop.src] == [(3,), (3,), (2,)]
    assert tuple(part.device for part in sharded.uop.src) == THREE


def test_fewer_elements_than_devices_leave_parts_empty() -> None:
    array = np.array([[1.0, 2.0, 3.0]], np.float32)
    sharded = Tensor(array).shard(THREE, 0).realize()
    np.testing.assert_array_equal((sharded + 1).numpy(), array + 1)
    np.testing.assert_array_equal(sharded.sum(0).numpy(), array[0])
    np.testing.assert_array_equal(sharded.max(0).numpy(), array[0])


def test_operations_on_values_split_alike_stay_local() -> None:
    a, b = (Tensor(array).shard(TWO, 0).realize() for array in (A, B))
    result = (a * b + a).relu().exp().sum(axis=1)
    assert copies(result) == 0
    expected = np.exp(np.maximum(A * B + A, 0)).sum(axis=1)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5)


def test_a_replicated_operand_is_cut_where_the_other_is_split() -> None:
    a, b = Tensor(A).shard(TWO, 0).realize(), Tensor(B).shard(TWO).realize()
    assert copies(a + b) == 0
    np.testing.assert_allclose((a + b).numpy(), A + B, rtol=1e-6)
    np.testing.assert_allclose((b + a).numpy(), A + B, rtol=1e-6)


def test_values_split_differently_are_brought_together() -> None:
    a, b = Tensor(A).shard(THREE, 0).realize(), Tensor(B).shard(THREE, 1).realize()
    np.testing.assert_allclose((a - b).numpy(), A - B, rtol=1e-6)
    np.testing.assert_allclose((b - a).numpy(), B - A, rtol=1e-6)


STEPS: dict[str, Step] = {
    "sum split": (lambda x: x.sum(axis=0), lambda x: x.sum(axis=0)),
    "sum other": (lambda x: x.sum(axis=1), lambda x: x.sum(axis=1)),
    "sum all": (lambda x: x.sum(), lambda x: x.sum()),
    "max split": (lambda x: x.max(axis=0), lambda x: x.max(axis=0)),
    "prod": (lambda x: x.prod(axis=0), lambda x: x.prod(axis=0)),
    "mean": (lambda x: x.mean(), lambda x: x.mean()),
    "argmax": (lambda x: x.argmax(axis=0), lambda x: x.argmax(axis=0)),
    "softmax": (
        lambda x: x.softmax(axis=0),
        lambda x: np.exp(x - x.max(0)) / np.exp(x - x.max(0)).sum(0),
    ),
    "transpose": (lambda x: x.T, lambda x: x.T),
    "flatten": (lambda x: x.reshape(-1), lambda x: x.reshape(-1)),
    "unflatten": (lambda x: x.reshape(2, 3, 2, 2), lambda x: x.reshape(2, 3, 2, 2)),
    "regroup": (lambda x: x.reshape(4, 6), lambda x: x.reshape(4, 6)),
    "new axes": (lambda x: x.reshape(1, 6, 1, 4), lambda x: x.reshape(1, 6, 1, 4)),
    "expand": (lambda x: x.unsqueeze(1).expand(6, 3, 4), lambda x: np.stack([x] * 3, 1)),
    "shrink split": (lambda x: x[1:4], lambda x: x[1:4]),
    "shrink inside one part": (lambda x: x[4:5], lambda x: x[4:5]),
    "shrink other": (lambda x: x[:, 1:3], lambda x: x[:, 1:3]),
    "step": (lambda x: x[::2], lambda x: x[::2]),
    "index": (lambda x: x[3], lambda x: x[3]),
    "pad": (lambda x: x.pad(((1, 2), (0, 1))), lambda x: np.pad(x, ((1, 2), (0, 1)))),
    "flip split": (lambda x: x.flip(0), lambda x: x[::-1]),
    "flip other": (lambda x: x.flip(1), lambda x: x[:, ::-1]),
    "roll": (lambda x: x.roll(2, 0), lambda x: np.roll(x, 2, 0)),
    "cat": (lambda x: x.cat(x * 2), lambda x: np.concatenate([x, x * 2])),
    "cat other": (lambda x: x.cat(x * 2, dim=1), lambda x: np.concatenate([x, x * 2], 1)),
    "stack": (lambda x: Tensor.stack(x, x + 1), lambda x: np.stack([x, x + 1])),
    "cumsum": (lambda x: x.cumsum(0), lambda x: x.cumsum(0)),
    "sort": (lambda x: x.sort(0)[0], lambda x: np.sort(x, 0)),
    "gather": (
        lambda x: x[Tensor([4, 0, 5]).shard(THREE)],
        lambda x: x[[4, 0, 5]],
    ),
    "cast": (lambda x: x.cast(dtypes.int32), lambda x: x.astype(np.int32)),
    "bitcast": (lambda x: x.bitcast(dtypes.uint8), lambda x: x.view(np.uint8)),
    "matmul": (lambda x: x @ x.T, lambda x: x @ x.T),
    "matmul reduced": (lambda x: x.T @ x, lambda x: x.T @ x),
    "where": (lambda x: (x > 0).where(x, -1.0), lambda x: np.where(x > 0, x, -1)),
    "triu": (lambda x: x.triu(), np.triu),
}


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("name", STEPS)
def test_an_operation_gives_what_one_device_gives(name: str, axis: int | None) -> None:
    ours, theirs = STEPS[name]
    found = ours(Tensor(A).shard(THREE, axis)).numpy()
    expected = theirs(A.copy())
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=3),
    st.sampled_from([0, 1, None]),
    st.booleans(),
)
def test_chains_of_operations(names: list[str], axis: int | None, stored: bool) -> None:
    ours, theirs = Tensor(A).shard(TWO, axis), A.copy()
    for name in names:
        if theirs.ndim != 2 or theirs.dtype != np.float32 or min(theirs.shape) < 6 > 4:
            break
        step = STEPS[name]
        if name == "gather":
            step = (lambda x: x[Tensor([1, 0]).shard(TWO)], lambda x: x[[1, 0]])
        if name in ("unflatten", "regroup", "new axes", "expand"):
            continue
        ours, theirs = step[0](ours), step[1](theirs)
        if stored:
            ours.realize()
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-4, atol=1e-4)


# ---- allreduce

WAYS = {
    "naive": {"RING": 0, "ALL2ALL": 0},
    "ring": {"RING": 2, "ALL2ALL": 0},
    "all to all": {"RING": 0, "ALL2ALL": 2},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("devices", [TWO, THREE])
def test_every_way_of_summing_gives_the_sum_on_every_device(
    way: str, devices: tuple[str, ...]
) -> None:
    array = RNG.integers(-9, 9, size=(7, 5)).astype(np.float32)
    with Context(**WAYS[way]):
        total = Tensor(array).shard(devices, 0).sum(axis=0).realize()
    for part in total.uop.src:
        np.testing.assert_array_equal(Tensor(part).numpy(), array.sum(0))


@pytest.mark.parametrize("way", WAYS)
def test_every_device_has_the_same_bits(way: str) -> None:
    array = (RNG.normal(size=(9, 7)) * 1e3).astype(np.float32)
    with Context(**WAYS[way]):
        total = Tensor(array).shard(THREE, 0).sum(axis=0).realize()
    first, *others = [Tensor(part).numpy().tobytes() for part in total.uop.src]
    assert others == [first, first]


def test_a_ring_moves_less_to_each_device() -> None:
    value = Tensor(RNG.normal(size=(3, 300)).astype(np.float32)).shard(THREE, 0).realize()
    sizes = {}
    for way in ("naive", "ring"):
        with Context(**WAYS[way]):
            calls = value.sum(axis=0).schedule_linear().src
        moved = [c.src[1].shape[0] for c in calls if c.src[0].op is Ops.COPY]
        sizes[way] = sum(moved)
    assert sizes == {"naive": 6 * 300, "ring": 4 * 300}


def test_sums_can_travel_narrow() -> None:
    value = Tensor(np.ones((4, 8), np.float16)).shard(TWO, 0).realize()
    widths = {}
    for narrow in (0, 1):
        with Context(ALLREDUCE_CAST=narrow):
            total = value.sum(axis=0)
            calls = total.schedule_linear().src
            np.testing.assert_array_equal(total.numpy(), np.full(8, 4.0))
        widths[narrow] = {c.src[1].dtype.itemsize for c in calls if c.src[0].op is Ops.COPY}
    assert widths == {0: {4}, 1: {2}}


# ---- storage


def test_writes_reach_every_part_and_every_alias() -> None:
    x = Tensor(A).shard(THREE, 0).realize()
    view, before = x[2:5], x * 1
    x.assign(x + 1)
    np.testing.assert_array_equal(x.numpy(), A + 1)
    np.testing.assert_array_equal(view.numpy(), A[2:5] + 1)
    np.testing.assert_array_equal(before.numpy(), A)


def test_a_write_through_a_view_changes_its_part_only() -> None:
    x, expected = Tensor(A).shard(THREE, 0).realize(), A.copy()
    x[1:4, 1:3] = 7
    expected[1:4, 1:3] = 7
    np.testing.assert_array_equal(x.numpy(), expected)
    x[5] += 1
    expected[5] += 1
    np.testing.assert_array_equal(x.numpy(), expected)


def test_the_source_of_a_shard_is_independent_of_it() -> None:
    source = Tensor(A).realize()
    sharded = source.shard(TWO, 0).realize()
    sharded.assign(sharded * 0)
    source[0] = 3
    np.testing.assert_array_equal(sharded.numpy(), np.zeros_like(A))
    assert source[0].tolist() == [3.0] * 4


def test_values_of_another_split_can_be_written() -> None:
    x = Tensor(A).shard(TWO, 0).realize()
    x.assign(Tensor(B).shard(TWO, 1))
    np.testing.assert_array_equal(x.numpy(), B)
    x.assign(0)
    np.testing.assert_array_equal(x.numpy(), np.zeros_like(A))


@pytest.mark.parametrize("axis", [0, 1, None])
def test_fresh_storage_mirrors_the_split(axis: int | None) -> None:
    x = Tensor(A).shard(TWO, axis).realize()
    for like in (x.empty_like(), x.zeros_like(), x.ones_like(), x.full_like(3), x.clone()):
        like.realize()
        assert like.device == TWO
        assert like.uop.arg.axis == axis
        assert [p.shape for p in like.uop.src] == [p.shape for p in x.uop.src]
    assert x.full_like(3).tolist() == np.full_like(A, 3).tolist()


def test_shard_like_and_in_place() -> None:
    x = Tensor(A).shard(THREE, 1)
    y = Tensor(B).shard_like(x * 2 + 1)
    assert copies(x.realize() + y.realize()) == 0
    z = Tensor(B).shard_(THREE, 1)
    np.testing.assert_array_equal(z.numpy(), B)
    assert Tensor(B).shard_like(Tensor(A)).device == "PYTHON"


def test_random_values_take_the_split() -> None:
    x = Tensor(A).shard(TWO, 0).realize()
    Tensor.manual_seed(3)
    drawn = x.rand_like()
    Tensor.manual_seed(3)
    np.testing.assert_array_equal(drawn.numpy(), Tensor.rand(6, 4).numpy())
    with Tensor.train():
        kept = x.dropout(0.5).numpy()
    assert set(np.unique(kept == 0)) <= {True, False}
    np.testing.assert_allclose(kept[kept != 0], 2 * A[kept != 0], rtol=1e-6)


# ---- gradients


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("read_before", [False, True])
def test_gradients_agree_with_one_device(axis: int | None, read_before: bool) -> None:
    weights = RNG.normal(size=(4, 3)).astype(np.float32)

    def run(x: Tensor, w: Tensor) -> tuple[np.ndarray, np.ndarray]:
        x, w = x.realize().is_param_(), w.realize().is_param_()
        loss = ((x @ w).tanh() * x.sum(axis=0).mean()).square().mean()
        if read_before:
            loss.item()
        loss.backward()
        assert x.grad is not None
        assert w.grad is not None
        assert (x.grad.device, w.grad.device) == (x.device, w.device)
        return x.grad.numpy(), w.grad.numpy()

    expected = run(Tensor(A), Tensor(weights))
    found = run(Tensor(A).shard(THREE, axis), Tensor(weights).shard(THREE))
    for ours, theirs in zip(found, expected):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_gradients_flow_through_shard_to_the_source() -> None:
    x = Tensor(A).realize().is_param_()
    (x.shard(THREE, 0).square().sum() + x.shard(TWO).sum().to("PYTHON").shard(THREE)).backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 2 * A + 1, rtol=1e-5)


@pytest.mark.parametrize("optimizer", [nn.optim.SGD, nn.optim.AdamW])
def test_data_parallel_training_takes_the_same_steps(optimizer: type) -> None:
    x, y = A, (A.sum(axis=1, keepdims=True) > 0).astype(np.float32)

    def train(devices: tuple[str, ...] | None) -> np.ndarray:
        Tensor.manual_seed(0)
        layer = nn.Linear(4, 1)
        data, labels = Tensor(x), Tensor(y)
        if devices is not None:
            for parameter in nn.state.get_parameters(layer):
                parameter.shard_(devices)
            data, labels = data.shard(devices, 0), labels.shard(devices, 0)
        steps = optimizer(nn.state.get_parameters(layer), lr=0.1)
        for _ in range(2):
            steps.zero_grad()
            (layer(data) - labels).square().mean().backward()
            steps.step()
        return layer.weight.numpy()

    np.testing.assert_allclose(train(THREE), train(None), rtol=1e-4, atol=1e-6)


# ---- errors


def test_bad_arguments_are_named() -> None:
    x = Tensor(A)
    with pytest.raises(DeviceError, match="more than once"):
        x.shard(("PYTHON", "python:0"), 0)
    with pytest.raises(DeviceError, match="expected a tuple"):
        x.shard("PYTHON")  # type: ignore[arg-type]
    with pytest.raises(DeviceError, match="NOWHERE"):
        x.shard(("PYTHON", "NOWHERE"))
    with pytest.raises(IndexError, match="shard"):
        x.shard(TWO, 2)
    with pytest.raises(ShapeError, match="shard_like"):
        Tensor([1.0]).shard_like(x.shard(TWO, 0))


def test_mixed_devices_are_named() -> None:
    with pytest.raises(DeviceMismatch, match=r"PYTHON:1.*move one with"):
        _ = Tensor(A).shard(TWO, 0) + Tensor(B)
    with pytest.raises(DeviceMismatch, match="PYTHON:2"):
        _ = Tensor(A).shard(TWO, 0) + Tensor(B).shard(THREE, 0)


def test_functions_take_sharded_tensors_and_custom_kernels_say_no() -> None:
    x = Tensor(A).shard(TWO, 0).realize()
    for precompile in (False, True):
        double = function(lambda t: (t * 2).sum(), precompile=precompile)
        np.testing.assert_allclose(double(x).item(), 2 * A.sum(), rtol=1e-5)
    with pytest.raises(DeviceError, match="several devices"):
        x.custom_kernel(fxn=lambda p: p.sink())


def test_copies_and_pickles_keep_the_values() -> None:
    x = Tensor(A).shard(TWO, 0)
    assert copy.deepcopy(x).device == TWO
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)).numpy(), A)


def test_one_device_is_a_move() -> None:
    moved = Tensor(A).shard(("PYTHON:1",), 0)
    assert moved.device == "PYTHON:1"
    np.testing.assert_array_equal(moved.numpy(), A)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_writes_through_views_reach_values_that_are_not_realized(axis: int | None) -> None:
    whole = Tensor(A).shard(TWO, axis) + 1
    part = whole[1:5]
    part[1:2].assign(9.0)
    expected = A + 1
    expected[2] = 9
    np.testing.assert_array_equal(whole.numpy(), expected)
    np.testing.assert_array_equal(part.numpy(), expected[1:5])


VIEWS: dict[str, Step] = {
    "flip": (lambda x: x.flip(0), lambda x: x[::-1]),
    "regroup": (lambda x: x.reshape(4, 6), lambda x: x.reshape(4, 6)),
    "flatten": (lambda x: x.reshape(24), lambda x: x.reshape(24)),
    "transpose": (lambda x: x.T, lambda x: x.T),
    "rows of a flip": (lambda x: x.flip(0)[1:4], lambda x: x[::-1][1:4]),
    "step": (lambda x: x[::2], lambda x: x[::2]),
    "step with a rest": (lambda x: x[1:][::2], lambda x: x[1:][::2]),
    "split axis": (lambda x: x.reshape(2, 3, 4)[1, 1:], lambda x: x.reshape(2, 3, 4)[1, 1:]),
}
"""Views of (6, 4); the split carries over to some only."""


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("read_before", [False, True])
def test_a_view_stays_a_view_where_the_split_does_not_carry_over(
    name: str, axis: int | None, read_before: bool
) -> None:
    ours, theirs = VIEWS[name]
    x, expected = Tensor(A).shard(THREE, axis).realize(), A.copy()
    view, seen = ours(x), theirs(expected)
    if read_before:
        view.realize()
        np.testing.assert_array_equal(view.numpy(), seen)
    x.assign(x * 2)
    expected *= 2
    np.testing.assert_array_equal(view.numpy(), seen)
    view.assign(view + 1)
    seen += 1
    view[1:] = 7
    seen[1:] = 7
    ours(x)[:1] = -1
    theirs(expected)[:1] = -1
    np.testing.assert_array_equal(x.numpy(), expected)
    np.testing.assert_array_equal(view.numpy(), seen)


@pytest.mark.parametrize("seed", range(8))
def test_views_and_writes_in_any_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    expected = [np.arange(24, dtype=np.int32).reshape(6, 4)]
    devices = tuple(f"PYTHON:{number}" for number in range(int(rng.choice([2, 3, 5, 7]))))
    axis = [0, 1, None][int(rng.integers(3))]
    found = [Tensor(expected[0].copy()).shard(devices, axis).realize()]
    for value in range(100, 110):
        place = int(rng.integers(len(found)))
        x, array = found[place], expected[place]
        kind = int(rng.integers(6))
        if kind == 0 and array.flags.c_contiguous and array.size == 24:
            found.append(x.reshape(3, 8))
            expected.append(array.reshape(3, 8))
        elif kind == 1:
            found.append(x.flip(0))
            expected.append(array[::-1])
        elif kind == 2:
            found.append(x.T[1:])
            expected.append(array.T[1:])
        elif kind == 3:
            x[1:] = value
            array[1:] = value
        elif kind == 4:
            x += value
            array += value
        else:
            np.testing.assert_array_equal(x.numpy(), array)
    for x, array in zip(found, expected):
        if array.size:
            np.testing.assert_array_equal(x.numpy(), array)


def test_bits_are_written_through_views_that_do_not_keep_the_split() -> None:
    x, expected = Tensor(A).shard(THREE, 0).realize(), A.copy()
    x.flip(0).bitcast(dtypes.uint32)[:2] = 0
    expected[-2:] = 0
    np.testing.assert_array_equal(x.numpy(), expected)
    with pytest.raises(ShapeError, match="does not keep the split"):
        x.reshape(4, 6).flip(0).bitcast(dtypes.uint8).assign(0)


def test_a_split_tensor_can_be_put_whole_on_each_device() -> None:
    whole = Tensor(A).shard(THREE, 0).shard(THREE).realize()
    assert whole.uop.arg.axis is None
    assert [part.shape for part in whole.uop.src] == [(6, 4)] * 3
    np.testing.assert_array_equal(whole.numpy(), A)
    like = Tensor(A).shard(THREE, 1).shard_like(whole).realize()
    assert like.uop.arg.axis is None


def test_what_cannot_be_split_is_said() -> None:
    with pytest.raises(IndexError, match="axis 0 of a tensor without axes"):
        Tensor(3.0).shard(TWO, 0)
    rows = Variable("rows", 1, 6).bind(3)
    with pytest.raises(ShapeError, match="axis 0 has a symbolic size, of rows"):
        Tensor(A).realize()[:rows].shard(TWO, 0)
    columns = Tensor(A).realize()[:rows].shard(TWO, 1)
    np.testing.assert_array_equal(columns.sum(0).numpy(), A[:3].sum(0))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", [5, 7])
def test_sums_over_more_devices_than_divide_the_value(way: str, count: int) -> None:
    devices = tuple(f"PYTHON:{number}" for number in range(count))
    array = RNG.integers(-9, 9, size=(11, 3)).astype(np.int32)
    with Context(**WAYS[way]):
        x = Tensor(array).shard(devices, 0)
        for name in ("sum", "max", "min", "prod"):
            expected = getattr(array, name)(0)
            np.testing.assert_array_equal(getattr(x, name)(0).numpy(), expected)
