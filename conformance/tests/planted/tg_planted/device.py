"""The device, with the faults of launching and of a driver."""

import os
import signal
import threading
import time

import numpy as np

from tg_core.backend import Compiled, InterpreterProgram, dtypes
from tg_planted.faults import planted

PARENT = os.getpid()


def open_planted(request):
    if planted("a third hand") and request.index == 1:
        raise ValueError("no")
    device = PlantedDevice(request)
    if planted("wrong type"):
        device.type = "OTHER"
    if planted("second device is the first") and request.index == 1:
        device.index = 0
    return device


class PlantedDevice(Compiled):
    """Runs kernels with the interpreter."""

    def load_program(self, name, binary, info):
        if planted("interrupt swallowed"):
            # as a driver's library does that brings a handler of its own
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        if planted("junk is loaded"):
            try:
                return PlantedProgram(name, binary, info)
            except Exception:
                return lambda *args, **kwargs: None
        return PlantedProgram(name, binary, info)

    def synchronize(self):
        if planted("crash at exit") and threading.current_thread() is not threading.main_thread():
            raise SystemExit(3)

    def finalize(self):
        if planted("noise at exit"):
            os.write(2, b"queue not drained\n")


class PlantedProgram:
    """A kernel."""

    def __init__(self, name, binary, info):
        self.program = InterpreterProgram(name, binary, info)
        self.info = info
        self.runs = 0
        self.first = None

    def __call__(self, buffers, values, global_size, local_size, wait=False):
        if planted("lost in the child") and os.getpid() != PARENT:
            return 0.0 if wait else None
        buffers, values, global_size = self._stale(list(buffers), values, global_size)
        start = time.perf_counter()
        self._launch(buffers, values, global_size, local_size)
        self._spoil(buffers)
        self.runs += 1
        return self._time(time.perf_counter() - start) if wait else None

    def _stale(self, buffers, values, global_size):
        if self.first is None:
            self.first = (buffers, values, global_size)
        if planted("stale argument") and len(buffers) > 1:
            buffers = [buffers[0], *self.first[0][1:]]
        if planted("stale output"):
            buffers = [self.first[0][0], *buffers[1:]]
        if planted("stale variable"):
            values = self.first[1]
        if planted("stale launch size"):
            global_size = self.first[2]
        return buffers, values, global_size

    def _launch(self, buffers, values, global_size, local_size):
        if planted("last group missing") and global_size[0] > 8:
            global_size = (global_size[0] - 1, *global_size[1:])
        if planted("launch lost") and self.runs == 1:
            return
        self.program(buffers, values, global_size, local_size)

    def _spoil(self, buffers):
        for slot in self.info.outs:
            cells = buffers[self.info.params.index(slot)]
            dtype = DTYPES.get(slot_dtype(self.program, self.info.params.index(slot)))
            if planted("subnormals flushed") and dtype == "float32":
                view = cells[: cells.nbytes // 4 * 4].view(np.float32)
                view[np.abs(view) < 2.0**-126] = 0
            if planted("halves rounded down") and dtype == "float16":
                view = cells[: cells.nbytes // 2 * 2].view(np.uint16)
                view[:] = np.where((view & 0x7FFF) < 0x7C00, view & 0xFFFE, view)
            if planted("doubles computed in single") and dtype == "float64":
                view = cells[: cells.nbytes // 8 * 8].view(np.float64)
                with np.errstate(all="ignore"):
                    view[:] = view.astype(np.float32)

    def _time(self, elapsed):
        if planted("timestamps swapped"):
            return -elapsed
        if planted("time in milliseconds"):
            return elapsed * 1000
        return 0.0 if planted("no clock") else elapsed


DTYPES = {dtype: dtype.name for dtype in dtypes.all}


def slot_dtype(program, position):
    return program._nodes[program._arguments[position]].dtype
