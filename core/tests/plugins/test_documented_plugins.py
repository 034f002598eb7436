"""The packages of docs/plugins.md, installed into an empty folder and run."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "plugins.md"
_FILE = re.compile(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)
_OUTPUT = re.compile(r"<!-- output: (\S+) -->\n```text\n(.*?)```", re.DOTALL)

ADD_ONE = "from tg_core import Tensor; print((Tensor([1, 2, 3]) + 1).tolist())"

ORDER = """
from tg_core import Device
from tg_core.plugins.manager import plugins
device = Device["LOG"]
print([plugin.source.distribution for plugin in plugins().catalog.hook_order("LOG")])
from tg_core.plugins.dispatch import device_matcher
print(device.interface_name, device_matcher(device, "pm_encode"))
"""


def install(folder: Path) -> list[Path]:
    """Write the packages of the page below `folder`, as an editable install would leave them.

    Returns:
        What has to be on the path.
    """
    for name, text in _FILE.findall(PAGE.read_text()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    places = []
    for package in sorted(folder.iterdir()):
        project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
        source = package / "src"
        name = project["name"].replace("-", "_")
        metadata = source / f"{name}-{project['version']}.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        )
        points = project["entry-points"]["tg_core"]
        lines = [f"{point} = {module}" for point, module in points.items()]
        (metadata / "entry_points.txt").write_text("\n".join(["[tg_core]", *lines, ""]))
        places.append(source)
    return places


def run(code: str, places: list[Path], **variables: str) -> str:
    """Run code in a new process with the packages on the path, and return what it printed."""
    path = os.pathsep.join(str(place) for place in places)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def places(tmp_path: Path) -> list[Path]:
    return install(tmp_path)


@pytest.mark.parametrize(("dev", "expected"), _OUTPUT.findall(PAGE.read_text()))
def test_the_page_says_what_is_printed(dev: str, expected: str, places: list[Path]) -> None:
    assert run(ADD_ONE, places, DEV=dev) == expected


def test_the_extension_is_ten_lines() -> None:
    text = dict(_FILE.findall(PAGE.read_text()))["tg-loud/src/tg_loud.py"]
    code = [line for line in text.splitlines() if line.strip()]
    body = [line for line in code if not line.startswith(("@", "from"))]
    assert len(body) <= 10


def test_the_extension_is_ordered_before_the_owner_whatever_comes_first(
    places: list[Path],
) -> None:
    for order in itertools.permutations(places):
        lines = run(ORDER, list(order), DEV="LOUD+LOG").splitlines()
        assert lines[0] == "['tg-loud', 'tg-log']"
        assert lines[1].startswith("LOUD <")


def test_without_the_interface_the_extension_declines(places: list[Path]) -> None:
    assert run(ORDER, places, DEV="LOG").splitlines()[1] == "None None"


def test_the_device_is_listed(places: list[Path]) -> None:
    code = "import sys; from tg_core.cli import main; sys.exit(main(['devices']))"
    lines = run(code, places, DEV="LOG").splitlines()
    (line,) = [line for line in lines if line.startswith("LOG ")]
    assert line.split()[1:3] == ["PASS", "default"]
    assert "tg-log 0.1.0 + tg-loud 0.1.0" in line


def test_a_broken_package_beside_it_changes_nothing(places: list[Path], tmp_path: Path) -> None:
    (places[0] / "tg_log" / "plugin.py").write_text("import no_such_dependency_\n")
    code = (
        "from tg_core import Device\n"
        "from tg_core.errors import DeviceNotFound\n"
        "print(Device['PYTHON'])\n"
        "try: Device['LOG']\n"
        "except DeviceNotFound as error: print(error)\n"
    )
    output = run(code, places)
    assert output.startswith("<device PYTHON>")
    assert "plugin tg-log 0.1.0 is not in use: No module named 'no_such_dependency_'" in output
    assert "plugin tg-loud 0.1.0 is not in use: extends device type LOG" in output


def test_a_blocked_package(places: list[Path]) -> None:
    code = (
        "from tg_core import Device\n"
        "from tg_core.errors import DeviceNotFound\n"
        "try: Device['LOG']\n"
        "except DeviceNotFound as error: print(error)\n"
    )
    output = run(code, places, TG_BLOCK_PLUGINS="tg_log")
    assert "plugin tg-log 0.1.0 is not in use: blocked by TG_BLOCK_PLUGINS" in output


def test_strict_mode(places: list[Path]) -> None:
    (places[0] / "tg_log" / "plugin.py").write_text("import no_such_dependency_\n")
    code = (
        "from tg_core import Device\n"
        "from tg_core.errors import PluginError\n"
        "try: Device['PYTHON']\n"
        "except PluginError as error: print(error)\n"
    )
    assert "plugin 'log' of tg-log 0.1.0" in run(code, places, TG_STRICT_PLUGINS="1")
