"""The time line of PROFILE."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from tg_core import Context, Device, Tensor
from tg_core.support.trace import _origin, clear_trace, span, write_trace


def test_schedule_compile_copies_and_kernels_are_on_the_time_line(tmp_path: Path) -> None:
    clear_trace()
    with Context(PROFILE=1, CACHE=0, SCACHE=0):
        total = (Tensor([[1.0, 2.0], [3.0, 4.5]]) @ Tensor([[1.0], [0.25]]) + 7).sum()
        assert total.item() == 1 + 0.5 + 3 + 1.125 + 14
    path = tmp_path / "trace.json"
    assert write_trace(str(path)) == str(path)
    written = json.loads(path.read_text())["traceEvents"]
    clear_trace()
    events = [e for e in written if e["ph"] != "M"]
    names = {(e["name"], e["tid"]): e["args"] for e in written if e["ph"] == "M"}
    assert {e["pid"] for e in written} == {os.getpid()}
    assert names["process_name", 0]["name"]
    for row in {e["tid"] for e in events}:
        assert names["thread_name", row]["name"]
    order = [names["thread_sort_index", row]["sort_index"] for row in {e["tid"] for e in events}]
    assert sorted(order) == list(range(len(order)))
    assert any(args.get("name") == Device.DEFAULT for args in names.values())
    launches = sorted(e["name"] for e in events if e["cat"] == "launch")
    assert launches == sorted(f"launch {e['name']}" for e in events if e["cat"] == "kernel")
    assert {"schedule", "kernel", "copy"} <= {e["cat"] for e in events}
    for event in events:
        assert event["ph"] == "X"
        assert event["dur"] >= 0
        assert event["ts"] >= 0
        assert event["pid"] == os.getpid()
        assert (event["tid"] == threading.get_native_id()) or event["cat"] in {"compile", "kernel"}
        assert event["name"]
        assert all(math.isfinite(event[key]) for key in ("ts", "dur"))
        assert event["ts"] + event["dur"] <= (time.perf_counter() - _origin) * 1e6
    # one track: what overlaps is nested, as a viewer draws it
    mine = sorted(
        ((e["ts"], e["ts"] + e["dur"]) for e in events if e["tid"] == threading.get_native_id()),
        key=lambda times: (times[0], -times[1]),
    )
    open_until: list[float] = []
    for begin, end in mine:
        while open_until and open_until[-1] <= begin + 0.5:
            open_until.pop()
        assert not open_until or end <= open_until[-1] + 0.5, "in microseconds"
        open_until.append(end)
    copied = [e["args"]["bytes"] for e in events if e["cat"] == "copy"]
    assert sorted(copied) == [8, 16]
    kernels = [e for e in events if e["cat"] == "kernel"]
    for event in kernels:
        assert {"device", "gflops", "gbytes_per_second", "global_size"} <= set(event["args"])
        assert event["args"]["gflops"] >= 0
    assert all(e["args"]["device"] for e in kernels)
    starts = [e["ts"] for e in kernels]
    assert starts == sorted(starts)


def test_nothing_is_recorded_when_it_is_off(tmp_path: Path) -> None:
    clear_trace()
    with span("a", "kernel"):
        pass
    assert write_trace(str(tmp_path / "trace.json")) is None


def test_trace_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    target = str(tmp_path / "missing" / "trace.json")
    code = "from tg_core.support.trace import span\nwith span('a', 'kernel'): pass"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PROFILE": "1", "PROFILE_FILE": target},
    )
    assert done.stderr == f"PROFILE: cannot write {target}: No such file or directory\n"
