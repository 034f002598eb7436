"""The facade that backends import."""

from __future__ import annotations

import types

from tg_core import backend


def test_all_is_sorted_and_every_name_exists() -> None:
    constants = [name for name in backend.__all__ if name.isupper()]
    classes = [name for name in backend.__all__ if name[0].isupper() and not name.isupper()]
    others = [name for name in backend.__all__ if not name[0].isupper()]
    assert [*sorted(constants), *sorted(classes), *sorted(others)] == backend.__all__
    assert len(set(backend.__all__)) == len(backend.__all__)
    missing = [name for name in backend.__all__ if not hasattr(backend, name)]
    assert missing == []


def test_all_is_exact() -> None:
    for name in backend.__all__:
        getattr(backend, name)
    helpers = {"annotations", "importlib", "lazy_names", "TYPE_CHECKING", "Any"}
    public = {
        name
        for name, value in vars(backend).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert public - helpers == set(backend.__all__)
