"""The C-style renderer: statements, loops and accesses; expressions are in `expressions`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tg_core.errors import CompileError
from tg_core.renderer.api import Renderer
from tg_core.renderer.cstyle.calls import call
from tg_core.renderer.cstyle.expressions import HELPERS, expression
from tg_core.renderer.cstyle.kernel import CKernel
from tg_core.renderer.cstyle.names import C_TYPES
from tg_core.renderer.utils import arguments_of, is_storage
from tg_core.uop.ops import AddrSpace, GroupOp, Ops

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg_core.dtype import DType
    from tg_core.uop.ops import UOp


@dataclass(frozen=True, kw_only=True)
class CStyleRenderer(Renderer):
    """Base of renderers whose language is C or near it: scalar code, one statement per node.

    The function is `void name(const long long *args, long long chunk)`, the signature of host
    kernels. A language with other signatures, index functions or address spaces overrides the
    methods below; one with other types overrides `types`.
    """

    language: ClassVar[str] = "C"

    types: ClassVar[Mapping[DType, str]] = C_TYPES

    @property
    def version(self) -> str:
        return "1"

    def compile(self, source: str) -> bytes:
        """Return the source itself; a backend hands it to its own compiler."""
        return source.encode()

    def prelude(self) -> str:
        """Return what comes before the function."""
        return HELPERS

    def signature(self, name: str, kernel: CKernel, linear: UOp) -> str:
        """Return the head of the function, and name its arguments in `kernel`."""
        for slot, param in enumerate(arguments_of(linear).all):
            kind = kernel.type(param.dtype)
            if is_storage(param):
                kernel.names[param] = f"data{slot}"
                kernel.line(f"{kind} *data{slot} = ({kind} *)args[{slot}];")
            else:
                kernel.names[param] = param.arg.name
                kernel.line(f"{kind} {param.arg.name} = ({kind})args[{slot}];")
        return f"void {name}(const long long *args, long long chunk)"

    def special(self, kernel: CKernel, uop: UOp) -> str:
        """Return the expression of a work item's index."""
        if uop.arg != "gidx0":
            raise CompileError(f"SPECIAL: no {uop.arg} here, only gidx0")
        return f"({kernel.type(uop.dtype)})chunk"

    def storage_class(self, space: AddrSpace) -> str:
        """Return what stands before the declaration of an array."""
        return ""

    def barrier(self) -> str:
        """Return the statement that work items of a group wait at."""
        return ""

    def render(self, name: str, linear: UOp) -> str:
        kernel = CKernel(self)
        head = self.signature(name, kernel, linear)
        for uop in linear.src:
            if uop.op not in (Ops.PARAM, Ops.NOOP, Ops.CUSTOM_FUNCTION) and uop.const_value is None:
                self._statement(kernel, uop)
        if kernel.loops:
            raise CompileError(f"{name}: {len(kernel.loops)} loops are open")
        body = "\n".join(kernel.lines)
        return f"{self.prelude()}{head} {{\n{body}\n}}\n"

    def _statement(self, kernel: CKernel, uop: UOp) -> None:
        if uop.op is Ops.BITCAST:
            _bitcast(kernel, uop)
        elif uop.op in GroupOp.Elementwise:
            kernel.assign(uop, expression(kernel, uop))
        elif uop.op is Ops.SPECIAL:
            kernel.assign(uop, self.special(kernel, uop))
        elif uop.op is Ops.BUFFER:
            kernel.names[uop] = array = kernel.fresh("r")
            place = self.storage_class(uop.arg.addrspace)
            kernel.line(f"{place}{kernel.type(uop.dtype)} {array}[{uop.arg.size}];")
        elif uop.op is Ops.INDEX:
            _index(kernel, uop)
        elif uop.op is Ops.LOAD:
            cell, *rest = (kernel.operand(s) for s in uop.src)
            kernel.assign(uop, f"{rest[1]} ? {cell} : {rest[0]}" if rest else cell)
        elif uop.op is Ops.STORE:
            cell, value, *gate = (kernel.operand(s) for s in uop.src)
            kernel.line(f"{f'if ({gate[0]}) ' if gate else ''}{cell} = {value};")
        elif uop.op is Ops.CALL:
            call(kernel, uop)
        elif uop.op is Ops.BARRIER:
            kernel.line(self.barrier() or ";")
        else:
            _control(kernel, uop)


def _index(kernel: CKernel, uop: UOp) -> None:
    """An element of storage is a place, written out where it is used."""
    storage, position = uop.src
    if not is_storage(storage) or uop.arg is not None or position.shape:
        raise CompileError(f"INDEX: {kernel.renderer.name} has no vectors")
    kernel.names[uop] = f"{kernel.operand(storage)}[{kernel.operand(position)}]"


def _bitcast(kernel: CKernel, uop: UOp) -> None:
    source = kernel.operand(uop.src[0])
    if source not in kernel.names.values():
        # a constant has no address
        kept = kernel.fresh("k")
        kernel.line(f"{kernel.type(uop.src[0].dtype)} {kept} = {source};")
        source = kept
    name = kernel.fresh("v")
    kernel.line(f"{kernel.type(uop.dtype)} {name};")
    kernel.line(f"__builtin_memcpy(&{name}, &{source}, {uop.dtype.itemsize});")
    kernel.names[uop] = name


def _control(kernel: CKernel, uop: UOp) -> None:
    if uop.op is Ops.RANGE:
        kernel.names[uop] = name = kernel.fresh("i")
        size, kind = kernel.operand(uop.src[0]), kernel.type(uop.dtype)
        kernel.line(f"for ({kind} {name} = 0; {name} < {size}; {name}++) {{")
        kernel.loops.append(uop)
        kernel.depth += 1
    elif uop.op is Ops.IF:
        kernel.line(f"if ({kernel.operand(uop.src[0])}) {{")
        kernel.depth += 1
    elif uop.op is Ops.ENDIF:
        _close(kernel)
    elif uop.op is Ops.END:
        pending = [s for s in uop.src[1:] if s.op is Ops.RANGE]
        while pending:
            if not kernel.loops or kernel.loops[-1] not in pending:
                raise CompileError(f"END: ranges {[r.arg for r in pending]} are not innermost")
            pending.remove(kernel.loops.pop())
            _close(kernel)
    else:
        raise CompileError(f"{kernel.renderer.name}: no {uop.op.name}")


def _close(kernel: CKernel) -> None:
    kernel.depth -= 1
    kernel.line("}")
