"""The operations of queues -> command words, and which of them are not known yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tg_core.device import Device
from tg_core.device.queues.compiled import HCQCompiled
from tg_core.device.queues.encoder import BLOB_ALIGNMENT, HWQueue, Launch, placeholder
from tg_core.dtype import dtypes
from tg_core.errors import CompileError, DeviceError
from tg_core.hcq.arguments import parse_argument
from tg_core.hcq.programs import load_program
from tg_core.hcq.submits import address
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from tg_core.device.queues.encoder import Word
    from tg_core.hcq.enqueue import QueueName
    from tg_core.hcq.submits import Submits
    from tg_core.uop.ops import ProgramInfo, sint

__all__ = ["Commands", "Placed", "commands_of", "encode_streams", "queue_device"]


@dataclass(frozen=True)
class Placed:
    """The words of one queue, within the commands of its device."""

    queue: HWQueue
    start: int
    """Byte offset."""
    nbytes: int


@dataclass
class Commands:
    """All command memory of one device."""

    device: str
    data: bytearray
    patches: list[tuple[int, UOp]]
    """Byte offsets of words that linking or running fills in."""


def commands_of(device: str) -> UOp:
    """Return the command memory of a device as storage."""
    return placeholder(("commands",), dtypes.uint32, 1 << 24, device)


def queue_device(name: str) -> HCQCompiled:
    """Return an opened device that has queues.

    Raises:
        DeviceError: its class is of another kind.
    """
    device = Device[name]
    if not isinstance(device, HCQCompiled):
        raise DeviceError(f"{name}: declares queues, but {type(device).__name__} is no HCQCompiled")
    return device


def encoder_of(name: QueueName) -> HWQueue:
    """Return a new encoder of the class registered for a queue.

    Raises:
        DeviceError: none is.
    """
    device = queue_device(name.device)
    for record in device.catalog.queues(device.type):
        if record.kind == name.kind:
            queue: HWQueue = record.cls.load()(device, name.kind, name.number)
            return queue
    raise DeviceError(f"{name.device}: no queue of kind {name.kind} is registered")


def encode_streams(submits: Submits) -> tuple[dict[str, Commands], list[Placed]]:
    """Encode the operations of every queue.

    Returns:
        The command memory of each device, and where in it each queue's words are, in order.

    Raises:
        CompileError: a queue lacks an operation.
    """
    memory = {device: Commands(device, bytearray(), []) for device in submits.devices}
    placed = []
    for name, linear in zip(submits.queues, submits.linears, strict=True):
        queue = encoder_of(name)
        for op in linear.src:
            _encode(queue, op)
        data, patches, length, blobs = queue.finish()
        commands = memory[name.device]
        commands.data.extend(bytes(-len(commands.data) % BLOB_ALIGNMENT))
        start = len(commands.data)
        commands.data.extend(data)
        base = commands_of(name.device)
        places = {node: address(base, name.device, start + at) for node, at in blobs.items()}
        commands.patches.extend([(start + at, places.get(word, word)) for at, word in patches])
        placed.append(Placed(queue, start, length))
    return memory, placed


def _encode(queue: HWQueue, op: UOp) -> None:
    if op.op is Ops.CALL:
        if op.src[0].op is Ops.COPY:
            _encode_copy(queue, op)
        else:
            queue.exec(_launch(queue, op))
    elif op.op is Ops.INS and op.arg == "barrier":
        queue.barrier()
    elif op.op is Ops.INS and op.arg == "timestamp":
        place = op.src[0]
        device, offset = place.arg
        queue.timestamp(address(place.src[0], device, offset + 8))
    elif op.op is Ops.INS and op.arg in ("wait", "wait_eq", "store"):
        value = op.src[1].const_value
        word: Word = value if isinstance(value, int) else op.src[1]
        methods = {"wait": queue.wait, "wait_eq": queue.wait_equal, "store": queue.store}
        methods[op.arg](op.src[0], word)
    else:
        raise CompileError(f"queue {queue.kind}: no operation {op.op.name} {op.arg!r}")


def _encode_copy(queue: HWQueue, op: UOp) -> None:
    destination, source = parse_argument(op.src[1]), parse_argument(op.src[2])
    nbytes = source.size * source.dtype.itemsize
    name = queue.device.name
    queue.copy(
        address(destination.base, name, destination.offset),
        address(source.base, name, source.offset),
        nbytes,
    )


def _launch(queue: HWQueue, call: UOp) -> Launch:
    info: ProgramInfo = call.src[0].arg
    name = queue.device.name
    program = load_program(name, call.src[0])
    image = placeholder(("program", call.src[0].key), dtypes.uint8, program.image.size, name)  # type: ignore[attr-defined]  # programs of such devices have an image
    arguments = [parse_argument(call.src[1 + slot]) for slot in info.params]
    values = tuple([call.src[1 + variable.arg.slot] for variable in info.variables])
    bound = dict(zip(info.variables, values, strict=True))

    def size(given: sint) -> Word:
        return given if isinstance(given, int) else given.substitute(bound)

    return Launch(
        info,
        address(image, name),
        image.arg.shape[0],
        tuple([address(a.base, name, a.offset) for a in arguments]),
        values,
        tuple([size(s) for s in info.global_size]),
        tuple([size(s) for s in info.local_size]),
    )
