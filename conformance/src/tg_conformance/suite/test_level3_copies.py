"""Level 3: copies by queues, in every size class and at every misalignment."""

from __future__ import annotations

import numpy as np
import pytest

from tg_conformance.suite.queues import copy_call, link, opened, peers
from tg_conformance.suite.test_level1_buffers import SIZES, check_bytes, new, pattern, read
from tg_core import Device, dtypes
from tg_core.uop.ops import Ops, UOp

pytestmark = [pytest.mark.tg_level(3), pytest.mark.tg_needs("COPY_QUEUE")]

OFFSETS = [(0, 0), (1, 0), (0, 1), (2, 3), (3, 2), (5, 7), (8, 4), (63, 31)]
"""Of source and target, in bytes."""
MARGIN = 64
"""Bytes behind a copy that must not change."""

FOUR_GIB = 1 << 32


def part(slot: int, device: str, nbytes: int, start: int, size: int) -> UOp:
    """Return some bytes of a parameter."""
    whole = UOp.param(slot, dtypes.uint8, (nbytes,), device)
    return whole._movement(Ops.SHRINK, ((start, start + size),))


def check_copy(source: str, target: str, nbytes: int, offsets: tuple[int, int]) -> None:
    """Copy bytes by a queue, and look at them and at those around."""
    at, to = offsets
    data, filler = pattern(nbytes + at, nbytes), pattern(nbytes + to + MARGIN, 9)
    ends = [new(target, len(filler)).copyin(filler.data), new(source, len(data)).copyin(data.data)]
    call = copy_call(
        part(0, target, len(filler), to, nbytes), part(1, source, len(data), at, nbytes)
    )
    what = f"queue copy of {nbytes} bytes from {source} at {at} to {target} at {to}"
    assert link([call]).run(ends), f"{what}: the batch was refused"
    wanted = filler.copy()
    wanted[to : to + nbytes] = data[at:]
    check_bytes(what, read(ends[0]), wanted)


@pytest.mark.parametrize("nbytes", SIZES)
def test_sizes(tg_device: str, nbytes: int) -> None:
    """Copies within the device, of every size class."""
    check_copy(tg_device, tg_device, nbytes, (0, 0))


@pytest.mark.parametrize("offsets", OFFSETS, ids=str)
def test_misalignments(tg_device: str, offsets: tuple[int, int]) -> None:
    """Copies within the device, from and to every misalignment, with tails of every length."""
    for nbytes in (1, 2, 3, 4, 5, 7, 8, 15, 64, 65, 4099):
        check_copy(tg_device, tg_device, nbytes, offsets)


@pytest.mark.parametrize("back", [False, True], ids=["there", "back"])
def test_copies_with_a_peer(tg_device: str, back: bool) -> None:
    """Copies to and from another device of the type, by the queue of the source."""
    names = peers(tg_device, 2)
    if len(names) == 1:
        pytest.skip("undeclared: SEVERAL_DEVICES")
    source, target = names[::-1] if back else names
    for nbytes, offsets in ((1, (0, 0)), (64, (0, 3)), (4097, (5, 2)), ((1 << 20) + 3, (1, 0))):
        check_copy(source, target, nbytes, offsets)


@pytest.mark.parametrize("back", [False, True], ids=["there", "back"])
def test_copies_with_the_host(tg_device: str, back: bool) -> None:
    """Memory of the host is mapped for the queue, or the batch is refused with nothing done."""
    source, target = ("PYTHON", tg_device) if back else (tg_device, "PYTHON")
    for nbytes in (1, 64, 4097, 65536):
        data, filler = pattern(nbytes, 1), pattern(nbytes, 2)
        ends = [new(target, nbytes).copyin(filler.data), new(source, nbytes).copyin(data.data)]
        call = copy_call(part(0, target, nbytes, 0, nbytes), part(1, source, nbytes, 0, nbytes))
        done = link([call]).run(ends)
        what = f"queue copy of {nbytes} bytes from {source} to {target}"
        check_bytes(what, read(ends[0]), data if done else filler)


def test_a_copy_of_more_than_4_gib(tg_device: str) -> None:
    """The size of a copy is not cut to 32 bits, and what is beyond arrives."""
    nbytes = FOUR_GIB + 4099
    limit = Device[tg_device].allocator.limit()
    if limit is None or limit < 3 * FOUR_GIB:
        pytest.skip("undeclared: memory of 12 GiB")
    target, source = new(tg_device, nbytes), new(tg_device, nbytes)
    places = [0, 4096, FOUR_GIB - 5, FOUR_GIB, nbytes - 9]
    for seed, place in enumerate(places):
        source.view(9, dtypes.uint8, place).copyin(pattern(9, seed).data)
        target.view(9, dtypes.uint8, place).copyin(bytes(9))
    wanted = [read(source.view(9, dtypes.uint8, place)) for place in places]
    call = copy_call(part(0, tg_device, nbytes, 0, nbytes), part(1, tg_device, nbytes, 0, nbytes))
    link([call]).run([target, source])
    opened(tg_device).synchronize(120)
    for place, cells in zip(places, wanted):
        what = f"{tg_device}: queue copy of {nbytes} bytes, at {place:#x}"
        check_bytes(what, read(target.view(9, dtypes.uint8, place)), cells)


def test_a_chain_of_copies(tg_device: str) -> None:
    """Copies that depend on each other come in order, also when there are many in a batch."""
    buffers = [new(tg_device, 100).copyin(pattern(100, seed).data) for seed in range(6)]
    wanted = [pattern(100, seed) for seed in range(6)]
    calls = []
    for turn in range(30):
        target, source, start = turn % 6, (turn * 5 + 1) % 6, turn % 50
        if target == source:
            continue
        calls.append(
            copy_call(
                part(target, tg_device, 100, start, 40),
                part(source, tg_device, 100, 50 - start, 40),
            )
        )
        wanted[target][start : start + 40] = wanted[source][50 - start : 90 - start].copy()
    link(calls).run(buffers)
    for number, buffer in enumerate(buffers):
        what = f"{tg_device}: buffer {number} after {len(calls)} copies"
        check_bytes(what, read(buffer), np.asarray(wanted[number]))
