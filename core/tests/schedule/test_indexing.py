"""Accesses through movement ops at their edges."""

from tg_core import Tensor


def test_write_of_nothing_through_a_list() -> None:
    x = Tensor([[7, 0, 0, 1], [2, 3, 5, 4]]).clone()
    x[-1:-1, [-4, -3]] = 1
    assert x.tolist() == [[7, 0, 0, 1], [2, 3, 5, 4]]
