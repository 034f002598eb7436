"""Context variables: named settings from the environment, overridable for a block of code.

    DEBUG=2 python train.py                 # from the environment
    with Context(DEBUG=2, NOOPT=1): ...     # for a block

A variable marked `codegen` changes the code that is generated; its value is part of the key of
every program cache.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import Generic, TypeVar

from tg_core.errors import ConfigError

__all__ = ["CODEGEN_VARIABLES", "VARIABLES", "Context", "ContextVar", "codegen_state"]

T = TypeVar("T", int, str)

VARIABLES: dict[str, ContextVar[int] | ContextVar[str]] = {}
"""Every declared variable by name, in order of declaration."""

CODEGEN_VARIABLES: list[ContextVar[int] | ContextVar[str]] = []
"""The variables marked `codegen`, in order of declaration."""


class ContextVar(Generic[T]):
    """A named setting.

    The type of the default is the type of the variable. Values are process-wide, not per thread: a
    worker thread sees what the main thread has set.

    Args:
        name: the name, also of the environment variable.
        default: the value where the environment says nothing.
        codegen: whether generated code depends on the value.
        doc: one line for `tg env` and the documentation.

    Raises:
        ConfigError: the environment holds something that is not of the type, or the name is taken.
    """

    __slots__ = ("codegen", "default", "doc", "name", "value")

    def __init__(self, name: str, default: T, codegen: bool = False, doc: str = "") -> None:
        if name in VARIABLES:
            raise ConfigError(f"{name}: the context variable is declared twice")
        self.name = name
        self.default: T = default
        self.codegen = codegen
        self.doc = doc
        self.value: T = default
        text = os.environ.get(name)
        if text is not None:
            self.value = self.parse(text)
        VARIABLES[name] = self
        if codegen:
            CODEGEN_VARIABLES.append(self)

    def parse(self, text: str) -> T:
        """Turn the text of an environment variable into a value of this variable's type.

        Raises:
            ConfigError: the text is not of that type.
        """
        kind = type(self.default)
        if kind is int and not text.strip():
            # `DEBUG= program`: set to nothing is not set
            return self.default
        try:
            return kind(text.strip())
        except ValueError:
            wanted = "an integer" if kind is int else "a number"
            raise ConfigError(f"{self.name}: expected {wanted}, found {text!r}") from None

    def set(self, value: T) -> None:
        """Set the value for the rest of the process. `Context` is the scoped form.

        Raises:
            ConfigError: the value has another type than the default.
        """
        kind = type(self.default)
        if isinstance(value, bool) and kind is int:
            value = int(value)
        if not isinstance(value, kind):
            raise ConfigError(
                f"{self.name}: expected {kind.__name__}, found {type(value).__name__} {value!r}"
            )
        self.value = value

    def __bool__(self) -> bool:
        return bool(self.value)

    def __ge__(self, other: T) -> bool:
        return self.value >= other

    def __gt__(self, other: T) -> bool:
        return self.value > other

    def __le__(self, other: T) -> bool:
        return self.value <= other

    def __lt__(self, other: T) -> bool:
        return self.value < other

    def __repr__(self) -> str:
        return f"ContextVar({self.name}={self.value!r})"


class Context:
    """Override context variables for a block; nests, and restores on any exit.

    Raises:
        ConfigError: on entry, for a name that is not declared or a value of the wrong type; nothing
            is changed then.
    """

    def __init__(self, **values: int | str) -> None:
        self._values = values
        self._saved: list[list[tuple[str, int | str]]] = []

    def __enter__(self) -> Context:
        unknown = [name for name in self._values if name not in VARIABLES]
        if unknown:
            raise ConfigError(f"Context: no context variable named {', '.join(unknown)}")
        before = [(name, VARIABLES[name].value) for name in self._values]
        try:
            for name, value in self._values.items():
                VARIABLES[name].set(value)  # type: ignore[arg-type]  # checked by set
        except ConfigError:
            _restore(before)
            raise
        self._saved.append(before)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _restore(self._saved.pop())


def _restore(saved: list[tuple[str, int | str]]) -> None:
    for name, value in saved:
        VARIABLES[name].set(value)  # type: ignore[arg-type]  # it was the variable's own value


def codegen_state() -> tuple[tuple[str, int | str], ...]:
    """Return name and value of every variable that generated code depends on, for cache keys."""
    return tuple((variable.name, variable.value) for variable in CODEGEN_VARIABLES)


# What is printed
DEBUG = ContextVar(
    "DEBUG",
    0,
    doc="1: schedules, 2: launches, 3: kernels, 4: source, 5: linear, 6: rewrites, 7: assembly",
)
VIZ = ContextVar("VIZ", 0, doc="record every rewrite for viewing")
VIZ_FILE = ContextVar(
    "VIZ_FILE", "tg_viz.html", doc="where the page of rewrites is written at exit"
)
PROFILE = ContextVar("PROFILE", 0, doc="record a time line of kernels and copies")
PROFILE_FILE = ContextVar(
    "PROFILE_FILE", "tg_trace.json", doc="where the time line is written at exit"
)

# Tensors over several devices
RING = ContextVar(
    "RING", 1, doc="sum over devices in a ring: 0 never, 1 large values on 3 or more, 2 always"
)
ALL2ALL = ContextVar(
    "ALL2ALL", 0, doc="sum parts by direct exchange: 0 never, 1 large values, 2 always"
)
ALLREDUCE_CAST = ContextVar(
    "ALLREDUCE_CAST", 0, doc="1: sums over devices that are cast to a narrower float travel as it"
)

# What is checked
SPEC = ContextVar("SPEC", 0, doc="1: verify the IR between passes, 2: at the creation of each node")
CHECK_OOB = ContextVar("CHECK_OOB", 0, doc="prove every index into storage in bounds")
CHECK_INDEX = ContextVar(
    "CHECK_INDEX",
    0,
    doc="when a tensor is realized, raise for positions out of range in tensors that index",
)
JIT_CHECK = ContextVar("JIT_CHECK", 0, doc="compare the first n replays of a JIT with eager")

# Where it runs
DEV = ContextVar("DEV", "", doc="targets [interface[:indices]+]TYPE[:renderer[:arch]];...")
HCQ_RUNTIME_DEV = ContextVar("HCQ_RUNTIME_DEV", "CPU", doc="the device that runs host programs")
BUFFER_CACHE_MB = ContextVar("BUFFER_CACHE_MB", 2048, doc="freed memory kept per device for reuse")
TG_BLOCK_PLUGINS = ContextVar("TG_BLOCK_PLUGINS", "", doc="plugins or packages not to load")
TG_STRICT_PLUGINS = ContextVar("TG_STRICT_PLUGINS", 0, doc="raise when a plugin fails, not skip it")

# What is generated
NOOPT = ContextVar("NOOPT", 0, codegen=True, doc="no optimisation of kernels")
BEAM = ContextVar("BEAM", 0, codegen=True, doc="width of the search for kernel optimisations")
SPLIT_REDUCEOP = ContextVar("SPLIT_REDUCEOP", 1, codegen=True, doc="split large reductions in two")
DEFAULT_FLOAT = ContextVar("DEFAULT_FLOAT", "float32", codegen=True, doc="dtype of Python floats")
DEFAULT_INT = ContextVar("DEFAULT_INT", "int32", codegen=True, doc="dtype of Python integers")

# What is kept
JIT = ContextVar("JIT", 1, doc="0: off, 1: capture and replay in batches, 2: replay call by call")
SCACHE = ContextVar("SCACHE", 1, doc="keep schedules of equal computations")
CACHE = ContextVar("CACHE", 1, doc="0: no disk cache of schedules and programs")
CACHE_LIMIT_MB = ContextVar("CACHE_LIMIT_MB", 2048, doc="size of the disk cache, oldest go first")
TG_CACHE_DIR = ContextVar("TG_CACHE_DIR", "", doc="folder of the disk cache")
