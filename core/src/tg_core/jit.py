"""TinyJit: a function runs plainly once, is captured the second time, and is replayed from then
on.
"""

from __future__ import annotations

import functools
import itertools
import os
import weakref
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from tg_core.config import JIT, JIT_CHECK
from tg_core.device import RecycledStorage, buffer_of, copy_buffer
from tg_core.device.storage import slot_mark
from tg_core.engine.capture import Capture, capturing
from tg_core.engine.replay import Replay
from tg_core.errors import JitError
from tg_core.jit_file import dump_captured, load_captured
from tg_core.jit_gradients import Gradients, gradients_now
from tg_core.jit_inputs import CaptureSignature, Inputs, copy_of, placeholder
from tg_core.jit_outside import OutsideMemory, Overlap, Stale
from tg_core.jit_quick import QuickForm
from tg_core.jit_rebound import Rebound, StateForm, find_rebound, is_pinned
from tg_core.jit_results import Results
from tg_core.jit_variables import Draws, VariableValues
from tg_core.tensor import Tensor
from tg_core.tensor.random import random_state
from tg_core.tensor.realize import realize_tensors
from tg_core.tensor.structure import leaves, rebuild
from tg_core.tensor.writes import CallWrites, bases_of
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from tg_core.device import Buffer
    from tg_core.device.recycled import Block
    from tg_core.hcq import Marks

    Form: TypeAlias = QuickForm | StateForm

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
        rebound: Rebound,
        computed: list[tuple[Tensor, UOp]],
        gradients: Gradients,
    ) -> None:
        self.signature = CaptureSignature(inputs)
        self.rebound = rebound
        self.names = [t.name for t in inputs.tensors]
        self.draws = draws
        kept = inputs.placeholders()
        slots = inputs.slots()
        self.outputs: list[RecycledStorage] = []
        if rebound:
            bound = [*rebound.outside, *(inputs.swapped[number] for number in rebound.numbers)]
            result = (result, bound)
        returned = [value.uop for _, value in leaves(result, "result") if isinstance(value, Tensor)]
        for base in itertools.chain.from_iterable(map(bases_of, returned)):
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
        self.pinned = inputs.pinned
        arguments_of_all = (node for _, used in capture.entries for node in used)
        self.describe_replay(
            {
                node: buffer
                for node in arguments_of_all
                if (buffer := buffer_of(node)) is not None
                and node not in slots
                and node.arg.slot < first_new
            },
            computed,
            gradients,
        )
        self.form: Form | None = self.form_of(inputs, *arguments)

    def form_of(self, inputs: Inputs, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Form | None:
        """Return the short way for calls with arguments like these, None if there is none.

        Args:
            inputs: of a call.
            args: its positional arguments, as `inputs` takes them.
            kwargs: its named arguments.
        """
        if self.rebound.numbers:
            # the tensors themselves are asked for, and not only what they show
            return None
        form = QuickForm(inputs, args, self.rebound.arguments(kwargs))
        if self.rebound.outside or self.pinned:
            return StateForm(form, self.rebound.outside, self.pinned)
        return form

    def describe_replay(
        self,
        outside: Mapping[UOp, Buffer] | None = None,
        computed: list[tuple[Tensor, UOp]] | None = None,
        gradients: Gradients | None = None,
    ) -> None:
        """Note which variables a run takes, and what it uses and writes.

        Args:
            outside: storage that others use, too, by BUFFER node.
            computed: tensors from outside that it computes anew, with their nodes.
            gradients: that tensors from outside must have.
        """
        outside = outside or {}
        self.values = VariableValues(self.replay.variables(), self.draws)
        self.written, fixed = self.replay.written()
        known = {id(buffer) for buffer in outside.values()}
        slots = [slot for slot in self.written if slot < len(self.names)]
        written = [buffer for buffer in fixed if id(buffer) in known]
        self.memory = OutsideMemory(
            outside.values(),
            written,
            slots,
            self.names,
            outside.keys(),
            computed or (),
            gradients,
        )

    def run(self, inputs: Inputs) -> Any:
        """Replay on new inputs and return the new result.

        Raises:
            JitError: an argument is not what it was at capture.
        """
        self.signature.check(inputs)
        self.signature.fit(inputs)
        nodes = [t.buffer for t in inputs.tensors]
        filled = self._replay(nodes, inputs.buffers(), list(inputs.variables.values()))
        inputs.copy_back(self.written)
        if not self.rebound:
            return filled
        result, values = filled
        self.rebound.bind(self.rebound.tensors(inputs), [value.uop for value in values])
        return result

    def run_on(self, nodes: list[UOp], buffers: list[Buffer], variables: list[UOp]) -> Any:
        """Replay on storage that is as it was at capture, and return the new result.

        Args:
            nodes: BUFFER nodes of the tensors among the arguments.
            buffers: their storage.
            variables: the bound variables among the arguments.
        """
        filled = self._replay(nodes, buffers, variables)
        if not self.rebound:
            return filled
        result, values = filled
        self.rebound.bind(self.rebound.outside, [value.uop for value in values])
        return result

    def _replay(self, nodes: list[UOp], buffers: list[Buffer], variables: list[UOp]) -> Any:
        if not self.memory.is_idle:
            self.memory.prepare(buffers)
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
        self._written: frozenset[int] = frozenset()
        """Slots of the storage that calls before replays wrote."""
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
        """Write the capture to a file that `TinyJit.load` reads: compiled kernels, and the storage
        they read from outside of the arguments.

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
                    try:
                        replayed: R = captured.run_on(*quick)
                        return replayed
                    except (Overlap, Stale):
                        # told apart on the long way
                        pass
        return self._call((), *args, **kwargs)

    def _call(self, first: tuple[Any, ...], /, *args: Any, **kwargs: Any) -> R:
        """Run, capture or replay; `first` is the instance of a method, which is no input."""
        if capturing():
            return self.function(*first, *args, **kwargs)
        if not JIT.value:
            return self._plainly(first, args, kwargs)
        captured = self.captured
        if captured is None:
            if self.calls:
                return self._capture(first, args, kwargs, self._written)
            plain = self._plainly(first, args, kwargs)
            self.calls = 1
            return plain
        try:
            return self._replay(captured, first, args, kwargs)
        except Overlap:
            if self.function is _no_function:
                raise
            # rare: the capture does not know that a write shows elsewhere
            return self._plainly(first, args, kwargs)
        except Stale:
            return self._capture(first, args, kwargs, self._written)

    def _replay(self, captured: Captured, first: tuple[Any, ...], args: Any, kwargs: Any) -> R:
        if self.checks_left <= 0 and captured.form is not None:
            quick = captured.form.match(args, kwargs)
            if quick is not None:
                replayed: R = captured.run_on(*quick)
                return replayed
        inputs, taken, named = Inputs.collect(args, captured.rebound.arguments(kwargs))
        captured.rebound.check_apart(inputs)
        if len(inputs.tensors) == len(captured.names) and not is_pinned(
            inputs.buffers(), captured.pinned
        ):
            return self._capture(first, args, kwargs, frozenset())
        if self.checks_left > 0:
            self.checks_left -= 1
            return self._checked_run(captured, inputs, first, args, kwargs)
        result: R = captured.run(inputs)
        if captured.form is None:
            # it came from a file
            captured.form = captured.form_of(inputs, taken, named)
        return result

    def _plainly(self, first: tuple[Any, ...], args: Any, kwargs: Any) -> R:
        """Run the function, and do what it left pending on tensors from outside."""
        with CallWrites() as writes:
            result = self.function(*first, *args, **kwargs)
        pending = writes.pending()
        if JIT.value:
            self._written |= writes.storage
        if JIT.value or pending:
            realize_tensors([*_tensors_of(result), *pending])
        return result

    def _capture(self, first: tuple[Any, ...], args: Any, kwargs: Any, keep: frozenset[int]) -> R:
        inputs, args, kwargs = Inputs.collect(args, kwargs, keep)
        _, drawn = random_state()
        start = dict(drawn)
        first_new = slot_mark()
        gradients = gradients_now()
        own = {t.buffer: t.name for i, t in enumerate(inputs.tensors) if i not in inputs.pinned}
        with Capture(own) as capture, CallWrites(captured=True) as writes:
            try:
                result = self.function(*first, *args, **kwargs)
                realize_tensors([*_tensors_of(result), *inputs.swapped, *writes.pending()])
            except BaseException:
                inputs.hand_back()
                raise
        self._written |= writes.storage
        blocks = {d: n - start.get(d, 0) for d, n in drawn.items() if n != start.get(d, 0)}
        draws = Draws(start, blocks)
        rebound = find_rebound(writes, inputs, first_new)
        if rebound is not None:
            self.captured = Captured(
                capture,
                inputs,
                (args, kwargs),
                result,
                draws,
                first_new,
                rebound,
                writes.computed_alive(),
                Gradients(gradients),
            )
            self.calls += 1
        inputs.bind_back()
        inputs.copy_back(Replay.of(capture, inputs.slots()).written()[0])
        inputs.give_own_nodes_up()
        return result

    def _checked_run(
        self, captured: Captured, inputs: Inputs, first: tuple[Any, ...], args: Any, kwargs: Any
    ) -> R:
        """Replay, run plainly from the same state, and compare results and written storage.

        Raises:
            JitError: they differ, which means that something the function reads was frozen.
        """
        touched = [
            *captured.memory.written,
            *(t.storage for i, t in enumerate(inputs.tensors) if i in captured.written),
        ]
        saved = [(b, copy_of(b)) for b in touched]
        rebound = captured.rebound.tensors(inputs)
        before = [tensor.uop for tensor in rebound]
        _, drawn = random_state()
        drawn_before = dict(drawn)
        result: R = captured.run(inputs)
        replayed = [t.numpy() for t in (*_tensors_of(result), *rebound)]
        written = [bytes(b.as_memoryview()) for b in touched]
        after = dict(drawn)
        for buffer, contents in saved:
            copy_buffer(buffer, contents)
        Rebound.bind(rebound, before)
        drawn.clear()
        drawn.update(drawn_before)
        plain = self._plainly(first, args, kwargs)
        tensors = [*_tensors_of(plain), *rebound]
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
