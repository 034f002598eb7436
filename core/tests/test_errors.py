"""The exception tree."""

from __future__ import annotations

import pytest

from tg_core import errors


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_is_in_the_tree_and_documented(name: str) -> None:
    kind = getattr(errors, name)
    assert issubclass(kind, errors.TGError)
    assert kind.__doc__


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (errors.ShapeError, ValueError),
        (errors.DTypeError, TypeError),
        (errors.IndexingError, IndexError),
        (errors.OutOfMemory, MemoryError),
        (errors.DeviceNotFound, RuntimeError),
        (errors.FileFormatError, ValueError),
        (errors.MissingExtra, ImportError),
    ],
)
def test_builtin_meaning_is_kept(kind: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(kind, builtin)


def test_all_is_exact_and_sorted() -> None:
    defined = [name for name, value in vars(errors).items() if isinstance(value, type)]
    assert sorted(defined) == errors.__all__
