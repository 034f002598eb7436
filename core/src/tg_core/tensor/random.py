"""Random tensors: a counter-based generator for each device, and the distributions drawn from it.

Every tensor takes its counter when it is built, so numbers do not depend on the order in which
tensors are realized. Seed and counter enter the graph as bound variables: draws of one shape
have one graph, and the same numbers come out on every device.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tg_core.dtype import DType, DTypeLike, dtypes, to_dtype
from tg_core.errors import DTypeError, ShapeError
from tg_core.tensor.creation import DeviceLike, checked_shape
from tg_core.uop.mixin.shape_utils import flatten_args, prod, require_int, shape_text
from tg_core.uop.ops import UOp

if TYPE_CHECKING:
    from tg_core.tensor.tensor import Tensor
    from tg_core.uop.ops import sint

_WORD = 0xFFFFFFFF


class _Generator:
    """The seed, and how many 64-bit blocks each device has drawn."""

    def __init__(self) -> None:
        self.seed = 0
        self.drawn: dict[str, int] = {}

    def take(self, device: str, blocks: int) -> int:
        """Return the counter of the first of `blocks` new blocks."""
        first = self.drawn.get(device, 0)
        self.drawn[device] = first + blocks
        return first


_generator = _Generator()


def random_state() -> tuple[int, dict[str, int]]:
    """Return the seed, and the table of blocks drawn by device.

    Writing to the table advances the streams.
    """
    return _generator.seed, _generator.drawn


def _variable(name: str, value: int, most: int, dtype: DType) -> UOp:
    """Return a bound variable."""
    return UOp.variable(name, 0, most, dtype).bind(value)


SEED_LOW, SEED_HIGH, COUNTER = "rng_seed_lo", "rng_seed_hi", "rng_counter"
"""Names of the variables of a draw (the counter's is followed by the device).

Which the JIT binds anew at each replay.
"""


def _key_and_counter(device: str, blocks: int) -> tuple[UOp, UOp]:
    """Return the key and the first counter of a draw as 64-bit scalars."""
    seed, first = _generator.seed, _generator.take(device, blocks)
    low = _variable(SEED_LOW, seed & _WORD, _WORD, dtypes.uint32).cast(dtypes.uint64)
    high = _variable(SEED_HIGH, seed >> 32, _WORD, dtypes.uint32).cast(dtypes.uint64)
    # variables are passed as signed 64-bit values
    counter = _variable(f"{COUNTER}:{device}", first, (1 << 63) - 1, dtypes.uint64)
    return (high << 32) | low, counter


class RandomMethods:
    """`rand randn randint uniform normal randperm multinomial` and initialisers; `dropout`."""

    __slots__ = ()

    @staticmethod
    def manual_seed(seed: int = 0) -> None:
        """Start all streams of random numbers anew from `seed`."""
        _generator.seed = seed & 0xFFFFFFFFFFFFFFFF
        _generator.drawn.clear()

    @classmethod
    def random_bits(cls: type[Tensor], key: Tensor, counter: Tensor, num: int) -> Tensor:
        """Return `num` random uint32 values.

        Args:
            key: a uint64 scalar.
            counter: a uint64 scalar, the number of the first block of two values.
            num: how many values.
        """
        blocks = (num + 1) // 2
        numbers = cls.arange(blocks, dtype=dtypes.int64).cast(dtypes.uint64) + counter
        pairs = numbers.threefry(key)
        # the low words of all blocks, then the high words
        shift = cls.arange(2, dtype=dtypes.int64).cast(dtypes.uint64).reshape((2, 1)) * 32
        words = (pairs.unsqueeze(0) >> shift).cast(dtypes.uint32)
        return words.flatten().shrink(((0, num),))

    @classmethod
    def _draw_bits(cls: type[Tensor], shape: tuple[sint, ...], device: DeviceLike) -> Tensor:
        """Return new random uint32 values of `shape`, on the first device where it is several."""
        from tg_core.device import Device

        count = prod(shape)
        if not isinstance(count, int):
            raise ShapeError(f"rand: the shape {shape_text(shape)} must not be symbolic")
        first = device[0] if isinstance(device, tuple) else device
        key, counter = _key_and_counter(Device.require(first), (count + 1) // 2)
        bits = cls.random_bits(cls._from_uop(key), cls._from_uop(counter), count)
        return bits.reshape(shape)

    @classmethod
    def _kept(cls: type[Tensor], value: Tensor, device: DeviceLike, contiguous: bool) -> Tensor:
        """Return a drawn value with storage of its own when `contiguous`.

        So it stays what it is.
        """
        if contiguous and 0 not in value.shape:
            return value.clone(device)
        return value

    @classmethod
    def rand(
        cls: type[Tensor],
        *shape: Any,
        device: DeviceLike = None,
        dtype: DTypeLike | None = None,
        contiguous: bool = True,
    ) -> Tensor:
        """Return values drawn evenly from [0, 1).

        Args:
            *shape: the sizes.
            device: where the values are; the default device unless given.
            dtype: a float dtype, the default float unless given.
            contiguous: give the values storage of their own; else they stay an expression.

        Raises:
            DTypeError: the dtype is no float.
            ShapeError: a size is negative or symbolic.
        """
        sizes = checked_shape("rand", flatten_args(*_head(shape)))
        target = dtypes.default_float() if dtype is None else to_dtype(dtype)
        if not dtypes.is_float(target) or dtypes.is_weak(target):
            raise DTypeError(f"rand: expected a float dtype, found {target.name}")
        if 0 in sizes:
            return cls.const(0.0, target)._broadcast_to(sizes)
        bits = cls._draw_bits(sizes, device)
        return cls._kept(_unit_interval(bits, target), device, contiguous)

    def rand_like(self: Tensor, **kwargs: Any) -> Tensor:
        """Return `rand` with the shape, dtype and device of self."""
        return type(self).rand(*self.shape, **_like(self, kwargs))

    @classmethod
    def randn(
        cls: type[Tensor], *shape: Any, dtype: DTypeLike | None = None, **kwargs: Any
    ) -> Tensor:
        """Return values of the normal distribution with mean 0 and variance 1."""
        sizes = checked_shape("randn", flatten_args(*_head(shape)))
        target = dtypes.default_float() if dtype is None else to_dtype(dtype)
        device, contiguous = kwargs.pop("device", None), kwargs.pop("contiguous", True)
        wide = dtypes.float64 if target is dtypes.float64 else dtypes.float32
        radius = cls.rand(*sizes, dtype=wide, device=device, contiguous=False)
        angle = cls.rand(*sizes, dtype=wide, device=device, contiguous=False)
        # Box-Muller; 1 - radius is in (0, 1], where the logarithm is finite
        spread = ((1.0 - radius).log() * -2.0).sqrt()
        drawn = (spread * (angle * (2 * math.pi)).cos()).cast(target)
        return cls._kept(drawn, device, contiguous)

    def randn_like(self: Tensor, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        """Return `randn` with the shape, dtype and device of self."""
        return type(self).randn(*self.shape, **_like(self, {"dtype": dtype, **kwargs}))

    @classmethod
    def randint(
        cls: type[Tensor],
        *shape: Any,
        low: int = 0,
        high: int = 10,
        dtype: DTypeLike = dtypes.int32,
        **kwargs: Any,
    ) -> Tensor:
        """Return integers drawn evenly from [low, high).

        Raises:
            DTypeError: the dtype is no integer, or `low` and `high` are no ints.
            ShapeError: the range is empty or wider than 32 bits.
        """
        target = to_dtype(dtype)
        if not dtypes.is_int(target):
            raise DTypeError(f"randint: expected an integer dtype, found {target.name}")
        if not all(isinstance(entry, int) for entry in (low, high)):
            raise DTypeError(f"randint: low and high must be ints, found {low!r} and {high!r}")
        if not 0 < high - low <= _WORD + 1:
            raise ShapeError(f"randint: [{low}, {high}) is empty or wider than 32 bits")
        sizes = checked_shape("randint", flatten_args(*_head(shape)))
        device, contiguous = kwargs.pop("device", None), kwargs.pop("contiguous", True)
        if 0 in sizes:
            return cls.const(low, target)._broadcast_to(sizes)
        # the high word of a 32 by 32 bit product is uniform to one part in 2^32 / range
        bits = cls._draw_bits(sizes, device).cast(dtypes.uint64)
        scaled = (bits * (high - low)) >> 32
        return cls._kept((scaled.cast(dtypes.int64) + low).cast(target), device, contiguous)

    @classmethod
    def uniform(
        cls: type[Tensor],
        *shape: Any,
        low: float = 0.0,
        high: float = 1.0,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """Return values drawn evenly from [low, high); integers when the dtype is one."""
        target = dtypes.default_float() if dtype is None else to_dtype(dtype)
        if dtypes.is_int(target):
            return cls.randint(*shape, low=int(low), high=int(high), dtype=target, **kwargs)
        device, contiguous = kwargs.pop("device", None), kwargs.pop("contiguous", True)
        wide = dtypes.float64 if target is dtypes.float64 else dtypes.float32
        drawn = cls.rand(*shape, dtype=wide, device=device, contiguous=False)
        return cls._kept((drawn * (high - low) + low).cast(target), device, contiguous)

    @classmethod
    def normal(
        cls: type[Tensor], *shape: Any, mean: float = 0.0, std: float = 1.0, **kwargs: Any
    ) -> Tensor:
        """Return values of the normal distribution.

        Raises:
            ShapeError: `std` is negative.
        """
        if std < 0:
            raise ShapeError(f"normal: std must not be negative, found {std}")
        device, contiguous = kwargs.pop("device", None), kwargs.pop("contiguous", True)
        drawn = cls.randn(*shape, device=device, contiguous=False, **kwargs) * std + mean
        return cls._kept(drawn, device, contiguous)

    @classmethod
    def scaled_uniform(cls: type[Tensor], *shape: Any, **kwargs: Any) -> Tensor:
        """Return values drawn evenly from [-1, 1), divided by the root of their number."""
        sizes = checked_shape("scaled_uniform", flatten_args(*_head(shape)))
        bound = max(prod(sizes), 1) ** -0.5
        return cls.uniform(*sizes, low=-bound, high=bound, **kwargs)

    @classmethod
    def glorot_uniform(cls: type[Tensor], *shape: Any, **kwargs: Any) -> Tensor:
        """Return weights drawn evenly with the variance of Glorot and Bengio (2010)."""
        sizes = checked_shape("glorot_uniform", flatten_args(*_head(shape)))
        bound = math.sqrt(6 / max(sizes[0] + prod(sizes[1:]), 1)) if sizes else 1.0
        return cls.uniform(*sizes, low=-bound, high=bound, **kwargs)

    @classmethod
    def kaiming_uniform(cls: type[Tensor], *shape: Any, a: float = 0.01, **kwargs: Any) -> Tensor:
        """Return weights drawn evenly with the variance of He et al. (2015).

        Args:
            *shape: the sizes; all but the first are the fan-in.
            a: the negative slope of the activation that follows.
            **kwargs: `dtype`, `device`, `contiguous`.
        """
        sizes = checked_shape("kaiming_uniform", flatten_args(*_head(shape)))
        bound = math.sqrt(6 / (1 + a**2) / max(prod(sizes[1:]), 1))
        return cls.uniform(*sizes, low=-bound, high=bound, **kwargs)

    @classmethod
    def kaiming_normal(cls: type[Tensor], *shape: Any, a: float = 0.01, **kwargs: Any) -> Tensor:
        """Return normally distributed weights with the variance of He et al. (2015).

        Args:
            *shape: the sizes; all but the first are the fan-in.
            a: the negative slope of the activation that follows.
            **kwargs: `dtype`, `device`, `contiguous`.
        """
        sizes = checked_shape("kaiming_normal", flatten_args(*_head(shape)))
        std = math.sqrt(2 / (1 + a**2) / max(prod(sizes[1:]), 1))
        return cls.normal(*sizes, mean=0.0, std=std, **kwargs)

    @classmethod
    def randperm(
        cls: type[Tensor],
        n: int,
        device: DeviceLike = None,
        dtype: DTypeLike = dtypes.int32,
        **kwargs: Any,
    ) -> Tensor:
        """Return the numbers 0 to n - 1 in random order.

        Raises:
            ShapeError: n is negative.
        """
        drawn = cls.randint(n, low=-(2**31), high=2**31, device=device, **kwargs)
        return drawn.argsort().cast(dtype)

    def multinomial(self: Tensor, num_samples: int = 1, replacement: bool = False) -> Tensor:
        """Return indices drawn with probabilities proportional to the rows of self.

        Args:
            num_samples: how many to draw from each row.
            replacement: whether an index can be drawn again.

        Raises:
            ShapeError: self is neither a vector nor a matrix, or has too few columns.
        """
        num_samples = require_int("multinomial", num_samples)
        if self.ndim not in (1, 2) or num_samples < 1:
            raise ShapeError(
                f"multinomial: expected weights of one or two axes and num_samples >= 1, found "
                f"{shape_text(self.shape)} and {num_samples}"
            )
        if not replacement and num_samples > self.shape[-1]:
            raise ShapeError(
                f"multinomial: {num_samples} samples without replacement from {self.shape[-1]}"
            )
        rows = self.float() if self.ndim == 2 else self.float().unsqueeze(0)
        device = self.uop.device
        if replacement:
            total = rows.cumsum(1)
            scaled = total / total[:, -1:]
            drawn = type(self).rand(rows.shape[0], num_samples, 1, device=device)
            chosen = (scaled.unsqueeze(1) <= drawn).sum(2).clip(0, rows.shape[1] - 1)
        else:
            # the largest of weight-scaled exponential races are a sample without replacement
            drawn = type(self).rand(*rows.shape, device=device)
            race = (1.0 - drawn).log() / rows
            chosen = (rows > 0).where(race, -math.inf).topk(num_samples, dim=1)[1]
        return (chosen if self.ndim == 2 else chosen.squeeze(0)).cast(dtypes.int32)

    def dropout(self: Tensor, p: float = 0.5) -> Tensor:
        """Return self with each value zeroed with probability `p` and the others scaled.

        In training.

        The mask is kept in storage, so that the gradient sees the same one.

        Raises:
            ShapeError: `p` is not in [0, 1].
        """
        if not isinstance(p, (int, float)) or not 0 <= p <= 1:
            raise ShapeError(f"dropout: p must be in [0, 1], found {p}")
        if not type(self).training or p == 0:
            return self
        if p == 1:
            return self.zeros_like(buffer=False)
        drawn = type(self).rand(
            *self.shape, dtype=dtypes.float32, device=self.uop.device, contiguous=False
        )
        kept = drawn >= p
        if isinstance(self.uop.device, tuple):
            mask = kept.shard_like(self).clone()
        else:
            mask = type(self)._kept(kept, self.uop.device, True)
        return mask.where(self, 0.0) * (1.0 / (1.0 - p))


def _head(shape: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    return (shape[0], shape[1:]) if shape else ((), ())


def _like(tensor: Tensor, given: dict[str, Any]) -> dict[str, Any]:
    options = {key: value for key, value in given.items() if value is not None}
    options.setdefault("dtype", tensor.dtype)
    options.setdefault("device", tensor.uop.device)
    return options


def _unit_interval(bits: Tensor, dtype: DType) -> Tensor:
    """Return random bits as multiples of a power of two in [0, 1), exact in the dtype."""
    if dtype is dtypes.float64:
        # 32 bits of randomness are enough for a grid that a double holds exactly
        return bits.cast(dtypes.float64) * 2.0**-32
    digits = {dtypes.float32: 24, dtypes.float16: 11, dtypes.bfloat16: 8}.get(dtype, 3)
    return ((bits >> (32 - digits)).cast(dtypes.float32) * 2.0**-digits).cast(dtype)
