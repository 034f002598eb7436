"""Faults planted in each pass are caught by the verification of that pass, which is named."""

from __future__ import annotations

import dataclasses
import importlib

import pytest
from codegen_kernels import SIMD, kernel, load, loop, param, reduce_loop

from tg_core.codegen.api import Pass
from tg_core.config import Context
from tg_core.dtype import dtypes
from tg_core.errors import SpecError
from tg_core.renderer import Renderer
from tg_core.uop.ops import Ops, UOp

# the package re-exports a tuple of the same name, which hides the module
pipeline_module = importlib.import_module("tg_core.codegen.pipeline")

SIZE = 24
PASSES = [step.name for step in pipeline_module.pipeline]


def row_sums() -> UOp:
    i, j = loop(SIZE, 0), reduce_loop(SIZE, 1)
    total = load(param(1, SIZE * SIZE), i * SIZE + j).reduce(Ops.ADD, j)
    return kernel(param(0, SIZE).index(i).store(total).end(i))


def planted(node: UOp) -> UOp:
    """Return the result of a pass with a node that no stage allows: an ADD of two widths."""
    storage = UOp.param(7, dtypes.float32, (4,))
    value = storage.index(UOp.const(0, dtypes.int32)).load()
    fault = UOp(Ops.ADD, (value, UOp(Ops.CAST, (value,), dtypes.float64)))
    if node.op is Ops.LINEAR:
        return node.replace(src=(*node.src, *fault.toposort()))
    place = UOp.param(8, dtypes.float64, (4,)).index(UOp.const(0, dtypes.int32))
    return node.replace(src=(*node.src, place.store(fault)))


def plant(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def with_fault(step: Pass) -> Pass:
        def run(sink: UOp, renderer: Renderer) -> UOp:
            return planted(step.run(sink, renderer))

        return dataclasses.replace(step, run=run) if step.name == name else step

    steps = tuple(with_fault(step) for step in pipeline_module.pipeline)
    monkeypatch.setattr(pipeline_module, "pipeline", steps)


@pytest.fixture(autouse=True)
def _faults_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tg_core.uop.uop.creation_check", [])


@pytest.mark.parametrize("name", PASSES)
def test_an_illegal_node_is_caught_at_its_pass(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    plant(monkeypatch, name)
    with Context(SPEC=1), pytest.raises(SpecError) as caught:
        pipeline_module.run_pipeline(row_sums(), SIMD)
    text = str(caught.value)
    assert text.startswith(f"{name}: ADD violates"), text
    assert "float32 and float64" in text
    assert "source 1: CAST" in text, "the neighbours are shown"


def test_an_access_out_of_bounds_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "move-masks-to-gates"

    def with_fault(step: Pass) -> Pass:
        def run(sink: UOp, renderer: Renderer) -> UOp:
            node = step.run(sink, renderer)
            swap = {u: param(0, SIZE - 1) for u in node.toposort() if u is param(0, SIZE)}
            return node.substitute(swap)

        return dataclasses.replace(step, run=run) if step.name == name else step

    steps = tuple(with_fault(step) for step in pipeline_module.pipeline)
    monkeypatch.setattr(pipeline_module, "pipeline", steps)
    with Context(CHECK_OOB=1), pytest.raises(SpecError, match=rf"^{name}: accesses out of bounds"):
        pipeline_module.run_pipeline(row_sums(), SIMD)


def test_every_pass_is_recorded() -> None:
    from tg_core.uop.record import recording

    with recording() as recorded:
        pipeline_module.run_pipeline(row_sums(), SIMD)
    steps = [stage.name for stage in recorded.stages if stage.name in PASSES]
    assert [name for name in steps if steps.count(name) == 1] or steps
    assert list(dict.fromkeys(steps)) == PASSES
