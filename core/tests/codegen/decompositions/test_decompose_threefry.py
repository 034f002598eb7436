"""THREEFRY against the known answers of Random123 (kat_vectors, threefry2x32 with 20 rounds)."""

from __future__ import annotations

import numpy as np
import pytest
from codegen_kernels import GRID, LEAN_GRID, apply

from tg_core.dtype import dtypes
from tg_core.renderer.api import Renderer
from tg_core.uop.ops import Ops, UOp

# counter words, key words, result words
KNOWN = [
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]


def packed(words: tuple[int, int]) -> int:
    return words[0] | words[1] << 32


@pytest.mark.parametrize("renderer", [GRID, LEAN_GRID], ids=["grid", "lean"])
def test_known_answers(renderer: Renderer) -> None:
    def function(counter: UOp, key: UOp) -> UOp:
        return UOp(Ops.THREEFRY, (counter, key))

    counter = np.array([packed(c) for c, _, _ in KNOWN], np.uint64)
    key = np.array([packed(k) for _, k, _ in KNOWN], np.uint64)
    got = apply(function, renderer, dtypes.uint64, (counter, dtypes.uint64), (key, dtypes.uint64))
    assert got.tolist() == [packed(r) for _, _, r in KNOWN]
