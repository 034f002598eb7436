"""What processes of pytest-xdist tell the one that judges.

A worker writes the tests that it has collected to a file before the first of them runs, so that a
test which ends its process is still known; what the device offers is told at the end.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tg_conformance.plan import Plan, read_plan, write_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Offer", "Workers", "is_worker", "runs_workers", "tell_offer", "tell_plan"]

FOLDER = "tg-plans"
OFFER = "tg-offer"


class Offer(NamedTuple):
    """What a device offers, and how it was opened."""

    features: frozenset[str] = frozenset()
    interface: str | None = None


def is_worker(config: pytest.Config) -> bool:
    """Tell whether this process runs tests for another one."""
    return hasattr(config, "workerinput")


def runs_workers(config: pytest.Config) -> bool:
    """Tell whether others run the tests for this process, once all plugins are configured."""
    return config.pluginmanager.hasplugin("dsession")


def tell_plan(config: pytest.Config, plan: Plan) -> None:
    """Tell what this worker has collected."""
    given: dict[str, Any] = config.workerinput  # type: ignore[attr-defined]  # xdist sets it
    write_plan(plan, Path(given[FOLDER]) / f"{given['workerid']}.json")


def tell_offer(config: pytest.Config, offer: Offer) -> None:
    """Tell what the device offers."""
    output: dict[str, Any] = config.workeroutput  # type: ignore[attr-defined]  # xdist sets it
    output[OFFER] = [sorted(offer.features), offer.interface]


class Workers:
    """The part of the pytest plugin that listens to workers.

    Args:
        plan: is filled with what the first worker collects.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.offer = Offer()
        self.lost = 0
        """How many of them ended before their work was done."""
        self._folder = tempfile.TemporaryDirectory(prefix="tg-plans-")

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Name the folder for plans to a worker."""
        node.workerinput[FOLDER] = self._folder.name

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Take what a worker has collected; all collect the same."""
        told = read_plan(Path(self._folder.name) / f"{node.gateway.id}.json")
        if told.wrong:
            raise pytest.UsageError("\n".join(["expected failures:", *told.wrong]))
        self.plan.tests = told.tests

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take what a worker says of the device, or that it is gone."""
        self.lost += error is not None
        said = getattr(node, "workeroutput", {}).get(OFFER)
        if said is not None:
            self.offer = Offer(frozenset(said[0]), said[1])

    def pytest_unconfigure(self) -> None:
        """Clean up."""
        self._folder.cleanup()
