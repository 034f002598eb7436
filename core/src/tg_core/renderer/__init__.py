"""Linear programs to source and machine code: the base class and the languages backends share."""

from tg_core.renderer.api import Renderer, Target

__all__ = ["Renderer", "Target"]
