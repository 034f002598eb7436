"""GGUF blocks decoded one value at a time, written apart from the product's decoders.

Every function takes the bytes of one block and returns its values, rounded to float32 after each
operation as the C code of the format does.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

__all__ = ["SCALAR_DECODERS"]

F32 = np.float32
IQ4 = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
E2M1 = (0, 1, 2, 3, 4, 6, 8, 12)
Values = list[np.float32]


def half(block: bytes, at: int) -> np.float32:
    return F32(struct.unpack_from("<e", block, at)[0])


def signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def nibble(data: bytes, index: int, half_length: int) -> int:
    """Code of a value when the low nibbles come first."""
    byte = data[index % half_length]
    return byte >> 4 if index >= half_length else byte & 15


def q4_0(b: bytes) -> Values:
    return [half(b, 0) * F32(nibble(b[2:], i, 16) - 8) for i in range(32)]


def q4_1(b: bytes) -> Values:
    return [half(b, 0) * F32(nibble(b[4:], i, 16)) + half(b, 2) for i in range(32)]


def q5_0(b: bytes) -> Values:
    (high,) = struct.unpack_from("<I", b, 2)
    codes = [nibble(b[6:], i, 16) + 16 * (high >> i & 1) for i in range(32)]
    return [half(b, 0) * F32(code - 16) for code in codes]


def q5_1(b: bytes) -> Values:
    (high,) = struct.unpack_from("<I", b, 4)
    codes = [nibble(b[8:], i, 16) + 16 * (high >> i & 1) for i in range(32)]
    return [half(b, 0) * F32(code) + half(b, 2) for code in codes]


def q8_0(b: bytes) -> Values:
    return [half(b, 0) * F32(signed(b[2 + i])) for i in range(32)]


def iq4_nl(b: bytes) -> Values:
    return [half(b, 0) * F32(IQ4[nibble(b[2:], i, 16)]) for i in range(32)]


def mxfp4(b: bytes) -> Values:
    scale = F32(2.0 ** (b[0] - 128))
    codes = [nibble(b[1:], i, 16) for i in range(32)]
    return [scale * F32(-E2M1[code - 8] if code > 7 else E2M1[code]) for code in codes]


def q2_k(b: bytes) -> Values:
    result = []
    for i in range(256):
        code = b[16 + i // 128 * 32 + i % 32] >> (i % 128 // 32 * 2) & 3
        packed = b[i // 16]
        scale, minimum = half(b, 80) * F32(packed & 15), half(b, 82) * F32(packed >> 4)
        result.append(scale * F32(code) - minimum)
    return result


def q3_k(b: bytes) -> Values:
    result = []
    for i in range(256):
        low = b[32 + i // 128 * 32 + i % 32] >> (i % 128 // 32 * 2) & 3
        code = low - (0 if b[i % 32] >> (i // 32) & 1 else 4)
        group = i // 16
        low_scale = b[96 + group % 8] >> (4 if group >= 8 else 0) & 15
        high_scale = b[104 + group % 4] >> (2 * (group // 4)) & 3
        result.append(half(b, 108) * F32(low_scale + 16 * high_scale - 32) * F32(code))
    return result


def scale_and_minimum(packed: bytes, j: int) -> tuple[int, int]:
    if j < 4:
        return packed[j] & 63, packed[j + 4] & 63
    return (
        (packed[j + 4] & 15) | (packed[j - 4] >> 6 << 4),
        (packed[j + 4] >> 4) | (packed[j] >> 6 << 4),
    )


def q45_k(b: bytes, codes: Callable[[int], int]) -> Values:
    result = []
    for i in range(256):
        scale, minimum = scale_and_minimum(b[4:16], i // 32)
        wide = half(b, 0) * F32(scale) * F32(codes(i))
        result.append(wide - half(b, 2) * F32(minimum))
    return result


def q4_k(b: bytes) -> Values:
    def code(i: int) -> int:
        return nibble(b[16 + i // 64 * 32 :][:32], i % 64, 32)

    return q45_k(b, code)


def q5_k(b: bytes) -> Values:
    def code(i: int) -> int:
        return nibble(b[48 + i // 64 * 32 :][:32], i % 64, 32) + 16 * (
            b[16 + i % 32] >> (i // 32) & 1
        )

    return q45_k(b, code)


def q6_k(b: bytes) -> Values:
    result = []
    for i in range(256):
        low = nibble(b[i // 128 * 64 :][:64], i % 128, 64)
        high = b[128 + i // 128 * 32 + i % 32] >> (i % 128 // 32 * 2) & 3
        scale = half(b, 208) * F32(signed(b[192 + i // 16]))
        result.append(scale * F32(low + 16 * high - 32))
    return result


def iq4_xs(b: bytes) -> Values:
    result = []
    (high,) = struct.unpack_from("<H", b, 2)
    for i in range(256):
        j = i // 32
        scale = (b[4 + j // 2] >> (4 * (j % 2)) & 15) | (high >> (2 * j) & 3) << 4
        code = nibble(b[8 + 16 * j :][:16], i % 32, 16)
        result.append(half(b, 0) * F32(scale - 32) * F32(IQ4[code]))
    return result


SCALAR_DECODERS: dict[str, Callable[[bytes], Values]] = {
    "Q4_0": q4_0,
    "Q4_1": q4_1,
    "Q5_0": q5_0,
    "Q5_1": q5_1,
    "Q8_0": q8_0,
    "Q2_K": q2_k,
    "Q3_K": q3_k,
    "Q4_K": q4_k,
    "Q5_K": q5_k,
    "Q6_K": q6_k,
    "IQ4_NL": iq4_nl,
    "IQ4_XS": iq4_xs,
    "MXFP4": mxfp4,
}
