"""The verdict as one HTML page without anything from elsewhere."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from tg_conformance.levels import FEATURES
from tg_conformance.report.matrix import matrix_of
from tg_conformance.report.style import STYLE

if TYPE_CHECKING:
    from tg_conformance.report.matrix import Matrix
    from tg_conformance.verdict import Case, LevelResult, Outcome, Verdict

__all__ = ["html_of"]

MARKS: dict[Outcome, str] = {"passed": "✓", "failed": "✗", "xfailed": "x", "undeclared": "–"}
MEANINGS: dict[Outcome, str] = {
    "passed": "passed",
    "failed": "failed",
    "xfailed": "expected failure",
    "undeclared": "capability not declared",
}
OUTCOMES: tuple[Outcome, ...] = ("passed", "failed", "xfailed", "undeclared")


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
        _tiles(verdict),
        _levels(verdict),
        _failures(verdict),
        _known(verdict),
        _capabilities(verdict),
        _matrix(matrix_of(verdict)),
        "<h2>Every test</h2>",
    ]
    parts += [_tests(result) for result in verdict.levels]
    parts.append("</body></html>\n")
    return "\n".join(part for part in parts if part)


def _tiles(verdict: Verdict) -> str:
    reached = "–" if verdict.level is None else str(verdict.level)
    tiles = [("", reached, "level reached")]
    for outcome, words in zip(OUTCOMES, ("passed", "failed", "expected failures", "undeclared")):
        tiles.append((outcome, str(verdict.count(outcome)), words))
    tiles.append(("", f"{len(verdict.offered)} / {len(FEATURES)}", "capabilities"))
    cells = [
        f'<div class="tile {kind if number != "0" else ""}"><b>{number}</b><span>{words}</span>'
        "</div>"
        for kind, number, words in tiles
    ]
    return f'<div class="tiles">{"".join(cells)}</div>'


def _levels(verdict: Verdict) -> str:
    heads = ("", "level", "passed", "failed", "expected", "undeclared", "reached")
    rows = []
    for result in verdict.levels:
        cells = "".join(f"<td>{result.count(each) or '–'}</td>" for each in OUTCOMES)
        state, word = ("passed", "yes") if result.reached else ("failed", "no")
        if not result.applies:
            state, word = "undeclared", f"needs {result.level.condition}"
        question = f"<small>{escape(result.level.question)}</small>"
        rows.append(
            f"<tr><td>{result.level.number}</td>"
            f'<th class="name">{escape(result.level.title)}{question}</th>{cells}'
            f'<td class="{state}">{word}</td></tr>'
        )
    return _table("levels", heads, rows)


def _failures(verdict: Verdict) -> str:
    items = []
    for case in verdict.of("failed"):
        first, _, rest = case.message.partition("\n")
        more = f"<pre>{escape(rest)}</pre>" if rest else ""
        items.append(f"<li><code>{escape(case.test)}</code><br>{escape(first)}{more}</li>")
    items += [f"<li>{escape(problem)}</li>" for problem in verdict.problems]
    return f"<h2>Failures</h2><ul>{''.join(items)}</ul>" if items else ""


def _known(verdict: Verdict) -> str:
    items = [
        f"<li><code>{escape(case.test)}</code>: {escape(case.message)}</li>"
        for case in verdict.of("xfailed")
    ]
    return f"<h2>Expected failures</h2><ul>{''.join(items)}</ul>" if items else ""


def _capabilities(verdict: Verdict) -> str:
    rows = []
    for name, meaning in FEATURES.items():
        state = "passed" if name in verdict.declared else "undeclared"
        word = "declared" if name in verdict.declared else "undeclared"
        rows.append(
            f'<tr><th class="name"><code>{name}</code></th><th class="name">{escape(meaning)}</th>'
            f'<td class="{state}">{word}</td></tr>'
        )
    return "<h2>Capabilities</h2>" + _table("", ("capability", "meaning", ""), rows)


def _matrix(matrices: list[Matrix]) -> str:
    """Return all operations against all dtypes: one table, so that columns can be compared."""
    if not matrices:
        return ""
    longest = max((matrix.dtypes for matrix in matrices), key=len)
    dtypes = tuple(dict.fromkeys([*longest, *(d for m in matrices for d in m.dtypes)]))
    rows = []
    for matrix in matrices:
        alone = [operation for operation, _ in matrix.rows] == [matrix.title]
        if not alone:
            rows.append(
                f'<tr class="group"><th colspan="{1 + len(dtypes)}">'
                f"{escape(matrix.title.capitalize())}</th></tr>"
            )
        for operation, cases in matrix.rows:
            found = dict(zip(matrix.dtypes, cases, strict=True))
            cells = "".join(_cell(found.get(dtype)) for dtype in dtypes)
            name = operation.capitalize() if alone else operation
            rows.append(f'<tr><th class="name">{escape(name)}</th>{cells}</tr>')
    heads = "".join(f"<th><span>{escape(dtype)}</span></th>" for dtype in dtypes)
    marks = [f'<i class="{each}">{MARKS[each]}</i>{MEANINGS[each]}' for each in OUTCOMES]
    return (
        "<h2>Operations and dtypes</h2>"
        f'<p class="legend">{" ".join(marks)}, blank: no such case</p>'
        f'<div class="scroll"><table class="matrix"><thead><tr><th></th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(case: Case | None) -> str:
    if case is None:
        return "<td></td>"
    note = f' title="{escape(case.message)}"' if case.message else ""
    return f'<td class="{case.outcome}"{note}>{MARKS[case.outcome]}</td>'


def _tests(result: LevelResult) -> str:
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
    title = f"level {result.level.number}, {escape(result.level.title)}: {len(rows)} tests"
    table = _table("", ("test", "", ""), rows)
    return f"<details><summary>{title}</summary>{table}</details>"


def _table(kind: str, heads: tuple[str, ...], rows: list[str]) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = f"<tbody>{''.join(rows)}</tbody>"
    return f'<table class="{kind}"><thead><tr>{head}</tr></thead>{body}</table>'
