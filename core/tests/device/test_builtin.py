"""Core's own device types."""

from __future__ import annotations

import numpy as np
import pytest
from sample_plugins import installed

from tg_core.device import Buffer, Device
from tg_core.device.builtin import TG_HOOK_VERSION
from tg_core.device.npy import buffer_of_array
from tg_core.dtype import dtypes
from tg_core.errors import DeviceError, DTypeError
from tg_core.plugins import Capability
from tg_core.plugins.manager import plugins
from tg_core.plugins.markers import HOOK_VERSION
from tg_core.uop.ops import ProgramInfo

NAMES = ("PYTHON", "NULL", "NPY", "DISK")


def test_they_come_through_the_same_hook_as_everybody_elses() -> None:
    assert TG_HOOK_VERSION == HOOK_VERSION
    with installed():
        catalog = plugins().catalog
        assert [record.name for record in catalog.types()] == list(NAMES)
        for name in NAMES:
            assert catalog.owner(name).source.builtin
            assert catalog.allocator(name) is not None
            record = catalog.type(name)
            assert record is not None
            assert record.description


@pytest.mark.parametrize("name", NAMES)
def test_capabilities_are_kept(name: str) -> None:
    catalog = plugins().catalog
    capabilities = catalog.capabilities(name)
    assert (Capability.PROGRAMS in capabilities) == bool(catalog.renderers(name))
    assert (Capability.CREATION in capabilities) == (name in ("PYTHON", "NPY", "DISK"))
    if Capability.PERSISTENT not in capabilities:
        allocator = Device[name].allocator
        buffer = Buffer(name, 4, dtypes.uint8).allocate()
        visible = allocator.as_memoryview(buffer.opaque) is not None
        assert visible == (Capability.HOST_VISIBLE in capabilities)


def test_only_the_interpreter_can_be_the_default() -> None:
    with installed():
        priorities = {record.name: record.priority for record in plugins().catalog.types()}
    assert [name for name, priority in priorities.items() if priority >= 0] == ["PYTHON"]


def test_null_takes_everything_and_does_nothing() -> None:
    buffer = Buffer("NULL", 4, dtypes.int32).copyin(b"x" * 16)
    assert buffer.numpy().tolist() == [0, 0, 0, 0]
    assert buffer.view(2, dtypes.int32, 4).numpy().tolist() == [0, 0]
    program = Device["NULL"].load_program("nothing", b"", ProgramInfo("nothing"))
    assert program([buffer.opaque], (), (1, 1, 1), (1, 1, 1)) is None
    assert program([buffer.opaque], (), (1, 1, 1), (1, 1, 1), wait=True) == 0.0
    assert Buffer("NULL", 1 << 60, dtypes.uint8).allocate().is_allocated()


def test_null_is_a_dry_run() -> None:
    assert Capability.DRY in Device["NULL"].capabilities
    assert Device["NULL"].renderer is not None


def test_npy_shares_the_memory_of_an_array() -> None:
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    buffer = buffer_of_array(array)
    assert (buffer.device, buffer.size, buffer.dtype) == ("NPY", 6, dtypes.int16)
    array[1, 2] = 50
    assert buffer.numpy().tolist() == [0, 1, 2, 3, 4, 50]


@pytest.mark.parametrize(
    "array",
    [np.zeros((4, 4), np.int32).T[1:], np.zeros(3, ">i4"), np.zeros(4, np.int32)[::2]],
    ids=["transposed", "byte-swapped", "strided"],
)
def test_npy_refuses_other_layouts(array: np.ndarray) -> None:
    with pytest.raises(DTypeError, match="expected C-contiguous memory in native byte order"):
        buffer_of_array(array)


@pytest.mark.parametrize("name", ["NPY", "NPY:3"])
def test_devices_without_programs_say_so(name: str) -> None:
    with pytest.raises(DeviceError, match="does not run programs"):
        Device[name].load_program("k", b"", ProgramInfo("k"))
