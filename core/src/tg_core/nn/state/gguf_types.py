"""The tensor types of GGUF files, and how each is decoded.

Source: `GGMLQuantizationType` and `GGML_QUANT_SIZES` of the GGUF format's Python package, version
0.19; block layouts in `ggml-common.h` of the ggml project.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tg_core.dtype import DType, dtypes
from tg_core.nn.state import gguf_blocks, gguf_super_blocks

__all__ = ["GGUF_TYPES", "GgufType"]

Decoder = Callable[[gguf_blocks.Bytes], gguf_blocks.Floats]


@dataclass(frozen=True)
class GgufType:
    """A tensor type."""

    name: str
    block_values: int
    """Values per block."""
    block_bytes: int
    """Bytes per block."""
    dtype: DType
    """The dtype of loaded tensors."""
    decode: Decoder | None = None
    """From blocks, `(count, block_bytes)` bytes, to `(count, block_values)` float32; None where the
    bytes are the values."""


GGUF_TYPES: Mapping[int, GgufType] = {
    0: GgufType("F32", 1, 4, dtypes.float32),
    1: GgufType("F16", 1, 2, dtypes.float16),
    2: GgufType("Q4_0", 32, 18, dtypes.float32, gguf_blocks.decode_q4_0),
    3: GgufType("Q4_1", 32, 20, dtypes.float32, gguf_blocks.decode_q4_1),
    6: GgufType("Q5_0", 32, 22, dtypes.float32, gguf_blocks.decode_q5_0),
    7: GgufType("Q5_1", 32, 24, dtypes.float32, gguf_blocks.decode_q5_1),
    8: GgufType("Q8_0", 32, 34, dtypes.float32, gguf_blocks.decode_q8_0),
    10: GgufType("Q2_K", 256, 84, dtypes.float32, gguf_super_blocks.decode_q2_k),
    11: GgufType("Q3_K", 256, 110, dtypes.float32, gguf_super_blocks.decode_q3_k),
    12: GgufType("Q4_K", 256, 144, dtypes.float32, gguf_super_blocks.decode_q4_k),
    13: GgufType("Q5_K", 256, 176, dtypes.float32, gguf_super_blocks.decode_q5_k),
    14: GgufType("Q6_K", 256, 210, dtypes.float32, gguf_super_blocks.decode_q6_k),
    20: GgufType("IQ4_NL", 32, 18, dtypes.float32, gguf_blocks.decode_iq4_nl),
    23: GgufType("IQ4_XS", 256, 136, dtypes.float32, gguf_super_blocks.decode_iq4_xs),
    24: GgufType("I8", 1, 1, dtypes.int8),
    25: GgufType("I16", 1, 2, dtypes.int16),
    26: GgufType("I32", 1, 4, dtypes.int32),
    27: GgufType("I64", 1, 8, dtypes.int64),
    28: GgufType("F64", 1, 8, dtypes.float64),
    30: GgufType("BF16", 1, 2, dtypes.bfloat16),
    39: GgufType("MXFP4", 32, 17, dtypes.float32, gguf_blocks.decode_mxfp4),
}
"""The types that can be loaded, by their number in a file."""
