"""The constants of the standard."""

from __future__ import annotations

import math

e: float = math.e
"""The base of the natural logarithm."""
inf: float = math.inf
"""Positive infinity."""
nan: float = math.nan
"""Not a number."""
newaxis: None = None
"""Between brackets: a new axis of size 1."""
pi: float = math.pi
"""The ratio of a circle's circumference to its diameter."""
