"""The page of a verdict."""

from __future__ import annotations

import re

from tg_conformance.report.html import html_of
from tg_conformance.verdict import Case, Verdict

CASES = (
    Case("test_level0_x.py::test_found", 0, True, "passed"),
    Case("test_level1_x.py::test_bytes[3]", 1, True, "failed", "ACME: <wrong>\nqueue 0: idle"),
    Case("test_level2_x.py::test_sums[sum-int8]", 2, False, "passed", "", "sum", "int8"),
    Case("test_level2_x.py::test_sums[sum-float16]", 2, False, "xfailed", "slow", "sum", "float16"),
    Case("test_level2_x.py::test_choice[int8]", 2, False, "passed", "", "", "int8"),
    Case("test_level3_x.py::test_rings", 3, True, "undeclared", "QUEUES"),
)


def page(*declared: str) -> str:
    return html_of(Verdict("ACME", "MOCKACME", CASES, frozenset(declared)))


def test_failures_are_shown_in_full_and_escaped() -> None:
    text = page()
    assert "ACME: &lt;wrong&gt;<pre>queue 0: idle</pre>" in text
    assert "<wrong>" not in text


def test_one_table_has_all_operations_and_dtypes() -> None:
    text = page()
    assert text.count('<table class="matrix">') == 1
    assert re.findall(r"<th><span>(\w+)</span></th>", text) == ["int8", "float16"]
    row = re.search(r'<th class="name">sum</th>(.*?)</tr>', text)
    assert row is not None
    assert re.findall(r'class="(\w+)"', row[1]) == ["passed", "xfailed"]
    assert '<th class="name">Choice</th>' in text


def test_a_level_that_is_not_for_the_backend_says_why() -> None:
    assert '<td class="undeclared">needs QUEUES</td>' in page()
    assert '<td class="undeclared">needs QUEUES</td>' not in page("QUEUES")


def test_nothing_comes_from_elsewhere() -> None:
    assert "http" not in page()
    assert "<script" not in page()
