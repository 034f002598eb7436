"""Arguments that are views: passed as they are, copied where they must be, written where they are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tg_core import Context, GlobalCounters, Tensor, TinyJit, Variable, dtypes
from tg_core.errors import IndexingError

View = Callable[[Tensor], Tensor]

SHAPE = (4, 6, 5)

VIEWS: dict[str, tuple[View, Callable[[np.ndarray], np.ndarray]]] = {
    "permuted": (lambda t: t.permute(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
    "transposed row": (lambda t: t[2].permute(1, 0), lambda a: a[2].T),
    "cut in the middle": (lambda t: t[:, 1:3, 2:4], lambda a: a[:, 1:3, 2:4]),
    "flipped": (lambda t: t.flip((0, 2)), lambda a: a[::-1, :, ::-1]),
    "every second": (lambda t: t[:, ::2], lambda a: a[:, ::2]),
    "backwards": (lambda t: t[::-1, 1], lambda a: a[::-1, 1]),
    "a column": (lambda t: t[:, :, 3], lambda a: a[:, :, 3]),
    "reshaped": (
        lambda t: t.permute(1, 0, 2).reshape(3, 2, 4, 5),
        lambda a: a.transpose(1, 0, 2).reshape(3, 2, 4, 5),
    ),
    "a run": (lambda t: t[1:3], lambda a: a[1:3]),
    "detached": (lambda t: t.permute(1, 0, 2).detach()[1:], lambda a: a.transpose(1, 0, 2)[1:]),
    "reinterpreted": (
        lambda t: t.permute(2, 0, 1).bitcast(dtypes.int32),
        lambda a: a.transpose(2, 0, 1).view(np.int32),
    ),
}
REPEATED: dict[str, tuple[View, Callable[[np.ndarray], np.ndarray]]] = {
    "expanded": (
        lambda t: t[:1].expand(3, 6, 5),
        lambda a: np.broadcast_to(a[:1], (3, 6, 5)),
    ),
    "padded": (
        lambda t: t.pad(((1, 0), None, None)),
        lambda a: np.pad(a, ((1, 0), (0, 0), (0, 0))),
    ),
}


def source(seed: int) -> tuple[Tensor, np.ndarray]:
    array = np.random.default_rng(seed).standard_normal(SHAPE).astype(np.float32)
    return Tensor(array).realize(), array


def kernels(jit: TinyJit, *args: Tensor) -> int:
    before = GlobalCounters.kernel_count
    jit(*args)
    return GlobalCounters.kernel_count - before


@pytest.mark.parametrize("name", [*VIEWS, *REPEATED])
def test_views_are_read_where_they_are(name: str) -> None:
    view, numpy_view = {**VIEWS, **REPEATED}[name]
    jit = TinyJit(lambda x: (x * 2 + 1).contiguous())
    for seed in range(4):
        tensor, array = source(seed)
        result = jit(view(tensor))
        assert np.array_equal(result.numpy(), numpy_view(array) * 2 + 1)
    if name in VIEWS:
        assert kernels(jit, view(tensor)) == 1
    assert jit.captured is not None and jit.captured.form is not None
    if name not in REPEATED:
        assert jit.captured.form.match((view(source(8)[0]),), {}) is not None


@pytest.mark.parametrize("name", [*VIEWS, *REPEATED])
def test_views_are_written_where_they_are(name: str) -> None:
    view, numpy_view = {**VIEWS, **REPEATED}[name]

    def step(x: Tensor) -> Tensor:
        x.assign(x + x)
        return x.sum()

    jit = TinyJit(step)
    for seed in range(5):
        tensor, array = source(seed)
        argument = view(tensor)
        jit(argument)
        if name in REPEATED:
            # the view becomes a tensor of its own
            assert np.array_equal(argument.numpy(), numpy_view(array) * 2)
        else:
            part = numpy_view(array)
            part += part
        assert tensor.numpy().tobytes() == array.tobytes()


@pytest.mark.parametrize("first", ["permuted", "square"])
def test_the_layout_may_change(first: str) -> None:
    def plain(t: Tensor) -> Tensor:
        return t

    def other(t: Tensor) -> Tensor:
        return t.permute(1, 0)

    views = [other, plain] if first == "permuted" else [plain, other]
    views.append(lambda t: t.flip(0).permute(1, 0))
    views.append(lambda t: t[:1].expand(4, 4))

    def step(x: Tensor) -> Tensor:
        result = x * 3
        x.assign(x + 1)
        return result.contiguous()

    jit = TinyJit(step)
    for number in range(9):
        array = np.arange(number, number + 16, dtype=np.float32).reshape(4, 4)
        tensor = Tensor(array).realize()
        argument = views[max(0, number - 3) % 4](tensor)
        before = argument.numpy()
        assert np.array_equal(jit(argument).numpy(), before * 3), number
        assert np.array_equal(argument.numpy(), before + 1), number
        if max(0, number - 3) % 4 != 3:
            assert np.array_equal(np.sort(tensor.numpy(), None), np.sort(array, None) + 1)


def test_a_matrix_and_its_transpose() -> None:
    jit = TinyJit(lambda a, b: (a @ b).contiguous())
    for number in range(4):
        array = np.arange(number, number + 12, dtype=np.float32).reshape(3, 4)
        tensor = Tensor(array).realize()
        assert np.array_equal(jit(tensor, tensor.permute(1, 0)).numpy(), array @ array.T)
    assert kernels(jit, tensor, tensor.permute(1, 0)) <= 2


def test_results_that_are_arguments_share_their_storage() -> None:
    jit = TinyJit(lambda x: (x, x.reshape(6), (x + 1).contiguous()))
    for number in range(4):
        tensor = Tensor(np.arange(12, dtype=np.float32).reshape(2, 6)).realize()
        same, flat, more = jit(tensor.reshape(4, 3)[:2])
        assert more.tolist() == [[1, 2, 3], [4, 5, 6]]
        tensor.assign(tensor + 10).realize()
        assert same.tolist() == [[10, 11, 12], [13, 14, 15]], number
        assert flat.tolist() == [10, 11, 12, 13, 14, 15]


def test_symbolic_views_of_one_buffer() -> None:
    rows = Tensor(np.arange(24, dtype=np.float32).reshape(6, 4)).realize()
    n = Variable("n", 1, 6)
    jit = TinyJit(lambda a, b: (a.sum() + b.max()).contiguous())
    for count in (2, 3, 4, 5):
        expected = rows.numpy()[:count].sum() + rows.numpy()[:count].max()
        assert jit(rows[: n.bind(count)], rows[: n.bind(count)]).item() == expected


@pytest.mark.parametrize("settings", [{"JIT": 1}, {"JIT": 2}], ids=["1", "2"])
def test_positions_out_of_range_are_found_by_replays(settings: dict[str, int]) -> None:
    table = Tensor(np.arange(5, dtype=np.float32)).realize()
    state = Tensor([0.0]).realize()

    def step(index: Tensor) -> Tensor:
        state.assign(state + 1)
        return table[index * 2 - 2] + state

    with Context(CHECK_INDEX=1, **settings):
        jit = TinyJit(step)
        for number in range(1, 5):
            assert jit(Tensor([1, 3])).tolist() == [number, 4.0 + number]
        for bad in (4, -2, 100):
            with pytest.raises(IndexingError, match=f"index value {2 * bad - 2} at position"):
                jit(Tensor([1, bad]))
            assert state.item() == 4
        assert jit(Tensor([2, 0])).tolist() == [7.0, 8.0]
        again = jit.__reduce__()
        loaded = again[0](*again[1])
        with pytest.raises(IndexingError, match="index value 6 at position"):
            loaded(Tensor([1, 4]))
        assert loaded(Tensor([1, 2])).tolist() == [6.0, 8.0]
    with Context(CHECK_INDEX=0, **settings):
        assert jit(Tensor([1, 7])).tolist() == [6.0, 6.0]
