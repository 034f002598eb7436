"""CPU backend of tg-core: LLVM code generation and a native thread pool."""
