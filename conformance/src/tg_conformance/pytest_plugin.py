"""The pytest side of the suite: options that name the device to test, fixtures that hand it over.

Loaded by every pytest run where the package is installed, so it imports nothing of tg_core until
a test asks for a device.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

__all__ = ["pytest_addoption", "pytest_configure", "pytest_report_header", "tg_device"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--tg-device` and `--tg-interface`."""
    group = parser.getgroup("tg-conformance", "conformance of a tg-core backend")
    group.addoption(
        "--tg-device", default=None, metavar="NAME", help="device type to test, for example CPU"
    )
    group.addoption(
        "--tg-interface",
        default=None,
        metavar="NAME",
        help="interface to open it through, for example an emulated one",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the suite's marker."""
    config.addinivalue_line("markers", "tg_level(n): conformance level of a test")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Name what is tested, so that a report cannot be read as another device's."""
    target = target_of(config)
    return None if target is None else f"tg-conformance: {target}"


def target_of(config: pytest.Config) -> str | None:
    """Return the `DEV` target that the options name.

    Args:
        config: the configuration of the pytest run.

    Returns:
        `TYPE` or `interface+TYPE`; None where no device was given.
    """
    device: str | None = config.getoption("--tg-device")
    interface: str | None = config.getoption("--tg-interface")
    if device is None:
        return None
    return device if interface is None else f"{interface}+{device}"


@pytest.fixture(scope="session")
def tg_device(pytestconfig: pytest.Config) -> Iterator[str]:
    """Give the device under test, opened through the interface that was asked for.

    Yields:
        The canonical device name.
    """
    device: str | None = pytestconfig.getoption("--tg-device")
    target = target_of(pytestconfig)
    if device is None or target is None:
        pytest.fail("no device to test: pass --tg-device NAME", pytrace=False)
    from tg_core.config import Context
    from tg_core.device import Device

    with Context(DEV=target):
        yield Device[device].name
