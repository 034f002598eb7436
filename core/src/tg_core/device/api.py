"""The classes a backend derives from: a device, its allocator, and what it is opened with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from tg_core.config import BUFFER_CACHE_MB, DEV
from tg_core.device.memory_pool import MemoryPool
from tg_core.device.target import Target, target_for
from tg_core.errors import DeviceError, DeviceNotFound
from tg_core.plugins.capability import Capability
from tg_core.support.frozen import frozen

if TYPE_CHECKING:
    from tg_core.plugins.catalog import Catalog
    from tg_core.uop.ops import ProgramInfo

__all__ = ["Allocator", "BufferOptions", "Compiled", "OpenRequest", "Program"]


class BufferOptions(NamedTuple):
    """How memory is wanted, beyond its size."""

    host_access: bool = False
    """The host will read or write it directly."""
    uncached: bool = False
    """Polled by both sides; must not sit in a cache."""
    host: bool = False
    """Host memory that the device can reach."""
    external: int | None = None
    """Address of memory that the caller keeps alive: nothing is allocated, free does nothing."""


@frozen
class OpenRequest:
    """What an opener is told."""

    name: str
    """The device name, such as `AMD` or `AMD:1`."""
    type: str
    """The part before the colon."""
    index: int
    """The index in the name, 0 where there is none."""
    physical_index: int
    """The index the interface was opened with: `index` mapped through the indices in `DEV`."""
    location: str
    """What follows the colon where that is not a number, for persistent types such as `DISK`."""
    interface: Any
    """The opened interface object, or None where the type has no interfaces."""
    interface_name: str | None
    """The name under which that interface was registered."""
    catalog: Catalog
    """What plugins registered."""


class Program(Protocol):
    """A loaded kernel."""

    def __call__(
        self,
        buffers: Sequence[Any],
        values: tuple[int, ...],
        global_size: tuple[int, ...],
        local_size: tuple[int, ...],
        wait: bool = False,
    ) -> float | None:
        """Launch.

        Args:
            buffers: what the allocator returned for each buffer (`alloc` or `offset`), in the order
                of `ProgramInfo.params`.
            values: the scalar variables, in the order of `ProgramInfo.variables`.
            global_size: how many groups.
            local_size: how many work items in a group.
            wait: return only when the kernel is done.

        Returns:
            The time the kernel took, in seconds, if waited for; else None.
        """


class Allocator:
    """Memory of one opened device.

    What `alloc` returns is opaque to core: it is handed back to the other methods and to programs.
    `alloc` and `free` may be called from any thread. `copyin` and `copyout` take effect in program
    order with kernels launched before and after: a backend that runs behind the host synchronizes.

    | method | needed when |
    |---|---|
    | `alloc`, `copyin`, `copyout` | always |
    | `free` | memory is not released by dropping the opaque object |
    | `offset` | buffers may be views (always, but for persistent types without kernels) |
    | `as_memoryview` | `Capability.HOST_VISIBLE` |
    | `address` | kernels or queues take addresses |
    | `transfer` | the device copies between two of its kind without the host |
    | `limit` | the amount of memory is known |
    """

    cached: ClassVar[bool] = True
    """Whether freed memory is kept for reuse by core."""

    def __init__(self, device: Compiled) -> None:
        self.device = device

    def alloc(self, nbytes: int, options: BufferOptions) -> Any:
        """Return new memory.

        Args:
            nbytes: how much, in bytes, at least 1.
            options: how it is wanted.

        Raises:
            MemoryError: there is none left; core frees its cache, tries again, and then reports.
        """
        raise DeviceError(f"{self.device.name}: its allocator has no alloc")

    def free(self, opaque: Any, nbytes: int, options: BufferOptions) -> None:
        """Release memory; the default leaves it to the collector."""

    def copyin(self, opaque: Any, data: memoryview) -> None:
        """Write host bytes to the start of the memory."""
        raise DeviceError(f"{self.device.name}: the host cannot write its memory")

    def copyout(self, data: memoryview, opaque: Any) -> None:
        """Read the start of the memory into host bytes."""
        raise DeviceError(f"{self.device.name}: the host cannot read its memory")

    def as_memoryview(self, opaque: Any) -> memoryview | None:
        """Return the memory as host bytes without copying, or None where that is not possible."""
        return None

    def offset(self, opaque: Any, nbytes: int, offset: int) -> Any:
        """Return `nbytes` bytes of the memory from byte `offset` on, as an opaque of its own."""
        raise DeviceError(f"{self.device.name}: its memory has no views")

    def address(self, opaque: Any) -> int:
        """Return the address the device uses for the memory."""
        raise DeviceError(f"{self.device.name}: its memory has no address")

    def transfer(self, target: Any, source: Any, nbytes: int, source_device: Compiled) -> bool:
        """Copy from another device of the type, or decline by returning False."""
        return False

    def limit(self) -> int | None:
        """Return how many bytes the device can hold in all, or None if unknown."""
        return None


class Compiled:
    """An opened device.

    A backend derives from it, overrides what its capabilities promise, and registers the class (or
    a function that returns one) as the opener of its type. The allocator and the renderer are the
    registered ones and are constructed on first use; opening must not import a compiler.

    | capability | what it promises |
    |---|---|
    | none | `allocator` with `alloc`, `copyin`, `copyout` |
    | `PROGRAMS` | a registered renderer, and `load_program` |
    | `HOST_VISIBLE` | `Allocator.as_memoryview` |
    | `HOST_CALL` | `program_address`, `runner_address`, `Allocator.address` |
    | `QUEUES` | the `create_queue` and `pm_*` hooks, a registered COMPUTE queue |
    | `COPY_QUEUE` | the same for a COPY queue |
    | `COMPUTE_COPIES` | the COMPUTE queue copies: by `copy`, where it has that, else by kernels |
    | `OVERLAPPING_LAUNCHES` | core chains launches that depend on each other |
    | `RECOVERY` | usable again after `DeviceError`: `synchronize` honours its time limit |
    | `TIMESTAMPS` | programs return device time when waited for |
    | `CREATION` | nothing; tells core that data starts its life here |
    | `DRY` | nothing; results are not to be looked at |
    | `PERSISTENT` | device names carry a location, `OpenRequest.location`; `alloc` is free |
    """

    def __init__(self, request: OpenRequest) -> None:
        self.name = request.name
        self.type = request.type
        self.index = request.index
        self.physical_index = request.physical_index
        self.location = request.location
        self.interface = request.interface
        self.interface_name = request.interface_name
        self.catalog = request.catalog
        self.capabilities: frozenset[Capability] = request.catalog.capabilities(request.type)
        self.hook_results: dict[str, Any] = {}
        self._allocator: Allocator | None = None
        self._memory: MemoryPool | None = None
        self._renderers: dict[tuple[str, str], Any] = {}

    @property
    def allocator(self) -> Allocator:
        """The allocator registered for the type."""
        if self._allocator is None:
            record = self.catalog.allocator(self.type)
            if record is None:
                raise DeviceError(f"{self.name}: no allocator is registered for {self.type}")
            allocator = record.cls.load()(self)
            if not isinstance(allocator, Allocator):
                raise DeviceError(
                    f"{self.name}: {record.cls.text} is not an Allocator but "
                    f"{type(allocator).__name__}"
                )
            self._allocator = allocator
        return self._allocator

    @property
    def memory(self) -> MemoryPool:
        """The layer over the allocator that keeps freed memory for reuse and counts."""
        if self._memory is None:
            persistent = Capability.PERSISTENT in self.capabilities
            keep = self.allocator.cached and not persistent
            self._memory = MemoryPool(
                self.allocator,
                self.name,
                keep_bytes=BUFFER_CACHE_MB.value << 20 if keep else 0,
                counted=not persistent,
            )
        return self._memory

    @property
    def arch(self) -> str:
        """The architecture to compile for; the empty string is the machine's own.

        `DEV` overrides what a backend detects.
        """
        return ""

    @property
    def renderer(self) -> Any:
        """The renderer `DEV` names for the type, else the default one.

        Raises:
            DeviceNotFound: the type has no renderer, or none of that name.
        """
        target = target_for(DEV.value, self.type) or Target(self.type)
        arch = target.arch or self.arch
        key = (target.renderer or "", arch)
        renderer = self._renderers.get(key)
        if renderer is None:
            renderer = self._renderers[key] = self._renderer_class(target.renderer)(arch)
        return renderer

    def _renderer_class(self, wanted: str | None) -> Any:
        records = self.catalog.renderers(self.type)
        for record in records:
            if wanted is None or record.name == wanted:
                return record.cls.load()
        names = ", ".join(record.name for record in records) or "none"
        what = f"no renderer named {wanted}" if wanted else "no renderer"
        raise DeviceNotFound(f"{self.name}: {what}; renderers of {self.type}: {names}")

    def load_program(self, name: str, binary: bytes, info: ProgramInfo) -> Program:
        """Load a compiled kernel.

        Args:
            name: the entry point.
            binary: what the renderer's `compile` returned.
            info: how it is launched.
        """
        raise DeviceError(f"{self.name}: it does not run programs")

    def program_address(self, program: Any) -> int:
        """Return the address of a loaded program, `void name(void *args, int64_t chunk)`: `args`
        is an array of 8-byte slots, the addresses of the buffers and then the variables.
        """
        raise DeviceError(f"{self.name}: its programs are no functions of this process")

    def runner_address(self) -> int:
        """Return the address of `void run(void *program, void *args, int64_t chunks)`, which calls
        a program once for each chunk, on as many threads as it likes, and returns when all are
        done.
        """
        raise DeviceError(f"{self.name}: its programs are no functions of this process")

    def synchronize(self) -> None:
        """Return when everything launched so far is done. Host-call devices have nothing to do."""

    def finalize(self) -> None:
        """Release what the device holds; called once, at exit."""

    def __repr__(self) -> str:
        over = f" over {self.interface_name}" if self.interface_name else ""
        return f"<device {self.name}{over}>"
