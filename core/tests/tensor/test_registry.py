"""The table of live tensors."""

import gc

from tg_core.tensor import Tensor
from tg_core.tensor.registry import live_tensors


def test_registry_is_weak_and_ordered() -> None:
    gc.collect()
    first, second = Tensor([1]), Tensor([2])
    found = live_tensors()
    places = [i for i, t in enumerate(found) if t is first or t is second]
    assert len(places) == 2 and found[places[0]] is first
    del first, found
    gc.collect()
    assert sum(t is second for t in live_tensors()) == 1
