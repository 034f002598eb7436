"""Orders of kernels that write storage others read, against numpy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tg_core import Tensor

STARTS = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 1.0, 2.0, 3.0])


def tensors() -> list[Tensor]:
    return [Tensor(np.array(start, dtype=np.float32)).realize() for start in STARTS]


@pytest.mark.parametrize("part", [0, 2])
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_reader_that_also_produces_what_the_writer_reads(
    part: int, order: tuple[int, ...]
) -> None:
    # the write of c reads a and so comes before that of a, which reads the new c; the result reads
    # the old c and the new a
    a, b, c = tensors()
    lazy = b - c
    c[part:].assign((a - b)[part:])
    a.assign(a + c)
    result = lazy - a
    del lazy
    wanted = [result, a, c]
    wanted[order[0]].realize(*(wanted[i] for i in order[1:]))
    x, y, z = (np.array(start) for start in STARTS)
    old = y - z
    z[part:] = (x - y)[part:]
    x = x + z
    assert [t.tolist() for t in wanted] == [(old - x).tolist(), x.tolist(), z.tolist()]


def test_a_reader_of_two_states_that_one_kernel_supersedes() -> None:
    a, b, c = tensors()
    both = (a + b).realize()
    a.assign(b - c)
    b.assign(a + c)
    c.assign(a - b)
    both.assign(both + a + b + c)
    both.realize(c, b, a)
    x, y, z = (np.array(start) for start in STARTS)
    total = x + y
    x = y - z
    y = x + z
    z = x - y
    expected: list[Any] = [v.tolist() for v in (total + x + y + z, x, y, z)]
    assert [t.tolist() for t in (both, a, b, c)] == expected
