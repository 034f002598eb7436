"""Every differentiable operation against central differences in float64: the first derivatives in
random directions, and the second ones, which are gradients of the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graph_eval import evaluate

from tg_core.dtype import dtypes
from tg_core.tensor import Tensor
from tg_core.tensor.gradient import compute_gradients
from tg_core.uop.ops import Ops, UOp

STEP = 1e-5
ROWS = UOp.const(0, dtypes.int32)._broadcast_to((1,)).cat(UOp._counting(3, dtypes.int32))
"""0, 0, 1, 2: one position twice."""


def index(*values: int) -> UOp:
    return UOp(Ops.STACK, tuple(UOp.const(v, dtypes.int32) for v in values))


# name: (function, shapes of its inputs, range of their values)
TABLE: dict[str, tuple[Callable[..., UOp], tuple[tuple[int, ...], ...], tuple[float, float]]] = {
    # powers, exponentials, logarithms
    "exp": (lambda x: x.exp(), ((4,),), (-2, 2)),
    "exp2": (lambda x: x.exp2(), ((4,),), (-2, 2)),
    "expm1": (lambda x: x.expm1(), ((4,),), (-2, 2)),
    "log": (lambda x: x.log(), ((4,),), (0.3, 3)),
    "log2": (lambda x: x.log2(), ((4,),), (0.3, 3)),
    "log10": (lambda x: x.log10(), ((4,),), (0.3, 3)),
    "log1p": (lambda x: x.log1p(), ((4,),), (-0.5, 3)),
    "sqrt": (lambda x: x.sqrt(), ((4,),), (0.3, 3)),
    "rsqrt": (lambda x: x.rsqrt(), ((4,),), (0.3, 3)),
    "reciprocal": (lambda x: x.reciprocal(), ((4,),), (0.3, 3)),
    "square": (lambda x: x.square(), ((4,),), (-2, 2)),
    "pow": (lambda x, y: x.pow(y), ((2, 3), (3,)), (0.3, 3)),
    "__pow__": (lambda x: x**5, ((4,),), (0.3, 3)),
    "__rpow__": (lambda x: 2.5**x, ((4,),), (-2, 2)),
    "logaddexp": (lambda x, y: x.logaddexp(y), ((4,), (4,)), (-2, 2)),
    # trigonometric and hyperbolic functions
    "sin": (lambda x: x.sin(), ((4,),), (-3, 3)),
    "cos": (lambda x: x.cos(), ((4,),), (-3, 3)),
    "tan": (lambda x: x.tan(), ((4,),), (-1, 1)),
    "asin": (lambda x: x.asin(), ((4,),), (-0.8, 0.8)),
    "acos": (lambda x: x.acos(), ((4,),), (-0.8, 0.8)),
    "atan": (lambda x: x.atan(), ((4,),), (-3, 3)),
    "atan2": (lambda x, y: x.atan2(y), ((4,), (4,)), (0.3, 2)),
    "sinh": (lambda x: x.sinh(), ((4,),), (-2, 2)),
    "cosh": (lambda x: x.cosh(), ((4,),), (-2, 2)),
    "tanh": (lambda x: x.tanh(), ((4,),), (-2, 2)),
    "asinh": (lambda x: x.asinh(), ((4,),), (-2, 2)),
    "acosh": (lambda x: x.acosh(), ((4,),), (1.3, 3)),
    "atanh": (lambda x: x.atanh(), ((4,),), (-0.8, 0.8)),
    "erf": (lambda x: x.erf(), ((4,),), (-2, 2)),
    # activations
    "relu": (lambda x: x.relu(), ((4,),), (-2, 2)),
    "relu6": (lambda x: x.relu6(), ((4,),), (-2, 8)),
    "leaky_relu": (lambda x: x.leaky_relu(0.1), ((4,),), (-2, 2)),
    "elu": (lambda x: x.elu(0.7), ((4,),), (-2, 2)),
    "celu": (lambda x: x.celu(0.7), ((4,),), (-2, 2)),
    "selu": (lambda x: x.selu(), ((4,),), (-2, 2)),
    "gelu": (lambda x: x.gelu() + x.gelu("none"), ((4,),), (-2, 2)),
    "quick_gelu": (lambda x: x.quick_gelu(), ((4,),), (-2, 2)),
    "sigmoid": (lambda x: x.sigmoid(), ((4,),), (-2, 2)),
    "logsigmoid": (lambda x: x.logsigmoid(), ((4,),), (-2, 2)),
    "hardsigmoid": (lambda x: x.hardsigmoid(), ((4,),), (-2, 2)),
    "hardswish": (lambda x: x.hardswish(), ((4,),), (-2, 2)),
    "hardtanh": (lambda x: x.hardtanh(), ((4,),), (-2, 2)),
    "silu": (lambda x: x.silu(), ((4,),), (-2, 2)),
    "swish": (lambda x: x.swish(), ((4,),), (-2, 2)),
    "mish": (lambda x: x.mish(), ((4,),), (-2, 2)),
    "softplus": (lambda x: x.softplus(2.0), ((4,),), (-2, 2)),
    "softsign": (lambda x: x.softsign(), ((4,),), (-2, 2)),
    # arithmetic and selection
    "__add__": (lambda x, y: x + y, ((2, 3), (3,)), (-2, 2)),
    "add": (lambda x: x.add(2.0, reverse=True), ((4,),), (-2, 2)),
    "sub": (lambda x, y: x.sub(y, reverse=True), ((2, 3), (3,)), (-2, 2)),
    "mul": (lambda x, y: x.mul(y) * x, ((2, 3), (3,)), (-2, 2)),
    "div": (lambda x, y: x.div(y) + 1 / y, ((2, 3), (3,)), (0.3, 2)),
    "mod": (lambda x, y: x.mod(y), ((2, 3), (3,)), (0.3, 2)),
    "__mod__": (lambda x: x % 0.75, ((4,),), (-2, 2)),
    "fmod": (lambda x, y: x.fmod(y), ((2, 3), (3,)), (0.3, 2)),
    "neg": (lambda x: x.neg() * x, ((4,),), (-2, 2)),
    "abs": (lambda x: x.abs() * x, ((4,),), (-2, 2)),
    "copysign": (lambda x, y: x.copysign(y) * x, ((4,), (4,)), (-2, 2)),
    "sign": (lambda x: x.sign() * x, ((4,),), (-2, 2)),
    "floor": (lambda x: x.floor() * x, ((4,),), (-2, 2)),
    "ceil": (lambda x: x.ceil() * x, ((4,),), (-2, 2)),
    "trunc": (lambda x: x.trunc() * x, ((4,),), (-2, 2)),
    "round": (lambda x: x.round() * x, ((4,),), (-2, 2)),
    "maximum": (lambda x, y: (x * y).maximum(y), ((2, 3), (3,)), (-2, 2)),
    "minimum": (lambda x, y: (x * y).minimum(y), ((2, 3), (3,)), (-2, 2)),
    "clamp": (lambda x: (x * x).clamp(0.5, 2.0), ((4,),), (-2, 2)),
    "clip": (lambda x: (x * x).clip(max_=2.0), ((4,),), (-2, 2)),
    "lerp": (lambda x, y, w: x.lerp(y, w), ((4,), (4,), (4,)), (-2, 2)),
    "where": (lambda x, y: (x > 0).where(x * x, y * x), ((4,), (4,)), (-2, 2)),
    "masked_fill": (lambda x: (x * x).masked_fill(x > 0, 1.0), ((4,),), (-2, 2)),
    "usum": (lambda x, y: x.usum(y, x * y), ((4,), (4,)), (-2, 2)),
    "uprod": (lambda x, y: x.uprod(y, x), ((4,), (4,)), (-2, 2)),
    "cast": (lambda x: x.cast("float64") * x, ((4,),), (-2, 2)),
    # reductions
    "sum": (lambda x: (x * x).sum((0, 2), keepdim=True), ((2, 3, 2),), (-2, 2)),
    "mean": (lambda x: (x * x).mean(1), ((2, 3, 2),), (-2, 2)),
    "prod": (lambda x: x.prod(1), ((2, 3),), (0.3, 2)),
    "max": (lambda x: (x * x).max(1), ((2, 3),), (-2, 2)),
    "min": (lambda x: (x * x).min(), ((2, 3),), (-2, 2)),
    "var": (lambda x: x.var(1), ((2, 3),), (-2, 2)),
    "std": (lambda x: x.std(1), ((2, 3),), (-2, 2)),
    "var_mean": (lambda x: x.var_mean(1)[0] * x.var_mean(1)[1], ((2, 3),), (-2, 2)),
    "std_mean": (lambda x: x.std_mean(1)[0] * x.std_mean(1)[1], ((2, 3),), (-2, 2)),
    "logsumexp": (lambda x: x.logsumexp(1), ((2, 3),), (-2, 2)),
    "softmax": (lambda x: x.softmax(0), ((2, 3),), (-2, 2)),
    "log_softmax": (lambda x: x.log_softmax(), ((2, 3),), (-2, 2)),
    "softmin": (lambda x: x.softmin(), ((2, 3),), (-2, 2)),
    "normalize": (lambda x: x.normalize(), ((2, 3),), (0.3, 2)),
    "layernorm": (lambda x: x.layernorm(), ((2, 4),), (-2, 2)),
    "cumsum": (lambda x: (x * x).cumsum(1), ((2, 4),), (-2, 2)),
    "cumprod": (lambda x: x.cumprod(1), ((2, 4),), (0.3, 2)),
    "cummax": (lambda x: (x * x).cummax(1)[0], ((2, 4),), (-2, 2)),
    "cummin": (lambda x: (x * x).cummin(1)[0], ((2, 4),), (-2, 2)),
    "logcumsumexp": (lambda x: x.logcumsumexp(1), ((2, 4),), (-2, 2)),
    "sort": (lambda x: (x * x).sort(descending=True)[0], ((2, 4),), (0.3, 2)),
    "topk": (lambda x: (x * x).topk(2)[0], ((2, 4),), (0.3, 2)),
    # products
    "matmul": (lambda x, y: x.matmul(y), ((2, 3), (3, 2)), (-2, 2)),
    "__matmul__": (lambda x, y: x @ y, ((2, 2, 3), (3, 2)), (-2, 2)),
    "dot": (lambda x, y: x.dot(y), ((3,), (3,)), (-2, 2)),
    "linear": (lambda x, w, b: x.linear(w, b), ((2, 3), (3, 2), (2,)), (-2, 2)),
    "einsum": (lambda x, y: UOp.einsum("ii,ij->j", x, y), ((3, 3), (3, 2)), (-2, 2)),
    "qr": (lambda x: x.qr()[1], ((2, 2),), (0.3, 2)),
    "newton_schulz": (lambda x: x.newton_schulz(2, (2, -1.5, 0.5)), ((2, 3),), (0.3, 2)),
    # windows
    "conv2d": (
        lambda x, w, b: x.conv2d(w, b, groups=2, stride=2, padding=1, dilation=2),
        ((1, 2, 5, 4), (2, 1, 2, 2), (2,)),
        (-2, 2),
    ),
    "conv_transpose2d": (
        lambda x, w, b: x.conv_transpose2d(w, b, stride=2, padding=1, output_padding=1),
        ((1, 2, 3, 2), (2, 1, 2, 2), (1,)),
        (-2, 2),
    ),
    "max_pool2d": (lambda x: (x * x).max_pool2d(2, padding=1), ((1, 1, 4, 3),), (0.3, 2)),
    "avg_pool2d": (
        lambda x: (x * x).avg_pool2d(2, padding=1, ceil_mode=True, count_include_pad=False),
        ((1, 1, 4, 3),),
        (-2, 2),
    ),
    "max_unpool2d": (
        lambda x: (x * x).max_unpool2d(index(3, 0).reshape(1, 1, 1, 2), (1, 2)),
        ((1, 1, 1, 2),),
        (-2, 2),
    ),
    "interpolate": (lambda x: (x * x).interpolate((5,)), ((1, 1, 3),), (-2, 2)),
    "unfold": (lambda x: (x * x).unfold(0, 3, 1), ((5,),), (-2, 2)),
    "batchnorm": (
        lambda x, w, b, m, s: x.batchnorm(w, b, m, s),
        ((2, 2, 2), (2,), (2,), (2,), (2,)),
        (-2, 2),
    ),
    "scaled_dot_product_attention": (
        lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True),
        ((1, 3, 2), (1, 3, 2), (1, 3, 2)),
        (-2, 2),
    ),
    # losses
    "cross_entropy": (
        lambda x: x.cross_entropy(index(2, 0), label_smoothing=0.2),
        ((2, 3),),
        (-2, 2),
    ),
    "sparse_categorical_crossentropy": (
        lambda x: x.sparse_categorical_crossentropy(index(2, -1), label_smoothing=0.1),
        ((2, 3),),
        (-2, 2),
    ),
    "nll_loss": (lambda x, w: x.square().nll_loss(index(2, 0), w), ((2, 3), (3,)), (0.3, 2)),
    "binary_crossentropy": (lambda x, y: x.binary_crossentropy(y), ((4,), (4,)), (0.2, 0.8)),
    "binary_crossentropy_logits": (
        lambda x, y, w: x.binary_crossentropy_logits(y, pos_weight=w),
        ((4,), (4,), (4,)),
        (0.2, 0.8),
    ),
    # movement
    "reshape": (lambda x: (x * x).reshape(3, 2), ((2, 3),), (-2, 2)),
    "view": (lambda x: (x * x).view(-1), ((2, 3),), (-2, 2)),
    "expand": (lambda x: (x * x).expand(2, 3, 2), ((3, 1),), (-2, 2)),
    "permute": (lambda x: (x * x).permute(1, 2, 0), ((2, 3, 1),), (-2, 2)),
    "transpose": (lambda x: (x * x).transpose(0, 1), ((2, 3),), (-2, 2)),
    "T": (lambda x: (x * x).T, ((2, 3),), (-2, 2)),
    "flip": (lambda x: (x * x).flip(0, 1), ((2, 3),), (-2, 2)),
    "shrink": (lambda x: (x * x).shrink(((0, 1), (1, 3))), ((2, 3),), (-2, 2)),
    "shrink_to": (lambda x: (x * x).shrink_to(1, 2), ((2, 3),), (-2, 2)),
    "pad": (
        lambda x: (x * x).pad((2, 1), mode="reflect").pad((1, 0), mode="circular"),
        ((2, 3),),
        (-2, 2),
    ),
    "pad_to": (lambda x: (x * x).pad_to(3, 4), ((2, 3),), (-2, 2)),
    "squeeze": (lambda x: (x * x).squeeze(1), ((2, 1),), (-2, 2)),
    "unsqueeze": (lambda x: (x * x).unsqueeze(-1), ((2,),), (-2, 2)),
    "flatten": (lambda x: (x * x).flatten(1), ((2, 2, 2),), (-2, 2)),
    "unflatten": (lambda x: (x * x).unflatten(0, (2, 2)), ((4,),), (-2, 2)),
    "rearrange": (lambda x: (x * x).rearrange("(a b) c -> b (c a)", a=2), ((4, 2),), (-2, 2)),
    "repeat": (lambda x: (x * x).repeat(2, 2), ((2, 2),), (-2, 2)),
    "repeat_interleave": (lambda x: (x * x).repeat_interleave(2, 1), ((2, 2),), (-2, 2)),
    "roll": (lambda x: (x * x).roll((1, 1), (0, 1)), ((2, 3),), (-2, 2)),
    "tril": (lambda x: (x * x).tril(), ((3, 3),), (-2, 2)),
    "triu": (lambda x: (x * x).triu(1), ((3, 3),), (-2, 2)),
    "diag": (lambda x: (x * x).diag(), ((3,),), (-2, 2)),
    "diagonal": (lambda x: (x * x).diagonal(1), ((3, 3),), (-2, 2)),
    "cat": (lambda x, y: (x * x).cat(y, dim=1), ((2, 1), (2, 2)), (-2, 2)),
    "stack": (lambda x, y: (x * x).stack(x * y, dim=1), ((2, 2), (2, 2)), (-2, 2)),
    "split": (lambda x: x.split((1, 2))[1] * x.split((1, 2))[0], ((3,),), (-2, 2)),
    "chunk": (lambda x: x.chunk(2)[0] * x.chunk(2)[1], ((4,),), (-2, 2)),
    "meshgrid": (lambda x, y: x.meshgrid(y)[0] * x.meshgrid(y)[1], ((2,), (3,)), (-2, 2)),
    # positions
    "__getitem__": (lambda x: (x * x)[::-2, ROWS], ((3, 3),), (-2, 2)),
    "gather": (lambda x: (x * x).gather(0, ROWS.reshape(4, 1)), ((3, 2),), (-2, 2)),
    "scatter": (
        lambda x, y: (x * x).scatter(0, index(2, 2), x * y),
        ((2,), (2,)),
        (-2, 2),
    ),
    "scatter_reduce": (
        lambda x, y: (x * x).scatter_reduce(0, index(1, 1, 0), y * y, "prod")
        * (x * x).scatter_reduce(0, index(1, 1, 0), y * y, "amax", include_self=False),
        ((2,), (3,)),
        (0.3, 2),
    ),
    # markers
    "contiguous": (lambda x: (x * x).contiguous(), ((3,),), (-2, 2)),
    "contiguous_backward": (lambda x: (x * x).contiguous_backward(), ((3,),), (-2, 2)),
    "alu": (lambda x, y: x.alu(Ops.MUL, y), ((3,), (3,)), (-2, 2)),
    "sequential": (lambda x: x.sequential([UOp.exp, UOp.sin]), ((3,),), (-2, 2)),
    "double": (lambda x: x.double() * x, ((3,),), (-2, 2)),
}  # fmt: skip

ELSEWHERE = {
    "storage, devices and graphs, in test_gradient.py and others": "assign backward call callify "
    "clone custom_kernel detach dropout gradient realize replace shard shard_ shard_like to "
    "to_ to_device masked_select",
    "compared with PyTorch": "svd",
    "results are no floats, or do not depend on the values": "all allclose any arange argmax argmin "
    "argsort as_param bitcast bitwise_and bitwise_not bitwise_or bitwise_xor bool const const_like "
    "data device dtype element_size empty empty_like eq eye from_blob from_url full full_like "
    "glorot_uniform grad hash int invalids is_floating_point is_param is_param_ isclose isfinite "
    "isinf isnan item kaiming_normal kaiming_uniform keccak linear_with_vars linspace logical_not "
    "long lshift manual_seed max_numel max_shape multinomial nbytes ndim ne nonzero normal numel "
    "numpy one_hot ones ones_like rand rand_like randint randn randn_like random_bits randperm "
    "rshift scaled_uniform schedule_linear shape short size threefry tolist train training ufix "
    "uniform uop zeros zeros_like",
    "others by another name": "bfloat16 float half mT",
    "needs other hardware": "decode_hevc_frame image_conv2d image_dot",
}


def test_every_method_has_its_place() -> None:
    names = {name for name in dir(Tensor) if not name.startswith("_")}
    placed = {name for group in ELSEWHERE.values() for name in group.split()}
    assert not set(TABLE) & placed
    assert sorted(names - set(TABLE) - placed) == []


def values_of(node: UOp, inputs: list[UOp], arrays: list[np.ndarray]) -> np.ndarray:
    return evaluate(node, {x.base: a.reshape(-1) for x, a in zip(inputs, arrays, strict=True)})


def gradients(loss: UOp, inputs: list[UOp]) -> list[UOp]:
    found = compute_gradients(loss, UOp.const(1.0, dtypes.float64), inputs)
    zero = UOp.const(0.0, dtypes.float64)
    return [zero._broadcast_to(x.shape) if g is None else g for g, x in zip(found, inputs)]


@pytest.mark.parametrize("name", TABLE)
def test_derivatives(name: str) -> None:
    function, shapes, (low, high) = TABLE[name]
    draw = np.random.default_rng(len(name))
    inputs = [
        UOp.param(i, dtypes.float64, (int(np.prod(shape)),)).reshape(shape)
        for i, shape in enumerate(shapes)
    ]
    arrays = [draw.uniform(low, high, shape) for shape in shapes]
    result: Any = function(*inputs)
    weights = constants(draw.standard_normal(result.shape))
    loss = (result * weights).sum()
    first = gradients(loss, inputs)
    for _ in range(2):
        directions = [draw.standard_normal(shape) for shape in shapes]
        ahead = [a + STEP * d for a, d in zip(arrays, directions)]
        behind = [a - STEP * d for a, d in zip(arrays, directions)]

        def difference(node: UOp, ahead: Any = ahead, behind: Any = behind) -> np.ndarray:
            both = values_of(node, inputs, ahead), values_of(node, inputs, behind)
            return (both[0] - both[1]) / (2 * STEP)

        slope = sum(
            (values_of(g, inputs, arrays) * d).sum() for g, d in zip(first, directions, strict=True)
        )
        np.testing.assert_allclose(slope, difference(loss), rtol=1e-6, atol=1e-7)
        # the derivative of the gradient along a direction is the gradient of its component there
        along = [(g * constants(d)).sum() for g, d in zip(first, directions)]
        second = gradients(along[0].usum(*along[1:]), inputs)
        for x, g, h in zip(inputs, first, second, strict=True):
            assert h.shape == x.shape
            np.testing.assert_allclose(
                values_of(h, inputs, arrays), difference(g), rtol=1e-5, atol=1e-6
            )


def constants(array: np.ndarray) -> UOp:
    """Return an array as constants."""
    flat = [UOp.const(float(v), dtypes.float64) for v in array.reshape(-1)]
    return UOp(Ops.STACK, tuple(flat)).reshape(array.shape)
