"""Lazy tensors."""
