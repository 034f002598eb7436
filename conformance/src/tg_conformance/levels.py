"""The levels of the suite, and what a backend may leave undeclared beyond their mandatory cores."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FEATURES", "LEVELS", "Level"]


@dataclass(frozen=True)
class Level:
    """One level."""

    number: int
    title: str
    question: str
    """What a backend that reaches it has answered."""
    condition: str = ""
    """The feature without which the level is not for a backend, its core included."""


LEVELS = (
    Level(0, "hooks and discovery", "is the package found, and does it say what it is?"),
    Level(1, "memory", "does every byte arrive where it should, and come back?"),
    Level(2, "numerics", "is every op right on every dtype?"),
    Level(3, "queues and ordering", "do hardware queues keep the order they must?", "QUEUES"),
    Level(4, "compile, link, JIT", "is what was compiled once right for other inputs?"),
    Level(5, "several devices", "do devices of the type work together and keep apart?"),
    Level(6, "faults and recovery", "does an error stay an error, and leave the rest usable?"),
    Level(7, "profiling", "are times and counts those of the kernels that ran?"),
)

FEATURES = {
    "PROGRAMS": "runs compiled kernels",
    "HOST_VISIBLE": "the host can address its memory directly",
    "HOST_CALL": "kernels are native functions of this process",
    "QUEUES": "has hardware command queues for kernels",
    "COPY_QUEUE": "has a hardware queue for copies",
    "RECOVERY": "usable again after a hang or a fault",
    "TIMESTAMPS": "measures the time of each kernel",
    "SEVERAL_DEVICES": "a second device of the type can be opened",
}
"""What tests beyond the mandatory cores need. All but the last are capabilities that the package
registers; the last is found by opening the device."""
