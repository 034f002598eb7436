"""The verdict as one HTML page without anything from elsewhere."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from tg_conformance.levels import FEATURES
from tg_conformance.report.matrix import matrix_of

if TYPE_CHECKING:
    from tg_conformance.report.matrix import Matrix
    from tg_conformance.verdict import Case, LevelResult, Verdict

__all__ = ["html_of"]

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem;
  color: #1c2330; background: #fff; }
h1 { font-size: 1.6rem; margin-bottom: 0; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
p.headline { margin-top: .2rem; color: #475066; }
table { border-collapse: collapse; margin: .6rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .22rem .6rem; border: 1px solid #dfe3ea; text-align: center; font-weight: 400; }
thead th { background: #f4f6f9; font-weight: 600; } th.name { text-align: left; }
td.passed { background: #dff3e4; color: #14622c; }
td.failed { background: #fbdcdc; color: #93191b; }
td.xfailed { background: #fdf0cf; color: #7a5300; }
td.undeclared { background: #eef0f4; color: #68708a; }
ul { padding-left: 1.2rem; } code { font-size: .92em; } details summary { cursor: pointer; }
.scroll { overflow-x: auto; } .legend td { border: 0; }
@media (prefers-color-scheme: dark) {
  body { color: #dfe4ee; background: #14171d; } p.headline { color: #9aa4b8; }
  th, td { border-color: #303744; } thead th { background: #1d222b; }
  td.passed { background: #173d24; color: #9fe0b3; }
  td.failed { background: #4b1c1d; color: #ffb3b3; }
  td.xfailed { background: #46370f; color: #f3d588; }
  td.undeclared { background: #232833; color: #98a1b5; }
}
"""

MARKS = {"passed": "✓", "failed": "✗", "xfailed": "x", "undeclared": "–"}


def html_of(verdict: Verdict) -> str:
    """Return the page."""
    title = f"Conformance of {verdict.device}"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        f'<p class="headline">{escape(verdict.headline())}</p>',
        _levels(verdict),
        _failures(verdict),
        _capabilities(verdict),
    ]
    parts += [_matrix(matrix) for matrix in matrix_of(verdict)]
    parts.append("<h2>Other tests</h2>")
    parts += [_others(result) for result in verdict.levels]
    parts.append("</body></html>\n")
    return "\n".join(part for part in parts if part)


def _levels(verdict: Verdict) -> str:
    heads = ("level", "", "passed", "failed", "expected failures", "undeclared", "reached")
    rows = []
    for result in verdict.levels:
        counts = [result.count(each) for each in ("passed", "failed", "xfailed", "undeclared")]
        cells = "".join(f"<td>{count or '–'}</td>" for count in counts)
        state, word = ("passed", "yes") if result.reached else ("failed", "no")
        if not result.applies:
            state, word = "undeclared", f"needs {result.level.condition}"
        name = f"{escape(result.level.title)}: {escape(result.level.question)}"
        rows.append(
            f'<tr><td>{result.level.number}</td><th class="name">{name}</th>{cells}'
            f'<td class="{state}">{word}</td></tr>'
        )
    return _table(heads, rows)


def _failures(verdict: Verdict) -> str:
    items = [
        f"<li><code>{escape(case.test)}</code><br>{escape(case.message)}</li>"
        for case in verdict.of("failed")
    ]
    items += [f"<li>{escape(problem)}</li>" for problem in verdict.problems]
    parts = []
    if items:
        parts.append(f"<h2>Failures</h2><ul>{''.join(items)}</ul>")
    known = [
        f"<li><code>{escape(case.test)}</code>: {escape(case.message)}</li>"
        for case in verdict.of("xfailed")
    ]
    if known:
        parts.append(f"<h2>Expected failures</h2><ul>{''.join(known)}</ul>")
    return "\n".join(parts)


def _capabilities(verdict: Verdict) -> str:
    rows = []
    for name, meaning in FEATURES.items():
        state = "passed" if name in verdict.declared else "undeclared"
        word = "declared" if name in verdict.declared else "undeclared"
        rows.append(
            f'<tr><th class="name"><code>{name}</code></th><th class="name">{escape(meaning)}</th>'
            f'<td class="{state}">{word}</td></tr>'
        )
    return "<h2>Capabilities</h2>" + _table(("capability", "meaning", ""), rows)


def _matrix(matrix: Matrix) -> str:
    rows = []
    for operation, cases in matrix.rows:
        cells = "".join(_cell(case) for case in cases)
        rows.append(f'<tr><th class="name">{escape(operation)}</th>{cells}</tr>')
    table = _table(("", *matrix.dtypes), rows)
    return f'<h2>{escape(matrix.title.capitalize())}</h2><div class="scroll">{table}</div>'


def _cell(case: Case | None) -> str:
    if case is None:
        return "<td></td>"
    note = f' title="{escape(case.message)}"' if case.message else ""
    return f'<td class="{case.outcome}"{note}>{MARKS[case.outcome]}</td>'


def _others(result: LevelResult) -> str:
    rows = []
    for case in result.cases:
        if case.dtype:
            continue
        core = "mandatory" if case.mandatory else ""
        rows.append(
            f'<tr><th class="name"><code>{escape(case.test)}</code></th><td>{core}</td>'
            f"{_cell(case)}</tr>"
        )
    if not rows:
        return ""
    title = f"level {result.level.number}: {escape(result.level.title)}, {len(rows)} tests"
    return f"<details><summary>{title}</summary>{_table(('test', '', ''), rows)}</details>"


def _table(heads: tuple[str, ...], rows: list[str]) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
