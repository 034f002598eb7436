"""The Python blocks of the documentation run."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^ *```python\n(.*?)^ *```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    "page", ["array-api.md", "devices.md", "explain.md", "jit.md", "numerics.md", "queues.md"]
)
def test_python_blocks_run(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    assert blocks
    for block in blocks:
        exec(compile(textwrap.dedent(block), page, "exec"), {"__name__": "docs"})
    assert capsys.readouterr().out
