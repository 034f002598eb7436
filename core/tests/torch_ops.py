"""The table of the differential judge: ops, their PyTorch counterparts and the arguments of both."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from hypothesis import strategies as st
from torch_cases import (
    ALL,
    FLOATS,
    FP8,
    INTS,
    NUMBERS,
    OTHER_DTYPES,
    Case,
    Input,
    Op,
    check,
    inf,
    nan,
    tensors,
)

from tg_core import Tensor

__all__ = ["DIFFERENCES", "LEFT_OUT", "OPS", "Case", "Input", "cases", "check", "inf", "nan"]

Draw = Callable[..., Any]
Args = tuple[tuple[Any, ...], dict[str, Any]]
SIZES = st.sampled_from((1, 2, 3, 2, 3, 4, 0))
WIDE = ("float32", "float64")


def shape_of(draw: Draw, least: int = 0, most: int = 3, empty: bool = True) -> tuple[int, ...]:
    sizes = SIZES if empty else SIZES.filter(bool)
    return tuple(draw(st.lists(sizes, min_size=least, max_size=most)))


def narrowed(draw: Draw, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape that broadcasts to `shape`."""
    kept = tuple(1 if draw(st.integers(0, 3)) == 0 else n for n in shape)
    return kept[draw(st.integers(0, len(shape))) if draw(st.booleans()) else 0 :]


def axis_of(draw: Draw, shape: tuple[int, ...]) -> int:
    rank = max(1, len(shape))
    return int(draw(st.integers(-rank, rank - 1)))


def dtype_of(draw: Draw, dtypes: tuple[str, ...], grad: bool) -> str:
    wide = tuple(d for d in dtypes if d in WIDE)
    return str(draw(st.sampled_from(wide if grad else dtypes)))


# Arguments. Each function returns a drawing function of (draw, whether gradients are compared).


def elementwise(
    count: int = 1,
    dtypes: tuple[str, ...] = ALL,
    low: float = -6,
    high: float = 6,
    special: bool = True,
    scalar: bool = True,
    kwargs: dict[str, st.SearchStrategy[Any]] | None = None,
    bounded: bool = False,
) -> Any:
    """Return arguments that broadcast; from the second on, one may be a Python number.

    `bounded` keeps the bounds for values too, not only for gradients.
    """

    def arguments(draw: Draw, grad: bool) -> Args:
        shape = shape_of(draw)
        first = dtype_of(draw, dtypes, grad)
        found: list[Any] = []
        for place in range(count):
            same = place == 0 or grad or draw(st.booleans())
            dtype = first if same else dtype_of(draw, dtypes, grad)
            if place and scalar and draw(st.integers(0, 3)) == 0:
                number = draw(st.integers(1, 3))
                found.append(number / 2 if dtype in FLOATS and draw(st.booleans()) else number)
                continue
            mine = shape if count == 1 else narrowed(draw, shape)
            if not mine or (found and not all(x.rank for x in found if isinstance(x, Input))):
                # Their tensors without axes do not take part in promotion; ours do.
                dtype = first
            lowest, highest = (low, high) if grad or bounded else (-6, 6)
            found.append(draw(tensors(mine, dtype, lowest, highest, special and not grad)))
        return tuple(found), {k: draw(v) for k, v in (kwargs or {}).items()}

    return arguments


def reduction(
    dtypes: tuple[str, ...] = NUMBERS,
    many: bool = True,
    keepdim: bool = True,
    special: bool = True,
    empty: bool = True,
    least: int = 0,
    name: str = "axis",
    every: bool = True,
    **extra: st.SearchStrategy[Any],
) -> Any:
    """Return one tensor with an axis, several, or none (where `every`)."""

    def arguments(draw: Draw, grad: bool) -> Args:
        shape = shape_of(draw, least, 3, empty)
        x = draw(tensors(shape, dtype_of(draw, dtypes, grad), -4, 4, special and not grad))
        kwargs: dict[str, Any] = {}
        choice = draw(st.integers(0 if every else 1, 3 if many and shape else 2))
        if choice == 3:
            count = draw(st.integers(1, len(shape)))
            kwargs[name] = tuple(draw(st.permutations(range(len(shape))))[:count])
        elif choice:
            kwargs[name] = axis_of(draw, shape)
        if keepdim and (choice or not every):
            kwargs["keepdim"] = draw(st.booleans())
        return (x,), kwargs | {k: draw(v) for k, v in extra.items()}

    return arguments


def shaped(
    build: Callable[[Draw, tuple[int, ...]], dict[str, Any]],
    least: int = 0,
    dtypes: tuple[str, ...] = ALL,
    empty: bool = True,
    most: int = 3,
    special: bool = True,
) -> Any:
    """Return one tensor with arguments that `build` draws from its shape."""

    def arguments(draw: Draw, grad: bool) -> Args:
        shape = shape_of(draw, least, most, empty)
        kwargs = build(draw, shape)
        dtype = dtype_of(draw, dtypes, grad)
        return (draw(tensors(shape, dtype, special=special and not grad)),), kwargs

    return arguments


def joined(least: int) -> Any:
    """Return one to three tensors of one shape and an axis (sizes along it may differ for cat)."""

    def arguments(draw: Draw, grad: bool) -> Args:
        shape = shape_of(draw, least)
        dim = draw(st.integers(-len(shape) - 1 + least, len(shape) - least))
        found = []
        for _ in range(draw(st.integers(1, 3))):
            mine = list(shape)
            if least:
                mine[dim] = draw(SIZES)
            found.append(
                draw(tensors(tuple(mine), dtype_of(draw, NUMBERS, grad), special=not grad))
            )
        return tuple(found), {"dim": dim}

    return arguments


def products(draw: Draw, grad: bool) -> Args:
    """Return the two sides of a matrix product, with vectors and batches."""
    n, k, m = (draw(SIZES) for _ in range(3))
    batch = shape_of(draw, 0, 2)
    dtype = dtype_of(draw, (*FLOATS, *INTS), grad)
    left = draw(st.sampled_from(((k,), (n, k), (*narrowed(draw, batch), n, k))))
    right = draw(st.sampled_from(((k,), (k, m), (*narrowed(draw, batch), k, m))))
    return tuple(draw(tensors(s, dtype, -3, 3)) for s in (left, right)), {}


def linear(draw: Draw, grad: bool) -> Args:
    n, k, m = (draw(SIZES) for _ in range(3))
    dtype = dtype_of(draw, FLOATS, grad)
    shapes = [draw(st.sampled_from(((k,), (n, k), (2, n, k)))), (k, m)]
    shapes += [(m,)] if draw(st.booleans()) else []
    return tuple(draw(tensors(s, dtype, -3, 3)) for s in shapes), {}


def convolution(transposed: bool) -> Any:
    def arguments(draw: Draw, grad: bool) -> Args:
        dtype = dtype_of(draw, WIDE, grad)
        rank = draw(st.integers(1, 2))
        groups = draw(st.integers(1, 2))
        inner, outer = (draw(st.integers(1, 2)) for _ in range(2))
        kernel = tuple(draw(st.integers(1, 3)) for _ in range(rank))
        image = tuple(draw(st.integers(3, 6)) for _ in range(rank))
        kwargs = {"groups": groups, "padding": draw(st.integers(0, 2))}
        kwargs |= {"stride": draw(st.integers(1, 3)), "dilation": draw(st.integers(1, 2))}
        weight = (groups * inner, outer) if transposed else (groups * outer, inner)
        shapes = [(draw(st.integers(1, 2)), groups * inner, *image), (*weight, *kernel)]
        if draw(st.booleans()):
            shapes.append((groups * outer,))
        if transposed:
            limit = max(kwargs["stride"], kwargs["dilation"]) - 1
            kwargs["output_padding"] = draw(st.integers(0, limit))
        return tuple(draw(tensors(s, dtype, -2, 2)) for s in shapes), kwargs

    return arguments


def pooling(average: bool) -> Any:
    def arguments(draw: Draw, grad: bool) -> Args:
        dtype = dtype_of(draw, WIDE if average else (*WIDE, "int32"), grad)
        kernel = tuple(draw(st.integers(1, 3)) for _ in range(2))
        shape = (1, draw(st.integers(1, 2)), draw(st.integers(3, 6)), draw(st.integers(3, 6)))
        kwargs: dict[str, Any] = {"kernel_size": kernel, "ceil_mode": draw(st.booleans())}
        kwargs["padding"] = draw(st.integers(0, min(kernel) // 2))
        if draw(st.booleans()):
            kwargs["stride"] = draw(st.integers(1, 3))
        if average:
            kwargs["count_include_pad"] = draw(st.booleans())
        else:
            kwargs["dilation"] = draw(st.integers(1, 2))
        special, unique = not grad and not average, grad and not average
        return (draw(tensors(shape, dtype, -8, 8, special, unique)),), kwargs

    return arguments


def unpooled(draw: Draw, grad: bool) -> Args:
    """Return maxima and where they were."""
    shape = (1, draw(st.integers(1, 2)), draw(st.integers(2, 6)), draw(st.integers(2, 6)))
    x = draw(tensors(shape, dtype_of(draw, WIDE, grad), unique=True))
    kernel = draw(st.integers(1, 2))
    pooled, index = F.max_pool2d(x.view(x.theirs(False)), kernel, return_indices=True)
    values = tuple(v.item() for v in pooled.flatten())
    places = tuple(i.item() for i in index.flatten())
    found = Input(values, tuple(pooled.shape), x.dtype), Input(places, tuple(index.shape), "int64")
    return found, {"kernel_size": kernel, "output_size": shape}


def matrices(draw: Draw, grad: bool) -> Args:
    shape = (*shape_of(draw, 0, 1, empty=False), draw(st.integers(1, 4)), draw(st.integers(1, 4)))
    return (draw(tensors(shape, dtype_of(draw, WIDE, grad), -3, 3)),), {}


def gathering(source: bool, reduces: tuple[str | None, ...] = (None,)) -> Any:
    """Return a tensor and an index (and values to scatter), and the axis."""

    def arguments(draw: Draw, grad: bool) -> Args:
        shape = shape_of(draw, 1, 3, empty=False)
        dim = axis_of(draw, shape)
        index = [draw(st.integers(1, n)) for n in shape]
        dtype = dtype_of(draw, WIDE if grad else ("float32", "int32", "float64"), grad)
        # extremes have ties, whose gradients are shared in another way
        smooth = tuple(r for r in reduces if r is None or r[0] != "a")
        reduce = draw(st.sampled_from(smooth if grad else reduces))
        if not source:
            index[dim] = draw(st.integers(0, 4))
        size = math.prod(index)
        places: Any = st.lists(st.integers(0, shape[dim] - 1), min_size=size, max_size=size)
        if source and reduce is None:
            # The order of repeated writes is theirs to choose, so none repeat.
            index = list(shape)
            order = draw(st.permutations(range(shape[dim])))
            rows = torch.tensor(order).reshape(
                [-1 if a == dim % len(shape) else 1 for a in range(len(shape))]
            )
            flat = rows.expand(index).flatten().tolist()
        else:
            flat = draw(places)
        found = [draw(tensors(shape, dtype)), Input(tuple(flat), tuple(index), "int64")]
        if source:
            found.append(draw(tensors(tuple(index), dtype)))
        kwargs: dict[str, Any] = {"dim": dim}
        if reduce is not None:
            kwargs["reduce"] = reduce
            if "mean" in reduces:
                kwargs["include_self"] = draw(st.booleans())
        return tuple(found), kwargs

    return arguments


def attention(draw: Draw, grad: bool) -> Args:
    dtype = dtype_of(draw, WIDE, grad)
    batch = shape_of(draw, 1, 2, empty=False)
    n, m, e, v = (draw(st.integers(1, 4)) for _ in range(4))
    shapes = ((*batch, n, e), (*batch, m, e), (*batch, m, v))
    found = [draw(tensors(s, dtype, -2, 2)) for s in shapes]
    kwargs = {"is_causal": draw(st.booleans())}
    if not kwargs["is_causal"] and draw(st.booleans()):
        found.append(draw(tensors((n, m), dtype, -2, 2)))
    return tuple(found), kwargs


def classes(plain: bool, axes: int = 1) -> Any:
    """Return scores, labels of classes and options of a loss."""

    def arguments(draw: Draw, grad: bool) -> Args:
        dtype = dtype_of(draw, WIDE, grad)
        n, c = draw(st.integers(1, 4)), draw(st.integers(1, 4))
        rest = shape_of(draw, 0, axes, empty=False)
        scores = draw(tensors((n, c, *rest), dtype, -4, 4))
        size = n * math.prod(rest)
        labels = draw(st.lists(st.integers(0, c - 1), min_size=size, max_size=size))
        kwargs: dict[str, Any] = {"reduction": draw(st.sampled_from(("mean", "sum", "none")))}
        if not plain:
            kwargs["label_smoothing"] = draw(st.sampled_from((0.0, 0.25)))
        return (scores, Input(tuple(labels), (n, *rest), "int64")), kwargs

    return arguments


def probabilities(logits: bool) -> Any:
    def arguments(draw: Draw, grad: bool) -> Args:
        dtype, shape = dtype_of(draw, WIDE, grad), shape_of(draw, 0, 3, empty=False)
        x = draw(tensors(shape, dtype, -4 if logits else 0.125, 4 if logits else 0.875))
        y = draw(tensors(shape, dtype, 0, 1))
        return (x, y), {"reduction": draw(st.sampled_from(("mean", "sum", "none")))}

    return arguments


def masked(draw: Draw, grad: bool) -> Args:
    shape = shape_of(draw)
    x = draw(tensors(shape, dtype_of(draw, NUMBERS, grad), special=not grad))
    return (x, draw(tensors(narrowed(draw, shape), "bool"))), {"value": draw(st.integers(-2, 2))}


def selection(draw: Draw, grad: bool) -> Args:
    shape, dtype = shape_of(draw), dtype_of(draw, NUMBERS, grad)
    sides = tuple(draw(tensors(narrowed(draw, shape), dtype, special=not grad)) for _ in range(2))
    return (draw(tensors(narrowed(draw, shape), "bool")), *sides), {}


def shifts(draw: Draw, grad: bool) -> Args:
    shape, dtype = shape_of(draw), draw(st.sampled_from(INTS))
    x = draw(tensors(narrowed(draw, shape), dtype, special=True))
    return (x, draw(tensors(narrowed(draw, shape), dtype, 0, 6))), {}


def indexing(draw: Draw, grad: bool) -> Args:
    shape = shape_of(draw, 1, 3, empty=False)
    x = draw(tensors(shape, dtype_of(draw, NUMBERS, grad), special=not grad))
    parts: list[Any] = []
    for size in shape[: draw(st.integers(1, len(shape)))]:
        number = st.integers(-size, size - 1)
        part = st.slices(size).filter(lambda s: s.step is None or s.step > 0)
        parts.append(draw(number | part | st.lists(number, min_size=2, max_size=2)))
        if draw(st.integers(0, 5)) == 0:
            parts.append(None)
    if draw(st.integers(0, 3)) == 0:
        parts.append(...)
    return (x,), {"index": tuple(parts)}


def casts(draw: Draw, grad: bool) -> Args:
    dtype = draw(st.sampled_from(ALL))
    target = draw(st.sampled_from((*ALL, "uint16", "uint32", "uint64", *FP8)))
    # theirs overflow to infinity or NaN in fp8, ours saturate
    special = target in FLOATS or (dtype not in FLOATS and target not in FP8)
    lowest = -6 if special or target not in ("uint32", "uint64") else 0
    return (draw(tensors(shape_of(draw), dtype, lowest, special=special)),), {"dtype": target}


def norms(draw: Draw, grad: bool) -> Args:
    shape = shape_of(draw, 1, 3, empty=False)
    count = draw(st.integers(1, len(shape)))
    x = draw(tensors(shape, dtype_of(draw, FLOATS, grad), -4, 4))
    return (x,), {"axis": tuple(range(-count, 0))}


def einsums(draw: Draw, grad: bool) -> Args:
    formulas = (
        "ij,jk->ik",
        "ij,kj->ik",
        "bij,bjk->bik",
        "i,j->ij",
        "ij->ji",
        "ij->",
        "ij,ij->i",
        "ii->i",
        "ij,jk,k->i",
        "ab,ab",
    )
    formula = draw(st.sampled_from(formulas))
    sizes = {letter: draw(st.integers(1, 3)) for letter in "abijk"}
    dtype = dtype_of(draw, WIDE, grad)
    terms = formula.split("->")[0].split(",")
    found = tuple(draw(tensors(tuple(sizes[c] for c in t), dtype, -3, 3)) for t in terms)
    return found, {"formula": formula}


def interpolations(draw: Draw, grad: bool) -> Args:
    rank = draw(st.integers(1, 2))
    image = tuple(draw(st.integers(1, 5)) for _ in range(rank))
    x = draw(tensors((1, 2, *image), dtype_of(draw, WIDE, grad)))
    mode = draw(st.sampled_from(("linear", "nearest", "nearest-exact")))
    kwargs = {"size": tuple(draw(st.integers(1, 7)) for _ in range(rank)), "mode": mode}
    return (x,), kwargs | ({"align_corners": draw(st.booleans())} if mode == "linear" else {})


def creation(**kwargs: st.SearchStrategy[Any]) -> Any:
    return lambda draw, grad: (tuple(draw(v) for v in kwargs.values()), {})


def batches(draw: Draw, grad: bool) -> Args:
    n, c = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    dtype = dtype_of(draw, WIDE, grad)
    shape = (n, c, *shape_of(draw, 0, 2, empty=False))
    found = [draw(tensors(shape, dtype)), *(draw(tensors((c,), dtype)) for _ in range(3))]
    return (*found, draw(tensors((c,), dtype, 0.25, 2))), {}


def writes(draw: Draw, grad: bool) -> Args:
    (x,), kwargs = indexing(draw, False)
    return (Input(x.values, x.shape, x.dtype),), kwargs | {"value": draw(st.integers(-2, 2))}


def written(x: Any, index: Any, value: float) -> Any:
    x = x.clone()
    x[index] = value
    return x


# Arguments drawn from a shape.


def sized(draw: Draw, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return another shape of as many elements."""
    size, found = math.prod(shape), list(draw(st.permutations(shape)))
    if len(found) > 1 and draw(st.booleans()):
        found[:2] = [found[0] * found[1]]
    if found and size and draw(st.booleans()):
        found[draw(st.integers(0, len(found) - 1))] = -1
    return tuple(found)


def padded(draw: Draw, shape: tuple[int, ...]) -> dict[str, Any]:
    mode = draw(st.sampled_from(("constant", "reflect", "replicate", "circular")))
    if mode == "constant":
        count = draw(st.integers(1, len(shape)))
        flat = [draw(st.integers(-1, 3)) for _ in range(2 * count)]
        return {"padding": tuple(flat), "mode": mode, "value": draw(st.integers(-2, 2))}
    last = max(1, min(2, shape[-1] - (mode == "reflect")))
    flat = [draw(st.integers(0, last)) for _ in range(2)]
    return {"padding": tuple(flat), "mode": mode}


def unfolded(draw: Draw, shape: tuple[int, ...]) -> dict[str, Any]:
    dim = axis_of(draw, shape)
    return {"dim": dim, "size": draw(st.integers(0, shape[dim])), "step": draw(st.integers(1, 3))}


def two_axes(draw: Draw, shape: tuple[int, ...]) -> dict[str, Any]:
    one, two = draw(st.permutations(range(len(shape))))[:2]
    return {"offset": draw(st.integers(-3, 3)), "dim1": one, "dim2": two}


def topk(draw: Draw, shape: tuple[int, ...]) -> dict[str, Any]:
    dim = axis_of(draw, shape)
    size = shape[dim] if shape else 1
    return {"k": draw(st.integers(0, size)), "dim": dim, "largest": draw(st.booleans())}


def axis(name: str, **extra: st.SearchStrategy[Any]) -> Any:
    def build(draw: Draw, shape: tuple[int, ...]) -> dict[str, Any]:
        return {name: axis_of(draw, shape)} | {k: draw(v) for k, v in extra.items()}

    return build


def rolled(draw: Draw, shape: tuple[int, ...]) -> dict[str, Any]:
    if not shape or draw(st.booleans()):
        return {"shifts": draw(st.integers(-5, 5))}
    dims = tuple(draw(st.permutations(range(len(shape))))[: draw(st.integers(1, len(shape)))])
    return {"shifts": tuple(draw(st.integers(-5, 5)) for _ in dims), "dims": dims}


def interleaved(draw: Draw, shape: tuple[int, ...]) -> dict[str, Any]:
    dim = draw(st.none() | st.integers(-len(shape), len(shape) - 1)) if shape else None
    return {"repeats": draw(st.integers(0, 3)), "dim": dim}


# Counterparts


def every_axis(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a torch reduction that takes `dim` this library's way of naming axes."""

    def counterpart(x: Any, axis: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
        if axis is None:
            axis = tuple(range(x.ndim))
        if x.requires_grad and "correction" in kwargs:
            axes = axis if isinstance(axis, tuple) else (axis,)
            if math.prod(x.shape[a] for a in axes if x.ndim) <= kwargs["correction"]:
                raise ValueError("their slope of NaN is 0")
        return function(x, dim=axis, keepdim=keepdim, **kwargs)

    return counterpart


def their_prod(x: Any, axis: Any = None, keepdim: bool = False) -> Any:
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    for one in sorted((a % max(1, x.ndim) for a in axes), reverse=True):
        x = torch.prod(x, one, keepdim)
    return torch.prod(x) if x.ndim == 0 and axis is None else x


def their_select(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give argmax and argmin, which take no tuple and count from the flattened tensor."""

    def counterpart(x: Any, axis: int | None = None, keepdim: bool = False) -> Any:
        return function(x, dim=axis, keepdim=keepdim if axis is not None else False)

    return counterpart


def their_sign(x: Any) -> Any:
    """Keep NaN, as the array-API standard asks."""
    return torch.where(x.isnan(), x, torch.sign(x)) if x.is_floating_point() else torch.sign(x)


def their_unpool(x: Any, index: Any, **kwargs: Any) -> Any:
    return F.max_unpool2d(x, index, **kwargs)


def checked_qr(parts: Any) -> Any:
    """Return what QR decompositions share: the product, and that Q is orthonormal."""
    return parts[0] @ parts[1], parts[0].transpose(-1, -2) @ parts[0]


def their_clamp(x: Any, min_: Any = None, max_: Any = None) -> Any:
    if x.dtype is torch.uint8 and max_ < 0:
        raise ValueError("the limit wraps there")
    return torch.clamp(x, min_, max_)


def their_pad(x: Any, padding: Any, mode: str, value: Any = 0) -> Any:
    if mode == "constant":
        return F.pad(x, padding, mode, value)
    lead = x.reshape(1, *x.shape) if x.ndim == 1 else x
    return F.pad(lead, padding, mode).reshape(*x.shape[:-1], -1)


def their_conv(x: Any, w: Any, b: Any = None, **kwargs: Any) -> Any:
    return (F.conv1d if x.ndim == 3 else F.conv2d)(x, w, b, **kwargs)


def their_conv_transpose(x: Any, w: Any, b: Any = None, **kwargs: Any) -> Any:
    return (F.conv_transpose1d if x.ndim == 3 else F.conv_transpose2d)(x, w, b, **kwargs)


def their_interpolate(x: Any, size: Any, mode: str, **kwargs: Any) -> Any:
    mode = "bilinear" if mode == "linear" and len(size) == 2 else mode
    return F.interpolate(x, size, mode=mode, **kwargs)


def their_logcumsumexp(x: Any, axis: int = 0) -> Any:
    return torch.logcumsumexp(x, axis)


def their_scatter(x: Any, index: Any, source: Any, dim: int, reduce: str) -> Any:
    return torch.scatter(x, dim, index, source, reduce=reduce)


def method(name: str) -> Callable[..., Any]:
    def call(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, name)(*args, **kwargs)

    call.__name__ = name
    return call


def op(name: str, theirs: Callable[..., Any], draw: Any, **options: Any) -> tuple[str, Op]:
    return name, Op(options.pop("ours", method(name)), theirs, draw, **options)


UNARY = {
    # name: (counterpart, bounds inside which gradients are compared)
    "exp": (torch.exp, -4, 4), "exp2": (torch.exp2, -4, 4), "expm1": (torch.expm1, -4, 4),
    "log": (torch.log, 0.125, 6), "log2": (torch.log2, 0.125, 6), "log10": (torch.log10, 0.125, 6),
    "log1p": (torch.log1p, -0.75, 6), "sqrt": (torch.sqrt, 0.125, 6),
    "rsqrt": (torch.rsqrt, 0.125, 6), "reciprocal": (torch.reciprocal, 0.125, 6),
    "sin": (torch.sin, -6, 6), "cos": (torch.cos, -6, 6), "tan": (torch.tan, -1, 1),
    "asin": (torch.asin, -0.875, 0.875), "acos": (torch.acos, -0.875, 0.875),
    "atan": (torch.atan, -6, 6), "sinh": (torch.sinh, -4, 4), "cosh": (torch.cosh, -4, 4),
    "tanh": (torch.tanh, -4, 4), "asinh": (torch.asinh, -6, 6), "acosh": (torch.acosh, 1.125, 6),
    "atanh": (torch.atanh, -0.875, 0.875), "erf": (torch.erf, -3, 3),
    "sigmoid": (torch.sigmoid, -6, 6), "abs": (torch.abs, -6, 6), "neg": (torch.neg, -6, 6),
    "square": (torch.square, -6, 6), "sign": (their_sign, -6, 6),
    "relu": (F.relu, -6, 6),
}  # fmt: skip
FLOAT_UNARY: dict[str, Any] = {
    "floor": torch.floor, "ceil": torch.ceil, "trunc": torch.trunc, "round": torch.round,
    "relu6": F.relu6, "logsigmoid": F.logsigmoid,
    "hardswish": F.hardswish, "softsign": F.softsign, "silu": F.silu, "swish": F.silu,
    "mish": F.mish,
}  # fmt: skip
positive = st.sampled_from((0.5, 1.0, 2.0))
flag = st.booleans()

TABLE: list[tuple[str, Op]] = [
    *(op(k, f, elementwise(low=lo, high=hi), close=3) for k, (f, lo, hi) in UNARY.items()),
    *(op(k, f, elementwise(dtypes=FLOATS), close=3) for k, f in FLOAT_UNARY.items()),
    *(
        op(k, getattr(torch, k), elementwise(), grad=False)
        for k in ("isnan", "isinf", "isfinite", "logical_not")
    ),
    op("bitwise_not", torch.bitwise_not, elementwise(dtypes=(*INTS, "bool")), grad=False),
    op("leaky_relu", lambda x, neg_slope: F.leaky_relu(x, neg_slope), elementwise(dtypes=FLOATS, kwargs={"neg_slope": positive})),
    op("softplus", lambda x, beta: F.softplus(x, beta), elementwise(dtypes=FLOATS, kwargs={"beta": positive})),
    # Their sixth is a float32.
    op("hardsigmoid", F.hardsigmoid, elementwise(dtypes=("float32", "float16", "bfloat16")), close=3),
    # The constants of the signature have six digits.
    op("selu", F.selu, elementwise(dtypes=("float32", "float16", "bfloat16"))),
    op("elu", F.elu, elementwise(dtypes=FLOATS, kwargs={"alpha": positive})),
    op("celu", F.celu, elementwise(dtypes=FLOATS, kwargs={"alpha": positive})),
    op("hardtanh", F.hardtanh, elementwise(dtypes=FLOATS, kwargs={"min_val": st.sampled_from((-1, -2.5)), "max_val": st.sampled_from((1, 2.5))})),
    op("gelu", F.gelu, elementwise(dtypes=FLOATS, kwargs={"approximate": st.sampled_from(("tanh", "none"))}), close=3),
    # Two and three operands
    *(op(k, getattr(torch, k), elementwise(2)) for k in ("add", "mul", "maximum", "minimum")),
    op("sub", torch.sub, elementwise(2, NUMBERS)),
    op("div", torch.div, elementwise(2, low=0.25)),
    op("div_rounded", torch.div, elementwise(2, FLOATS, kwargs={"rounding_mode": st.sampled_from(("trunc", "floor"))}), ours=method("div"), grad=False),
    op("mod", torch.remainder, elementwise(2, NUMBERS, 0.25, bounded=True, special=False)),
    op("fmod", torch.fmod, elementwise(2, NUMBERS, 0.25, special=False, bounded=True)),
    op("__floordiv__", torch.floor_divide, elementwise(2, NUMBERS, 1, special=False, bounded=True), grad=False),
    *(op(f"{k}_of_floats", f, elementwise(2, FLOATS, 0.25), ours=method(k), grad=False) for k, f in (("mod", torch.remainder), ("fmod", torch.fmod), ("__floordiv__", torch.floor_divide))),
    op("pow", torch.pow, elementwise(2, FLOATS, 0.25, 3), close=10),
    op("__rpow__", lambda x, y: torch.pow(y, x), elementwise(2, FLOATS, 0.25, 3), close=10),
    op("atan2", torch.atan2, elementwise(2, FLOATS, 0.25, scalar=False)),
    op("copysign", torch.copysign, elementwise(2, FLOATS, 0.25)),
    op("logaddexp", torch.logaddexp, elementwise(2, FLOATS, scalar=False), close=3),
    op("lerp", torch.lerp, elementwise(3, WIDE, scalar=False, special=False)),
    *(op(k, getattr(torch, k), elementwise(2), grad=False) for k in ("eq", "ne")),
    *(op(k, getattr(torch, t), elementwise(2), grad=False) for k, t in (("__lt__", "lt"), ("__le__", "le"), ("__gt__", "gt"), ("__ge__", "ge"))),
    *(op(f"bitwise_{k}", getattr(torch, f"bitwise_{k}"), elementwise(2, (*INTS, "bool"), scalar=False), grad=False) for k in ("and", "or", "xor")),
    op("lshift", torch.bitwise_left_shift, shifts, grad=False),
    op("rshift", torch.bitwise_right_shift, shifts, grad=False),
    op("isclose", torch.isclose, elementwise(2, ("float32",), scalar=False, kwargs={"equal_nan": flag}), grad=False),
    op("where", torch.where, selection),
    op("masked_fill", torch.masked_fill, masked),
    *(op(k, their_clamp, elementwise(dtypes=NUMBERS, kwargs={"min_": st.sampled_from((-2, -1)), "max_": st.sampled_from((-3, 0, 2))})) for k in ("clamp", "clip")),
    # Reductions
    op("sum", every_axis(torch.sum), reduction(ALL), scale=True),
    op("mean", every_axis(torch.mean), reduction(FLOATS), scale=True),
    op("prod", their_prod, reduction(ALL), scale=True),
    op("max", every_axis(torch.amax), reduction(ALL, empty=False)),
    op("min", every_axis(torch.amin), reduction(ALL, empty=False)),
    op("any", every_axis(torch.any), reduction(ALL), grad=False),
    op("all", every_axis(torch.all), reduction(ALL), grad=False),
    *(op(k, every_axis(getattr(torch, k)), reduction(FLOATS, special=False, correction=st.integers(0, 2), empty=False), scale=True, close=5) for k in ("var", "std")),
    *(op(k, lambda x, f=f, **kw: f(x, **kw), reduction(WIDE, special=False, correction=st.integers(0, 1), empty=False), scale=True, close=5, grad=False) for k, f in (("var_mean", every_axis(torch.var_mean)), ("std_mean", every_axis(torch.std_mean)))),
    op("argmax", their_select(torch.argmax), reduction(NUMBERS, many=False, empty=False), grad=False),
    op("argmin", their_select(torch.argmin), reduction(NUMBERS, many=False, empty=False), grad=False),
    op("logsumexp", every_axis(torch.logsumexp), reduction(FLOATS, empty=False)),
    *(op(k, lambda x, axis, f=f: f(x, axis), shaped(axis("axis"), 0, FLOATS)) for k, f in (("softmax", torch.softmax), ("log_softmax", torch.log_softmax), ("softmin", F.softmin))),
    op("cumsum", lambda x, axis: torch.cumsum(x, axis), shaped(axis("axis"), 0, NUMBERS), scale=True),
    op("cumprod", lambda x, axis: torch.cumprod(x, axis), shaped(axis("axis"), 0, NUMBERS), scale=True),
    op("cummax", lambda x, axis: torch.cummax(x, axis)[0], shaped(axis("axis"), 1, NUMBERS, empty=False), ours=lambda x, axis: x.cummax(axis)[0], grad=False),
    op("cummin", lambda x, axis: torch.cummin(x, axis)[0], shaped(axis("axis"), 1, NUMBERS, empty=False), ours=lambda x, axis: x.cummin(axis)[0], grad=False),
    op("logcumsumexp", their_logcumsumexp, shaped(axis("axis"), 0, WIDE), close=3),
    op("sort", lambda x, dim, descending: torch.sort(x, stable=True, dim=dim, descending=descending), shaped(axis("dim", descending=flag), 0, NUMBERS)),
    op("argsort", lambda x, dim, descending: torch.argsort(x, stable=True, dim=dim, descending=descending), shaped(axis("dim", descending=flag), 0, NUMBERS), grad=False),
    op("topk", lambda x, **kw: torch.topk(x, **kw)[0], shaped(topk, 0, NUMBERS), ours=lambda x, **kw: x.topk(**kw)[0], grad=False),
    op("normalize", F.normalize, shaped(axis("dim", p=st.sampled_from((1.0, 2.0, 3.0))), 1, WIDE, empty=False, special=False), close=3),
    op("layernorm", lambda x, axis: F.layer_norm(x, x.shape[len(x.shape) - len(axis) :]), norms, scale=True, close=30),
    # Products and windows
    op("matmul", torch.matmul, products, scale=True),
    op("dot", torch.matmul, products, scale=True),
    op("linear", lambda x, w, b=None: F.linear(x, w.transpose(0, 1), b), linear, scale=True),
    op("einsum", lambda *xs, formula: torch.einsum(formula, *xs), einsums, ours=lambda *xs, formula: Tensor.einsum(formula, *xs), scale=True),
    op("conv2d", their_conv, convolution(False), scale=True),
    op("conv_transpose2d", their_conv_transpose, convolution(True), scale=True),
    op("max_pool2d", F.max_pool2d, pooling(False)),
    op("avg_pool2d", F.avg_pool2d, pooling(True)),
    op("max_pool2d_indices", lambda x, **kw: F.max_pool2d(x, return_indices=True, **kw), pooling(False), ours=lambda x, **kw: x.max_pool2d(return_indices=True, **kw), grad=False),
    op("max_unpool2d", their_unpool, unpooled, ours=lambda x, i, **kw: x.max_unpool2d(i, **kw)),
    op("qr", lambda x: checked_qr(torch.linalg.qr(x)), matrices, ours=lambda x: checked_qr(x.qr()), close=30, scale=True, grad=False),
    op("svd", lambda x: torch.linalg.svdvals(x), matrices, ours=lambda x: x.svd()[1], close=30, scale=True, grad=False),
    op("interpolate", their_interpolate, interpolations, close=5),
    op("scaled_dot_product_attention", F.scaled_dot_product_attention, attention, close=3),
    op("unfold", lambda x, dim, size, step: x.unfold(dim, size, step), shaped(unfolded, 1, empty=False)),
    # Losses
    op("cross_entropy", F.cross_entropy, classes(False), close=3),
    op("nll_loss", F.nll_loss, classes(True), close=3),
    op("binary_crossentropy", F.binary_cross_entropy, probabilities(False), close=3),
    op("binary_crossentropy_logits", F.binary_cross_entropy_with_logits, probabilities(True), close=3),
    # Movement and indices
    op("reshape", lambda x, shape: x.reshape(shape), shaped(lambda d, s: {"shape": sized(d, s)})),
    op("view", lambda x, shape: x.reshape(shape), shaped(lambda d, s: {"shape": sized(d, s)})),
    op("expand", lambda x, shape: x.expand(shape), shaped(lambda d, s: {"shape": (*d(st.lists(SIZES, max_size=1)), *(d(SIZES) if n == 1 else n for n in s))})),
    op("permute", lambda x, order: x.permute(order), shaped(lambda d, s: {"order": tuple(d(st.permutations(range(len(s)))))})),
    op("flip", lambda x, axis: x.flip(axis), shaped(lambda d, s: {"axis": tuple(d(st.permutations(range(len(s))))[: d(st.integers(0, len(s)))])})),
    op("transpose", lambda x, dim0, dim1: x.transpose(dim0, dim1), shaped(lambda d, s: {"dim0": axis_of(d, s), "dim1": axis_of(d, s)}, 1)),
    op("T", lambda x: x.mT if x.ndim > 2 else x.T, shaped(lambda d, s: {}, 2, most=2), ours=lambda x: x.T),
    op("unsqueeze", lambda x, dim: x.unsqueeze(dim), shaped(lambda d, s: {"dim": d(st.integers(-len(s) - 1, len(s)))})),
    op("squeeze", lambda x, dim=None: x.squeeze() if dim is None else x.squeeze(dim), shaped(lambda d, s: {"dim": axis_of(d, s)} if d(flag) else {})),
    op("flatten", lambda x, start_dim=0, end_dim=-1: x.flatten(start_dim, end_dim), shaped(lambda d, s: dict(zip(("start_dim", "end_dim"), sorted((d(st.integers(0, len(s) - 1)), d(st.integers(0, len(s) - 1)))))), 1)),
    op("unflatten", lambda x, dim, sizes: x.unflatten(dim, sizes), shaped(lambda d, s: (lambda a: {"dim": a, "sizes": d(st.sampled_from(((s[a], 1), (1, s[a]), (-1, 1))))})(axis_of(d, s)), 1, empty=False)),
    op("pad", their_pad, shaped(padded, 1, NUMBERS, empty=False, special=False)),
    op("repeat", lambda x, repeats: x.repeat(repeats), shaped(lambda d, s: {"repeats": tuple(d(st.integers(0, 3)) for _ in range(len(s) + d(st.integers(0, 1))))})),
    op("repeat_interleave", lambda x, repeats, dim: torch.repeat_interleave(x, repeats, dim), shaped(interleaved)),
    op("roll", torch.roll, shaped(rolled)),
    op("tril", torch.tril, shaped(lambda d, s: {"diagonal": d(st.integers(-3, 3))}, 2)),
    op("triu", torch.triu, shaped(lambda d, s: {"diagonal": d(st.integers(-3, 3))}, 2)),
    op("diag", torch.diag, shaped(lambda d, s: {}, 1, most=1)),
    op("diagonal", torch.diagonal, shaped(two_axes, 2)),
    op("cat", lambda *xs, dim: torch.cat(xs, dim), joined(1)),
    op("stack", lambda *xs, dim: torch.stack(xs, dim), joined(0)),
    op("split", lambda x, sizes, dim: torch.split(x, sizes, dim), shaped(lambda d, s: {"sizes": d(st.integers(1, 4)), "dim": axis_of(d, s)}, 1), grad=False),
    op("chunk", lambda x, chunks, dim: torch.chunk(x, chunks, dim), shaped(lambda d, s: {"chunks": d(st.integers(1, 4)), "dim": axis_of(d, s)}, 1), grad=False),
    op("meshgrid", lambda x, indexing: torch.meshgrid(x, x, indexing=indexing), shaped(lambda d, s: {"indexing": d(st.sampled_from(("ij", "xy")))}, 1, most=1), ours=lambda x, indexing: x.meshgrid(x, indexing=indexing), grad=False),
    op("gather", lambda x, i, dim: torch.gather(x, dim, i), gathering(False), ours=lambda x, i, dim: x.gather(dim, i)),
    op("scatter", lambda x, i, s, dim: torch.scatter(x, dim, i, s), gathering(True), ours=lambda x, i, s, dim: x.scatter(dim, i, s)),
    op("scatter_with", their_scatter, gathering(True, ("add", "multiply")), ours=lambda x, i, s, dim, reduce: x.scatter(dim, i, s, reduce), grad=False),
    op("scatter_reduce", lambda x, i, s, dim, **kw: torch.scatter_reduce(x, dim, i, s, **kw), gathering(True, ("sum", "prod", "mean", "amax", "amin")), ours=lambda x, i, s, dim, **kw: x.scatter_reduce(dim, i, s, **kw)),
    op("__getitem__", lambda x, index: x[index], indexing, ours=lambda x, index: x[index]),
    op("one_hot", lambda x, num_classes: F.one_hot(x.long(), num_classes), lambda d, g: ((d(tensors(shape_of(d), "int32", 0, 3)),), {"num_classes": 4}), grad=False),
    op("masked_select", lambda x, m: torch.masked_select(x, m), lambda d, g: (lambda s: ((d(tensors(s, "float32")), d(tensors(s, "bool"))), {}))(shape_of(d)), grad=False),
    op("nonzero", torch.nonzero, shaped(lambda d, s: {}, 1), grad=False),
    op("cast", lambda x, dtype: x.to(getattr(torch, dtype)), casts, ours=lambda x, dtype: x.cast(FP8.get(dtype, dtype)), grad=False),
    op("bitcast", lambda x, dtype: x.view(getattr(torch, dtype)), lambda d, g: ((d(tensors((*shape_of(d, 0, 2), 4), d(st.sampled_from(("int32", "float32", "int8", "int64"))))),), {"dtype": d(st.sampled_from(("int32", "int16", "uint8", "int64")))}), grad=False),
    # Creation
    op("arange", torch.arange, creation(start=st.integers(-5, 5), stop=st.integers(-5, 9), step=st.integers(1, 3)), ours=Tensor.arange, grad=False),
    op("linspace", torch.linspace, creation(start=st.integers(-5, 5), stop=st.integers(-5, 9), steps=st.integers(0, 7)), ours=lambda *a: Tensor.linspace(*a), grad=False),
    op("eye", torch.eye, creation(n=st.integers(0, 4), m=st.integers(0, 4)), ours=lambda *a: Tensor.eye(*a), grad=False),
    op("full", torch.full, creation(shape=st.tuples(SIZES, SIZES), value=st.sampled_from((0.5, inf, nan, True, 3))), ours=lambda *a: Tensor.full(*a), grad=False),
    # Others
    op("allclose", lambda x, y: torch.isclose(x, y).all(), elementwise(2, ("float32",), scalar=False), grad=False),
    op("batchnorm", lambda x, w, b, m, i: torch.batch_norm(x, w, b, m, i**-2.0, False, 0.0, 0.0, False), batches, scale=True, close=10, grad=False),
    op("integer_pow", torch.pow, lambda d, g: (lambda s: ((d(tensors(s, "int32", -3, 3)), d(tensors(s, "int32", 0, 5))), {}))(shape_of(d)), ours=method("pow"), grad=False),
    op("sparse_categorical_crossentropy", F.cross_entropy, classes(False, 0), close=3),
    op("__setitem__", written, writes, ours=written, grad=False),
]  # fmt: skip

OPS = dict(TABLE)

LEFT_OUT: dict[str, str] = {
    "the operator of a method above": "__add__ __and__ __eq__ __iadd__ __invert__ __lshift__ "
    "__matmul__ __mod__ __or__ __pow__ __rshift__ __xor__ bfloat16 bool double float half int long "
    "short full_like ones ones_like zeros zeros_like const const_like",
    "storage, devices, graphs and properties": "__bool__ __hash__ __len__ alu as_param assign "
    "backward call callify clone contiguous contiguous_backward custom_kernel data detach device "
    "dtype element_size empty empty_like from_blob from_url grad gradient invalids "
    "is_floating_point is_param is_param_ item linear_with_vars max_numel max_shape nbytes ndim "
    "numel numpy realize replace schedule_linear sequential shape shard shard_ shard_like size to "
    "to_ tolist ufix uop uprod usum",
    "random": "dropout glorot_uniform kaiming_normal kaiming_uniform manual_seed multinomial normal "
    "rand rand_like randint randn randn_like random_bits randperm scaled_uniform threefry uniform",
    "not in PyTorch": "decode_hevc_frame hash image_conv2d image_dot keccak newton_schulz pad_to "
    "quick_gelu rearrange shrink shrink_to",
}

DIFFERENCES: dict[str, str] = {
    "a tensor without axes takes part in promotion": "two and more operands",
    "an index out of range reads 0 and writes nothing": "gather scatter __getitem__ __setitem__",
    "the first of equal values is found": "argmax argmin sort topk",
    "equal maxima share the gradient": "max_pool2d",
    "the sign of NaN is NaN": "sign",
    "a limit beyond an integer dtype is moved into it": "clamp clip",
    "fp8 saturates": "cast",
    "the gradient of a tie goes half to the value that was there": "scatter_reduce",
    "the slope of a variance without degrees of freedom is NaN": "var std var_mean std_mean",
} | {why: ops for why, (ops, _) in OTHER_DTYPES.items()}
"""What is not as in PyTorch on purpose, and where."""


def cases(name: str) -> st.SearchStrategy[Case]:
    """Return cases of an op; where it is differentiable, half of them compare gradients."""

    @st.composite
    def case(draw: Draw) -> Case:
        grad = OPS[name].grad and draw(st.booleans())
        inputs, kwargs = OPS[name].draw(draw, grad)
        return Case(name, inputs, kwargs, grad)

    return case()
