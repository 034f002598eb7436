"""What is generated does not depend on the order in which a process hashes."""

from __future__ import annotations

import os
import subprocess
import sys

_PROGRAM = """
import hashlib
from tg_core import Tensor
from tg_core.callify import callify
from tg_core.codegen import compile_program
from tg_core.config import Context
from tg_core.device import Device, new_buffer_uop
from tg_core.dtype import dtypes
from tg_core.schedule import schedule_body
from tg_core.uop.ops import Ops, UOp
from tg_core.uop.record import recording

def storage(*shape):
    size = 1
    for n in shape:
        size *= n
    return Tensor(new_buffer_uop("CPU", size, dtypes.float32).reshape(*shape))

x, w, k = storage(2, 3, 12, 12), storage(4, 3, 3, 3), storage(4, 10)
y = x.conv2d(w, padding=1).relu().max_pool2d(2).mean((2, 3)) @ k
y = y.softmax().sort()[0] + y.argmax(1, keepdim=True)
target = new_buffer_uop("CPU", 20, dtypes.float32)
sink = UOp.sink(target.after(target.store(y.uop.reshape(20))))
with Context(SCACHE=0, CACHE=0), recording() as recorded:
    linear = schedule_body(callify(sink).src[0], "CPU")
    sources = [
        compile_program(call.src[0], Device["CPU"].renderer).src[2].arg
        for call in linear.src if call.src[0].op is Ops.SINK
    ]
print(linear.key.hex(), len(sources))
for source in sources:
    print(hashlib.sha256(source.encode()).hexdigest())
for stage in recorded.stages:
    print(stage.name, stage.after.key.hex(), [f.rule for f in stage.firings])
"""


def test_schedules_programs_and_rewrites_do_not_depend_on_the_hash_seed() -> None:
    outputs = []
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
        command = [sys.executable, "-c", _PROGRAM]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout.splitlines())
    first, second = outputs
    assert len(first) > 100
    assert first == second
