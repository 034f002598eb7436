"""What a judge ran, as a file with a part for each device or kind of program."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

__all__ = ["write_part"]


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
    report: dict[str, Any] = {**header, parts: {}}
    if path.exists():
        former = json.loads(path.read_text(encoding="utf-8"))
        if {key: former.get(key) for key in header} == header:
            report = former
    report[parts] = dict(sorted({**report[parts], name: found}.items()))
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
