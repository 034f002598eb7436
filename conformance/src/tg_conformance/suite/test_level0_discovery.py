"""Level 0: the package is found, registers what it should, and its device opens."""

from __future__ import annotations

import pytest

from tg_core.device import Device
from tg_core.plugins.catalog import Catalog
from tg_core.plugins.manager import plugins

pytestmark = pytest.mark.tg_level(0)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    """What every plugin of this process registered."""
    return plugins().catalog


def type_of(device: str) -> str:
    """Return the type in a device name such as `AMD:1`."""
    return device.partition(":")[0]


def test_the_type_is_registered_by_a_package(tg_device: str, catalog: Catalog) -> None:
    """An installed distribution owns the type."""
    record = catalog.type(type_of(tg_device))
    assert record is not None, f"{tg_device}: no plugin registers its type"
    owner = catalog.owner(record.name)
    assert owner.source.distribution, f"{record.name}: its plugin belongs to no distribution"
    assert record.description.strip(), f"{record.name}: registered without a description"


def test_every_lazy_reference_loads(tg_device: str, catalog: Catalog) -> None:
    """What a plugin names at registration exists, so the first use cannot fail on a wrong name."""
    name = type_of(tg_device)
    record = catalog.type(name)
    assert record is not None
    references = [record.opener]
    references += [entry.cls for entry in catalog.interfaces(name)]
    references += [entry.cls for entry in catalog.renderers(name)]
    references += [entry.cls for entry in catalog.queues(name)]
    allocator = catalog.allocator(name)
    if allocator is not None:
        references.append(allocator.cls)
    for reference in references:
        assert callable(reference.load()), f"{name}: {reference} is not callable"


def test_the_device_opens_and_says_what_it_is(tg_device: str) -> None:
    """The opened device carries the type it is registered under, and is opened once."""
    opened = Device[tg_device]
    assert opened.type == type_of(tg_device), f"{tg_device}: opened as type {opened.type}"
    assert Device[tg_device] is opened, f"{tg_device}: opened a second time"
    opened.synchronize()


def test_the_name_is_accepted_in_any_case(tg_device: str) -> None:
    """Device names do not depend on case."""
    assert Device.canonicalize(tg_device.lower()) == tg_device
