"""Settings every test of the repository runs under."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile

# Read once when tg_core is imported, so they are set here, before any test module is collected.
os.environ.setdefault("SPEC", "1")
# A shell starts what it runs in the background with Ctrl-C ignored; tests send it to themselves.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Matplotlib, should a test draw, must not look for a display.
os.environ.setdefault("MPLBACKEND", "Agg")


def _isolate_cache() -> None:
    """Give this process a compile cache of its own, so no test depends on an earlier run."""
    folder = tempfile.mkdtemp(prefix="tg-test-cache-")
    os.environ["TG_CACHE_DIR"] = folder
    os.environ["PROFILE_FILE"] = os.path.join(folder, "tg_trace.json")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)


_isolate_cache()
