"""Graphs as text and back."""

from __future__ import annotations

import json

import pytest

from tg_core.dtype import Invalid, dtypes
from tg_core.errors import FileFormatError
from tg_core.uop.ops import AxisType, Estimates, KernelInfo, Ops, ProgramInfo, UOp, Variable
from tg_core.uop.serialize import dump_uop, dump_value, load_uop, load_value


def samples() -> list[UOp]:
    n = Variable("n", 1, 8)
    loop = UOp.range(n, 0, AxisType.LOOP)
    param = UOp.param(0, dtypes.bfloat16, (8,), "CPU:1")
    gated = UOp(Ops.WHERE, (loop < 3, loop, UOp.const(Invalid)))
    kernel = UOp.sink(
        param.index(gated).store(UOp.const(float("nan"), dtypes.bfloat16)).end(loop),
        arg=KernelInfo("k"),
    )
    info = ProgramInfo(
        "k", (n + 1, 1, 1), params=(0,), outs=(0,), variables=(n,), estimates=Estimates(3, 4)
    )
    program = UOp(
        Ops.PROGRAM, (kernel, UOp(Ops.SOURCE, (), "text"), UOp(Ops.BINARY, (), b"\0\xff")), info
    )
    values = [True, 1, 1.0, -0.0, float("inf"), float("nan"), 2**70]
    return [program, kernel, *(UOp.const(v) for v in values), UOp.const(1, dtypes.int8), n.bind(3)]


@pytest.mark.parametrize("node", samples(), ids=lambda node: node.op.name)
def test_round_trip_gives_the_same_node(node: UOp) -> None:
    assert load_uop(dump_uop(node)) is node


def test_a_deep_graph() -> None:
    node = UOp.range(4, 0)
    for i in range(20_000):
        node = node.alu(Ops.ADD, UOp.const(i % 3))
    assert load_uop(dump_uop(node)) is node


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"{}",
        b"[1,0,[]]",
        b'[1,{"node":0},[]]',
        b"[2,0,[]]",
        b'[1,{"node":0},[["NOSUCH",[]]]]',
        b'[1,{"node":0},[["CONST",[7]]]]',
        b'[1,{"node":0},[["CONST",[],{"os.system":["true"]}]]]',
        b'[1,{"node":0},[["CAST",[],{"dtype":"nope"}]]]',
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(FileFormatError):
        load_uop(data)


def test_every_truncation_is_refused() -> None:
    data = dump_uop(samples()[1])
    for end in range(0, len(data), 7):
        with pytest.raises(FileFormatError):
            load_uop(data[:end])


def test_the_text_is_json_without_code() -> None:
    version, root, rows = json.loads(dump_uop(UOp.const(2) + UOp.range(3, 0)))
    assert version == 1
    assert rows[root["node"]][0] == "ADD"


def test_nested_structures() -> None:
    node = UOp.const(1.5) + UOp.range(3, 0)
    value = {"a": [1, (2.0, None, True)], 3: {"nodes": (node, [node])}, "raw": b"\0"}
    assert load_value(dump_value(value)) == value
    with pytest.raises(FileFormatError, match="no graph"):
        load_uop(dump_value([node]))
    with pytest.raises(TypeError, match="set has no written form"):
        dump_value({1})
