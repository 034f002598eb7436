"""The digits data set and its split."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the demo extra is not installed")

from tg_core.cli.demo.digits_data import batches, load_digits


def test_the_split_is_a_partition_drawn_from_the_seed() -> None:
    digits = load_digits(0)
    assert digits.train_images.shape == (1437, 1, 8, 8)
    assert digits.test_images.shape == (360, 1, 8, 8)
    assert digits.train_images.dtype == np.float32
    everything = np.concatenate([digits.train_images, digits.test_images]).reshape(1797, 64)
    other = load_digits(1)
    again = np.concatenate([other.train_images, other.test_images]).reshape(1797, 64)
    np.testing.assert_array_equal(np.sort(everything, axis=0), np.sort(again, axis=0))
    assert not np.array_equal(digits.test_labels, other.test_labels)
    np.testing.assert_array_equal(digits.test_images, load_digits(0).test_images)


def test_pixels_lie_between_0_and_1_and_every_class_is_tested() -> None:
    digits = load_digits(3)
    assert digits.train_images.min() == 0.0
    assert digits.train_images.max() == 1.0
    assert np.unique(digits.test_labels).tolist() == list(range(10))


def test_a_pass_shows_no_image_twice_and_every_batch_is_whole() -> None:
    digits = load_digits(0)
    found = list(batches(digits, 128, 11, seed=0))
    assert all(images.shape == (128, 1, 8, 8) for images, _ in found)
    rows = {image.tobytes() for images, _ in found for image in images}
    distinct = {image.tobytes() for image in digits.train_images}
    assert len(rows) >= 11 * 128 - (1437 - len(distinct))


def test_batches_depend_on_the_seed_alone() -> None:
    digits = load_digits(0)
    first, again, other = (
        [labels.tolist() for _, labels in batches(digits, 64, 30, seed=seed)] for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other
