"""Level 4: captured functions give for new inputs what they would give uncaptured."""

from __future__ import annotations

import numpy as np
import pytest

from tg_core import Context, Tensor, TinyJit, Variable
from tg_core.errors import JitError

pytestmark = [pytest.mark.tg_level(4), pytest.mark.tg_needs("PROGRAMS")]

MODES = [0, 1, 2]
"""Values of JIT: off, replay in batches, replay call by call."""


def whole(*shape: int, seed: int = 0) -> np.ndarray:
    """Return small whole numbers, which sums do not round."""
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32)


def same(what: str, got: np.ndarray, wanted: np.ndarray) -> None:
    """Check equal numbers; the message has the first that differ."""
    assert got.shape == wanted.shape, f"{what}: shape {got.shape}, expected {wanted.shape}"
    wrong = np.flatnonzero(got.ravel() != wanted.ravel())
    assert not len(wrong), (
        f"{what}: {len(wrong)} of {wanted.size} elements are wrong, the first at {wrong[0]}: "
        f"got {got.ravel()[wrong[0]]}, expected {wanted.ravel()[wrong[0]]}"
    )


@pytest.mark.tg_core
@pytest.mark.parametrize("mode", MODES)
def test_replay_with_other_inputs(tg_device: str, mode: int) -> None:
    """Each call sees its own inputs, also when they are the outputs of earlier calls."""

    @TinyJit
    def step(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        product = (a @ b).realize()
        return (product + a).realize(), product.sum(0).realize()

    with Context(JIT=mode):
        for call in range(6):
            a, b = whole(9, 9, seed=2 * call), whole(9, 9, seed=2 * call + 1)
            first, second = step(Tensor(a, device=tg_device).clone().realize(),
                                 Tensor(b, device=tg_device).clone().realize())  # fmt: skip
            what = f"JIT={mode}, call {call + 1} on {tg_device}"
            same(f"{what}: a b + a", first.numpy(), a @ b + a)
            same(f"{what}: sum of a b", second.numpy(), (a @ b).sum(0))


@pytest.mark.tg_core
@pytest.mark.parametrize("mode", MODES)
def test_results_of_earlier_calls_stay(tg_device: str, mode: int) -> None:
    """A result that is kept is not overwritten by later calls."""

    @TinyJit
    def scaled(x: Tensor) -> Tensor:
        return (x * 3).realize()

    with Context(JIT=mode):
        kept = [
            scaled(Tensor(whole(50, seed=n), device=tg_device).clone().realize()) for n in range(6)
        ]
        for number, tensor in enumerate(kept):
            what = f"JIT={mode}: result of call {number + 1} after 6 calls on {tg_device}"
            same(what, tensor.numpy(), whole(50, seed=number) * 3)


@pytest.mark.tg_core
@pytest.mark.parametrize("mode", MODES)
def test_a_long_chain(tg_device: str, mode: int) -> None:
    """Kernels that depend on each other run in order, in every replay."""

    @TinyJit
    def chain(x: Tensor) -> Tensor:
        for number in range(20):
            x = (x + number).flip(0).realize()
        return x

    with Context(JIT=mode):
        for call in range(5):
            values = whole(31, seed=call)
            wanted = values
            for number in range(20):
                wanted = (wanted + number)[::-1]
            got = chain(Tensor(values, device=tg_device).clone().realize()).numpy()
            same(f"JIT={mode}: chain of 20 kernels, call {call + 1} on {tg_device}", got, wanted)


@pytest.mark.tg_core
@pytest.mark.parametrize("mode", MODES)
def test_state_is_updated_in_place(tg_device: str, mode: int) -> None:
    """Writes to a tensor from outside of the function happen at each call, once."""
    state = Tensor(np.zeros(17, np.float32), device=tg_device).clone().realize()

    @TinyJit
    def accumulate(x: Tensor) -> Tensor:
        state.assign(state + x).realize()
        return (state * 2).realize()

    total = np.zeros(17, np.float32)
    with Context(JIT=mode):
        for call in range(6):
            values = whole(17, seed=call)
            total = total + values
            got = accumulate(Tensor(values, device=tg_device).clone().realize())
            what = f"JIT={mode}: call {call + 1} on {tg_device}"
            same(f"{what}: returned", got.numpy(), total * 2)
            same(f"{what}: state", state.numpy(), total)


@pytest.mark.tg_core
@pytest.mark.parametrize("mode", MODES)
def test_variables_are_read_at_each_call(tg_device: str, mode: int) -> None:
    """A bound variable among the arguments changes what a replay computes."""
    values = whole(30, 4, seed=9)
    table = Tensor(values, device=tg_device).clone().realize()

    @TinyJit
    def rows(x: Tensor, n: Variable) -> Tensor:  # type: ignore[valid-type]
        return x[:n].sum(0).realize()

    with Context(JIT=mode):
        for size in (5, 30, 1, 12, 29, 2):
            got = rows(table, Variable("n", 1, 30).bind(size)).numpy()
            same(f"JIT={mode}: sum of {size} rows on {tg_device}", got, values[:size].sum(0))


def test_another_shape_is_an_error(tg_device: str) -> None:
    """A call that does not fit what was captured is refused before anything runs."""

    @TinyJit
    def double(x: Tensor) -> Tensor:
        return (x * 2).realize()

    for seed in range(3):
        double(Tensor(whole(8, seed=seed), device=tg_device).clone().realize())
    with pytest.raises(JitError):
        double(Tensor(whole(9), device=tg_device).clone().realize())
    got = double(Tensor(whole(8, seed=7), device=tg_device).clone().realize()).numpy()
    same(f"after a refused call on {tg_device}", got, whole(8, seed=7) * 2)


@pytest.mark.tg_core
def test_random_numbers_do_not_depend_on_the_device(tg_device: str) -> None:
    """One seed gives the bits that the interpreter gives, and others the next time."""
    drawn = {}
    for device in (tg_device, "PYTHON"):
        Tensor.manual_seed(1234)
        drawn[device] = [Tensor.rand(33, device=device).numpy() for _ in range(3)]
    for number in range(3):
        same(f"draw {number + 1} on {tg_device}", drawn[tg_device][number], drawn["PYTHON"][number])
    first, second, _ = drawn[tg_device]
    assert (first != second).any(), f"{tg_device}: two draws are equal"
    assert ((first >= 0) & (first < 1)).all(), f"{tg_device}: a draw outside of [0, 1)"


@pytest.mark.tg_core
@pytest.mark.parametrize("mode", MODES)
def test_replays_draw_new_random_numbers(tg_device: str, mode: int) -> None:
    """The stream goes on through replays as it does without them."""

    def draw(x: Tensor) -> Tensor:
        return (x + Tensor.rand(21, device=tg_device)).realize()

    def stream(function: object) -> list[np.ndarray]:
        Tensor.manual_seed(77)
        zero = Tensor(np.zeros(21, np.float32), device=tg_device).clone().realize()
        return [function(zero).numpy() for _ in range(5)]  # type: ignore[operator]

    wanted = stream(draw)
    with Context(JIT=mode):
        got = stream(TinyJit(draw))
    for number in range(5):
        what = f"JIT={mode}: random numbers of call {number + 1} on {tg_device}"
        same(what, got[number], wanted[number])
