"""Recording what runs, so that it can be replayed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tg_core.uop.ops import UOp


@dataclass
class Capture:
    """The schedules that ran while a capture was active, in order."""

    entries: list[tuple[UOp, tuple[UOp, ...]]] = field(default_factory=list)
    """Pairs of a LINEAR and the arguments (BUFFERs and bound variables) it ran on."""

    def __enter__(self) -> Capture:
        _active.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _active.remove(self)


_active: list[Capture] = []


def capturing() -> bool:
    """Tell whether a capture is active."""
    return bool(_active)


def record(linear: UOp, arguments: tuple[UOp, ...]) -> None:
    """Note a schedule that is about to run."""
    for capture in _active:
        capture.entries.append((linear, arguments))
