"""Recording what runs, so that it can be replayed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from tg_core.device import buffer_of
from tg_core.errors import JitError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg_core.uop.ops import UOp


class Capture:
    """The schedules that ran while a capture was active, in order.

    Args:
        inputs: the BUFFER nodes of arguments, each with the argument's name. No other node stands
            for the same use of their memory.
    """

    def __init__(self, inputs: Mapping[UOp, str] | None = None) -> None:
        self.inputs = inputs or {}
        self.entries: list[tuple[UOp, tuple[UOp, ...]]] = []
        """Pairs of a LINEAR and the arguments (BUFFERs and bound variables) it ran on."""
        self.checks: list[tuple[int, Any]] = []
        """Checks of computed values, each with the number of entries before it."""

    def __enter__(self) -> Capture:
        _active.captures.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _active.captures.remove(self)

    def add(self, linear: UOp, arguments: tuple[UOp, ...]) -> None:
        """Note a schedule that is about to run.

        Raises:
            JitError: it writes memory which it knows as an argument and otherwise, too.
        """
        self._check_apart(linear, arguments)
        self.entries.append((linear, arguments))

    def _check_apart(self, linear: UOp, arguments: tuple[UOp, ...]) -> None:
        used = [(i, a, b) for i, a in enumerate(arguments) if (b := buffer_of(a)) is not None]
        mine = [(i, a, b) for i, a, b in used if a in self.inputs]
        if not mine:
            return
        from tg_core.engine.written import written_slots

        written = written_slots(linear)
        for slot, node, buffer in mine:
            for other_slot, other, other_buffer in used:
                if other is node or not buffer.overlaps(other_buffer):
                    continue
                if slot in written or other_slot in written:
                    raise shared_memory(self.inputs[node], self.inputs.get(other))


def shared_memory(name: str, other: str | None) -> JitError:
    """Return the error for an argument that is used in another way, too, where one of both uses
    is a write.

    Args:
        name: of the argument.
        other: name of the other argument; None for storage from outside.
    """
    if other is None:
        return JitError(
            f"jit: {name} is storage that the function also uses from outside of its arguments,"
            " and it writes it; use it in one of both ways"
        )
    return JitError(
        f"jit: {name} and {other} share memory and the function writes it; pass it once"
    )


class _Active(threading.local):
    """The captures of one thread; what other threads run meanwhile is not theirs."""

    def __init__(self) -> None:
        self.captures: list[Capture] = []
        self.paused = 0


_active = _Active()


class Unrecorded:
    """A context in which what runs is no part of the captures that are active."""

    def __enter__(self) -> None:
        _active.paused += 1

    def __exit__(self, *exc: object) -> None:
        _active.paused -= 1


def capturing() -> bool:
    """Tell whether a capture is active."""
    return bool(_active.captures)


def record(linear: UOp, arguments: tuple[UOp, ...]) -> None:
    """Note a schedule that is about to run."""
    if _active.paused:
        return
    for capture in _active.captures:
        capture.add(linear, arguments)


def record_check(check: Any) -> None:
    """Note that values which were computed must be checked before anything else runs."""
    for capture in _active.captures:
        capture.checks.append((len(capture.entries), check))
