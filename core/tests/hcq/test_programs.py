from __future__ import annotations

from hcq_utils import add_kernel, call, storage

from tg_core.hcq.programs import load_program


def test_programs_are_loaded_once_per_device() -> None:
    program = call(add_kernel(2.5), storage(0), storage(1)).src[0]
    assert load_program("CPU", program) is load_program("CPU", program)
    assert load_program("CPU:1", program) is not load_program("CPU", program)
