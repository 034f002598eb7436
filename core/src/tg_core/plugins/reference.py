"""Lazy references: an object named by module and attribute, imported on first use."""

from __future__ import annotations

import importlib
import re
from typing import Any

from tg_core.errors import PluginError
from tg_core.support.frozen import frozen

__all__ = ["Reference"]

_SHAPE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


@frozen
class Reference:
    """`"module:attribute"`, as given by a plugin.

    Raises:
        PluginError: the text has another shape.
    """

    text: str

    def __post_init__(self) -> None:
        text: object = self.text
        if not isinstance(text, str) or _SHAPE.fullmatch(text) is None:
            raise PluginError(f"reference {self.text!r}: expected a string 'module:attribute'")

    def load(self) -> Any:
        """Import the module and return the attribute.

        Raises:
            PluginError: the module cannot be imported or lacks the attribute; the cause is chained.
        """
        module_name, _, attribute = self.text.partition(":")
        try:
            module = importlib.import_module(module_name)
        except Exception as error:
            kind = type(error).__name__
            raise PluginError(f"reference {self.text!r}: {kind}: {error}") from error
        try:
            return getattr(module, attribute)
        except AttributeError:
            raise PluginError(
                f"reference {self.text!r}: the module has no attribute {attribute!r}"
            ) from None
