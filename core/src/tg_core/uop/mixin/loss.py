"""Losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, ShapeError
from tg_core.uop.mixin.convolution import ConvolutionMixin
from tg_core.uop.mixin.shape_utils import shape_text

if TYPE_CHECKING:
    from typing import Self

Reduction = Literal["mean", "sum", "none"]


class LossMixin(ConvolutionMixin):
    """Cross entropies, with the reductions `mean`, `sum` and `none`."""

    __slots__ = ()

    def _reduced(self, reduction: Reduction) -> Self:
        if reduction == "mean":
            return self.mean()
        if reduction == "sum":
            return self.sum()
        if reduction != "none":
            raise DTypeError(f"loss: reduction must be mean, sum or none, found {reduction!r}")
        return self

    def binary_crossentropy(self, Y: Self, reduction: Reduction = "mean") -> Self:
        """Return the cross entropy of probabilities self and targets `Y`."""
        value = self._require_float()
        # as in PyTorch, logarithms end at -100, so that a sure mistake costs something finite
        loss = Y * value.log().maximum(-100.0) + (1 - Y) * (1.0 - value).log().maximum(-100.0)
        return (-loss)._reduced(reduction)

    def binary_crossentropy_logits(
        self, Y: Self, reduction: Reduction = "mean", pos_weight: Self | None = None
    ) -> Self:
        """Return the cross entropy of the sigmoid of self and targets `Y`.

        Args:
            Y: targets in [0, 1].
            reduction: `mean`, `sum` or `none`.
            pos_weight: what positive targets weigh.
        """
        value = self._require_float()
        rest = (1 - Y) * value
        if pos_weight is None:
            return (rest + value.neg().softplus())._reduced(reduction)
        weight = (pos_weight - 1) * Y + 1
        return (rest + weight * value.neg().softplus())._reduced(reduction)

    def _class_axis(self, name: str, Y: Self) -> int:
        """Return the axis of the classes: 1, or 0 for a single sample."""
        self._same_kind(Y, name)
        axis = 1 if self.ndim > 1 else 0
        expected = (*self.shape[:axis], *self.shape[axis + 1 :])
        if not self.ndim or Y.shape != expected:
            raise ShapeError(
                f"{name}: targets of shape {shape_text(Y.shape)} for scores of shape "
                f"{shape_text(self.shape)}, expected {shape_text(expected)}"
            )
        return axis

    def nll_loss(
        self,
        Y: Self,
        weight: Self | None = None,
        ignore_index: int | None = None,
        reduction: Reduction = "mean",
    ) -> Self:
        """Return the negative of the log probability of class `Y`.

        Args:
            Y: class numbers, of the shape of self without its class axis (1).
            weight: what each class weighs.
            ignore_index: a class number that does not count.
            reduction: `mean` (weighted), `sum` or `none`.

        Raises:
            ShapeError: the shapes do not fit.
            DTypeError: `Y` is no integer tensor.
        """
        axis = self._class_axis("nll_loss", Y)
        if not dtypes.is_int(Y.dtype):
            raise DTypeError(f"nll_loss: targets must be integers, found {Y.dtype.name}")
        # an ignored class may have a number that is none: it looks up class 0, which then goes
        named = Y if ignore_index is None else Y.ne(ignore_index).where(Y, 0)
        picked = self.gather(axis, named.unsqueeze(axis)).squeeze(axis)
        if weight is None:
            scale = self._const(1.0, self.dtype)._broadcast_to(Y.shape)
        else:
            scale = weight.gather(0, named.flatten()).reshape(Y.shape)
        if ignore_index is not None:
            scale = Y.ne(ignore_index).where(scale, 0.0)
            picked = Y.ne(ignore_index).where(picked, 0.0)
        loss = -picked * scale
        return loss.sum() / scale.sum() if reduction == "mean" else loss._reduced(reduction)

    def cross_entropy(
        self, Y: Self, reduction: Reduction = "mean", label_smoothing: float = 0.0
    ) -> Self:
        """Return the cross entropy of the softmax of self over axis 1 and targets.

        Args:
            Y: class numbers, or probabilities of the shape of self.
            reduction: `mean` over the samples, `sum` or `none`.
            label_smoothing: how much of each target is spread over all classes.

        Raises:
            ShapeError: the shapes do not fit.
        """
        if not isinstance(label_smoothing, (int, float)) or not 0 <= label_smoothing <= 1:
            raise ShapeError(f"cross_entropy: label_smoothing {label_smoothing} is not in [0, 1]")
        axis = 1 if self.ndim > 1 else 0
        target = self._same_kind(Y, "cross_entropy")
        if Y.shape != self.shape or dtypes.is_int(Y.dtype):
            self._class_axis("cross_entropy", Y)
            log_probability = self.log_softmax(axis)
            picked = log_probability.gather(axis, Y.unsqueeze(axis)).squeeze(axis)
            smooth = log_probability.mean(axis) if label_smoothing else picked
            mixed = picked * (1 - label_smoothing) + smooth * label_smoothing
            return (-mixed)._reduced(reduction)
        if label_smoothing:
            target = target * (1 - label_smoothing) + label_smoothing / self.shape[axis]
        loss = -(self.log_softmax(axis) * target).sum(axis)
        return loss._reduced(reduction)

    def sparse_categorical_crossentropy(
        self,
        Y: Self,
        ignore_index: int = -1,
        label_smoothing: float = 0.0,
        reduction: Reduction = "mean",
    ) -> Self:
        """Return the cross entropy of the softmax of self over its last axis and class numbers.

        Args:
            Y: class numbers, of the shape of self without the last axis.
            ignore_index: a class number that does not count.
            label_smoothing: how much of each target is spread over all classes.
            reduction: `mean` over the samples that count, `sum` or `none`.

        Raises:
            ShapeError: the shapes do not fit.
        """
        self._same_kind(Y, "sparse_categorical_crossentropy")
        if not self.ndim or Y.shape != self.shape[:-1]:
            raise ShapeError(
                f"sparse_categorical_crossentropy: targets of shape {shape_text(Y.shape)} for "
                f"scores of shape {shape_text(self.shape)}"
            )
        log_probability = self.log_softmax(-1)
        counts = Y.ne(ignore_index)
        named = counts.where(Y, 0)
        picked = log_probability.gather(self.ndim - 1, named.unsqueeze(-1)).squeeze(-1)
        mixed = picked
        if label_smoothing:
            mixed = picked * (1 - label_smoothing) + log_probability.mean(-1) * label_smoothing
        loss = counts.where(-mixed, 0.0)
        if reduction == "mean":
            return loss.sum() / counts._as(loss.dtype).sum()
        return loss._reduced(reduction)
