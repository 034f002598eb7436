"""Mistakes that the device makes when told to, to see that they are found."""

from __future__ import annotations

import os

__all__ = ["FAULTS", "plant", "planted"]

FAULTS = {
    "missing wait": "the encoder leaves waits out",
    "ring wrap off by one": "the hardware goes on one word late after the end of the ring",
    "copy cut": "copies lose their last byte",
    "timestamps swapped": "the clock runs backwards",
    "lost store": "stores to signals are not made",
    "hang": "compute queues stop before their first kernel",
    "stale arguments": "a kernel gets the arguments of the launch before",
}
"""Each with what it does."""

_planted: set[str] = set(filter(None, os.environ.get("TG_REF_FAULT", "").split(",")))


def planted(name: str) -> bool:
    """Tell whether to make a mistake."""
    return name in _planted


def plant(*names: str) -> None:
    """Make these mistakes from now on, and no others.

    Raises:
        KeyError: there is no such mistake.
    """
    unknown = [name for name in names if name not in FAULTS]
    if unknown:
        raise KeyError(f"no fault {unknown[0]!r}; there are: {', '.join(FAULTS)}")
    _planted.clear()
    _planted.update(names)
