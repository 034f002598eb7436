"""Level 0: the package is found, registers what it should, and its device opens."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tg_core import Context, Device
from tg_core.errors import DeviceNotFound
from tg_core.plugins.catalog import Catalog
from tg_core.plugins.manager import plugins

pytestmark = pytest.mark.tg_level(0)

FACADE = "tg_core.backend"
BUILTIN = "tg_core"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    """What every plugin of this process registered."""
    return plugins().catalog


@pytest.fixture
def type_name(request: pytest.FixtureRequest) -> str:
    """The type under test, also where its device does not open."""
    name: str = request.config.getoption("--tg-device")
    return name.partition(":")[0].upper()


@pytest.mark.tg_core
def test_the_type_is_registered_by_a_package(type_name: str, catalog: Catalog) -> None:
    """An installed distribution owns the type and describes it."""
    record = catalog.type(type_name)
    reasons = "; ".join(f"{f.source}: {f.reason}" for f in plugins().failures)
    assert record is not None, f"{type_name}: no plugin in use registers the type; {reasons}"
    owner = catalog.owner(record.name)
    assert owner.source.distribution, f"{type_name}: its plugin belongs to no distribution"
    assert record.description.strip(), f"{type_name}: registered without a description"


@pytest.mark.tg_core
def test_every_lazy_reference_loads(type_name: str, catalog: Catalog) -> None:
    """What a plugin names at registration exists, so the first use cannot fail on a wrong name."""
    record = catalog.type(type_name)
    assert record is not None, f"{type_name}: not registered"
    references = [record.opener]
    references += [entry.cls for entry in catalog.interfaces(type_name)]
    references += [entry.cls for entry in catalog.renderers(type_name)]
    references += [entry.cls for entry in catalog.queues(type_name)]
    allocator = catalog.allocator(type_name)
    assert allocator is not None, f"{type_name}: no allocator is registered"
    for reference in [*references, allocator.cls]:
        assert callable(reference.load()), f"{type_name}: {reference.text} is not callable"


@pytest.mark.tg_core
def test_registration_imports_nothing_it_only_names(type_name: str, catalog: Catalog) -> None:
    """Discovery is cheap: the modules of devices, renderers and so on come with their first use."""
    record = catalog.type(type_name)
    assert record is not None, f"{type_name}: not registered"
    owner = catalog.owner(type_name)
    named = {record.opener.text, *(r.cls.text for r in catalog.renderers(type_name))}
    named |= {r.cls.text for r in catalog.interfaces(type_name)}
    modules = {text.partition(":")[0] for text in named} - {owner.source.module}
    own = owner.source.module.partition(".")[0]
    modules = {m for m in modules if m.partition(".")[0] == own}
    code = (
        "import sys\nfrom tg_core.plugins.manager import plugins\nplugins()\n"
        f"print(*[m for m in {sorted(modules)!r} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, f"{type_name}: discovery fails: {done.stderr}"
    found = done.stdout.split()
    if own == BUILTIN:
        found = [m for m in found if m.startswith("tg_core.renderer")]
    assert not found, f"{type_name}: registration already imports {', '.join(found)}"


@pytest.mark.tg_core
def test_the_package_imports_only_the_facade_of_core(type_name: str, catalog: Catalog) -> None:
    """Nothing but `tg_core.backend` is covered by the hook version, or will stay as it is."""
    owner = catalog.owner(type_name)
    if owner.source.builtin:
        return
    origin = owner.module.__file__
    assert origin is not None, f"{type_name}: {owner.source.module} has no file"
    module = Path(origin)
    # a package is the folder of its plugin module
    in_package = "." in owner.source.module or module.name == "__init__.py"
    files = sorted(module.parent.rglob("*.py")) if in_package else [module]
    wrong = [f"{file.name} imports {module}" for file in files for module in _private(file)]
    assert not wrong, f"{type_name}: import it from {FACADE}: {'; '.join(wrong)}"


def _private(file: Path) -> list[str]:
    """Return the modules of core that a file imports and that are not the facade."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == BUILTIN:
                names = [f"{BUILTIN}.{alias.name}" for alias in node.names]
        found += [n for n in names if n.partition(".")[0] == BUILTIN and n != FACADE]
    return found


@pytest.mark.tg_core
def test_the_device_opens_and_says_what_it_is(tg_device: str, type_name: str) -> None:
    """The opened device carries the type it is registered under, and is opened once."""
    opened = Device[tg_device]
    assert opened.type == type_name, f"{tg_device}: opened as type {opened.type!r}"
    assert opened.name == tg_device, f"{tg_device}: opened with the name {opened.name!r}"
    assert opened.index == 0, f"{tg_device}: opened with index {opened.index}"
    assert Device[tg_device] is opened, f"{tg_device}: opened a second time"
    opened.synchronize()


@pytest.mark.tg_core
def test_the_name_is_accepted_in_any_case(tg_device: str) -> None:
    """Device names do not depend on case."""
    for name in (tg_device.lower(), tg_device.title(), f"{tg_device}:0"):
        found = Device.canonicalize(name)
        assert found == tg_device, f"{name}: taken for {found}, expected {tg_device}"


@pytest.mark.parametrize("target", ["NOSUCHINTERFACE+{}", "{}:NOSUCHRENDERER"])
def test_a_wrong_target_is_answered_with_the_right_ones(type_name: str, target: str) -> None:
    """An unknown interface or renderer is an error that lists the known ones."""
    with Context(DEV=target.format(type_name)), pytest.raises(DeviceNotFound) as caught:
        _ = Device[type_name].renderer
    message = str(caught.value)
    assert "NOSUCH" in message, f"{target}: the message does not name it: {message}"
    assert f"of {type_name}: " in message, f"{target}: the message lists no other: {message}"


@pytest.mark.tg_core
@pytest.mark.tg_needs("PROGRAMS")
def test_the_renderer_describes_itself(tg_device: str) -> None:
    """Its limits are positive, its dtypes are known, and its key does not change."""
    renderer = Device[tg_device].renderer
    limits = (*renderer.global_max, *renderer.local_max, renderer.max_buffers)
    assert all(limit >= 1 for limit in limits), f"{tg_device}: a launch limit of {min(limits)}"
    assert renderer.vector_bytes >= 0, f"{tg_device}: vector_bytes {renderer.vector_bytes}"
    assert renderer.native_dtypes, f"{tg_device}: arithmetic in no dtype at all"
    again = type(renderer)(Device[tg_device].arch)
    assert again.key == type(renderer)(Device[tg_device].arch).key, (
        f"{tg_device}: two renderers of one target have different keys, so caches never hit"
    )
    assert renderer.version, f"{tg_device}: the renderer has no version, so caches never expire"


PROMISES = {
    "PROGRAMS": [("device", "load_program")],
    "HOST_VISIBLE": [("allocator", "as_memoryview")],
    "HOST_CALL": [
        ("device", "program_address"),
        ("device", "runner_address"),
        ("allocator", "address"),
    ],
}
"""What each capability promises: methods of the device and of its allocator."""


@pytest.mark.tg_core
def test_capabilities_keep_their_promises(tg_device: str, catalog: Catalog) -> None:
    """What a declared capability needs is there."""
    from tg_core.backend import Allocator, Compiled

    opened = Device[tg_device]
    for capability in sorted(opened.capabilities, key=str):
        for owner, method in PROMISES.get(capability.name, []):
            given = type(opened if owner == "device" else opened.allocator)
            base = Compiled if owner == "device" else Allocator
            assert getattr(given, method) is not getattr(base, method), (
                f"{tg_device}: declares {capability.name}, but {given.__name__} has no {method}"
            )
        if capability.name in ("QUEUES", "COPY_QUEUE"):
            kind = "COMPUTE" if capability.name == "QUEUES" else "COPY"
            kinds = [record.kind for record in catalog.queues(opened.type)]
            assert kind in kinds, (
                f"{tg_device}: declares {capability.name}, but registers no {kind} queue"
            )


@pytest.mark.parametrize("hook", ["pm_batch", "pm_encode", "pm_lower", "pm_bufferize"])
def test_device_hooks_answer(tg_device: str, hook: str) -> None:
    """A hook gives rules or declines, the same each time."""
    from tg_core.plugins.dispatch import device_matcher

    opened = Device[tg_device]
    assert device_matcher(opened, hook) is device_matcher(opened, hook), (  # type: ignore[arg-type]
        f"{tg_device}: {hook} answers twice with different rules"
    )


def test_the_report_header_is_lines_of_text(type_name: str, catalog: Catalog) -> None:
    """What the package adds to `tg env` can be printed."""
    lines = plugins().call_one("tg_report_header", catalog.owner(type_name))
    for line in lines or ():  # type: ignore[attr-defined]  # checked here
        assert isinstance(line, str), f"{type_name}: tg_report_header gives {line!r}"
