"""Layers, optimizers and state files, built on tensors alone."""

from __future__ import annotations

from tg_core.nn import optim, state
from tg_core.nn.batchnorm import BatchNorm, BatchNorm2d
from tg_core.nn.conv import Conv1d, Conv2d
from tg_core.nn.conv_transpose import ConvTranspose1d, ConvTranspose2d
from tg_core.nn.dropout import Dropout
from tg_core.nn.embedding import Embedding
from tg_core.nn.groupnorm import GroupNorm, InstanceNorm
from tg_core.nn.layernorm import LayerNorm
from tg_core.nn.linear import Linear
from tg_core.nn.lstm import LSTMCell
from tg_core.nn.rmsnorm import RMSNorm

__all__ = [
    "BatchNorm",
    "BatchNorm2d",
    "Conv1d",
    "Conv2d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "Dropout",
    "Embedding",
    "GroupNorm",
    "InstanceNorm",
    "LSTMCell",
    "LayerNorm",
    "Linear",
    "RMSNorm",
    "optim",
    "state",
]
