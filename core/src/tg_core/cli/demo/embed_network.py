"""The BERT encoder of the sentence embeddings demo.

Attributes are named as the tensors of the published file, so that its state dict loads as it is.

Source: J. Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language
Understanding" (2019); N. Reimers and I. Gurevych, "Sentence-BERT" (2019) for the pooling.
"""

from __future__ import annotations

from dataclasses import dataclass

from tg_core import nn
from tg_core.tensor import Tensor

__all__ = ["BertConfig", "BertEncoder"]


@dataclass(frozen=True)
class BertConfig:
    """Sizes of an encoder, named as in a published `config.json`."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    max_position_embeddings: int
    type_vocab_size: int
    layer_norm_eps: float


class Embeddings:
    """Word, position and segment embeddings, summed and normalized."""

    def __init__(self, config: BertConfig) -> None:
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)

    def __call__(self, ids: Tensor) -> Tensor:
        """Return embeddings of shape `(batch, tokens, hidden)`; every token is in segment 0."""
        positions = self.position_embeddings.weight[: ids.shape[1]]
        segment = self.token_type_embeddings.weight[0]
        return self.LayerNorm(self.word_embeddings(ids) + positions + segment)


class SelfAttention:
    """Multi-head attention over the tokens that the mask lets through."""

    def __init__(self, config: BertConfig) -> None:
        self.heads = config.num_attention_heads
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)

    def __call__(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return the attended values, of the shape of `x`."""
        query, key, value = (
            layer(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        attended = query.scaled_dot_product_attention(key, value, attn_mask=mask)
        return attended.transpose(1, 2).flatten(2)


class Residual:
    """A linear layer whose result is added to the input of its block and normalized."""

    def __init__(self, in_features: int, config: BertConfig) -> None:
        self.dense = nn.Linear(in_features, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)

    def __call__(self, x: Tensor, block_input: Tensor) -> Tensor:
        """Return the normalized sum, of the shape of `block_input`."""
        return self.LayerNorm(self.dense(x) + block_input)


class Attention:
    """Self-attention and its residual."""

    def __init__(self, config: BertConfig) -> None:
        self.self = SelfAttention(config)
        self.output = Residual(config.hidden_size, config)

    def __call__(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return a tensor of the shape of `x`."""
        return self.output(self.self(x, mask), x)


class Intermediate:
    """The widening half of the feed-forward block."""

    def __init__(self, config: BertConfig) -> None:
        self.dense = nn.Linear(config.hidden_size, config.intermediate_size)

    def __call__(self, x: Tensor) -> Tensor:
        """Return activations of shape `(batch, tokens, intermediate)`."""
        return self.dense(x).gelu(approximate="none")


class Layer:
    """One transformer layer: attention, then a feed-forward block."""

    def __init__(self, config: BertConfig) -> None:
        self.attention = Attention(config)
        self.intermediate = Intermediate(config)
        self.output = Residual(config.intermediate_size, config)

    def __call__(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return a tensor of the shape of `x`."""
        attended = self.attention(x, mask)
        return self.output(self.intermediate(attended), attended)


class Layers:
    """The stack of layers."""

    def __init__(self, config: BertConfig) -> None:
        self.layer = [Layer(config) for _ in range(config.num_hidden_layers)]

    def __call__(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return a tensor of the shape of `x`."""
        for layer in self.layer:
            x = layer(x, mask)
        return x


class BertEncoder:
    """Token ids to one unit vector per sentence: the mean over its tokens, normalized."""

    def __init__(self, config: BertConfig) -> None:
        self.embeddings = Embeddings(config)
        self.encoder = Layers(config)

    def __call__(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return sentence embeddings.

        Args:
            ids: token ids, shape `(batch, tokens)`, any integer dtype.
            mask: which of them are tokens and not padding, same shape, bool.

        Returns:
            Vectors of length 1, shape `(batch, hidden)`.
        """
        hidden = self.encoder(self.embeddings(ids), mask[:, None, None, :])
        kept = mask[:, :, None].cast(hidden.dtype)
        mean = (hidden * kept).sum(axis=1) / kept.sum(axis=1)
        return mean / mean.square().sum(axis=1, keepdim=True).sqrt()
