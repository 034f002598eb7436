"""Compiled programs on disk."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from tg_core.codegen import clear_compiled, compile_program, disk_programs
from tg_core.config import Context
from tg_core.dtype import dtypes
from tg_core.renderer.interpreter import InterpreterRenderer
from tg_core.support.cache_folder import cache_folder
from tg_core.uop.ops import AxisType, KernelInfo, Ops, UOp


class CountingRenderer(InterpreterRenderer):
    """Counts what is compiled, over all instances."""

    compiled = 0

    def compile(self, source: str) -> bytes:
        CountingRenderer.compiled += 1
        return super().compile(source)


class NewerRenderer(CountingRenderer):
    """The same renderer in a later version."""

    @property
    def version(self) -> str:
        return "newer"


@pytest.fixture(autouse=True)
def _fresh(tmp_path: Path) -> Iterator[None]:
    CountingRenderer.compiled = 0
    with Context(TG_CACHE_DIR=str(tmp_path), CACHE=1):
        clear_compiled()
        yield
        clear_compiled()


def kernel(size: int = 8, range_id: int = 0, added: int = 1) -> UOp:
    """Return a kernel that adds a number to each element."""
    i = UOp.range(size, range_id, AxisType.LOOP)
    target = UOp.param(0, dtypes.int32, (size,), "PYTHON").index(i)
    value = UOp.param(1, dtypes.int32, (size,), "PYTHON").index(i).load()
    store = target.store(value + UOp.const(added, dtypes.int32))
    return UOp(Ops.SINK, (store.end(i),), KernelInfo())


def compiled_anew(sink: UOp, renderer: InterpreterRenderer | None = None) -> bool:
    """Compile as a new process would, and tell whether the compiler ran."""
    clear_compiled()
    before = CountingRenderer.compiled
    compile_program(sink, renderer or CountingRenderer())
    return CountingRenderer.compiled > before


def test_the_next_process_loads_the_same_program() -> None:
    first = compile_program(kernel(), CountingRenderer())
    clear_compiled()
    again = compile_program(kernel(), CountingRenderer())
    assert (again.arg, again.src[0], *again.src[2:]) == (first.arg, first.src[0], *first.src[2:])
    assert CountingRenderer.compiled == 1


def test_the_numbering_of_ranges_does_not_matter() -> None:
    assert compiled_anew(kernel(range_id=0))
    assert not compiled_anew(kernel(range_id=7))


def test_everything_the_code_depends_on_is_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiled_anew(kernel())
    assert compiled_anew(kernel(added=2))
    assert compiled_anew(kernel(size=16))
    assert compiled_anew(kernel(), NewerRenderer())
    with Context(NOOPT=1):
        assert compiled_anew(kernel())
    monkeypatch.setattr(disk_programs, "source_digest", lambda *names: "edited")
    assert compiled_anew(kernel())
    monkeypatch.undo()
    assert not compiled_anew(kernel())


def test_off() -> None:
    with Context(CACHE=0):
        assert compiled_anew(kernel())
        assert compiled_anew(kernel())
    assert list(cache_folder().rglob("*")) == []


class Evil:
    """Runs something when it is read."""

    def __reduce__(self) -> tuple[object, ...]:
        return (print, ("evil",))


@pytest.mark.parametrize(
    "entry",
    [pickle.dumps(Evil()), pickle.dumps("text"), b"", b"garbage", pickle.dumps(UOp.const(1))],
    ids=["code", "other", "empty", "garbage", "no-program"],
)
def test_what_is_no_program_is_a_miss(entry: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    assert compiled_anew(kernel())
    renderer = CountingRenderer()
    normal = compile_program(kernel(), renderer).src[0]
    key = disk_programs._key(normal, renderer, disk_programs_state())
    disk_programs._cache.put(key, entry)
    assert compiled_anew(kernel())
    assert "evil" not in capsys.readouterr().out


def disk_programs_state() -> object:
    from tg_core.config import codegen_state

    return codegen_state()
