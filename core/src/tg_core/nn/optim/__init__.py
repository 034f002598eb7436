"""Optimizers: `SGD`, `Adam`, `AdamW`."""

from __future__ import annotations

from tg_core.nn.optim.adam import Adam, AdamW
from tg_core.nn.optim.api import Optimizer
from tg_core.nn.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
