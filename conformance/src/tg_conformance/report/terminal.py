"""The verdict on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_conformance.report.matrix import matrix_of

if TYPE_CHECKING:
    from tg_conformance.report.matrix import Matrix
    from tg_conformance.verdict import Case, Verdict

__all__ = ["print_verdict"]


def print_verdict(verdict: Verdict) -> None:
    """Print what was reached, level by level, and operations against dtypes."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print()
    levels = Table(title=f"conformance of {verdict.device}", title_justify="left")
    for column in ("level", "", "passed", "failed", "expected failures", "undeclared", "reached"):
        levels.add_column(column, justify="right" if column not in ("", "reached") else "left")
    for result in verdict.levels:
        counts = [result.count(each) for each in ("passed", "failed", "xfailed", "undeclared")]
        cells = [str(count) if count else "-" for count in counts]
        mark = "[green]yes[/]" if result.reached else "[red]no[/]"
        if not result.applies:
            mark = f"needs {result.level.condition}"
        levels.add_row(str(result.level.number), result.level.title, *cells, mark)
    console.print(levels)
    for matrix in matrix_of(verdict):
        console.print(_summary(matrix))
    for case in verdict.of("failed"):
        first = case.message.partition("\n")[0]
        console.print(f"level {case.level} FAILED {case.test}: {first}", style="red", markup=False)
    for problem in verdict.problems:
        console.print(f"FAILED {problem}", style="red", markup=False)
    if verdict.undeclared:
        console.print(f"undeclared: {', '.join(verdict.undeclared)}", markup=False)
    console.print(verdict.headline(), style="bold", markup=False)


def _summary(matrix: Matrix) -> str:
    """Return one line for a table: per dtype, how many of its operations pass."""
    cells = []
    for column, dtype in enumerate(matrix.dtypes):
        cases = [row[column] for _, row in matrix.rows if row[column] is not None]
        passed = sum(_passes(case) for case in cases)
        text = f"{dtype} {passed}/{len(cases)}"
        cells.append(text if passed == len(cases) else f"[red]{text}[/]")
    return f"[bold]{matrix.title}[/]: {'  '.join(cells)}"


def _passes(case: Case | None) -> bool:
    return case is not None and case.outcome == "passed"
