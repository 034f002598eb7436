"""Normalization of channels over the batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tg_core.dtype import dtypes
from tg_core.errors import ShapeError
from tg_core.nn import statistics
from tg_core.nn.initializers import parameter
from tg_core.tensor import Tensor

if TYPE_CHECKING:
    from tg_core.uop.ops import sint

__all__ = ["BatchNorm", "BatchNorm2d"]


class BatchNorm:
    """Normalize each channel (axis 1) over all other axes, then scale and shift.

    While `Tensor.training` is set, the mean and the biased variance are the batch's, and the
    running statistics move towards the batch's mean and unbiased variance. Otherwise the running
    statistics are used. A pending update of them is computed by the next optimizer step.

    Args:
        sz: number of channels.
        eps: added to the variance.
        affine: whether to scale and shift.
        track_running_stats: whether to keep running statistics; otherwise the batch's are used.
        momentum: weight of the new batch in the running statistics.
    """

    def __init__(
        self,
        sz: int,
        eps: float = 1e-5,
        affine: bool = True,
        track_running_stats: bool = True,
        momentum: float = 0.1,
    ) -> None:
        self.eps = eps
        self.momentum = momentum
        self.channels = sz
        self.track_running_stats = track_running_stats
        self.weight = parameter(Tensor.ones(sz)) if affine else None
        """Shape `(channels,)`, or None."""
        self.bias = parameter(Tensor.zeros(sz)) if affine else None
        """Shape `(channels,)`, or None."""
        if track_running_stats:
            self.running_mean = statistics.declare(Tensor.zeros(sz, dtype=dtypes.float32))
            self.running_var = statistics.declare(Tensor.ones(sz, dtype=dtypes.float32))
            self.num_batches_tracked = statistics.declare(Tensor.zeros(1, dtype=dtypes.int64))

    def __call__(self, x: Tensor) -> Tensor:
        """Return the normalized tensor, of the shape and dtype of `x`.

        Raises:
            ShapeError: axis 1 of `x` is not the number of channels, or the batch has one value per
                channel while training.
        """
        if x.ndim < 2 or x.shape[1] != self.channels:
            raise ShapeError(
                f"BatchNorm: expected {self.channels} channels on axis 1, found shape {x.shape}"
            )
        # Statistics of narrow floats are taken in float32, as every reduction of them is.
        narrow = dtypes.is_float(x.dtype) and x.dtype.itemsize < 4
        wide = x.cast(dtypes.float32) if narrow else x
        if Tensor.training or not self.track_running_stats:
            mean, variance = self._batch_statistics(wide)
        else:
            mean, variance = self.running_mean, self.running_var
        normal = wide.batchnorm(self.weight, self.bias, mean, (variance + self.eps).rsqrt())
        return normal.cast(x.dtype)

    def _batch_statistics(self, x: Tensor) -> tuple[Tensor, Tensor]:
        axes = tuple(axis for axis in range(x.ndim) if axis != 1)
        count = _known_product([x.shape[axis] for axis in axes])
        mean = x.mean(axis=axes)
        centred = x - mean.reshape(1, self.channels, *([1] * (x.ndim - 2)))
        variance = centred.square().mean(axis=axes)
        if Tensor.training and self.track_running_stats:
            if count < 2:
                raise ShapeError(
                    f"BatchNorm: expected more than one value per channel in training,"
                    f" found shape {x.shape}"
                )
            self._move(self.running_mean, mean)
            self._move(self.running_var, variance * (count / (count - 1)))
            self.num_batches_tracked.assign(self.num_batches_tracked + 1)
            statistics.note_write(self.num_batches_tracked)
        return mean, variance

    def _move(self, running: Tensor, batch: Tensor) -> None:
        kept = running * (1.0 - self.momentum)
        running.assign(kept + batch.detach().cast(running.dtype) * self.momentum)
        statistics.note_write(running)


def _known_product(sizes: Sequence[sint]) -> int:
    known = [size for size in sizes if isinstance(size, int)]
    if len(known) < len(sizes):
        raise ShapeError("BatchNorm: the statistics of a batch need sizes that are known")
    return math.prod(known)


BatchNorm2d = BatchNorm
"""The same layer; the number of axes is the input's."""
