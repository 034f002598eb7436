"""Cases for the differential judge: tensors that are views, arguments, and their comparison with
PyTorch. A case prints as an expression that reproduces it.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, nan
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tg_core import Tensor
from tg_core.dtype import dtypes
from tg_core.errors import GradientError

__all__ = ["FP8", "OTHER_DTYPES", "Case", "Input", "Op", "check", "inf", "nan", "tally", "tensors"]

FLOATS = ("float32", "float64", "float16", "bfloat16")
SIGNED = ("int32", "int64", "int8", "int16")
INTS = (*SIGNED, "uint8")
NUMBERS = (*FLOATS, *INTS)
ALL = (*NUMBERS, "bool")
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 3e-5, "float64": 1e-9}
SPECIAL = (0.0, -0.0, inf, -inf, nan, 1e-3, -1e-3, 1.0, -1.0, 100.0, -100.0)

FP8 = {
    "float8_e4m3fn": "fp8e4m3",
    "float8_e5m2": "fp8e5m2",
    "float8_e4m3fnuz": "fp8e4m3fnuz",
    "float8_e5m2fnuz": "fp8e5m2fnuz",
}
"""Their names of dtypes, and ours."""
OTHER_DTYPES: dict[str, tuple[str, frozenset[tuple[str, str]]]] = {
    "positions, counts and Python ints have the default integer dtype": (
        "arange argmax argmin argsort full max_pool2d_indices nonzero one_hot sort",
        frozenset({("int32", "int64")}),
    ),
    "integers add up in the default integer dtype or their own if wider, and keep their sign": (
        "cumprod cumsum prod sum",
        frozenset({("int32", "int64"), ("uint32", "int64")}),
    ),
    "what all and any say is a bool": ("all any", frozenset({("bool", "uint8")})),
    "a square is a product": ("square", frozenset({("bool", "int64")})),
}
"""Why the dtype of results differs on purpose: of which ops, and (ours, theirs)."""

tally: Counter[tuple[str, str]] = Counter()
"""How many cases of an op had each outcome."""


@dataclass(frozen=True)
class Input:
    """A tensor: its stored values, and the view of them that the op gets.

    `slices` holds a start and a step for each stored axis; then axes are permuted, flipped, and
    axes of size one expanded to `expand`.
    """

    values: tuple[Any, ...]
    shape: tuple[int, ...]
    dtype: str
    slices: tuple[tuple[int, int], ...] = ()
    order: tuple[int, ...] = ()
    flips: tuple[int, ...] = ()
    expand: tuple[int, ...] = ()

    @property
    def rank(self) -> int:
        return len(self.shape)

    def view(self, x: Any) -> Any:
        if self.slices:
            x = x[tuple(slice(start, None, step) for start, step in self.slices)]
        if self.order:
            x = x.permute(self.order)
        if self.flips:
            x = x.flip(self.flips)
        return x.expand(self.expand) if self.expand else x

    def ours(self) -> Tensor:
        stored = "float32" if self.dtype == "bfloat16" else self.dtype
        x = Tensor(np.array(self.values, dtype=stored).reshape(self.shape))
        return x.cast("bfloat16").realize() if self.dtype == "bfloat16" else x

    def theirs(self, wide: bool) -> torch.Tensor:
        dtype = getattr(torch, self.dtype)
        x = torch.tensor(self.values, dtype=dtype).reshape(self.shape)
        return x.double() if wide and dtype.is_floating_point else x


@dataclass(frozen=True)
class Case:
    """An op on inputs (tensors or Python numbers) with keyword arguments."""

    op: str
    inputs: tuple[Input | float, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    grad: bool = False


@dataclass(frozen=True)
class Op:
    """An op here, its counterpart there, and the arguments that both take.

    `close` scales the tolerance; `scale` makes it relative to the largest value, for ops that sum.
    """

    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    draw: Callable[[Callable[..., Any], bool], tuple[tuple[Any, ...], dict[str, Any]]]
    grad: bool = True
    close: float = 1.0
    scale: bool = False


# Strategies


def elements(dtype: str, low: float, high: float, special: bool) -> SearchStrategy[Any]:
    """Return values of a dtype; floats are multiples of 1/8, which every float dtype holds."""
    if dtype == "bool":
        return st.booleans()
    if dtype in INTS:
        info = np.iinfo(dtype)
        low_int = max(math.ceil(low), info.min)
        plain = st.integers(low_int, max(low_int, min(int(high), info.max)))
        return plain | st.sampled_from((info.min, info.max)) if special else plain
    plain = st.integers(math.ceil(low * 8), math.floor(high * 8)).map(lambda n: n / 8)
    return plain | st.sampled_from(SPECIAL) if special else plain


@st.composite
def tensors(
    draw: Any,
    shape: tuple[int, ...],
    dtype: str,
    low: float = -8,
    high: float = 8,
    special: bool = False,
    unique: bool = False,
) -> Input:
    """Draw a tensor of a shape, as a view of stored values, which differ where `unique`."""
    stored = list(shape)
    slices: tuple[tuple[int, int], ...] = ()
    order: tuple[int, ...] = ()
    flips: tuple[int, ...] = ()
    expand: tuple[int, ...] = ()
    if shape and draw(st.booleans()):
        if draw(st.integers(0, 3)) == 0:
            axis = draw(st.integers(0, len(shape) - 1))
            expand, stored[axis] = shape, 1
        flips = tuple(axis for axis in range(len(shape)) if draw(st.booleans()))
        if len(shape) > 1 and draw(st.booleans()):
            order = tuple(draw(st.permutations(range(len(shape)))))
            stored = [stored[order.index(axis)] for axis in range(len(shape))]
        if draw(st.booleans()):
            slices = tuple((draw(st.integers(0, 1)), draw(st.integers(1, 2))) for _ in shape)
            stored = [
                start + (size - 1) * step + 1 if size else start
                for size, (start, step) in zip(stored, slices, strict=True)
            ]
    size = math.prod(stored)
    kind = elements(dtype, low, high, special)
    values = tuple(draw(st.lists(kind, min_size=size, max_size=size, unique=unique)))
    return Input(values, tuple(stored), dtype, slices, order, flips, expand)


# Comparison


def listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def array_of(x: Any) -> np.ndarray:
    if isinstance(x, torch.Tensor):
        x = x.detach()
        return (x.double() if x.is_floating_point() else x).numpy()
    return (x.cast(dtypes.float64) if dtypes.is_float(x.dtype) else x).numpy()


def weights(shape: tuple[int, ...]) -> np.ndarray:
    """Return the fixed gradient of a result."""
    return (np.arange(math.prod(shape)) % 5 - 1.5).reshape(shape)


def close(op: Op, found: np.ndarray, wanted: np.ndarray, dtype: str) -> bool:
    if dtype not in TOLERANCE:
        equal_nan = bool(found.dtype.kind == "f")
        return bool(np.array_equal(found, wanted, equal_nan=equal_nan))
    limit = {"float16": 65504.0, "bfloat16": 3.3895e38, "float32": 3.4028e38}.get(dtype, inf)
    with np.errstate(all="ignore"):
        wanted = np.where(np.abs(wanted) > limit, np.sign(wanted) * inf, wanted)
    relative = TOLERANCE[dtype] * op.close
    finite = np.abs(wanted[np.isfinite(wanted)])
    largest = float(finite.max()) if op.scale and finite.size else 0.0
    absolute = relative * max(0.1, largest)
    return bool(np.allclose(found, wanted, rtol=relative, atol=absolute, equal_nan=True))


def run_theirs(op: Op, case: Case, wide: bool) -> tuple[list[torch.Tensor], list[Any]]:
    leaves = [x.theirs(wide) if isinstance(x, Input) else x for x in case.inputs]
    targets = [x for x in leaves if isinstance(x, torch.Tensor) and x.is_floating_point()]
    if case.grad:
        for leaf in targets:
            leaf.requires_grad_()
    args = [x.view(y) if isinstance(x, Input) else y for x, y in zip(case.inputs, leaves)]
    with warnings.catch_warnings():
        # such as degrees of freedom below 1, and names on their way out
        warnings.simplefilter("ignore")
        results = listed(op.theirs(*args, **case.kwargs))
    if not case.grad:
        return results, []
    out = next(r for r in results if r.is_floating_point())
    if not out.requires_grad:
        return results, [torch.zeros_like(x) for x in targets]
    seed = torch.tensor(weights(tuple(out.shape)), dtype=out.dtype)
    found = torch.autograd.grad(out, targets, seed, allow_unused=True)
    pairs = zip(targets, found, strict=True)
    return results, [torch.zeros_like(x) if g is None else g for x, g in pairs]


def run_ours(op: Op, case: Case) -> tuple[list[Tensor], list[Any]]:
    leaves = [x.ours() if isinstance(x, Input) else x for x in case.inputs]
    args = [x.view(y) if isinstance(x, Input) else y for x, y in zip(case.inputs, leaves)]
    results = listed(op.ours(*args, **case.kwargs))
    if not case.grad:
        return results, []
    targets = [x for x in leaves if isinstance(x, Tensor) and dtypes.is_float(x.dtype)]
    out = next(r for r in results if dtypes.is_float(r.dtype))
    seed = Tensor(weights(out.shape)).cast(out.dtype)
    found: list[Any] = []
    for target in targets:
        try:
            found += out.gradient(target, gradient=seed)
        except GradientError as error:
            if "not a part" not in str(error):
                raise
            found.append(target.zeros_like())
    return results, found


def differs(name: str, ours: str, theirs: str) -> bool:
    """Tell whether the dtypes of a result differ on purpose."""
    groups = OTHER_DTYPES.values()
    return any(name in ops.split() and (ours, theirs) in pairs for ops, pairs in groups)


def check_case(op: Op, case: Case) -> None:
    """Compare values, shapes, dtypes and first gradients of a case."""
    try:
        wanted, wanted_grads = run_theirs(op, case, wide=False)
    except (RuntimeError, IndexError, NotImplementedError, TypeError, ValueError):
        tally[case.op, "refused by torch"] += 1
        return
    found, grads = run_ours(op, case)
    assert len(found) == len(wanted), f"{len(found)} results, expected {len(wanted)}\n{case}"
    exact = wide = None
    for what, ours, theirs in (("value", found, wanted), ("gradient", grads, wanted_grads)):
        for place, (x, y) in enumerate(zip(ours, theirs, strict=True)):
            name = str(y.dtype).removeprefix("torch.")
            text = f"{what} {place}"
            assert x.shape == tuple(y.shape), f"{text}: {x.shape}, not {tuple(y.shape)}\n{case}"
            same = x.dtype.name == FP8.get(name, name) or differs(case.op, x.dtype.name, name)
            assert same, f"{text}: dtype {x.dtype.name}, not {name}\n{case}"
            value, exact = array_of(x), array_of(y)
            if not y.is_floating_point():
                # Their integer sums are wider; values wrap to the width of ours.
                exact = exact.astype(value.dtype)
            if close(op, value, exact, name):
                continue
            if name in TOLERANCE:
                # A narrow float of theirs may be off or overflow where a rounded wide one is not.
                wide = array_of(run_theirs(op, case, wide=True)[what == "gradient"][place])
                if close(op, value, wide, name):
                    continue
            raise AssertionError(f"{text}: {value.tolist()}, not {exact.tolist()}\n{case}")
    tally[case.op, "equal values and gradients" if case.grad else "equal values"] += 1


def check(case: Case) -> None:
    """Run one case; a failure names it as `check(Case(...))`."""
    from torch_ops import OPS

    check_case(OPS[case.op], case)
