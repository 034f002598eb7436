"""A time line of what the process does, in the Trace Event Format that chrome://tracing and
Perfetto open.

`PROFILE=1` records; the file is written at exit to `PROFILE_FILE`.

Source: "Trace Event Format", Google, 2016: complete events (`ph` "X") in microseconds.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import threading
import time
from typing import TYPE_CHECKING, Any

from tg_core.config import PROFILE, PROFILE_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

_events: list[dict[str, Any]] = []
_origin = time.perf_counter()
_NOTHING = contextlib.nullcontext()


def span(name: str, category: str, **arguments: Any) -> contextlib.AbstractContextManager[None]:
    """Return a context manager that records the time of its block, when `PROFILE` is set.

    Args:
        name: what is shown.
        category: one of `schedule`, `compile`, `load`, `kernel`, `copy`, `batch`, `jit`.
        arguments: shown on selection; JSON values.
    """
    return _record(name, category, arguments) if PROFILE.value else _NOTHING


@contextlib.contextmanager
def _record(name: str, category: str, arguments: dict[str, Any]) -> Iterator[None]:
    started = time.perf_counter()
    try:
        yield
    finally:
        add_event(name, category, started, time.perf_counter() - started, arguments)


def add_event(
    name: str,
    category: str,
    started: float,
    seconds: float,
    arguments: dict[str, Any] | None = None,
) -> None:
    """Record something that was timed elsewhere.

    Args:
        name: as for `span`.
        category: as for `span`.
        arguments: as for `span`.
        started: of `time.perf_counter`.
        seconds: how long it took.
    """
    if not _events:
        atexit.register(write_trace)
    _events.append(
        {
            "name": name,
            "cat": category,
            "ph": "X",
            "ts": (started - _origin) * 1e6,
            "dur": seconds * 1e6,
            "pid": os.getpid(),
            "tid": threading.get_native_id(),
            "args": arguments or {},
        }
    )


def write_trace(path: str | None = None) -> str | None:
    """Write what was recorded; return the path, or None when nothing was.

    Args:
        path: of the file; `PROFILE_FILE` unless given.
    """
    if not _events:
        return None
    target = path or PROFILE_FILE.value
    with open(target, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": _events, "displayTimeUnit": "ns"}, file)
    return target


def clear_trace() -> None:
    """Forget what was recorded."""
    _events.clear()
