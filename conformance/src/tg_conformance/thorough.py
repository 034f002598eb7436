"""How much of what is random is tried: a slice that takes seconds, or a thorough run."""

from __future__ import annotations

import os
from dataclasses import dataclass

__all__ = ["SLICE", "Amount", "thorough_amount"]


@dataclass(frozen=True)
class Amount:
    """How many random graphs, and in how many orders of their queues each."""

    graphs: int
    orders: int


SLICE = Amount(16, 6)


def thorough_amount() -> Amount:
    """Return what `--thorough` tries: 2,000 graphs in 100 orders, or as many as `TG_GRAPHS` and
    `TG_ORDERS` of the environment say.
    """
    return Amount(int(os.environ.get("TG_GRAPHS", "2000")), int(os.environ.get("TG_ORDERS", "100")))
