"""Sample kernels by name, each a function of sizes; inputs follow the outputs in parameter order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from codegen_kernels import kernel, load, loop, param, reduce_loop

from tg_core.dtype import Invalid, dtypes
from tg_core.uop.ops import Ops, UOp


@dataclass(frozen=True)
class Sample:
    """A kernel and the sizes of its storage arguments, outputs first."""

    sink: UOp
    sizes: tuple[int, ...]
    outputs: int = 1


def add(n: int, _m: int, _k: int) -> Sample:
    i = loop(n, 0)
    return Sample(
        kernel(param(0, n).index(i).store(load(param(1, n), i) + load(param(2, n), i)).end(i)),
        (n, n, n),
    )


def outer_product(n: int, m: int, _k: int) -> Sample:
    i, j = loop(n, 0), loop(m, 1)
    value = load(param(1, n), i) * load(param(2, m), j)
    return Sample(kernel(param(0, n * m).index(i * m + j).store(value).end(i, j)), (n * m, n, m))


def transpose(n: int, m: int, _k: int) -> Sample:
    i, j = loop(n, 0), loop(m, 1)
    return Sample(
        kernel(param(0, n * m).index(i * m + j).store(load(param(1, n * m), j * n + i)).end(i, j)),
        (n * m, n * m),
    )


def row_sum(n: int, m: int, _k: int) -> Sample:
    i, r = loop(n, 0), reduce_loop(m, 1)
    value = load(param(1, n * m), i * m + r).reduce(Ops.ADD, r)
    return Sample(kernel(param(0, n).index(i).store(value).end(i)), (n, n * m))


def column_max(n: int, m: int, _k: int) -> Sample:
    j, r = loop(m, 0), reduce_loop(n, 1)
    value = load(param(1, n * m), r * m + j).reduce(Ops.MAX, r)
    return Sample(kernel(param(0, m).index(j).store(value).end(j)), (m, n * m))


def total(n: int, m: int, _k: int) -> Sample:
    r, s = reduce_loop(n, 0), reduce_loop(m, 1)
    value = load(param(1, n * m), r * m + s).reduce(Ops.ADD, r, s)
    return Sample(kernel(param(0, 1).index(UOp.const(0)).store(value)), (1, n * m))


def matmul(n: int, m: int, k: int) -> Sample:
    i, j, r = loop(n, 0), loop(m, 1), reduce_loop(k, 2)
    value = (load(param(1, n * k), i * k + r) * load(param(2, k * m), r * m + j)).reduce(Ops.ADD, r)
    return Sample(
        kernel(param(0, n * m).index(i * m + j).store(value).end(i, j)), (n * m, n * k, k * m)
    )


def matmul_transposed(n: int, m: int, k: int) -> Sample:
    i, j, r = loop(n, 0), loop(m, 1), reduce_loop(k, 2)
    value = (load(param(1, n * k), i * k + r) * load(param(2, k * m), j * k + r)).reduce(Ops.ADD, r)
    return Sample(
        kernel(param(0, n * m).index(i * m + j).store(value).end(i, j)), (n * m, n * k, k * m)
    )


def softmax(n: int, m: int, _k: int) -> Sample:
    i, j, r = loop(n, 0), loop(m, 1), reduce_loop(m, 2)
    x = param(1, n * m)
    peak = load(x, i * m + r).reduce(Ops.MAX, r)
    norm = (load(x, i * m + r) - peak).exp2().reduce(Ops.ADD, r)
    value = (load(x, i * m + j) - peak).exp2() / norm
    return Sample(kernel(param(0, n * m).index(i * m + j).store(value).end(i, j)), (n * m, n * m))


def variance(n: int, m: int, _k: int) -> Sample:
    i, r, s = loop(n, 0), reduce_loop(m, 1), reduce_loop(m, 2)
    x = param(1, n * m)
    mean = load(x, i * m + r).reduce(Ops.ADD, r) * (1.0 / m)
    spread = load(x, i * m + s) - mean
    return Sample(
        kernel(param(0, n).index(i).store((spread * spread).reduce(Ops.ADD, s)).end(i)), (n, n * m)
    )


def padded_shift(n: int, m: int, _k: int) -> Sample:
    i, j = loop(n, 0), loop(m, 1)
    valid = (j > 0) & (i < n - 1)
    index = UOp(Ops.WHERE, (valid, i * m + j + (m - 1), UOp.const(Invalid)))
    return Sample(
        kernel(param(0, n * m).index(i * m + j).store(load(param(1, n * m), index)).end(i, j)),
        (n * m, n * m),
    )


def convolution(n: int, m: int, k: int) -> Sample:
    channel, y, x = loop(k, 0), loop(n, 1), loop(m, 2)
    dy, dx = reduce_loop(3, 3), reduce_loop(3, 4)
    valid = (y + dy > 0) & (y + dy < n + 1) & (x + dx > 0) & (x + dx < m + 1)
    index = UOp(Ops.WHERE, (valid, (y + dy) * m + x + dx - m - 1, UOp.const(Invalid)))
    value = valid.where(load(param(1, n * m), index), UOp.const(0.0, dtypes.float32))
    value = (value * load(param(2, k * 9), channel * 9 + dy * 3 + dx)).reduce(Ops.ADD, dy, dx)
    out = param(0, k * n * m).index(channel * (n * m) + y * m + x)
    return Sample(kernel(out.store(value).end(channel, y, x)), (k * n * m, n * m, k * 9))


def two_outputs(n: int, m: int, _k: int) -> Sample:
    i, j = loop(n, 0), loop(m, 1)
    x = load(param(2, n * m), i * m + j)
    first = param(0, n * m).index(i * m + j).store(x + x).end(i, j)
    second = param(1, n * m).index(i * m + j).store(x * x).end(i, j)
    return Sample(kernel(first, second), (n * m, n * m, n * m), 2)


def row_and_column_sums(n: int, m: int, _k: int) -> Sample:
    i, r = loop(n, 0), reduce_loop(m, 1)
    j, s = loop(m, 2), reduce_loop(n, 3)
    x = param(2, n * m)
    rows = param(0, n).index(i).store(load(x, i * m + r).reduce(Ops.ADD, r)).end(i)
    columns = param(1, m).index(j).store(load(x, s * m + j).reduce(Ops.ADD, s)).end(j)
    return Sample(kernel(rows, columns), (n, m, n * m), 2)


def ramp(n: int, m: int, _k: int) -> Sample:
    i, j = loop(n, 0), loop(m, 1)
    value = (i * 3 + j // 2).cast(dtypes.float32) + load(param(1, m), j)
    return Sample(kernel(param(0, n * m).index(i * m + j).store(value).end(i, j)), (n * m, m))


def reversed_rows(n: int, m: int, _k: int) -> Sample:
    i, j = loop(n, 0), loop(m, 1)
    value = load(param(1, n * m), i * m + (m - 1) - j)
    return Sample(kernel(param(0, n * m).index(i * m + j).store(value).end(i, j)), (n * m, n * m))


def divided(n: int, m: int, k: int) -> Sample:
    i = loop(n * m * k, 0)
    value = load(param(1, n * k), i // (m * k) * k + i % k) * load(param(2, m), i // k % m)
    return Sample(kernel(param(0, n * m * k).index(i).store(value).end(i)), (n * m * k, n * k, m))


SAMPLES: dict[str, Callable[[int, int, int], Sample]] = {
    function.__name__: function
    for function in (
        add, outer_product, transpose, row_sum, column_max, total, matmul, matmul_transposed, softmax, variance,
        padded_shift, convolution, two_outputs, row_and_column_sums, ramp, reversed_rows, divided,
    )
}  # fmt: skip
