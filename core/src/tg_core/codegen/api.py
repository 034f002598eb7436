"""What a pass of code generation is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg_core.renderer import Renderer
    from tg_core.uop.ops import UOp


@dataclass(frozen=True)
class Pass:
    """One named step from kernel to linear program."""

    name: str
    """The function's name with dashes."""
    run: Callable[[UOp, Renderer], UOp]
    """Takes the kernel and the target, returns the kernel in the pass's output form."""
    spec: str = "spec_shared"
    """Name in `tg_core.uop.spec` of what every node must satisfy afterwards."""


def target_independent(function: Callable[[UOp], UOp]) -> Callable[[UOp, Renderer], UOp]:
    """Adapt a pass that does not look at the target."""

    def run(sink: UOp, renderer: Renderer) -> UOp:
        del renderer
        return function(sink)

    return run
