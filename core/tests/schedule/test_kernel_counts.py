"""How many kernels computations take on the CPU: what the specification fixes, and networks, so that
a kernel more is noticed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from trap_utils import buf, same

from tg_core import Device, Tensor, Variable, function, nn
from tg_core.dtype import dtypes
from tg_core.nn.state import get_parameters
from tg_core.tensor.storage import linear_with_vars
from tg_core.uop.ops import Ops, UOp


def calls(*tensors: Tensor) -> tuple[UOp, ...]:
    return linear_with_vars(tensors)[0].src


def count(*tensors: Tensor) -> int:
    return len(calls(*tensors))


def data(*shape: int) -> Tensor:
    return buf(np.random.default_rng(0).standard_normal(shape).astype(np.float32))


def realized(module: object) -> list[Tensor]:
    parameters = get_parameters(module)
    Tensor.realize(*parameters)
    return parameters


# ---- what the specification says


@pytest.mark.parametrize("how", ["scatter", "setitem"])
def test_scattered_clone_assigned_to_its_base(how: str) -> None:
    base, index, value = data(2, 3), buf([1, -2], dtypes.int32), buf([10.0, 20.0])
    want = base.numpy().copy()
    flat = base.flatten().clone()
    if how == "scatter":
        flat = flat.scatter(0, buf([1, 4], dtypes.int32), value)
    else:
        flat[index] = value
    base.assign(flat.reshape(2, 3))
    assert count(base) == 2
    want.reshape(-1)[[1, 4]] = [10, 20]
    same(base, want)


def test_constants_of_empty_values() -> None:
    kept, folded = Tensor.empty(1, 0).sum().clone() + 2, Tensor.empty(1, 0).sum() + 2
    assert (count(kept), count(folded)) == (2, 0)
    same(kept, 2)
    same(folded, 2)


def test_empty_values() -> None:
    assert count(data(0, 3) + 1, data(2, 3)[1:1] * 2) == 0
    assert (data(0, 3) + 1).tolist() == []


def test_the_same_write_twice_is_one() -> None:
    x, value = buf([1.0, 2.0]), buf([3.0, 4.0])
    x.assign(value)
    x.assign(value)
    assert count(x) == 1
    same(x, [3, 4])


def test_in_place_operators_write_once() -> None:
    x = data(4, 4)
    want = x.numpy().copy()
    x[1:3] += 1
    assert count(x) == 1
    want[1:3] += 1
    same(x, want)


def test_overlapping_writes_take_a_temporary() -> None:
    x = buf(np.arange(8.0))
    x[1:] = x[:-1]
    assert count(x) == 2
    same(x, [0, 0, 1, 2, 3, 4, 5, 6])


def test_copies_between_devices() -> None:
    x = data(4, 3)
    assert [c.src[0].op for c in calls(x.to("CPU:1"))] == [Ops.COPY]
    assert [c.src[0].op for c in calls(x[1:3].to("CPU:1"))] == [Ops.COPY]
    assert [c.src[0].op for c in calls((x * 2).to("CPU:1") + 1)] == [Ops.SINK, Ops.COPY, Ops.SINK]
    assert [c.src[0].op for c in calls(x.permute(1, 0).to("CPU:1"))] == [Ops.SINK, Ops.COPY]


def test_copies_to_strided_targets() -> None:
    x, target = buf([1.0, 2.0]), buf([0.0] * 4).to("CPU:1").realize()
    target[::2] = x.to("CPU:1")
    assert [c.src[0].op for c in calls(target)] == [Ops.COPY, Ops.SINK]
    same(target, [1, 0, 2, 0])


@pytest.mark.parametrize("n", [1, 3, 4])
def test_copies_of_symbolic_size(n: int) -> None:
    x = buf([1.0, 2.0, 3.0, 4.0])
    part = x.shrink(((0, Variable("n", 1, 4).bind(n)),)).to("CPU:1")
    same((part * 2).sum(), 2 * sum(range(1, n + 1)))


@pytest.fixture
def few_buffers(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Let kernels of the CPU have few buffers."""
    renderer = Device["CPU"].renderer
    before = renderer.max_buffers
    object.__setattr__(renderer, "max_buffers", 8)
    yield 8
    object.__setattr__(renderer, "max_buffers", before)


@pytest.mark.parametrize("kind", ["sum", "cat", "stack", "products"])
def test_kernels_have_no_more_buffers_than_the_device_allows(kind: str, few_buffers: int) -> None:
    parts = [buf([float(i), 1.0]) for i in range(30)]
    arrays = [np.array([i, 1.0], np.float32) for i in range(30)]
    if kind == "sum":
        result, want = sum(parts[1:], parts[0]), np.sum(arrays, 0)
    elif kind == "cat":
        result, want = parts[0].cat(*parts[1:]), np.concatenate(arrays)
    elif kind == "stack":
        result, want = Tensor.stack(*parts).sum(0), np.sum(arrays, 0)
    else:
        result = parts[0].cat(*parts[1:15]) * parts[15].cat(*parts[16:])
        want = np.concatenate(arrays[:15]) * np.concatenate(arrays[15:])
    found = calls(result)
    assert 1 < len(found) < 30
    assert max(len(c.src) - 1 for c in found) <= few_buffers
    same(result, want, tol=1e-6)


def test_more_inputs_than_any_kernel_reads() -> None:
    parts = [buf([float(i)]) for i in range(150)]
    total = sum(parts[1:], parts[0])
    assert count(total) <= 4
    same(total, [sum(range(150))])


# ---- rows, products and networks


ROWS = {
    "softmax": lambda x: x.softmax(),
    "log_softmax": lambda x: x.log_softmax(),
    "layernorm": lambda x: x.layernorm(),
    "rmsnorm": lambda x: x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt(),
    "variance": lambda x: x.var(0),
    "argmax": lambda x: x.argmax(1),
    "std of all": lambda x: x.std(),
    "max_pool": lambda x: x.reshape(1, 1, 32, 64).max_pool2d(2),
    "lookup": lambda x: x[buf([1, 2, -3], dtypes.int32)],
    "gather": lambda x: x.gather(1, buf(np.zeros((32, 3)), dtypes.int32)),
    "cat": lambda x: x.cat(x * 2),
    "product, bias and relu": lambda x: (x @ data(64, 10) + data(10)).relu(),
    "cumsum": lambda x: x.cumsum(1),
}


@pytest.mark.parametrize("name", ROWS)
def test_one_kernel(name: str) -> None:
    assert count(ROWS[name](data(32, 64))) == 1


def test_attention() -> None:
    q, k, v = data(2, 4, 16, 32), data(2, 4, 16, 32), data(2, 4, 16, 32)
    assert count(q.scaled_dot_product_attention(k, v)) == 3
    assert count(q.scaled_dot_product_attention(k, v, is_causal=True)) == 3


def test_activations_are_not_taken_apart_for_their_gradient() -> None:
    """Values that share most of their operations are not as dear as the sum of their uses."""
    x, up, down = data(32, 64), data(64, 256), data(256, 64)
    for name in ("relu", "silu", "gelu", "tanh", "softplus", "mish"):
        loss = (getattr(x @ up, name)() @ down).square().mean()
        # three products forward and back, two for the weights, at most two stored activations
        assert count(*loss.gradient(x, up, down)) <= 8, name


class Block:
    """One block of a transformer, normalised before each half."""

    def __init__(self, size: int = 64, heads: int = 4) -> None:
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
        self.heads = heads

    def __call__(self, x: Tensor) -> Tensor:
        batch, length, size = x.shape
        split = (batch, length, self.heads, size // self.heads)
        q, k, v = (t.reshape(split).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        mixed = q.scaled_dot_product_attention(k, v, is_causal=True).transpose(1, 2)
        x = x + self.out(mixed.reshape(batch, length, size))
        return x + self.down(self.up(self.norm2(x)).gelu())


def test_a_transformer_block() -> None:
    block = Block()
    parameters = realized(block)
    x = data(2, 16, 64)
    # two norms, five products of which gelu takes one more, scores, and the softmax
    assert count(block(x)) == 9
    assert count(*block(x).square().mean().gradient(*parameters)) <= 35


def test_a_residual_block() -> None:
    first, second = (nn.Conv2d(16, 16, 3, padding=1, bias=False) for _ in range(2))
    norm1, norm2 = nn.BatchNorm(16), nn.BatchNorm(16)
    weights = realized([first, second])
    realized([norm1, norm2])
    x = data(2, 16, 8, 8)

    def block(x: Tensor) -> Tensor:
        return (norm2(second(norm1(first(x)).relu())) + x).relu()

    assert count(block(x)) == 3
    with Tensor.train():
        assert count(*block(x).square().mean().gradient(*weights)) <= 22


def test_convolution_with_norm_and_relu_is_one_kernel() -> None:
    conv, norm = nn.Conv2d(3, 16, 3), nn.BatchNorm(16)
    realized([conv, norm])
    x = data(2, 3, 16, 16)
    assert count(norm(conv(x)).relu()) == 1


def test_a_step_of_adam() -> None:
    w, x = data(64, 10), data(32, 64)
    optimizer = nn.optim.Adam([w])
    Tensor.realize(*get_parameters(optimizer))
    with Tensor.train():
        (x @ w).square().mean().backward()
        # two powers of the betas, the product, its gradient, two moments and the weights
        assert count(*optimizer.schedule_step()) <= 8


def test_a_precompiled_function_is_scheduled_once() -> None:
    layer = function(lambda t: t.softmax() @ data_of_layer, precompile=True)
    data_of_layer = data(8, 8)
    x = data(4, 8)
    once, thrice = count(layer(x)), count(layer(layer(layer(x))))
    assert thrice == 3 * once
    kernels = {c.src[0] for c in calls(layer(layer(layer(x))))}
    assert len(kernels) == once


def test_many_reductions_are_shared_among_kernels() -> None:
    """A kernel of a hundred reductions takes seconds to compile."""
    x = data(16)
    y = x
    for _ in range(100):
        y = y - y.max()
    found = calls(y)
    reductions = [sum(n.op is Ops.REDUCE for n in c.src[0].toposort()) for c in found]
    assert max(reductions) <= 17
    assert 5 < len(found) < 20
