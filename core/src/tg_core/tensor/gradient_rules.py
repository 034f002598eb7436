"""The derivative of every op: a table from op to the function that gives its sources' gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from tg_core.dtype import dtypes
from tg_core.errors import GradientError
from tg_core.tensor.shard_gradient import gradients_of_parts
from tg_core.uop.mixin.reduce import accumulation_dtype
from tg_core.uop.ops import GroupOp, Ops, UOp

Gradients: TypeAlias = tuple[UOp | None, ...]
Rule: TypeAlias = Callable[[UOp, UOp], Gradients]


def _zero(like: UOp) -> UOp:
    return UOp.const(0.0, like.dtype)


def _add(node: UOp, grad: UOp) -> Gradients:
    return grad, grad


def _sub(node: UOp, grad: UOp) -> Gradients:
    return grad, -grad


def _mul(node: UOp, grad: UOp) -> Gradients:
    return grad * node.src[1], grad * node.src[0]


def _fdiv(node: UOp, grad: UOp) -> Gradients:
    denominator = node.src[1]
    return grad / denominator, -grad * node / denominator


def _is_constant(node: UOp) -> bool:
    # `minimum` reverses the order of both sides, by a product with -1
    while node.op is Ops.MUL and node.src[1].const_value is not None:
        node = node.src[0]
    return node.const_value is not None


def _max(node: UOp, grad: UOp) -> Gradients:
    first, second = node.src
    # against a constant a tie gives nothing, as for relu; between two values it is shared
    if _is_constant(second):
        return (second < first).where(grad, _zero(grad)), None
    if _is_constant(first):
        return None, (first < second).where(grad, _zero(grad))
    shared = first.eq(second).where(grad * 0.5, _zero(grad))
    return (second < first).where(grad, shared), (first < second).where(grad, shared)


def _pow(node: UOp, grad: UOp) -> Gradients:
    base, exponent = node.src
    slope = exponent.eq(0.0).where(_zero(node), exponent * base.pow(exponent - 1.0))
    # at base 0 the logarithm is infinite while the power is constant 0
    growth = (base.eq(0.0) & (exponent >= 0.0)).where(_zero(node), node * base.log())
    return grad * slope, grad * growth


def _mulacc(node: UOp, grad: UOp) -> Gradients:
    return grad * node.src[1], grad * node.src[0], grad


def _exp2(node: UOp, grad: UOp) -> Gradients:
    return (grad * node * math.log(2),)


def _log2(node: UOp, grad: UOp) -> Gradients:
    return (grad / (node.src[0] * math.log(2)),)


def _sin(node: UOp, grad: UOp) -> Gradients:
    return (grad * node.src[0].cos(),)


def _sqrt(node: UOp, grad: UOp) -> Gradients:
    return (grad / (node * 2.0),)


def _reciprocal(node: UOp, grad: UOp) -> Gradients:
    return (-grad * node * node,)


def _floormod(node: UOp, grad: UOp) -> Gradients:
    dividend, divisor = node.src
    return grad, -grad * (dividend // divisor)


def _cmod(node: UOp, grad: UOp) -> Gradients:
    dividend, divisor = node.src
    return grad, -grad * (dividend / divisor).trunc()


def _where(node: UOp, grad: UOp) -> Gradients:
    condition = node.src[0]
    return None, condition.where(grad, _zero(grad)), condition.where(_zero(grad), grad)


def _cast(node: UOp, grad: UOp) -> Gradients:
    source = node.src[0]
    return (grad.cast(source.dtype) if dtypes.is_float(source.dtype) else None,)


def _none(node: UOp, grad: UOp) -> Gradients:
    return (None,) * len(node.src)


def _pass(node: UOp, grad: UOp) -> Gradients:
    return (grad, *(None,) * (len(node.src) - 1))


# *** movement: the first source alone has a gradient, the others are symbolic sizes ***


def _moved(node: UOp, grad: UOp) -> Gradients:
    return grad, *(None,) * (len(node.src) - 1)


def _reshape(node: UOp, grad: UOp) -> Gradients:
    return _moved(node, grad.reshape(node.src[0].shape))


def _expand(node: UOp, grad: UOp) -> Gradients:
    source = node.src[0].shape
    axes = tuple(
        axis
        for axis, (have, grown) in enumerate(zip(source, node.shape, strict=True))
        if have is not grown and have != grown
    )
    return _moved(node, _summed(grad, axes).cast(grad.dtype))


def _summed(grad: UOp, axes: tuple[int, ...]) -> UOp:
    """Return the sum of a gradient along axes, in the dtype that sums have.

    Large lookups are summed one by one, as each is a pass over its index then.
    """
    terms = _terms(grad)
    lookups = [term for term in terms if _is_large_lookup(term)] if len(terms) > 1 else []
    rest = [term for term in terms if term not in lookups]
    parts = [*lookups, _sum_of(rest)] if lookups and rest else lookups or [grad]
    wide = accumulation_dtype(grad.dtype)
    return _sum_of([part.cast(wide)._reduce(Ops.ADD, axes, True) for part in parts])


def _is_large_lookup(term: UOp) -> bool:
    """Tell whether a term is WHERE(position == index, value, 0) of very many pairs."""
    condition = term.src[0]
    while condition.op in GroupOp.Movement:
        condition = condition.src[0]
    if term.op is not Ops.WHERE or condition.op is not Ops.CMPEQ:
        return False
    # a program that takes no gradient loads none of the scheduler
    from tg_core.schedule.find_lookup import LEAST_PAIRS

    sizes = [size for size in term.shape if isinstance(size, int)]
    return len(sizes) == len(term.shape) and math.prod(sizes) >= LEAST_PAIRS


def _sum_of(terms: list[UOp]) -> UOp:
    """Return the sum of at least one term, from the first to the last."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _terms(grad: UOp) -> list[UOp]:
    """Return the selections that a gradient is the sum of, or the gradient alone."""
    terms, waiting = [], [grad]
    while waiting:
        term = waiting.pop()
        if term.op is Ops.ADD:
            waiting.extend(reversed(term.src))
        elif term.op is Ops.WHERE:
            terms.append(term)
        else:
            return [grad]
    return terms


def _permute(node: UOp, grad: UOp) -> Gradients:
    order = node.marg
    return _moved(node, grad.permute(tuple(order.index(axis) for axis in range(len(order)))))


def _flip(node: UOp, grad: UOp) -> Gradients:
    return _moved(node, grad.flip(node.marg))


def _pad(node: UOp, grad: UOp) -> Gradients:
    inside = tuple(
        (before, before + size)
        for (before, _), size in zip(node.marg, node.src[0].shape, strict=True)
    )
    return _moved(node, grad.shrink(inside))


def _shrink(node: UOp, grad: UOp) -> Gradients:
    around = tuple(
        (begin, size - end) for (begin, end), size in zip(node.marg, node.src[0].shape, strict=True)
    )
    return _moved(node, grad._pad_zeros(around))


def _stack(node: UOp, grad: UOp) -> Gradients:
    rest = tuple((0, size) for size in node.shape[1:])
    return tuple(
        grad.shrink(((position, position + 1), *rest)).reshape(node.shape[1:])
        for position in range(len(node.src))
    )


# *** reductions ***


def _reduce_axis(node: UOp, grad: UOp) -> Gradients:
    source, (op, axes) = node.src[0], node.arg
    if op is Ops.ADD:
        return (grad.expand(source.shape),)
    if op is Ops.MAX:
        return (_reduce_max(node, grad, axes),)
    return (_reduce_mul(node, grad, axes),)


def _reduce_max(node: UOp, grad: UOp, axes: tuple[int, ...]) -> UOp:
    source = node.src[0]
    best = node.expand(source.shape)
    if source.op is Ops.WHERE and source.src[2].base.const_value == dtypes.min(source.dtype):
        # the condition says what is there at all: where it fails, nothing takes part in a tie
        chosen = source.src[0] & source.src[1].eq(best)
    else:
        chosen = source.eq(best)
    # counted in float32 at least: a half cannot hold the number of ties
    wide = accumulation_dtype(node.dtype)
    ties = chosen.cast(wide)._reduce(Ops.ADD, axes, True)
    share = (grad.cast(wide) / ties.maximum(1.0)).cast(grad.dtype)
    return chosen.where(share.expand(source.shape), _zero(grad))


def _reduce_mul(node: UOp, grad: UOp, axes: tuple[int, ...]) -> UOp:
    source = node.src[0]
    is_zero = source.eq(0.0)
    zeros = is_zero.cast(dtypes.int32)._reduce(Ops.ADD, axes, True).expand(source.shape)
    without_zeros = is_zero.where(1.0, source)
    others = without_zeros._reduce(Ops.MUL, axes, True).expand(source.shape) / without_zeros
    # a lone zero sees the product of all the rest, everything beside it sees zero
    alive = zeros.eq(0) | (zeros.eq(1) & is_zero)
    return alive.where(grad.expand(source.shape) * others, _zero(grad))


# *** markers, transfers and writes ***


def _contiguous_backward(node: UOp, grad: UOp) -> Gradients:
    return (grad.contiguous(),)


def _copy(node: UOp, grad: UOp) -> Gradients:
    device = node.src[0].device
    return (grad if device is None or grad.device is None else grad.copy_to(device),)


def view_chain(target: UOp, base: UOp) -> list[UOp]:
    """Return the movement nodes from `base` (excluded) up to `target`, in the order they apply."""
    chain: list[UOp] = []
    while target is not base:
        if target.op not in _MOVEMENT_RULES:
            raise GradientError(
                f"gradient: the write goes to a {target.op.name} of its storage, "
                "expected reshape, expand, permute, flip, pad or shrink"
            )
        chain.append(target)
        target = target.src[0]
    return chain[::-1]


def _after(node: UOp, grad: UOp) -> Gradients:
    """Split the gradient between the state before the writes and the values written."""
    gradients: list[UOp | None] = [None] * len(node.src)
    for position in range(len(node.src) - 1, 0, -1):
        write = node.src[position]
        if write.op is Ops.CALL:
            # a kernel may write all of its storage: what was there is an argument of the call
            gradients[position] = grad
            return tuple(gradients)
        if write.op is not Ops.STORE:
            continue
        gradients[position] = grad
        grad = _outside_of(write.src[0], node.src[0], grad)
    gradients[0] = grad
    return tuple(gradients)


def _outside_of(target: UOp, base: UOp, grad: UOp) -> UOp:
    """Return `grad` with zeros where a write to `target`, a view of `base`, replaced the value."""
    written = put_back(base, target, UOp.const(0.0, grad.dtype)._broadcast_to(target.shape))[1]
    return written.where(_zero(grad), grad)


def put_back(base: UOp, view: UOp, value: UOp) -> tuple[UOp, UOp]:
    """Return `value`, given in the shape of a view, at its places in the shape of `base`.

    Returns:
        The values, zero elsewhere, and a mask of where they are.
    """
    written = UOp.const(True)._broadcast_to(view.shape)
    for link in reversed(view_chain(view, base)):
        rule = _MOVEMENT_RULES[link.op]
        placed, mask = rule(link, value)[0], rule(link, written)[0]
        assert placed is not None
        assert mask is not None
        value, written = placed, mask
    return value, written


def _store(node: UOp, grad: UOp) -> Gradients:
    """Read the gradient of the written value through the view it was written to."""
    target = node.src[0]
    base = target
    while base.op in _MOVEMENT_RULES:
        base = base.src[0]
    for view in view_chain(target, base):
        grad = UOp(view.op, (grad, *view.src[1:]), view.arg)
    return None, grad, *(None,) * (len(node.src) - 2)


_MOVEMENT_RULES: dict[Ops, Rule] = {
    Ops.RESHAPE: _reshape,
    Ops.EXPAND: _expand,
    Ops.PERMUTE: _permute,
    Ops.FLIP: _flip,
    Ops.PAD: _pad,
    Ops.SHRINK: _shrink,
}

RULES: dict[Ops, Rule] = {
    Ops.ADD: _add,
    Ops.SUB: _sub,
    Ops.MUL: _mul,
    Ops.FDIV: _fdiv,
    Ops.MAX: _max,
    Ops.POW: _pow,
    Ops.MULACC: _mulacc,
    Ops.EXP2: _exp2,
    Ops.LOG2: _log2,
    Ops.SIN: _sin,
    Ops.SQRT: _sqrt,
    Ops.RECIPROCAL: _reciprocal,
    Ops.TRUNC: _none,
    Ops.FLOORDIV: _none,
    Ops.CDIV: _none,
    Ops.FLOORMOD: _floormod,
    Ops.CMOD: _cmod,
    Ops.WHERE: _where,
    Ops.CAST: _cast,
    Ops.BITCAST: _none,
    **_MOVEMENT_RULES,
    Ops.STACK: _stack,
    Ops.REDUCE_AXIS: _reduce_axis,
    Ops.CONTIGUOUS: _pass,
    Ops.CONTIGUOUS_BACKWARD: _contiguous_backward,
    Ops.DETACH: _none,
    Ops.COPY: _copy,
    Ops.MULTI: gradients_of_parts,
    Ops.AFTER: _after,
    Ops.STORE: _store,
}
