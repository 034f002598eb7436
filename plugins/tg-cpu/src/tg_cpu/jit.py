"""LLVM through `llvmlite`: text to object code, and object code to callable addresses.

Compilation is two steps so that the object code can be cached on disk: `Compiler.compile` verifies
and optimises a module for the host and emits an object file; `Linker.link` loads such a file into
the process. Both are safe to call from several threads.
"""

from __future__ import annotations

import itertools
import platform
import re
import threading
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import llvmlite
import llvmlite.binding as llvm

from tg_core.backend import CompileError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OPTIMISATION_LEVEL = 2
"""Level of the pass pipeline and of instruction selection."""

_VECTOR = re.compile(r"<\d+ x ")

LONG_SOURCE = 12_000
"""Characters from which on a module with vectors goes through the short pipeline: private arrays
become registers, and that is all. What codegen writes is folded and hoisted already, and LLVM's
pipeline takes more than linear time for what is left to gain.
"""

EXCERPT_LINES = 12
"""Lines of source shown around a compile error."""


@cache
def initialize() -> None:
    """Initialise LLVM's native target once per process."""
    if platform.machine() in ("x86_64", "AMD64"):
        # LLVM 22 aborts in this pass: it asks for the exact size of masked accesses, which has none
        llvm.set_option("tg-cpu", "-x86-disable-avoid-SFB")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()


@cache
def host() -> tuple[str, str, str]:
    """Return the host's target triple, processor name and feature string.

    Returns:
        For example `("x86_64-unknown-linux-gnu", "znver3", "+avx2,...")`.
    """
    initialize()
    features: str = llvm.get_host_cpu_features().flatten()
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), features


def host_features() -> frozenset[str]:
    """Return the names of the features the host has (`avx2`, `fma`, `neon`...)."""
    return frozenset(name[1:] for name in host()[2].split(",") if name.startswith("+"))


def version() -> str:
    """Return the versions that determine the object code, for cache keys."""
    release = ".".join(str(part) for part in llvm.llvm_version_info)
    return f"llvm-{release}/llvmlite-{llvmlite.__version__}/O{OPTIMISATION_LEVEL}.3"


def _excerpt(source: str, message: str) -> str:
    """Return the lines of `source` that an LLVM message points at, or its beginning."""
    lines = source.splitlines()
    line = 1
    head = message.split("error:")[0].split(":")
    numbers = [int(part) for part in head if part.strip().isdigit()]
    if numbers and 1 <= numbers[0] <= len(lines):
        line = numbers[0]
    first = max(0, line - 1 - EXCERPT_LINES // 2)
    shown = lines[first : first + EXCERPT_LINES]
    return "\n".join(f"{number:5d} | {text}" for number, text in enumerate(shown, first + 1))


class _PlainAddresses:
    """Keeps LLVM from rewriting the addresses of loops while a kernel is emitted.

    Codegen hoists what does not change in a loop, and an address is one step from that. Looking for
    a better form takes a third to a half of the time of emission. The option is one of the whole
    process, so it is set back for others who use LLVM in it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        self._enter(1)
        try:
            yield
        finally:
            self._enter(-1)

    def _enter(self, step: int) -> None:
        with self._lock:
            before = self._inside
            self._inside += step
            if not before or not self._inside:
                llvm.set_option("tg-cpu", f"-disable-lsr={'true' if self._inside else 'false'}")


_plain_addresses = _PlainAddresses()


class Compiler:
    """Turns LLVM IR text into object code for one processor.

    Args:
        cpu: LLVM's name of the processor.
        features: features to add or remove, `+avx2,-fma`.
        level: of the pass pipeline and of instruction selection; 0 compiles fast and optimises
            nothing.
        triple: of the machine, where it is not this one.
    """

    def __init__(
        self, cpu: str, features: str, level: int = OPTIMISATION_LEVEL, triple: str = ""
    ) -> None:
        initialize()
        if triple:
            llvm.initialize_all_targets()
            llvm.initialize_all_asmprinters()
        self.level = level
        self.triple = triple or host()[0]
        target = llvm.Target.from_triple(self.triple)
        self.machine = target.create_target_machine(
            cpu=cpu, features=features, opt=level, reloc="pic", codemodel="small"
        )
        self._lock = threading.Lock()

    def _options(self, vectors: bool) -> Any:
        """Return the pipeline's options: what codegen made vectors of is not vectorised again."""
        options = llvm.create_pipeline_tuning_options(speed_level=self.level)
        options.loop_vectorization = not vectors
        options.slp_vectorization = not vectors
        options.loop_interleaving = not vectors
        options.loop_unrolling = True
        return options

    def parse(self, source: str) -> Any:
        """Parse and verify a module.

        Args:
            source: LLVM IR text.

        Returns:
            The module, in a context of its own.

        Raises:
            CompileError: the text does not parse or the module is not well formed.
        """
        # a context per module: types and constants of finished modules are freed with it
        context = llvm.create_context()
        try:
            module = llvm.parse_assembly(source, context=context)
            module.verify()
        except RuntimeError as error:
            message = str(error).strip()
            raise CompileError(f"llvm: {message}\n{_excerpt(source, message)}") from error
        return module

    def _optimised(self, source: str) -> Any:
        """Return the module of a text after the optimisation pipeline."""
        module = self.parse(source)
        module.triple = self.triple
        module.data_layout = str(self.machine.target_data)
        if self.level:
            vectors = _VECTOR.search(source) is not None
            builder = llvm.create_pass_builder(self.machine, self._options(vectors))
            if vectors and len(source) >= LONG_SOURCE:
                passes = llvm.create_new_module_pass_manager()
                passes.add_sroa_pass()
            else:
                passes = builder.getModulePassManager()
            passes.run(module, builder)
        return module

    def compile(self, source: str) -> bytes:
        """Compile a module to an object file.

        Args:
            source: LLVM IR text.

        Returns:
            The object file's bytes.

        Raises:
            CompileError: the text is not a valid module.
        """
        with self._lock, _plain_addresses():
            return bytes(self.machine.emit_object(self._optimised(source)))

    def assembly(self, source: str) -> str:
        """Return the assembly text of a module, for people.

        Raises:
            CompileError: the text is not a valid module.
        """
        with self._lock, _plain_addresses():
            return str(self.machine.emit_assembly(self._optimised(source)))


class Library:
    """Object code loaded into the process; unloaded when the last reference goes."""

    def __init__(self, tracker: Any, symbols: Sequence[str]) -> None:
        self._tracker = tracker
        self.addresses: dict[str, int] = {name: tracker[name] for name in symbols}


class Linker:
    """Loads object files into the process."""

    def __init__(self) -> None:
        initialize()
        self._engine = llvm.create_lljit_compiler()
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def link(self, binary: bytes, symbols: Sequence[str]) -> Library:
        """Load an object file.

        Args:
            binary: the object file's bytes.
            symbols: functions whose addresses are wanted.

        Returns:
            The library, which must outlive every use of its addresses.

        Raises:
            CompileError: the bytes are no object file for this host, or a symbol is missing.
        """
        builder = llvm.JITLibraryBuilder().add_object_img(binary).add_current_process()
        for name in symbols:
            builder.export_symbol(name)
        with self._lock:
            try:
                tracker = builder.link(self._engine, f"tg{next(self._numbers)}")
            except RuntimeError as error:
                raise CompileError(f"llvm: cannot link {', '.join(symbols)}: {error}") from error
        return Library(tracker, symbols)


@cache
def compiler(cpu: str = "", features: str = "", level: int = OPTIMISATION_LEVEL) -> Compiler:
    """Return the process's compiler for a processor; without a name, for the host."""
    if not cpu:
        _, cpu, features = host()
    return Compiler(cpu, features, level)


@cache
def linker() -> Linker:
    """Return the process's linker."""
    return Linker()
