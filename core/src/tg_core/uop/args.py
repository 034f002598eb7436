"""The frozen records that nodes carry as their argument."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.support.frozen import frozen
from tg_core.uop.opcodes import AddrSpace

if TYPE_CHECKING:
    from tg_core.dtype import DType, PyConst
    from tg_core.uop.uop import UOp, sint


@frozen
class ParamArg:
    """A positional argument of a call body: storage of shape `(size,)`, or a scalar variable of
    shape `()`.
    """

    slot: int
    dtype: DType
    shape: tuple[int, ...]
    device: str | None = None
    name: str | None = None
    bounds: tuple[PyConst, PyConst] | None = None
    """Inclusive bounds of a scalar variable."""
    addrspace: AddrSpace = AddrSpace.GLOBAL


@frozen
class BufferArg:
    """Storage of `size` elements. `slot` is unique; a negative one is unbound: declared, not
    allocated.
    """

    slot: int
    dtype: DType
    size: int
    device: str | None = None
    addrspace: AddrSpace = AddrSpace.GLOBAL

    def __hash__(self) -> int:
        # slots tell buffers apart, and hashing them alone is much faster
        return hash((self.slot, self.size))


@frozen
class MultiArg:
    """How the sources of a MULTI, one per device, make up its value: joined along `axis`, or equal
    copies of it when `axis` is None.
    """

    axis: int | None
    devices: tuple[str, ...]


@frozen
class Dim:
    """Stands in a movement argument for the symbolic entry that is source `index + 1` of the
    node.
    """

    index: int


@frozen
class Estimates:
    """Work of one launch: arithmetic operations, and bytes loaded and stored if every access went
    to memory once.
    """

    flops: int = 0
    bytes: int = 0


@frozen
class KernelInfo:
    """What a kernel SINK carries: a display name, and optimisation choices when they are fixed
    rather than chosen.
    """

    name: str = ""
    opts: tuple[object, ...] | None = None


@frozen
class ProgramInfo:
    """How a compiled kernel is launched.

    `params` are the PARAM slots of buffers in argument order; `variables` the scalar PARAMs that
    follow them. `outs` and `ins` are the slots written and read. Sizes are ints or nodes over the
    variables.
    """

    name: str
    global_size: tuple[sint, ...] = (1, 1, 1)
    local_size: tuple[sint, ...] = (1, 1, 1)
    params: tuple[int, ...] = ()
    outs: tuple[int, ...] = ()
    ins: tuple[int, ...] = ()
    variables: tuple[UOp, ...] = ()
    estimates: Estimates = Estimates()


@frozen
class CallInfo:
    """What a CALL carries: a display name, and whether a function's call is compiled as a unit."""

    name: str = ""
    precompile: bool = False
    metadata: tuple[object, ...] = ()
