"""Where functions of one argument are tried."""

from __future__ import annotations

from typing import Any

import numpy as np

from tg_conformance.oracles.formats import FORMATS
from tg_conformance.oracles.values import edge_values, encode_cells, values_of

__all__ = ["points"]


def points(dtype: str, domain: tuple[float, float]) -> np.ndarray[Any, Any]:
    """Return cells of a float dtype inside a domain: every value of formats of 8 bits, one in five
    of 16 bits, and for wider ones the edges, a grid around zero, and random values of every size.
    """
    if dtype in FORMATS:
        form = FORMATS[dtype]
        step = 1 if form.bits == 8 else 5
        cells = np.arange(0, 1 << form.bits, step).astype(form.code_type)
        cells = cells.view(np.float16) if dtype == "float16" else cells
    else:
        random = np.random.default_rng(7)
        sizes = 10.0 ** random.uniform(-30, 30, 1500) * random.choice([-1.0, 1.0], 1500)
        grids = [np.linspace(-20, 20, 1001), np.linspace(-1, 1, 1001), np.linspace(0.9, 1.1, 201)]
        spread = encode_cells(np.concatenate([*grids, sizes]), dtype)
        cells = np.concatenate([edge_values(dtype), spread])
    values = values_of(cells, dtype)
    inside = np.isnan(values) | ((values >= domain[0]) & (values <= domain[1]))
    found: np.ndarray[Any, Any] = cells[inside]
    return found
