"""What one node must satisfy: reusable rules over its operation, argument and sources.

A rule takes a node and returns what is wrong with it, or None. Rules look at a node and at what its
sources are, never at its readers, so the verdict on a node never changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from tg_core.dtype import DType, Invalid, dtypes
from tg_core.uop.args import BufferArg, CallInfo, KernelInfo, MultiArg, ParamArg, ProgramInfo
from tg_core.uop.opcodes import AxisType, GroupOp, Ops

if TYPE_CHECKING:
    from tg_core.uop.uop import UOp

Rule: TypeAlias = Callable[["UOp"], str | None]

REDUCERS = (Ops.ADD, Ops.MUL, Ops.MAX)
"""Operations that a reduction may combine with."""
CALL_BODIES = frozenset((Ops.SINK, Ops.PROGRAM, Ops.COPY, Ops.LINEAR, Ops.CUSTOM_FUNCTION))
"""What a CALL may run."""
EFFECTS = frozenset((Ops.STORE, Ops.GROUP, Ops.NOOP, Ops.INS, Ops.END, Ops.CALL))
"""What a GROUP collects."""
_PROGRAM_PARTS = (Ops.SINK, Ops.LINEAR, Ops.SOURCE, Ops.BINARY)
_VIEWS = GroupOp.Movement | {Ops.BITCAST, Ops.AFTER, Ops.MSELECT, Ops.MULTI, Ops.DETACH}
_STORAGE = frozenset((Ops.BUFFER, Ops.PARAM, Ops.MSTACK, Ops.CUSTOM_FUNCTION, Ops.CALL))


def storage_base(u: UOp) -> UOp:
    """Walk down views, bitcasts, detach markers and pending writes.

    Args:
        u: any node.

    Returns:
        The node below; BUFFER or PARAM where `u` is a view of storage.
    """
    while u.op in _VIEWS:
        u = u.src[0]
    return u


def has_storage(u: UOp) -> bool:
    """Whether a node is storage, through views, bitcasts, detach markers and pending writes."""
    return storage_base(u).op in _STORAGE


def is_poison(u: UOp) -> bool:
    """Whether a node is the constant Invalid, which any operand may be."""
    return u.op is Ops.CONST and u.arg is Invalid


def sources(least: int, most: int | None = -1) -> Rule:
    """Make a rule on the number of sources.

    Args:
        least: smallest number.
        most: largest number, None for no limit; the smallest when left out.
    """
    limit = least if most == -1 else most

    def rule(u: UOp) -> str | None:
        count = len(u.src)
        if count < least or (limit is not None and count > limit):
            wanted = str(least) if limit == least else f"{least} to {limit or 'any number'}"
            return f"expected {wanted} sources, found {count}"
        return None

    return rule


def argument(*kinds: type | None) -> Rule:
    """Make a rule on the type of the argument; None stands for no argument."""
    types = tuple(type(None) if kind is None else kind for kind in kinds)

    def rule(u: UOp) -> str | None:
        if type(u.arg) in types:
            return None
        wanted = " or ".join(kind.__name__ for kind in types)
        return f"argument must be {wanted}, found {type(u.arg).__name__} {u.arg!r}"

    return rule


def const_value_rule(u: UOp) -> str | None:
    """Accept a Python bool, int, float or Invalid."""
    if type(u.arg) in (bool, int, float) or u.arg is Invalid:
        return None
    return f"a constant is a bool, int, float or Invalid, found {type(u.arg).__name__}"


def storage_argument(u: UOp) -> str | None:
    """Accept a BUFFER or PARAM with its record; storage has a width, a variable has bounds."""
    arg = u.arg
    if u.op is Ops.BUFFER:
        if type(arg) is not BufferArg:
            return f"argument must be BufferArg, found {arg!r}"
        weak_storage = dtypes.is_weak(arg.dtype)
    else:
        if type(arg) is not ParamArg:
            return f"argument must be ParamArg, found {arg!r}"
        if arg.shape == () and arg.bounds is None and arg.name is not None:
            return "a variable needs bounds"
        weak_storage = dtypes.is_weak(arg.dtype) and arg.shape != ()
    return f"storage cannot have the weak dtype {arg.dtype.name}" if weak_storage else None


def bind_rule(u: UOp) -> str | None:
    """Accept a variable with a constant within its bounds."""
    variable, value = u.src
    if variable.op is not Ops.PARAM or variable.arg.bounds is None:
        return "the first source of BIND is a variable"
    if value.op is not Ops.CONST:
        return "the second source of BIND is a constant"
    low, high = variable.arg.bounds
    return None if low <= value.arg <= high else f"{value.arg} is outside of [{low}, {high}]"


def dtype_argument(u: UOp) -> str | None:
    """Accept a dtype that values can have."""
    if type(u.arg) is DType and u.arg is not dtypes.void:
        return None
    return f"argument must be a dtype, found {u.arg!r}"


def same_dtypes(u: UOp) -> str | None:
    """Require equal concrete operand dtypes; a weak operand adapts to a concrete one."""
    concrete: DType | None = None
    weak_float = False
    for source in u.src:
        dtype = source.dtype
        if dtypes.is_weak(dtype):
            weak_float = weak_float or dtype is dtypes.weakfloat
            continue
        if is_poison(source):
            continue
        if concrete is not None and concrete is not dtype:
            return f"operands are {concrete.name} and {dtype.name}"
        concrete = dtype
    if weak_float and concrete is not None and not dtypes.is_float(concrete):
        return f"a weakfloat operand cannot adapt to {concrete.name}"
    return None


def numbers(u: UOp) -> str | None:
    """Require operands that are numbers."""
    for source in u.src:
        if source.dtype is dtypes.void:
            return "an operand has no value"
    return None


def integers(u: UOp) -> str | None:
    """Require integer operands."""
    for source in u.src:
        if not dtypes.is_int(source.dtype) and not is_poison(source):
            return f"expected integers, found {source.dtype.name}"
    return None


def integers_or_bools(u: UOp) -> str | None:
    """Require integer or bool operands."""
    for source in u.src:
        if not dtypes.is_int(source.dtype) and source.dtype is not dtypes.bool:
            return f"expected integers or bools, found {source.dtype.name}"
    return None


def where_rule(u: UOp) -> str | None:
    """Require a bool condition and two values of one dtype, weak and Invalid ones aside."""
    condition, a, b = u.src
    if condition.dtype is not dtypes.bool:
        return f"the condition must be bool, found {condition.dtype.name}"
    if is_poison(a) or is_poison(b) or a.dtype is b.dtype:
        return None
    if dtypes.is_weak(a.dtype) or dtypes.is_weak(b.dtype):
        return None
    return f"the values are {a.dtype.name} and {b.dtype.name}"


def reduce_axis_rule(u: UOp) -> str | None:
    """Require (op, sorted axes)."""
    if type(u.arg) is not tuple or len(u.arg) != 2 or u.arg[0] not in REDUCERS:
        return f"argument must be (op, axes), found {u.arg!r}"
    axes = u.arg[1]
    return None if list(axes) == sorted(set(axes)) else f"axes {axes} are not distinct and sorted"


def reduce_rule(u: UOp) -> str | None:
    """Require a reducer, and ranges to reduce over.

    A CONST stands for a loop of one iteration until the rule that drops it has run.
    """
    if u.arg not in REDUCERS:
        return f"argument must be ADD, MUL or MAX, found {u.arg!r}"
    for source in u.src[1:]:
        if source.op is not Ops.RANGE and source.op is not Ops.CONST:
            return f"reduces over ranges, found {source.op.name}"
    return None


def tensor_store(u: UOp) -> str | None:
    """Require a target with storage at its base, not a contiguous marker or a view of one."""
    base = storage_base(u.src[0])
    if base.op in _STORAGE or base.op is Ops.INDEX:
        return None
    return f"the target has no storage at its base, found {base.op.name}"


def gate_of(u: UOp, position: int) -> str | None:
    """Require that the gate at a source position, if there, is bool."""
    if len(u.src) <= position or u.src[position].dtype is dtypes.bool:
        return None
    return f"the gate must be bool, found {u.src[position].dtype.name}"


def store_gate(u: UOp) -> str | None:
    """Require a bool gate of a STORE."""
    return gate_of(u, 2)


def kernel_store(u: UOp) -> str | None:
    """Require that the target points into storage."""
    target = u.src[0]
    if target.op is not Ops.INDEX:
        return f"the target must be an INDEX, found {target.op.name}"
    return _points_into_storage(target)


def _points_into_storage(index: UOp) -> str | None:
    if has_storage(index.src[0]):
        return None
    return f"INDEX must point into storage, found {storage_base(index.src[0]).op.name}"


def load_rule(u: UOp) -> str | None:
    """Require an INDEX into storage, an alternative of its dtype beside a gate, and a bool gate."""
    place = u.src[0]
    if place.op is not Ops.INDEX:
        return f"LOAD reads an INDEX, found {place.op.name}"
    if len(u.src) == 2:
        return "an alternative needs a gate"
    if len(u.src) == 3:
        alternative = u.src[1].dtype
        if alternative is not place.dtype and not dtypes.is_weak(alternative):
            return f"the alternative is {alternative.name}, the storage {place.dtype.name}"
    return _points_into_storage(place) or gate_of(u, 2)


def index_rule(u: UOp) -> str | None:
    """Require an integer position, and a number of lanes or nothing as the argument."""
    position = u.src[1]
    if not dtypes.is_int(position.dtype) and not is_poison(position):
        return f"the position must be an integer, found {position.dtype.name}"
    if u.arg is not None and (type(u.arg) is not int or u.arg < 1):
        return f"argument must be a number of lanes or None, found {u.arg!r}"
    return None


def tensor_after(u: UOp) -> str | None:
    """Let storage, and values marked contiguous, depend on writes.

    A detached storage may carry pending writes; a detached computed value may not.
    """
    node = u.src[0]
    detached = False
    while node.op in _VIEWS:
        detached = detached or node.op is Ops.DETACH
        node = node.src[0]
    if node.op in _STORAGE or node.op in (Ops.COPY, Ops.INDEX):
        return None
    if node.op in (Ops.CONTIGUOUS, Ops.CONTIGUOUS_BACKWARD) and not detached:
        return None
    what = "a detached computed value" if detached else "a computed value"
    return f"{what} cannot depend on writes, found {node.op.name}"


def detach_rule(u: UOp) -> str | None:
    """Refuse pending writes on a detached computed value."""
    node = u.src[0]
    pending = False
    while node.op in _VIEWS:
        pending = pending or node.op is Ops.AFTER
        node = node.src[0]
    if pending and node.op in (Ops.CONTIGUOUS, Ops.CONTIGUOUS_BACKWARD):
        return "a detached computed value cannot carry pending writes"
    return None


def group_rule(u: UOp) -> str | None:
    """Require effects."""
    for source in u.src:
        if source.op not in EFFECTS:
            return (
                "GROUP collects stores, groups, NOOPs, instructions, ENDs, calls;"
                f" found {source.op.name}"
            )
    return None


def sink_argument(u: UOp) -> str | None:
    """Require KernelInfo or nothing."""
    return argument(KernelInfo, None)(u)


def range_rule(u: UOp) -> str | None:
    """Require an integer size and (ids..., axis type)."""
    if not dtypes.is_int(u.src[0].dtype):
        return f"the size must be an integer, found {u.src[0].dtype.name}"
    arg = u.arg
    if type(arg) is not tuple or len(arg) < 2 or type(arg[-1]) is not AxisType:
        return f"argument must be (ids..., AxisType), found {arg!r}"
    if any(type(i) is not int for i in arg[:-1]):
        return f"the ids of a range are ints, found {arg!r}"
    return None


def _closes(u: UOp, one_iteration: bool) -> str | None:
    if u.src[0].dtype is not dtypes.void:
        return f"the body must be an effect, found {u.src[0].op.name}"
    for source in u.src[1:]:
        if source.op is Ops.RANGE or source.dtype is dtypes.bool:
            continue
        if not one_iteration or source.op is not Ops.CONST:
            return f"END closes ranges, found {source.op.name}"
    return None


def end_rule(u: UOp) -> str | None:
    """Require an effect, and ranges (or a bool condition) to close."""
    return _closes(u, False)


def graph_end_rule(u: UOp) -> str | None:
    """Accept what `end_rule` does, and a CONST: a loop of one iteration, dropped soon after."""
    return _closes(u, True)


def special_rule(u: UOp) -> str | None:
    """Require an integer size and a work item name."""
    if not dtypes.is_int(u.src[0].dtype):
        return f"the size must be an integer, found {u.src[0].dtype.name}"
    name = u.arg
    if isinstance(name, str) and name[:-1] in ("gidx", "lidx") and name[-1] in "012":
        return None
    return f"argument must be gidx0..2 or lidx0..2, found {name!r}"


def stack_rule(u: UOp) -> str | None:
    """Require lanes of one shape and dtype."""
    if not u.src:
        return None
    shape = u.src[0].shape
    for source in u.src[1:]:
        if source.shape != shape:
            return f"lanes have shapes {shape} and {source.shape}"
    return same_dtypes(u)


def call_rule(u: UOp) -> str | None:
    """Require a body that can run, and CallInfo."""
    if u.src[0].op not in CALL_BODIES:
        wanted = ", ".join(sorted(op.name for op in CALL_BODIES))
        return f"the body must be one of {wanted}, found {u.src[0].op.name}"
    return argument(CallInfo)(u)


def program_rule(u: UOp) -> str | None:
    """Require SINK, LINEAR, SOURCE, BINARY in this order, and ProgramInfo.

    They are filled from left to right; a stored program keeps the right part alone, and a program
    that was read from the cache has NOOP in place of what it no longer needs.
    """
    position = 0
    for source in u.src:
        if source.op is Ops.NOOP:
            position += 1
            continue
        while position < len(_PROGRAM_PARTS) and source.op is not _PROGRAM_PARTS[position]:
            position += 1
        if position == len(_PROGRAM_PARTS):
            wanted = ", ".join(op.name for op in _PROGRAM_PARTS)
            return f"expected {wanted} in this order, found {source.op.name}"
        position += 1
    return argument(ProgramInfo, None)(u)


def copy_rule(u: UOp) -> str | None:
    """Require a device, or a tuple of them."""
    if isinstance(u.arg, str):
        return None
    if isinstance(u.arg, tuple) and all(isinstance(d, str) for d in u.arg):
        return None
    return f"argument must be a device, found {u.arg!r}"


def multi_rule(u: UOp) -> str | None:
    """Require one part per device, on that device or on none, and an axis of the parts."""
    if not isinstance(u.arg, MultiArg) or len(u.arg.devices) != len(u.src):
        return f"argument must name a device for each of {len(u.src)} parts, found {u.arg!r}"
    for device, part in zip(u.arg.devices, u.src):
        if part.device not in (None, device):
            return f"a part is on {part.device}, expected {device}"
    axis = u.arg.axis
    if axis is not None and not 0 <= axis < len(u.shape):
        return f"axis {axis} is none of shape {u.shape}"
    return None


def mselect_rule(u: UOp) -> str | None:
    """Require a position in the tuple of devices of the source."""
    devices = u.src[0].device
    if not isinstance(devices, tuple):
        return f"selects from several devices, found {devices!r}"
    if type(u.arg) is not int or not 0 <= u.arg < len(devices):
        return f"argument must index into {devices}, found {u.arg!r}"
    return None


def wmma_rule(u: UOp) -> str | None:
    """Require a 5-tuple."""
    if type(u.arg) is tuple and len(u.arg) == 5:
        return None
    return f"argument must be a 5-tuple, found {u.arg!r}"


def movement_rule(u: UOp) -> str | None:
    """Require a tuple that fits the shape of the source."""
    if type(u.arg) is not tuple:
        return f"argument must be a tuple, found {u.arg!r}"
    # deriving the shape checks the argument
    u.shape  # noqa: B018
    return None


def condition_rule(u: UOp) -> str | None:
    """Require a bool condition."""
    if u.src[0].dtype is dtypes.bool:
        return None
    return f"the condition must be bool, found {u.src[0].dtype.name}"


def no_rule(u: UOp) -> str | None:
    """Accept any node."""
    return None


def concrete_dtype(u: UOp) -> str | None:
    """Require a width, in a linear program; a bare CONST is fine as the source of a CAST."""
    dtype = u.dtype
    if dtype.bits or dtype is dtypes.void or u.op is Ops.CONST:
        return None
    return f"{dtype.name} has no width"


def concrete_operands(u: UOp) -> str | None:
    """Require operands of one concrete dtype and one shape."""
    first: Any = None
    for source in u.src:
        if dtypes.is_weak(source.dtype):
            return f"operand {source.op.name} has no width"
        if first is not None and source.shape != first:
            return f"operands have shapes {first} and {source.shape}"
        first = source.shape
    return None


def machine_index(u: UOp) -> str | None:
    """Require an int32 or int64 position, or the constant lane of a vector."""
    dtype = u.src[-1].dtype if u.op is not Ops.INDEX else u.src[1].dtype
    if dtype in (dtypes.int32, dtypes.int64):
        return None
    return f"must be int32 or int64, found {dtype.name}"
