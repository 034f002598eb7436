from __future__ import annotations

import numpy as np

from tg_core.device import Buffer
from tg_core.dtype import dtypes
from tg_core.hcq.external import HostProgram, host_storage, number_placeholders
from tg_core.uop.ops import KernelInfo, Ops, UOp

A, B = (host_storage(("host", name), dtypes.int64, 4) for name in "ab")


def doubled() -> UOp:
    i = UOp.range(UOp.const(4, dtypes.int64), 0)
    return B.index(i).store(A.index(i).load() * 2).end(i)


def memory(values: list[int]) -> Buffer:
    return Buffer("CPU", 4, dtypes.int64).copyin(np.array(values, np.int64).tobytes())


def test_placeholders_become_arguments() -> None:
    body, placeholders = number_placeholders(UOp.sink(doubled(), arg=KernelInfo("t", ())), [B])
    assert placeholders == [B, A]
    slots = {n.arg.slot: n for n in body.toposort() if n.op is Ops.PARAM}
    assert sorted(slots) == [0, 1]
    assert all(n.tag is None for n in slots.values())


def test_a_program_runs_as_often_as_it_is_called() -> None:
    given, out = memory([1, 2, 3, 4]), memory([0] * 4)
    program = HostProgram([doubled()], {A: given, B: out})
    program()
    assert out.numpy().tolist() == [2, 4, 6, 8]
    given.copyin(np.full(4, 9, np.int64).tobytes())
    program()
    assert out.numpy().tolist() == [18] * 4


def test_equal_programs_share_their_code_and_not_their_memory() -> None:
    first = HostProgram([doubled()], {A: memory([1] * 4), B: memory([0] * 4)})
    second = HostProgram([doubled()], {A: memory([5] * 4), B: memory([0] * 4)})
    assert first.body is second.body
    assert first._program is second._program
    first()
    second()
    outs = [p.memory.found[B].numpy()[0] for p in (first, second)]
    assert outs == [2, 10]
