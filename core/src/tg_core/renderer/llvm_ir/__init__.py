"""LLVM IR: the language shared by every backend whose compiler is LLVM."""

from tg_core.renderer.llvm_ir.api import LLVM_DTYPES, LLVM_OPS, LLVMRenderer

__all__ = ["LLVM_DTYPES", "LLVM_OPS", "LLVMRenderer"]
