"""Gradients of lookups and writes by index against loops in numpy, in work that grows with the
indices.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from tg_core import Context, GlobalCounters, Tensor, TinyJit, function
from tg_core.dtype import dtypes
from tg_core.errors import IndexingError
from tg_core.schedule import find_lookup

RNG = np.random.default_rng(0)


def drawn(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("device", [None, "PYTHON"])
def test_rows_of_a_table(device: str | None) -> None:
    table = Tensor(drawn(300, 24), device=device).realize()
    index = RNG.integers(-300, 300, 40)
    index[3] = 7000
    weight = drawn(40, 24)
    lookup = table[Tensor(index, device=device)] * Tensor(weight, device=device)
    (grad,) = lookup.sum().gradient(table)
    wanted = np.zeros((300, 24), np.float32)
    for place, row in zip(index, weight):
        if place < 300:
            wanted[place] += row
    # the order of the sum is that of the indices
    np.testing.assert_array_equal(grad.numpy(), wanted)


def test_an_axis_in_the_middle() -> None:
    x, index, weight = Tensor(drawn(3, 50, 4)), RNG.integers(0, 50, (7, 30)), drawn(3, 7, 30, 4)
    (grad,) = (x[:, Tensor(index)] * Tensor(weight)).sum().gradient(x)
    wanted = np.zeros(x.shape, np.float32)
    np.add.at(wanted, (slice(None), index), weight)
    np.testing.assert_allclose(grad.numpy(), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_gather(dim: int) -> None:
    shape = [4, 5, 6]
    shape[dim] = 200
    x, index = Tensor(drawn(*shape)), RNG.integers(0, 200, (4, 5, 6))
    weight = drawn(4, 5, 6)
    (grad,) = (x.gather(dim, Tensor(index)) * Tensor(weight)).sum().gradient(x)
    wanted = np.zeros(x.shape, np.float32)
    places = list(np.indices((4, 5, 6)))
    places[dim] = index
    np.add.at(wanted, tuple(places), weight)
    np.testing.assert_allclose(grad.numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_several_axes_and_several_lookups() -> None:
    x = Tensor(drawn(40, 30))
    rows, columns, weight = RNG.integers(0, 40, 99), RNG.integers(0, 30, 99), drawn(99)
    again = RNG.integers(0, 40, 99)
    picked = x[Tensor(rows), Tensor(columns)] - x[Tensor(again), Tensor(columns)]
    (grad,) = (picked * Tensor(weight)).sum().gradient(x)
    wanted = np.zeros((40, 30), np.float32)
    np.add.at(wanted, (rows, columns), weight)
    np.subtract.at(wanted, (again, columns), weight)
    np.testing.assert_allclose(grad.numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_halves_add_up_in_float32() -> None:
    table = Tensor(np.zeros((20, 2), np.float16))
    index = np.zeros(4000, np.int64)
    (grad,) = table[Tensor(index)].sum().gradient(table)
    assert grad.dtype is dtypes.float16
    assert grad[0].tolist() == [4000, 4000]


def test_second_derivative() -> None:
    table, index = Tensor(drawn(100, 8)), RNG.integers(0, 100, 150)
    picked = table[Tensor(index)]
    (first,) = (picked * picked * picked).sum().gradient(table)
    weight = drawn(100, 8)
    (second,) = (first * Tensor(weight)).sum().gradient(table)
    counts = np.bincount(index, minlength=100)[:, None]
    np.testing.assert_allclose(second.numpy(), 6 * counts * table.numpy() * weight, rtol=1e-4)


def test_work_grows_with_the_indices() -> None:
    def flops(rows: int) -> int:
        table, index = (
            Tensor(drawn(rows, 16)).realize(),
            Tensor(RNG.integers(0, rows, 64)).realize(),
        )
        (grad,) = table[index].sum().gradient(table)
        GlobalCounters.reset()
        grad.realize()
        return GlobalCounters.flops

    assert flops(8000) < 2 * flops(1000)


def test_in_functions_and_replays() -> None:
    values, weight = drawn(200, 16), drawn(64, 16)
    table = Tensor(values).realize()

    def step(index: Tensor, weight: Tensor) -> Tensor:
        (grad,) = (table[index] * weight).sum().gradient(table)
        return grad.realize()

    jitted = TinyJit(step)
    traced = function(lambda t, i, w: (t[i] * w).sum().gradient(t)[0])
    for _ in range(4):
        index = RNG.integers(0, 200, 64)
        wanted = np.zeros((200, 16), np.float32)
        np.add.at(wanted, index, weight)
        arguments = Tensor(index).realize(), Tensor(weight).realize()
        for found in (jitted(*arguments), traced(table, *arguments)):
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_nothing_to_look_up() -> None:
    x = Tensor(np.zeros(0, np.float32))
    assert x.diag().sum().gradient(x)[0].tolist() == []


# ---- writes by index


@pytest.fixture
def every_size(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take the pass over the index at any size."""
    monkeypatch.setattr(find_lookup, "LEAST_PAIRS", 1)
    monkeypatch.setattr(find_lookup, "LEAST_POSITIONS", 2)
    with Context(SCACHE=0):
        yield


NUMPY = {
    "sum": np.sum,
    "prod": np.prod,
    "amax": np.max,
    "amin": np.min,
    "mean": np.mean,
}
DTYPES = ("float32", "float16", "bool", "int8", "uint32", "int64")


def values_of(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> np.ndarray:
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        return rng.standard_normal(shape).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def written_at(index: np.ndarray, axis: int, size: int) -> dict[tuple[int, ...], list[Any]]:
    """Return for each place the positions in the index that name it, in order."""
    places: dict[tuple[int, ...], list[Any]] = {}
    for position in np.ndindex(*index.shape):
        at = int(index[position])
        at += size if at < 0 else 0
        if 0 <= at < size:
            place = (*position[:axis], at, *position[axis + 1 :])
            places.setdefault(place, []).append(position)
    return places


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reduce", [None, *NUMPY])
def test_scatter_against_loops(every_size: None, dtype: str, reduce: str | None) -> None:
    if dtype == "bool" and reduce == "mean":
        return
    rng = np.random.default_rng(zlib.crc32(f"{dtype} {reduce}".encode()))
    shape = [int(s) for s in rng.integers(2, 7, rng.integers(1, 4))]
    axis = int(rng.integers(len(shape)))
    wide = [int(s) for s in rng.integers(1, np.array(shape) + 1)]
    wide[axis] = int(rng.integers(2, 9))
    signed = str(rng.choice(["int8", "int32", "int64"]))
    index = rng.integers(-shape[axis] - 1, shape[axis] + 2, wide).astype(signed)
    own, source = values_of(rng, shape, dtype), values_of(rng, wide, dtype)
    include = bool(rng.integers(2))
    wanted = own.copy()
    for place, positions in written_at(index, axis, shape[axis]).items():
        if reduce is None:
            wanted[place] = source[positions[-1]]
            continue
        found = [own[place]] if include else []
        found += [source[p] for p in positions]
        wide_dtype = "float64" if dtype.startswith("float") else dtype
        column = np.array(found, wide_dtype)
        if dtype == "bool":
            wanted[place] = column.any() if reduce in ("sum", "amax") else column.all()
        elif reduce == "mean" and "int" in dtype:
            wanted[place] = column.sum(dtype=dtype) // np.array(len(found), dtype)
        elif reduce in ("sum", "prod"):
            wanted[place] = NUMPY[reduce](column, dtype=wide_dtype)
        else:
            wanted[place] = NUMPY[reduce](column)
    x, i, v = Tensor(own), Tensor(index), Tensor(source)
    if reduce is None:
        got = x.scatter(axis, i, v)
    else:
        got = x.scatter_reduce(axis, i, v, reduce, include)  # type: ignore[arg-type]  # one of them
    if dtype.startswith("float"):
        close = 2e-3 if dtype == "float16" else 1e-5
        np.testing.assert_allclose(got.numpy(), wanted, rtol=close, atol=close)
    else:
        np.testing.assert_array_equal(got.numpy(), wanted)


SETITEMS: list[tuple[tuple[int, ...], Any]] = [
    ((60, 4), lambda r: r.integers(-60, 60, 50)),
    ((3, 60), lambda r: (slice(None), r.integers(-60, 60, 40))),
    ((8, 9, 3), lambda r: (r.integers(-8, 8, (6, 1)), r.integers(0, 9, 7))),
    ((8, 3, 9), lambda r: (r.integers(0, 8, 20), slice(None), r.integers(-9, 9, 20))),
    ((8, 9), lambda r: r.integers(0, 2, (8, 9)).astype(bool)),
    ((40, 6), lambda r: (r.integers(0, 2, 40).astype(bool), slice(1, None, 2))),
    ((30, 5), lambda r: (slice(None, None, -3), [0, 0, 3, -1])),
    ((2, 30, 5), lambda r: (1, [5, 5, 7, -30], None)),
]


@pytest.mark.parametrize("device", ["CPU", "PYTHON"])
@pytest.mark.parametrize("case", range(len(SETITEMS)))
def test_setitem_against_numpy(every_size: None, case: int, device: str) -> None:
    rng = np.random.default_rng(case)
    shape, drawn_index = SETITEMS[case]
    index = drawn_index(rng)
    own = rng.standard_normal(shape).astype(np.float32)
    value = rng.standard_normal(own[index].shape).astype(np.float32)
    wanted = own.copy()
    wanted[index] = value
    x = Tensor(own, device=device).realize()
    x[_as_tensors(index, device)] = Tensor(value, device=device)
    # numpy does not promise which of several writes wins, but the last one does
    np.testing.assert_array_equal(x.numpy(), wanted)


def _as_tensors(index: Any, device: str) -> Any:
    if isinstance(index, tuple):
        return tuple(_as_tensors(part, device) for part in index)
    return Tensor(index, device=device) if isinstance(index, np.ndarray) else index


@pytest.mark.parametrize("how", ["transposed", "shrunk", "flipped"])
def test_views_as_destinations(how: str) -> None:
    own, index, value = drawn(60, 70), RNG.integers(0, 50, (1500, 60)), drawn(1500, 60)
    base = Tensor(own).realize()
    view, array = {
        "transposed": (base.transpose(0, 1), own.T),
        "shrunk": (base[:, 9:].transpose(0, 1), own[:, 9:].T),
        "flipped": (base.flip(1).transpose(0, 1), own[:, ::-1].T),
    }[how]
    wanted = array.copy()
    for place, positions in written_at(index, 0, len(wanted)).items():
        wanted[place] = value[positions[-1]]
    got = view.scatter(0, Tensor(index), Tensor(value))
    np.testing.assert_array_equal(got.numpy(), wanted)
    np.testing.assert_array_equal(base.numpy(), own)


def test_an_index_beyond_32_bits_is_out_of_range() -> None:
    index = np.array([1, 2**32 + 1, -(2**32) + 2, 3] * 500)
    x = Tensor(drawn(200)).realize()
    wanted = x.numpy().copy()
    np.add.at(wanted, [1, 3] * 500, 1)
    got = x.scatter_reduce(0, Tensor(index), Tensor.ones(2000), "sum")
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-5)


def test_nan_and_infinities_reach_their_place_only() -> None:
    own, value = drawn(300), drawn(900)
    index = RNG.integers(0, 280, 900)
    value[:4] = [np.nan, np.inf, -np.inf, np.inf]
    index[:4] = [1, 2, 3, 290]
    for reduce, at in (("sum", np.add), ("prod", np.multiply), ("amax", np.maximum)):
        wanted = own.copy()
        with np.errstate(invalid="ignore"):
            at.at(wanted, index, value)
        got = Tensor(own).scatter_reduce(0, Tensor(index), Tensor(value), reduce)  # type: ignore[arg-type]  # one of them
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-4, atol=1e-6)


def large() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return a destination, an index with repeats, values with zeros, and weights."""
    own, index, value = drawn(900), RNG.integers(0, 400, 300), drawn(300)
    index[6] = index[7]
    value[5] = value[6] = 0
    value[9], index[9] = value[8], index[8]
    return own, index, value, drawn(900)


def test_gradients_of_replaced_and_written_values() -> None:
    own, index, value, weight = large()
    x, v = Tensor(own), Tensor(value)
    y = x * 1
    y[Tensor(index)] = v * 2
    to_x, to_v = (y * Tensor(weight)).sum().gradient(x, v)
    last = {place: number for number, place in enumerate(index.tolist())}
    kept, wanted = weight.copy(), np.zeros(300, np.float32)
    for place, number in last.items():
        kept[place], wanted[number] = 0, 2 * weight[place]
    np.testing.assert_array_equal(to_x.numpy(), kept)
    np.testing.assert_array_equal(to_v.numpy(), wanted)


@pytest.mark.parametrize("reduce", ["prod", "amax", "amin", "mean"])
def test_gradients_of_reductions(reduce: str) -> None:
    own, index, value, weight = large()
    x, v = Tensor(own), Tensor(value)
    y = x.scatter_reduce(0, Tensor(index), v, reduce, include_self=False)  # type: ignore[arg-type]  # one of them
    to_x, to_v = (y * Tensor(weight)).sum().gradient(x, v)
    wanted, kept = np.zeros(300), weight.copy()
    for (place,), positions in written_at(index, 0, 900).items():
        kept[place] = 0
        numbers = [p[0] for p in positions]
        column = value[numbers].astype(np.float64)
        for turn, number in enumerate(numbers):
            if reduce == "prod":
                slope = np.prod(np.delete(column, turn))
            elif reduce == "mean":
                slope = 1 / len(column)
            else:
                best = column.max() if reduce == "amax" else column.min()
                slope = (column[turn] == best) / (column == best).sum()
            wanted[number] = slope * weight[place]
    np.testing.assert_allclose(to_v.numpy(), wanted, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(to_x.numpy(), kept)


def test_work_of_writes_grows_with_the_indices() -> None:
    def flops(rows: int, how: str) -> int:
        x, index = Tensor(drawn(rows)).realize(), Tensor(RNG.integers(0, rows, 512)).realize()
        value = Tensor(drawn(512)).realize()
        if how == "setitem":
            got = x * 1
            got[index] = value
            wanted = (got * got).sum().gradient(value)[0]
        else:
            got = x.scatter_reduce(0, index, value, how)  # type: ignore[arg-type]  # one of them
            wanted = (got * got).sum().gradient(value)[0]
        GlobalCounters.reset()
        Tensor.realize(got, wanted)
        return GlobalCounters.flops

    for how in ("setitem", "sum", "prod", "mean", "amax", "amin"):
        # tried in pairs, 512 indices would be 512 operations for each row
        assert flops(20000, how) < 60 * 20000 + 512 * 200, how


def test_a_histogram_is_a_write() -> None:
    values = RNG.integers(0, 100, 5000)
    counts = (Tensor(values).reshape(-1, 1) == Tensor.arange(100)).sum(0)
    GlobalCounters.reset()
    np.testing.assert_array_equal(counts.numpy(), np.bincount(values, minlength=100))
    assert GlobalCounters.flops < 10 * 5000


def test_positions_that_count_are_no_index() -> None:
    """A diagonal is a comparison of two positions, which algebra solves."""
    vector = Tensor(drawn(300)).realize()
    assert len(vector.diag().sum(0).schedule_linear().src) == 1
    np.testing.assert_array_equal(vector.diag().sum(0).numpy(), vector.numpy())


def test_the_same_data_read_before_and_after() -> None:
    """The index and the values go into the pass as they are, and are read again after it."""
    own, index, value = drawn(5000), RNG.integers(0, 5000, 200).astype(np.int32), drawn(200)
    x, i, v = Tensor(own).realize(), Tensor(index).realize(), Tensor(value).realize()
    got = x.scatter_reduce(0, i, v, "sum")[i] * v + i
    wanted = own.copy()
    np.add.at(wanted, index, value)
    # a start, the index counted from the front, the pass, the result
    assert len(got.schedule_linear().src) == 4
    np.testing.assert_allclose(got.numpy(), wanted[index] * value + index, rtol=1e-5)


def test_values_that_are_overwritten_in_the_same_schedule() -> None:
    own, index, value = drawn(5000), RNG.integers(0, 5000, 200).astype(np.int32), drawn(200)
    x, i, v = Tensor(own).realize(), Tensor(index).realize(), Tensor(value).realize()
    got = x.scatter_reduce(0, i, v, "sum")
    v.assign(v * 2)
    i.assign(i * 0)
    Tensor.realize(v, got, i)
    wanted = own.copy()
    np.add.at(wanted, index, value)
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-5)
    np.testing.assert_array_equal(v.numpy(), value * 2)


def test_onto_storage_that_is_read() -> None:
    """The pass fills its target at once, unless something needs what was there."""
    own, index = drawn(3000), RNG.integers(0, 3000, 100)
    x, i = Tensor(own).realize(), Tensor(index).realize()
    x.assign(Tensor.zeros(3000).scatter_reduce(0, i, x[i], "sum"))
    wanted = np.zeros(3000, np.float32)
    np.add.at(wanted, index, own[index])
    np.testing.assert_allclose(x.numpy(), wanted, rtol=1e-5)


def test_replays() -> None:
    @TinyJit
    def step(x: Tensor, index: Tensor, value: Tensor) -> Tensor:
        y = x * 1
        y[index] = value
        return y.scatter_reduce(0, index, value, "sum").realize()

    for _ in range(4):
        own, index, value = drawn(3000), RNG.integers(0, 3000, 100), drawn(100)
        wanted = own.copy()
        wanted[index] = value
        np.add.at(wanted, index, value)
        got = step(Tensor(own).realize(), Tensor(index).realize(), Tensor(value).realize())
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-5)


def test_over_several_devices() -> None:
    own, index, value = drawn(4, 3000), RNG.integers(0, 3000, (4, 100)), drawn(4, 100)
    devices = ("CPU", "CPU:1")
    x, i, v = (Tensor(a).shard(devices, axis=0) for a in (own, index, value))
    wanted = own.copy()
    np.add.at(wanted, (np.arange(4)[:, None], index), value)
    got = x.scatter_reduce(1, i, v, "sum")
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-5)


def test_positions_out_of_range_are_named() -> None:
    x, index = Tensor(drawn(3000)).realize(), Tensor(np.full(100, 3000))
    with Context(CHECK_INDEX=1), pytest.raises(IndexingError, match="3000 at position"):
        x.scatter(0, index, 1.0).realize()
