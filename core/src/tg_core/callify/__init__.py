"""Callify: a graph of pending computation becomes a call with canonical numbering."""

from tg_core.callify.callify import callify

__all__ = ["callify"]
