"""Running one batch from several threads, and from within itself."""

from __future__ import annotations

import threading

import pytest
from hcq_utils import add_kernel, call, empty, filled, linear, ramp, storage

from tg_core.device import Buffer
from tg_core.hcq import LinkedBatch, batch, link_batch


def chain(length: int) -> LinkedBatch:
    add = add_kernel(1.0)
    calls = [call(add, storage(1 - i % 2), storage(i % 2)) for i in range(length)]
    (joined,) = batch(linear(*calls)).src
    return link_batch(joined, {})


def test_a_busy_batch_declines() -> None:
    run, buffers = chain(2), [filled(0), empty()]
    with run._lock:
        assert not run.run(buffers, [])
    assert buffers[0].numpy().tolist() == ramp(0).tolist()
    assert run.run(buffers, [])
    assert buffers[0].numpy().tolist() == ramp(2).tolist()


def test_a_failed_run_leaves_the_batch_usable() -> None:
    run, buffers = chain(2), [filled(0), empty()]
    with pytest.raises(IndexError):
        run.run([], [])
    assert run.run(buffers, [])


def test_threads_do_not_mix_their_storage() -> None:
    run, wrong = chain(50), []

    def work(start: int) -> None:
        for _ in range(50):
            buffers: list[Buffer | int] = [filled(start), empty()]
            while not run.run(buffers, []):
                pass
            if buffers[0].numpy().tolist() != ramp(start + 50).tolist():  # type: ignore[union-attr]
                wrong.append(start)

    threads = [threading.Thread(target=work, args=(100 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
