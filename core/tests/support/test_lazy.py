"""Names that are imported when they are first used."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

from tg_core.support.lazy import lazy_names


def test_a_name_is_imported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    package = ModuleType("package")
    monkeypatch.setitem(sys.modules, "package", package)
    get, names = lazy_names("package", {"sqrt": "math"})
    assert "sqrt" in names()
    assert get("sqrt")(4.0) == 2.0
    assert package.sqrt is get("sqrt")
    with pytest.raises(AttributeError, match="module 'package' has no attribute 'missing'"):
        get("missing")
    assert names().count("sqrt") == 1


@pytest.mark.parametrize(
    ("package", "late"),
    [
        ("tg_core.backend", ["tg_core.device.queues.compiled", "tg_core.support.emulation"]),
        ("tg_core.codegen", ["tg_core.codegen.optimize", "tg_core.codegen.pipeline"]),
        ("tg_core.hcq", ["tg_core.hcq.link_queues", "tg_core.hcq.submits"]),
        ("tg_core.schedule", ["tg_core.schedule.make_schedule", "tg_core.schedule.indexing"]),
    ],
)
def test_packages_load_what_few_need_when_it_is_needed(package: str, late: list[str]) -> None:
    code = f"""
import sys, {package}
package = sys.modules[{package!r}]
assert not [name for name in {late!r} if name in sys.modules]
assert not set(package.__all__) - set(dir(package))
assert not [name for name in {late!r} if name in sys.modules]
for name in package.__all__:
    assert getattr(package, name) is not None, name
assert sorted(package.__all__, key=lambda n: (not n.isupper(), not n[0].isupper(), n)) == package.__all__
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
