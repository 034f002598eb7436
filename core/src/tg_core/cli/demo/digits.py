"""`tg demo digits`: train a small convolutional network on handwritten digits, show the result."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from tg_core.cli.output import plain_table

if TYPE_CHECKING:
    import numpy as np

    from tg_core.cli.demo.digits_data import Digits
    from tg_core.cli.demo.digits_training import Run

__all__ = ["INTERRUPTED", "Options", "run_digits"]

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 and the number of SIGINT, as shells report it."""
PICTURE_NAME = "digits.png"


@dataclass(frozen=True)
class Options:
    """What the command line asked for."""

    seed: int
    device: str
    """Canonical name of the device to train on, already the default one."""
    epochs: int
    steps: int | None
    """Number of batches, instead of `epochs`."""
    out: Path
    """Folder of the picture."""
    json: Path | None
    """File of the machine-readable result."""


@dataclass(frozen=True)
class Result:
    """What was measured."""

    options: Options
    run: Run
    digits: Digits
    predictions: np.ndarray
    seconds: float

    @property
    def accuracy(self) -> float:
        """Share of the test images whose class was predicted."""
        return float((self.predictions == self.digits.test_labels).mean())

    @property
    def wrong(self) -> int:
        """Number of misclassified test images."""
        return int((self.predictions != self.digits.test_labels).sum())


def run_digits(options: Options, console: Console) -> int:
    """Train, test, and report: a table, a picture, and a JSON file when asked for.

    Args:
        options: what to do.
        console: where progress and table go.

    Returns:
        0, or 130 after Ctrl-C.

    Raises:
        MissingExtra: scikit-learn or matplotlib is not installed; raised before any work.
    """
    from tg_core.cli.demo.digits_picture import draw_picture, require_matplotlib

    require_matplotlib()
    done: list[float] = []
    try:
        result = _measure(options, console, done)
    except KeyboardInterrupt:
        console.print(f"interrupted after step {len(done)}, nothing was written")
        return INTERRUPTED
    options.out.mkdir(parents=True, exist_ok=True)
    picture = options.out / PICTURE_NAME
    draw_picture(
        picture,
        f"UCI handwritten digits on {options.device}: "
        f"{result.accuracy:.2%} of the test images right (seed {options.seed})",
        result.run.losses,
        result.digits.test_images,
        result.digits.test_labels,
        result.predictions,
    )
    _print_result(result, picture, console)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(_record(result), indent=1) + "\n", encoding="utf-8")
    return 0


def _measure(options: Options, console: Console, done: list[float]) -> Result:
    from tg_core.cli.demo.digits_data import load_digits
    from tg_core.cli.demo.digits_training import steps_per_epoch, test, train

    start = time.perf_counter()
    digits = load_digits(options.seed)
    per_epoch = steps_per_epoch(digits)
    steps = options.epochs * per_epoch if options.steps is None else options.steps
    columns = (
        TextColumn("training on {task.fields[device]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]}"),
        TimeRemainingColumn(),
    )
    live = console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=not live) as progress:
        task = progress.add_task("", total=steps, device=options.device, loss="-")

        def show(step: int, loss: float) -> None:
            done.append(loss)
            progress.update(task, advance=1, loss=f"{loss:.4f}")
            if not live and (step % per_epoch == 0 or step == steps):
                console.print(f"step {step} of {steps}: loss {loss:.6f}")

        run = train(digits, steps, options.seed, show)
    predictions = test(run.network, digits)
    return Result(options, run, digits, predictions, time.perf_counter() - start)


def _print_result(result: Result, picture: Path, console: Console) -> None:
    """Print a table: drawn on a terminal, aligned lines that nothing cuts off elsewhere."""
    rows = _rows(result, picture)
    if not console.is_terminal:
        text = plain_table(("digits", "result"), rows)
        console.print(text, markup=False, highlight=False, soft_wrap=True)
        return
    table = Table(title="tg demo digits", show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value))
    console.print(table)


def _rows(result: Result, picture: Path) -> list[tuple[str, str]]:
    digits, losses = result.digits, result.run.losses
    return [
        ("device", result.options.device),
        ("seed", str(result.options.seed)),
        ("images", f"{len(digits.train_labels)} to train, {len(digits.test_labels)} to test"),
        ("parameters", f"{result.run.parameter_count:,}"),
        ("steps", str(len(losses))),
        ("loss", f"{losses[0]:.6f} at first, {losses[-1]:.6f} at last"),
        ("test accuracy", f"{result.accuracy:.2%} ({result.wrong} wrong)"),
        ("time", f"{result.seconds:.1f} s, compiling included"),
        ("picture", str(picture)),
    ]


def _record(result: Result) -> dict[str, Any]:
    return {
        "seed": result.options.seed,
        "device": result.options.device,
        "test_accuracy": result.accuracy,
        "seconds": result.seconds,
        "losses": result.run.losses,
        "labels": result.digits.test_labels.tolist(),
        "predictions": result.predictions.tolist(),
    }
