"""Runs the suite on a backend once for each fault, each in a fork of this process.

What takes time, importing pytest, numpy and the compiler, is done once. No plugin is loaded before
the fork, so each child discovers the backend with its own fault.

Arguments are the device type and the environment variable that names its fault. Standard input is JSON: a list of `[fault, files, expression]`. Standard output is a JSON object a
line: the fault, the exit code, the report and what was printed.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
import traceback
from importlib.util import find_spec
from pathlib import Path

import pytest

# imported for the children; none of it discovers plugins. The suite is not: pytest would complain
# that it cannot rewrite the assertions of what is imported already.
import tg_core.backend
import tg_core.codegen
import tg_core.jit
import tg_core.tensor

SUITE = find_spec("tg_conformance")
assert SUITE is not None and SUITE.origin is not None
SETTINGS = Path(SUITE.origin).parent / "suite" / "pytest.ini"


def run_one(fault: str, files: list[str], expression: str, folder: str) -> dict[str, object]:
    """Run the tests that are to catch a fault, and return what came of it."""
    device, variable = sys.argv[1:]
    os.environ[variable] = "" if fault.startswith("sound") else fault
    os.environ["TG_CACHE_DIR"] = folder
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    tg_core.config.TG_CACHE_DIR.set(folder)
    report = Path(folder) / "report.json"
    arguments = ["-c", str(SETTINGS), "--rootdir", str(SETTINGS.parent)]
    arguments += ["-p", "tg_conformance.pytest_plugin"]
    arguments += [*(str(SETTINGS.parent / file) for file in files), "-k", expression, "-q"]
    arguments += ["--tg-device", device, "--tg-report", str(report)]
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = pytest.main(arguments)
    return {
        "fault": fault,
        "code": int(code),
        "report": json.loads(report.read_text()) if report.exists() else {},
        "output": output.getvalue(),
    }


def main() -> None:
    """Fork once for each request."""
    for fault, files, expression in json.load(sys.stdin):
        with tempfile.TemporaryDirectory(prefix="tg-planted-") as folder:
            place = Path(folder) / "result.json"
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    place.write_text(json.dumps(run_one(fault, files, expression, folder)))
                    code = 0
                except Exception:
                    traceback.print_exc()
                finally:
                    os._exit(code)
            os.waitpid(child, 0)
            result = json.loads(place.read_text()) if place.exists() else {"fault": fault}
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
