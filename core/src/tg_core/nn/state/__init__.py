"""Finding, loading and saving the tensors of a model."""

from __future__ import annotations

from tg_core.nn.state.gguf_file import gguf_load
from tg_core.nn.state.load import load_state_dict
from tg_core.nn.state.safetensors_file import safe_load, safe_load_metadata, safe_save
from tg_core.nn.state.torch_file import torch_load
from tg_core.nn.state.walk import get_parameters, get_state_dict

__all__ = [
    "get_parameters",
    "get_state_dict",
    "gguf_load",
    "load_state_dict",
    "safe_load",
    "safe_load_metadata",
    "safe_save",
    "torch_load",
]
