"""Importing ONNX models: `load` gives a function of tensors, `check` what a model needs."""

from __future__ import annotations

from tg_core.onnx.graph import Signature
from tg_core.onnx.load import check, load
from tg_core.onnx.model import OnnxModel
from tg_core.onnx.problems import Problem

__all__ = ["OnnxModel", "Problem", "Signature", "check", "load"]
