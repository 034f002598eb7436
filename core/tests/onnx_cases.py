"""The node tests that the `onnx` package ships, run on models imported here."""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests

from tg_core import Tensor
from tg_core.dtype import dtypes
from tg_core.errors import TGError
from tg_core.onnx import check, load
from tg_core.onnx.element_types import element_of_array

__all__ = ["LEFT_OUT", "Outcome", "all_cases", "cases_of", "compare", "operator_of", "run_case"]

TRAINING = ("ai.onnx.preview.training",)
STRINGS = "tensors of strings"
RANDOM = "random numbers, which differ by design"
LEFT_OUT = {
    STRINGS: ("RegexFullMatch StringConcat StringNormalizer StringSplit ai.onnx.ml.LabelEncoder"),
    "decodes image files": "ImageDecoder",
    "counts n-grams of texts": "TfIdfVectorizer",
    "decision trees": "ai.onnx.ml.TreeEnsemble",
    RANDOM: "Bernoulli",
    "optimizers, which nn.optim has": (
        "ai.onnx.preview.training.Adagrad ai.onnx.preview.training.Adam "
        "ai.onnx.preview.training.Momentum"
    ),
}
"""The operators whose cases are not run, and why."""
REASONS = {name: reason for reason, names in LEFT_OUT.items() for name in names.split()}
BFLOAT16_RTOL = 2.0**-6
"""Two units in the last place, which the package's own runner allows."""


@dataclass(frozen=True)
class Outcome:
    """What became of a case."""

    status: str
    """`passed`, `failed`, `left_out`, `training` or `sequence`."""
    reason: str = ""


def all_cases() -> list[Any]:
    """Return every case, in the order of their names; takes some seconds."""
    with warnings.catch_warnings():
        # the package divides by zero where that is the case
        warnings.simplefilter("ignore")
        found: list[Any] = sorted(load_model_tests(kind="node"), key=_name)
    return found


def cases_of(modules: Iterable[str]) -> list[Any]:
    """Return the cases of some modules of the package, which is quick."""
    node = importlib.import_module("onnx.backend.test.case.node")
    before = len(node._NodeTestCases)
    for module in modules:
        importlib.import_module(f"onnx.backend.test.case.node.{module}")
    return sorted(node._NodeTestCases[before:], key=_name)


def _name(case: Any) -> str:
    return str(case.name)


def operator_of(case: Any, by_name: dict[str, str]) -> str:
    """Return the operator that a case tests; expansions belong to the operator they define."""
    base = re.sub(r"_expanded(_ver\d+)?$", "", case.name)
    if base != case.name and base in by_name:
        return by_name[base]
    found = [node for node in case.model.graph.node if node.op_type != "Constant"]
    node = found[0] if found else case.model.graph.node[0]
    return f"{node.domain}.{node.op_type}" if node.domain else str(node.op_type)


def kind_of(case: Any) -> str:
    """Return `training`, `sequence` or `plain`."""
    nodes = case.model.graph.node
    if any(node.domain in TRAINING for node in nodes) or case.name.startswith("test_training_"):
        return "training"
    values = [*case.model.graph.input, *case.model.graph.output]
    if any(value.type.WhichOneof("value") != "tensor_type" for value in values):
        return "sequence"
    if any("Sequence" in node.op_type and node.op_type != "ReverseSequence" for node in nodes):
        return "sequence"
    return "plain"


def run_case(case: Any, operator: str) -> Outcome:
    """Run a case of an operator and compare its outputs."""
    if operator in REASONS:
        return Outcome("left_out", REASONS[operator])
    if case.name.startswith("test_training_dropout") and "zero_ratio" not in case.name:
        return Outcome("left_out", RANDOM)
    try:
        if any("string: " in problem.message for problem in check(case.model)):
            return Outcome("left_out", STRINGS)
        model = load(case.model)
    except TGError as error:
        return Outcome("failed", f"{type(error).__name__}: {error}")
    for inputs, outputs in case.data_sets:
        names = [value.name for value in case.model.graph.input]
        try:
            # as tensors, so that nothing is computed by numpy
            results = model(dict(zip(names, map(as_tensor, inputs), strict=False)))
            expected = [decoded(output) for output in outputs]
            wrong = compare(list(results.values()), expected, case.rtol, case.atol)
        except (TGError, AssertionError) as error:
            return Outcome("failed", f"{type(error).__name__}: {error}")
        if wrong:
            return Outcome("failed", wrong)
    return Outcome("passed")


def decoded(data: Any) -> Any:
    """Return an input or output as arrays."""
    return onnx.numpy_helper.to_array(data) if isinstance(data, onnx.TensorProto) else data


def as_tensor(data: Any) -> Any:
    """Return an input as tensors; those of narrow types, which tensors lack, as arrays."""
    data = decoded(data)
    if isinstance(data, (list, tuple)):
        return [as_tensor(entry) for entry in data]
    plain = isinstance(data, np.ndarray) and not element_of_array(data.dtype).array_name
    return Tensor(data) if plain else data


def compare(found: list[Any], wanted: list[Any], rtol: float, atol: float) -> str:
    """Return the first difference of two lists of outputs, or nothing."""
    if len(found) != len(wanted):
        return f"{len(found)} outputs, expected {len(wanted)}"
    for number, (ours, theirs) in enumerate(zip(found, wanted, strict=True)):
        if isinstance(theirs, (list, tuple)):
            wrong = compare(ours, list(theirs), rtol, atol) if ours is not None else "absent"
        elif ours is None or theirs is None:
            wrong = "" if ours is theirs else f"{ours!r}, expected {theirs!r}"
        else:
            wrong = _difference(ours, np.asarray(theirs), rtol, atol)
        if wrong:
            return f"output {number}: {wrong}"
    return ""


def _difference(ours: Tensor, theirs: np.ndarray, rtol: float, atol: float) -> str:
    element = element_of_array(theirs.dtype)
    if ours.dtype is not element.dtype:
        return f"{ours.dtype.name}, expected {element.name}"
    if ours.shape != theirs.shape:
        return f"shape {ours.shape}, expected {theirs.shape}"
    if element.name == "bfloat16":
        rtol = max(rtol, BFLOAT16_RTOL)
    wide = dtypes.is_float(element.dtype) and element.dtype is not dtypes.float64
    values = (ours.float() if wide else ours).numpy()
    expected = theirs.astype(np.float32) if wide or element.array_name else theirs
    if np.allclose(values, expected, rtol=rtol, atol=atol, equal_nan=True):
        return ""
    with np.errstate(all="ignore"):
        gap = np.nanmax(np.abs(values.astype(np.float64) - expected.astype(np.float64)))
    return f"differs by {gap} of {np.nanmax(np.abs(expected.astype(np.float64)))}"


def package_version() -> str:
    """Return the version of the package."""
    return str(onnx.__version__)
