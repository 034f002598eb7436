"""What stands between the brackets, as entries."""

import numpy as np
import pytest

from tg_core.errors import IndexingError
from tg_core.tensor import Tensor
from tg_core.uop.mixin.index_parse import NewAxis, Position, Span, has_advanced, parse_index
from tg_core.uop.ops import Variable

X = Tensor.zeros(4, 5, 6)


def test_basic_entries() -> None:
    entries = parse_index(X, (1, None, slice(None, None, -2)))
    assert entries == [Position(1), NewAxis(), Span(4, 3, -2), Span(0, 6)]
    assert parse_index(X, ...) == [Span(0, 4), Span(0, 5), Span(0, 6)]
    assert parse_index(X, (..., -1)) == [Span(0, 4), Span(0, 5), Position(5)]
    assert parse_index(X, slice(9, 2))[0] == Span(0, 0)
    assert not has_advanced(entries)
    assert has_advanced(parse_index(X, [0, 1]))


def test_one_position_by_a_slice_has_no_step() -> None:
    assert parse_index(X, slice(0, 2, 2))[0] == Span(0, 1)
    assert parse_index(X, slice(3, None, 4))[0] == Span(3, 1)


def test_symbolic_entries() -> None:
    n = Variable("n", 1, 4)
    assert parse_index(X, slice(None, n))[0] == Span(0, n)
    assert parse_index(X, n - 1)[0] == Position(n - 1)
    with pytest.raises(IndexingError, match="takes step 1"):
        parse_index(X, slice(None, n, 2))


def test_numpy_integers_are_positions() -> None:
    assert parse_index(X, (np.int64(2), np.uint8(3)))[:2] == [Position(2), Position(3)]
