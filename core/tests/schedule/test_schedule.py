"""Schedules of tensor graphs, executed by a numpy oracle and counted."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from graph_eval import evaluate
from kernel_eval import run_schedule

from tg_core.callify import callify
from tg_core.config import Context
from tg_core.device import buffer_of, new_buffer_uop
from tg_core.dtype import dtypes, to_numpy
from tg_core.schedule import make_schedule, schedule_body
from tg_core.schedule.storage_view import greatest_numel, storage_view
from tg_core.uop.ops import Ops, UOp

DEVICES = ["NULL", "PYTHON"]


def make_input(shape, seed, device, dtype=dtypes.float32):
    rng = np.random.default_rng(seed)
    data = rng.standard_normal(shape).astype(to_numpy(dtype))
    return storage_view(new_buffer_uop(device, int(np.prod(shape)), dtype), shape), data


def run(output, inputs, device):
    """Return the value of a node computed by its schedule, and the schedule."""
    target = new_buffer_uop(device, greatest_numel(output.shape), output.dtype)
    state = target.after(storage_view(target, output.shape).store(output))
    call = callify(UOp.sink(state))
    linear = schedule_body(call.src[0], device)
    data = {view.base: array.reshape(-1).copy() for view, array in inputs}
    data[target] = np.full(target.arg.size, 77, to_numpy(output.dtype))
    arguments = [a.unbind()[1] if a.op is Ops.BIND else data[a] for a in call.src[1:]]
    run_schedule(linear, arguments)
    return data[target].reshape(output.max_shape), linear


def check(output, inputs, device, kernels=None, tol=1e-5):
    got, linear = run(output, inputs, device)
    want = evaluate(output, {view.base: array.reshape(-1) for view, array in inputs})
    np.testing.assert_allclose(got, want, rtol=tol, atol=tol)
    if kernels is not None:
        assert len(linear.src) == kernels, [c.src[0] for c in linear.src]


@pytest.mark.parametrize("device", DEVICES)
def test_elementwise_of_views_is_one_kernel(device):
    a, b = make_input((4, 6), 0, device), make_input((6, 4), 1, device)
    check(a[0] * 2 + b[0].permute((1, 0)), [a, b], device, kernels=1)


@pytest.mark.parametrize("device", DEVICES)
def test_matmul_with_bias_and_relu_is_one_kernel(device):
    a, b, c = (make_input(s, i, device) for i, s in enumerate(((5, 7), (7, 3), (3,))))
    product = (a[0].reshape(5, 1, 7) * b[0].permute((1, 0)).reshape(1, 3, 7)).sum(2)
    check((product + c[0]).relu(), [a, b, c], device, kernels=1)


@pytest.fixture
def row_kernels(monkeypatch):
    """Schedule as for a device whose loops run in order."""
    schedule = sys.modules["tg_core.schedule.schedule"]
    for module in (schedule, make_schedule):
        monkeypatch.setattr(module, "has_row_kernels", lambda device: True)
    monkeypatch.setattr(schedule, "_cache", {})


def test_softmax_row_is_one_kernel_without_a_grid(row_kernels):
    a = make_input((32, 10), 0, "NULL")
    check(a[0].softmax(-1), [a], "NULL", kernels=1)


def test_softmax_on_a_grid_stores_what_work_items_would_repeat():
    a = make_input((32, 10), 0, "PYTHON")
    check(a[0].softmax(-1), [a], "PYTHON", kernels=4)


def test_product_read_by_two_reductions_is_stored(row_kernels):
    a, b = make_input((32, 12), 0, "NULL"), make_input((12, 9), 1, "NULL")
    product = (a[0].reshape(32, 1, 12) * b[0].permute((1, 0)).reshape(1, 9, 12)).sum(2)
    check(product.softmax(-1), [a, b], "NULL", kernels=2)


def test_layernorm_row_is_one_kernel_without_a_grid(row_kernels):
    a, w = make_input((32, 10), 0, "NULL"), make_input((10,), 1, "NULL")
    check(a[0].layernorm(eps=1e-5) * w[0], [a, w], "NULL", kernels=1)


def test_batchnorm_puts_its_channels_outermost(row_kernels):
    a = make_input((4, 16, 5), 0, "NULL")
    centred = a[0] - a[0].mean((0, 2), keepdim=True)
    check(
        centred / (centred.square().mean((0, 2), keepdim=True) + 1e-5).sqrt(),
        [a],
        "NULL",
        kernels=1,
    )


def test_operand_with_transcendental_is_stored_before_a_product():
    a, b = make_input((8, 12), 0, "NULL"), make_input((12, 9), 1, "NULL")
    left = a[0].exp2()
    check(
        (left.reshape(8, 1, 12) * b[0].permute((1, 0)).reshape(1, 9, 12)).sum(2),
        [a, b],
        "NULL",
        kernels=2,
    )


@pytest.mark.parametrize("device", DEVICES)
def test_padding_and_shrinking_and_flipping(device):
    a = make_input((3, 5), 0, device)
    padded = (a[0] + 1).pad(((1, 2), (0, 3)))
    check(padded.shrink(((0, 5), (2, 7))).flip((0, 1)) * 3, [a], device, kernels=1)


@pytest.mark.parametrize("device", DEVICES)
def test_reshapes_that_merge_and_split(device):
    a = make_input((4, 6, 5), 0, device)
    check(
        a[0].permute((2, 0, 1)).reshape(10, 12).reshape(2, 5, 3, 4).sum(1), [a], device, kernels=1
    )


def test_reduction_of_nothing_is_the_identity():
    a = make_input((0, 3), 0, "NULL")
    check(a[0].sum(0) + 2, [a], "NULL", kernels=1)


def test_doubling_chain_does_not_explode():
    a = make_input((64,), 0, "NULL")
    x = a[0]
    for _ in range(20):
        x = x * 0.5 + x.flip((0,)) * 0.25
    _, linear = run(x, [a], "NULL")
    assert len(linear.src) <= 20
    check(x, [a], "NULL")


def test_equal_computations_on_other_storage_share_a_schedule():
    first = callify(UOp.sink((make_input((4,), 0, "NULL")[0] + 1).contiguous()))
    second = callify(UOp.sink((make_input((4,), 1, "NULL")[0] + 1).contiguous()))
    assert first.src[0] is second.src[0]
    assert first.src[1] is not second.src[1]


def test_callify_round_trip_gives_the_graph_back():
    a = make_input((4,), 0, "NULL")
    sink = UOp.sink((a[0] * 2 + UOp.variable("n", 0, 9).bind(4)).contiguous())
    call = callify(sink)
    params = {p: call.src[1 + p.arg.slot] for p in call.src[0].toposort() if p.op is Ops.PARAM}
    assert call.src[0].substitute(params) is sink
    assert callify(call) is call


def test_swap_of_two_buffers_takes_one_snapshot():
    x, y = (new_buffer_uop("NULL", 3, dtypes.float32) for _ in range(2))
    new_x, new_y = x.after(x.store(y + 0.5)), y.after(y.store(x * 3))
    call = callify(UOp.sink(new_x, new_y))
    linear = schedule_body(call.src[0], "NULL")
    data = {x: np.array([1, 2, 3], np.float32), y: np.array([10, 20, 30], np.float32)}
    run_schedule(linear, [data[a] for a in call.src[1:]])
    assert data[x].tolist() == [10.5, 20.5, 30.5]
    assert data[y].tolist() == [3, 6, 9]
    assert len(linear.src) == 3


def test_overlapping_self_copy_goes_through_a_temporary():
    w = new_buffer_uop("NULL", 8, dtypes.float32)
    target, source = w._movement(Ops.SHRINK, ((1, 8),)), w._movement(Ops.SHRINK, ((0, 7),))
    call = callify(UOp.sink(w.after(target.store(source))))
    linear = schedule_body(call.src[0], "NULL")
    data = np.arange(8, dtype=np.float32)
    run_schedule(linear, [data])
    assert data.tolist() == [0, 0, 1, 2, 3, 4, 5, 6]


def test_temporaries_share_memory_when_their_lives_do_not_meet():
    a = make_input((256,), 0, "NULL")
    x = a[0]
    for _ in range(8):
        x = (x * 2).contiguous() + 1
    _, linear = run(x, [a], "NULL")
    arenas = {
        n for c in linear.src for arg in c.src[1:] for n in arg.toposort() if n.op is Ops.BUFFER
    }
    assert sum(n.arg.size for n in arenas) <= 2 * 256 * 4
    assert buffer_of(next(iter(arenas))) is None


@pytest.mark.parametrize("length", [100, 1000])
def test_a_long_chain_is_cut_into_kernels_of_bounded_size(length):
    a = make_input((4,), 0, "NULL")
    x = a[0]
    for _ in range(length):
        x = x + 1
    _, linear = run(x, [a], "NULL")
    assert max(len(c.src[0].toposort()) for c in linear.src) < 1200
    check(x, [a], "NULL", tol=1e-3)


def test_a_large_sum_is_cut_by_its_shape():
    a = make_input((1 << 19,), 0, "NULL")
    check(a[0].sum(0), [a], "NULL", kernels=2, tol=1e-3)
    with Context(SPLIT_REDUCEOP=0, SCACHE=0):
        check(a[0].sum(0), [a], "NULL", kernels=1, tol=1e-3)
    odd = make_input(((1 << 18) + 1,), 0, "NULL")
    check(odd[0].sum(0), [odd], "NULL", tol=1e-3)
    wide = make_input((3, 1 << 19), 0, "NULL")
    check(wide[0]._reduce(Ops.MAX, (1,), False), [wide], "NULL", kernels=2)
