"""Training and testing the digits network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tg_core import nn
from tg_core.cli.demo.digits_data import Digits, batches
from tg_core.cli.demo.digits_network import DigitsNet
from tg_core.jit import TinyJit
from tg_core.tensor import Tensor

__all__ = ["BATCH_SIZE", "LEARNING_RATE", "Run", "steps_per_epoch", "test", "train"]

BATCH_SIZE = 128
LEARNING_RATE = 0.01
"""Of the first step; it falls linearly to zero at the last."""


@dataclass
class Run:
    """What a training run leaves behind."""

    network: DigitsNet
    losses: list[float] = field(default_factory=list)
    """Loss of each step, before the step's update."""

    @property
    def parameter_count(self) -> int:
        """How many numbers were trained."""
        return sum(int(tensor.numel()) for tensor in nn.state.get_parameters(self.network))


def steps_per_epoch(digits: Digits) -> int:
    """Return the number of whole batches in the training part."""
    return len(digits.train_labels) // BATCH_SIZE


def train(
    digits: Digits, steps: int, seed: int, on_step: Callable[[int, float], None] | None = None
) -> Run:
    """Train a new network.

    Args:
        digits: the data.
        steps: number of batches.
        seed: decides the first weights and the order of the images.
        on_step: called after each step with its number, from 1, and its loss.

    Returns:
        The network, on the default device, and the loss of each step.
    """
    Tensor.manual_seed(seed)
    run = Run(DigitsNet())
    optimizer = nn.optim.Adam(nn.state.get_parameters(run.network), lr=LEARNING_RATE)

    @TinyJit
    def take_step(images: Tensor, labels: Tensor, rate: Tensor) -> Tensor:
        optimizer.lr.assign(rate)
        optimizer.zero_grad()
        loss = run.network(images).sparse_categorical_crossentropy(labels).backward()
        # One schedule for both, so that the loss does not compute the network a second time.
        return loss.realize(*optimizer.schedule_step())

    with Tensor.train():
        for step, (images, labels) in enumerate(batches(digits, BATCH_SIZE, steps, seed)):
            rate = Tensor([LEARNING_RATE * (1 - step / steps)])
            inputs = (Tensor(images), Tensor(labels), rate)
            loss = take_step(*(tensor.realize() for tensor in inputs))
            run.losses.append(float(loss.item()))
            if on_step is not None:
                on_step(step + 1, run.losses[-1])
    return run


def test(network: DigitsNet, digits: Digits) -> np.ndarray:
    """Return the predicted class of each test image, shape `(n,)`."""
    return network(Tensor(digits.test_images)).argmax(axis=1).numpy()
