"""Level 6: what hangs or faults is reported, and the device is used again where it says so."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tg_conformance.suite.queues import filled, link, mix_call, numbers, opened, peers
from tg_conformance.suite.scripts import run_script
from tg_conformance.suite.test_level6_faults import check_ran
from tg_core import dtypes
from tg_core.device.queues import HCQBuffer
from tg_core.errors import DeviceError
from tg_core.hcq import LinkedSubmits, link_queues
from tg_core.hcq.submits import Submits, address, schedule_submits, slots_of
from tg_core.uop.ops import Ops, UOp

pytestmark = [pytest.mark.tg_level(6), pytest.mark.tg_needs("QUEUES")]

SIZE = 24
NOWHERE = 0xDEAD_0000_0000
"""An address that no device has memory at."""
NEVER = 1 << 30
"""A value that no signal of a batch reaches."""


@pytest.fixture(autouse=True)
def working_devices(tg_device: str) -> Iterator[None]:
    """Leave no device behind that is lost, or that waits for one that is."""
    yield
    devices = [opened(name) for name in peers(tg_device)]
    if any(device.lost is not None for device in devices):
        for device in devices:
            device.fail("given up by a test")
            try:
                device.check()
            except DeviceError:
                pytest.exit(f"{device.name} cannot recover: start again without this test", 1)


def batch_on(device: str) -> list[UOp]:
    """Return the calls of a small batch: twice the second parameter is added to the first."""
    a, b = (UOp.param(slot, dtypes.int32, (SIZE,), device) for slot in (0, 1))
    return [mix_call(a, b, SIZE)]


def check_works(device: str, when: str) -> None:
    """Check that the device runs batches."""
    first, second = numbers(len(when), SIZE), numbers(1 + len(when), SIZE)
    buffers = [filled(device, first), filled(device, second)]
    link(batch_on(device)).run(buffers)
    got, wanted = buffers[0].numpy(), first + 2 * second
    assert np.array_equal(got, wanted), f"{device}: computes something else {when}"


def hang(device: str, monkeypatch: pytest.MonkeyPatch) -> LinkedSubmits:
    """Give the device a batch that waits for a signal nobody sends.

    Returns:
        The batch, with the memory of its commands.
    """

    def endless(call: UOp, *options: Any) -> Submits:
        made = schedule_submits(call, *options)
        place = address(slots_of(device), device, 16)
        wait = UOp(Ops.INS, (place, UOp.const(NEVER)), "wait")
        first = made.linears[0]
        linears = (first.replace(src=(first.src[0], wait, *first.src[1:])), *made.linears[1:])
        return replace(made, linears=linears)

    buffers = [filled(device, numbers(seed, SIZE)) for seed in (1, 2)]
    link_queues._templates.clear()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(link_queues, "schedule_submits", endless)
            linked = link(batch_on(device))
            linked.run(buffers)
            return linked
    finally:
        link_queues._templates.clear()


def fault(device: str) -> None:
    """Give the device a kernel with an argument that is no memory, and wait for it."""
    owner = opened(device)
    program = batch_on(device)[0].src[0]
    info = program.arg
    loaded = owner.load_program(info.name, program.src[3].arg, info)
    wild = [HCQBuffer(owner, NOWHERE + 4096 * i, 4 * SIZE) for i in range(2)]
    loaded(wild, (), info.global_size, info.local_size, wait=True)


recovery = pytest.mark.tg_needs("RECOVERY")


@recovery
@pytest.mark.tg_core("QUEUES", "RECOVERY")
def test_a_hang_is_reported(tg_device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wait that comes to nothing ends with an error that names the device, and says where it
    stands.
    """
    hang(tg_device, monkeypatch)
    with pytest.raises(DeviceError) as caught:
        opened(tg_device).synchronize(0.5)
    message = str(caught.value)
    assert tg_device in message, f"{tg_device}: the error does not name it: {message}"
    assert "hang" in message, f"{tg_device}: a hang is reported as {message}"
    assert len(message.splitlines()) > 1, f"{tg_device}: no report of its queues: {message}"
    check_works(tg_device, "after a hang")


@recovery
@pytest.mark.tg_core("QUEUES", "RECOVERY")
def test_a_fault_is_reported(tg_device: str) -> None:
    """An access to no memory ends with an error that names the device and the fault."""
    with pytest.raises(DeviceError) as caught:
        fault(tg_device)
    message = str(caught.value)
    assert tg_device in message, f"{tg_device}: the error does not name it: {message}"
    assert "fault" in message, f"{tg_device}: a fault is reported as: {message.splitlines()[0]}"
    assert f"{NOWHERE >> 16:x}" in message, f"{tg_device}: the address is missing: {message}"
    check_works(tg_device, "after a fault")


@recovery
@pytest.mark.parametrize("kind", ["hang", "fault"])
def test_recovery_is_complete(tg_device: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is as it was, batches linked before run again, and it can happen again."""
    values = numbers(5, SIZE)
    total, addend = filled(tg_device, values), filled(tg_device, np.ones(SIZE, np.int32))
    linked = link(batch_on(tg_device))
    linked.run([total, addend])
    for turn in range(1, 4):
        opened(tg_device).synchronize()
        if kind == "hang":
            hang(tg_device, monkeypatch)
            with pytest.raises(DeviceError):
                opened(tg_device).synchronize(0.5)
        else:
            with pytest.raises(DeviceError):
                fault(tg_device)
        linked.run([total, addend])
        wanted = values + 2 * turn + 2
        got = total.numpy()
        assert np.array_equal(got, wanted), (
            f"{tg_device}: after recovery {turn} from a {kind}: got {got[:4]}, "
            f"expected {wanted[:4]}"
        )


@recovery
@pytest.mark.tg_needs("SEVERAL_DEVICES")
def test_other_devices_go_on(tg_device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that hangs does not stop its peers."""
    other = peers(tg_device, 2)[1]
    check_works(other, "before its peer hangs")
    hang(tg_device, monkeypatch)
    check_works(other, "while its peer hangs")
    with pytest.raises(DeviceError, match=tg_device):
        opened(tg_device).synchronize(0.5)
    check_works(other, "after its peer hung")
    check_works(tg_device, "after its own hang")


@recovery
def test_work_behind_a_hang_is_dropped(tg_device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was given behind the work that hung is not done later: nobody waits for it."""
    values = numbers(8, SIZE)
    total, addend = filled(tg_device, values), filled(tg_device, np.ones(SIZE, np.int32))
    linked = link(batch_on(tg_device))
    # with its memory given to the next batch, work that is not dropped might go on to its end
    stuck = hang(tg_device, monkeypatch)
    linked.run([total, addend])
    with pytest.raises(DeviceError):
        opened(tg_device).synchronize(0.5)
    check_works(tg_device, "after dropping work")
    assert stuck.devices, f"{tg_device}: the batch that hung has no device"
    got = total.numpy()
    assert np.array_equal(got, values), f"{tg_device}: work that was dropped was done: {got[:4]}"


@pytest.mark.tg_core("QUEUES")
def test_threads_share_batches(tg_device: str) -> None:
    """Threads run one linked batch and batches of their own on one device."""
    shared, wrong = link(batch_on(tg_device)), []
    together = threading.Barrier(3)

    def work(number: int) -> None:
        own = link(batch_on(tg_device))
        try:
            for turn in range(10):
                first, second = numbers(100 * number + turn, SIZE), numbers(turn, SIZE)
                buffers = [filled(tg_device, first), filled(tg_device, second)]
                together.wait(30)
                own.run(buffers)
                shared.run(buffers)
                if not np.array_equal(buffers[0].numpy(), first + 4 * second):
                    wrong.append(f"thread {number}, turn {turn + 1}")
        except Exception as error:
            together.abort()
            wrong.append(f"thread {number}: {type(error).__name__}: {error}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), f"{tg_device}: a thread hangs"
    assert not wrong, f"{tg_device}: wrong in {'; '.join(wrong[:3])}"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="undeclared: no fork on this system")
def test_a_fork_with_batches_in_flight(tg_device: str) -> None:
    """A child that only ends does not disturb what its parent has in flight."""
    body = """
        import os, warnings
        from tg_conformance.suite.test_level6_recovery import batch_on, filled, link, numbers
        warnings.simplefilter("ignore")
        linked = [link(batch_on(DEVICE)) for _ in range(4)]
        first, second = (numbers(seed, 24) for seed in (1, 2))
        buffers = [filled(DEVICE, first), filled(DEVICE, second)]
        for each in linked:
            each.run(buffers)
        child = os.fork()
        if child == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        for each in linked:
            each.run(buffers)
        assert (buffers[0].numpy() == first + 16 * second).all(), "wrong in the parent"
    """
    check_ran(tg_device, run_script(tg_device, body), "a fork with batches in flight")


@pytest.mark.tg_core("QUEUES")
def test_exit_with_batches_in_flight(tg_device: str) -> None:
    """A process that ends while its batches are queued ends cleanly, whatever dies first."""
    body = """
        from tg_conformance.suite.test_level6_recovery import batch_on, filled, link, numbers
        linked = [link(batch_on(DEVICE)) for _ in range(5)]
        buffers = [filled(DEVICE, numbers(seed, 24)) for seed in (1, 2)]
        for turn in range(15):
            linked[turn % 5].run(buffers)
        del linked
    """
    done = run_script(tg_device, body)
    check_ran(tg_device, done, "ending with batches in flight")
    assert not done.stderr.strip(), f"{tg_device}: noise at exit: {done.stderr.strip()[-600:]}"
