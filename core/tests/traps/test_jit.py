"""Capture and replay (`spec/traps.md`, B and I7)."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from trap_utils import buf, same

from tg_core import Context, Tensor, TinyJit, Variable, dtypes
from tg_core.errors import JitError


def test_symbolic_shape_of_the_result_follows_the_call():
    f = TinyJit(lambda t: (t + 1).contiguous())
    full = buf(list(range(8)))
    for n in (2, 3, 4, 5, 6):
        out = f(full[: Variable("n", 1, 8).bind(n)])
        assert out[:n].tolist() == list(range(1, n + 1)), n


def test_output_fed_back_as_input():
    step = TinyJit(lambda x: (x * 2).contiguous())
    x = buf([1])
    for _ in range(6):
        x = step(x)
    assert x.item() == 64
    assert step(buf([100])).item() == 200
    assert step(buf([7])).item() == 14


def test_result_is_kept():
    mul = TinyJit(lambda a, b: a * b)
    a, b, keep = buf([2, 3]), buf([4, 5]), None
    for _ in range(5):
        keep = mul(a, b)
    same(keep, [8, 15])


def test_methods_have_a_capture_for_each_instance():
    class M:
        def __init__(self, k):
            self.k = buf([k])

        @TinyJit
        def __call__(self, x):
            return (x * self.k).contiguous()

    m2, m5 = M(2), M(5)
    for _ in range(3):
        m2(buf([1]))
    assert m5(buf([1])).item() == 5


def test_kept_results_are_not_overwritten():
    sq = TinyJit(lambda x: (x * x).contiguous())
    outs = [sq(buf([i])) for i in range(1, 5)]
    assert [o.item() for o in outs] == [1, 4, 9, 16]


def test_same_tensor_as_two_arguments():
    add = TinyJit(lambda p, q: (p + q).contiguous())
    for i in range(4):
        t = buf([i])
        assert add(t, t).item() == 2 * i
    assert add(buf([3]), buf([4])).item() == 7


def test_capture_on_never_written_buffers():
    h = TinyJit(lambda x: (x + 3).contiguous())
    h(Tensor.empty(2))
    h(Tensor.empty(2))
    same(h(buf([1.0, 2.0])), [4, 5])


def test_random_numbers_advance_as_without_the_jit():
    Tensor.manual_seed(7)
    plain = [Tensor.rand(3).tolist() for _ in range(4)]
    Tensor.manual_seed(7)
    r = TinyJit(lambda: Tensor.rand(3).contiguous().realize())
    jit = [r().tolist() for _ in range(4)]
    assert plain == jit
    assert len({tuple(v) for v in jit}) == 4


def test_replays_leave_no_objects_behind():
    f = TinyJit(lambda x: (x * 2 + 1).contiguous())
    x = buf([0.0] * 64)
    for _ in range(5):
        f(x).realize()
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(200):
            f(x).realize()
        grown = len(gc.get_objects()) - before
    finally:
        gc.enable()
    assert grown < 200


def test_state_written_in_place_advances():
    total = buf([0.0, 0.0])

    @TinyJit
    def add(x):
        total.assign(total + x)
        return total + 0

    for i in range(1, 6):
        same(add(buf([1.0, 2.0])), [i, 2 * i])
    same(total, [5, 10])


def test_argument_written_in_place():
    @TinyJit
    def bump(x):
        x.assign(x + 1)
        return x * 10

    for i in range(4):
        x = buf([float(i)])
        same(bump(x), [10 * (i + 1)])
        same(x, [i + 1])


def test_views_of_one_buffer_as_inputs():
    data = buf(np.arange(12.0).reshape(6, 2).tolist())
    f = TinyJit(lambda a, b: (a - b).contiguous())
    for i in range(5):
        same(f(data[i], data[i + 1]), [-2, -2])
    same(f(data[4], data[1]), [6, 6])
    transposed = TinyJit(lambda a: a.sum(1))
    for _ in range(3):
        same(transposed(data.permute(1, 0)), [30, 36])


def test_nested_containers_and_keywords():
    @TinyJit
    def f(pair, *, extra):
        return {"sum": pair[0] + pair[1]["b"], "extra": [extra * 2]}

    for i in range(4):
        out = f((buf([i]), {"b": buf([10])}), extra=buf([i + 1.0]))
        assert out["sum"].tolist() == [10 + i]
        assert out["extra"][0].tolist() == [2 * (i + 1)]


def test_changed_arguments_are_named():
    f = TinyJit(lambda x, n=1: (x * n).contiguous())
    for _ in range(3):
        f(buf([1.0, 2.0]))
    with pytest.raises(JitError, match=r"args\[0\].*shape.*\(2,\).*\(3,\)"):
        f(buf([1.0, 2.0, 3.0]))
    with pytest.raises(JitError, match=r"args\[0\].*dtype.*float32.*int32"):
        f(buf([1, 2]))
    with pytest.raises(JitError, match="structure"):
        f(buf([1.0, 2.0]), 2)
    g = TinyJit(lambda x, n: (x * n).contiguous())
    for _ in range(3):
        g(buf([1.0]), 3)
    with pytest.raises(JitError, match=r"args\[1\] was 3 at capture and is 4"):
        g(buf([1.0]), 4)


def test_capture_without_kernels_is_an_error():
    f = TinyJit(lambda x: x)
    f(buf([1.0]))
    with pytest.raises(JitError, match="no kernel"):
        f(buf([1.0]))


def test_exception_in_the_middle_of_a_capture_leaves_the_jit_usable():
    fail = [False, True, False, False]

    @TinyJit
    def f(x):
        y = (x + 1).realize()
        if fail.pop(0):
            raise ValueError("planted")
        return y * 2

    same(f(buf([1.0])), [4])
    with pytest.raises(ValueError, match="planted"):
        f(buf([1.0]))
    same(f(buf([2.0])), [6])
    same(f(buf([3.0])), [8])


def test_nested_jits_inline():
    inner = TinyJit(lambda x: (x + 1).contiguous())
    outer = TinyJit(lambda x: (inner(x) * 2).contiguous())
    for i in range(4):
        same(outer(buf([float(i)])), [2 * (i + 1)])


def test_off_runs_plainly():
    calls = []

    @TinyJit
    def f(x):
        calls.append(1)
        return x + 1

    with Context(JIT=0):
        for _ in range(4):
            f(buf([1.0]))
    assert len(calls) == 4


def test_check_finds_a_frozen_value():
    scale = [1.0]
    with Context(JIT_CHECK=2):
        f = TinyJit(lambda x: (x * scale[0]).contiguous())
    f(buf([1.0]))
    f(buf([1.0]))
    f(buf([1.0]))
    scale[0] = 2.0
    with pytest.raises(JitError, match="frozen"):
        f(buf([1.0]))


def test_symbolic_decode_position():
    cache = Tensor.zeros(8, dtype=dtypes.float32).contiguous().realize()

    @TinyJit
    def write(x, position):
        cache[position : position + 1].assign(x)
        return cache.sum()

    for i in range(6):
        assert write(buf([float(i + 1)]), Variable("position", 0, 7).bind(i)).item() == sum(
            range(1, i + 2)
        )
