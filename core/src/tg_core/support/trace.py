"""A time line of what the process does, in the Trace Event Format that chrome://tracing and
Perfetto open.

`PROFILE=1` records; the file is written at exit to `PROFILE_FILE`.

Source: "Trace Event Format", Google, 2016: complete events (`ph` "X") in microseconds, and
metadata (`ph` "M") that names processes and rows.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from tg_core.config import PROFILE, PROFILE_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

_events: list[dict[str, Any]] = []
_rows: dict[tuple[int, int], str] = {}
"""Names of rows, by process and number."""
_tracks: dict[str, int] = {}
_FIRST_TRACK = 1 << 30
"""Number of the first row that is no thread; Linux numbers threads below 2^22."""
_origin = time.perf_counter()
_NOTHING = contextlib.nullcontext()


def span(name: str, category: str, **arguments: Any) -> contextlib.AbstractContextManager[None]:
    """Return a context manager that records the time of its block, when `PROFILE` is set.

    Args:
        name: what is shown.
        category: one of `schedule`, `compile`, `load`, `launch`, `kernel`, `copy`.
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
    track: str | None = None,
) -> None:
    """Record something that was timed elsewhere.

    Args:
        name: as for `span`.
        category: as for `span`.
        arguments: as for `span`.
        started: of `time.perf_counter`.
        seconds: how long it took.
        track: the row it is shown in, as the name of a device; that of the thread unless given.
    """
    if not _events:
        atexit.register(_write_at_exit)
    row = threading.get_native_id()
    name_of_row = threading.current_thread().name
    if track is not None:
        row = _tracks.setdefault(track, _FIRST_TRACK + len(_tracks))
        name_of_row = track
    _rows.setdefault((os.getpid(), row), name_of_row)
    _events.append(
        {
            "name": name,
            "cat": category,
            "ph": "X",
            "ts": (started - _origin) * 1e6,
            "dur": seconds * 1e6,
            "pid": os.getpid(),
            "tid": row,
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
    import json

    target = path or PROFILE_FILE.value
    with open(target, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": [*_names(), *_events], "displayTimeUnit": "ms"}, file)
    return target


def _write_at_exit() -> None:
    try:
        write_trace()
    except OSError as error:
        print(f"PROFILE: cannot write {PROFILE_FILE.value}: {error.strerror}", file=sys.stderr)


def _names() -> Iterator[dict[str, Any]]:
    """Yield the metadata: threads are shown first, in the order they appeared, then devices."""
    for process in dict.fromkeys(process for process, _ in _rows):
        yield _name("process_name", process, 0, name=os.path.basename(sys.argv[0]) or "python")
    for position, (process, row) in enumerate(
        sorted(_rows, key=lambda key: key[1] >= _FIRST_TRACK)
    ):
        yield _name("thread_name", process, row, name=_rows[process, row])
        yield _name("thread_sort_index", process, row, sort_index=position)


def _name(kind: str, process: int, row: int, **arguments: Any) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": process, "tid": row, "args": arguments}


def clear_trace() -> None:
    """Forget what was recorded."""
    _events.clear()
    _rows.clear()
