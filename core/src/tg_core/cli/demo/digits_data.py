"""The UCI handwritten digits, split for training and testing.

1,797 images of 8 x 8 pixels with values from 0 to 16, of ten classes; scikit-learn ships them.

Source: E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits" (1998), UCI Machine
Learning Repository; the test part of that data set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tg_core.errors import MissingExtra

__all__ = ["CLASSES", "Digits", "batches", "load_digits"]

CLASSES = 10
BRIGHTEST = 16
"""Largest pixel value of the data set."""
TRAIN_SHARE = 0.8


@dataclass(frozen=True)
class Digits:
    """Images, shape `(n, 1, 8, 8)` in float32 from 0 to 1, and labels, shape `(n,)` in int32."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def load_digits(seed: int) -> Digits:
    """Load the data set and split it.

    Args:
        seed: decides which fifth of the images is kept for the test.

    Returns:
        80 % of the images for training and 20 % for testing, in an order drawn from the seed.

    Raises:
        MissingExtra: scikit-learn is not installed.
    """
    try:
        from sklearn import datasets
    except ImportError as error:
        raise MissingExtra(
            "demo: scikit-learn is not installed; pip install 'tg-core[demo]'"
        ) from error
    bunch = datasets.load_digits()
    images = (bunch.images / BRIGHTEST).astype(np.float32)[:, None]
    labels = bunch.target.astype(np.int32)
    order = np.random.default_rng(seed).permutation(len(labels))
    count = int(len(labels) * TRAIN_SHARE)
    train, test = order[:count], order[count:]
    return Digits(images[train], labels[train], images[test], labels[test])


def batches(
    digits: Digits, size: int, steps: int, seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield batches of the training part, shuffled anew for each pass over it.

    Every batch has the same size, so that every step is the same computation; what is left over at
    the end of a pass waits for the next shuffle.

    Args:
        digits: the data.
        size: images per batch.
        steps: how many batches to yield.
        seed: decides the order.

    Yields:
        Images, shape `(size, 1, 8, 8)`, and labels, shape `(size,)`.
    """
    generator = np.random.default_rng([seed, 1])
    count = len(digits.train_labels)
    order = generator.permutation(count)
    position = 0
    for _ in range(steps):
        if position + size > count:
            order = generator.permutation(count)
            position = 0
        chosen = order[position : position + size]
        position += size
        yield digits.train_images[chosen], digits.train_labels[chosen]
