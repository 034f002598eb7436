from __future__ import annotations

from typing import Literal

import pytest

pytest.importorskip("onnx", reason="ONNX is not installed: pip install ./core[onnx]")

from onnx import defs

from tg_core.errors import DTypeError
from tg_core.onnx import ops  # noqa: F401 - registers the operators
from tg_core.onnx.kinds import Ints
from tg_core.onnx.package import NEWEST_OPSET
from tg_core.onnx.registry import (
    _OPERATORS,
    Input,
    find_operator,
    operator,
    operator_names,
    versions,
)
from tg_core.tensor import Tensor

DEFINED: dict[tuple[str, str], list[defs.OpSchema]] = {}
for _schema in defs.get_all_schemas_with_history():
    DEFINED.setdefault((_schema.domain, _schema.name), []).append(_schema)


def test_the_signature_is_the_description() -> None:
    def sample(
        x: Tensor,
        shape: Ints | None = None,
        *more: Tensor,
        axis: int,
        mode: Literal["a", "b"] = "a",
    ) -> Tensor:
        return x

    try:
        operator("Sample", since=3, domain="test")(sample)
        operator("Sample", since=7, domain="test")(sample)
        found = find_operator("test", "Sample", 5)
        assert found is not None
        assert found.since == 3
        assert found.inputs == (Input("x", "Tensor", False), Input("shape", "Ints", True))
        assert found.more == Input("more", "Tensor", False)
        assert found.attributes["axis"].required
        assert found.attributes["mode"].choices == ("a", "b")
        assert find_operator("test", "Sample", 2) is None
        assert versions("test", "Sample") == (3, 7)
    finally:
        del _OPERATORS["test", "Sample"]


def test_unknown_forms_are_refused() -> None:
    def sample(x: dict) -> Tensor:  # type: ignore[type-arg]  # never called
        raise NotImplementedError

    with pytest.raises(DTypeError, match="input 'x' has the unknown form dict"):
        operator("Sample", domain="test")(sample)


@pytest.mark.parametrize("key", operator_names(), ids=lambda key: ".".join(filter(None, key)))
def test_operators_agree_with_the_standard(key: tuple[str, str]) -> None:
    """Every version of every operator names inputs and attributes as many and as called there."""
    for schema in DEFINED[key]:
        found = find_operator(*key, schema.since_version)
        if found is None or schema.deprecated or schema.since_version > NEWEST_OPSET:
            continue
        known = {name for name in schema.attributes if name not in ("consumed_inputs",)}
        assert known - set(found.attributes) <= {"value_string", "value_strings", "sparse_value"}
        required = {name for name, attribute in schema.attributes.items() if attribute.required}
        ours = {name for name, attribute in found.attributes.items() if attribute.required}
        assert ours <= required | {"shape", "kernel_shape"}
        variadic = bool(schema.inputs) and schema.inputs[-1].option.name == "Variadic"
        if not variadic:
            # later versions of the same implementation may have more, which are optional
            assert len(found.inputs) >= len(schema.inputs)
            assert all(entry.optional for entry in found.inputs[len(schema.inputs) :])
            for entry, theirs in zip(found.inputs, schema.inputs, strict=False):
                assert entry.optional or theirs.option.name == "Single"
        else:
            assert found.more is not None
