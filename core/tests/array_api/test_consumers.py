"""Functions of SciPy and scikit-learn that accept the standard, on our arrays."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("scipy", reason="SciPy is not installed: pip install ./core[demo]")
pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install ./core[demo]")

# SciPy looks at its environment variable when it is imported, so a process of its own is needed.
SCRIPT = """
import json
import warnings

warnings.simplefilter("ignore")
import numpy as np
from scipy import integrate, special, stats
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.metrics import accuracy_score, r2_score
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler

from tg_core import Tensor

rng = np.random.default_rng(0)
points, others = rng.normal(size=(6, 3)), rng.normal(size=(6, 3))
labels, guesses = rng.integers(0, 3, 6), rng.integers(0, 3, 6)
functions = {
    "scipy.special.logsumexp": lambda x, y, a, b: special.logsumexp(x, axis=1),
    "scipy.special.softmax": lambda x, y, a, b: special.softmax(x, axis=0),
    "scipy.stats.zscore": lambda x, y, a, b: stats.zscore(x),
    "scipy.stats.pearsonr": lambda x, y, a, b: stats.pearsonr(x, y).statistic,
    "scipy.stats.skew": lambda x, y, a, b: stats.skew(x),
    "scipy.integrate.trapezoid": lambda x, y, a, b: integrate.trapezoid(x, axis=0),
    "sklearn.StandardScaler": lambda x, y, a, b: StandardScaler().fit_transform(x),
    "sklearn.PCA": lambda x, y, a, b: PCA(2, svd_solver="full").fit_transform(x),
    "sklearn.euclidean_distances": lambda x, y, a, b: euclidean_distances(x, y),
    "sklearn.r2_score": lambda x, y, a, b: r2_score(x, y),
    "sklearn.accuracy_score": lambda x, y, a, b: accuracy_score(a, b),
}
given = (points, others, labels, guesses)
told = {}
with config_context(array_api_dispatch=True):
    for name, function in functions.items():
        found, expected = function(*map(Tensor, given)), function(*given)
        values = found.numpy() if isinstance(found, Tensor) else found
        close = bool(np.allclose(values, expected, rtol=1e-6, atol=1e-7))
        told[name] = [type(found).__name__, close]
print(json.dumps(told))
"""
SCALARS = {"sklearn.r2_score", "sklearn.accuracy_score"}


def test_scipy_and_scikit_learn_compute_on_our_arrays() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "SCIPY_ARRAY_API": "1", "SPEC": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    told = json.loads(ran.stdout)
    assert len(told) == 11
    for name, (kind, close) in told.items():
        assert close, name
        assert kind == ("float" if name in SCALARS else "Tensor"), name
