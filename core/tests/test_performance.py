"""The page of figures: that it is what the results give, and what it says of goals."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def table() -> ModuleType:
    spec = importlib.util.spec_from_file_location("table", ROOT / "benchmarks" / "table.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(table: ModuleType) -> None:
    assert table.PAGE.read_text() == table.page(table.read_results()), (
        "run python benchmarks/table.py"
    )


def test_rows_say_whether_a_goal_is_met(table: ModuleType, tmp_path: Path) -> None:
    results = {"tg": {"ms": 40.0, "rate": 30.0}, "peer": {"ms": 100.0, "rate": 10.0}}
    (tmp_path / "x.json").write_text(json.dumps(results))
    found = table.read_results(tmp_path)
    goal = table.Goal("work", "x", "tg.ms", "peer", "peer.ms", "ms", 0.5)
    assert table.row(goal, found) == "| work | 40.0 ms | peer 100 ms | 0.4 | at most 0.5 | met |"
    assert table.row(goal._replace(limit=0.3), found).endswith("| at most 0.3 | **missed** |")
    more = table.Goal("rate", "x", "tg.rate", "peer", "peer.rate", "/s", 2.0, True)
    assert table.row(more, found).endswith("| 3 | at least 2 | met |")
    assert table.row(more._replace(limit=4.0), found).endswith("| **missed** |")
    missing = table.row(goal._replace(theirs="peer.none"), found)
    assert missing == "| work | 40.0 ms | peer not measured |  | at most 0.5 |  |"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "not measured"), (0.12345, "0.12 u"), (9.87654, "9.88 u"), (12345.6, "12,346 u")],
)
def test_figures(table: ModuleType, value: float | None, text: str) -> None:
    assert table.shown(value, "u") == text


def test_limits_have_a_goal_or_none(table: ModuleType) -> None:
    results = {"x": {"ms": 40.0}}
    limit = table.Limit("work", "x", "ms", "ms", 50)
    assert table.limit_row(limit, results) == "| work | 40.0 ms | at most 50 ms | met |"
    assert table.limit_row(limit._replace(limit=30), results).endswith("| **missed** |")
    assert table.limit_row(limit._replace(more=True), results).endswith("| **missed** |")
    assert table.limit_row(limit._replace(limit=None), results) == "| work | 40.0 ms |  |  |"
    assert table.limit_row(limit, {}) == "| work | not measured | at most 50 ms |  |"


def test_kernels_are_shown_with_what_was_there(table: ModuleType) -> None:
    case = {"unit": "GFLOP/s", "tg": {"ms": 2.0, "rate": 50.0}}
    numpy = {"numpy": {"ms": 4.0, "rate": 25.0}, "times_numpy": 2.0}
    results = {"kernels": {"cases": {"a": case, "b": {**case, **numpy}}}}
    assert table.kernel_rows(results) == [
        "| a | 2.00 ms, 50.0 GFLOP/s |  |  |  |  |",
        "| b | 2.00 ms, 50.0 GFLOP/s | 4.00 ms, 25.0 GFLOP/s |  | 2 |  |",
    ]
    assert table.kernel_rows({}) == ["| not measured | | | | | |"]


def test_every_benchmark_is_on_the_page(table: ModuleType) -> None:
    scripts = {p.stem.removeprefix("bench_"): p for p in (ROOT / "benchmarks").glob("bench_*.py")}
    shown = {row.file for row in (*table.GOALS, *table.LIMITS)} | {"kernels"}
    assert shown == set(scripts)
    assert {path.stem for path in table.RESULTS.glob("*.json")} <= set(scripts)
    for path in scripts.values():
        assert '"--json"' in path.read_text(), path.name
