"""`tg env`."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import numpy as np
import pytest
from sample_plugins import device_of, installed, plugin

from tg_core.cli import main
from tg_core.config import VARIABLES, Context
from tg_core.support.disk_cache import DiskCache


def header() -> list[str]:
    return ["driver 6.10"]


def test_versions_variables_caches_and_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = [plugin("a", device_of("A"), tg_report_header=header)]
    with installed(*sources), Context(TG_CACHE_DIR=str(tmp_path), NOOPT=1, CACHE=1):
        DiskCache("programs").put("key", b"12345")
        assert main(["env", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert main(["env"]) == 0
        text = capsys.readouterr().out
    assert found["versions"]["python"] == platform.python_version()
    assert found["versions"]["numpy"] == np.__version__
    assert found["versions"]["tg-a"] == "2.0"
    assert set(found["variables"]) == set(VARIABLES)
    assert found["variables"]["NOOPT"]["set"]
    assert found["variables"]["NOOPT"]["value"] == 1
    assert found["caches"]["programs"]["entries"] == 1
    assert found["caches"]["all"]["path"] == str(tmp_path)
    assert found["reports"] == {"tg-a 2.0": ["driver 6.10"]}
    for part in ("context variables", "NOOPT", str(tmp_path), "driver 6.10"):
        assert part in text
