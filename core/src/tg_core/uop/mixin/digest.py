"""Keccak digests of bytes (FIPS 202) as elementwise integer operations."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, ShapeError
from tg_core.uop.mixin.linalg import LinalgMixin
from tg_core.uop.mixin.shape_utils import prod, shape_text

if TYPE_CHECKING:
    from typing import Self

# FIPS 202, section 6: rate in bytes and domain separation byte
CONFIGURATIONS: Final = {
    "sha3_224": (144, 0x06),
    "sha3_256": (136, 0x06),
    "sha3_384": (104, 0x06),
    "sha3_512": (72, 0x06),
    "shake_128": (168, 0x1F),
    "shake_256": (136, 0x1F),
}
CHUNK: Final = 160
"""Bytes that `hash` digests at a time: what one permutation of SHAKE128 takes in."""


@cache
def _rotations() -> dict[tuple[int, int], int]:
    """Return by how many bits each lane turns (FIPS 202, section 3.2.2)."""
    turns = {(0, 0): 0}
    x, y = 1, 0
    for step in range(24):
        turns[x, y] = (step + 1) * (step + 2) // 2 % 64
        x, y = y, (2 * x + 3 * y) % 5
    return turns


@cache
def _round_constants() -> list[int]:
    """Return what each round adds to lane (0, 0) (FIPS 202, section 3.2.5)."""
    bits, state = [], 1
    for _ in range(24 * 7):
        bits.append(state & 1)
        state <<= 1
        if state >> 8:
            state ^= 0x171
    return [
        sum(bits[7 * number + power] << ((1 << power) - 1) for power in range(7))
        for number in range(24)
    ]


Lanes = dict[tuple[int, int], Any]


class DigestMixin(LinalgMixin):
    """`keccak hash`."""

    __slots__ = ()

    def keccak(self, cfg: str | tuple[int, int] = "sha3_256") -> Self:
        """Return the digest of the bytes along the last axis.

        Args:
            cfg: `sha3_224`, `sha3_256`, `sha3_384`, `sha3_512`, `shake_128` (16 bytes),
                `shake_256` (32 bytes), or a rate in bytes and a domain separation byte.

        Raises:
            DTypeError: self is not uint8, or the configuration is unknown.
            ShapeError: self has no axis, or a symbolic one.
        """
        if isinstance(cfg, str) and cfg not in CONFIGURATIONS:
            raise DTypeError(f"keccak: cfg {cfg!r}, expected one of {', '.join(CONFIGURATIONS)}")
        rate, separator = CONFIGURATIONS[cfg] if isinstance(cfg, str) else cfg
        if rate % 8 or not 0 < rate < 200:
            raise DTypeError(f"keccak: rate {rate} is no multiple of 8 below 200")
        if self.dtype is not dtypes.uint8:
            raise DTypeError(f"keccak: expected uint8, found {self.dtype.name}")
        length = self.shape[-1] if self.ndim else None
        if not isinstance(length, int):
            raise ShapeError(f"keccak: expected an axis of bytes in shape {shape_text(self.shape)}")
        blocks = self._blocks(length, rate, separator)
        zero = self._const(0, dtypes.uint64)._broadcast_to(self.shape[:-1])
        state: Lanes = {(x, y): zero for y in range(5) for x in range(5)}
        for number in range(length // rate + 1):
            for lane in range(rate // 8):
                at = (lane % 5, lane // 5)
                state[at] = state[at] ^ blocks._word(number * (rate // 8) + lane)
            state = _permuted(state)
        words = [state[lane % 5, lane // 5] for lane in range(-(-(200 - rate) // 16))]
        joined = words[0].stack(*words[1:], dim=-1).contiguous()
        digest: Self = joined.bitcast(dtypes.uint8)
        return digest._leading(digest.ndim - 1, (200 - rate) // 2)

    def _blocks(self, length: int, rate: int, separator: int) -> Self:
        """Return the padded message as 64-bit words, low byte first."""
        total = (length // rate + 1) * rate
        grow = [(0, 0)] * (self.ndim - 1)
        place = self._counting(total, dtypes.int32)
        zero = self._const(0, dtypes.uint8)
        first = place.eq(length).where(self._const(separator, dtypes.uint8), zero)
        last = place.eq(total - 1).where(self._const(0x80, dtypes.uint8), zero)
        padded = self._pad_zeros([*grow, (0, total - length)]) ^ (first ^ last)
        return padded.contiguous().bitcast(dtypes.uint64)

    def _word(self, position: int) -> Self:
        keep: list[Any] = [None] * (self.ndim - 1)
        return self.shrink([*keep, (position, position + 1)]).reshape(self.shape[:-1])

    def hash(self) -> Self:
        """Return 16 bytes that stand for the values.

        The bytes are digested in pieces of 160 with SHAKE128, then the digests in turn, until one
        is left.

        Raises:
            ShapeError: the shape is symbolic.
        """
        count = prod(self.shape)
        if not isinstance(count, int):
            raise ShapeError(f"hash: the shape {shape_text(self.shape)} is symbolic")
        plain = self._as(dtypes.uint8) if self.dtype is dtypes.bool else self
        data = plain.flatten().contiguous().bitcast(dtypes.uint8)
        while True:
            length = prod(data.shape)
            pieces = max(-(-length // CHUNK), 1)
            grown = data._pad_zeros([(0, pieces * CHUNK - length)])
            digests = grown.reshape((pieces, CHUNK)).keccak("shake_128")
            if pieces == 1:
                return digests.reshape((16,))
            data = digests.flatten().contiguous()


def _rotate(lane: Any, amount: int) -> Any:
    return lane if amount == 0 else (lane << amount) | (lane >> (64 - amount))


def _permuted(state: Lanes) -> Lanes:
    """Return the state after the 24 rounds of Keccak-f[1600]."""
    rotations = _rotations()
    for constant in _round_constants():
        parity = [
            state[x, 0] ^ state[x, 1] ^ state[x, 2] ^ state[x, 3] ^ state[x, 4] for x in range(5)
        ]
        mixed = [parity[(x - 1) % 5] ^ _rotate(parity[(x + 1) % 5], 1) for x in range(5)]
        moved = {
            (y, (2 * x + 3 * y) % 5): _rotate(state[x, y] ^ mixed[x], rotations[x, y])
            for x in range(5)
            for y in range(5)
        }
        state = {
            (x, y): moved[x, y] ^ (~moved[(x + 1) % 5, y] & moved[(x + 2) % 5, y])
            for x in range(5)
            for y in range(5)
        }
        state[0, 0] = state[0, 0] ^ constant
    return state
