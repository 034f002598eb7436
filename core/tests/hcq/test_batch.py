from __future__ import annotations

from hcq_utils import add_kernel, call, copy, linear, storage

from tg_core.hcq.batch import batch, is_batch, is_host_call
from tg_core.uop.ops import Ops, ProgramInfo, UOp

ADD = add_kernel(1.0)


def shape(calls: UOp) -> list[int]:
    """Return the number of calls in each batch, 0 for a single call."""
    return [len(c.src[0].src) if is_batch(c) else 0 for c in calls.src]


def test_runs_of_kernels_join_and_other_copies_stay() -> None:
    add = call(ADD, storage(0), storage(1))
    away = copy(storage(1, device="PYTHON"), storage(0))
    assert shape(batch(linear(add, add, away, add))) == [2, 0, 1]
    assert shape(batch(linear(add, add, away, add), least=2)) == [2, 0, 0]
    assert shape(batch(linear(away))) == [0]
    assert shape(batch(linear())) == []


def test_copies_within_the_memory_of_this_process_join() -> None:
    add = call(ADD, storage(0), storage(1))
    for source in ("CPU", "CPU:1", "PYTHON", "NPY"):
        move = copy(storage(1), storage(0, device=source))
        assert shape(batch(linear(add, move, add))) == [3]
    for source in ("NULL", "DISK:/dev/null"):
        move = copy(storage(1), storage(0, device=source))
        assert shape(batch(linear(add, move, add))) == [1, 0, 1]
    nothing = copy(storage(1, 0), storage(0, 0))
    assert shape(batch(linear(add, nothing))) == [1, 0]


def test_the_body_numbers_its_own_parameters() -> None:
    joined = batch(linear(call(ADD, storage(7), storage(5)), call(ADD, storage(9), storage(7))))
    (found,) = joined.src
    assert [p.arg.slot for p in found.src[1:]] == [7, 5, 9]
    inner = [[a.arg.slot for a in c.src[1:]] for c in found.src[0].src]
    assert inner == [[0, 1], [2, 0]]


def test_equal_batches_on_other_parameters_have_one_body() -> None:
    one = batch(linear(call(ADD, storage(0), storage(1))))
    two = batch(linear(call(ADD, storage(4), storage(3))))
    assert one.src[0].src[0] is two.src[0].src[0]


def test_only_native_functions_of_this_process_join() -> None:
    program = UOp(Ops.PROGRAM, (), ProgramInfo("k"))
    assert is_host_call(UOp.call(program, storage(0)))
    assert not is_host_call(UOp.call(program, storage(0, device="NULL")))
    assert not is_host_call(UOp.call(program, storage(0, device="PYTHON")))


def test_launches_of_more_than_one_axis_do_not_join() -> None:
    grid = UOp(Ops.PROGRAM, (), ProgramInfo("k", global_size=(4, 2, 1)))
    group = UOp(Ops.PROGRAM, (), ProgramInfo("k", local_size=(2, 1, 1)))
    assert not is_host_call(UOp.call(grid, storage(0)))
    assert not is_host_call(UOp.call(group, storage(0)))
