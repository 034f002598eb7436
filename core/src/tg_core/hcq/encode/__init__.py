"""How each kind of batch becomes words and a host program."""

from tg_core.hcq.encode.host_calls import PATCH, ROW, Launch, host_program, launch_of

__all__ = ["PATCH", "ROW", "Launch", "host_program", "launch_of"]
