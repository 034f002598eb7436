"""Results do not depend on how many threads compute them, to the bit."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from tg_core import Tensor
from tg_cpu.pool import pool


@pytest.fixture
def shared() -> Iterator[None]:
    before = pool().threads
    yield
    pool().set_threads(before)


def results() -> list[bytes]:
    random = np.random.default_rng(11)
    a = Tensor(random.standard_normal((192, 160)).astype(np.float32), device="CPU").realize()
    b = Tensor(random.standard_normal((160, 224)).astype(np.float32), device="CPU").realize()
    long = Tensor(random.standard_normal(1 << 18).astype(np.float32), device="CPU").realize()
    values = [
        a @ b,
        a.softmax(-1),
        long.sum(),
        long.exp().mean(),
        a.std(axis=0),
        (a * 3).sum(axis=0),
    ]
    return [value.numpy().tobytes() for value in values]


@pytest.mark.usefixtures("shared")
def test_bits_do_not_depend_on_the_number_of_threads() -> None:
    found = []
    for threads in (1, 2, 5):
        pool().set_threads(threads)
        found.append(results())
    assert found[0] == found[1] == found[2]


def test_programs_run_from_several_threads() -> None:
    """Each thread computes with the same compiled kernels on data of its own."""
    failures: list[str] = []

    def work(number: int) -> None:
        data = np.full((64, 64), number, np.float32)
        for _ in range(5):
            got = (Tensor(data, device="CPU") @ Tensor(data, device="CPU")).numpy()
            if not (got == 64.0 * number * number).all():
                failures.append(f"thread {number}: {got[0, 0]}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
