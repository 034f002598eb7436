"""Shape and dtype of a node from its sources, and movement arguments with symbolic entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg_core.dtype import DType, dtypes, least_float, promote
from tg_core.errors import DTypeError, ShapeError
from tg_core.uop.args import Dim
from tg_core.uop.opcodes import GroupOp, Ops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg_core.uop.uop import UOp, sint


# ---- movement arguments


def encode_movement(arg: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[UOp, ...]]:
    """Split a movement argument into one with `Dim` placeholders and the symbolic entries, which
    become sources.
    """
    if all(type(entry) is int for entry in arg):
        return arg, ()
    symbolic: list[UOp] = []
    return tuple([_encoded(entry, symbolic) for entry in arg]), tuple(symbolic)


def _encoded(entry: Any, symbolic: list[UOp]) -> Any:
    """Return an entry of a movement argument, with symbolic ones moved to the list."""
    # no function in a function: one that calls itself would be garbage in a cycle
    if isinstance(entry, tuple):
        return tuple([_encoded(e, symbolic) for e in entry])
    if isinstance(entry, (int, bool)):
        return entry if type(entry) is bool else int(entry)
    # in canonical form, so that equal sizes are the same node
    size = sint_simplify(entry)
    if isinstance(size, int):
        return size
    symbolic.append(size)
    return Dim(len(symbolic) - 1)


def decode_movement(arg: tuple[Any, ...], src: tuple[UOp, ...]) -> tuple[Any, ...]:
    """Undo `encode_movement`: `src` are all sources of the node."""
    if len(src) == 1:
        return arg
    return tuple(
        decode_movement(entry, src)
        if isinstance(entry, tuple)
        else src[entry.index + 1]
        if isinstance(entry, Dim)
        else entry
        for entry in arg
    )


def sint_prod(values: Sequence[sint]) -> sint:
    """Return the product of sizes; an int when all of them are."""
    result: sint = 1
    for value in values:
        result = value * result
    return result


def sint_equal(a: sint, b: sint) -> bool:
    """Tell whether two sizes are the same for every value of their variables, as far as
    simplification shows.
    """
    if a is b:
        return True
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    from tg_core.uop.symbolic import simplify

    symbolic, other = (b, a) if isinstance(a, int) else (a, b)
    assert not isinstance(symbolic, int)
    return simplify(symbolic - other).const_value == 0


def sint_simplify(value: sint) -> sint:
    """Return a size in its simplest form, as an int when it is constant."""
    if isinstance(value, int):
        return value
    from tg_core.uop.symbolic import simplify

    simple = simplify(value)
    constant = simple.const_value
    return int(constant) if isinstance(constant, int) else simple


def sint_max(value: sint) -> int:
    """Return the greatest value a size can take."""
    return value if isinstance(value, int) else int(value.vmax)


# ---- shapes


def _check_rank(uop: UOp, expected: int) -> None:
    if len(uop.arg) != expected:
        raise ShapeError(
            f"{uop.op.name.lower()}: argument {uop.marg} has {len(uop.arg)} entries"
            f" for shape {uop.src[0].shape}"
        )


def _reshape(uop: UOp) -> tuple[sint, ...]:
    old, new = uop.src[0].shape, uop.marg
    if any(isinstance(s, int) and s < 0 for s in new):
        raise ShapeError(f"reshape: sizes of {new} must not be negative")
    if not sint_equal(sint_prod(old), sint_prod(new)):
        raise ShapeError(
            f"reshape: {old} has {sint_prod(old)} elements, {new} has {sint_prod(new)}"
        )
    return tuple(new)


def _expand(uop: UOp) -> tuple[sint, ...]:
    old, new = uop.src[0].shape, uop.marg
    _check_rank(uop, len(old))
    for a, b in zip(old, new, strict=True):
        if a is not b and a != b and not (isinstance(a, int) and a == 1) and not sint_equal(a, b):
            raise ShapeError(f"expand: cannot expand {old} to {new}, only axes of size 1 can grow")
    return tuple(new)


def _permute(uop: UOp) -> tuple[sint, ...]:
    old = uop.src[0].shape
    if sorted(uop.arg) != list(range(len(old))):
        raise ShapeError(f"permute: {uop.arg} is not a permutation of the axes of {old}")
    return tuple(old[axis] for axis in uop.arg)


def _pad(uop: UOp) -> tuple[sint, ...]:
    old, pads = uop.src[0].shape, uop.marg
    _check_rank(uop, len(old))
    if any(isinstance(p, int) and p < 0 for pad in pads for p in pad):
        raise ShapeError(f"pad: {pads} must not be negative")
    return tuple(
        sint_simplify(before + size + after)
        for size, (before, after) in zip(old, pads, strict=True)
    )


def _shrink(uop: UOp) -> tuple[sint, ...]:
    old, bounds = uop.src[0].shape, uop.marg
    _check_rank(uop, len(old))
    for size, (begin, end) in zip(old, bounds, strict=True):
        if isinstance(begin, int) and isinstance(end, int) and isinstance(size, int):
            if not 0 <= begin <= end <= size:
                raise ShapeError(f"shrink: {bounds} is outside of shape {old}")
    return tuple(end if begin == 0 else sint_simplify(end - begin) for begin, end in bounds)


def _flip(uop: UOp) -> tuple[sint, ...]:
    old = uop.src[0].shape
    if len(set(uop.arg)) != len(uop.arg) or any(not 0 <= axis < len(old) for axis in uop.arg):
        raise ShapeError(f"flip: {uop.arg} are not distinct axes of {old}")
    return old


def _elementwise(uop: UOp) -> tuple[sint, ...]:
    shape: tuple[sint, ...] = ()
    for source in uop.src:
        other = source.shape
        if other is shape or not other:
            continue
        if shape and other != shape:
            shapes = ", ".join(str(s.shape) for s in uop.src)
            raise ShapeError(f"{uop.op.name.lower()}: operands have different shapes {shapes}")
        shape = other
    return shape


def _bitcast(uop: UOp) -> tuple[sint, ...]:
    source, new = uop.src[0], uop.arg
    old_size, new_size = source.dtype.itemsize, new.itemsize
    if old_size == new_size:
        return source.shape
    if not source.shape:
        raise ShapeError(
            f"bitcast: a 0-d {source.dtype.name} cannot become {new.name} of another size"
        )
    last = source.shape[-1]
    if isinstance(last, int) and (last * old_size) % new_size:
        raise ShapeError(
            f"bitcast: last axis of {source.shape} {source.dtype.name} is no multiple of"
            f" {new.name}'s {new_size} bytes"
        )
    return (*source.shape[:-1], last * old_size // new_size)


def _reduce_axis(uop: UOp) -> tuple[sint, ...]:
    old, axes = uop.src[0].shape, uop.arg[1]
    if any(not 0 <= axis < len(old) for axis in axes):
        raise ShapeError(f"reduce: axes {axes} are outside of shape {old}")
    return tuple(1 if i in axes else s for i, s in enumerate(old))


def _index(uop: UOp) -> tuple[sint, ...]:
    if uop.arg is not None:
        return (uop.arg,)
    return (*uop.src[1].shape, *uop.src[0].shape[1:])


def _stack(uop: UOp) -> tuple[sint, ...]:
    if not uop.src:
        return (0,)
    return (len(uop.src), *uop.src[0].shape)


def _multi(uop: UOp) -> tuple[sint, ...]:
    axis, first = uop.arg.axis, uop.src[0].shape
    for part in uop.src[1:]:
        same = len(part.shape) == len(first) and all(
            a == b or position == axis
            for position, (a, b) in enumerate(zip(first, part.shape, strict=True))
        )
        if not same:
            raise ShapeError(f"multi: parts of shapes {first} and {part.shape} differ")
    if axis is None:
        return first
    total = sum(part.shape[axis] for part in uop.src)
    return (*first[:axis], total, *first[axis + 1 :])


def _mselect(uop: UOp) -> tuple[sint, ...]:
    source = uop.src[0]
    return source.src[uop.arg].shape if source.op is Ops.MULTI else source.shape


def _first(uop: UOp) -> tuple[sint, ...]:
    return uop.src[0].shape


def _own(uop: UOp) -> tuple[sint, ...]:
    shape: tuple[sint, ...] = uop.arg.shape
    return shape


def _buffer(uop: UOp) -> tuple[sint, ...]:
    return (uop.arg.size,)


def _binary(uop: UOp) -> tuple[sint, ...]:
    return (len(uop.arg),)


_SHAPES: dict[Ops, Callable[[UOp], tuple[sint, ...]]] = {
    Ops.RESHAPE: _reshape,
    Ops.EXPAND: _expand,
    Ops.PERMUTE: _permute,
    Ops.PAD: _pad,
    Ops.SHRINK: _shrink,
    Ops.FLIP: _flip,
    **dict.fromkeys(GroupOp.ALU, _elementwise),
    Ops.CAST: _first,
    Ops.BITCAST: _bitcast,
    Ops.REDUCE_AXIS: _reduce_axis,
    **dict.fromkeys(
        (
            Ops.REDUCE,
            Ops.ALLREDUCE,
            Ops.CONTIGUOUS,
            Ops.CONTIGUOUS_BACKWARD,
            Ops.DETACH,
            Ops.COPY,
            Ops.MSTACK,
            Ops.LOAD,
            Ops.AFTER,
            Ops.BIND,
        ),
        _first,
    ),
    Ops.INDEX: _index,
    Ops.STACK: _stack,
    Ops.MULTI: _multi,
    Ops.MSELECT: _mselect,
    Ops.PARAM: _own,
    Ops.BUFFER: _buffer,
    Ops.BINARY: _binary,
}


def shape_of(uop: UOp) -> tuple[sint, ...]:
    """Return the shape of a node whose sources' shapes are known.

    Raises:
        ShapeError: the sources' shapes do not fit the operation.
    """
    rule = _SHAPES.get(uop.op)
    return () if rule is None else rule(uop)


# ---- dtypes


def _promoted(uop: UOp) -> DType:
    first = uop.src[0].dtype
    for source in uop.src[1:]:
        if source.dtype is not first:
            return promote(*(s.dtype for s in uop.src))
    return first


def _where(uop: UOp) -> DType:
    if uop.src[0].dtype is not dtypes.bool:
        raise DTypeError(f"where: condition must be bool, found {uop.src[0].dtype.name}")
    a, b = uop.src[1].dtype, uop.src[2].dtype
    return a if a is b else promote(a, b)


def _shift(uop: UOp) -> DType:
    if not all(dtypes.is_int(s.dtype) for s in uop.src):
        raise DTypeError(
            f"{uop.op.name.lower()}: expected integers, found "
            f"{', '.join(s.dtype.name for s in uop.src)}"
        )
    return uop.src[0].dtype


def _float_function(uop: UOp) -> DType:
    return least_float(_promoted(uop))


def _first_dtype(uop: UOp) -> DType:
    return uop.src[0].dtype


def _arg_dtype(uop: UOp) -> DType:
    dtype: DType = uop.arg.dtype
    return dtype


def _arg(uop: UOp) -> DType:
    dtype: DType = uop.arg
    return dtype


def _constant(uop: UOp) -> DType:
    return dtypes.from_py(uop.arg)


def _bool(uop: UOp) -> DType:
    return dtypes.bool


def _uint64(uop: UOp) -> DType:
    return dtypes.uint64


def _uint8(uop: UOp) -> DType:
    return dtypes.uint8


def _call(uop: UOp) -> DType:
    body = uop.src[0]
    if body.op is not Ops.CUSTOM_FUNCTION or type(body.arg) is not tuple:
        return dtypes.void
    result: DType = body.arg[1]
    return result


def _wmma(uop: UOp) -> DType:
    return uop.src[2].dtype


_FLOAT_FUNCTIONS = (Ops.EXP2, Ops.LOG2, Ops.SIN, Ops.SQRT, Ops.RECIPROCAL, Ops.FDIV)
_DTYPES: dict[Ops, Callable[[UOp], DType]] = {
    Ops.CONST: _constant,
    Ops.PARAM: _arg_dtype,
    Ops.BUFFER: _arg_dtype,
    Ops.CAST: _arg,
    Ops.BITCAST: _arg,
    **dict.fromkeys(GroupOp.Binary | {Ops.MULACC, Ops.STACK}, _promoted),
    **dict.fromkeys(_FLOAT_FUNCTIONS, _float_function),
    **dict.fromkeys(GroupOp.Comparison, _bool),
    **dict.fromkeys((Ops.SHL, Ops.SHR), _shift),
    **dict.fromkeys(
        (
            Ops.BIND,
            Ops.SPECIAL,
            Ops.RANGE,
            *GroupOp.Movement,
            Ops.TRUNC,
            Ops.REDUCE_AXIS,
            Ops.REDUCE,
            Ops.ALLREDUCE,
            Ops.CONTIGUOUS,
            Ops.CONTIGUOUS_BACKWARD,
            Ops.DETACH,
            Ops.COPY,
            Ops.MULTI,
            Ops.MSELECT,
            Ops.MSTACK,
            Ops.INDEX,
            Ops.LOAD,
            Ops.AFTER,
        ),
        _first_dtype,
    ),
    Ops.THREEFRY: _uint64,
    Ops.GETADDR: _uint64,
    Ops.BINARY: _uint8,
    Ops.WHERE: _where,
    Ops.CALL: _call,
    Ops.WMMA: _wmma,
}


def dtype_of(uop: UOp) -> DType:
    """Return the dtype of a node whose sources' dtypes are known (`spec/ir.md`, section 1).

    Raises:
        DTypeError: the sources' dtypes do not fit the operation.
    """
    rule = _DTYPES.get(uop.op)
    if rule is None:
        return dtypes.void
    if uop.op is Ops.STACK and not uop.src:
        return dtypes.void
    return rule(uop)
