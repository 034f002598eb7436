"""TinyJit: a function runs plainly once, is captured the second time, and is replayed from then
on.
"""

from __future__ import annotations

import functools
import os
import weakref
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from tg_core.config import JIT, JIT_CHECK
from tg_core.device import RecycledStorage, copy_buffer
from tg_core.device.storage import slot_mark
from tg_core.engine.capture import Capture, capturing
from tg_core.engine.replay import Replay
from tg_core.errors import JitError
from tg_core.jit_file import dump_captured, load_captured
from tg_core.jit_inputs import CaptureSignature, Inputs, copy_of, placeholder, separate
from tg_core.jit_quick import QuickForm
from tg_core.jit_results import Results
from tg_core.jit_variables import Draws, VariableValues
from tg_core.tensor import Tensor
from tg_core.tensor.random import random_state
from tg_core.tensor.realize import realize_tensors
from tg_core.tensor.shard_states import parts_of
from tg_core.tensor.states import storage_base
from tg_core.tensor.structure import leaves, rebuild
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg_core.device import Buffer
    from tg_core.device.recycled import Block
    from tg_core.hcq import Marks

P = ParamSpec("P")
R = TypeVar("R")


class Captured:
    """One capture: what runs, what it takes, and what it returns.

    It holds no node of the storage it was captured on, so that storage is free to go.
    """

    def __init__(
        self,
        capture: Capture,
        inputs: Inputs,
        arguments: tuple[tuple[Any, ...], dict[str, Any]],
        result: Any,
        draws: Draws,
        first_new: int,
    ) -> None:
        self.signature = CaptureSignature(inputs)
        self.form: QuickForm | None = QuickForm(inputs, *arguments)
        self.names = [t.name for t in inputs.tensors]
        self.draws = draws
        kept = inputs.placeholders()
        slots = {t.buffer: i for i, t in enumerate(inputs.tensors)}
        self.outputs: list[RecycledStorage] = []
        returned = [value.uop for _, value in leaves(result, "result") if isinstance(value, Tensor)]
        for base in map(storage_base, parts_of(returned)):
            if base in slots or base.op is not Ops.BUFFER or base.arg.slot < first_new:
                continue
            kept[base] = placeholder(len(slots), base)
            slots[base] = len(slots)
            self.outputs.append(RecycledStorage(base.arg))
        filled = rebuild(result, Tensor, lambda tensor: tensor.uop.substitute(kept))
        self.results = Results(filled, [kept[base] for base in slots])
        self.replay = Replay.of(capture, slots)
        if self.replay.kernels == 0:
            raise JitError(
                "jit: the function ran no kernel; nothing it returns is computed from tensors"
            )
        self.describe_replay()

    def describe_replay(self) -> None:
        """Note which variables a run takes, and what it writes."""
        self.values = VariableValues(self.replay.variables(), self.draws)
        self.written, self.fixed = self.replay.written()
        self.writes_inputs = any(slot < len(self.names) for slot in self.written)

    def run(self, inputs: Inputs) -> Any:
        """Replay on new inputs and return the new result.

        Raises:
            JitError: an argument is not what it was at capture.
        """
        self.signature.check(inputs)
        nodes = [t.buffer for t in inputs.tensors]
        return self.run_on(nodes, inputs.buffers(), list(inputs.variables.values()))

    def run_on(self, nodes: list[UOp], buffers: list[Buffer], variables: list[UOp]) -> Any:
        """Replay on storage that is as it was at capture, and return the new result.

        Args:
            nodes: BUFFER nodes of the tensors among the arguments.
            buffers: their storage.
            variables: the bound variables among the arguments.
        """
        if self.writes_inputs:
            buffers = separate(buffers, self.names, self.written)
        blocks: list[Block] = []
        marks: Marks = []
        with self.replay.lock:
            for output in self.outputs:
                block = output.lend()
                blocks.append(block)
                buffers.append(block.buffer)
            try:
                self.replay.run(buffers, self.values.of(variables), marks)
            finally:
                # also after an interrupt: what ran has taken its numbers
                if marks and self.draws.blocks:
                    self.draws.advance()
        return self.results.fill(nodes, blocks, variables)


class TinyJit(Generic[P, R]):
    """A function whose kernels are captured on the second call and replayed after that.

    Inputs are the tensors and bound variables among the arguments, in nested containers too; they
    must keep shape, dtype and device, and plain Python values must stay what they were. Everything
    else the function reads (closures, attributes) is what it was at capture, except for storage,
    which is read anew. Results are never overwritten while they are held. `JIT=0` turns it off;
    `JIT_CHECK=n` compares the first n replays with plain runs.

    Args:
        function: takes and returns tensors, in lists, tuples, dicts or dataclasses.

    Raises:
        JitError: from a call, when an argument changed since the capture, or the function runs no
            kernel.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        self.function = function
        self.calls = 0
        self.captured: Captured | None = None
        self.checks_left = JIT_CHECK.value
        self._instances: weakref.WeakKeyDictionary[Any, TinyJit[Any, Any]] = (
            weakref.WeakKeyDictionary()
        )
        functools.update_wrapper(self, function)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Return the JIT of a method, with its own state for each instance."""
        if instance is None:
            return self
        jit = self._instances.get(instance)
        if jit is None:
            jit = self._instances[instance] = TinyJit(self.function)
        return functools.partial(jit._call, (instance,))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the capture to a file that `TinyJit.load` reads: compiled kernels, and the
        storage they read
        from outside of the arguments.

        Raises:
            JitError: nothing has been captured yet, or the capture has no written form.
        """
        if self.captured is None:
            raise JitError("jit: nothing is captured yet; call the function twice first")
        data = dump_captured(self.captured)
        with open(path, "wb") as file:
            file.write(data)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> TinyJit[Any, Any]:
        """Return the captured function of a file; it replays without the compiler and without the
        Python function.

        Raises:
            FileFormatError: the file is something else, damaged, or of another version.
            JitError: it was compiled for another target.
        """
        with open(path, "rb") as file:
            return _restore(dump=file.read())

    def __reduce__(self) -> tuple[Any, ...]:
        if self.captured is None:
            raise JitError(
                "jit: nothing is captured yet, so there is nothing to pickle; "
                "call the function twice first"
            )
        return _restore, (dump_captured(self.captured),)

    def reset(self) -> None:
        """Forget the capture."""
        self.calls = 0
        self.captured = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run, capture or replay."""
        captured = self.captured
        # the shortest way by itself: this is all that most calls of a program take
        if captured is not None and captured.form is not None and self.checks_left <= 0:
            if JIT.value and not capturing():
                quick = captured.form.match(args, kwargs)
                if quick is not None:
                    replayed: R = captured.run_on(*quick)
                    return replayed
        return self._call((), *args, **kwargs)

    def _call(self, first: tuple[Any, ...], /, *args: Any, **kwargs: Any) -> R:
        """Run, capture or replay; `first` is the instance of a method, which is no input."""
        if not JIT.value or capturing():
            return self.function(*first, *args, **kwargs)
        captured = self.captured
        if captured is not None:
            if self.checks_left <= 0 and captured.form is not None:
                quick = captured.form.match(args, kwargs)
                if quick is not None:
                    replayed: R = captured.run_on(*quick)
                    return replayed
            inputs, args, kwargs = Inputs.collect(args, kwargs)
            if self.checks_left > 0:
                self.checks_left -= 1
                return self._checked_run(captured, inputs, first, args, kwargs)
            result: R = captured.run(inputs)
            if captured.form is None:
                # it came from a file
                captured.form = QuickForm(inputs, args, kwargs)
            return result
        if self.calls == 0:
            plain = self.function(*first, *args, **kwargs)
            realize_tensors(_tensors_of(plain))
            self.calls = 1
            return plain
        return self._capture(first, args, kwargs)

    def _capture(self, first: tuple[Any, ...], args: Any, kwargs: Any) -> R:
        inputs, args, kwargs = Inputs.collect(args, kwargs, distinct=True)
        _, drawn = random_state()
        start = dict(drawn)
        first_new = slot_mark()
        with Capture() as capture:
            result = self.function(*first, *args, **kwargs)
            realize_tensors([*_tensors_of(result), *_tensors_of(args), *_tensors_of(kwargs)])
        blocks = {d: n - start.get(d, 0) for d, n in drawn.items() if n != start.get(d, 0)}
        draws = Draws(start, blocks)
        captured = Captured(capture, inputs, (args, kwargs), result, draws, first_new)
        self.captured = captured
        for slot, original in inputs.copies.items():
            if slot in captured.written:
                copy_buffer(original, inputs.tensors[slot].storage)
        self.calls += 1
        return result

    def _checked_run(
        self, captured: Captured, inputs: Inputs, first: tuple[Any, ...], args: Any, kwargs: Any
    ) -> R:
        """Replay, run plainly from the same state, and compare results and written storage.

        Raises:
            JitError: they differ, which means that something the function reads was frozen.
        """
        touched = [
            *captured.fixed,
            *(t.storage for i, t in enumerate(inputs.tensors) if i in captured.written),
        ]
        saved = [(b, copy_of(b)) for b in touched]
        _, drawn = random_state()
        drawn_before = dict(drawn)
        result: R = captured.run(inputs)
        replayed = [t.numpy() for t in _tensors_of(result)]
        written = [bytes(b.as_memoryview()) for b in touched]
        after = dict(drawn)
        for buffer, contents in saved:
            copy_buffer(buffer, contents)
        drawn.clear()
        drawn.update(drawn_before)
        plain = self.function(*first, *args, **kwargs)
        tensors = _tensors_of(plain)
        realize_tensors(tensors)
        for number, (tensor, value) in enumerate(zip(tensors, replayed, strict=True)):
            if tensor.numpy().tobytes() != value.tobytes():
                raise JitError(
                    f"jit check: result {number} of {self.function.__qualname__} differs from"
                    " a plain run;"
                    " something it reads from outside of its arguments was frozen at capture"
                )
        if [bytes(b.as_memoryview()) for b in touched] != written:
            raise JitError(
                f"jit check: storage that {self.function.__qualname__} writes differs from"
                " a plain run;"
                " something it reads from outside of its arguments was frozen at capture"
            )
        drawn.update(after)
        return result


def _restore(dump: bytes) -> TinyJit[Any, Any]:
    """Return a TinyJit that only replays."""
    jit: TinyJit[Any, Any] = TinyJit(_no_function)
    jit.captured = load_captured(dump)
    jit.calls = 2
    jit.checks_left = 0
    return jit


def _no_function(*args: Any, **kwargs: Any) -> Any:
    """Stand for the function of a capture that was loaded from a file."""
    raise JitError("jit: loaded from a file, which holds the compiled form and not the function")


def _tensors_of(value: Any) -> list[Tensor]:
    return [leaf for _, leaf in leaves(value, "") if isinstance(leaf, Tensor)]
