"""`VIZ=1 python program.py`: everything is recorded, and the page is written at exit."""

from __future__ import annotations

import atexit
import sys
from pathlib import Path

from tg_core.config import CACHE, VIZ_FILE


def write_at_exit() -> None:
    """Arrange for the page at the end of this process, and let nothing come from the disk cache."""
    CACHE.set(0)
    atexit.register(_write)


def _write() -> None:
    # a process that rewrote nothing has not even loaded the compiler
    record = sys.modules.get("tg_core.uop.record")
    recorder = None if record is None else record.recorder()
    if recorder is None or not recorder.stages:
        return
    from tg_core.viz.page import write_page
    from tg_core.viz.report import build_report

    path = Path(VIZ_FILE.value)
    try:
        write_page(build_report(recorder, Path(sys.argv[0]).name), path)
    except OSError as error:
        print(f"VIZ: cannot write {path}: {error.strerror}", file=sys.stderr)
        return
    print(f"VIZ: {len(recorder.stages)} stages in {path}", file=sys.stderr)
