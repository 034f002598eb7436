"""Models as callables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tg_core.dtype import dtypes, to_numpy
from tg_core.errors import DTypeError, ShapeError
from tg_core.onnx.element_types import CODES
from tg_core.onnx.execute import Program
from tg_core.onnx.graph import Signature
from tg_core.onnx.tensor_data import FOLDED_SIZE
from tg_core.onnx.values import Anything, Lane, Value, value_of
from tg_core.tensor import Tensor

__all__ = ["OnnxModel"]


class OnnxModel:
    """An imported model: a function of tensors, lazy and differentiable.

    Args:
        program: the checked graph with its functions.

    Attributes:
        inputs: what the model says of its inputs, by name.
        outputs: the names of the outputs.
        initializers: the weights, by name; gradients lead to them, and tensors put here are used.
    """

    def __init__(self, program: Program) -> None:
        graph = program.graph
        self.inputs: dict[str, Signature] = {entry.name: entry for entry in graph.inputs}
        self.outputs: tuple[str, ...] = graph.outputs
        declared = {entry.name: entry for entry in graph.defaulted}
        self._overridable = {
            name: declared.get(name) or Signature(name, value.element.code, value.shape)
            for name, value in graph.constants.items()
        }
        weights = {
            name: value
            for name, value in graph.constants.items()
            if dtypes.is_float(value.dtype) or math.prod(value.shape) > FOLDED_SIZE
        }
        self.initializers: dict[str, Tensor] = {
            name: value.tensor if value.known is None else Tensor(value.known)
            for name, value in weights.items()
        }
        if self.initializers:
            first, *others = self.initializers.values()
            first.realize(*others)
        constants: dict[str, Anything] = dict(graph.constants)
        for name, value in weights.items():
            known = value.known
            small = known if known is not None and known.size <= FOLDED_SIZE else None
            element = value.element if value.element.is_narrow else None
            # numbers of small ones stay known, for shapes that depend on them
            constants[name] = Value(self.initializers[name], small, Lane.PARAMETER, element)
        # the file's own arrays are not needed any more
        bare = Program(replace(graph, constants={}), program.functions)
        self._run = _Runner(bare, constants, self.initializers).run

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Tensor]:
        """Compute the outputs.

        Args:
            *args: a dict of inputs by name, or the inputs in order.
            **kwargs: inputs by name. Inputs are tensors, arrays or numbers; an initializer may be
                given too, in place of its value.

        Returns:
            The outputs by name, lazy; sequences are lists of tensors, absent optionals None.

        Raises:
            DTypeError: an input has another type than the model says.
            FileFormatError: the model does not fit itself or its inputs; the message names the
                node.
            ShapeError: an input is missing, unknown, or has another shape than the model says.
        """
        given: dict[str, Any] = {}
        if len(args) == 1 and isinstance(args[0], Mapping):
            given.update(args[0])
        elif len(args) > len(self.inputs):
            raise ShapeError(f"onnx: {len(args)} inputs, the model has {len(self.inputs)}")
        else:
            given.update(zip(self.inputs, args, strict=False))
        for name, data in kwargs.items():
            if name in given:
                raise ShapeError(f"onnx: input {name!r} is given twice")
            given[name] = data
        known = {**self._overridable, **self.inputs}
        unknown = [name for name in given if name not in known]
        missing = [name for name in self.inputs if name not in given]
        if unknown or missing:
            raise ShapeError(
                f"onnx: inputs missing: {missing}, unknown: {unknown}, expected {list(self.inputs)}"
            )
        sizes: dict[str, Any] = {}
        values = {name: _checked(data, known[name], sizes) for name, data in given.items()}
        results = self._run(values)
        return {name: _output(result) for name, result in zip(self.outputs, results, strict=True)}


class _Runner:
    """Executes a program with the constants that its model holds."""

    def __init__(
        self, program: Program, constants: dict[str, Anything], weights: dict[str, Tensor]
    ) -> None:
        self.program = program
        self.constants = constants
        self.weights = weights

    def run(self, given: Mapping[str, Anything]) -> list[Anything]:
        values = dict(self.constants)
        for name, tensor in self.weights.items():
            known = values[name]
            if isinstance(known, Value) and known.tensor is not tensor:
                values[name] = Value(tensor, None, Lane.PARAMETER)
        return self.program.run({**values, **given})


def _input(data: Any, expected: Signature) -> Anything:
    """Return what is given for an input as a value.

    Raises:
        DTypeError: it is of a type that models have not.
        ShapeError: it is a list whose rows differ in length.
    """
    if data is None:
        return None
    try:
        if isinstance(data, list) and any(hasattr(entry, "shape") for entry in data):
            return [value_of(entry) for entry in data]
        if isinstance(data, list) and not data:
            return []
        return value_of(_adapted(data, expected))
    except DTypeError as error:
        why = str(error).removeprefix("onnx: ")
        raise DTypeError(f"onnx: input {expected.name!r}: {why}") from error
    except ValueError as error:
        raise ShapeError(f"onnx: input {expected.name!r}: {error}") from error


def _adapted(data: Any, expected: Signature) -> Any:
    """Return numbers, which have no dtype of their own, in that of an input which holds them."""
    element = CODES.get(expected.element)
    target = None if element is None else to_numpy(element.dtype)
    if target is None or hasattr(data, "dtype"):
        return data
    array, wanted = np.asarray(data), np.dtype(target)
    if array.dtype.kind == "f" and wanted.kind == "f":
        return array.astype(wanted)
    if array.dtype.kind not in "iu" or wanted.kind not in "iuf":
        return data
    with np.errstate(all="ignore"):
        held = array.astype(wanted)
    return held if (held.astype(array.dtype) == array).all() else data


def _checked(data: Any, expected: Signature, sizes: dict[str, Any]) -> Anything:
    value = _input(data, expected)
    if not isinstance(value, Value):
        if expected.element or expected.shape is not None:
            found = "None" if value is None else "a sequence"
            raise ShapeError(f"onnx: input {expected.name!r} is {found}, expected a tensor")
        return value
    element = CODES.get(expected.element)
    if element is not None and value.dtype is not element.dtype:
        raise DTypeError(
            f"onnx: input {expected.name!r} is {value.dtype.name}, expected {element.dtype.name}"
        )
    if expected.shape is None:
        return value
    fits = len(value.shape) == len(expected.shape)
    for size, said in zip(value.shape, expected.shape, strict=False):
        if isinstance(said, int) and isinstance(size, int) and size != said:
            fits = False
        elif isinstance(said, str):
            fits = fits and sizes.setdefault(said, size) is not None and sizes[said] == size
    if not fits:
        raise ShapeError(
            f"onnx: input {expected.name!r} has shape {value.shape}, expected {expected.shape}"
            + (f" with {sizes}" if sizes else "")
        )
    return value


def _output(result: Anything) -> Any:
    if isinstance(result, list):
        return [entry.tensor for entry in result]
    return None if result is None else result.tensor
