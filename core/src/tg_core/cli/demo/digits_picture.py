"""The picture of the digits demo: loss, confusion matrix and the digits it got wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tg_core.cli.demo.digits_data import CLASSES
from tg_core.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["confusion_matrix", "draw_picture", "require_matplotlib"]

SHEET_COLUMNS = 8
SHEET_ROWS = 3
PLOT_HEIGHT, HEADING_HEIGHT, TILE_HEIGHT = 5.0, 0.6, 1.6
"""Heights of the parts of the picture, in inches."""
SMOOTHING_STEPS = 15
INK = "#1f4e79"
FAINT = "#a9c4de"


def require_matplotlib() -> None:
    """Raise MissingExtra, with the pip line, unless matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            "demo: matplotlib is not installed; pip install 'tg-core[demo]'"
        ) from error


def confusion_matrix(labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Count predictions by true class (rows) and predicted class (columns), shape `(10, 10)`."""
    counts = np.zeros((CLASSES, CLASSES), np.int64)
    np.add.at(counts, (labels, predictions), 1)
    return counts


def draw_picture(
    path: Path,
    title: str,
    losses: Sequence[float],
    images: np.ndarray,
    labels: np.ndarray,
    predictions: np.ndarray,
) -> None:
    """Draw the loss curve, the confusion matrix and the misclassified digits into one PNG.

    Args:
        path: the file; one that exists is replaced.
        title: written above.
        losses: loss of each step.
        images: test images, shape `(n, 1, 8, 8)`.
        labels: their true classes, shape `(n,)`.
        predictions: their predicted classes, shape `(n,)`.

    Raises:
        MissingExtra: matplotlib is not installed.
        OSError: the file cannot be written.
    """
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    wrong = np.flatnonzero(labels != predictions)
    rows = min(SHEET_ROWS, -(-len(wrong) // SHEET_COLUMNS))
    heights = (PLOT_HEIGHT, HEADING_HEIGHT + rows * TILE_HEIGHT)
    figure = Figure(figsize=(12.0, sum(heights)), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=14)
    grid = figure.add_gridspec(2, 2, height_ratios=heights)
    _draw_losses(figure.add_subplot(grid[0, 0]), losses)
    _draw_confusion(figure.add_subplot(grid[0, 1]), confusion_matrix(labels, predictions))
    sheet = figure.add_subfigure(grid[1, :])
    shown = wrong[: rows * SHEET_COLUMNS]
    hidden = f", the first {len(shown)} of them" if len(shown) < len(wrong) else ""
    sheet.suptitle(f"{len(wrong)} of {len(labels)} test images misclassified{hidden}", fontsize=12)
    if rows:
        tiles = sheet.subplots(rows, SHEET_COLUMNS, squeeze=False)
        _draw_tiles(tiles, images[shown], labels[shown], predictions[shown])
    figure.savefig(path, format="png", dpi=110)


def _draw_losses(axes: Axes, losses: Sequence[float]) -> None:
    steps = np.arange(1, len(losses) + 1)
    dense = len(losses) > 2 * SMOOTHING_STEPS
    axes.plot(steps, losses, color=FAINT if dense else INK, linewidth=1.0, label="each step")
    if dense:
        kernel = np.full(SMOOTHING_STEPS, 1 / SMOOTHING_STEPS)
        smooth = np.convolve(losses, kernel, mode="valid")
        label = f"mean of {SMOOTHING_STEPS} steps"
        axes.plot(steps[SMOOTHING_STEPS - 1 :], smooth, color=INK, linewidth=2.0, label=label)
    if min(losses) > 0:
        axes.set_yscale("log")
    axes.set_title("training loss")
    axes.set_xlabel("step")
    axes.set_ylabel("cross entropy")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)


def _draw_confusion(axes: Axes, counts: np.ndarray) -> None:
    # Each row is coloured by its own total, so that classes of different sizes compare.
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
    for row, column in np.argwhere(counts):
        colour = "white" if shares[row, column] > 0.5 else "black"
        text = str(counts[row, column])
        axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=9)
    axes.set_title("test images by true and predicted digit")
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    axes.set_xticks(range(CLASSES))
    axes.set_yticks(range(CLASSES))


def _draw_tiles(
    tiles: np.ndarray, images: np.ndarray, labels: np.ndarray, predictions: np.ndarray
) -> None:
    for tile in tiles.flat:
        tile.axis("off")
    for tile, image, label, prediction in zip(tiles.flat, images, labels, predictions):
        tile.imshow(image[0], cmap="gray_r", vmin=0.0, vmax=1.0)
        tile.set_title(f"{label} read as {prediction}", fontsize=9)
