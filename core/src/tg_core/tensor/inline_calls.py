"""AFTER(storage, CALL(body, arguments...)) -> what the body stores there, over the arguments.

The results of precompiled functions become ordinary graph, which is what differentiation works on.
Only bodies of tensor operations are inlined; a hand-written kernel stays.
"""

from __future__ import annotations

from tg_core.tensor.custom import has_own_gradient
from tg_core.uop.graph import toposort, with_sources
from tg_core.uop.ops import KernelInfo, Ops, UOp


def inline_calls(root: UOp) -> UOp:
    """Return a graph with the results of calls replaced by their values; the same graph when
    there are none.
    """
    order = toposort((root,), enter_calls=False)
    if not any(_is_result(node) for node in order):
        return root
    done: dict[UOp, UOp] = {}
    for node in order:
        rebuilt = with_sources(node, done)
        if _is_result(rebuilt):
            rebuilt = inline_calls(_value(rebuilt))
        done[node] = rebuilt
    return done[root]


def _is_result(node: UOp) -> bool:
    if node.op is not Ops.AFTER or len(node.src) != 2 or node.src[1].op is not Ops.CALL:
        return False
    body = node.src[1].src[0]
    if has_own_gradient(node.src[1]):
        return False
    return body.op is Ops.SINK and not isinstance(body.arg, KernelInfo)


def _value(node: UOp) -> UOp:
    storage, call = node.src
    arguments = call.src[1:]
    slot = arguments.index(storage)
    state = next(
        s for s in call.src[0].src if s.src[0].op is Ops.PARAM and s.src[0].arg.slot == slot
    )
    value = state.src[1].src[1]
    bound: dict[UOp, UOp] = {}
    for inner in toposort((value,), enter_calls=False):
        if inner.op is Ops.PARAM:
            argument = arguments[inner.arg.slot]
            bound[inner] = (
                argument if argument.shape == inner.shape else argument.reshape(*inner.shape)
            )
    return value.substitute(bound).reshape(*storage.shape)
