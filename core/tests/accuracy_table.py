"""Measure the figures of `docs/numerics.md`, and write them there, as `nox -s accuracy` does."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from accuracy import COMPOSED, FUNCTIONS, arguments, largest_error, narrow_error

__all__ = ["PAGE", "USUAL", "read_figures"]

PAGE = Path(__file__).parents[2] / "docs" / "numerics.md"
USUAL = -5.0
"""Below this, activations are so near to zero that only their absolute error counts."""
COUNT, ROUNDS = 1_000_000, 4
_NARROW = ("float16", "bfloat16")
_CELL = re.compile(r"`([^`]+)` \| ([0-9.]+) \| ([0-9.]+)")


def read_figures() -> dict[str, tuple[float, float]]:
    """Return the two figures of each function: float32 and float64 of the elementary ones, above
    `USUAL` and everywhere of the others.
    """
    text = PAGE.read_text(encoding="utf-8")
    return {name: (float(a), float(b)) for name, a, b in _CELL.findall(text)}


def _largest(name: str, rounds: int, **options: Any) -> tuple[float, float]:
    return max(largest_error(name, COUNT, seed, **options) for seed in range(rounds))


def measure() -> dict[str, dict[str, tuple[float, float]]]:
    """Return for each function and column the largest error and its argument."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for name in (*FUNCTIONS, *COMPOSED):
        row = found[name] = {"float32": _largest(name, ROUNDS)}
        if name in FUNCTIONS:
            row["float64"] = largest_error(name, COUNT, kind=np.float64)
        else:
            row["usual"] = _largest(name, ROUNDS, lowest=USUAL)
        row.update({dtype: narrow_error(name, dtype) for dtype in _NARROW})
        print(name, {key: round(error, 3) for key, (error, _) in row.items()}, flush=True)
    return found


def _up(value: float) -> str:
    digits = 1 if value < 10 else 0
    scale = 10**digits
    return f"{math.ceil(value * scale) / scale:.{digits}f}"


def _table(names: list[str], columns: list[str], cells: dict[str, list[str]]) -> str:
    """Return a table of two functions a row."""
    half = (len(names) + 1) // 2
    head = f"| function | {' | '.join(columns)} " * 2 + "|"
    lines = [head, "|" + "---|" * (2 * len(columns) + 2)]
    for left, right in zip(names[:half], [*names[half:], ""], strict=False):
        row = [f"`{left}`", *cells[left]]
        row += [f"`{right}`", *cells[right]] if right else [""] * (len(columns) + 1)
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def write_page(found: dict[str, dict[str, tuple[float, float]]]) -> None:
    """Replace both tables of the page."""
    elementary = {n: [_up(found[n]["float32"][0]), _up(found[n]["float64"][0])] for n in FUNCTIONS}
    composed = {n: [_up(found[n]["usual"][0]), _up(found[n]["float32"][0])] for n in COMPOSED}
    tables = {
        "elementary": _table(list(FUNCTIONS), ["float32", "float64"], elementary),
        "composed": _table(list(COMPOSED), [f"above {USUAL:.0f}", "everywhere"], composed),
    }
    text = PAGE.read_text(encoding="utf-8")
    for name, table in tables.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        text = re.sub(pattern, lambda m, t=table: f"{m[1]}\n{t}\n\n{m[2]}", text, flags=re.S)
    PAGE.write_text(text, encoding="utf-8")


def main() -> None:
    """Measure, write the page, and the report that ACCURACY_REPORT names."""
    found = measure()
    write_page(found)
    worst = max(found[name]["float32"][0] for name in FUNCTIONS)
    target = os.environ.get("ACCURACY_REPORT")
    if target:
        report = {
            "judge": "float64 for float32, extended precision for float64",
            "seeds": ROUNDS,
            "arguments": ROUNDS * len(arguments(COUNT)),
            "numpy": np.__version__,
            "largest": round(worst, 3),
            "above 2 ulp": [n for n in FUNCTIONS if found[n]["float32"][0] > 2],
            "errors": {
                name: {key: [round(e, 3), at] for key, (e, at) in row.items()}
                for name, row in found.items()
            },
        }
        Path(target).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if worst > 2:
        sys.exit(f"an elementary function is off by {worst} ulp")


if __name__ == "__main__":
    main()
