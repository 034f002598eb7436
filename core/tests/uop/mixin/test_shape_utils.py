"""Broadcasting, axes and argument forms."""

import pytest

from tg_core.errors import IndexingError, ShapeError
from tg_core.uop.mixin.shape_utils import (
    broadcast_shapes,
    flatten_args,
    prod,
    repeat_to,
    resolve_axes,
    resolve_axis,
    shape_text,
)
from tg_core.uop.ops import Variable


def test_broadcast() -> None:
    size = Variable("n", 1, 9)
    assert broadcast_shapes("op", (3, 1), (4,), ()) == (3, 4)
    assert broadcast_shapes("op", (size, 1), (1, 2)) == (size, 2)
    assert broadcast_shapes("op", (0,), (1,)) == (0,)
    with pytest.raises(ShapeError, match=r"op: shapes \(2,\) and \(3,\)"):
        broadcast_shapes("op", (2,), (3,))


def test_axes() -> None:
    assert resolve_axis("op", -1, 3) == 2 and resolve_axis("op", 3, 3, extra=1) == 3
    assert resolve_axes("op", (-1, 0), 3) == (0, 2) and resolve_axes("op", None, 2) == (0, 1)
    assert resolve_axes("op", 0, 0) == ()
    for axis in (3, -4, True, 1.0):
        with pytest.raises(IndexingError, match="op: axis"):
            resolve_axis("op", axis, 3)  # type: ignore[arg-type]


def test_forms() -> None:
    assert prod([]) == 1 and prod([2, 3]) == 6
    assert flatten_args((2, 3), ()) == (2, 3) and flatten_args(2, (3,)) == (2, 3)
    assert shape_text((1,)) == "(1,)" and shape_text((1, 2)) == "(1, 2)"
    assert repeat_to("op", 2, 3) == (2, 2, 2)
    with pytest.raises(ShapeError, match="op: expected one value or 2"):
        repeat_to("op", (1, 2, 3), 2)
    with pytest.raises(ShapeError, match="separate sizes"):
        flatten_args((2,), (3,))
