"""Writing saved tensors into a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tg_core.errors import ShapeError, StateError
from tg_core.nn.state.walk import get_state_dict
from tg_core.tensor import Tensor

__all__ = ["load_state_dict"]

_LISTED = 8
"""How many names an error lists before it counts the rest."""


def load_state_dict(
    model: object, state_dict: Mapping[str, Tensor], strict: bool = True, realize: bool = True
) -> list[Tensor]:
    """Write tensors into the tensors of a model that have the same names.

    Everything is checked before anything is written, so a model is never left half loaded. Values
    are moved to the device and cast to the dtype of the model's tensor.

    Args:
        model: what `get_state_dict` can walk.
        state_dict: tensors by name.
        strict: whether every tensor of the model must be in `state_dict` and the reverse.
        realize: whether to compute the writes at once.

    Returns:
        The tensors that were written, in the model's order.

    Raises:
        StateError: with `strict`, a name is missing on either side; all of them are named.
        ShapeError: a shape differs; all such tensors are named, with both shapes.
    """
    own = get_state_dict(model)
    if strict:
        _check_names(own, state_dict)
    shared = [name for name in own if name in state_dict]
    wrong = [
        f"{name}: the model has {own[name].shape}, found {state_dict[name].shape}"
        for name in shared
        if own[name].shape != state_dict[name].shape
    ]
    if wrong:
        raise ShapeError(f"load_state_dict: shapes differ: {_listed(wrong, '; ')}")
    written = {}
    for name in shared:
        target, value = own[name], state_dict[name]
        if value is not target:
            target.assign(value.to(target.device).cast(target.dtype))
        written[id(target)] = target
    loaded = list(written.values())
    if realize and loaded:
        loaded[0].realize(*loaded[1:])
    return loaded


def _check_names(own: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> None:
    missing = [name for name in own if name not in given]
    unknown = [name for name in given if name not in own]
    parts = []
    if missing:
        parts.append(f"missing {_listed(missing)}")
    if unknown:
        parts.append(f"not in the model {_listed(unknown)}")
    if parts:
        raise StateError(f"load_state_dict: {'; '.join(parts)} (strict=False loads the rest)")


def _listed(names: Iterable[str], separator: str = ", ") -> str:
    items = list(names)
    more = f" and {len(items) - _LISTED} more" if len(items) > _LISTED else ""
    return separator.join(items[:_LISTED]) + more
