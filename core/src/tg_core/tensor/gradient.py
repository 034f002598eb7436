"""Reverse-mode differentiation on the graph, without recursion."""

from __future__ import annotations

from collections.abc import Sequence

from tg_core.dtype import dtypes
from tg_core.errors import GradientError
from tg_core.tensor.custom import call_gradient
from tg_core.tensor.gradient_rules import RULES, Rule
from tg_core.tensor.inline_calls import inline_calls
from tg_core.tensor.shard_gradient import joined_gradient, with_parts
from tg_core.uop.mixin.reduce import accumulation_dtype
from tg_core.uop.ops import Ops, UOp

_STOPS = frozenset(
    (Ops.DETACH, Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ, Ops.TRUNC, Ops.FLOORDIV, Ops.CDIV, Ops.BITCAST)
)


def _path_to(root: UOp, targets: Sequence[UOp]) -> list[UOp]:
    """Return the nodes between the targets and the root, sources first, targets included."""
    wanted = set(targets)
    # what lies below a target matters only when another target is there
    connected: set[UOp] = set()
    path: list[UOp] = []
    for node in root.toposort():
        inside = node in wanted or (
            node.op not in _STOPS and any(source in connected for source in node.src)
        )
        if inside:
            connected.add(node)
            path.append(node)
    return path


def _fit(grad: UOp, source: UOp) -> UOp:
    """Return the gradient in the shape and dtype of the source; a scalar operand was broadcast."""
    if not source.shape and grad.shape:
        axes = tuple(range(len(grad.shape)))
        wide = grad.cast(accumulation_dtype(grad.dtype))
        grad = wide._reduce(Ops.ADD, axes, False)
    elif source.shape and not grad.shape:
        grad = grad._broadcast_to(source.shape)
    return grad if dtypes.is_weak(source.dtype) else grad.cast(source.dtype)


def _rule_of(node: UOp) -> Rule:
    rule = RULES.get(node.op)
    if rule is None:
        raise GradientError(
            f"gradient: {node.op.name} of shape {node.shape} has no derivative, "
            "detach() what should not be differentiated"
        )
    return rule


def _add(grads: dict[UOp, UOp], node: UOp, contribution: UOp) -> None:
    known = grads.get(node)
    grads[node] = contribution if known is None else known + contribution


def compute_gradients(root: UOp, seed: UOp, targets: Sequence[UOp]) -> list[UOp | None]:
    """Return the gradient of `sum(root * seed)` with respect to each target.

    Args:
        root: the differentiated value.
        seed: the gradient of root, of root's shape and dtype.
        targets: nodes of the graph of root.

    Returns:
        One node for each target; None for a target that root does not depend on differentiably.

    Raises:
        GradientError: an op between root and a target has no derivative.
    """
    root, *targets = inline_calls(UOp.sink(root, *targets)).src
    path = _path_to(root, with_parts(targets))
    on_path = set(path)
    grads: dict[UOp, UOp] = {}
    of_states: dict[UOp, dict[UOp, UOp]] = {}
    if root in on_path:
        grads[root] = seed
    for node in reversed(path):
        grad = grads.get(node)
        if grad is None or not any(source in on_path for source in node.src):
            continue
        if node.op is Ops.CALL:
            contributions = call_gradient(node, of_states[node])
        else:
            contributions = _rule_of(node)(node, grad)
        for source, contribution in zip(node.src, contributions, strict=True):
            if contribution is None or source not in on_path:
                continue
            if source.op is Ops.CALL:
                # a call has one gradient for each state it leaves
                _add(of_states.setdefault(source, {}), node.src[0], contribution)
                grads[source] = contribution
                continue
            if source.op is not Ops.STORE:
                contribution = _fit(contribution, source)
            _add(grads, source, contribution)
    readers = _readers(path) if any(target.op is Ops.MULTI for target in targets) else {}
    return [
        joined_gradient(target, grads, readers) if target.op is Ops.MULTI else grads.get(target)
        for target in targets
    ]


def _readers(path: Sequence[UOp]) -> dict[UOp, list[UOp]]:
    readers: dict[UOp, list[UOp]] = {}
    for node in path:
        for source in node.src:
            readers.setdefault(source, []).append(node)
    return readers
