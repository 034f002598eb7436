"""Each package's wheel carries what an installed user needs, and runs outside the checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from configparser import ConfigParser
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "tg_core": ROOT / "core",
    "tg_cpu": ROOT / "plugins" / "tg-cpu",
    "tg_conformance": ROOT / "conformance",
}

pytestmark = pytest.mark.xdist_group("packaging")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build every wheel once, with the build backend alone: no network, no isolation."""
    pytest.importorskip("hatchling", reason="the wheels' build backend is not installed")
    folder = tmp_path_factory.mktemp("wheels")
    built = {}
    for package, source in PACKAGES.items():
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
            cwd=source,
            check=True,
            capture_output=True,
        )
        (built[package],) = folder.glob(f"{package}-*.whl")
    return built


def read_metadata(wheel: Path, name: str) -> str:
    with zipfile.ZipFile(wheel) as archive:
        (member,) = [n for n in archive.namelist() if n.endswith(f".dist-info/{name}")]
        return archive.read(member).decode()


@pytest.mark.parametrize("package", PACKAGES)
def test_wheel_holds_every_source_file(wheels: dict[str, Path], package: str) -> None:
    source = PACKAGES[package] / "src"
    expected = {
        path.relative_to(source).as_posix()
        for path in (source / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheels[package]) as archive:
        found = {n for n in archive.namelist() if ".dist-info/" not in n}
    assert found == expected
    assert f"{package}/py.typed" in found


@pytest.mark.parametrize("package", PACKAGES)
def test_wheel_carries_the_license(wheels: dict[str, Path], package: str) -> None:
    metadata = Parser().parsestr(read_metadata(wheels[package], "METADATA"))
    assert metadata["License-Expression"] == "MIT"
    with zipfile.ZipFile(wheels[package]) as archive:
        assert any(n.endswith("/licenses/LICENSE") for n in archive.namelist())


@pytest.mark.parametrize(
    ("package", "group", "entry"),
    [
        ("tg_core", "console_scripts", ("tg", "tg_core.cli:main")),
        ("tg_core", "tg_core", ("builtin", "tg_core.device.builtin")),
        ("tg_cpu", "tg_core", ("cpu", "tg_cpu.plugin")),
        ("tg_conformance", "console_scripts", ("tg-conformance", "tg_conformance.runner:main")),
        ("tg_conformance", "pytest11", ("tg_conformance", "tg_conformance.pytest_plugin")),
    ],
)
def test_wheel_declares_its_entry_points(
    wheels: dict[str, Path], package: str, group: str, entry: tuple[str, str]
) -> None:
    parser = ConfigParser(delimiters=("=",))
    parser.read_string(read_metadata(wheels[package], "entry_points.txt"))
    assert entry in parser.items(group)


def test_core_declares_the_dependencies_of_the_design(wheels: dict[str, Path]) -> None:
    metadata = Parser().parsestr(read_metadata(wheels["tg_core"], "METADATA"))
    plain: set[str] = set()
    extras: dict[str, set[str]] = {}
    for requirement in metadata.get_all("Requires-Dist") or []:
        spec, _, marker = requirement.partition(";")
        name = spec.split(">")[0].strip()
        if marker:
            extras.setdefault(marker.split("==")[1].strip(" '\""), set()).add(name)
        else:
            plain.add(name)
    assert plain == {"numpy", "platformdirs", "pluggy", "rich"}
    assert extras == {
        "demo": {"matplotlib", "scikit-learn"},
        "elf": {"pyelftools"},
        "io": {"safetensors"},
        "judges": {"array-api-strict", "onnx", "torch"},
        "onnx": {"onnx"},
        "test": {"hypothesis", "pytest", "pytest-xdist"},
        "verify": {"z3-solver"},
    }


def test_sources_do_not_know_the_checkout() -> None:
    """No package source names a path of the machine it was written on."""
    for package, source in PACKAGES.items():
        for path in sorted((source / "src" / package).rglob("*.py")):
            assert str(ROOT) not in path.read_text(encoding="utf-8"), path
