"""The names of the IR that programs, passes and backends import."""

from tg_core.config import SPEC
from tg_core.dtype import Invalid, dtypes
from tg_core.uop.args import (
    BufferArg,
    CallInfo,
    Dim,
    Estimates,
    KernelInfo,
    MultiArg,
    ParamArg,
    ProgramInfo,
)
from tg_core.uop.opcodes import AddrSpace, AxisType, GroupOp, Ops
from tg_core.uop.pattern import PatternMatcher, UPat
from tg_core.uop.rewrite import graph_rewrite
from tg_core.uop.uop import UOp, Variable, sint, to_uop

__all__ = [
    "AddrSpace",
    "AxisType",
    "BufferArg",
    "CallInfo",
    "Dim",
    "Estimates",
    "GroupOp",
    "Invalid",
    "KernelInfo",
    "MultiArg",
    "Ops",
    "ParamArg",
    "PatternMatcher",
    "ProgramInfo",
    "UOp",
    "UPat",
    "Variable",
    "dtypes",
    "graph_rewrite",
    "sint",
    "to_uop",
]

if SPEC.value >= 2:
    # registers the verifier of new nodes; nothing else imports it this early
    import tg_core.uop.spec  # noqa: F401
