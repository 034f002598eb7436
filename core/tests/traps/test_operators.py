"""Shapes and operators, gradients, random numbers, symbolic shapes and devices (`spec/traps.md`, C,
E, F, G, I).
"""

from __future__ import annotations

import sys

import numpy as np
import pytest
from trap_utils import buf, same

from tg_core import Tensor, Variable, dtypes


def test_index_by_a_bound_variable():
    t = buf(np.arange(12).reshape(6, 2).tolist())
    same(t[Variable("i", 0, 5).bind(4)], [8, 9])


@pytest.mark.parametrize("n", range(1, 9))
def test_reductions_over_a_symbolic_axis_use_the_bound_length(n):
    s = buf([float(i) for i in range(8)])[: Variable("n", 1, 8).bind(n)]
    assert abs(s.mean().item() - (n - 1) / 2) < 1e-6
    assert s.max().item() == n - 1
    assert abs(s.softmax().sum().item() - 1) < 1e-6


def test_zero_size_tensors():
    assert Tensor([]).realize().tolist() == []
    assert Tensor.zeros(0, 3).sum(axis=0).tolist() == [0, 0, 0]
    assert Tensor.zeros(0).sum().item() == 0
    assert Tensor.zeros(2, 0).cat(Tensor.ones(2, 1), dim=1).tolist() == [[1], [1]]
    assert (Tensor.ones(2, 0) @ Tensor.ones(0, 3)).tolist() == [[0] * 3] * 2
    assert Tensor.zeros(0, 3).reshape(3, 0).permute(1, 0).numpy().shape == (0, 3)


def test_cumsum_of_a_scalar():
    t = Tensor(4, dtype=dtypes.int8).cumsum()
    assert t.shape == ()
    assert t.item() == 4
    assert t.dtype == buf([4, 5], dtypes.int8).cumsum().dtype


def test_einsum_diagonals_blanks_and_ellipsis():
    a = buf(np.arange(12).reshape(2, 2, 3).tolist())
    same(Tensor.einsum("iij->ij", a), [[0, 1, 2], [9, 10, 11]])
    b = buf(np.arange(6.0).reshape(2, 3).tolist())
    same(Tensor.einsum(" i j , k j -> i k ", b, b), [[5, 14], [14, 50]])
    same(Tensor.einsum("...id,...jd->...ij", b, b), [[5, 14], [14, 50]])


def test_average_pool_with_an_overhanging_window():
    x = buf([[[[1.0, 2.0, 3.0, 4.0, 5.0]]]])
    y = x.avg_pool2d((1, 3), stride=(1, 3), ceil_mode=True)
    same(y, [[[[2.0, 4.5]]]], 1e-6)
    same(y.sum().gradient(x)[0], [[[[1 / 3] * 3 + [0.5] * 2]]], 1e-6)


def test_masked_select():
    same(buf([1, 2, 3, 4, 5]).masked_select(buf([False, True, True, False, True])), [2, 3, 5])


def test_numpy_of_any_strides():
    z = np.arange(20.0).reshape(4, 5)[::-1, ::2]
    assert np.array_equal(Tensor(z).numpy(), z)
    for z in (
        np.ones((1, 3, 2))[::-1],
        np.broadcast_to(np.float32([1, 2]), (3, 2)),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(4, dtype=">i4"),
    ):
        assert np.array_equal(Tensor(z).numpy(), z)


def test_flat_index_beyond_int32():
    same(buf([3]).expand(2**31 + 3)[Tensor([0, 2**31 + 2], dtype=dtypes.int64)], [3, 3])


def test_fully_masked_attention_row():
    q = buf([[[1.0, 0.0], [0.0, 1.0]]])
    mask = buf([[[True, True], [False, False]]])
    out = q.scaled_dot_product_attention(q, q, attn_mask=mask)
    same(out[0, 0], [0.66976155, 0.33023845], 1e-5)
    assert out[0, 1].tolist() == [0, 0]
    assert np.isfinite(out[0, 0].sum().gradient(q)[0].numpy()).all()


def test_gradient_of_max_shares_among_ties():
    x = buf([1.0] * 70000, dtypes.float16)
    g = x.max().gradient(x)[0].float()
    same(g[:3], [1.430511474609375e-05] * 3, 1e-7)
    assert abs(g.sum().item() - 1) < 0.01


def test_gradients_of_saturated_functions():
    x = buf([-200.0, -90.0, 0.0, 90.0, 200.0])
    same(x.tanh().sum().gradient(x)[0], [0, 0, 1, 0, 0], 1e-6)
    same(x.sigmoid().sum().gradient(x)[0], [0, 0, 0.25, 0, 0], 1e-6)


def test_gradient_of_gather_adds_up():
    x = buf([5.0])
    assert (x[Tensor([0, 0, 0])] * Tensor([1.0, 2.0, 4.0])).sum().gradient(x)[0].item() == 7
    e = buf([[0.0, 0.0], [0.0, 0.0]])
    picked = e[Tensor([1, 1, 0])] * Tensor([[1.0, 2.0], [10.0, 20.0], [5.0, 6.0]])
    same(picked.sum().gradient(e)[0], [[5, 6], [11, 22]])


def test_gradient_of_strided_slices():
    x = buf([[0.0] * 3, [0.0] * 3])
    a, b = Tensor([[1.0, 2.0, 3.0]]), Tensor([[50.0, 60.0, 70.0]])
    same(((x[0::2] * a).sum() + (x[1::2] * b).sum()).gradient(x)[0], [[1, 2, 3], [50, 60, 70]])
    same((x[::-2] * a).sum().gradient(x)[0], [[0, 0, 0], [1, 2, 3]])


def test_deep_and_wide_graphs_within_the_recursion_limit():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    try:
        t = buf([0.0])
        u = t
        for _ in range(3000):
            u = u + 1
        assert u.item() == 3000
        assert u.sum().gradient(t)[0].item() == 1
        wide = Tensor.stack(*[buf([float(i)]) for i in range(300)])
        assert wide.sum().item() == 300 * 299 / 2
    finally:
        sys.setrecursionlimit(limit)


def test_random_numbers_do_not_depend_on_the_order_of_realize():
    Tensor.manual_seed(3)
    a, b = Tensor.rand(4), Tensor.rand(4)
    vb, va = b.tolist(), a.tolist()
    assert va != vb
    Tensor.manual_seed(3)
    a, b = Tensor.rand(4), Tensor.rand(4)
    assert (a.tolist(), b.tolist()) == (va, vb)


@pytest.mark.parametrize("name", ["NOPE", "NOPE:1"])
def test_unknown_device_lists_the_known_ones(name):
    with pytest.raises(Exception, match="CPU") as caught:
        (Tensor([1], device=name) + 1).tolist()
    assert not isinstance(caught.value, (ImportError, AssertionError))


def test_device_names_ignore_case():
    assert (Tensor([1], device="cpu") + 1).tolist() == [2]


def test_mixed_devices_are_named():
    with pytest.raises(Exception, match="CPU:1"):
        (buf([1.0]).to("CPU:0") + buf([2.0]).to("CPU:1")).tolist()
