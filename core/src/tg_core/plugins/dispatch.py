"""Calling the hooks of an opened device, in the order core guarantees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from tg_core.errors import PluginError
from tg_core.plugins.manager import PluginManager, plugins
from tg_core.plugins.queues import QueueDescription
from tg_core.plugins.records import LoadedPlugin
from tg_core.uop.ops import PatternMatcher

if TYPE_CHECKING:
    from tg_core.device import Compiled

__all__ = ["MatcherHook", "create_queue", "device_matcher", "hook_answers", "report_headers"]

MatcherHook = Literal["pm_batch", "pm_encode", "pm_lower", "pm_bufferize"]
"""The hooks that give rules for a device."""


def hook_answers(
    manager: PluginManager, hook: str, device_type: str, **arguments: object
) -> Iterator[tuple[LoadedPlugin, object]]:
    """Ask the plugins of a device type one by one: extensions by distribution name, then the owner.

    Args:
        manager: the plugins.
        hook: the name of the hook.
        device_type: whose plugins to ask.
        arguments: the arguments of the hook.

    Yields:
        Each plugin with its answer, where that is not None.
    """
    for plugin in manager.catalog.hook_order(device_type):
        answer = manager.call_one(hook, plugin, **arguments)
        if answer is not None:
            yield plugin, answer


def device_matcher(device: Compiled, hook: MatcherHook) -> PatternMatcher | None:
    """Return the rules that plugins give for an opened device, extensions' rules first.

    The hook is called once per device; the sum is kept with it.

    Args:
        device: the opened device.
        hook: which rules.

    Returns:
        The sum of the matchers, to which a caller appends its generic rules; None if all declined.

    Raises:
        PluginError: a plugin answered with something else than a matcher.
    """
    if hook not in device.hook_results:
        total: PatternMatcher | None = None
        for plugin, answer in hook_answers(plugins(), hook, device.type, device=device):
            if not isinstance(answer, PatternMatcher):
                raise PluginError(
                    f"{hook} of {plugin.source}: returned {type(answer).__name__}, "
                    "expected a PatternMatcher or None"
                )
            total = answer if total is None else total + answer
        device.hook_results[hook] = total
    rules: PatternMatcher | None = device.hook_results[hook]
    return rules


def create_queue(
    device: Compiled, kind: str, index: int, ring_bytes: int
) -> QueueDescription | None:
    """Make a hardware queue: the first answer wins, extensions are asked before the owner.

    Raises:
        PluginError: a plugin answered with something else than a `QueueDescription`.
    """
    answers = hook_answers(
        plugins(),
        "create_queue",
        device.type,
        device=device,
        kind=kind,
        index=index,
        ring_bytes=ring_bytes,
    )
    for plugin, answer in answers:
        if not isinstance(answer, QueueDescription):
            raise PluginError(
                f"create_queue of {plugin.source}: returned {type(answer).__name__}, "
                "expected a QueueDescription or None"
            )
        return answer
    return None


def report_headers() -> list[tuple[str, list[str]]]:
    """Ask every plugin for its lines of `tg env`; an exception becomes the line."""
    manager = plugins()
    reports = []
    for plugin in manager.catalog.plugins:
        try:
            answer = manager.call_one("tg_report_header", plugin)
            lines = [str(line) for line in answer] if isinstance(answer, list | tuple) else []
        except Exception as error:
            lines = [f"{type(error).__name__}: {error}"]
        if lines:
            reports.append((str(plugin.source), lines))
    return reports
