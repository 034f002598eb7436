"""C-like languages: the base that renderers of C, and of languages near it, specialise."""

from tg_core.renderer.cstyle.api import CStyleRenderer

__all__ = ["CStyleRenderer"]
