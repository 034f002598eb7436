"""Development sessions, as `nox -s NAME`; CONTRIBUTING.md says what each does.

A judge checks a promise on many generated cases and writes what it counted to `reports/`. Its
number of cases is an environment variable, named here with its value for a release.

`nox --no-venv` takes what the running Python has instead of installing.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import nox

PACKAGES = ("./core[test,verify,io,demo,onnx]", "./plugins/tg-cpu", "./conformance")
PINS = {
    line.split("==")[0]: line
    for line in Path("requirements-dev.txt").read_text(encoding="utf-8").split()
    if "==" in line
}
JUDGES = (
    "accuracy", "array_api", "damaged_files", "divisions", "faults", "fuzz", "onnx_nodes",
    "orders", "proofs", "storage", "torch_ops", "waits",
)  # fmt: skip
"""Sessions that write a report."""
FULL = ("lint", "types", "contracts", "docs", "tests", *JUDGES, "conformance", "bench")
OWN_PROCESSES = (
    "conformance/tests/test_guide.py",
    "conformance/tests/test_planted_faults.py",
    "conformance/tests/test_reference_faults.py",
    "conformance/tests/test_scaffold.py",
    "core/tests/cli",
    "core/tests/engine/test_second_process.py",
    "core/tests/test_packaging.py",
)
"""Tests that compile nothing in their own process."""

nox.options.sessions = ["lint", "types", "contracts", "tests"]
nox.options.reuse_existing_virtualenvs = True


def install(session: nox.Session, *packages: str) -> None:
    """Install packages, unless the session is to use what is there."""
    if session.virtualenv.venv_backend != "none":
        session.install(PINS["hatchling"], *packages)


def judge(session: nox.Session, path: str, report: str, **counts: str) -> None:
    """Run a judge.

    Args:
        session: the session, with what the judge needs installed.
        path: the tests.
        report: name of the report, and of the variable that names it for the tests.
        counts: environment variables and their values, where they are not set.
    """
    variable, _, name = report.partition("=")
    session.env[variable] = os.environ.get(variable, f"reports/{name}")
    session.env.update({key: os.environ.get(key, value) for key, value in counts.items()})
    session.run("pytest", path, *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests against installed packages."""
    install(session, *PACKAGES)
    session.run("pytest", *(session.posargs or ("-n", "2")))


@nox.session
def accuracy(session: nox.Session) -> None:
    """Measure elementary functions over 15 million arguments each; writes `docs/numerics.md`."""
    install(session, *PACKAGES)
    session.env["ACCURACY_REPORT"] = os.environ.get("ACCURACY_REPORT", "reports/accuracy.json")
    session.run("python", "core/tests/accuracy_table.py", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Simplify 100,000 random expressions: values, bounds, fixed points, number of rewrites."""
    install(session, *PACKAGES)
    path = "core/tests/uop/symbolic/test_simplify.py"
    judge(session, path, "FUZZ_REPORT=simplify_fuzz.json", FUZZ_EXPRESSIONS="100000")


@nox.session
def divisions(session: nox.Session) -> None:
    """Divide by every divisor of 16 bits, and by random ones of 32 and 64, without division."""
    install(session, *PACKAGES)
    path = "core/tests/codegen/decompositions/test_divide_by_multiplication.py"
    judge(session, path, "DIVISION_REPORT=magic_division.json")


@nox.session
def proofs(session: nox.Session) -> None:
    """Run the tests with every access of every kernel proved in bounds, or refused and listed."""
    install(session, *PACKAGES)
    session.env["CHECK_OOB"] = "1"
    session.env["PYTHONPATH"] = "core/tests"
    session.env["INDEX_PROOFS_REPORT"] = os.environ.get(
        "INDEX_PROOFS_REPORT", "reports/index_proofs.json"
    )
    ignored = [f"--ignore={path}" for path in OWN_PROCESSES]
    session.run("pytest", "-p", "index_proofs", *ignored, *(session.posargs or ("-n", "2")))


@nox.session
def torch_ops(session: nox.Session) -> None:
    """Compare every op with PyTorch: 20,000 cases on the CPU, 2,000 on the interpreter."""
    install(session, "./core[test,judges]", "./plugins/tg-cpu")
    path = "core/tests/judges/test_torch_ops.py"
    for device, examples in (("CPU", "130"), ("PYTHON", "15")):
        session.env["DEV"] = device
        judge(session, path, "JUDGE_REPORT=torch_ops.json", JUDGE_EXAMPLES=examples)


@nox.session
def array_api(session: nox.Session) -> None:
    """Compare every function of the Python array API standard with `array-api-strict`."""
    install(session, "./core[test,judges]", "./plugins/tg-cpu")
    path = "core/tests/judges/test_array_api.py"
    judge(session, path, "JUDGE_REPORT=array_api.json", JUDGE_EXAMPLES="100")


@nox.session
def damaged_files(session: nox.Session) -> None:
    """Load 5,000 damaged files of each format: an error that names the file, or values."""
    install(session, *PACKAGES)
    path = "core/tests/nn/state/test_damaged_files.py"
    judge(session, path, "JUDGE_REPORT=damaged_files.json", FUZZ_FILES="5000")


@nox.session
def onnx_nodes(session: nox.Session) -> None:
    """Run the node tests of the `onnx` package."""
    install(session, "./core[test,judges]", "./plugins/tg-cpu")
    path = "core/tests/judges/test_onnx_nodes.py"
    judge(session, path, "ONNX_REPORT=onnx_nodes.json", ONNX_NODES="all")
    session.run("python", "core/tests/onnx_support.py")


@nox.session
def storage(session: nox.Session) -> None:
    """Compare random programs of views, writes and swaps with eager numpy."""
    install(session, *PACKAGES)
    for name in ("storage", "view", "jit"):
        path = f"core/tests/judges/test_{name}_programs.py"
        judge(session, path, "JUDGE_REPORT=storage_programs.json", JUDGE_EXAMPLES="2000")


@nox.session
def waits(session: nox.Session) -> None:
    """Take each wait out of random batches: the detector finds a race, or others imply the wait."""
    install(session, *PACKAGES)
    session.env["PYTHONPATH"] = "conformance/tests/refdev"
    session.env["TG_WAIT_GRAPHS"] = os.environ.get("TG_WAIT_GRAPHS", "1000")
    session.env["TG_WAIT_REPORT"] = os.environ.get("TG_WAIT_REPORT", "reports/waits.json")
    path = "conformance/tests/refdev/test_waits.py"
    session.run("pytest", "-p", "wait_report", path, *(session.posargs or ("-n", "2")))


@nox.session
def orders(session: nox.Session) -> None:
    """Run 2,000 random graphs (`TG_GRAPHS`) on REF in 100 orders (`TG_ORDERS`) each."""
    install(session, *PACKAGES)
    options = ["--level", "3", "--thorough", "-k", "random_graphs"]
    options += ["--report", "reports/orders.json"]
    session.run(
        "tg-conformance", "--device", "REF", *options, *(session.posargs or ("--jobs", "2"))
    )


@nox.session
def faults(session: nox.Session) -> None:
    """Plant every fault in REF, and write which test catches it to `reports/planted-faults.md`."""
    install(session, *PACKAGES)
    session.run("python", "conformance/tests/write_planted_faults.py", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check format and lint; `nox -s lint -- --fix` repairs."""
    install(session, PINS["ruff"])
    fix = "--fix" in session.posargs
    session.run("ruff", "format", *(() if fix else ("--check",)), ".")
    session.run("ruff", "check", *(("--fix",) if fix else ()), ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check types, strictly."""
    install(session, PINS["mypy"], *PACKAGES)
    session.run("mypy")


@nox.session
def contracts(session: nox.Session) -> None:
    """Check the import order."""
    install(session, PINS["import-linter"], *PACKAGES)
    session.run("lint-imports")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation; a broken link fails."""
    install(session, "mkdocs==1.6.1")
    session.run("mkdocs", "build", "--strict")


@nox.session
def bench(session: nox.Session) -> None:
    """Run every benchmark and keep its figures: `nox -s bench -- --peer-python PYTHON`.

    It takes about eleven minutes beside peers, on a machine that does nothing else.
    """
    install(session, *PACKAGES)
    for script in sorted(Path("benchmarks").glob("bench_*.py")):
        takes_peers = '"--peer-python"' in script.read_text(encoding="utf-8")
        arguments = list(session.posargs) if takes_peers else []
        name = script.stem.removeprefix("bench_")
        arguments += ["--json", f"benchmarks/results/{name}.json"]
        started = time.monotonic()
        session.run("python", str(script), *arguments, silent=True)
        session.log(f"{script.name} took {time.monotonic() - started:.0f} s")
    session.run("python", "benchmarks/table.py")


@nox.session
def conformance(session: nox.Session) -> None:
    """Run the conformance suite on what comes with core, or `nox -s conformance -- --device X`."""
    install(session, *PACKAGES)
    ours = [argument for name in ("CPU", "PYTHON", "REF") for argument in ("--device", name)]
    ours += ["--report", "reports/conformance-{device}.json"]
    ours += ["--report", "docs/conformance-{device}.html", "--jobs", "2"]
    session.run("tg-conformance", *(session.posargs or ours))
    if not session.posargs:
        session.run("python", "conformance/tests/report_page.py")


@nox.session
def judges(session: nox.Session) -> None:
    """Run every session that writes a report."""
    for name in JUDGES:
        session.notify(name)


@nox.session
def full(session: nox.Session) -> None:
    """Run everything a release needs."""
    for name in FULL:
        session.notify(name)
