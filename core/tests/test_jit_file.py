"""Captured functions in files and pickles."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from trap_utils import buf, same

from tg_core import Tensor, TinyJit, Variable
from tg_core.errors import FileFormatError, JitError


def captured_layer() -> TinyJit:
    weight = buf([[1.0, 2.0], [3.0, 4.0]])
    jit = TinyJit(lambda x, n: {"y": (x @ weight + n).relu(), "parts": [x.sum(), 5]})
    for i in range(3):
        jit(buf([[1.0, float(i)]]), Variable("n", 0, 9).bind(i))
    return jit


def check(jit: TinyJit) -> None:
    for i in (1, 2, 7):
        out = jit(buf([[1.0, float(i)]]), Variable("n", 0, 9).bind(i))
        same(out["y"], [[1 + 3 * i + i, 2 + 4 * i + i]])
        same(out["parts"][0], 1 + i)
        assert out["parts"][1] == 5


def test_save_and_load(tmp_path: Path) -> None:
    path = tmp_path / "layer.tgjit"
    captured_layer().save(path)
    loaded = TinyJit.load(path)
    check(loaded)
    with pytest.raises(JitError, match=r"args\[0\].*shape"):
        loaded(buf([[1.0, 2.0], [3.0, 4.0]]), Variable("n", 0, 9).bind(1))


def test_pickle() -> None:
    check(pickle.loads(pickle.dumps(captured_layer())))


def test_random_numbers_go_on() -> None:
    draw = TinyJit(lambda: Tensor.rand(3).contiguous().realize())
    for _ in range(2):
        draw()
    loaded = pickle.loads(pickle.dumps(draw))
    Tensor.manual_seed(4)
    want = [Tensor.rand(3).tolist() for _ in range(3)]
    Tensor.manual_seed(4)
    assert [loaded().tolist() for _ in range(3)] == want


def test_nothing_captured() -> None:
    jit = TinyJit(lambda x: x + 1)
    with pytest.raises(JitError, match="nothing is captured"):
        jit.save("unused")
    with pytest.raises(JitError, match="nothing is captured"):
        pickle.dumps(jit)


def test_damage_and_other_versions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "layer.tgjit"
    captured_layer().save(path)
    data = path.read_bytes()
    for bad, message in (
        (b"", "not the file"),
        (b"hello" + data[5:], "not the file"),
        (data[:5] + b"\x63" + data[6:], "version 99"),
        (data[:-1], "damaged"),
        (data[:100] + bytes([data[100] ^ 1]) + data[101:], "damaged"),
    ):
        path.write_bytes(bad)
        with pytest.raises(FileFormatError, match=message):
            TinyJit.load(path)


def test_another_process_needs_no_compiler(tmp_path: Path) -> None:
    path = tmp_path / "layer.tgjit"
    captured_layer().save(path)
    script = (
        "import sys\n"
        "import tg_core.codegen.compile as compiling\n"
        "from tg_core import Tensor, TinyJit, Variable\n"
        f"jit = TinyJit.load({str(path)!r})\n"
        "out = jit(Tensor([[1.0, 2.0]]).realize(), Variable('n', 0, 9).bind(2))\n"
        "print(out['y'].tolist(), len(compiling._compiled))\n"
    )
    env = {"PATH": "", "PYTHONPATH": ":".join(sys.path), "TG_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[[9.0, 12.0]] 0\n"
