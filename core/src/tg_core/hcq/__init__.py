"""Batches: runs of calls that become one call of a compiled host program.

| stage | file |
|---|---|
| storage becomes parameters | `parametrize` |
| which calls a hardware queue takes | `enqueue`, `queue_choice` |
| runs of calls become batches | `batch` |
| copies that no queue can make at once go in pieces | `staging`, `host_copies` |
| what a call must come after | `dependencies` |
| a batch of queue calls becomes operations of queues | `submits` |
| a batch becomes words and a host program | `encode` |
| the host program is compiled for the runtime device | `compile` |
| words known in advance are written | `link`, `link_queues` |
| inputs are filled in, the host program is called | `run`, `run_queues` |
"""

from typing import TYPE_CHECKING

from tg_core.hcq.arguments import Argument, base_of, call_device, parse_argument, resolve
from tg_core.hcq.batch import batch, is_batch, is_host_call, is_queue_batch
from tg_core.hcq.enqueue import QueueName, queue_of
from tg_core.hcq.launch_size import LaunchSize
from tg_core.hcq.native import Marks, NativeCall, NativeKernel
from tg_core.hcq.parametrize import parametrize
from tg_core.hcq.programs import load_program
from tg_core.support.lazy import lazy_names

if TYPE_CHECKING:
    from tg_core.hcq.compile import (
        WrittenProgram,
        compiled_host_program,
        provide_host_program,
        runtime_device,
        written_host_program,
    )
    from tg_core.hcq.dependencies import DependencyTracker, Range
    from tg_core.hcq.encode import host_program
    from tg_core.hcq.link import link_batch
    from tg_core.hcq.link_queues import link_submits
    from tg_core.hcq.run import LinkedBatch
    from tg_core.hcq.run_queues import LinkedSubmits
    from tg_core.hcq.submits import Submits, schedule_submits

# what a process has no use for that replays nothing: host programs and queues
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "DependencyTracker": "tg_core.hcq.dependencies",
        "LinkedBatch": "tg_core.hcq.run",
        "LinkedSubmits": "tg_core.hcq.run_queues",
        "Range": "tg_core.hcq.dependencies",
        "Submits": "tg_core.hcq.submits",
        "WrittenProgram": "tg_core.hcq.compile",
        "compiled_host_program": "tg_core.hcq.compile",
        "host_program": "tg_core.hcq.encode",
        "link_batch": "tg_core.hcq.link",
        "link_submits": "tg_core.hcq.link_queues",
        "provide_host_program": "tg_core.hcq.compile",
        "runtime_device": "tg_core.hcq.compile",
        "schedule_submits": "tg_core.hcq.submits",
        "written_host_program": "tg_core.hcq.compile",
    },
)

__all__ = [
    "Argument",
    "DependencyTracker",
    "LaunchSize",
    "LinkedBatch",
    "LinkedSubmits",
    "Marks",
    "NativeCall",
    "NativeKernel",
    "QueueName",
    "Range",
    "Submits",
    "WrittenProgram",
    "base_of",
    "batch",
    "call_device",
    "compiled_host_program",
    "host_program",
    "is_batch",
    "is_host_call",
    "is_queue_batch",
    "link_batch",
    "link_submits",
    "load_program",
    "parametrize",
    "parse_argument",
    "provide_host_program",
    "queue_of",
    "resolve",
    "runtime_device",
    "schedule_submits",
    "written_host_program",
]
