"""The table of operators in `docs/onnx.md`, made of the registry and of the judge's report.

`python core/tests/onnx_support.py` writes it into the page.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tg_core.onnx.registry import operator_names, versions

__all__ = ["BEGIN", "END", "PAGE", "REPORT", "support_table"]

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/onnx.md"
REPORT = ROOT / "reports/onnx_nodes.json"
BEGIN, END = "<!-- operators -->\n", "<!-- /operators -->\n"


def support_table() -> str:
    """Return the lists of what is supported and what is left out."""
    report = json.loads(REPORT.read_text(encoding="utf-8"))
    tested: dict[str, dict[str, int]] = report["operators"]
    reasons = {name: why for why, names in report["left_out"].items() for name in names}
    ours = {
        f"{domain}.{name}" if domain else name: (domain, name) for domain, name in operator_names()
    }
    lines = ["| operator | since versions | node tests passed |", "|---|---|---|"]
    for name in sorted({*ours, *tested} - (reasons.keys() - ours.keys())):
        since = ", ".join(map(str, versions(*ours[name]))) if name in ours else "by definition"
        passed = reasons.get(name) or _passed(tested.get(name, {}))
        lines.append(f"| {name} | {since} | {passed} |")
    lines += ["", "Left out:", "", "| operator | why |", "|---|---|"]
    lines += [f"| {name} | {reasons[name]} |" for name in sorted(reasons.keys() - ours.keys())]
    return "\n".join(lines) + "\n"


def _passed(counts: dict[str, Any]) -> str:
    total = sum(counts.values())
    return f"{counts.get('passed', 0)} of {total}" if total else "none exist"


def main() -> None:
    """Write the table into the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + BEGIN + "\n" + support_table() + "\n" + END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
