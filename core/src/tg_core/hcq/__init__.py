"""Batches: runs of calls that become one call of a compiled host program.

| stage | file |
|---|---|
| storage becomes parameters | `parametrize` |
| runs of calls become batches | `batch` |
| a batch becomes words and a host program | `encode` |
| the host program is compiled for the runtime device | `compile` |
| words known in advance are written | `link` |
| inputs are filled in, the host program is called | `run` |
"""

from tg_core.hcq.arguments import Argument, base_of, call_device, parse_argument, resolve
from tg_core.hcq.batch import batch, is_batch
from tg_core.hcq.compile import compiled_host_program, provide_host_program, runtime_device
from tg_core.hcq.encode import host_program
from tg_core.hcq.launch_size import LaunchSize
from tg_core.hcq.link import link_batch
from tg_core.hcq.parametrize import parametrize
from tg_core.hcq.programs import load_program
from tg_core.hcq.run import LinkedBatch

__all__ = [
    "Argument",
    "LaunchSize",
    "LinkedBatch",
    "base_of",
    "batch",
    "call_device",
    "compiled_host_program",
    "host_program",
    "is_batch",
    "link_batch",
    "load_program",
    "parametrize",
    "parse_argument",
    "provide_host_program",
    "resolve",
    "runtime_device",
]
