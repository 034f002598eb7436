"""Decoding GGUF blocks of 32 values.

Every function takes `(count, block bytes)` bytes and returns `(count, 32)` float32. The order of
operations is the format's, so that results are equal bit for bit.

Source: `block_q4_0` and the following in `ggml-common.h`, `dequantize_row_*` in `ggml-quants.c` of
the ggml project.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "IQ4_VALUES",
    "Bytes",
    "Floats",
    "decode_iq4_nl",
    "decode_mxfp4",
    "decode_q4_0",
    "decode_q4_1",
    "decode_q5_0",
    "decode_q5_1",
    "decode_q8_0",
    "half_floats",
    "nibbles",
]

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]

IQ4_VALUES: Floats = np.array(
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float32
)
"""What the codes of the IQ4 types stand for (`kvalues_iq4nl`)."""

MXFP4_VALUES: Floats = np.array(
    [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], np.float32
)
"""Twice what the codes of 4-bit floats stand for (`kvalues_mxfp4`)."""


def half_floats(blocks: Bytes, offset: int) -> Floats:
    """Return the float16 at an offset of each block as float32, shape `(count, 1)`."""
    return np.ascontiguousarray(blocks[:, offset : offset + 2]).view("<f2").astype(np.float32)


def nibbles(packed: Bytes) -> Bytes:
    """Return the low nibbles of the last axis, then the high ones."""
    return np.concatenate([packed & 15, packed >> 4], axis=-1)


def decode_q4_0(blocks: Bytes) -> Floats:
    """Return `d * (q - 8)`; float16 d, 16 bytes of nibbles."""
    return half_floats(blocks, 0) * (nibbles(blocks[:, 2:]).astype(np.float32) - 8)


def decode_q4_1(blocks: Bytes) -> Floats:
    """Return `d * q + m`; float16 d and m, 16 bytes of nibbles."""
    return half_floats(blocks, 0) * nibbles(blocks[:, 4:]).astype(np.float32) + half_floats(
        blocks, 2
    )


def decode_q5_0(blocks: Bytes) -> Floats:
    """Return `d * (q - 16)`; float16 d, 32 high bits, 16 bytes of nibbles."""
    return half_floats(blocks, 0) * (_five_bits(blocks[:, 2:]) - 16)


def decode_q5_1(blocks: Bytes) -> Floats:
    """Return `d * q + m`; float16 d and m, 32 high bits, 16 bytes of nibbles."""
    return half_floats(blocks, 0) * _five_bits(blocks[:, 4:]) + half_floats(blocks, 2)


def decode_q8_0(blocks: Bytes) -> Floats:
    """Return `d * q`; float16 d, 32 signed bytes."""
    return half_floats(blocks, 0) * blocks[:, 2:].view(np.int8).astype(np.float32)


def decode_iq4_nl(blocks: Bytes) -> Floats:
    """Return `d * table[q]`; float16 d, 16 bytes of nibbles."""
    return half_floats(blocks, 0) * IQ4_VALUES[nibbles(blocks[:, 2:])]


def decode_mxfp4(blocks: Bytes) -> Floats:
    """Return `2**(e - 128) * table[q]`; the exponent e, 16 bytes of nibbles."""
    exponent = blocks[:, :1].astype(np.uint32)
    # Exponents 0 and 1 give subnormal scales, 2**-128 and 2**-127.
    bits = np.where(exponent < 2, np.uint32(0x00200000) << exponent, (exponent - 1) << 23)
    return bits.astype(np.uint32).view(np.float32) * MXFP4_VALUES[nibbles(blocks[:, 1:])]


def _five_bits(packed: Bytes) -> Floats:
    """Return 5-bit numbers from 4 bytes of high bits, lowest first, and 16 bytes of nibbles."""
    high = np.unpackbits(packed[:, :4], axis=1, bitorder="little")
    return (nibbles(packed[:, 4:]) | (high << 4)).astype(np.float32)
