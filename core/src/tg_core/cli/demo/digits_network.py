"""The convolutional network of the digits demo."""

from __future__ import annotations

from tg_core import nn
from tg_core.cli.demo.digits_data import CLASSES
from tg_core.tensor import Tensor

__all__ = ["DigitsNet"]


class DigitsNet:
    """Two convolutions, a pooling and a linear layer: `(n, 1, 8, 8)` to `(n, 10)` scores."""

    def __init__(self) -> None:
        self.first = nn.Conv2d(1, 16, 3, padding=1)
        self.second = nn.Conv2d(16, 32, 3, padding=1)
        self.head = nn.Linear(32 * 4 * 4, CLASSES)

    def __call__(self, images: Tensor) -> Tensor:
        """Return a score per class, shape `(n, 10)`."""
        x = self.first(images).relu()
        x = self.second(x).relu().max_pool2d((2, 2))
        return self.head(x.flatten(1))
