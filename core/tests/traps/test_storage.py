"""The required outcomes of `spec/tensor.md`, section 2."""

from __future__ import annotations

from trap_utils import buf, same

from tg_core import Tensor, Variable
from tg_core.device import GlobalCounters
from tg_core.uop.ops import Ops


def kernels(run):
    """Return how many kernels a function launches."""
    before = GlobalCounters.kernel_count
    run()
    return GlobalCounters.kernel_count - before


def test_a_copy_survives_a_write_to_what_it_was_assigned_to():
    for reader, want in ((lambda x: x.reshape(1, 3), [[1, 2, 3]]), (lambda x: x + 1, [2, 3, 4])):
        x = Tensor([1, 2, 3], device="PYTHON").to("CPU")
        r = reader(x)
        d = Tensor.empty(3, dtype=x.dtype).assign(x)
        del x
        d.realize()
        d.assign(0)
        d.realize()
        assert r.tolist() == want


def test_a_permuted_clone_is_independent():
    t = buf([[1.0, 2.0], [3.0, 4.0]])
    c = t.permute(1, 0).clone()
    c[:, 0] = 9.0
    same(c, [[9, 3], [9, 4]])
    same(t, [[1, 2], [3, 4]])


def test_detach_shares_storage_when_written():
    for realized in (True, False):
        base = Tensor([1, 2, 3])
        if realized:
            base.realize()
        d = base.detach()
        d.assign(d + 1).realize()
        assert d.tolist() == [2, 3, 4]
        assert base.tolist() == [2, 3, 4]


def test_fill_through_detach():
    t = buf([1.0, 2.0])
    t.detach()[:] = 5
    same(t, [5, 5])


def test_contiguous_keeps_nothing_and_clone_does():
    x = (Tensor([1, 2, 3]).realize() + 1).contiguous()
    node = x.uop
    (x * 2).realize()
    assert x.uop is node
    assert x.uop.op is Ops.CONTIGUOUS
    y = (Tensor([1, 2, 3]).realize() + 1).clone()
    (y * 2).realize()
    assert kernels(y.tolist) == 0
    assert y.tolist() == [2, 3, 4]


def test_clone_of_a_folded_constant_owns_storage():
    assert kernels((Tensor.empty(1, 0).sum().clone() + 2).realize) == 2
    assert kernels((Tensor.empty(1, 0).sum() + 2).realize) == 0


def test_bound_variables_keep_their_value():
    x = buf([1, 2, 3])
    amount = Tensor(Variable("amount", 0, 10).bind(4))
    same(x + amount, [5, 6, 7])


def test_gather_at_an_index_made_of_bools():
    x = buf([1, 2, 3])
    index = (buf([1.0, 0.0, 1.0]) > 0).cast("int32")
    same(x.gather(0, index), [2, 1, 2])


def test_empty_random_outputs_leave_the_stream_right():
    Tensor.manual_seed(5)
    a = Tensor.rand(3).cat(Tensor.rand(0)).tolist()
    b = Tensor.rand(3).tolist()
    Tensor.manual_seed(5)
    assert Tensor.rand(3).tolist() == a
    assert Tensor.rand(3).tolist() == b
