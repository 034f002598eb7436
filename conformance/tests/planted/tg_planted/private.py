"""Reaches past the facade, as the fault `private import` wants; imported by nothing else."""

import importlib

importlib.import_module("tg_core.device")
