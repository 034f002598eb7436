"""The tables of docs/conformance.md, out of the committed reports; run it to write them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "conformance.md"
DEVICES = ("cpu", "python", "ref")


def report(name: str) -> dict[str, Any]:
    """Return a committed report."""
    found: dict[str, Any] = json.loads((ROOT / "reports" / f"{name}.json").read_text())
    return found


def results() -> str:
    """Return what each backend reached."""
    heads = "| backend | level | passed | failed | expected failures | undeclared | report |"
    lines = [heads, "|---|---|---|---|---|---|---|"]
    for device in DEVICES:
        found = report(f"conformance-{device}")
        counts = [str(found[each]) for each in ("passed", "failed", "xfailed", "undeclared")]
        cells = [f"`{found['device']}`", str(found["level"]), *counts]
        cells.append(f"[page](conformance-{device}.html)")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def waits() -> str:
    """Return what became of the waits that were left out."""
    found = report("waits")
    return (
        f"Of {found['waits']} waits in {found['graphs']} pairs of batches, the detector finds "
        f"{found['found by the detector']} missing, and {found['implied by others']} are implied "
        f"by others. {found['survivors']} are neither (`reports/waits.json`)."
    )


def orders() -> str:
    """Return how the random graphs went."""
    found = report("orders")
    graphs, each = found["thorough"]["graphs"], found["thorough"]["orders"]
    return (
        f"In the committed run, {graphs} graphs in {each} orders each: {found['failed']} failures "
        "(`reports/orders.json`)."
    )


TABLES = {"results": results, "waits": waits, "orders": orders}


def filled_in(text: str) -> str:
    """Return the page with every table as the reports have it."""
    for name, table in TABLES.items():
        pattern = rf"<!-- {name} -->\n.*?<!-- end of {name} -->"
        replacement = f"<!-- {name} -->\n{table()}\n<!-- end of {name} -->"
        text, count = re.subn(pattern, replacement, text, flags=re.DOTALL)
        assert count == 1, name
    return text


if __name__ == "__main__":
    PAGE.write_text(filled_in(PAGE.read_text()))
