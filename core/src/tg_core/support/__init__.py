"""Tools below everything else: they know nothing of tensors, graphs or devices."""

__all__: list[str] = []
