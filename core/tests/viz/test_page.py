from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tg_core.uop.ops import PatternMatcher, UOp, UPat, graph_rewrite
from tg_core.uop.record import recording
from tg_core.viz.page import page_data, render_page, write_page
from tg_core.viz.report import Report, build_report

HOSTILE = "</script><script>alert(1)</script><!-- & \u2028"
VOID = {"meta", "link", "br", "input"}


class Outline(HTMLParser):
    """Collects tags and attributes, and checks that elements nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.extend(attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)


def drop_zero(x: UOp) -> UOp:
    """`x + 0 -> x`."""
    return x


@pytest.fixture(scope="module")
def report() -> Report:
    rules = PatternMatcher([(UPat.var("x") + 0, drop_zero)])
    loop = UOp.range(8, 0)
    with recording() as recorder, recorder.section("kernel", HOSTILE) as section:
        section.source = f"; source {HOSTILE}"
        section.assembly = "ret"
        graph_rewrite(((loop + 0) * 4).sqrt(), rules, name=HOSTILE)
        graph_rewrite(loop, rules, name="nothing")
    return build_report(recorder, HOSTILE, problem=HOSTILE)


def read(page: str) -> tuple[Outline, Any]:
    outline = Outline()
    outline.feed(page)
    outline.close()
    assert outline.open == []
    return outline, json.loads(outline.scripts[0])


def test_the_page_is_well_formed_and_text_cannot_break_out(report: Report) -> None:
    outline, data = read(render_page(report))
    assert outline.tags.count("script") == 2
    assert data["title"] == HOSTILE
    assert data["stages"][0]["name"] == HOSTILE
    assert data["sections"][0]["source"] == f"; source {HOSTILE}"


def test_the_page_needs_nothing_else(report: Report) -> None:
    page = render_page(report)
    outline, _ = read(page)
    names = {name for name, _ in outline.attributes}
    assert not names & {"src", "href", "srcset", "action"}
    assert "link" not in outline.tags and "iframe" not in outline.tags
    addresses = set(re.findall(r"https?://[^\s\"'<]+", page))
    # the name of the SVG namespace, which nothing fetches
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert "@import" not in page and "url(" not in page
    policy = dict(outline.attributes)["content"] or ""
    policies = [v for n, v in outline.attributes if n == "content" and v and "default-src" in v]
    assert policies and policies[0].startswith("default-src 'none'"), policy


def test_the_script_writes_no_markup() -> None:
    page = render_page(Report("empty"))
    assert "innerHTML" not in page
    assert "insertAdjacentHTML" not in page
    assert "document.write" not in page


def test_the_data_is_that_of_the_report(report: Report) -> None:
    data = json.loads(json.dumps(page_data(report)))
    texts = data["texts"]
    assert [stage["name"] for stage in data["stages"]] == [HOSTILE, "nothing"]
    first = data["stages"][0]
    assert [data["rules"][rule][0] for rule, _ in first["rules"]] == ["drop_zero"]
    assert [texts[i] for i in first["firings"][0][1:]] == ["r0 + 0", "r0"]
    written = [mark + texts[line] for mark, line in zip(first["marks"], first["lines"])]
    assert written == [mark + line for mark, line in report.stages[0].lines]
    assert data["stages"][1]["marks"] == ""
    root = data["nodes"][first["after"]]
    assert texts[root[0]] == "SQRT"


def test_writing_makes_the_folder(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "new" / "page.html"
    write_page(report, path)
    assert path.read_text(encoding="utf-8") == render_page(report)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium")
def test_a_browser_shows_every_stage(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_page(report, path)
    shown = subprocess.run(
        [
            *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
            *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
            *("--disable-sync", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"),
            *("--virtual-time-budget=4000", path.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    links = re.findall(r"<a href=\"#\d+\"", shown)
    assert len(links) == len(report.stages) + 2
    assert '<g class="node rebuilt"' in shown
    assert "drop_zero" in shown
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in shown
