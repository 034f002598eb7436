"""Traced functions: inlined or compiled as a unit, with weights from outside, differentiable."""

from __future__ import annotations

import math

import numpy as np
import pytest
from trap_utils import buf, same

from tg_core import Tensor, TinyJit, Variable, function
from tg_core.errors import FunctionError, JitError

BOTH = pytest.mark.parametrize("precompile", [False, True], ids=["inlined", "precompiled"])


def counted(fn, precompile):
    """Return a traced function and the list of its traces."""
    traces = []

    def wrapped(*args, **kwargs):
        traces.append(1)
        return fn(*args, **kwargs)

    return function(wrapped, precompile=precompile), traces


@BOTH
def test_one_trace_for_each_signature(precompile):
    f, traces = counted(lambda x, n: x * n + 1, precompile)
    for i in range(3):
        same(f(buf([1.0 + i, 2.0]), 3), [3 * (1 + i) + 1, 7])
    assert len(traces) == 1
    same(f(buf([1.0, 2.0]), 4), [5, 9])
    same(f(buf([1.0]), 4), [5])
    assert len(traces) == 3


@BOTH
def test_structures_and_keywords(precompile):
    f, _ = counted(lambda pair, *, extra: {"a": pair[0] + extra, "b": [pair[1] * 2]}, precompile)
    out = f((buf([1.0]), buf([2.0])), extra=buf([10.0]))
    same(out["a"], [11])
    same(out["b"][0], [4])


@BOTH
def test_arguments_may_be_lazy_and_views(precompile):
    f, _ = counted(lambda x: x.sum(0), precompile)
    x = buf(np.arange(6.0).reshape(2, 3).tolist())
    same(f(x.permute(1, 0)), [3, 12])
    same(f(x.permute(1, 0) + 1), [6, 15])
    same(f(x[:1].permute(1, 0)), [3])


@BOTH
def test_weights_from_outside_are_read_anew(precompile):
    w = buf([2.0])
    f, traces = counted(lambda x: x * w, precompile)
    same(f(buf([3.0])), [6])
    before = f(buf([3.0]))
    w.assign(buf([5.0]))
    same(f(buf([3.0])), [15])
    w.realize()
    same(f(buf([3.0])), [15])
    same(before, [6])
    assert len(traces) == 1


@BOTH
def test_gradients_reach_arguments_and_weights(precompile):
    w = buf([2.0, 3.0])
    f, _ = counted(lambda x: (x * w).square(), precompile)
    x = buf([1.0, -1.0])
    gx, gw = f(x).sum().gradient(x, w)
    same(gx, [8, -18])
    same(gw, [4, 6])


@BOTH
def test_bound_variables_do_not_trace_again(precompile):
    f, traces = counted(lambda x, n: x + n, precompile)
    for i in (1, 4, 9):
        same(f(buf([1.0]), Variable("n", 0, 10).bind(i)), [1 + i])
    assert len(traces) == 1


@BOTH
def test_calls_nest_and_run_in_a_jit(precompile):
    inner, _ = counted(lambda x: x + 1, precompile)
    outer, _ = counted(lambda x: inner(inner(x)) * 2, precompile)
    jit = TinyJit(lambda x: outer(x).contiguous())
    for i in range(4):
        same(outer(buf([float(i)])), [2 * (i + 2)])
        same(jit(buf([float(i)])), [2 * (i + 2)])


def test_a_precompiled_body_is_scheduled_as_a_unit():
    f, _ = counted(lambda x: (x.sum() * 2, x + 1), True)
    total, plus = f(buf([1.0, 2.0]))
    both = total + plus
    same(both, [8, 9])


def test_looking_at_values_and_returning_others_is_refused():
    with pytest.raises(FunctionError, match=r"result.*object"):
        function(lambda x: object())(buf([1.0]))
    with pytest.raises(FunctionError, match="values"):
        function(lambda x: x if x.item() > 0 else -x)(buf([1.0]))


def test_methods():
    class Layer:
        def __init__(self, k):
            self.w = buf([k])

        @function
        def __call__(self, x):
            return x * self.w

    same(Layer(2.0)(buf([3.0])), [6])
    same(Layer(5.0)(buf([3.0])), [15])
    assert isinstance(Tensor([1]), Tensor)


@BOTH
def test_plain_arguments_are_told_apart_by_type_and_bits(precompile):
    f, traces = counted(lambda x, n: (x * 0 + 1) * n, precompile)
    values = [0.0, -0.0, False, 0, float("nan"), 1e300]
    for value in values:
        found = f(buf([1.0]), value).item()
        assert math.copysign(1, found) == math.copysign(1, value) or math.isnan(found)
    assert len(traces) == len(values)
    f(buf([1.0]), float("nan"))
    f(buf([1.0]), -0.0)
    assert len(traces) == len(values)


@BOTH
def test_containers_are_part_of_the_signature(precompile):
    f, traces = counted(lambda x, extra: x + (1 if isinstance(extra, list) else 2), precompile)
    for _ in range(2):
        same(f(buf([1.0]), []), [2])
        same(f(buf([1.0]), ()), [3])
        same(f(buf([1.0]), {}), [3])
    assert len(traces) == 3


def test_a_captured_zero_keeps_its_sign():
    f = TinyJit(lambda x, n: ((x * 0 + 1) * n).contiguous())
    for _ in range(3):
        assert math.copysign(1, f(buf([1.0]), 0.0).item()) == 1
    with pytest.raises(JitError, match=r"was 0\.0 at capture and is -0\.0"):
        f(buf([1.0]), -0.0)
    f.reset()
    for _ in range(4):
        assert math.isnan(f(buf([1.0]), float("nan")).item())
