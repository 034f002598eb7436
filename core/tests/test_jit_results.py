from __future__ import annotations

from tg_core import Tensor, Variable, dtypes
from tg_core.device import new_buffer_uop
from tg_core.jit_inputs import placeholder
from tg_core.jit_results import Results
from tg_core.uop.ops import Ops, UOp


def test_results_are_filled_with_the_storage_of_the_run() -> None:
    nodes = [new_buffer_uop("CPU", 6, dtypes.float32) for _ in range(2)]
    kept = [placeholder(i, node) for i, node in enumerate(nodes)]
    reshaped = kept[1]._movement(Ops.RESHAPE, (2, 3))
    flipped = reshaped._movement(Ops.FLIP, (0,))
    structure = {"a": kept[0], "b": [reshaped, flipped], "n": 3, "c": UOp.const(1.0)}
    found = Results(structure, kept).fill(nodes, [], [])
    wanted = nodes[1]._movement(Ops.RESHAPE, (2, 3))
    assert found["a"].uop is nodes[0]
    assert found["b"][0].uop is wanted
    assert found["b"][1].uop is wanted._movement(Ops.FLIP, (0,))
    assert found["n"] == 3
    assert found["c"].uop is UOp.const(1.0)


def test_a_single_result_is_a_tensor() -> None:
    node = new_buffer_uop("CPU", 4, dtypes.float32)
    kept = placeholder(0, node)
    found = Results(kept, [kept]).fill([node], [], [])
    assert isinstance(found, Tensor)
    assert found.uop is node


def test_variables_of_the_run_take_the_place_of_unbound_ones() -> None:
    variable = Variable("n", 1, 4)
    node = new_buffer_uop("CPU", 4, dtypes.float32)
    kept = placeholder(0, node)
    bound = variable.bind(3)
    found = Results(kept._movement(Ops.SHRINK, ((0, variable),)), [kept]).fill([node], [], [bound])
    assert found.uop is node._movement(Ops.SHRINK, ((0, bound),))
