"""Mistakes of the device are found, and say where."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tg_conformance.refdev.driver import RefDriver
from tg_conformance.refdev.emulated import SYSTEM
from tg_conformance.refdev.faults import FAULTS, plant
from tg_conformance.suite.graphs import Graphs
from tg_conformance.suite.queues import batch_of
from tg_core import Device, Tensor
from tg_core.backend import AccessFault
from tg_core.codegen import compile_program
from tg_core.device import Buffer
from tg_core.dtype import dtypes
from tg_core.errors import DeviceError
from tg_core.hcq import link_queues, link_submits
from tg_core.uop.ops import KernelInfo, UOp

NAME = "REF:7"


@pytest.fixture(autouse=True)
def fresh_templates() -> Iterator[None]:
    """Encode anew: a planted mistake of the encoder must not stay."""
    link_queues._templates.clear()
    yield
    link_queues._templates.clear()


def tensor(*values: float) -> Tensor:
    return Tensor(np.array(values, np.float32)).to(NAME).realize()


def count_to(number: int) -> None:
    a = tensor(0)
    for _ in range(number):
        a = (a + 1).realize()
    assert a.numpy().tolist() == [number]


def check_recovered() -> None:
    plant()
    assert (tensor(1, 2) + 1).numpy().tolist() == [2.0, 3.0]


def test_unknown_faults_are_refused() -> None:
    with pytest.raises(KeyError, match="no fault 'nothing'"):
        plant("nothing")
    assert all(FAULTS.values())


def test_a_missing_wait_is_a_race_of_two_named_packets() -> None:
    plant("missing wait")
    graphs = Graphs(("REF", "REF:1", "REF:2"))
    buffers = graphs.buffers(graphs.start(1))
    link_submits(batch_of(graphs.calls(graphs.draw(1, 14))), {}).run(buffers)
    with pytest.raises(DeviceError, match=r"race on \d+ bytes at 0x.*packet"):
        [buffer.numpy() for buffer in buffers]


def test_a_hang_names_device_queue_and_packet() -> None:
    a = tensor(1, 2)
    plant("hang")
    (a + 1).realize()
    with pytest.raises(DeviceError, match=rf"{NAME}: hang(.|\n)*{NAME} COMPUTE:0: at EXEC"):
        Device[NAME].synchronize()
    check_recovered()


def test_a_lost_signal_is_a_hang_of_who_waits() -> None:
    a = tensor(1, 2)
    plant("lost store")
    (a + 1).realize()
    with pytest.raises(DeviceError, match="hang: signal"):
        Device[NAME].synchronize()
    check_recovered()


def test_a_wrong_wrap_is_a_fault_of_the_packet() -> None:
    plant("ring wrap off by one")
    with pytest.raises(DeviceError, match=rf"{NAME}(.|\n)*ring word 25[2-4]"):
        count_to(80)
    check_recovered()


@pytest.mark.parametrize("fault", ["copy cut", "stale arguments"])
def test_wrong_results_are_visible(fault: str) -> None:
    plant(fault)
    a = Tensor(np.arange(1, 65, dtype=np.float32)).to(NAME).realize()
    wanted = ((np.arange(1, 65) + 1) * 2).tolist()
    try:
        found = ((a + 1).contiguous().realize() * 2).to("PYTHON").numpy().tolist()
    except DeviceError:
        found = None
    assert found != wanted
    check_recovered()


def test_swapped_timestamps_run_backwards() -> None:
    cell = UOp.param(0, dtypes.float32, (4,), NAME)
    i = UOp.range(4, 0)
    kernel = UOp.sink(
        cell.index(i).store(UOp.const(3.0, dtypes.float32)).end(i), arg=KernelInfo("k")
    )
    program = compile_program(kernel, Device[NAME].renderer)
    loaded = Device[NAME].load_program("k", program.src[3].arg, program.arg)
    size = program.arg.global_size
    buffer = Buffer(NAME, 4, dtypes.float32).allocate()
    assert loaded([buffer.opaque], (), size, wait=True) > 0
    assert buffer.numpy().tolist() == [3.0] * 4
    plant("timestamps swapped")
    assert loaded([buffer.opaque], (), size, wait=True) < 0


def test_an_address_of_the_host_faults() -> None:
    device = Device[NAME]
    driver = SYSTEM.file(device.interface.fd)
    assert isinstance(driver, RefDriver)
    with pytest.raises(AccessFault, match="not mapped"):
        driver.space.word(id(device) & ~7, 8)
