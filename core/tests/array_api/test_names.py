"""The namespace and the array have every name of the standard, with its signature's shape."""

from __future__ import annotations

import inspect
import math

import pytest

import tg_core.array_api as xp
from tg_core import Tensor
from tg_core.array_api.names import ARRAY, EXTENSIONS, LEFT_OUT, NAMES
from tg_core.errors import DTypeError, ShapeError

MISSING = {name for names in LEFT_OUT for name in names.split()}
POSITIONAL = {
    "add": "x1 x2",
    "clip": "x",
    "linspace": "start stop",
    "matmul": "x1 x2",
    "moveaxis": "x source destination",
    "nonzero": "x",
    "pow": "x1 x2",
    "repeat": "x repeats",
    "searchsorted": "x1 x2",
    "sum": "x",
    "take": "x indices",
    "tile": "x repetitions",
    "where": "condition x1 x2",
}
KEYWORDS = {
    "argsort": "axis descending stable",
    "asarray": "dtype device copy",
    "astype": "copy device",
    "concat": "axis",
    "cumulative_sum": "axis dtype include_initial",
    "diff": "axis n prepend append",
    "full": "dtype device",
    "linspace": "dtype device endpoint",
    "mean": "axis keepdims",
    "reshape": "copy",
    "searchsorted": "side sorter",
    "std": "axis correction keepdims",
    "sum": "axis dtype keepdims",
    "take_along_axis": "axis",
    "tensordot": "axes",
    "vecdot": "axis",
}


@pytest.mark.parametrize("section", NAMES)
def test_the_namespace_is_complete(section: str) -> None:
    names = set(NAMES[section].split()) - MISSING
    assert not {name for name in names if not hasattr(xp, name)}
    assert names <= set(xp.__all__)


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_extensions_are_complete(extension: str) -> None:
    module = getattr(xp, extension)
    assert not {name for name in EXTENSIONS[extension].split() if not hasattr(module, name)}


@pytest.mark.parametrize("kind", ARRAY)
def test_tensors_are_arrays_of_the_standard(kind: str) -> None:
    assert not {name for name in ARRAY[kind].split() if not hasattr(Tensor, name)}


def test_what_is_left_out_is_really_missing() -> None:
    known = {name for names in NAMES.values() for name in names.split()}
    known |= {f"{where}.{name}" for where, names in EXTENSIONS.items() for name in names.split()}
    assert known >= MISSING
    for name in sorted(MISSING):
        where, _, plain = name.rpartition(".")
        if not where:
            assert not hasattr(xp, name)
            continue
        with pytest.raises(DTypeError, match="complex"):
            getattr(getattr(xp, where), plain)(Tensor([1.0]))


@pytest.mark.parametrize("name", POSITIONAL)
def test_positional_arguments_are_so_only(name: str) -> None:
    parameters = inspect.signature(getattr(xp, name)).parameters.values()
    only = [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY]
    assert " ".join(only) == POSITIONAL[name]


@pytest.mark.parametrize("name", KEYWORDS)
def test_keyword_arguments_are_so_only(name: str) -> None:
    parameters = inspect.signature(getattr(xp, name)).parameters.values()
    only = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    assert only == set(KEYWORDS[name].split())


def test_tensors_name_their_namespace() -> None:
    x = Tensor([1.0])
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2024.12") is xp
    assert x.__array_namespace__(api_version="2022.12") is xp
    with pytest.raises(ShapeError, match=r"2019\.12"):
        x.__array_namespace__(api_version="2019.12")


def test_functions_take_arrays() -> None:
    with pytest.raises(DTypeError, match="expected an array, found list"):
        xp.sin([1.0])
    with pytest.raises(DTypeError, match="at least one array"):
        xp.add(1, 2)


def test_constants() -> None:
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (math.e, math.pi, math.inf, None)
    assert math.isnan(xp.nan)
