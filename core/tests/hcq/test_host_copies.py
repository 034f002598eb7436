"""Memory that the host has no view of."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from toy_queues import MACHINE, WideToy, toys

from tg_core import Tensor
from tg_core.device import Buffer, Device
from tg_core.dtype import dtypes
from tg_core.errors import DeviceError
from tg_core.hcq.staging import slot_bytes
from tg_core.plugins import Capability


@pytest.fixture(autouse=True, scope="module")
def devices() -> Iterator[None]:
    with toys():
        yield


@pytest.mark.parametrize("nbytes", [1, 2047, 2048, 2049, 6 * 2048, 20001])
def test_bytes_go_in_and_come_out_in_pieces(nbytes: int) -> None:
    data = np.random.default_rng(nbytes).integers(0, 256, nbytes, np.uint8)
    for seed in range(3):
        MACHINE.reseed(seed)
        buffer = Buffer("TOYB", nbytes, dtypes.uint8).copyin(np.roll(data, seed).tobytes())
        with pytest.raises(DeviceError, match="no view of the host"):
            buffer.opaque.host_bytes()
        assert buffer.numpy().tobytes() == np.roll(data, seed).tobytes()


def test_parts_are_read_and_written_at_any_byte() -> None:
    data = np.arange(9000, dtype=np.uint32).view(np.uint8)
    buffer = Buffer("TOYB", data.nbytes, dtypes.uint8).copyin(data.tobytes())
    expected = data.copy()
    for start, nbytes in ((1, 5000), (2047, 3), (35990, 10)):
        buffer.view(nbytes, dtypes.uint8, start).copyin(bytes(nbytes))
        expected[start : start + nbytes] = 0
        part = buffer.view(nbytes + 1, dtypes.uint8, start - 1).numpy()
        assert part.tolist() == expected[start - 1 : start + nbytes].tolist()
    assert buffer.numpy().tobytes() == expected.tobytes()


def test_the_host_waits_for_its_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """More pieces than slots: without waiting the race detector would mind."""
    device = Device["TOYB"]
    assert isinstance(device, WideToy)
    waited: list[int] = []
    wait_until = device.wait_until

    def noted(number: int, seconds: float = 30.0) -> None:
        waited.append(number)
        wait_until(number, seconds)

    monkeypatch.setattr(device, "wait_until", noted)
    Buffer("TOYB", 5 * slot_bytes(device), dtypes.uint8).copyin(bytes(5 * slot_bytes(device)))
    assert len([number for number in waited if number]) >= 3


def test_tensors_on_such_a_device() -> None:
    values = np.arange(3000, dtype=np.float32)
    made = (Tensor(values).to("TOYB") * 3 - 1).contiguous().realize()
    np.testing.assert_array_equal((made + made).numpy(), (values * 3 - 1) * 2)


def test_links_are_kept_up_to_a_number() -> None:
    device = Device["TOYB"]
    assert isinstance(device, WideToy)
    for nbytes in range(1, 50):
        Buffer("TOYB", nbytes, dtypes.uint8).copyin(bytes(nbytes))
    assert len(device.kept_links) <= 32


def test_without_a_queue_for_copies_there_is_no_way(monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device["TOYB"]
    kept = device.capabilities - {Capability.COPY_QUEUE}
    buffer = Buffer("TOYB", 8, dtypes.uint8).allocate()
    monkeypatch.setattr(device, "capabilities", kept)
    with pytest.raises(DeviceError, match="TOYB: the host has no view of its memory"):
        buffer.copyin(bytes(8))
