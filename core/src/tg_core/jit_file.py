"""A captured function as bytes, and back: for files and for `pickle`.

The file holds compiled kernels, the storage the capture reads from outside (weights), and what
the arguments must look like. Loading it takes no compiler and runs no code of the file's
choosing: it is plain data (`uop/serialize.py`). It fits one version of the package and the kind
of device it was compiled for, and says so when it does not.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from tg_core.device import Buffer, Device, RecycledStorage
from tg_core.engine.position_check import PositionCheck
from tg_core.engine.replay import Argument, Bound, Replay, Slot
from tg_core.errors import DeviceError, FileFormatError, JitError
from tg_core.hcq import (
    WrittenProgram,
    provide_host_program,
    runtime_device,
    written_host_program,
)
from tg_core.jit_inputs import CaptureSignature, Signature
from tg_core.jit_rebound import Rebound
from tg_core.jit_results import Results
from tg_core.jit_variables import Draws
from tg_core.uop.ops import BufferArg, Ops
from tg_core.uop.serialize import dump_value, load_value

if TYPE_CHECKING:
    from tg_core.jit import Captured

MAGIC = b"tgjit"
VERSION = 3


def dump_captured(captured: Captured) -> bytes:
    """Return a capture as bytes.

    Raises:
        JitError: the result or an argument holds something that has no written form.
    """
    if captured.rebound:
        raise JitError(
            "jit: the function gives tensors another value without writing to their storage, which"
            " a file cannot do; use assign()"
        )
    roots: dict[int, tuple[int, Buffer]] = {}

    def written(argument: Argument) -> tuple[Any, ...]:
        if isinstance(argument, Slot):
            return ("slot", argument.index)
        if isinstance(argument, Bound):
            return ("bound", argument.variable, argument.captured)
        number, _ = roots.setdefault(id(argument.root), (len(roots), argument.root))
        return ("buffer", number, argument.size, argument.dtype, argument.offset)

    replay = captured.replay.compiled()
    entries = [(linear, [written(a) for a in arguments]) for linear, arguments in replay.entries]
    checks = [(number, (written(c.storage), *c[1:])) for number, c in replay.checks]
    state = {
        "entries": entries,
        "checks": checks,
        "roots": [
            (r.device, r.size, r.dtype, bytes(r.ensure_allocated().copyout(bytearray(r.nbytes))))
            for _, r in roots.values()
        ],
        "results": (captured.results.structure, captured.results.placeholders),
        "tensors": [tuple(s) for s in captured.signature.tensors],
        "variables": captured.signature.variables,
        "frozen": captured.signature.frozen,
        "draws": (captured.draws.start, captured.draws.blocks),
        "outputs": [BufferArg(0, o.dtype, o.size, o.device) for o in captured.outputs],
        "targets": _targets(replay),
        "host": _host_programs(captured.replay),
    }
    try:
        payload = dump_value(state)
    except TypeError as error:
        raise JitError(f"jit: the capture cannot be written: {error}") from error
    return MAGIC + bytes([VERSION]) + hashlib.sha256(payload).digest() + payload


def load_captured(data: bytes) -> Captured:
    """Return the capture that `dump_captured` wrote.

    Raises:
        FileFormatError: the bytes are something else, damaged, or of another version.
        JitError: it was compiled for a machine or a backend that is not here.
    """
    from tg_core.jit import Captured

    head = len(MAGIC) + 1
    if data[: len(MAGIC)] != MAGIC:
        raise FileFormatError("jit file: not the file of a captured function")
    if data[len(MAGIC)] != VERSION:
        raise FileFormatError(
            f"jit file: version {data[len(MAGIC)]}, this package reads version {VERSION}"
        )
    payload = data[head + 32 :]
    if hashlib.sha256(payload).digest() != data[head : head + 32]:
        raise FileFormatError(f"jit file: damaged or cut short after {len(data)} bytes")
    state = load_value(payload)
    for type_name, key in state["targets"].items():
        here = Device[type_name].renderer.key
        if here != key:
            raise JitError(
                f"jit file: compiled for another {type_name} or another version of its backend; "
                "capture it again here"
                f" (there: {key[:120]}..., here: {here[:120]}...)"
            )
    for written in state["host"]:
        provide_host_program(WrittenProgram(*written))
    roots = []
    for device, size, dtype, contents in state["roots"]:
        buffer = Buffer(device, size, dtype)
        buffer.copyin(contents)
        roots.append(buffer)

    def argument(parts: tuple[Any, ...]) -> Argument:
        kind = parts[0]
        if kind == "slot":
            return Slot(parts[1])
        if kind == "bound":
            return Bound(parts[1], parts[2])
        number, size, dtype, offset = parts[1:]
        root: Buffer = roots[number]
        whole = (size, dtype, offset) == (root.size, root.dtype, 0)
        return root if whole else root.view(size, dtype, offset)

    captured = object.__new__(Captured)
    captured.signature = CaptureSignature.of(
        [Signature(*parts) for parts in state["tensors"]], state["variables"], state["frozen"]
    )
    captured.form = None
    captured.rebound, captured.pinned = Rebound([], []), {}
    captured.names = [s.name for s in captured.signature.tensors]
    captured.draws = Draws(*state["draws"])
    captured.outputs = [RecycledStorage(arg) for arg in state["outputs"]]
    captured.results = Results(*state["results"])
    captured.replay = Replay(
        [(linear, [argument(a) for a in arguments]) for linear, arguments in state["entries"]],
        [
            (number, PositionCheck(argument(storage), *rest))
            for number, (storage, *rest) in state["checks"]
        ],
    )
    captured.describe_replay()
    return captured


def _targets(replay: Replay) -> dict[str, str]:
    """Return the renderer keys of the device types that kernels were compiled for."""
    found: dict[str, str] = {}
    for linear, arguments in replay.entries:
        for call in linear.src:
            if call.src[0].op is not Ops.PROGRAM:
                continue
            device = call.src[1].device
            assert isinstance(device, str)
            found[device.split(":")[0]] = Device[device].renderer.key
        del arguments
    return found


def _host_programs(replay: Replay) -> list[tuple[Any, ...]]:
    """Return the programs that run batches: what each was compiled from and for, and its PROGRAM.

    Without a device for host programs nothing was batched.
    """
    try:
        runtime_device()
    except DeviceError:
        return []
    return [tuple(written_host_program(body)) for body in replay.host_programs()]
