"""Choose how the loops of a kernel are divided, and apply the choice."""

from tg_core.codegen.optimize.api import Opt, OptKind
from tg_core.codegen.optimize.apply_opts import apply_opts
from tg_core.codegen.optimize.choose_opts import choose_opts

__all__ = ["Opt", "OptKind", "apply_opts", "choose_opts"]
