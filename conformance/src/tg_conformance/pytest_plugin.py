"""The pytest side of the suite: options that name the device to test, fixtures that hand it over.

Loaded by every pytest run where the package is installed, so it imports nothing of tg_core until
a device is to be tested.
"""

from __future__ import annotations

import pytest

__all__ = ["pytest_addoption", "pytest_configure", "tg_device"]

NAME = "tg-conformance-judge"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the suite; each begins with `--tg-`."""
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
    group.addoption(
        "--tg-level",
        action="append",
        default=[],
        metavar="N",
        help="run this level only, or these: 2, 0-2; may be repeated",
    )
    group.addoption(
        "--tg-expected",
        default=None,
        metavar="FILE",
        help="expected failures; by default conformance-xfail.txt beside the backend's plugin",
    )
    group.addoption(
        "--tg-report",
        action="append",
        default=[],
        metavar="FILE",
        help="write a report; its ending is html, json or xml; may be repeated",
    )
    group.addoption(
        "--tg-require",
        action="append",
        default=[],
        metavar="NAMES",
        help="capabilities that must be declared, separated by commas",
    )
    group.addoption(
        "--tg-thorough",
        action="store_true",
        help="thousands of random graphs instead of a few",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the suite's markers, and judge where a device is named."""
    config.addinivalue_line("markers", "tg_level(n): conformance level of a test")
    config.addinivalue_line(
        "markers",
        "tg_core(*names): belongs to the mandatory core of its level, for those that declare these",
    )
    config.addinivalue_line("markers", "tg_needs(*names): features the device must declare")
    if config.getoption("--tg-device") is not None:
        from tg_conformance.judge import Judge

        config.pluginmanager.register(Judge(config), NAME)


@pytest.fixture(scope="session")
def tg_device(pytestconfig: pytest.Config) -> str:
    """Give the name of the device under test; `DEV` is set so that it opens as was asked for."""
    if pytestconfig.getoption("--tg-device") is None:
        pytest.fail("no device to test: pass --tg-device NAME", pytrace=False)
    from tg_core import Device

    return Device[pytestconfig.getoption("--tg-device")].name
