"""Device hooks: who is asked, in which order, how often."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from sample_plugins import HOST, OPENER, device_of, installed, plugin

from tg_core.device import Buffer, Device
from tg_core.dtype import dtypes
from tg_core.errors import PluginError
from tg_core.plugins import QueueDescription, Registry
from tg_core.plugins.dispatch import create_queue, device_matcher, report_headers
from tg_core.plugins.records import PluginSource
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat


def base(registry: Registry) -> None:
    registry.device_type("BASE", OPENER)
    registry.allocator("BASE", HOST)


def extend(registry: Registry) -> None:
    registry.extend_device_type("BASE", "rules")


def answering(name: str, seen: list[str], answer: Any) -> Callable[..., Any]:
    """Return a hook that notes that it was asked."""

    def pm_encode(device: Any) -> Any:
        seen.append(f"{name} {device.name}")
        return answer

    return pm_encode


def to_number(value: int) -> PatternMatcher:
    """Return rules that turn any NOOP into a number."""

    def number_for_noop() -> UOp:
        return UOp.const(value)

    return PatternMatcher([(UPat(Ops.NOOP), number_for_noop)])


def three(seen: list[str]) -> list[PluginSource]:
    return [
        plugin("base", base, pm_encode=answering("base", seen, to_number(1))),
        plugin("zeta", extend, pm_encode=answering("zeta", seen, to_number(2))),
        plugin("alpha", extend, pm_encode=answering("alpha", seen, None)),
        plugin("other", device_of("OTHER"), pm_encode=answering("other", seen, to_number(9))),
    ]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_extensions_come_first_whatever_the_order_of_registration(order: tuple[int, ...]) -> None:
    seen: list[str] = []
    sources = three(seen)
    with installed(*(sources[index] for index in order)):
        rules = device_matcher(Device["BASE"], "pm_encode")
        assert seen == ["alpha BASE", "zeta BASE", "base BASE"]
        assert rules is not None
        answer = rules.rewrite(UOp(Ops.NOOP))
        assert answer is not None
        assert answer.arg == 2


def test_a_hook_is_called_once_per_device() -> None:
    seen: list[str] = []
    with installed(*three(seen)):
        first = device_matcher(Device["BASE"], "pm_encode")
        assert device_matcher(Device["BASE"], "pm_encode") is first
        device_matcher(Device["BASE:1"], "pm_encode")
        assert seen.count("base BASE") == 1
        assert seen.count("base BASE:1") == 1


def test_nobody_answers() -> None:
    with installed(plugin("base", base)):
        assert device_matcher(Device["BASE"], "pm_lower") is None
        assert create_queue(Device["BASE"], "COMPUTE", 0, 4096) is None


def test_wrong_answers_name_the_package() -> None:
    def pm_batch(device: Any) -> Any:
        return [1]

    def create_queue_(device: Any, kind: str) -> Any:
        return "queue"

    source = plugin("base", base, pm_batch=pm_batch, create_queue=create_queue_)
    with installed(source):
        with pytest.raises(PluginError, match=r"pm_batch of tg-base 2.0: returned list"):
            device_matcher(Device["BASE"], "pm_batch")
        with pytest.raises(PluginError, match=r"create_queue of tg-base 2.0: returned str"):
            create_queue(Device["BASE"], "COMPUTE", 0, 4096)


def test_the_first_queue_wins_and_the_owner_is_asked_last() -> None:
    asked: list[str] = []

    def queue(name: str, kinds: tuple[str, ...]) -> Callable[..., Any]:
        def create_queue(device: Any, kind: str, index: int, ring_bytes: int) -> Any:
            asked.append(name)
            if kind not in kinds:
                return None
            word = Buffer("PYTHON", 1, dtypes.uint64)
            ring = Buffer("PYTHON", ring_bytes, dtypes.uint8)
            return QueueDescription(ring, word, word, word, word)

        return create_queue

    with installed(
        plugin("base", base, create_queue=queue("base", ("COMPUTE", "COPY"))),
        plugin("usb", extend, create_queue=queue("usb", ("COPY",))),
    ):
        made = create_queue(Device["BASE"], "COMPUTE", 0, 4096)
        assert made is not None
        assert made.ring.nbytes == 4096
        assert asked == ["usb", "base"]
        asked.clear()
        assert create_queue(Device["BASE"], "COPY", 0, 4096) is not None
        assert asked == ["usb"]


def test_report_headers() -> None:
    def fine() -> list[str]:
        return ["driver 6.10"]

    def failing() -> list[str]:
        raise OSError("no driver")

    with installed(
        plugin("fine", base, tg_report_header=fine),
        plugin("failing", extend, tg_report_header=failing),
    ):
        assert report_headers() == [
            ("tg-failing 2.0", ["OSError: no driver"]),
            ("tg-fine 2.0", ["driver 6.10"]),
        ]
