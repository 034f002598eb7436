"""The digits demo on the CPU and on the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the demo extra is not installed")

from tg_core.cli.demo import digits_training
from tg_core.cli.demo.digits_data import load_digits
from tg_core.config import Context


def test_both_devices_give_the_same_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digits_training, "BATCH_SIZE", 32)
    digits, losses = load_digits(0), {}
    for device in ("CPU", "PYTHON"):
        with Context(DEV=device):
            losses[device] = digits_training.train(digits, steps=4, seed=0).losses
    np.testing.assert_allclose(losses["CPU"], losses["PYTHON"], atol=1e-4)
    # The first step cannot know anything about ten classes.
    assert losses["CPU"][0] == pytest.approx(np.log(10), rel=0.1)


def test_an_epoch_learns_most_digits() -> None:
    digits = load_digits(0)
    with Context(DEV="CPU"):
        run = digits_training.train(digits, digits_training.steps_per_epoch(digits) * 3, seed=0)
        accuracy = (digits_training.test(run.network, digits) == digits.test_labels).mean()
    assert accuracy > 0.85
    assert run.losses[-1] < 0.5 * run.losses[0]
