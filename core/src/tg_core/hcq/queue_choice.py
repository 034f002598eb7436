"""Which of several queues of a kind takes a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.device import Device
from tg_core.device.queues.compiled import HCQCompiled
from tg_core.hcq.enqueue import QueueName

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["QueueChoice"]


class QueueChoice:
    """Spreads the calls of a batch over the queues of their devices.

    A call follows the last of the calls that it depends on, if that is in a queue of the same kind:
    in one queue, order is free. All others go to the queue with the fewest bytes so far.
    """

    def __init__(self) -> None:
        self._bytes: dict[tuple[str, str], list[int]] = {}

    def queue(self, taking: QueueName, producers: Sequence[QueueName], nbytes: int) -> QueueName:
        """Return the queue of a call.

        Args:
            taking: device and kind.
            producers: the queues of the calls that it depends on, in order.
            nbytes: how much it moves.
        """
        device = Device[taking.device]
        counts = device.QUEUE_COUNTS if isinstance(device, HCQCompiled) else {}
        load = self._bytes.setdefault(taking[:2], [0] * max(counts.get(taking.kind, 1), 1))
        near = [p.number for p in producers if p[:2] == taking[:2]]
        number = near[-1] if near else load.index(min(load))
        load[number] += nbytes
        return QueueName(taking.device, taking.kind, number)
