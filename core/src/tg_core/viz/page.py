"""One HTML file that shows a report: no network, no other files."""

from __future__ import annotations

import html
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from tg_core.viz.report import Report, StageView

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""A page that holds everything needs to load nothing, and is not allowed to."""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<nav id="nav"></nav>
<main id="main"><noscript>This page draws with JavaScript, all of it inside this file.</noscript>
</main>
<script type="application/json" id="data">{data}</script>
<script>
{script}</script>
</body>
</html>
"""


def write_page(report: Report, path: Path) -> None:
    """Write a report as one self-contained HTML file.

    Args:
        report: what to show.
        path: of the file; its folder is made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render_page(report), encoding="utf-8")


def render_page(report: Report) -> str:
    """Return the text of the page."""
    return _PAGE.format(
        policy=html.escape(_POLICY),
        title=html.escape(f"{report.title} - every rewrite"),
        style=_asset("explain.css"),
        data=_embedded(page_data(report)),
        script=_asset("layout.js") + _asset("explain.js"),
    )


def page_data(report: Report) -> dict[str, Any]:
    """Return what the page's script reads. Repeated texts are in one table, `texts`."""
    texts = _Texts()
    return {
        "title": report.title,
        "problem": report.problem,
        "sections": [
            {
                "kind": section.kind,
                "number": section.number,
                "title": section.title,
                "source": section.source,
                "assembly": section.assembly,
            }
            for section in report.sections
        ],
        "stages": [_stage(stage, texts) for stage in report.stages],
        "rules": report.rules,
        "nodes": [
            [texts[node.op], texts[node.type], texts[node.argument], list(node.sources)]
            for node in report.nodes
        ],
        "texts": texts.all,
    }


class _Texts:
    """Numbers of texts, each kept once."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._numbers: dict[str, int] = {}

    def __getitem__(self, text: str) -> int:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.all)
            self.all.append(text)
        return number


def _stage(stage: StageView, texts: _Texts) -> dict[str, Any]:
    marks = "".join(mark for mark, _ in stage.lines)
    return {
        "name": stage.name,
        "depth": stage.depth,
        "section": stage.section,
        "before": stage.before,
        "after": stage.after,
        "counts": stage.counts,
        "rules": stage.rules,
        "firings": [[f.rule, texts[f.before], texts[f.after]] for f in stage.firings],
        "new": stage.new,
        "rebuilt": stage.rebuilt,
        "gone": stage.gone,
        "marks": marks if marks.strip() else "",
        "lines": [texts[line] for _, line in stage.lines],
    }


def _embedded(data: dict[str, Any]) -> str:
    """Write data as JSON that no browser takes for markup."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _asset(name: str) -> str:
    return (files("tg_core.viz") / "assets" / name).read_text(encoding="utf-8")
