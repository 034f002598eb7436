from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx", reason="ONNX is not installed: pip install ./core[onnx]")

import onnx
from onnx import TensorProto, helper
from onnx_models import FLOAT, array, convnet, model_of, one_node, value

from tg_core.errors import FileFormatError, MissingExtra, TGError, UnsupportedModel
from tg_core.onnx import check, load
from tg_core.onnx.build import Builder
from tg_core.onnx.ops import control


def test_a_path_bytes_and_a_proto_give_the_same(tmp_path: Path) -> None:
    proto = convnet()
    path = tmp_path / "net.onnx"
    path.write_bytes(proto.SerializeToString())
    x = np.random.default_rng(0).standard_normal((1, 1, 8, 8)).astype(np.float32)
    results = [load(source)(x)["y"].numpy() for source in (path, path.read_bytes(), proto)]
    assert all((result == results[0]).all() for result in results)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"missing\.onnx cannot be read: No such file"):
        load(tmp_path / "missing.onnx")
    with pytest.raises(FileFormatError, match="expected a path, bytes or a ModelProto, found int"):
        load(3)
    with pytest.raises(FileFormatError, match="offset 0: no graph"):
        load(b"")


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtra, match=r"pip install 'tg-core\[onnx\]'"):
        load(b"")


def test_check_lists_everything_at_once() -> None:
    nodes = [
        helper.make_node("StringConcat", ["x", "x"], ["a"], name="first"),
        helper.make_node("Mystery", ["x"], ["b"], name="second", domain="acme"),
        helper.make_node("Softmax", ["x"], ["c"], name="third", colour=3),
        helper.make_node("Pad", ["x", "p"], ["d"], name="fourth", mode="spiral"),
        helper.make_node("Concat", ["x", "x"], ["e"], name="fifth", axis=1.5),
        helper.make_node("Gather", ["x"], ["f"], name="sixth"),
    ]
    inputs = [value("x", [2]), value("p", [2], TensorProto.COMPLEX64)]
    problems = check(model_of(nodes, inputs, [value("a", None)], opset=29))
    assert [str(problem) for problem in problems] == [
        "opset: ai.onnx: version 29 is newer than 28",
        "type: p: complex64: no dtype here",
        "operator: node 'first' (StringConcat): StringConcat is not supported",
        "operator: node 'second' (Mystery): domain 'acme' is not imported by the model, and "
        "Mystery is no function",
        "attribute: node 'third' (Softmax): attribute 'colour' is not known since version 13",
        "attribute: node 'fourth' (Pad): attribute 'mode' is 'spiral', expected one of constant, "
        "reflect, edge, wrap",
        "attribute: node 'fifth' (Concat): attribute 'axis' is 1.5, expected int",
        "operator: node 'sixth' (Gather): input 1 (indices) is missing",
    ]
    with pytest.raises(UnsupportedModel, match="8 things are not supported"):
        load(model_of(nodes, inputs, [value("a", None)], opset=29))


def test_check_looks_into_subgraphs_and_functions() -> None:
    inner = helper.make_graph(
        [helper.make_node("Mystery", ["x"], ["m"])], "inner", [], [value("m", None)]
    )
    branch = helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)
    function = helper.make_function(
        "own",
        "Twice",
        ["a"],
        ["b"],
        [helper.make_node("Riddle", ["a"], ["b"])],
        [helper.make_opsetid("", 20)],
    )
    call = helper.make_node("Twice", ["x"], ["z"], domain="own")
    inputs = [value("c", [], TensorProto.BOOL), value("x", [2])]
    proto = model_of(
        [branch, call], inputs, [value("y", None)], functions=[function], domains=["own"]
    )
    assert [problem.message for problem in check(proto)] == [
        "Riddle is not supported",
        "Mystery is not supported",
        "Mystery is not supported",
    ]


def test_an_old_operator_names_the_versions() -> None:
    [problem] = check(
        one_node("BitShift", [([2], TensorProto.UINT8)] * 2, opset=9, direction="LEFT")
    )
    assert problem.message == "BitShift is supported from version 11 on, the model uses 9"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.graph.node[1].input.__setitem__(0, "y"), r"'y' is produced by a later node or itself"),
        (lambda m: m.graph.node[1].input.__setitem__(0, "zz"), r"'zz' is produced by nothing"),
        (lambda m: m.graph.node[1].output.__setitem__(0, "c"), r"output 'c' is defined twice"),
        (lambda m: m.graph.output[0].__setattr__("name", "q"), r"output 'q' is produced by no node"),
        (lambda m: m.graph.input.append(m.graph.input[0]), r"are not distinct"),
        (lambda m: m.graph.initializer.append(m.graph.initializer[0]), r"'w1' appears twice"),
        (lambda m: m.graph.node[0].attribute.append(m.graph.node[0].attribute[0]), r"'pads' appears twice"),
        (lambda m: m.graph.initializer[0].dims.append(1 << 40), r"takes .* bytes, found 144"),
        (lambda m: m.graph.initializer[0].dims.__setitem__(0, -4), r"must not be negative"),
        (lambda m: m.graph.initializer[0].__setattr__("raw_data", b"123"), r"takes 144 bytes, found 3"),
        (lambda m: m.graph.initializer[0].dims.extend([1] * 80), r"tensor 'w1': shape"),
    ],
)  # fmt: skip
def test_contradictions_are_named(change: object, message: str) -> None:
    proto = convnet()
    change(proto)  # type: ignore[operator]
    with pytest.raises(FileFormatError, match=message):
        load(proto)


def test_functions_that_call_themselves_are_refused() -> None:
    def function(name: str, calls: list[str]) -> object:
        nodes = [
            helper.make_node(callee, ["a"], [f"b{number}"], domain="own")
            for number, callee in enumerate(calls)
        ]
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)]
        return helper.make_function("own", name, ["a"], ["b0"], nodes, opsets)

    def model(functions: list[object]) -> object:
        node = helper.make_node("F0", ["x"], ["y"], domain="own")
        return model_of(
            [node], [value("x", [2])], [value("y", None)], functions=functions, domains=["own"]
        )

    with pytest.raises(FileFormatError, match="function 'F0' calls itself"):
        load(model([function("F0", ["F1"]), function("F1", ["F0"])]))
    # each level calls the next one twice
    many = [function(f"F{level}", [f"F{level + 1}"] * 2) for level in range(40)]
    leaf = helper.make_function(
        "own",
        "F40",
        ["a"],
        ["b0"],
        [helper.make_node("Neg", ["a"], ["b0"])],
        [helper.make_opsetid("", 20)],
    )
    with pytest.raises(FileFormatError, match="expand to 1099511627776 nodes"):
        load(model([*many, leaf]))


def test_deep_nesting_is_refused() -> None:
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", [], [value("y", None)])
    with pytest.raises(FileFormatError, match="nested deeper than 32"):
        Builder(None, {"": 20}, ()).graph(graph, ({"x"},) * 33)


def test_truncation_names_the_offset() -> None:
    data = convnet().SerializeToString()
    with pytest.raises(FileFormatError, match=r"offset \d+: field 7 of a model takes \d+ bytes"):
        load(data[:500])


def test_what_contradicts_itself_names_the_file(tmp_path: Path) -> None:
    proto = convnet()
    proto.graph.node[1].input[0] = "zz"
    path = tmp_path / "net.onnx"
    path.write_bytes(proto.SerializeToString())
    with pytest.raises(FileFormatError, match=r"^onnx: .*net\.onnx: .*'zz' is produced by nothing"):
        load(path)


def test_names_that_are_no_text_are_refused() -> None:
    data = convnet().SerializeToString()
    broken = data.replace(b"Conv", b"\xff\xfenv", 1)
    assert broken != data
    with pytest.raises(FileFormatError, match="is no text"):
        load(broken)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_give_errors_of_ours(seed: int) -> None:
    draw = random.Random(seed)
    data = convnet().SerializeToString()
    x = np.zeros((1, 1, 8, 8), np.float32)
    for _ in range(150):
        damaged = bytearray(data)
        if draw.random() < 0.3:
            damaged = damaged[: draw.randrange(len(data))]
        else:
            for _ in range(draw.choice((1, 1, 4))):
                # mostly outside of the weights, which may hold anything
                place = draw.choice((draw.randrange(600), draw.randrange(len(data))))
                damaged[place] ^= 1 << draw.randrange(8)
        try:
            model = load(bytes(damaged))
            model(dict.fromkeys(model.inputs, x))
        except TGError:
            continue


def test_external_data_is_read_below_the_folder_only(tmp_path: Path) -> None:
    inside = tmp_path / "model"
    inside.mkdir()
    values = np.arange(4, dtype=np.float32)
    (inside / "w.bin").write_bytes(b"\0" * 8 + values.tobytes())
    (tmp_path / "secret.bin").write_bytes(values.tobytes())
    (inside / "link.bin").symlink_to(tmp_path / "secret.bin")

    def model(**entries: str) -> Path:
        tensor = array("w", values)
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, text in entries.items():
            tensor.external_data.add(key=key, value=text)
        node = helper.make_node("Add", ["x", "w"], ["y"])
        proto = model_of([node], [value("x", [4])], [value("y", [4])], [tensor])
        path = inside / "m.onnx"
        path.write_bytes(proto.SerializeToString())
        return path

    good = model(location="w.bin", offset="8", length="16")
    assert load(good)(np.zeros(4, np.float32))["y"].tolist() == values.tolist()
    with pytest.raises(FileFormatError, match="load the model by its path"):
        load(good.read_bytes())
    for location in ("../secret.bin", str(tmp_path / "secret.bin"), "link.bin", "", "a\0b"):
        with pytest.raises(FileFormatError, match=r"not below the folder|is no path"):
            load(model(location=location))
    with pytest.raises(FileFormatError, match="is not a file"):
        load(model(location="none.bin"))
    with pytest.raises(FileFormatError, match="offset 16: takes 16 bytes, the file has 24"):
        load(model(location="w.bin", offset="16"))
    with pytest.raises(FileFormatError, match="is said to hold 17"):
        load(model(location="w.bin", length="17"))
    with pytest.raises(FileFormatError, match="offset '-8' is no number"):
        load(model(location="w.bin", offset="-8"))


def test_huge_requests_do_not_allocate() -> None:
    x = np.ones((1, 1, 4), np.float32)
    pad = model_of(
        [helper.make_node("Pad", ["x", "p"], ["y"], mode="edge")],
        [value("x", [1, 1, 4])], [value("y", None)],
        [array("p", [0, 0, 1 << 40, 0, 0, 0], np.int64)],
    )  # fmt: skip
    with pytest.raises(TGError, match="at most 16777216"):
        load(pad)(x)
    full = model_of(
        [helper.make_node("ConstantOfShape", ["s"], ["y"])], [], [value("y", None)],
        [array("s", [1 << 20, 1 << 20], np.int64)],
    )  # fmt: skip
    assert load(full)()["y"].shape == (1 << 20, 1 << 20)


def test_endless_loops_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "MAX_STEPS", 50)
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["c2"]), helper.make_node("Neg", ["v"], ["v2"])],
        "body",
        [value("i", [], TensorProto.INT64), value("c", [], TensorProto.BOOL), value("v", [1])],
        [value("c2", [], TensorProto.BOOL), value("v2", [1])],
    )
    loop = helper.make_node("Loop", ["", "", "x"], ["y"], body=body)
    with pytest.raises(TGError, match="more than 50 steps"):
        load(model_of([loop], [value("x", [1])], [value("y", [1])]))([1.0])


def test_the_checker_agrees_that_our_models_are_valid() -> None:
    onnx.checker.check_model(convnet())
    assert check(convnet()) == []
    assert check(one_node("Relu", [([2], FLOAT)])) == []


@pytest.mark.parametrize("version", [0, -3])
def test_a_version_that_does_not_exist_is_said(version: int) -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    model = model_of([node], [value("x", [2])], [value("y", [2])], opset=version)
    assert [str(p) for p in check(model)] == [f"opset: ai.onnx: version {version} does not exist"]


def test_the_versions_of_functions_are_checked() -> None:
    inner = helper.make_node("Relu", ["x"], ["y"])
    function = helper.make_function(
        "own", "F", ["x"], ["y"], [inner], [helper.make_opsetid("", 99)]
    )
    node = helper.make_node("F", ["x"], ["y"], domain="own")
    model = model_of(
        [node], [value("x", [2])], [value("y", [2])], functions=[function], domains=["own"]
    )
    assert [p.kind for p in check(model)] == ["opset"]


@pytest.mark.parametrize(("code", "why"), [(8, "string"), (99, "unknown")])
def test_element_types_in_attributes_are_checked(code: int, why: str) -> None:
    (problem,) = check(one_node("Cast", [([2], FLOAT)], to=code))
    assert f"element type {code}, {why}" in problem.message


def test_an_axis_is_required_where_the_version_requires_it() -> None:
    both: list[tuple[list[int], int]] = [([2, 3], FLOAT), ([2, 3], FLOAT)]
    assert check(one_node("Concat", both, opset=1)) == []
    (problem,) = check(one_node("Concat", both, opset=13))
    assert "'axis' is missing" in problem.message
