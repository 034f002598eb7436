"""SINK of states to reach -> CALL(body, arguments...).

Storage and bound variables become parameters by order of visit and unbound buffers are renumbered,
so equal computations on different storage have the same body, and meet the same caches. Only inputs
are replaced: substituting the arguments back for the parameters gives the original graph.
"""

from __future__ import annotations

from tg_core.config import SPEC
from tg_core.uop.graph import toposort
from tg_core.uop.ops import AddrSpace, BufferArg, CallInfo, Ops, ParamArg, UOp
from tg_core.uop.passes import verified


def _is_input(node: UOp) -> bool:
    if node.op is Ops.BIND:
        return True
    if node.op is Ops.PARAM:
        return True
    return node.op is Ops.BUFFER and node.arg.slot >= 0 and node.arg.addrspace is AddrSpace.GLOBAL


def _unbound(node: UOp) -> bool:
    return node.op is not Ops.BIND


def _as_param(node: UOp, slot: int) -> UOp:
    if node.op is Ops.BIND or (node.op is Ops.PARAM and node.arg.bounds is not None):
        variable = node.src[0] if node.op is Ops.BIND else node
        arg = variable.arg
        return UOp(Ops.PARAM, (), ParamArg(slot, arg.dtype, (), None, f"p{slot}", arg.bounds))
    device = node.device
    return UOp.param(slot, node.dtype, node.shape, device if isinstance(device, str) else None)  # type: ignore[arg-type]  # storage has a static shape


def callify(sink: UOp) -> UOp:
    """Turn a graph into a call of a body in canonical numbering.

    Args:
        sink: SINK of the states to reach.

    Returns:
        `CALL(body, arguments...)`; argument *i* is what parameter *i* of the body stands for. A
        CALL is returned as it is.

    Raises:
        SpecError: the graph is not legal (with `SPEC` set).
    """
    if sink.op is Ops.CALL:
        return sink
    order = toposort((sink,), _unbound, enter_calls=False)
    if SPEC.value:
        from tg_core.uop.spec import spec_tensor, type_verify

        type_verify(order, spec_tensor, "callify")
    replaced: dict[UOp, UOp] = {}
    arguments: list[UOp] = []
    declared = 0
    for node in order:
        if _is_input(node):
            replaced[node] = _as_param(node, len(arguments))
            arguments.append(node)
        elif node.op is Ops.BUFFER and node.arg.addrspace is AddrSpace.GLOBAL:
            arg = node.arg
            replaced[node] = UOp(
                Ops.BUFFER, (), BufferArg(-1 - declared, arg.dtype, arg.size, arg.device)
            )
            declared += 1
    body = verified("callify", "tensor", sink.substitute(replaced))
    return UOp.call(body, *arguments, info=CallInfo())
