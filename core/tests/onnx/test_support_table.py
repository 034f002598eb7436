from __future__ import annotations

from onnx_support import BEGIN, END, PAGE, support_table


def test_the_page_holds_the_table_of_the_committed_report() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.partition(BEGIN)[2].partition(END)[0].strip() == support_table().strip()
