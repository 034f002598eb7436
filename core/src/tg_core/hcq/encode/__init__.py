"""How each kind of batch becomes words and a host program."""

from tg_core.hcq.encode.host_calls import (
    PATCH,
    ROW,
    Launch,
    Move,
    host_call_of,
    host_program,
    move_address,
)
from tg_core.hcq.encode.streams import Commands, Placed, encode_streams, queue_device
from tg_core.hcq.encode.submission import PATCH_WORDS, Layout, submission_program

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
