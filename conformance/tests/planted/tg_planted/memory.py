"""Memory, with the faults of memory."""

import numpy as np

from tg_core.backend import HostAllocator
from tg_planted.faults import planted


class PlantedAllocator(HostAllocator):
    """Host memory."""

    def __init__(self, device):
        super().__init__(device)
        self.leaked = []
        self.last = {}
        self.broken = False

    def alloc(self, nbytes, options):
        if planted("broken after exhaustion") and self.broken:
            raise MemoryError("still broken")
        if planted("memory given twice") and nbytes in self.last and nbytes > 64:
            return self.last[nbytes]
        if planted("endless memory") and nbytes > 1 << 40:
            return super().alloc(64, options)
        try:
            block = super().alloc(nbytes, options)
        except MemoryError:
            self.broken = True
            raise
        if planted("missing free"):
            self.leaked.append(block)
        if planted("misaligned memory"):
            block = np.empty(nbytes + 16, np.uint8)[1 : nbytes + 1]
        self.last[nbytes] = block
        return block

    def limit(self):
        return (
            None
            if planted("endless memory") or planted("broken after exhaustion")
            else super().limit()
        )

    def copyin(self, opaque, data):
        size = data.nbytes
        if planted("copy cut to words") and size % 4:
            data = data[: size - size % 4]
        if planted("copy rounded up to words") and size % 4 and opaque.base is not None:
            whole, start = opaque.base, opaque.ctypes.data - opaque.base.ctypes.data
            if isinstance(whole, np.ndarray) and start + size + 1 <= whole.nbytes:
                whole[start + size] = 0
        if data.nbytes:
            super().copyin(opaque, data)

    def copyout(self, data, opaque):
        if planted("large copies cut") and data.nbytes > 1 << 20:
            data = data[: 1 << 20]
        super().copyout(data, opaque)

    def offset(self, opaque, nbytes, offset):
        if planted("view one byte off") and offset:
            offset -= 1
        if planted("view aligned down"):
            offset -= offset % 4
        return super().offset(opaque, nbytes, offset)

    def as_memoryview(self, opaque):
        if planted("mapping is a copy"):
            return memoryview(bytearray(opaque.data))
        return super().as_memoryview(opaque)

    def transfer(self, target, source, nbytes, source_device):
        if source_device is self.device:
            return False
        if planted("transfer in whole words"):
            nbytes -= nbytes % 4
        target[:nbytes] = source[:nbytes]
        return True
