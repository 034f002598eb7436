"""The one exception tree of the project.

Every error a user can cause or see derives from `TGError` and, where Python has a built-in meaning
for it, from that built-in too, so `except ValueError` keeps working. Messages start with the place
(operation, device, plugin), then say what was found and what was expected.
"""

from __future__ import annotations

__all__ = [
    "CompileError",
    "ConfigError",
    "DTypeError",
    "DeviceError",
    "DeviceMismatch",
    "DeviceNotFound",
    "ExchangeError",
    "FileFormatError",
    "FunctionError",
    "GradientError",
    "IndexingError",
    "JitError",
    "MissingExtra",
    "OutOfMemory",
    "PluginError",
    "RewriteError",
    "ScheduleError",
    "ShapeError",
    "SpecError",
    "StateError",
    "TGError",
    "UnsupportedModel",
]


class TGError(Exception):
    """Base of every error raised on purpose."""


class ShapeError(TGError, ValueError):
    """Shapes, axes or sizes that do not fit an operation."""


class DTypeError(TGError, TypeError):
    """A data type an operation cannot take, or two that do not match."""


class IndexingError(TGError, IndexError):
    """An index that is malformed or out of range."""


class GradientError(TGError, RuntimeError):
    """A gradient that is not defined: no path to the target, or a loss that is not a scalar."""


class ConfigError(TGError, ValueError):
    """A context variable or environment variable with a value it cannot have."""


class DeviceError(TGError, RuntimeError):
    """A device that could not open, hung, faulted, or was asked for something it cannot do."""


class DeviceNotFound(DeviceError):
    """A device name that nothing installed provides, or that provides nothing usable here."""


class DeviceMismatch(DeviceError):
    """Operands of one operation live on different devices."""


class ExchangeError(TGError, BufferError):
    """Memory that cannot be lent to another library, or taken from one, without a copy."""


class OutOfMemory(DeviceError, MemoryError):
    """A device that has no room for an allocation, after everything cached was given back."""


class PluginError(TGError, RuntimeError):
    """A plugin that breaks the rules, or an object of a plugin that cannot be loaded."""


class MissingExtra(TGError, ImportError):
    """An optional dependency that is not installed; the message has the pip line."""


class CompileError(TGError, RuntimeError):
    """Generated code that the target's compiler refused."""


class SpecError(TGError, RuntimeError):
    """A node that is not legal in its stage; a fault of a pass, never of the user."""


class RewriteError(TGError, RuntimeError):
    """A rewrite that does not come to an end or produced something it must not."""


class ScheduleError(TGError, RuntimeError):
    """A set of stores that cannot be put in an order."""


class JitError(TGError, RuntimeError):
    """A function that cannot be captured, or a call that does not fit what was captured."""


class FunctionError(TGError, RuntimeError):
    """A traced function does what a trace cannot hold."""


class FileFormatError(TGError, ValueError):
    """A file from outside that is truncated, malformed or hostile; the message names the offset."""


class StateError(TGError, ValueError):
    """A saved state whose names do not fit the model it is loaded into."""


class UnsupportedModel(TGError, NotImplementedError):
    """A model from outside that needs what its importer lacks; the message lists all of it."""
