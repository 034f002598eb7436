"""What commands print: tables and lines, decorated on a terminal and plain elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

__all__ = ["busy", "plain_table", "print_lines", "print_table"]


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], wrap: bool = True
) -> None:
    """Print a table.

    On a terminal it is drawn and fits the width. Elsewhere each row is one line, whatever its
    length, with two spaces between aligned columns: made for `grep` and bug reports.

    Args:
        title: a line above.
        columns: the headings.
        rows: the cells.
        wrap: whether the last column may wrap on a terminal.
    """
    if not _on_terminal():
        print(title)
        print(plain_table(columns, rows))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", title_style="bold")
    for index, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=not wrap and index < len(columns) - 1)
    for row in rows:
        table.add_row(*(Text(cell, style=_style(cell)) for cell in row))
    Console().print(table)


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as lines of aligned columns. Line breaks in cells become `; `."""
    cells = [list(columns)] + [["; ".join(cell.splitlines()) for cell in row] for row in rows]
    widths = [max(len(line[index]) for line in cells) for index in range(len(columns))]
    lines = []
    for line in cells:
        padded = [cell.ljust(width) for cell, width in zip(line, widths)]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def print_lines(title: str, lines: Sequence[str]) -> None:
    """Print a heading and indented lines; nothing where there are none."""
    if not lines:
        return
    print(title)
    for line in lines:
        print(f"  {line}")


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Show that something is going on, on a terminal; elsewhere do nothing."""
    if not _on_terminal():
        yield
        return
    from rich.console import Console

    with Console().status(what):
        yield


def _on_terminal() -> bool:
    # a process whose output was closed has no stream at all
    return sys.stdout is not None and sys.stdout.isatty()


def _style(cell: str) -> str:
    return {"PASS": "green", "FAIL": "red", "default": "bold"}.get(cell, "")
