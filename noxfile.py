"""Development sessions, as `nox -s NAME`; CONTRIBUTING.md says what each does."""

from __future__ import annotations

from pathlib import Path

import nox

PACKAGES = ("./core[test,verify,io,demo]", "./plugins/tg-cpu", "./conformance")
PINS = {
    line.split("==")[0]: line
    for line in Path("requirements-dev.txt").read_text(encoding="utf-8").split()
    if "==" in line
}

nox.options.sessions = ["lint", "types", "contracts", "tests"]
nox.options.reuse_existing_virtualenvs = True


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests against installed packages."""
    session.install(PINS["hatchling"], *PACKAGES)
    session.run("pytest", *(session.posargs or ("-n", "2")))


@nox.session
def fuzz(session: nox.Session) -> None:
    """Simplify 100,000 random expressions and compare their values."""
    session.install(PINS["hatchling"], *PACKAGES)
    session.env["FUZZ_EXPRESSIONS"] = "100000"
    session.run(
        "pytest", "core/tests/uop/symbolic/test_simplify.py", *(session.posargs or ("-n", "2"))
    )


@nox.session
def judges(session: nox.Session) -> None:
    """Compare every op with PyTorch, 20,000 cases on the CPU and 2,000 on the interpreter, and
    write `reports/torch_ops.json`.
    """
    session.install(PINS["hatchling"], "./core[test,judges]", "./plugins/tg-cpu")
    session.env["JUDGE_REPORT"] = "reports/torch_ops.json"
    for device, examples in (("CPU", "130"), ("PYTHON", "15")):
        session.env["DEV"], session.env["JUDGE_EXAMPLES"] = device, examples
        session.run("pytest", "core/tests/judges/test_torch_ops.py", *session.posargs)


@nox.session
def proofs(session: nox.Session) -> None:
    """Run the tests with every access of every kernel proved in bounds, or refused."""
    session.install(PINS["hatchling"], *PACKAGES)
    session.env["CHECK_OOB"] = "1"
    session.run("pytest", *(session.posargs or ("-n", "2")))


@nox.session
def lint(session: nox.Session) -> None:
    """Check format and lint; `nox -s lint -- --fix` repairs."""
    session.install(PINS["ruff"])
    fix = "--fix" in session.posargs
    session.run("ruff", "format", *(() if fix else ("--check",)), ".")
    session.run("ruff", "check", *(("--fix",) if fix else ()), ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check types, strictly."""
    session.install(PINS["mypy"], *PACKAGES)
    session.run("mypy")


@nox.session
def contracts(session: nox.Session) -> None:
    """Check the import order."""
    session.install(PINS["import-linter"], *PACKAGES)
    session.run("lint-imports")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation; a broken link fails."""
    session.install("mkdocs==1.6.1")
    session.run("mkdocs", "build", "--strict")


@nox.session
def bench(session: nox.Session) -> None:
    """Run every benchmark and print its JSON."""
    session.install(*PACKAGES)
    for script in sorted(Path("benchmarks").glob("bench_*.py")):
        session.run("python", str(script), *session.posargs)


@nox.session
def conformance(session: nox.Session) -> None:
    """Run the conformance suite on what comes with core, or `nox -s conformance -- --device X`."""
    session.install(*PACKAGES)
    ours = [argument for name in ("CPU", "PYTHON", "REF") for argument in ("--device", name)]
    ours += ["--report", "reports/conformance-{device}.json"]
    ours += ["--report", "docs/conformance-{device}.html"]
    session.run("tg-conformance", *(session.posargs or ours))


@nox.session
def orders(session: nox.Session) -> None:
    """Run 2,000 random graphs in 100 orders each on REF: `reports/conformance-orders.json`."""
    session.install(*PACKAGES)
    report = ("--report", "reports/conformance-orders.json")
    session.run("tg-conformance", "--device", "REF", "--level", "3", "--thorough", *report)


@nox.session
def waits(session: nox.Session) -> None:
    """Leave out each wait of 150 pairs of batches: `reports/conformance-waits.json`."""
    session.install(PINS["hatchling"], *PACKAGES)
    session.env["TG_WAIT_GRAPHS"] = "150"
    session.env["TG_WAIT_REPORT"] = "reports/conformance-waits.json"
    session.run("pytest", "conformance/tests/refdev/test_waits.py", "-p", "no:xdist")


@nox.session
def faults(session: nox.Session) -> None:
    """Plant every fault, see that it is caught, and write `reports/planted-faults.md`."""
    session.install(PINS["hatchling"], *PACKAGES)
    session.run("python", "conformance/tests/write_planted_faults.py")
    session.env["TG_ALL_FAULTS"] = "1"
    session.run("pytest", "conformance/tests/test_reference_faults.py")


@nox.session
def full(session: nox.Session) -> None:
    """Run everything a release needs."""
    for name in (
        "lint",
        "types",
        "contracts",
        "docs",
        "tests",
        "fuzz",
        "judges",
        "proofs",
        "conformance",
        "orders",
        "waits",
        "faults",
        "bench",
    ):
        session.notify(name)
