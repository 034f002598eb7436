"""The grammar of `DEV` and of device names.

    DEV     = target (";" target)*
    target  = [interface [":" index ("," index)*] "+"] TYPE [":" renderer [":" arch]]
    name    = TYPE [":" (index | location)]

Types, interfaces and renderers are matched without regard to case.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tg_core.errors import DeviceNotFound
from tg_core.support.frozen import frozen

__all__ = ["Target", "canonical_name", "parse_targets", "split_name", "target_for"]

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_GRAMMAR = "[interface[:indices]+]TYPE[:renderer[:arch]]"


@frozen
class Target:
    """One target of `DEV`."""

    type: str
    interface: str | None = None
    indices: tuple[int, ...] | None = None
    """Physical indices that are visible, in the order of the logical ones; None is all."""
    renderer: str | None = None
    arch: str | None = None


@lru_cache(maxsize=64)
def parse_targets(text: str) -> tuple[Target, ...]:
    """Parse the value of `DEV`.

    Raises:
        DeviceNotFound: the text does not follow the grammar, or names a type twice.
    """
    if not text.strip():
        return ()
    targets = tuple(_parse_target(part.strip(), text) for part in text.split(";"))
    types = [target.type for target in targets]
    for name in types:
        if types.count(name) > 1:
            raise DeviceNotFound(f"DEV={text!r}: device type {name} is named twice")
    return targets


def target_for(text: str, device_type: str) -> Target | None:
    """Return what the value of `DEV` says about a device type, or None."""
    for target in parse_targets(text):
        if target.type == device_type:
            return target
    return None


def _parse_target(part: str, text: str) -> Target:
    front, plus, back = part.rpartition("+")
    interface, indices = _parse_interface(front, text) if plus else (None, None)
    words = back.split(":", 2)
    device_type = _word(words[0], "device type", text)
    renderer = None
    if len(words) > 1:
        if words[1].strip().isdigit():
            raise DeviceNotFound(
                f"DEV={text!r}: found the number {words[1].strip()} where a renderer stands; "
                f"visible indices go before the type, as in INTERFACE:0,1+{device_type}"
            )
        renderer = _word(words[1], "renderer", text)
    arch = words[2].strip() if len(words) > 2 else None
    if arch == "":
        raise DeviceNotFound(f"DEV={text!r}: the architecture is empty; expected {_GRAMMAR}")
    return Target(device_type, interface, indices, renderer, arch)


def _parse_interface(front: str, text: str) -> tuple[str, tuple[int, ...] | None]:
    name, colon, numbers = front.partition(":")
    interface = _word(name, "interface", text)
    if not colon:
        return interface, None
    indices = []
    for number in numbers.split(","):
        if not number.strip().isdigit():
            raise DeviceNotFound(
                f"DEV={text!r}: index {number.strip()!r} of {interface}, "
                "expected numbers separated by commas"
            )
        indices.append(int(number))
    if len(set(indices)) != len(indices):
        raise DeviceNotFound(f"DEV={text!r}: an index of {interface} is named twice")
    return interface, tuple(indices)


def _word(word: str, what: str, text: str) -> str:
    found = word.strip()
    if _WORD.fullmatch(found) is None:
        raise DeviceNotFound(f"DEV={text!r}: {what} {found!r}; expected {_GRAMMAR}")
    return found.upper()


@lru_cache(maxsize=1024)
def canonical_name(name: str) -> str:
    """Return the one spelling of a device name: `amd:0` is `AMD`, `cpu:01` is `CPU:1`."""
    device_type, index, location = split_name(name)
    if location:
        return f"{device_type}:{location}"
    return f"{device_type}:{index}" if index else device_type


def split_name(name: str) -> tuple[str, int, str]:
    """Split a device name.

    Returns:
        The type, the index (0 where there is none), and the location where what follows the colon
        is not a number.

    Raises:
        DeviceNotFound: the name does not start with a type.
    """
    head, _, tail = name.partition(":")
    if _WORD.fullmatch(head) is None:
        raise DeviceNotFound(f"device {name!r}: expected TYPE or TYPE:index")
    if not tail:
        return head.upper(), 0, ""
    if tail.isdigit():
        return head.upper(), int(tail), ""
    return head.upper(), 0, tail
