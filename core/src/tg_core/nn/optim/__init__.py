"""Optimizers, groups of them, and learning-rate schedules."""

from __future__ import annotations

from tg_core.nn.optim.adam import Adam, AdamW
from tg_core.nn.optim.api import Optimizer
from tg_core.nn.optim.group import OptimizerGroup
from tg_core.nn.optim.layerwise import LAMB, LARS
from tg_core.nn.optim.muon import Muon
from tg_core.nn.optim.schedules import (
    CosineAnnealingLR,
    ExponentialLR,
    LinearWarmupLR,
    MultiStepLR,
    OneCycleLR,
    Schedule,
)
from tg_core.nn.optim.sgd import SGD

__all__ = [
    "LAMB",
    "LARS",
    "SGD",
    "Adam",
    "AdamW",
    "CosineAnnealingLR",
    "ExponentialLR",
    "LinearWarmupLR",
    "MultiStepLR",
    "Muon",
    "OneCycleLR",
    "Optimizer",
    "OptimizerGroup",
    "Schedule",
]
