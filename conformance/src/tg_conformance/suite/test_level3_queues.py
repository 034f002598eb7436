"""Level 3: hardware queues exist where they are declared, and are rung when all is written."""

from __future__ import annotations

import pytest

from tg_conformance.suite.queues import opened
from tg_core import dtypes
from tg_core.backend import HWQueue, QueueDescription
from tg_core.device.queues import Stream
from tg_core.device.queues.encoder import placeholder
from tg_core.uop.ops import Ops, ParamArg, UOp

pytestmark = pytest.mark.tg_level(3)

KINDS = [
    pytest.param("COMPUTE", marks=[pytest.mark.tg_core, pytest.mark.tg_needs("QUEUES")]),
    pytest.param("COPY", marks=pytest.mark.tg_needs("COPY_QUEUE")),
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_queue_has_memory(tg_device: str, kind: str) -> None:
    """A declared queue is made, and each of its parts has memory of its own."""
    device = opened(tg_device)
    queue = device.queue(kind, 0)
    assert isinstance(queue, QueueDescription), (
        f"{tg_device}: declares {kind} queues, and create_queue gives {queue!r}"
    )
    assert queue.ring.nbytes >= device.RING_BYTES, (
        f"{tg_device}: a {kind} ring of {queue.ring.nbytes} bytes, "
        f"expected at least {device.RING_BYTES}"
    )
    for name in ("ring", "read_ptr", "write_ptr", "doorbell", "put_value"):
        buffer = getattr(queue, name)
        assert buffer.is_allocated(), f"{tg_device}: {name} of the {kind} queue has no memory"
    assert device.queue(kind, 0) is queue, f"{tg_device}: the {kind} queue was made twice"


def encoder(device: str, kind: str) -> HWQueue:
    """Return an encoder of the class that is registered for a queue."""
    found = opened(device)
    for record in found.catalog.queues(found.type):
        if record.kind == kind:
            queue: HWQueue = record.cls.load()(found, kind, 0)
            return queue
    raise AssertionError(f"{device}: declares {kind} queues, and registers no class for them")


@pytest.mark.parametrize("kind", KINDS)
def test_the_doorbell_comes_last(tg_device: str, kind: str) -> None:
    """In the host program, the store to the doorbell follows every other store to the queue."""
    opened(tg_device).queue(kind, 0)
    queue = encoder(tg_device, kind)
    marks = [
        UOp(Ops.PARAM, (), ParamArg(-1, dtype, (), None, name), ("mark", name))
        for name, dtype in (
            ("address", dtypes.int64),
            ("start", dtypes.int64),
            ("count", dtypes.int64),
            ("ready", dtypes.bool),
        )
    ]
    commands = placeholder(("commands",), dtypes.uint32, 64, tg_device)
    effect = queue.submit(Stream(commands, *marks))
    stores = [node for node in effect.toposort() if node.op is Ops.STORE]
    names = {store: _stored(store) for store in stores}
    rings = [store for store in stores if names[store].endswith("_doorbell")]
    for ring in rings:
        before = set(ring.toposort())
        for store in stores:
            assert store in before or store in rings, (
                f"{tg_device}: {kind}:0: the doorbell is rung without waiting for the store to "
                f"{names[store]}"
            )


def _stored(store: UOp) -> str:
    """Return the name of the memory that is written."""
    found = [n for n in store.src[0].src[0].toposort() if n.op is Ops.PARAM and n.tag is not None]
    return str(found[-1].arg.name) if found else "memory without a name"


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_is_a_function_of_its_operations(tg_device: str, kind: str) -> None:
    """Encoding the same twice gives the same words and the same places to patch."""
    opened(tg_device).queue(kind, 0)
    slot = UOp(
        Ops.GETADDR, (placeholder(("slots",), dtypes.uint64, 8, tg_device),), (tg_device, 16)
    )
    found = []
    for _ in range(2):
        queue = encoder(tg_device, kind)
        queue.barrier()
        queue.wait(slot, 3)
        queue.timestamp(slot)
        queue.store(slot, 4)
        data, patches, length, _ = queue.finish()
        assert length, f"{tg_device}: {kind}:0 encodes four operations as nothing"
        assert all(at < len(data) for at, _ in patches), f"{tg_device}: a patch beyond the words"
        found.append((data, patches, length))
    assert found[0] == found[1], f"{tg_device}: {kind}:0 encodes the same operations in two ways"
