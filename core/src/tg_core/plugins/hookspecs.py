"""Every hook of the project, in the order in which core calls them.

Discovery           `tg_register` (mandatory), once per process and plugin
A device is used    `create_queue`, then `pm_batch`, `pm_encode`, `pm_lower` while compiling and
                    `pm_bufferize` while linking
On request          `tg_report_header`

Core calls a device hook only on the plugins that own or extend the type of the device, one plugin
at a time, and orders the results itself: extensions by the name of their distribution, then the
owner, then the generic rules of core. The order in which plugins were registered never matters.
No hook is called on the path that runs a compiled program.

A plugin implements a hook by a module-level function of the same name marked with `hookimpl`; it
may leave out arguments it does not need. A marked function whose name is not in this file is an
error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.plugins.markers import hookspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.device import Compiled
    from tg_core.plugins.queues import QueueDescription
    from tg_core.plugins.registry import Registry
    from tg_core.uop.ops import PatternMatcher

__all__ = [
    "create_queue",
    "pm_batch",
    "pm_bufferize",
    "pm_encode",
    "pm_lower",
    "tg_register",
    "tg_report_header",
]


@hookspec
def tg_register(registry: Registry) -> None:
    """Tell core what the plugin brings, by calling the methods of `registry`.

    Called once per process, at the first look-up of a device. Every plugin must implement it.
    All that a plugin registers takes effect together; after an exception none of it does, the
    plugin is skipped, and the reason is shown by `tg devices`.

    Must not open a driver, a device node or a library, nor import anything heavy: devices,
    renderers and the like are given as references (`"tg_amd.device:AMDDevice"`) that core imports
    on first use.

    Args:
        registry: the typed, validating door; belongs to this plugin and this call alone.

    .. versionadded:: 1.0
    """


@hookspec(firstresult=True)
def create_queue(
    device: Compiled, kind: str, index: int, ring_bytes: int
) -> QueueDescription | None:
    """Make a hardware queue of an opened device.

    Called at the first use of each (device, kind, index). Extensions are asked before the owner;
    the first answer that is not None is taken. If nobody answers, the device has no such queue.

    Args:
        device: the opened device.
        kind: `"COMPUTE"`, `"COPY"`, or a kind registered with `registry.queue`.
        index: which queue of that kind, from 0.
        ring_bytes: the size wanted for the ring, in bytes.

    Returns:
        The memory of the queue, or None to decline.

    .. versionadded:: 1.0
    """


@hookspec
def pm_batch(device: Compiled) -> PatternMatcher | None:
    """Give rules that may change a batch of submissions before it is encoded.

    Called once per opened device; core keeps the result. The rules see a SINK of ordered submits.
    They may replace the queue contents and append host work after the last submit, must keep the
    order of submits and the fence, and any numbering they emit must be valid on every rerun.

    Args:
        device: the opened device.

    Returns:
        An immutable matcher, or None to decline. An extension declines unless the device is one it
        was made for (for example: unless `device.interface_name` is its own).

    .. versionadded:: 1.0
    """


@hookspec
def pm_encode(device: Compiled) -> PatternMatcher | None:
    """Give rules that turn submit markers and private markers into command words and host IR.

    Called once per opened device; core keeps the result. Every location of a register or ring must
    be a placeholder owned by the device; no concrete address may appear.

    Args:
        device: the opened device.

    Returns:
        An immutable matcher, or None to decline.

    .. versionadded:: 1.0
    """


@hookspec
def pm_lower(device: Compiled) -> PatternMatcher | None:
    """Give rules that turn accesses to the device, left by encoding, into what the host can do.

    Called once per opened device; core keeps the result. Order must be kept through AFTER, and
    placeholders that are host memory must not be touched.

    Args:
        device: the opened device.

    Returns:
        An immutable matcher, or None to decline.

    .. versionadded:: 1.0
    """


@hookspec
def pm_bufferize(device: Compiled) -> PatternMatcher | None:
    """Give rules that name the buffer behind each placeholder the device owns.

    Called once per opened device; core keeps the result. For one placeholder the answer must be the
    same buffer for the life of the device; a rule returns None for a placeholder it does not own.

    Args:
        device: the opened device.

    Returns:
        An immutable matcher, or None to decline.

    .. versionadded:: 1.0
    """


@hookspec
def tg_report_header() -> Sequence[str] | None:
    """Give lines for `tg env`: versions of the driver, the firmware, the libraries in use.

    Called on request only, on every plugin. May read version files and import the plugin's
    libraries; must not open a device. An exception is shown in place of the lines.

    Returns:
        Lines of text, or None for nothing.

    .. versionadded:: 1.0
    """
