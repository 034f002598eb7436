"""What an import costs: no plugin, no compiler, no metadata is read before the first device."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "tg_cpu",
    "tg_conformance",
    "llvmlite",
    "pluggy",
    "rich",
    "importlib.metadata",
    "platformdirs",
    "z3",
    "matplotlib",
    "sklearn",
    "safetensors",
    "hypothesis",
    "tg_core.codegen",
    "tg_core.schedule",
    "tg_core.engine",
    "tg_core.plugins.manager",
)


UNUSED_WHEN_WARM = (
    "llvmlite",
    "rich",
    "onnx",
    "z3",
    "platformdirs",
    "importlib.metadata",
    "asyncio",
    "concurrent.futures",
    "hashlib",
    "logging",
    "pathlib",
    "tempfile",
    "urllib.parse",
    "tg_conformance.suite",
    "tg_core.cli",
    "tg_core.codegen.pipeline",
    "tg_core.codegen.utils",
    "tg_core.device.interpreter",
    "tg_core.device.queues",
    "tg_core.hcq.compile",
    "tg_core.hcq.link",
    "tg_core.jit",
    "tg_core.nn",
    "tg_core.onnx",
    "tg_core.renderer.llvm_ir.rules",
    "tg_core.schedule.indexing",
    "tg_core.schedule.make_schedule",
    "tg_core.support.emulation",
    "tg_core.uop.recorder",
    "tg_core.uop.spec",
    "tg_core.uop.symbolic",
    "tg_core.viz",
    "tg_cpu.jit",
)
"""What a process has no use for that finds its schedule and its programs on disk."""


def modules_after(code: str, **environment: str) -> set[str]:
    """Return the modules that are loaded after some code ran in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys, json; print(json.dumps(list(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "SPEC": "0", **environment},
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        "import tg_core",
        "from tg_core import Tensor, dtypes",
        "from tg_core import Device, GlobalCounters, Context",
        "import tg_core; tg_core.UOp.const(1) + 2",
    ],
)
def test_import_loads_nothing_heavy(code: str) -> None:
    loaded = modules_after(code)
    assert [name for name in HEAVY if name in loaded] == []


def test_import_of_the_package_does_not_even_load_numpy() -> None:
    assert "numpy" not in modules_after("import tg_core")


def test_the_first_device_loads_the_plugins_and_no_compiler() -> None:
    loaded = modules_after("from tg_core import Device; Device['PYTHON']")
    assert "tg_core.plugins.manager" in loaded
    assert "llvmlite" not in loaded


def test_a_warm_process_loads_only_what_runs_programs(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    code = (
        "import numpy as np\nfrom tg_core import Tensor\n"
        "a = Tensor(np.ones((64, 64), np.float32), device='CPU')\n"
        "assert (a @ a).relu().sum().item() == 64.0**3"
    )
    cold = modules_after(code, TG_CACHE_DIR=str(tmp_path))
    assert {"llvmlite", "tg_core.codegen.pipeline", "tg_core.schedule.make_schedule"} <= cold
    warm = modules_after(code, TG_CACHE_DIR=str(tmp_path))
    already = modules_after("import numpy")
    assert [name for name in UNUSED_WHEN_WARM if name in warm - already] == []
    # a new module of the warm path is fine; a hundred are an import that should be lazy
    assert len([name for name in warm if name.startswith("tg_core.")]) < 175


def test_every_public_name_is_importable() -> None:
    code = "import tg_core\nfor name in tg_core.__all__: getattr(tg_core, name)"
    assert "tg_core.tensor" in modules_after(code)


def test_a_module_does_not_hide_the_name_it_exports() -> None:
    code = (
        "import tg_core.function; from tg_core import function; assert isinstance(function, type)"
    )
    assert "tg_core.function" in modules_after(code)


def test_the_array_namespace_is_loaded_on_demand() -> None:
    assert "tg_core.array_api" not in modules_after(
        "from tg_core import Tensor; Tensor([1]).realize()"
    )
    assert "tg_core.array_api" in modules_after(
        "from tg_core import Tensor; Tensor([1]).__array_namespace__()"
    )
