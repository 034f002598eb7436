"""What the tests of REF have in common."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tg_conformance.refdev.emulated import MACHINE
from tg_conformance.refdev.faults import plant

# The helpers of these tests, which importlib mode does not put on the path.
sys.path.insert(0, str(Path(__file__).parent))

from recovering import recover_all  # found on the path made here


@pytest.fixture(autouse=True)
def without_faults() -> Iterator[None]:
    """Leave no planted mistake, no chosen order and no lost device behind."""
    plant()
    MACHINE.reseed(0)
    yield
    plant()
    MACHINE.reseed(0)
    recover_all()
