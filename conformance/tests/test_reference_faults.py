"""The suite catches what REF gets wrong when it is told to, one mistake at a time.

Each row says which test must fail, and what its message must say: where the mistake is. Without
mistakes REF passes the same tests.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from suite_runs import rows_of_table, run_faults, shared_results

from tg_conformance.refdev.faults import FAULTS, VARIABLE

RINGS, COPIES, ORDER = (f"test_level3_{name}.py" for name in ("rings", "copies", "order"))
REPLAY, QUEUES = "test_level3_replay.py", "test_level3_queues.py"
MEMORY, VIEWS = "test_level1_allocation.py", "test_level1_buffers.py"
NUMBERS, JIT = "test_level2_elementwise.py", "test_level4_jit.py"
RECOVERY, TIMES = "test_level6_recovery.py", "test_level7_profiling.py"

INPUTS = "inputs_change_while_earlier_runs_go_on[0]"
TIMELINE = "starts_over_before_it_turns_negative[64]"

CAUGHT = {
    # fault: (file, -k expression and part of the name of the test that catches it, the message)
    "missing wait": (ORDER, "random_graphs[0]", "race on 32 bytes"),
    "wrong signal value": (ORDER, "random_graphs[1]", "is not ordered after"),
    "missing barrier": (REPLAY, INPUTS, "REF COMPUTE:0 packet 7 (ring word 4, commands at"),
    "doorbell before write": (QUEUES, "doorbell_comes_last[COPY]", "to queue_copy_0_ring"),
    "room never checked": (RINGS, "full_ring", "REF COMPUTE:0 packet 0 (ring word 0): no opcode"),
    "arguments reversed": (REPLAY, INPUTS, "memory of run 1 of 12: 33 of 40 elements are wrong"),
    "variable left out": (JIT, "variables_are_read_at_each_call[1]", "JIT=1: sum of 5 rows"),
    "ring wrap off by one": (RINGS, "wraps_at_every_offset", "(ring word 252): INDIRECT"),
    "stale arguments": (REPLAY, INPUTS, "memory of run 1 of 12"),
    "copy cut": (COPIES, "sizes[65537]", "1 of 65601 bytes are wrong, from 65536 to 65536"),
    "copy tail lost": (COPIES, "sizes[65537]", "1 of 65601 bytes are wrong, from 65536"),
    "copy start aligned": (COPIES, "misalignments[(2, 3)]", "copy of 1 bytes from REF at 2"),
    "copy size of 32 bits": (COPIES, "more_than_4_gib", "copy of 4294971395 bytes, at 0x1000"),
    "copy backwards": (COPIES, "sizes[64]", "copy of 64 bytes from REF at 0 to REF at 0"),
    "timestamps swapped": (TIMES, "time_is", "a kernel took -"),
    "clock of another unit": (TIMES, "no_longer_than", "while the host waited for"),
    "lost store": (RINGS, "full_ring", "hang: the last run of a batch is not over"),
    "lost wake-up": (ORDER, "random_graphs[0]", "COMPUTE:0: at WAIT for"),
    "wait for equal": (ORDER, "random_graphs[0]", ": at WAIT for"),
    "signal reset": (ORDER, "random_graphs[0]", "which is 0, REF"),
    "fence too early": (ORDER, "random_graphs[0]", "is not ordered after read by kernel mix"),
    "signals of 32 bits": (RINGS, TIMELINE, "hang: signal 4294967293 did not reach"),
    "hang": (RINGS, "wraps_at_every_offset", "REF COMPUTE:0: at EXEC"),
    "launch size off by one": (NUMBERS, "every_length[9]", "first at element 8"),
    "launch twice": (REPLAY, INPUTS, "memory of run 1 of 12: 33 of 40 elements are wrong"),
    "halves truncated": (NUMBERS, "arithmetic[add-float16]", "add of float16 on REF: 219 of 1024"),
    "subnormals flushed": (NUMBERS, "functions[neg-float32]", "neg of float32 on REF: 1 of 3743"),
    "read pointer stuck": (RINGS, "full_ring", "the last run of a batch is not over"),
    "packets after reset": (RECOVERY, "work_behind_a_hang", "REF COMPUTE:0: at WAIT for"),
    "queue mix-up": (COPIES, "sizes[64]", "REF COMPUTE:0 packet 0 (ring word"),
    "fault not reported": (RECOVERY, "a_fault_is_reported", "a fault is reported as: REF: hang"),
    "use after free": (REPLAY, "memory_is_freed_while_queued[0]", "EXEC: REF: read of 160 bytes"),
    "freed memory given twice": (MEMORY, "buffers_do_not_overlap", "buffer 0 of 1 bytes"),
    "memory of the wrong device": (COPIES, "with_a_peer[there]", "from REF at 0 to REF:1 at 0"),
    "stale address": (REPLAY, INPUTS, "memory of run 1 of 12"),
    "host memory cut": (COPIES, "with_the_host[there]", "leaves memory of the host"),
    "host memory read-only": (COPIES, "with_the_host[there]", "memory of the host is not mapped"),
    "view at the base": (VIEWS, "views_are_written[1]", "write of 1 bytes at 1: 2 of 66 bytes"),
}

ALL = os.environ.get("TG_ALL_FAULTS") == "1"
TRIED = list(CAUGHT)[:: 1 if ALL else 3]
"""Every third fault; `nox -s faults` tries all."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of the tests for each fault, and of all of them without one."""
    return shared_results(tmp_path_factory, "reference", run_all)


def run_all(folder: Path) -> dict[str, Any]:
    """Run the tests that are to catch each fault, and all of these without one."""
    requests = [request_of(fault) for fault in TRIED]
    requests += [(f"sound {file}", [file], names) for file, names in sound_tests().items()]
    return run_faults("REF", VARIABLE, requests)


def request_of(fault: str) -> tuple[str, list[str], str]:
    """Return what is run to catch a fault."""
    file, name, _ = CAUGHT[fault]
    # what is in brackets may not be a part of an expression
    plain = name if "(" not in name else name.partition("[")[0]
    return fault, [file], plain


def sound_tests() -> dict[str, str]:
    """Return what selects, in each file, the tests that are to catch something."""
    selected: dict[str, dict[str, None]] = {}
    for _, (file,), names in [request_of(fault) for fault in TRIED]:
        selected.setdefault(file, {})[names] = None
    return {file: " or ".join(names) for file, names in selected.items()}


def test_each_fault_is_to_be_caught() -> None:
    assert list(CAUGHT) == list(FAULTS)
    assert len(CAUGHT) >= 25


@pytest.mark.parametrize("fault", TRIED)
def test_a_fault_is_caught(fault: str, results: dict[str, Any]) -> None:
    _, test, message = CAUGHT[fault]
    result = results[fault]
    assert result["code"] == 1, result["output"]
    caught = [f for f in result["report"]["failures"] if test in f["test"]]
    assert caught, (fault, result["report"]["failures"])
    assert any(message in f["message"] for f in caught), (fault, caught)
    assert caught[0]["test"] in result["output"]


@pytest.mark.parametrize("file", sorted({CAUGHT[fault][0] for fault in TRIED}))
def test_without_a_fault_the_same_tests_pass(file: str, results: dict[str, Any]) -> None:
    result = results[f"sound {file}"]
    assert result["code"] == 0, result["output"]
    assert result["report"]["failed"] == 0


def test_the_committed_table_names_every_fault() -> None:
    assert rows_of_table("REF") == list(CAUGHT), "run nox -s faults"
