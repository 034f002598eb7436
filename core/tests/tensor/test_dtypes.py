"""Dtypes on devices: promotion cell by cell, casts, bitcasts, the edges of 64-bit integers."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

from tg_core import Context, Tensor, TinyJit
from tg_core.dtype import DType, dtypes, promote_concrete, to_numpy, truncate

DEVICES = pytest.mark.parametrize("device", ["CPU", "PYTHON"])
ALL = tuple(dtypes.all)


def joined(values: list[Tensor]) -> Tensor:
    """Return scalars as one vector, so that they take one kernel."""
    return Tensor.stack(*(v.reshape(()).cast(dtypes.float64) for v in values))


def of(value: float, dtype: DType, device: str) -> Tensor:
    return Tensor([value], device=device, dtype=dtype).realize()


COMPILED = (
    dtypes.bool,
    dtypes.int8,
    dtypes.uint64,
    dtypes.fp8e5m2,
    dtypes.bfloat16,
    dtypes.float32,
)


@pytest.mark.parametrize(
    ("left", "device"),
    [*((d, "PYTHON") for d in ALL), *((d, "CPU") for d in COMPILED)],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_promotion_folded_eager_and_jitted(left: DType, device: str) -> None:
    three, two = 1 if left is dtypes.bool else 3, [1 if d is dtypes.bool else 2 for d in ALL]
    x, others = of(three, left, device), [of(v, d, device) for v, d in zip(two, ALL)]

    def sums(x: Tensor, *others: Tensor) -> Tensor:
        found = [x + y for y in others]
        assert [f.dtype for f in found] == [promote_concrete(left, d) for d in ALL]
        return joined(found).realize()

    wanted = [three + v if (left, d) != (dtypes.bool, dtypes.bool) else 1 for v, d in zip(two, ALL)]
    folded = [Tensor(three, dtype=left) + Tensor(v, dtype=d) for v, d in zip(two, ALL)]
    assert [f.dtype for f in folded] == [promote_concrete(left, d) for d in ALL]
    assert [float(f.item()) for f in folded] == wanted
    assert sums(x, *others).tolist() == wanted
    jitted = TinyJit(sums)
    for _ in range(3):
        assert jitted(x, *others).tolist() == wanted


@pytest.mark.parametrize("dtype", ALL, ids=lambda d: d.name)
def test_python_numbers_are_weak(dtype: DType) -> None:
    is_float = dtypes.is_float(dtype)
    for x in (Tensor([1], dtype=dtype), Tensor(1, dtype=dtype)):
        whole = dtypes.int32 if dtype is dtypes.bool else dtype
        for found in (x + 1, 1 + x, x * 2, x.maximum(0)):
            assert found.dtype is whole
        for found in (x + 0.5, 0.5 - x, x * 1.5):
            assert found.dtype is (dtype if is_float else dtypes.float32)
        assert (x + True).dtype is dtype
        assert (x > 0).where(x, 1).dtype is whole


VALUES = [
    0,
    1,
    -1,
    2.5,
    -2.5,
    0.5,
    -0.5,
    3.75,
    100,
    -100,
    255,
    300,
    1e-3,
    40000,
    -70000,
    3e9,
    2.0**40,
]


@DEVICES
@pytest.mark.parametrize("source", ALL, ids=lambda d: d.name)
def test_casts_between_all_dtypes(source: DType, device: str) -> None:
    values = [float(v) for v in VALUES if float(truncate(v, source)) == v]
    x = Tensor(values, device=device, dtype=dtypes.float64).cast(source).realize()
    found = Tensor.stack(*(x.cast(target).cast(dtypes.float64) for target in ALL)).tolist()
    for target, row in zip(ALL, found, strict=True):
        exact = [v if not dtypes.is_int(target) else math.trunc(v) for v in values]
        assert row == [float(truncate(v, target)) for v in exact], target


@DEVICES
@pytest.mark.parametrize("source", dtypes.floats, ids=lambda d: d.name)
def test_casts_of_special_floats(source: DType, device: str) -> None:
    values = [math.inf, -math.inf, math.nan, -0.0]
    x = Tensor(values, device=device, dtype=dtypes.float64).cast(source).realize()
    stored = [float(truncate(v, source)) for v in values]
    for target in dtypes.floats:
        found = x.cast(target).cast(dtypes.float64).tolist()
        wanted = [float(truncate(v, target)) for v in stored]
        assert str(found) == str(wanted), target
    assert x.cast(dtypes.bool).tolist() == [True, True, True, False]


SIZED = tuple(d for d in ALL if d is not dtypes.bool)


@DEVICES
@pytest.mark.parametrize("source", SIZED, ids=lambda d: d.name)
def test_bitcasts_of_every_size(source: DType, device: str) -> None:
    # no exponent of infinities and NaN in fp8e5m2: the interpreter has one NaN there
    raw = np.random.default_rng(0).integers(0, 256, (3, 16), dtype=np.uint8) & 0xBB
    x = Tensor(raw, device=device)
    for target in SIZED:
        y = x.bitcast(source).bitcast(target)
        assert y.shape == (3, 16 // target.itemsize)
        assert y.bitcast(dtypes.uint8).numpy().tobytes() == raw.tobytes(), target
        kind, own = to_numpy(target), to_numpy(source)
        if kind is not None and own is not None and not dtypes.is_float(source):
            # of a computed value too
            computed = (x.bitcast(source) + 1).bitcast(target)
            assert computed.numpy().tobytes() == (raw.view(own) + own.type(1)).tobytes(), target
            assert y.numpy().tobytes() == raw.view(kind).tobytes()


EDGES = {
    dtypes.int64: [-(2**63), -(2**63) + 1, -(2**53) - 1, -2, -1, 0, 1, 2, 2**53 + 1, 2**63 - 1],
    dtypes.uint64: [0, 1, 2, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 5, 2**64 - 2, 2**64 - 1],
}
OPERATORS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv,
    "%": operator.mod, "&": operator.and_, "|": operator.or_, "^": operator.xor, "<": operator.lt,
    "==": operator.eq, ">=": operator.ge,
}  # fmt: skip


@DEVICES
@pytest.mark.parametrize("dtype", EDGES, ids=lambda d: d.name)
def test_edges_of_wide_integers(dtype: DType, device: str) -> None:
    pairs = [(a, b) for a in EDGES[dtype] for b in EDGES[dtype] if b]
    pairs.remove((-(2**63), -1)) if dtype is dtypes.int64 else None
    first, second = (Tensor(list(side), device=device, dtype=dtype) for side in zip(*pairs))
    for name, operation in OPERATORS.items():
        found = operation(first, second).tolist()
        for (a, b), value in zip(pairs, found, strict=True):
            exact = operation(a, b)
            wanted = exact if isinstance(exact, bool) else truncate(exact, dtype)
            assert value == wanted, f"{a} {name} {b}"
    for amount in (0, 1, 31, 32, 63):
        wide = Tensor(EDGES[dtype], device=device, dtype=dtype)
        assert (wide << amount).tolist() == [truncate(v << amount, dtype) for v in EDGES[dtype]]
        assert (wide >> amount).tolist() == [v >> amount for v in EDGES[dtype]]


@pytest.mark.parametrize("dtype", EDGES, ids=lambda d: d.name)
def test_edges_of_wide_constants(dtype: DType) -> None:
    pairs = [(a, b) for a in EDGES[dtype] for b in EDGES[dtype]]
    for name in ("+", "-", "*", "&", "<", "=="):
        operation = OPERATORS[name]
        found = [operation(Tensor(a, dtype=dtype), Tensor(b, dtype=dtype)) for a, b in pairs]
        exact = [operation(a, b) for a, b in pairs]
        wanted = [e if isinstance(e, bool) else truncate(e, dtype) for e in exact]
        assert Tensor.stack(*found).tolist() == wanted, name
    floats = [Tensor(a, dtype=dtype).cast(dtypes.float64) for a in EDGES[dtype]]
    assert Tensor.stack(*floats).tolist() == [float(a) for a in EDGES[dtype]]


def test_reductions_of_wide_integers() -> None:
    for dtype, values in EDGES.items():
        x = Tensor(values, dtype=dtype).realize()
        assert x.max().item() == max(values) and x.min().item() == min(values)
        assert x.sum().item() == truncate(sum(values), dtype)
        assert x.argmax().item() == values.index(max(values))
        assert x.sort()[0].tolist() == sorted(values)


def test_default_widths() -> None:
    with Context(DEFAULT_FLOAT="float16", DEFAULT_INT="int64"):
        assert Tensor([1.5]).dtype is dtypes.float16
        assert Tensor([1]).dtype is dtypes.int64
        assert (Tensor([True]) + 1).dtype is dtypes.int64
        assert (Tensor([1], dtype=dtypes.int8) / 2).dtype is dtypes.float16
        assert Tensor([3, 1]).argmax().dtype is dtypes.int64
