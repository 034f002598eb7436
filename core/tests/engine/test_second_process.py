"""Processes that share the disk caches: what one did, the next one does not do again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import json, sys
import numpy as np
from tg_core.schedule import make_schedule
from tg_core.codegen import compile as compiling, pipeline
counts = {"schedules": 0, "pipelines": 0, "compiles": 0}

def counted(module, name, what):
    original = getattr(module, name)
    def wrapper(*args, **kwargs):
        counts[what] += 1
        return original(*args, **kwargs)
    setattr(module, name, wrapper)

counted(make_schedule, "make_schedule", "schedules")
counted(pipeline, "run_pipeline", "pipelines")
counted(compiling, "_finish", "compiles")

from tg_core import Tensor, TinyJit, Variable, function

Tensor.manual_seed(7)
x = Tensor(np.arange(24, dtype=np.float32).reshape(4, 6)).realize()
w = Tensor(np.linspace(-1, 1, 18, dtype=np.float32).reshape(6, 3)).realize()
half = function(lambda t: t.softmax() * 0.5, precompile=True)
step = TinyJit(lambda t: (t @ w).relu().contiguous() + 1)
results = [
    (x @ w).relu().sum(0).tolist(),
    half(x).tolist(),
    Tensor.rand(3).tolist(),
    x.shrink(((0, Variable("n", 1, 4).bind(2)), (0, 6))).sum().item(),
    [step(x + i).tolist() for i in range(4)],
    ((x * 2).contiguous().sum(1) + 1).to("CPU:1").tolist(),
]
x[1:3] += 5.0
results.append(x.tolist())
print(json.dumps([counts, results, "llvmlite" in sys.modules]))
"""


def environment(folder: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "TG_CACHE_DIR": str(folder), "SPEC": "0", **more}


def start(folder: Path, program: str = PROGRAM, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "always", "-c", program],
        env=environment(folder, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[dict[str, int], Any, bool, str]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    counts, results, compiler = json.loads(out)
    return counts, results, compiler, err


def run(folder: Path, **more: str) -> tuple[dict[str, int], Any, bool, str]:
    return finish(start(folder, **more))


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """Return a folder that one process has filled, and what that process computed."""
    folder = tmp_path_factory.mktemp("cache")
    counts, results, _, err = run(folder)
    assert counts["schedules"] > 5
    assert counts["pipelines"] == 2 * counts["compiles"] > 10, "simplification and lowering"
    assert err == ""
    return folder, results


def test_the_second_process_schedules_and_compiles_nothing(filled: tuple[Path, Any]) -> None:
    folder, results = filled
    before = entries(folder)
    counts, again, compiler, err = run(folder, PYTHONHASHSEED="5")
    assert counts == {"schedules": 0, "pipelines": 0, "compiles": 0}
    assert again == results
    assert not compiler, "the compiler was imported"
    assert err == ""
    assert entries(folder) == before


def test_without_the_cache_everything_is_done_again(filled: tuple[Path, Any]) -> None:
    folder, results = filled
    before = entries(folder)
    counts, again, _, _ = run(folder, CACHE="0")
    assert counts["schedules"] > 5
    assert counts["compiles"] > 5
    assert again == results
    assert entries(folder) == before


def test_the_second_process_does_not_even_load_what_makes_kernels(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from tg_core import Tensor, TinyJit\n"
        "x = Tensor([[1.0, 2.0], [3.0, 4.0]])\n"
        "step = TinyJit(lambda t: (t @ t).relu().contiguous().sum())\n"
        "print([step(x.realize()).item() for _ in range(4)])\n"
        "print(sorted(m for m in sys.modules if m in sys.argv[1:] or m.startswith('llvmlite')))\n"
    )
    late = [
        "tg_core.codegen.optimize",
        "tg_core.codegen.pipeline",
        "tg_core.hcq.link_queues",
        "tg_core.schedule.expand_shards",
        "tg_core.schedule.make_schedule",
        "tg_core.tensor.gradient_rules",
        "importlib.metadata",
    ]
    lines = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", program, *late],
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            check=True,
        )
        lines.append(done.stdout.splitlines())
    assert lines[0][0] == lines[1][0] == str([54.0] * 4)
    assert "tg_core.codegen.pipeline" in lines[0][1]
    assert lines[1][1] == "[]"


def copy_of(folder: Path, target: Path) -> list[Path]:
    for path in entries(folder):
        copy = target / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    return entries(target)


def flip(data: bytes) -> bytes:
    return data[:-9] + bytes([data[-9] ^ 4]) + data[-8:]


DAMAGE = {
    "truncated": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "flipped": flip,
    "another version": lambda data: b"tgc0" + data[4:],
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_entries_are_a_warning_and_are_made_again(
    kind: str, filled: tuple[Path, Any], tmp_path: Path
) -> None:
    folder, results = filled
    for path in copy_of(folder, tmp_path):
        path.write_bytes(DAMAGE[kind](path.read_bytes()))
    counts, again, _, err = run(tmp_path)
    assert again == results
    assert err.count("disk cache: cannot read") == 1
    assert counts["schedules"] > 5
    assert counts["compiles"] > 5
    counts, _, _, err = run(tmp_path)
    assert set(counts.values()) == {0}
    assert err == ""


def test_a_full_disk_is_a_warning() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    program = (
        "import os, io, tg_core.support.disk_cache as d\n"
        "real = os.fdopen\n"
        "d.os.fdopen = lambda fd, *a: (os.close(fd), open('/dev/full', 'wb'))[1]\n"
        "from tg_core import Tensor\n"
        "print((Tensor([1.0, 2.0]) + 1).tolist())\n"
    )
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        out, err = start(Path(name), program).communicate(timeout=60)
        assert out.strip() == "[2.0, 3.0]"
        assert err.count("disk cache: cannot write") == 1
        assert "No space left" in err
        assert entries(Path(name)) == []


def test_a_folder_that_cannot_be_written_is_read(filled: tuple[Path, Any], tmp_path: Path) -> None:
    _, results = filled
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    _, again, _, err = run(blocked / "below")
    assert again == results
    assert err.count("disk cache: cannot") in (1, 2)
    assert blocked.read_text() == "not a folder"


def test_two_processes_fill_one_folder(filled: tuple[Path, Any], tmp_path: Path) -> None:
    _, results = filled
    outcomes = [finish(process) for process in [start(tmp_path), start(tmp_path)]]
    assert [outcome[1] for outcome in outcomes] == [results, results]
    assert [outcome[3] for outcome in outcomes] == ["", ""]
    counts, again, _, err = run(tmp_path)
    assert set(counts.values()) == {0}
    assert (again, err) == (results, "")


def test_a_process_killed_while_it_writes_leaves_whole_entries(
    filled: tuple[Path, Any], tmp_path: Path
) -> None:
    _, results = filled
    slow = PROGRAM.replace(
        "import json, sys",
        "import json, sys, time\nimport tg_core.support.disk_cache as d\n"
        "replace = d.os.replace\n"
        "d.os.replace = lambda a, b: (time.sleep(0.02), replace(a, b))",
        1,
    )
    process = start(tmp_path, slow)
    deadline = time.monotonic() + 60
    while len(entries(tmp_path)) < 6 and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    kept = [path for path in entries(tmp_path) if not path.name.startswith(".new-")]
    assert kept
    _, again, _, err = run(tmp_path)
    assert again == results
    assert err == ""
