"""Recording what runs, so that it can be replayed."""

from __future__ import annotations

import threading
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
        _active.captures.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _active.captures.remove(self)


class _Active(threading.local):
    """The captures of one thread; what other threads run meanwhile is not theirs."""

    def __init__(self) -> None:
        self.captures: list[Capture] = []


_active = _Active()


def capturing() -> bool:
    """Tell whether a capture is active."""
    return bool(_active.captures)


def record(linear: UOp, arguments: tuple[UOp, ...]) -> None:
    """Note a schedule that is about to run."""
    for capture in _active.captures:
        capture.entries.append((linear, arguments))
