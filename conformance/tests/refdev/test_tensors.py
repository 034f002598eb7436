"""Tensor programs on REF, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from tg_conformance.refdev.memory import RefAllocator
from tg_core import Device, GlobalCounters, Tensor, TinyJit, Variable, dtypes
from tg_core.config import Context
from tg_core.errors import DeviceError

RNG = np.random.default_rng(5)


def random(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def on_ref(values: np.ndarray, index: int = 0) -> Tensor:
    return Tensor(values).to("REF" if index == 0 else f"REF:{index}").realize()


def test_an_expression() -> None:
    x, w = random(9, 16), random(16, 5)
    made = ((on_ref(x) @ on_ref(w)).relu() + 1).softmax()
    raw = np.maximum(x @ w, 0) + 1
    power = np.exp(raw - raw.max(1, keepdims=True))
    np.testing.assert_allclose(made.numpy(), power / power.sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("dtype", [dtypes.int8, dtypes.uint16, dtypes.int64, dtypes.float16])
def test_other_widths(dtype: object) -> None:
    values = np.arange(1, 38)
    made = Tensor(values, dtype=dtype).to("REF").realize() * 2 + 1
    assert made.numpy().tolist() == (values * 2 + 1).tolist()


def test_a_long_chain_of_single_launches() -> None:
    made = on_ref(np.zeros(3, np.float32))
    for _ in range(150):
        made = (made + 1).contiguous().realize()
    assert made.numpy().tolist() == [150.0] * 3


def test_training_steps_agree_with_the_interpreter() -> None:
    x, y, start = random(8, 4), random(8, 2), random(4, 2)

    def train(device: str) -> np.ndarray:
        w = Tensor(start).to(device).realize()
        inputs, targets = Tensor(x).to(device).realize(), Tensor(y).to(device).realize()
        for _ in range(4):
            loss = ((inputs @ w - targets) ** 2).mean()
            (slope,) = loss.gradient(w)
            w = (w - slope * 0.1).detach().contiguous().realize()
        return w.numpy()

    np.testing.assert_allclose(train("REF"), train("PYTHON"), rtol=1e-5)


def test_replays_follow_their_inputs() -> None:
    @TinyJit
    def step(a: Tensor, b: Tensor) -> Tensor:
        c = (a @ b).relu().contiguous()
        return ((c + 1).sum(0) * c).realize()

    for _ in range(5):
        a, b = random(7, 7), random(7, 7)
        c = np.maximum(a @ b, 0)
        np.testing.assert_allclose(
            step(on_ref(a), on_ref(b)).numpy(), (c + 1).sum(0) * c, rtol=1e-4
        )


def test_replays_do_not_wait_for_each_other() -> None:
    @TinyJit
    def step(a: Tensor) -> Tensor:
        return ((a + 1).contiguous() * 2).realize()

    results = [step(on_ref(np.full(4, i, np.float32))) for i in range(9)]
    assert [r.numpy().tolist() for r in results] == [[(i + 1) * 2.0] * 4 for i in range(9)]


def test_variables_reach_kernels_and_launch_sizes() -> None:
    x = random(16, 3)
    a, n = on_ref(x), Variable("n", 1, 16)

    @TinyJit
    def head(rows: Tensor, count: object) -> Tensor:
        return rows[:count].sum(0).realize()

    for count in (4, 1, 16, 7):
        np.testing.assert_allclose(
            head(a, n.bind(count)).numpy(), x[:count].sum(0), rtol=1e-4, atol=1e-5
        )


def test_an_input_given_twice_is_one_memory() -> None:
    @TinyJit
    def step(a: Tensor, b: Tensor) -> Tensor:
        a.assign(a + b)
        return (a * b).contiguous().realize()

    for _ in range(4):
        a, b = on_ref(np.ones(4, np.float32)), on_ref(np.full(4, 3, np.float32))
        assert step(a, b).numpy().tolist() == [12.0] * 4


def test_devices_hand_over_to_each_other() -> None:
    @TinyJit
    def around(a: Tensor) -> Tensor:
        b = (a + 1).to("REF:1")
        c = (b * 2).to("REF:2")
        d = (b - 3).contiguous().to("REF")
        return (c.to("REF") + a * d).realize()

    for _ in range(5):
        x = random(6, 6)
        expected = (x + 1) * 2 + x * (x - 2)
        np.testing.assert_allclose(around(on_ref(x)).numpy(), expected, rtol=1e-4, atol=1e-5)


def test_kernels_are_counted_and_timed_by_the_device(capsys: pytest.CaptureFixture[str]) -> None:
    a = on_ref(random(8))
    (a + 1).realize()
    before = GlobalCounters.kernel_count
    with Context(DEBUG=2):
        (a + 1).realize()
    assert GlobalCounters.kernel_count == before + 1
    assert "REF" in capsys.readouterr().out


def test_memory_comes_back() -> None:
    a = on_ref(random(64))
    (a + 1).realize()
    Device["REF"].synchronize()
    before = GlobalCounters.mem_used
    for _ in range(5):
        (a + 1).realize()
    assert GlobalCounters.mem_used == before


def test_host_memory_that_cannot_be_mapped_is_copied_by_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(self: object, address: int, nbytes: int) -> int:
        raise DeviceError("no locked memory left")

    monkeypatch.setattr(RefAllocator, "map_host", refuse)
    x = random(5)
    assert (Tensor(x).to("REF") + 1).to("PYTHON").numpy().tolist() == (x + 1).tolist()
