"""Hand-written kernels and opaque calls, with their own gradients."""

import pytest

from tg_core.dtype import dtypes
from tg_core.errors import DeviceError, DTypeError, GradientError, ShapeError
from tg_core.tensor import Tensor
from tg_core.uop.ops import AxisType, KernelInfo, UOp


def doubled(out: UOp, source: UOp) -> UOp:
    i = UOp.range(out.shape[0], 0, AxisType.LOOP)
    store = out.index(i).store(source.index(i).load() * 2.0)
    return UOp.sink(store.end(i), arg=KernelInfo(name="doubled"))


def doubled_gradient(out: UOp | None, source: UOp | None, call: UOp) -> tuple[UOp | None, ...]:
    assert out is not None
    return None, out * 2.0


def test_custom_kernel() -> None:
    source = Tensor([[1.0, 2.0], [3.0, 4.0]])
    result, same = Tensor.empty(2, 2).custom_kernel(source, fxn=doubled)
    assert result.tolist() == [[2, 4], [6, 8]]
    assert same.tolist() == source.tolist()
    assert (result + 1).sum().item() == 24


def test_kernel_on_a_computed_value() -> None:
    result = Tensor.empty(2).custom_kernel(Tensor([1.0, 2.0]) + 1, fxn=doubled)[0]
    assert result.tolist() == [4, 6]


def test_gradient_of_a_kernel() -> None:
    source = Tensor([1.0, 2.0])
    result = Tensor.empty(2).custom_kernel(source, fxn=doubled, grad_fxn=doubled_gradient)[0]
    (grad,) = (result * Tensor([1.0, 10.0])).sum().gradient(source)
    assert grad.tolist() == [2, 20]
    plain = Tensor.empty(2).custom_kernel(source, fxn=doubled)[0]
    with pytest.raises(GradientError, match="the call of doubled has no grad_fxn"):
        plain.sum().gradient(source)


def test_call_of_a_body() -> None:
    x, y = Tensor([1.0, 2.0]), Tensor([3.0, 5.0])
    body = x.as_param(0) * x.as_param(0) + y.as_param(1)
    result = x.call(y, fxn=body)
    assert result.tolist() == [4, 9]
    assert result.sum().gradient(x)[0].tolist() == [2, 4]


def test_call_with_its_own_gradient() -> None:
    x, y = Tensor([1.0, 2.0]), Tensor([3.0, 5.0])

    def gradient(grad: UOp, call: UOp) -> tuple[UOp | None, ...]:
        return grad * 100.0, None

    result = x.call(y, fxn=x.as_param(0) * y.as_param(1), grad_fxn=gradient)
    to_x, to_y = (result * 2).sum().gradient(x, y)
    assert to_x.tolist() == [200, 200] and to_y.tolist() == [0, 0]
    assert result.tolist() == [3, 10]


def test_errors() -> None:
    x = Tensor([1.0, 2.0])
    with pytest.raises(DTypeError, match="must return a SINK"):
        x.custom_kernel(fxn=lambda p: p)
    with pytest.raises(ShapeError, match="parameter 1 has no argument"):
        x.call(fxn=x.as_param(1))
    with pytest.raises(ShapeError, match="parameter 0 of shape"):
        x.call(fxn=Tensor([1.0]).as_param(0))
    with pytest.raises(DeviceError, match="video decoder"):
        x.decode_hevc_frame(None, (1, 1), x)
    assert dtypes.float32 is x.dtype
