"""Order with ties and NaN, by counting, by the network and by selection."""

import numpy as np
import pytest
from tensor_eval import value

from tg_core.errors import ShapeError
from tg_core.tensor import Tensor
from tg_core.uop.mixin import sorting


@pytest.fixture(params=["counting", "network", "selection"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "network":
        monkeypatch.setattr(sorting, "COUNTING_LIMIT", 3)
    if request.param == "selection":
        monkeypatch.setattr(sorting, "SELECTION_SIZE", 3)
    return str(request.param)


def draw(size: int) -> np.ndarray:
    x = np.random.default_rng(size).integers(0, 6, (3, size)).astype(np.float32)
    x[0, size // 2] = np.nan
    return x


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("size", [1, 2, 5, 13, 64])
def test_sort(way: str, size: int, descending: bool) -> None:
    x = draw(size)
    keys = np.where(np.isnan(x), np.inf, x)
    wanted = np.argsort(-keys if descending else keys, 1, kind="stable")
    values, index = (value(t) for t in Tensor(x).sort(1, descending))
    np.testing.assert_array_equal(index, wanted)
    np.testing.assert_array_equal(values, np.take_along_axis(x, wanted, 1))


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("k", [1, 4])
def test_topk(way: str, k: int, largest: bool) -> None:
    x = draw(13)
    keys = np.where(np.isnan(x), np.inf, x)
    wanted = np.argsort(-keys if largest else keys, 1, kind="stable")[:, :k]
    values, index = (value(t) for t in Tensor(x).topk(k, 1, largest))
    np.testing.assert_array_equal(index, wanted)
    np.testing.assert_array_equal(values, np.take_along_axis(x, wanted, 1))


def test_other_axes_and_dtypes() -> None:
    x = np.random.default_rng(0).integers(-5, 5, (4, 3))
    assert value(Tensor(x).sort(0)[0]).tolist() == np.sort(x, 0).tolist()
    assert value(Tensor(x).argsort(0)).tolist() == np.argsort(x, 0, kind="stable").tolist()
    assert value(Tensor(7).sort()[0]) == 7
    with pytest.raises(ShapeError, match="topk: 4 values"):
        Tensor([1, 2, 3]).topk(4)
