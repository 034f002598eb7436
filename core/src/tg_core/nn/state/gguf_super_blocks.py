"""Decoding GGUF super-blocks of 256 values, which scale sub-blocks of 16 or 32 values.

Every function takes `(count, block bytes)` bytes and returns `(count, 256)` float32. The order of
operations is the format's, so that results are equal bit for bit.

Source: `block_q2_K` and the following in `ggml-common.h`, `dequantize_row_*` in `ggml-quants.c` of
the ggml project.
"""

from __future__ import annotations

import numpy as np

from tg_core.nn.state.gguf_blocks import IQ4_VALUES, Bytes, Floats, half_floats, nibbles

__all__ = [
    "decode_iq4_xs",
    "decode_q2_k",
    "decode_q3_k",
    "decode_q4_k",
    "decode_q5_k",
    "decode_q6_k",
]

VALUES = 256


def decode_q2_k(blocks: Bytes) -> Floats:
    """Return `(d * scale) * q - (dmin * minimum)`.

    Bytes: 16 of scale (low nibble) and minimum (high) per 16 values, 64 of 2-bit q, float16 d and
    dmin.
    """
    scale = half_floats(blocks, 80) * (blocks[:, :16] & 15).astype(np.float32)
    minimum = half_floats(blocks, 82) * (blocks[:, :16] >> 4).astype(np.float32)
    codes = _bit_pairs(blocks[:, 16:80], 32).reshape(-1, 16, 16).astype(np.float32)
    return (scale[:, :, None] * codes - minimum[:, :, None]).reshape(-1, VALUES)


def decode_q3_k(blocks: Bytes) -> Floats:
    """Return `(d * (scale - 32)) * (q - 4)`.

    Bytes: 32 of the third bit of q, 64 of its low two bits, 12 of packed 6-bit scales per 16
    values, float16 d.
    """
    low = nibbles(blocks[:, 96:104])
    high = _bit_pairs(blocks[:, 104:108], 4)
    scale = half_floats(blocks, 108) * ((low | (high << 4)).astype(np.float32) - 32)
    third = _bit_planes(blocks[:, :32])
    codes = (_bit_pairs(blocks[:, 32:96], 32) | (third << 2)).astype(np.float32) - 4
    return (scale[:, :, None] * codes.reshape(-1, 16, 16)).reshape(-1, VALUES)


def decode_q4_k(blocks: Bytes) -> Floats:
    """Return `(d * scale) * q - (dmin * minimum)`.

    Bytes: float16 d and dmin, 12 of packed 6-bit scales and minima per 32 values, 128 of nibbles.
    """
    codes = nibbles(blocks[:, 16:].reshape(-1, 4, 32)).reshape(-1, VALUES)
    return _scale_sub_blocks(blocks, codes)


def decode_q5_k(blocks: Bytes) -> Floats:
    """Return `(d * scale) * q - (dmin * minimum)`.

    Bytes: float16 d and dmin, 12 of packed 6-bit scales and minima per 32 values, 32 of the fifth
    bit of q, 128 of nibbles.
    """
    codes = nibbles(blocks[:, 48:].reshape(-1, 4, 32)).reshape(-1, VALUES)
    fifth: Bytes = np.left_shift(_bit_planes(blocks[:, 16:48]), np.uint8(4))
    return _scale_sub_blocks(blocks, np.bitwise_or(codes, fifth))


def decode_q6_k(blocks: Bytes) -> Floats:
    """Return `(d * scale) * (q - 32)`.

    Bytes: 128 of nibbles, 64 of the two high bits of q, 16 signed scales per 16 values, float16 d.
    """
    low = nibbles(blocks[:, :128].reshape(-1, 2, 64)).reshape(-1, VALUES)
    codes = (low | (_bit_pairs(blocks[:, 128:192], 32) << 4)).astype(np.float32) - 32
    scale = half_floats(blocks, 208) * blocks[:, 192:208].view(np.int8).astype(np.float32)
    return (scale[:, :, None] * codes.reshape(-1, 16, 16)).reshape(-1, VALUES)


def decode_iq4_xs(blocks: Bytes) -> Floats:
    """Return `(d * (scale - 32)) * table[q]`.

    Bytes: float16 d, 2 of high and 4 of low bits of 6-bit scales per 32 values, 128 of nibbles.
    """
    low = np.stack([blocks[:, 4:8] & 15, blocks[:, 4:8] >> 4], axis=-1).reshape(-1, 8)
    shifts = np.arange(0, 8, 2, dtype=np.uint8)
    high = ((blocks[:, 2:4, None] >> shifts) & 3).reshape(-1, 8)
    scale = half_floats(blocks, 0) * ((low | (high << 4)).astype(np.float32) - 32)
    codes = nibbles(blocks[:, 8:].reshape(-1, 8, 16))
    values: Floats = scale[:, :, None] * IQ4_VALUES[codes]
    return values.reshape(-1, VALUES)


def _scale_sub_blocks(blocks: Bytes, codes: Bytes) -> Floats:
    """Scale eight sub-blocks as Q4_K and Q5_K do.

    Of the 12 bytes, the first four hold scales 0-3 and the next four minima 0-3 in their low six
    bits. The last four hold the low nibbles of scales and minima 4-7; what is left of the first
    eight holds their high two bits.
    """
    packed = blocks[:, 4:16]
    first, second, last = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    scales = np.concatenate([first & 63, (last & 15) | ((first >> 6) << 4)], axis=1)
    minima = np.concatenate([second & 63, (last >> 4) | ((second >> 6) << 4)], axis=1)
    scale = half_floats(blocks, 0) * scales.astype(np.float32)
    minimum = half_floats(blocks, 2) * minima.astype(np.float32)
    wide = codes.reshape(-1, 8, 32).astype(np.float32)
    return (scale[:, :, None] * wide - minimum[:, :, None]).reshape(-1, VALUES)


def _bit_pairs(packed: Bytes, group: int) -> Bytes:
    """Return, for each group of bytes, its lowest bit pairs, then the next ones, to the highest."""
    shifts = np.arange(0, 8, 2, dtype=np.uint8).reshape(4, 1)
    grouped = packed.reshape(packed.shape[0], -1, 1, group)
    return ((grouped >> shifts) & 3).astype(np.uint8).reshape(packed.shape[0], -1)


def _bit_planes(packed: Bytes) -> Bytes:
    """Return the lowest bits of all bytes, then the next ones, to the highest."""
    shifts = np.arange(8, dtype=np.uint8).reshape(8, 1)
    planes = (packed[:, None, :] >> shifts) & 1
    return planes.astype(np.uint8).reshape(packed.shape[0], -1)
