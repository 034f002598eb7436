"""A call's body -> LINEAR of calls of kernels and copies, in order."""

from __future__ import annotations

import time

from tg_core.config import DEBUG, SCACHE, codegen_state
from tg_core.errors import FileFormatError
from tg_core.schedule.abilities import has_row_kernels, most_reads
from tg_core.support.disk_cache import DiskCache
from tg_core.support.source_digest import source_digest
from tg_core.support.trace import span
from tg_core.uop.graph import toposort
from tg_core.uop.ops import Ops, UOp
from tg_core.uop.serialize import dump_uop, load_uop

_cache: dict[tuple[UOp, str | None], UOp] = {}
_CACHE_SIZE = 4096
_disk = DiskCache("schedules")


def schedule_body(body: UOp, default_device: str | None = None) -> UOp:
    """Turn the body of a call into a LINEAR of calls.

    Args:
        body: a SINK of states, in canonical numbering (`callify`).
        default_device: where values without a device are computed.

    Returns:
        LINEAR of `CALL(SINK(kernel), storage..., variables...)` and `CALL(COPY, dst, src)`.
        Arguments are the body's parameters, unbound buffers, or SHRINKs and BITCASTs of either.

    Raises:
        ScheduleError: writes depend on each other in a way no order satisfies.
    """
    key = (body, default_device)
    found = _cache.get(key)
    if found is None or not SCACHE.value:
        started = time.perf_counter()
        with span("schedule", "schedule"):
            found = _from_disk(body, default_device)
        if DEBUG.value >= 1:
            took = (time.perf_counter() - started) * 1e3
            print(f"scheduled {len(found.src)} calls in {took:.2f} ms")
        if len(_cache) >= _CACHE_SIZE:
            _cache.pop(next(iter(_cache)))
        _cache[key] = found
    return found


def clear_schedules() -> None:
    """Forget every schedule of this process."""
    _cache.clear()


def _from_disk(body: UOp, default_device: str | None) -> UOp:
    """Return a schedule from the disk cache, or make it and keep it there."""
    if not SCACHE.value:
        return _made(body, default_device)
    key = _disk_key(body, default_device)
    data = _disk.get(key)
    if data is not None:
        try:
            kept = load_uop(data)
        except FileFormatError:
            kept = body  # an entry of another version of our classes is as good as missing
        if kept.op is Ops.LINEAR:
            return kept
    linear = _made(body, default_device)
    _disk.put(key, dump_uop(linear))
    return linear


def _disk_key(body: UOp, default_device: str | None) -> bytes:
    """Return what a schedule depends on: the body, what its devices can do, settings, and the
    sources of the scheduler.
    """
    devices = sorted({n.device for n in toposort((body,)) if isinstance(n.device, str)})
    if default_device is not None:
        devices.append(default_device)
    abilities = [f"{d}:{has_row_kernels(d)}:{most_reads(d)}" for d in devices]
    digest = source_digest("tg_core.uop", "tg_core.dtype", "tg_core.callify", "tg_core.schedule")
    return body.key + "\0".join((*abilities, repr(codegen_state()), digest)).encode()


def _made(body: UOp, default_device: str | None) -> UOp:
    # a process that finds what it needs on disk does not load the scheduler
    from tg_core.schedule.make_schedule import make_schedule

    return make_schedule(body, default_device)
