"""The names of the operations, their groups, and the kinds of loop axes."""

from __future__ import annotations

from enum import Enum, IntEnum, auto
from typing import Final


class Ops(IntEnum):
    """Operations of the intermediate representation; `docs/ir.md` gives sources, argument and
    result of each.

    An integer enumeration because nodes are hashed by it on the hottest path; the order of the
    members is the order in which nodes sort.
    """

    # leaves
    CONST = auto()
    PARAM = auto()
    BUFFER = auto()
    BIND = auto()
    SPECIAL = auto()
    RANGE = auto()
    # movement
    RESHAPE = auto()
    EXPAND = auto()
    PERMUTE = auto()
    PAD = auto()
    SHRINK = auto()
    FLIP = auto()
    # conversion
    CAST = auto()
    BITCAST = auto()
    # unary
    EXP2 = auto()
    LOG2 = auto()
    SIN = auto()
    SQRT = auto()
    RECIPROCAL = auto()
    TRUNC = auto()
    # binary
    ADD = auto()
    SUB = auto()
    MUL = auto()
    FDIV = auto()
    FLOORDIV = auto()
    FLOORMOD = auto()
    CDIV = auto()
    CMOD = auto()
    MAX = auto()
    CMPLT = auto()
    CMPNE = auto()
    CMPEQ = auto()
    AND = auto()
    OR = auto()
    XOR = auto()
    SHL = auto()
    SHR = auto()
    POW = auto()
    THREEFRY = auto()
    # ternary
    WHERE = auto()
    MULACC = auto()
    # reductions
    REDUCE_AXIS = auto()
    REDUCE = auto()
    ALLREDUCE = auto()
    WMMA = auto()
    # markers and transfers
    CONTIGUOUS = auto()
    CONTIGUOUS_BACKWARD = auto()
    DETACH = auto()
    COPY = auto()
    MULTI = auto()
    MSELECT = auto()
    MSTACK = auto()
    # memory
    INDEX = auto()
    LOAD = auto()
    STORE = auto()
    AFTER = auto()
    STACK = auto()
    # control
    BARRIER = auto()
    IF = auto()
    ENDIF = auto()
    END = auto()
    NOOP = auto()
    GROUP = auto()
    SINK = auto()
    # programs and calls
    LINEAR = auto()
    SOURCE = auto()
    BINARY = auto()
    PROGRAM = auto()
    CALL = auto()
    CUSTOM_FUNCTION = auto()
    INS = auto()
    GETADDR = auto()

    def __repr__(self) -> str:
        return f"Ops.{self.name}"

    __str__ = __repr__


class GroupOp:
    """Sets of operations that rules speak of."""

    Movement: Final = frozenset(
        (Ops.RESHAPE, Ops.EXPAND, Ops.PERMUTE, Ops.PAD, Ops.SHRINK, Ops.FLIP)
    )
    Unary: Final = frozenset((Ops.EXP2, Ops.LOG2, Ops.SIN, Ops.SQRT, Ops.RECIPROCAL, Ops.TRUNC))
    Comparison: Final = frozenset((Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ))
    Binary: Final = frozenset(op for op in Ops if Ops.ADD <= op <= Ops.THREEFRY)
    Ternary: Final = frozenset((Ops.WHERE, Ops.MULACC))
    ALU: Final = Unary | Binary | Ternary
    Elementwise: Final = ALU | {Ops.CAST, Ops.BITCAST}
    Commutative: Final = frozenset(
        (Ops.ADD, Ops.MUL, Ops.MAX, Ops.CMPNE, Ops.CMPEQ, Ops.AND, Ops.OR, Ops.XOR)
    )
    Void: Final = frozenset(
        (
            Ops.STORE,
            Ops.SINK,
            Ops.LINEAR,
            Ops.END,
            Ops.BARRIER,
            Ops.GROUP,
            Ops.CALL,
            Ops.PROGRAM,
            Ops.IF,
            Ops.ENDIF,
            Ops.NOOP,
            Ops.INS,
            Ops.CUSTOM_FUNCTION,
            Ops.SOURCE,
        )
    )
    Storage: Final = frozenset((Ops.BUFFER, Ops.PARAM))


class AxisType(Enum):
    """What becomes of a RANGE (`docs/ir.md`, Axis types)."""

    LOOP = "loop"
    GLOBAL = "global"
    LOCAL = "local"
    REDUCE = "reduce"
    GROUP_REDUCE = "group_reduce"
    UPCAST = "upcast"
    UNROLL = "unroll"
    VECTOR = "vector"

    def __repr__(self) -> str:
        return f"AxisType.{self.name}"


class AddrSpace(Enum):
    """Where storage lives: device memory, memory of a group of work items, or registers of one."""

    GLOBAL = "global"
    LOCAL = "local"
    REG = "reg"

    # members are unique, and the hash of their names, which Enum takes, is slow
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"AddrSpace.{self.name}"
