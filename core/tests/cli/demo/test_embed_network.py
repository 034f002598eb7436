"""The encoder of the embeddings demo computes what PyTorch computes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tg_core import Tensor
from tg_core.cli.demo.embed_network import BertConfig, BertEncoder
from tg_core.nn.state import get_state_dict, load_state_dict

FOLDER = Path(__file__).parent
REFERENCE = np.load(FOLDER / "embed_reference.npz")


def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("embed_reference", FOLDER / "embed_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generator = load_generator()


def tiny_encoder() -> BertEncoder:
    network = BertEncoder(BertConfig(**generator.TINY))
    shapes = {name: tuple(t.shape) for name, t in get_state_dict(network).items()}
    weights = generator.tiny_weights(shapes)
    load_state_dict(network, {name: Tensor(array) for name, array in weights.items()})
    return network


def test_a_small_encoder_agrees_with_pytorch() -> None:
    ids, mask = generator.tiny_batch()
    found = tiny_encoder()(Tensor(ids), Tensor(mask)).numpy()
    np.testing.assert_allclose(found, REFERENCE["tiny"], rtol=0, atol=2e-6)


def test_padding_changes_nothing() -> None:
    ids, mask = generator.tiny_batch()
    more = ((0, 0), (0, 5))
    network = tiny_encoder()
    short = network(Tensor(ids), Tensor(mask)).numpy()
    long = network(Tensor(np.pad(ids, more, constant_values=7)), Tensor(np.pad(mask, more)))
    np.testing.assert_allclose(long.numpy(), short, rtol=0, atol=1e-6)


def test_vectors_have_length_one() -> None:
    ids, mask = generator.tiny_batch()
    found = tiny_encoder()(Tensor(ids), Tensor(mask)).numpy()
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), np.ones(3), rtol=1e-6)


@pytest.mark.parametrize("name", ["word_embeddings", "LayerNorm"])
def test_names_are_those_of_the_published_file(name: str) -> None:
    names = get_state_dict(BertEncoder(BertConfig(**generator.TINY)))
    assert f"embeddings.{name}.weight" in names
    assert "encoder.layer.1.attention.self.query.weight" in names
    assert "encoder.layer.0.attention.output.LayerNorm.bias" in names
