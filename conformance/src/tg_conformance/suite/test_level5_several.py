"""Level 5: two devices of the type keep their memory apart and their results the same."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from tg_conformance.suite.test_level1_buffers import check_bytes, new, pattern, read
from tg_core import Device, Tensor, TinyJit
from tg_core.device import copy_buffer
from tg_core.dtype import dtypes
from tg_core.errors import DeviceError

pytestmark = pytest.mark.tg_level(5)

several = pytest.mark.tg_needs("SEVERAL_DEVICES")


@pytest.fixture
def other(tg_device: str) -> str:
    """The name of a second device of the type."""
    return f"{Device[tg_device].type}:1"


@pytest.mark.tg_core
def test_a_device_that_is_not_there_is_an_error(tg_device: str) -> None:
    """A second device opens, or the error names it and says why not."""
    name = f"{Device[tg_device].type}:1"
    message = ""
    try:
        opened = Device[name]
    except DeviceError as error:
        message = str(error)
    if message:
        assert name in message, f"{name}: the error does not name it: {message}"
        return
    assert opened.index == 1, f"{name}: opened with index {opened.index}"
    assert opened is not Device[tg_device], f"{name}: is {tg_device}"
    assert opened.name == name, f"{name}: opened with the name {opened.name!r}"


@several
def test_memories_are_apart(tg_device: str, other: str) -> None:
    """What is written on one device is not seen on the other."""
    for nbytes in (1, 64, 4096, 100_003):
        first = new(tg_device, nbytes).copyin(pattern(nbytes, 1).data)
        second = new(other, nbytes).copyin(pattern(nbytes, 2).data)
        check_bytes(f"{tg_device}: {nbytes} bytes", read(first), pattern(nbytes, 1))
        check_bytes(f"{other}: {nbytes} bytes", read(second), pattern(nbytes, 2))


@several
@pytest.mark.parametrize("nbytes", [1, 3, 8, 63, 64, 65, 4095, 4097, 65536, (1 << 20) + 3])
@pytest.mark.parametrize("back", [False, True], ids=["there", "back"])
def test_copies_between_devices(tg_device: str, other: str, back: bool, nbytes: int) -> None:
    """Copies at several misalignments change what they should and nothing else."""
    start, end = (other, tg_device) if back else (tg_device, other)
    for source_offset, target_offset in ((0, 0), (3, 0), (0, 5), (7, 2)):
        data, filler = pattern(nbytes + 16, 1), pattern(nbytes + 16, 2)
        source = new(start, nbytes + 16).copyin(data.data)
        target = new(end, nbytes + 16).copyin(filler.data)
        copy_buffer(
            target.view(nbytes, dtypes.uint8, target_offset),
            source.view(nbytes, dtypes.uint8, source_offset),
        )
        wanted = filler.copy()
        wanted[target_offset : target_offset + nbytes] = data[source_offset:][:nbytes]
        what = f"{nbytes} bytes from {start} at {source_offset} to {end} at {target_offset}"
        check_bytes(what, read(target), wanted)


@several
@pytest.mark.tg_needs("PROGRAMS")
def test_kernels_run_where_their_data_is(tg_device: str, other: str) -> None:
    """The same computation on two devices, on other data."""
    for device, seed in ((tg_device, 1), (other, 2), (tg_device, 3)):
        values = np.random.default_rng(seed).integers(-99, 99, 70).astype(np.int32)
        result = (Tensor(values, device=device) * 3 - 1).realize()
        assert result.device == device, f"{device}: the result is on {result.device}"
        assert np.array_equal(result.numpy(), values * 3 - 1), f"{device}: wrong result"


@several
@pytest.mark.tg_needs("PROGRAMS")
def test_data_goes_round(tg_device: str, other: str) -> None:
    """Kernels and copies between devices happen in the order the data asks for."""
    values = np.arange(1000, dtype=np.int32)
    tensor, wanted = Tensor(values, device=tg_device), values
    for turn in range(6):
        tensor = (tensor + turn).to(other if turn % 2 == 0 else tg_device) * 2
        wanted = (wanted + turn) * 2
    assert np.array_equal(tensor.numpy(), wanted), f"{tg_device} and {other}: wrong after 6 turns"


@several
@pytest.mark.tg_needs("PROGRAMS")
def test_replay_over_two_devices(tg_device: str, other: str) -> None:
    """A captured function moves data between devices, in every replay."""

    @TinyJit
    def step(x: Tensor) -> Tensor:
        there = (x + 1).realize().to(other).realize()
        return ((there * 3).realize().to(tg_device) - x).realize()

    for call in range(5):
        values = np.random.default_rng(call).integers(-50, 50, 40).astype(np.int32)
        got = step(Tensor(values, device=tg_device).clone().realize()).numpy()
        wanted = (values + 1) * 3 - values
        assert np.array_equal(got, wanted), f"{tg_device} and {other}: call {call + 1} is wrong"


@several
@pytest.mark.tg_needs("PROGRAMS")
def test_a_thread_for_each_device(tg_device: str, other: str) -> None:
    """Two threads, each with a device of its own, do not disturb each other."""
    wrong: list[str] = []

    def work(device: str, seed: int) -> None:
        for turn in range(8):
            values = np.random.default_rng(seed + turn).integers(-9, 9, 64).astype(np.int32)
            got = (Tensor(values, device=device) * 5).sum().item()
            if got != int(values.sum()) * 5:
                wrong.append(f"{device}, turn {turn + 1}: got {got}")

    threads = [
        threading.Thread(target=work, args=(device, 100 * n))
        for n, device in enumerate((tg_device, other))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    assert not wrong, "; ".join(wrong)
