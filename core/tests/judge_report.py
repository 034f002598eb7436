"""What a judge ran, as a file with a part for each device or kind of program."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

__all__ = ["read_parts", "write_part"]


def write_part(header: dict[str, Any], parts: str, name: str, found: dict[str, Any]) -> None:
    """Write a part to the file that JUDGE_REPORT names, beside the parts it has.

    Args:
        header: judge, versions, seed; parts that ran under another are dropped.
        parts: the key of the parts.
        name: the name of this one.
        found: its counts.
    """
    target = os.environ.get("JUDGE_REPORT")
    if target is None:
        return
    path = Path(target)
    report = {**header, parts: dict(sorted({**read_parts(header, parts), name: found}.items()))}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def read_parts(header: dict[str, Any], parts: str) -> dict[str, Any]:
    """Return the parts that the report has under the same header."""
    path = Path(os.environ.get("JUDGE_REPORT", ""))
    if not path.is_file():
        return {}
    former = json.loads(path.read_text(encoding="utf-8"))
    same = {key: former.get(key) for key in header} == header
    found: dict[str, Any] = former[parts] if same else {}
    return found
