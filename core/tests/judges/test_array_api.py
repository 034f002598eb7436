"""Judge: every function of the array API standard against `array-api-strict`, on generated inputs.

All cases of a function run before its test fails; the message has one line for each that differs.
"""

from __future__ import annotations

import json
import operator
import os
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings

pytest.importorskip(
    "array_api_strict", reason="array-api-strict is not installed: pip install ./core[judges]"
)

import array_api_strict as strict
from array_api_cases import Case, D, Scaled, as_numpy
from array_api_functions import FUNCTIONS
from hypothesis.strategies import DataObject, data

from tg_core import Device, Tensor
from tg_core.array_api.names import ARRAY, EXTENSIONS, NAMES
from tg_core.array_api.names import LEFT_OUT as NOT_OURS
from tg_core.config import Context

ours = Tensor([0]).__array_namespace__()

EXAMPLES = int(os.environ.get("JUDGE_EXAMPLES", "2"))
SEED = int(os.environ.get("JUDGE_SEED", "0"))
LEFT_OUT = {
    **NOT_OURS,
    "from_dlpack __dlpack__ __dlpack_device__ to_device device": "compared with numpy in"
    " core/tests/array_api/test_exchange.py",
    "__array_namespace_info__ __array_namespace__ e inf nan newaxis pi": "facts about us, tested in"
    " core/tests/array_api/test_names.py and test_data_types.py",
    "imag": "the standard defines it for complex arrays only; core/tests/array_api/test_arrays.py",
    "reflected operators": "drawn as scalar on the left with the plain operators",
}

equal: Counter[str] = Counter()
unequal: Counter[str] = Counter()
refused: Counter[str] = Counter()
examples: dict[str, str] = {}


@pytest.fixture(scope="module", autouse=True)
def report() -> Iterator[None]:
    """Write what ran to the file that JUDGE_REPORT names."""
    yield
    path = os.environ.get("JUDGE_REPORT")
    if path is None:
        return
    functions = {}
    for name in FUNCTIONS:
        counts = {"equal": equal[name], "unequal": unequal[name], "refused": refused[name]}
        if name in examples:
            counts["first"] = examples[name]
        functions[name] = counts
    total, failed = sum(equal.values()), sum(unequal.values())
    found = {
        "judge": "array_api",
        "array-api-strict": strict.__version__,
        "numpy": np.__version__,
        "standard": ours.__array_api_version__,
        "device": Device.DEFAULT,
        "seed": SEED,
        "examples_per_function": EXAMPLES,
        "cases": total + failed,
        "equal": total,
        "unequal": failed,
        "equal_percent": round(100 * total / max(total + failed, 1), 3),
        "refused_by_array_api_strict": sum(refused.values()),
        "left_out": LEFT_OUT,
        "functions": functions,
    }
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def given_to(xp: Any, argument: Any) -> Any:
    """Return an argument as a namespace takes it."""
    if isinstance(argument, np.ndarray):
        return xp.asarray(argument.copy())
    if isinstance(argument, D):
        return getattr(xp, argument.name)
    if isinstance(argument, (list, tuple)):
        return type(argument)(given_to(xp, entry) for entry in argument)
    return argument


def call(xp: Any, case: Case) -> Any:
    args = given_to(xp, case.args)
    kwargs = {name: given_to(xp, value) for name, value in case.kwargs.items()}
    where, _, name = case.name.rpartition(".")
    if where == "operator":
        return getattr(operator, name + "_" * (name in ("and", "or")))(*args)
    if where == "array":
        found = getattr(args[0], name)
        if name == "__setitem__":
            found(*args[1:])
            return args[0]
        return found(*args[1:]) if name.startswith("__") else found
    return getattr(getattr(xp, where) if where else xp, name)(*args, **kwargs)


def parts(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def dtype_name(xp: Any, dtype: Any) -> str:
    return next(name for name in D_NAMES if getattr(xp, name) == dtype)


D_NAMES = [name for name in NAMES["data types"].split() if not name.startswith("complex")]


def plain(xp: Any, value: Any) -> Any:
    """Return what is no array so that both libraries' compare: data types and limits by value."""
    for name in D_NAMES:
        if getattr(xp, name) is value or (
            type(value) is type(getattr(xp, name)) and getattr(xp, name) == value
        ):
            return name
    if hasattr(value, "smallest_normal"):
        numbers = ("bits", "eps", "max", "min", "smallest_normal")
        return [float(getattr(value, n)) for n in numbers] + [dtype_name(xp, value.dtype)]
    if hasattr(value, "bits"):
        return [int(getattr(value, n)) for n in ("bits", "max", "min")] + [
            dtype_name(xp, value.dtype)
        ]
    return value


def difference(case: Case, found: Any, expected: Any) -> str | None:
    """Return how our result differs, or None."""
    mine, theirs = parts(found), parts(expected)
    if len(mine) != len(theirs):
        return f"{len(mine)} results, expected {len(theirs)}"
    if case.name in FACTORED:
        return factors_differ(case, mine, theirs)
    for got, want in zip(mine, theirs, strict=True):
        told = array_differs(case, got, want)
        if told is not None:
            return told
    return None


def array_differs(case: Case, got: Any, want: Any, shape_only: bool = False) -> str | None:
    if not hasattr(want, "_array"):
        mine, theirs = plain(ours, got), plain(strict, want)
        same = type(mine) is type(theirs) and mine == theirs
        return (
            None
            if same or (isinstance(got, int) and got == want)
            else f"{mine!r}, expected {theirs!r}"
        )
    got_dtype, want_dtype = dtype_name(ours, got.dtype), dtype_name(strict, want.dtype)
    if got_dtype != want_dtype:
        return f"dtype {got_dtype}, expected {want_dtype}"
    if tuple(got.shape) != tuple(want.shape):
        return f"shape {got.shape}, expected {want.shape}"
    if shape_only or case.name.startswith("empty"):
        return None
    values, wanted = as_numpy(got), as_numpy(want)
    told = FUNCTIONS[case.name][1].differs(values, wanted)
    return None if told is None else f"{told}: {values.tolist()}, expected {wanted.tolist()}"


def _qr(case: Case, q: np.ndarray, r: np.ndarray) -> np.ndarray:
    return q @ r


def _eigh(case: Case, values: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return (vectors * values[..., None, :]) @ vectors.swapaxes(-2, -1)


def _svd(case: Case, u: np.ndarray, s: np.ndarray, vh: np.ndarray) -> np.ndarray:
    size = s.shape[-1]
    return (u[..., :, :size] * s[..., None, :]) @ vh[..., :size, :]


FACTORED = {"linalg.qr": _qr, "linalg.eigh": _eigh, "linalg.svd": _svd}
"""Factorisations are unique up to signs: dtype, shape, product and orthogonality are compared."""
ORTHONORMAL = {"linalg.qr": (0,), "linalg.eigh": (1,), "linalg.svd": (0, 2)}
UNIQUE = {"linalg.qr": (), "linalg.eigh": (0,), "linalg.svd": (1,)}


def factors_differ(case: Case, mine: list[Any], theirs: list[Any]) -> str | None:
    for place, (got, want) in enumerate(zip(mine, theirs, strict=True)):
        told = array_differs(case, got, want, shape_only=place not in UNIQUE[case.name])
        if told is not None:
            return f"result {place}: {told}"
    values = [as_numpy(entry) for entry in mine]
    told = Scaled(64).differs(FACTORED[case.name](case, *values), case.args[0])
    if told is not None:
        return f"product: {told}"
    for place in ORTHONORMAL[case.name]:
        basis = values[place]
        if basis.shape[-2] < basis.shape[-1]:
            basis = basis.swapaxes(-2, -1)
        gram = basis.swapaxes(-2, -1) @ basis
        told = Scaled(64).differs(
            gram, np.broadcast_to(np.eye(gram.shape[-1], dtype=gram.dtype), gram.shape)
        )
        if told is not None:
            return f"result {place} is not orthonormal: {told}"
    if case.name == "linalg.qr" and np.tril(values[1], -1).any():
        return "R is not upper triangular"
    return None


def check(case: Case) -> str | None:
    """Run a case on both; return how the results differ, and count it."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = call(strict, case)
    except Exception:  # the case is outside of the standard, whatever the reason
        refused[case.name] += 1
        return None
    with Context(DEFAULT_INT="int64", DEFAULT_FLOAT="float64"):
        try:
            told = difference(case, call(ours, case), expected)
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
    if told is None:
        equal[case.name] += 1
        return None
    unequal[case.name] += 1
    line = f"{case!r}: {told}"
    examples.setdefault(case.name, line)
    return line


def test_every_name_is_compared_or_left_out() -> None:
    wanted = {name for names in NAMES.values() for name in names.split()}
    wanted |= {f"{extension}.{n}" for extension, names in EXTENSIONS.items() for n in names.split()}
    left = {name for names in LEFT_OUT for name in names.split()}
    wanted -= set(D_NAMES)
    assert wanted - left == {n for n in FUNCTIONS if not n.startswith(("array.", "operator."))}
    assert set(ARRAY) > {"operators"}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_function_equals_strict(name: str) -> None:
    failures: list[str] = []

    @seed(SEED)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(data())
    def run(source: DataObject) -> None:
        args, kwargs = FUNCTIONS[name][0](source.draw)
        told = check(Case(name, args, kwargs))
        if told is not None:
            failures.append(told)

    run()
    assert not failures, "\n".join(sorted(set(failures), key=len)[:8])
