"""Recording of rewrites for later viewing: stages, before and after, and which rule fired where.

Recording is on inside `recording()`, or for the whole process with `VIZ=1`.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from tg_core.config import VIZ

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tg_core.uop.recorder import Recorder, Section
    from tg_core.uop.uop import UOp

active: list[Recorder] = []
"""Those that record now, the innermost last."""


def recorder() -> Recorder | None:
    """Give the active recorder; with `VIZ` set there is always one."""
    if active:
        return active[-1]
    if VIZ.value:
        active.append(_new_recorder())
        return active[-1]
    return None


def recorded_pass(name: str, before: UOp, function: Callable[..., UOp], *arguments: Any) -> UOp:
    """Run a pass, and record it when recording is on; parameters are those of `Recorder.run`."""
    record = recorder()
    if record is None:
        return function(*arguments)
    return record.run(name, before, function, *arguments)


@contextlib.contextmanager
def recorded_section(kind: str, name: str) -> Iterator[Section | None]:
    """Record a block as work on one schedule or kernel; see `Recorder.section`.

    Yields:
        The section, or None when recording is off.
    """
    record = recorder()
    if record is None:
        yield None
        return
    with record.section(kind, name) as made:
        yield made


@contextlib.contextmanager
def recording() -> Iterator[Recorder]:
    """Record every rewrite of a block.

    Yields:
        The recorder, which keeps its stages after the block.
    """
    own = _new_recorder()
    active.append(own)
    try:
        yield own
    finally:
        active.remove(own)


def _new_recorder() -> Recorder:
    # most processes record nothing
    from tg_core.uop.recorder import Recorder

    return Recorder()
