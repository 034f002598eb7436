"""Every acceptance and rejection that `spec/ir.md` section 6 requires."""

from __future__ import annotations

import itertools

import pytest

from tg_core.dtype import dtypes
from tg_core.errors import SpecError, TGError
from tg_core.uop import validate
from tg_core.uop.ops import Invalid, Ops, UOp
from tg_core.uop.validate import Verdict, check_accesses, prove_index, require_in_bounds

I, U = dtypes.int32, dtypes.uint32
r = UOp.range(10, 0)
floats = UOp.param(2, dtypes.float32, (10,)).index(r).load()
ints = UOp.param(1, I, (10,)).index(r).load()
unknown = floats < 0.5
char = UOp.variable("c", -128, -113, dtypes.int8)
far = UOp.variable("x", 3e9, 4e9, dtypes.float32)
n = UOp.variable("n", 1, 10)
rn = UOp.range(n, 1)


def masked(mask: UOp, index: UOp) -> UOp:
    return UOp(Ops.WHERE, (mask, index, UOp.const(Invalid)))


def verdict(size: int, index: UOp, gate: UOp | None = None) -> Verdict:
    return prove_index(UOp.param(0, dtypes.float32, (size,)).index(index), gate).verdict


BITS = ints.bitcast(U) >> UOp.const(28, U)
SAFE: list[tuple[str, int, UOp, UOp | None]] = [
    ("plain loop", 10, r, None),
    ("mask that fits", 5, masked(r < 5, r), None),
    ("mask on both sides", 4, masked((r < 5) & (r > 0), r - 1), None),
    ("gate", 5, r, r < 5),
    ("mask and unknown", 1, masked((r < 1) & unknown, r), None),
    ("gate and unknown", 1, r, (r < 1) & unknown),
    ("checked load", 10, ints, (ints >= 0) & (ints < 10)),
    ("checked load, scaled, may wrap", 40, ints * 4 + 3, (ints >= 0) & (ints < 10)),
    ("shifted bits", 16, BITS.bitcast(I), None),
    ("shifted bits, masked", 8, (BITS.bitcast(I)) & 7, None),
    ("char read as uchar", 144, char.bitcast(dtypes.uint8).cast(I), None),
    ("variable size", 10, rn, None),
    ("variable size, gate", 10, rn + 1, rn + 1 < n),
    ("floor division", 5, masked(r // 2 < 5, r // 2), None),
    ("negative modulo", 3, (r - 20) % 3, None),
    ("maximum", 10, (r - 3).maximum(0), None),
    ("aligned mask", 9, r & -4, None),
    ("complement", 10, (r ^ -1) * -1 - 1, None),
]
UNSAFE: list[tuple[str, int, UOp, UOp | None]] = [
    ("off by one", 9, r, None),
    ("mask off by one", 5, masked(r < 6, r), None),
    ("negative", 5, masked(r < 5, r - 1), None),
    ("masked by an unknown", 1, masked(unknown, r), None),
    ("gated by an unknown", 1, r, unknown),
    ("load", 10, ints, None),
    ("checked on one side", 10, ints, ints < 10),
    ("checked load, scaled, off by one", 39, ints * 4 + 3, (ints >= 0) & (ints < 10)),
    ("shifted bits, off by one", 15, BITS.bitcast(I), None),
    ("char read as uchar, off by one", 143, char.bitcast(dtypes.uint8).cast(I), None),
    ("bits of a float", 1 << 31, floats.bitcast(I), None),
    ("float too large for an int", 1 << 31, far.cast(I), None),
    ("mask in one branch only", 5, UOp(Ops.WHERE, (unknown, masked(r < 5, r), r)), None),
    ("narrowing cast", 100, UOp.variable("v", 200, 300, I).cast(dtypes.int8).cast(I), None),
]


@pytest.mark.parametrize(("size", "index", "gate"), [c[1:] for c in SAFE], ids=[c[0] for c in SAFE])
def test_accepted(size: int, index: UOp, gate: UOp | None) -> None:
    assert verdict(size, index, gate) in (Verdict.BOUNDS, Verdict.PROVED)


@pytest.mark.parametrize(
    ("size", "index", "gate"), [c[1:] for c in UNSAFE], ids=[c[0] for c in UNSAFE]
)
def test_rejected(size: int, index: UOp, gate: UOp | None) -> None:
    assert verdict(size, index, gate) is Verdict.VIOLATED


@pytest.mark.parametrize("op", [Ops.FLOORDIV, Ops.FLOORMOD, Ops.CDIV, Ops.CMOD])
def test_divisions_agree_with_enumeration(op: Ops) -> None:
    """z3's own division differs from all four, so each sign is compared with the exact set."""
    from uop_fuzz import evaluate

    for low, divisor in itertools.product((-7, 0), (-3, 3)):
        x = UOp.variable("x", low, low + 9)
        node = UOp(op, (x, UOp.const(divisor)))
        values = [evaluate(node, {x: v}) or 0 for v in range(low, low + 10)]
        # shifting hides the bounds from intervals: the mask is an equality that always holds
        shift = node - min(values)
        trivial = (x * 2).ne(x * 2 + 1) & (x < 100)
        span = max(values) - min(values) + 1
        assert verdict(span, masked(trivial, shift)) in (Verdict.BOUNDS, Verdict.PROVED)
        if span > 1:
            assert verdict(span - 1, masked(trivial, shift)) is Verdict.VIOLATED


def test_lanes_are_all_checked() -> None:
    storage = UOp.param(0, dtypes.float32, (40,))
    assert prove_index(storage.index(r * 4, 4)).verdict is Verdict.BOUNDS
    assert prove_index(storage.index(r * 4 + 1, 4)).verdict is Verdict.VIOLATED
    assert prove_index(storage.index(r * 4 + 1, 4), r < 9).verdict is Verdict.PROVED


def test_stacks_are_accepted() -> None:
    lanes = UOp(Ops.STACK, (r, r + 100))
    assert verdict(10, lanes) is Verdict.VECTOR


def test_kernel_report_and_error() -> None:
    out = UOp.param(0, dtypes.float32, (10,))
    good = out.index(r).store(UOp.param(1, dtypes.float32, (10,)).index(r).load())
    assert [x.verdict for x in require_in_bounds(good)] == [Verdict.BOUNDS, Verdict.BOUNDS]
    bad = out.index(r + 1).store(floats, r < 20)
    assert [x.safe for x in check_accesses(bad)] == [True, False]
    with pytest.raises(
        SpecError, match=r"some-pass: .*\n.*STORE of p0\[r0 \+ 1\] in storage of 10"
    ):
        require_in_bounds(bad, "some-pass")


def test_missing_z3_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "z3", None)
    assert validate.prove_index(UOp.param(0, I, (10,)).index(r)).safe, "bounds need no z3"
    with pytest.raises(TGError, match=r"pip install 'tg-core\[verify\]'"):
        verdict(9, r)


def test_what_is_not_decided_in_time_is_refused() -> None:
    """No sum of two cubes is a cube, which no solver finds out by itself."""
    x, y, z = (UOp.variable(name, 1, 10**9) for name in "xyz")
    cubes = (x * x * x + y * y * y).eq(z * z * z)
    place = UOp.param(0, dtypes.float32, (10,)).index(UOp(Ops.WHERE, (cubes, UOp.const(10), r)))
    report = prove_index(place, time_limit_ms=20)
    assert report.verdict is Verdict.TIMEOUT
    assert not report.safe
    assert "undecided within the time limit" in str(report)


def test_a_timeout_refuses_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    unsure = validate.IndexReport(r, UOp.param(0, I, (5,)).index(r), Verdict.TIMEOUT, "timeout")
    monkeypatch.setattr(validate, "prove_index", lambda *_: unsure)
    load = UOp.param(0, I, (5,)).index(r).load()
    with pytest.raises(SpecError, match=r"some-pass: .*\n.*undecided within the time limit"):
        require_in_bounds(load, "some-pass")
