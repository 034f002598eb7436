"""@function: a Python function of tensors that is traced once per signature, and then is a piece
of graph.
"""

from __future__ import annotations

import functools
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from tg_core.device import Device, new_buffer_uop
from tg_core.errors import FunctionError
from tg_core.schedule.storage_view import greatest_numel, storage_view
from tg_core.tensor import Tensor
from tg_core.tensor.registry import live_tensors
from tg_core.tensor.structure import FROZEN, frozen_key, leaves, rebuild, skeleton
from tg_core.uop.graph import substitute_many, toposort
from tg_core.uop.ops import CallInfo, Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")


@dataclass
class _Implicit:
    """A tensor that the function reads from outside of its arguments."""

    tensor: weakref.ref[Tensor]
    traced: UOp
    """The node it had when the function was traced."""

    def now(self) -> UOp:
        """Return the node it has now; the traced one when the tensor is gone."""
        tensor = self.tensor()
        return self.traced if tensor is None else tensor.uop


@dataclass
class _Trace:
    """One signature's body: results over parameters, and the tensors read from outside."""

    results: list[UOp]
    structure: Any
    parameters: list[UOp]
    implicit: list[_Implicit]
    kept: list[Any]
    """Arguments that are told apart by identity, which must not be given to another object."""


class function(Generic[P, R]):  # noqa: N801 - used as a decorator
    """A function of tensors that is traced once for each signature and reused as a piece of graph.

    The signature is the structure of the arguments, the shapes, dtypes and devices of tensors, and
    the values of everything else. Tensors that the function reads from outside (weights) are inputs
    too: later calls see what they hold then. Results are lazy and differentiable.

    Args:
        fn: takes and returns tensors, in lists, tuples, dicts or dataclasses; must not look at
            values.
        precompile: make each call a unit that is scheduled by itself and whose results have
            storage; else its graph is inlined where it is used, as it is in any case for tensors
            over several devices.

    Raises:
        FunctionError: from a call, when the function looks at the values of its arguments, or
            returns something that is no tensor.
    """

    def __init__(self, fn: Callable[P, R], precompile: bool = False) -> None:
        self.fn = fn
        self.precompile = precompile
        self.traces: dict[Any, _Trace] = {}
        functools.update_wrapper(self, fn)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind a method; the instance is a part of the signature."""
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the results for these arguments, as graph over them."""
        found = [*leaves(args, "args"), *leaves(kwargs, "kwargs")]
        given = [v.uop if isinstance(v, Tensor) else v for _, v in found if _is_input(v)]
        key = (skeleton((args, kwargs)), *(_signature(name, value) for name, value in found))
        trace = self.traces.get(key)
        if trace is None:
            trace = self.traces[key] = self._trace(args, kwargs)
        inputs = [*given, *(i.now() for i in trace.implicit)]
        # A unit runs on one device; over several, the graph is expanded with what it is a part of.
        if self.precompile and not any(isinstance(node.device, tuple) for node in inputs):
            nodes = self._call(trace, inputs)
        else:
            nodes = substitute_many(trace.results, dict(zip(trace.parameters, inputs, strict=True)))
        remaining = iter(nodes)
        result: R = rebuild(trace.structure, _Result, lambda _: Tensor._from_uop(next(remaining)))
        return result

    def _trace(self, args: Any, kwargs: Any) -> _Trace:
        parameters: list[UOp] = []
        known = {id(t) for t in live_tensors()}

        def parameter(value: Any) -> Any:
            if isinstance(value, Tensor):
                parameters.append(_parameter(len(parameters), value.uop))
                return Tensor._from_uop(parameters[-1])
            if _is_input(value):
                parameters.append(_variable(len(parameters), value.src[0]))
                return parameters[-1]
            return value

        inner_args = rebuild(args, (Tensor, UOp), parameter)
        inner_kwargs = rebuild(kwargs, (Tensor, UOp), parameter)
        outcome = self.fn(*inner_args, **inner_kwargs)
        results: list[UOp] = []

        def collect(tensor: Tensor) -> _Result:
            results.append(tensor.uop)
            return _Result()

        structure = rebuild(outcome, Tensor, collect)
        for name, value in leaves(structure, "result"):
            if not isinstance(value, (_Result, *FROZEN)):
                raise FunctionError(
                    f"function {self.fn.__qualname__}: {name} is {type(value).__name__}, no tensor"
                )
        nodes = set(toposort(results, enter_calls=False))
        outside: dict[UOp, _Implicit] = {}
        for tensor in live_tensors():
            node = tensor.uop
            if (
                id(tensor) in known
                and node in nodes
                and node not in parameters
                and node.device is not None
            ):
                outside.setdefault(node, _Implicit(weakref.ref(tensor), node))
        stand_ins = {node: _parameter(len(parameters) + n, node) for n, node in enumerate(outside)}
        return _Trace(
            substitute_many(results, stand_ins),
            structure,
            [*parameters, *stand_ins.values()],
            list(outside.values()),
            [v for _, v in (*leaves(args, ""), *leaves(kwargs, "")) if not _is_hashable(v)],
        )

    def _call(self, trace: _Trace, inputs: list[UOp]) -> list[UOp]:
        """Return the results as storage that one call of the traced body fills."""
        first_output = len(trace.parameters)
        outputs, states = [], []
        for number, result in enumerate(trace.results):
            device = result.device if isinstance(result.device, str) else Device.DEFAULT
            outputs.append(new_buffer_uop(device, greatest_numel(result.shape), result.dtype))
            target = UOp.param(first_output + number, result.dtype, outputs[-1].shape, device)  # type: ignore[arg-type]  # static
            states.append(target.after(storage_view(target, result.shape).store(result)))
        info = CallInfo(self.fn.__qualname__, precompile=True)
        call = UOp.call(UOp.sink(*states), *inputs, *outputs, info=info)
        bound = dict(zip(trace.parameters, inputs, strict=True))
        shapes = [
            tuple(s.substitute(bound) if isinstance(s, UOp) else s for s in r.shape)
            for r in trace.results
        ]
        return [
            storage_view(o.after(call), shape) for o, shape in zip(outputs, shapes, strict=True)
        ]


class _Result:
    """Stands for a tensor in the structure that a traced function returned."""


def _parameter(slot: int, node: UOp) -> UOp:
    """Return a parameter in the place of a value of this shape, dtype and device."""
    device = node.device if isinstance(node.device, str) else Device.DEFAULT
    storage = UOp.param(slot, node.dtype, (greatest_numel(node.shape),), device)
    return storage_view(storage, node.shape)


def _variable(slot: int, variable: UOp) -> UOp:
    """Return a scalar parameter in the place of a bound variable."""
    low, high = variable.arg.bounds
    return UOp.variable(f"p{slot}", low, high, variable.dtype, slot=slot)


def _is_input(value: Any) -> bool:
    return isinstance(value, Tensor) or (isinstance(value, UOp) and value.op is Ops.BIND)


def _signature(name: str, value: Any) -> Any:
    if isinstance(value, Tensor):
        return (name, value.shape, value.dtype, value.uop.device)
    if _is_input(value):
        return (name, value.src[0])
    if not _is_hashable(value):
        return (name, id(value))
    return (name, frozen_key(value))


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
