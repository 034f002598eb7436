"""Reading a model, and what it lacks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tg_core.errors import FileFormatError, UnsupportedModel
from tg_core.onnx.build import Builder, domain_of, opsets_of
from tg_core.onnx.execute import Program
from tg_core.onnx.expansion import check_expansion
from tg_core.onnx.graph import Body, FunctionKey
from tg_core.onnx.model import OnnxModel
from tg_core.onnx.package import decode_error, onnx_package
from tg_core.onnx.problems import Problem
from tg_core.onnx.text import check_text
from tg_core.onnx.wire import find_fault

__all__ = ["check", "load"]


def load(source: Any) -> OnnxModel:
    """Load a model.

    Args:
        source: a path, the bytes of a file, or a `ModelProto`. External data is read from the
            folder of the path, so a model given otherwise cannot have any.

    Raises:
        FileFormatError: the file cannot be read, is truncated, malformed or contradicts itself.
        MissingExtra: the package `onnx` is not installed.
        UnsupportedModel: the model needs what is not supported; all of it is listed.
    """
    program, problems = _read(source)
    if problems:
        listed = "\n".join(f"  {problem}" for problem in problems)
        count = "1 thing is" if len(problems) == 1 else f"{len(problems)} things are"
        raise UnsupportedModel(f"onnx: {count} not supported:\n{listed}")
    return OnnxModel(program)


def check(source: Any) -> list[Problem]:
    """Return everything that a model needs and that is not supported, in the order of the file.

    Args:
        source: as for `load`.

    Raises:
        FileFormatError: the file cannot be read, is truncated, malformed or contradicts itself.
        MissingExtra: the package `onnx` is not installed.
    """
    return _read(source)[1]


def _read(source: Any) -> tuple[Program, list[Problem]]:
    proto, folder = _decoded(source)
    try:
        return _built(proto, folder)
    except FileFormatError as error:
        if folder is None:
            raise
        what = str(error).removeprefix("onnx: ")
        raise FileFormatError(f"onnx: {os.fspath(source)}: {what}") from error


def _built(proto: Any, folder: Path | None) -> tuple[Program, list[Problem]]:
    check_text(proto)
    opsets = opsets_of(proto.opset_import) or {"": 1}
    keys: list[FunctionKey] = [_key(function) for function in proto.functions]
    if len(set(keys)) != len(keys):
        raise FileFormatError(f"onnx: functions {keys} are not distinct")
    builder = Builder(folder, opsets, keys)
    builder.opset_problems()
    problems = builder.problems
    bodies: dict[FunctionKey, Body] = {}
    for key, function in zip(keys, proto.functions, strict=True):
        own = Builder(folder, {**opsets, **opsets_of(function.opset_import)}, keys)
        if own.opsets != opsets:
            own.opset_problems()
        bodies[key] = own.function(function)
        problems += own.problems
    graph = builder.graph(proto.graph)
    check_expansion(graph, bodies)
    return Program(graph, bodies), problems


def _key(function: Any) -> FunctionKey:
    return domain_of(function.domain), function.name, function.overload


def _decoded(source: Any) -> tuple[Any, Path | None]:
    """Return the `ModelProto`, and the folder that it came from."""
    onnx = onnx_package()
    if isinstance(source, onnx.ModelProto):
        return source, None
    folder: Path | None = None
    name = "bytes"
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
    elif isinstance(source, (str, os.PathLike)):
        path = Path(source)
        folder, name = path.parent, os.fspath(path)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise FileFormatError(
                f"onnx: {name} cannot be read: {error.strerror or error}"
            ) from error
    else:
        raise FileFormatError(
            f"onnx: expected a path, bytes or a ModelProto, found {type(source).__name__}"
        )
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except decode_error() as error:
        at, why = find_fault(data) or (len(data), str(error))
        raise FileFormatError(f"onnx: {name}: offset {at}: {why}") from error
    if not proto.HasField("graph"):
        raise FileFormatError(f"onnx: {name}: offset {len(data)}: no graph was found")
    return proto, folder
