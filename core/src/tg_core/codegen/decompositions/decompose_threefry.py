"""THREEFRY: the counter-based generator threefry2x32 with 20 rounds.

`THREEFRY(counter, key)` takes and returns uint64: the low half is word 0, the high half word 1 of
counter, key and result.

Source:
    Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 4.1;
    rotations and parity constant of threefry2x32 as in its table 2 and in Random123 1.14.
"""

from __future__ import annotations

from typing import Final

from tg_core.codegen.decompositions.utils import lit, shift_left, shift_right
from tg_core.dtype import dtypes
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat

_ROTATIONS: Final = (13, 15, 26, 6, 17, 29, 16, 24)
_PARITY: Final = 0x1BD11BDA
_ROUNDS: Final = 20
_ROUNDS_PER_INJECTION: Final = 4


def _rotate_left(x: UOp, amount: int) -> UOp:
    return shift_left(x, amount) | shift_right(x, 32 - amount)


def _halves(x: UOp) -> tuple[UOp, UOp]:
    return x.cast(dtypes.uint32), shift_right(x, 32).cast(dtypes.uint32)


def decompose_threefry(counter: UOp, key: UOp) -> UOp:
    """THREEFRY(counter, key) -> 20 rounds of add, rotate, xor on uint32. The definition; uint32
    arithmetic wraps.
    """
    x0, x1 = _halves(counter)
    k0, k1 = _halves(key)
    keys = (k0, k1, k0 ^ k1 ^ lit(_PARITY, k0))
    x0, x1 = x0 + keys[0], x1 + keys[1]
    for step in range(_ROUNDS):
        x0 = x0 + x1
        x1 = _rotate_left(x1, _ROTATIONS[step % len(_ROTATIONS)]) ^ x0
        if step % _ROUNDS_PER_INJECTION == _ROUNDS_PER_INJECTION - 1:
            injection = step // _ROUNDS_PER_INJECTION + 1
            x0 = x0 + keys[injection % 3]
            x1 = x1 + keys[(injection + 1) % 3] + lit(injection, x1)
    return x0.cast(dtypes.uint64) | shift_left(x1.cast(dtypes.uint64), 32)


rules = PatternMatcher(
    [
        (
            UPat(Ops.THREEFRY, (UPat.var("counter"), UPat.var("key")), dtype=dtypes.uint64),
            decompose_threefry,
        )
    ]
)
