"""Writes and aliasing: programs that went wrong in tensor frameworks (`spec/traps.md`, A)."""

from __future__ import annotations

from trap_utils import buf, same

from tg_core import Tensor


def test_last_write_wins_for_repeated_indices():
    t = buf([10, 20, 30, 40])
    t[Tensor([2, 2])] = Tensor([7, 0])
    same(t, [10, 20, 0, 40])
    t = buf([1.0, 2.0])
    t[Tensor([0, 0])] = Tensor([5.0, float("nan")])
    same(t, [float("nan"), 2.0])


def test_strided_setitem_on_realized_storage():
    t = buf([0.0] * 7)
    t[1::3] = 5.0
    same(t.realize(), [0, 5, 0, 0, 5, 0, 0])
    t = buf([0.0] * 6)
    t[::-2] = Tensor([1.0, 2.0, 3.0])
    same(t, [0, 3, 0, 2, 0, 1])


def test_realizing_one_update_leaves_the_other_pending():
    g, m, v = Tensor([1.0, 2.0, 3.0]), buf([0.0] * 3), buf([0.0] * 3)
    m.assign(m * 0.5 + g)
    v.assign(v * 0.5 + g * g)
    v.realize()
    first = v.tolist()
    m.realize()
    same(v, first)
    same(v, [1, 4, 9])
    same(m, [1, 2, 3])


def test_lazy_reductions_between_writes_keep_their_state():
    acc = buf([0.0] * 5)
    s0 = acc.sum()
    acc[:2].assign(4.0)
    s1 = acc.sum()
    acc[2:].assign(1.0)
    s2 = acc.sum()
    same([s0.item(), s1.item(), s2.item()], [0, 8, 11])


def test_lazy_reductions_between_writes_realized_last_first():
    acc = buf([0.0] * 5)
    s0 = acc.sum()
    acc[:2].assign(4.0)
    s1 = acc.sum()
    acc[2:].assign(1.0)
    s2 = acc.sum()
    assert s2.item() == 11
    assert s1.item() == 8
    assert s0.item() == 0
    same(acc, [4, 4, 1, 1, 1])


def test_crossed_updates_read_the_old_values():
    x, y = buf([1.0, 2.0]), buf([10.0, 20.0])
    nx, ny = x + y, x * 3
    x.assign(nx)
    y.assign(ny)
    same(x, [11, 22])
    same(y, [3, 6])


def test_swap():
    x, y = buf([1.0, 2.0]), buf([10.0, 20.0])
    nx, ny = y + 0, x + 0
    x.assign(nx)
    y.assign(ny)
    Tensor.realize(x, y)
    same(x, [10, 20])
    same(y, [1, 2])


def test_inplace_operator_on_a_slice_writes_once():
    t = buf([1.0, 2.0, 3.0, 4.0])
    t[:2] *= 10
    same(t, [10, 20, 3, 4])


def test_overlapping_self_copies():
    w = buf(list(range(8)))
    w[1:] = w[:-1]
    same(w, [0, 0, 1, 2, 3, 4, 5, 6])
    w = buf(list(range(8)))
    w[:-1] = w[1:]
    same(w, [1, 2, 3, 4, 5, 6, 7, 7])


def test_gradient_through_a_strided_slice_assign():
    v = buf([1.0, 2.0, 3.0])
    t = Tensor.zeros(1, 5).contiguous()
    t[:, ::2].assign(v.reshape(1, 3))
    weights = Tensor([[1.0, 10.0, 100.0, 1000.0, 10000.0]])
    same((t * weights).sum().gradient(v)[0], [1, 100, 10000])
