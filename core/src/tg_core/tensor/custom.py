"""Hand-written kernels and bodies as tensor operations, with gradients of their own."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tg_core.dtype import dtypes
from tg_core.errors import DeviceError, DTypeError, GradientError, ShapeError
from tg_core.uop.mixin.shape_utils import shape_text
from tg_core.uop.ops import CallInfo, KernelInfo, Ops, UOp

if TYPE_CHECKING:
    from tg_core.tensor.tensor import Tensor

GradientFunction = Callable[..., Sequence[UOp | None]]

_gradients: weakref.WeakKeyDictionary[UOp, GradientFunction] = weakref.WeakKeyDictionary()


def call_gradient(call: UOp, grads: dict[UOp, UOp]) -> tuple[UOp | None, ...]:
    """Return the gradients of the sources of a CALL.

    Args:
        call: the CALL.
        grads: the gradient of each argument's state after the call; unused ones are missing.

    Raises:
        GradientError: the call has no gradient function, or it returns a wrong number.
    """
    function = _gradients.get(call)
    name = call.arg.name or "kernel"
    if function is None:
        raise GradientError(f"gradient: the call of {name} has no grad_fxn")
    arguments = call.src[1:]
    found = tuple(function(*(grads.get(argument) for argument in arguments), call=call))
    if len(found) != len(arguments):
        raise GradientError(
            f"gradient: grad_fxn of {name} returned {len(found)} gradients for "
            f"{len(arguments)} arguments"
        )
    return (None, *found)


class CustomMethods:
    """`custom_kernel call` and what needs a backend with special hardware."""

    __slots__ = ()

    def custom_kernel(
        self: Tensor,
        *lst: Tensor,
        fxn: Callable[..., UOp],
        grad_fxn: GradientFunction | None = None,
    ) -> list[Tensor]:
        """Return the tensors after a hand-written kernel has run on their storage.

        Args:
            *lst: more tensors; all get storage first. Outputs are made with `Tensor.empty`.
            fxn: takes one PARAM for each tensor, flat storage of its size, and returns the kernel:
                a SINK with a `KernelInfo`, see `docs/ir.md`.
            grad_fxn: takes the gradient of each tensor's state after the kernel, flat, None where
                there is none, and `call=`, the CALL; returns one gradient for each tensor, flat
                or None.

        Raises:
            DTypeError: `fxn` does not return a kernel.
            DeviceError: the tensors are on different devices.
        """
        tensors = [self, *lst]
        states = [_state_of(tensor) for tensor in tensors]
        devices = {state.device for state in states}
        if any(isinstance(device, tuple) for device in devices):
            raise DeviceError(
                "custom_kernel: a tensor is over several devices; move it to one with .to()"
            )
        if len(devices) > 1:
            raise DeviceError(
                f"custom_kernel: tensors on different devices {sorted(map(str, devices))}"
            )
        params = [
            UOp.param(slot, state.dtype, state.shape, state.device)  # type: ignore[arg-type]  # flat
            for slot, state in enumerate(states)
        ]
        body: Any = fxn(*params)
        if not isinstance(body, UOp) or body.op is not Ops.SINK:
            raise DTypeError(f"custom_kernel: fxn must return a SINK, found {body!r:.80}")
        if not isinstance(body.arg, KernelInfo):
            body = body.replace(arg=KernelInfo(name=getattr(fxn, "__name__", "custom")))
        call = UOp.call(body, *states, info=CallInfo(body.arg.name))
        if grad_fxn is not None:
            _gradients[call] = grad_fxn
        return [
            tensor._from_uop(state.after(call).reshape(tensor.shape))
            for tensor, state in zip(tensors, states, strict=True)
        ]

    def call(
        self: Tensor,
        *lst: Tensor,
        fxn: Tensor | UOp,
        grad_fxn: GradientFunction | None = None,
    ) -> Tensor:
        """Return the value `fxn`, written over parameters, with self and `lst` as arguments.

        Args:
            *lst: the further arguments.
            fxn: a value over `as_param(0)`, `as_param(1)`, ...
            grad_fxn: takes the gradient of the result and `call=`, the CALL, whose sources after
                the body are the arguments; returns one gradient for each, or None. Without it
                the body itself is differentiated.

        Raises:
            ShapeError: a parameter has no argument, or one of another shape.
        """
        arguments = [self.uop, *(tensor.uop for tensor in lst)]
        body = fxn if isinstance(fxn, UOp) else fxn.uop
        bound: dict[UOp, UOp] = {}
        for node in body.toposort():
            if node.op is Ops.PARAM and node.arg.bounds is None:
                bound[node] = _argument(node, arguments)
        if grad_fxn is None:
            return self._from_uop(body.substitute(bound))
        return self._from_uop(_opaque_call(body, arguments, grad_fxn))

    def decode_hevc_frame(
        self: Tensor,
        frame_pos: Any,
        shape: tuple[int, ...],
        state: Tensor,
        ref_frames: list[Tensor] | None = None,
    ) -> Tensor:
        """Decode a video frame in hardware.

        Raises:
            DeviceError: no installed backend decodes video.
        """
        raise DeviceError("decode_hevc_frame: needs a backend with a video decoder")


def _opaque_call(body: UOp, arguments: Sequence[UOp], grad_fxn: GradientFunction) -> UOp:
    """Return storage that a CALL of the body fills, so that differentiation stops at the call."""
    from tg_core.device import Device, new_buffer_uop
    from tg_core.schedule.storage_view import greatest_numel, storage_view

    device = next((a.device for a in arguments if isinstance(a.device, str)), Device.DEFAULT)
    storage = new_buffer_uop(device, greatest_numel(body.shape), body.dtype)
    slot = len(arguments)
    target = UOp.param(slot, body.dtype, (greatest_numel(body.shape),), device)
    state = target.after(storage_view(target, body.shape).store(body))
    info = CallInfo("custom", precompile=True)
    call = UOp.call(UOp.sink(state), *arguments, storage, info=info)

    def gradient_of_arguments(*grads: UOp | None, call: UOp) -> Sequence[UOp | None]:
        grad = grads[-1]
        assert grad is not None
        return (*grad_fxn(grad.reshape(body.shape), call=call), None)

    _gradients[call] = gradient_of_arguments
    return storage_view(storage.after(call), body.shape)


def set_gradient(call: UOp, function: GradientFunction) -> None:
    """Give a CALL its gradient function."""
    _gradients[call] = function


def has_own_gradient(call: UOp) -> bool:
    """Tell whether a CALL came with a gradient function."""
    return call in _gradients


def _argument(param: UOp, arguments: Sequence[UOp]) -> UOp:
    slot = param.arg.slot
    if slot >= len(arguments):
        raise ShapeError(f"call: parameter {slot} has no argument, {len(arguments)} given")
    argument = arguments[slot]
    if param.shape != argument.shape and param.shape != argument.reshape(-1).shape:
        raise ShapeError(
            f"call: parameter {slot} of shape {shape_text(param.shape)} for an argument of shape "
            f"{shape_text(argument.shape)}"
        )
    reshaped: UOp = argument.reshape(param.shape)
    return reshaped


def _state_of(tensor: Tensor) -> UOp:
    """Return the flat state of a tensor's storage, made when there is none."""
    from tg_core.tensor.assign import clone_node
    from tg_core.tensor.states import has_buffer_identity

    if dtypes.is_weak(tensor.dtype):
        raise DTypeError(f"custom_kernel: {tensor.dtype.name} has no width, cast it first")
    node = tensor.uop
    if not has_buffer_identity(node, after_ok=True):
        node = clone_node(node)
    while node.op in (Ops.RESHAPE, Ops.CONTIGUOUS):
        node = node.src[0]
    return node
