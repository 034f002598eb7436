"""Layers, optimizers and state files, built on tensors alone."""

from __future__ import annotations

from tg_core.nn import optim, state
from tg_core.nn.batchnorm import BatchNorm, BatchNorm2d
from tg_core.nn.conv import Conv2d
from tg_core.nn.dropout import Dropout
from tg_core.nn.embedding import Embedding
from tg_core.nn.layernorm import LayerNorm
from tg_core.nn.linear import Linear

__all__ = [
    "BatchNorm",
    "BatchNorm2d",
    "Conv2d",
    "Dropout",
    "Embedding",
    "LayerNorm",
    "Linear",
    "optim",
    "state",
]
