"""Products of matrices and convolutions on the CPU, against numpy, at sizes that fit nothing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from tg_core import Tensor, dtypes
from tg_cpu.pool import pool

Array = npt.NDArray[np.float32]


def sizes(seed: int, count: int, low: int, high: int) -> list[tuple[int, int, int]]:
    random = np.random.default_rng(seed)
    found = [tuple(int(v) for v in random.integers(low, high + 1, 3)) for _ in range(count)]
    return [(m, k, n) for m, k, n in found]


def uniform(shape: tuple[int, ...], seed: int = 3) -> Array:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def on_cpu(array: npt.NDArray[np.generic]) -> Tensor:
    return Tensor(array, device="CPU").realize()


def check(got: Tensor, want: npt.NDArray[np.float64], depth: int, what: object) -> None:
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    worst = float(np.abs(got.numpy().astype(np.float64) - want).max())
    assert worst <= 6e-8 * depth * 2 + 1e-6, f"{what}: differs by {worst}"


# small, then larger than one tile, chunk or block of the reduction in one of the directions
SIZES = [
    *sizes(1, 6, 1, 70),
    (70, 70, 70),
    (33, 65, 47),
    (4, 300, 130),
    (150, 8, 300),
    (61, 1031, 67),
    (64, 768, 200),
    (300, 40, 20),
    (5, 900, 14),
    (1, 200, 1100),
    (3, 77, 513),
    (7, 96, 260),
    (8, 513, 300),
    (11, 131, 263),
    (12, 200, 333),
    (16, 130, 1100),
    (65, 390, 97),
]


@pytest.mark.parametrize(("m", "k", "n"), SIZES)
@pytest.mark.parametrize("layout", ["nn", "nt", "tn"])
def test_matrices(m: int, k: int, n: int, layout: str) -> None:
    a, b = uniform((m, k)), uniform((k, n), 4)
    left = on_cpu(a.T.copy()).transpose(0, 1) if layout[0] == "t" else on_cpu(a)
    right = on_cpu(b.T.copy()).transpose(0, 1) if layout[1] == "t" else on_cpu(b)
    check(left @ right, a.astype(np.float64) @ b, k, (m, k, n, layout))


def test_what_surrounds_a_product_is_computed_with_it() -> None:
    a, b, bias = uniform((3, 37, 50)), uniform((3, 50, 45), 4), uniform((45,), 5)
    got = ((on_cpu(a) * 2).relu() @ on_cpu(b) + on_cpu(bias)).tanh()
    want = np.tanh(np.maximum(a * 2, 0).astype(np.float64) @ b + bias)
    check(got, want, 50, "fused")


def test_a_transposed_result() -> None:
    a, b = uniform((47, 60)), uniform((60, 53), 4)
    got = (on_cpu(a) @ on_cpu(b)).transpose(0, 1).contiguous()
    check(got, (a.astype(np.float64) @ b).T, 60, "transposed")


def test_halves_accumulate_in_float32() -> None:
    a, b = uniform((40, 100)).astype(np.float16), uniform((100, 40), 4).astype(np.float16)
    got = on_cpu(a).matmul(on_cpu(b), dtype=dtypes.float32)
    check(got, a.astype(np.float64) @ b.astype(np.float64), 100, "half")


EXACT = [np.float64, np.float16, np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64]


@pytest.mark.parametrize("rows", [4, 8, 37])
@pytest.mark.parametrize("layout", ["nn", "nt", "tn"])
@pytest.mark.parametrize("dtype", EXACT)
def test_other_dtypes_are_exact_on_small_integers(
    dtype: type[np.generic], layout: str, rows: int
) -> None:
    random = np.random.default_rng(5)
    # sums stay below 2048, which halves hold
    a = random.integers(0, 5, (rows, 81)).astype(dtype)
    b = random.integers(0, 5, (81, 301)).astype(dtype)
    left = on_cpu(a.T.copy()).transpose(0, 1) if layout[0] == "t" else on_cpu(a)
    right = on_cpu(b.T.copy()).transpose(0, 1) if layout[1] == "t" else on_cpu(b)
    want = a.astype(np.int64) @ b.astype(np.int64)
    got = left.matmul(right, dtype=left.dtype).numpy()
    assert (got == want.astype(dtype)).all(), f"{dtype.__name__}: not exact"


def convolved(x: Array, w: Array, stride: int, padding: int) -> npt.NDArray[np.float64]:
    edge = (padding, padding)
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), edge, edge))
    windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], axis=(2, 3))
    found: npt.NDArray[np.float64] = np.einsum(
        "bchwij,ocij->bohw", windows[:, :, ::stride, ::stride], w
    )
    return found


@pytest.mark.parametrize(
    ("batch", "cin", "cout", "size", "window", "stride", "padding"),
    [
        (1, 16, 32, 14, 3, 1, 1),
        (2, 7, 9, 13, 3, 1, 0),
        (3, 8, 16, 7, 3, 1, 1),
        (1, 3, 8, 31, 7, 2, 3),
        (2, 12, 20, 16, 3, 2, 1),
        (1, 20, 17, 28, 1, 1, 0),
        (2, 10, 12, 15, 1, 2, 0),
        (2, 130, 8, 6, 3, 1, 1),
        (1, 4, 6, 24, 5, 1, 2),
    ],
)
def test_convolutions(
    batch: int, cin: int, cout: int, size: int, window: int, stride: int, padding: int
) -> None:
    x = uniform((batch, cin, size, size))
    w = uniform((cout, cin, window, window), 4)
    got = on_cpu(x).conv2d(on_cpu(w), stride=stride, padding=padding)
    check(got, convolved(x, w, stride, padding), cin * window * window, (batch, cin, cout, size))


@pytest.mark.parametrize(("channels", "size"), [(32, 14), (24, 31), (64, 7), (17, 9)])
def test_a_convolution_after_another(channels: int, size: int) -> None:
    x = uniform((1, channels, size, size))
    w, v = uniform((2, channels, channels, 3, 3), 4) / channels
    got = on_cpu(x).conv2d(on_cpu(w), padding=1).relu().conv2d(on_cpu(v), padding=1)
    first = np.maximum(convolved(x, w, 1, 1), 0).astype(np.float32)
    check(got, convolved(first, v, 1, 1), channels * 9, (channels, size))


def test_the_sum_of_two_convolutions() -> None:
    x, w = uniform((2, 24, 14, 14)), uniform((40, 24, 3, 3), 4)
    y, v = uniform((2, 12, 28, 28), 5), uniform((40, 12, 1, 1), 6)
    got = on_cpu(x).conv2d(on_cpu(w), padding=1) + on_cpu(y).conv2d(on_cpu(v), stride=2)
    check(got, convolved(x, w, 1, 1) + convolved(y, v, 2, 0), 24 * 9, "sum")


@pytest.mark.parametrize("size", [16, 40, 67])
def test_arrays_meet_their_transposes(size: int) -> None:
    x = uniform((size, size))
    assert (on_cpu(x) + on_cpu(x).transpose(0, 1)).numpy().tolist() == (x + x.T).tolist()
    y, z = uniform((3, size, size + 1)), uniform((3, size + 1, size), 4)
    got = on_cpu(y) * on_cpu(z).transpose(1, 2)
    assert got.numpy().tolist() == (y * z.transpose(0, 2, 1)).tolist()


def test_bits_do_not_depend_on_the_number_of_threads() -> None:
    a, b = on_cpu(uniform((100, 700))), on_cpu(uniform((700, 150), 4))
    c = on_cpu(uniform((700, 700), 7))
    x, w = on_cpu(uniform((2, 16, 28, 28))), on_cpu(uniform((32, 16, 3, 3), 4))
    before, found = pool().threads, []
    try:
        for threads in (1, 2, 5):
            pool().set_threads(threads)
            values = [a @ b, (a @ b).relu() + 1, x.conv2d(w, padding=1), x.conv2d(w, stride=2)]
            values += [a[:few] @ right for few in (1, 6, 8, 64) for right in (c, c.transpose(0, 1))]
            found.append([value.numpy().tobytes() for value in values])
    finally:
        pool().set_threads(before)
    assert found[0] == found[1] == found[2]
