"""Running a pass: recorded, and its result verified where `SPEC` is set.

Every stage from the graph of tensors to the commands of queues ends here or in the pipeline of
`codegen`, so that what a stage does wrong is an error of that stage, with its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.config import SPEC
from tg_core.uop.args import KernelInfo
from tg_core.uop.graph import has_own_body, toposort
from tg_core.uop.opcodes import Ops
from tg_core.uop.record import recorded_pass

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    from tg_core.uop.uop import UOp

    Kind = Literal["tensor", "calls", "queue", "kernel"]
    """Which specification a result satisfies."""


def run_pass(
    name: str, kind: Kind, before: UOp, function: Callable[..., UOp], *arguments: Any
) -> UOp:
    """Run a pass, record it when recording is on, and verify its result with `SPEC` set.

    Args:
        name: name of the pass.
        kind: what its result is.
        before: its input, for the recording.
        function: called with the arguments; returns its output.
        arguments: of the function.

    Raises:
        SpecError: the result is not legal; names the pass and the node.
    """
    return verified(name, kind, recorded_pass(name, before, function, *arguments))


def verified(name: str, kind: Kind, node: UOp) -> UOp:
    """Return the result of a pass, verified with `SPEC` set.

    Args:
        name: name of the pass.
        kind: what its result is.
        node: the result.

    Raises:
        SpecError: the result is not legal; names the pass and the node.
    """
    if SPEC.value:
        _verify(name, kind, node)
    return node


def _verify(name: str, kind: Kind, root: UOp) -> None:
    from tg_core.uop import spec, spec_calls

    specs = {
        "tensor": spec.spec_tensor,
        "calls": spec_calls.spec_calls,
        "queue": spec_calls.spec_queue,
        "kernel": spec.spec_shared,
    }
    seen: set[UOp] = set()
    graphs = [root]
    while graphs:
        order = toposort((graphs.pop(),), enter_calls=False)
        spec.type_verify(order, specs[kind], name)
        for node in order:
            body = node.src[0] if has_own_body(node) else None
            if body is None or body in seen:
                continue
            seen.add(body)
            if body.op is Ops.LINEAR:
                graphs.append(body)
            elif isinstance(body.arg, KernelInfo):
                spec.type_verify(body, spec.spec_shared, name)
            elif body.op is Ops.PROGRAM:
                spec.type_verify([body], spec.spec_tensor, name)
