"""Holding back Ctrl-C for the time of something that must not be cut in two.

Native calls need it not: nothing reaches Python in the middle of one.
"""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["InterruptsDelayed"]


class InterruptsDelayed:
    """A context in which the first interrupt waits until the end.

    The second one does not wait: who asks twice does not want to wait for what hangs. Only the main
    thread sees interrupts; in others nothing is done.
    """

    def __init__(self) -> None:
        self._before: Any = None
        self._seen: tuple[int, FrameType | None] | None = None

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        before = signal.getsignal(signal.SIGINT)
        if callable(before):
            signal.signal(signal.SIGINT, self._note)
            self._before = before

    def __exit__(self, *exc: object) -> None:
        if self._before is None:
            return
        signal.signal(signal.SIGINT, self._before)
        if self._seen is not None:
            self._before(*self._seen)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._seen is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before(number, frame)
        self._seen = number, frame
