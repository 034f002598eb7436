"""What an import costs: no plugin, no compiler, no metadata is read before the first device."""

from __future__ import annotations

import json
import subprocess
import sys

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


def modules_after(code: str) -> set[str]:
    """Return the modules that are loaded after some code ran in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys, json; print(json.dumps(list(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
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
