"""How each kind of batch becomes words and a host program."""

from typing import TYPE_CHECKING

from tg_core.hcq.encode.host_calls import (
    PATCH,
    ROW,
    Launch,
    Move,
    host_call_of,
    host_program,
    move_address,
)
from tg_core.support.lazy import lazy_names

if TYPE_CHECKING:
    from tg_core.hcq.encode.streams import Commands, Placed, encode_streams, queue_device
    from tg_core.hcq.encode.submission import PATCH_WORDS, Layout, submission_program

_STREAMS, _SUBMISSION = "tg_core.hcq.encode.streams", "tg_core.hcq.encode.submission"

# what most processes have no use for: queues
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Commands": _STREAMS,
        "Layout": _SUBMISSION,
        "PATCH_WORDS": _SUBMISSION,
        "Placed": _STREAMS,
        "encode_streams": _STREAMS,
        "queue_device": _STREAMS,
        "submission_program": _SUBMISSION,
    },
)

__all__ = [
    "PATCH",
    "PATCH_WORDS",
    "ROW",
    "Commands",
    "Launch",
    "Layout",
    "Move",
    "Placed",
    "encode_streams",
    "host_call_of",
    "host_program",
    "move_address",
    "queue_device",
    "submission_program",
]
