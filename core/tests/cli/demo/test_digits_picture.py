"""The picture of the digits demo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the demo extra is not installed")

from tg_core.cli.demo.digits_picture import confusion_matrix, draw_picture

generator = np.random.default_rng(0)


def test_confusion_counts_true_by_predicted() -> None:
    counts = confusion_matrix(np.array([0, 0, 3, 9]), np.array([0, 3, 3, 1]))
    assert counts[0, 0] == counts[0, 3] == counts[3, 3] == counts[9, 1] == 1
    assert counts.sum() == 4


@pytest.mark.parametrize(("wrong", "steps"), [(0, 1), (1, 2), (9, 40), (60, 200)])
def test_any_number_of_errors_and_steps_is_drawn(tmp_path: Path, wrong: int, steps: int) -> None:
    labels = generator.integers(0, 10, 60)
    predictions = labels.copy()
    predictions[:wrong] = (predictions[:wrong] + 1) % 10
    path = tmp_path / "digits.png"
    images = generator.random((60, 1, 8, 8), np.float32)
    draw_picture(path, "title", list(np.linspace(2, 0.1, steps)), images, labels, predictions)
    raw = path.read_bytes()
    assert raw[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(raw[at : at + 4], "big") for at in (16, 20))
    assert width == 1320
    assert 600 <= height <= 1200
