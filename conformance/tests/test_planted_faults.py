"""The suite catches what it is there to catch: a backend with one fault at a time.

Each row says which tests to run, which one must fail, and what its message must say. The sound
backend passes the same tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from suite_runs import install_planted, rows_of_table, run_faults, shared_results

FAULTS = {
    # fault: (level, -k expression, the test that catches it, what the message names)
    "no description": (0, "registered", "registered_by_a_package", "without a description"),
    "broken reference": (0, "lazy", "every_lazy_reference_loads", "NoSuchRenderer"),
    "heavy discovery": (0, "registration", "imports_nothing", "tg_planted.device"),
    "wrong type": (0, "opens", "device_opens", "opened as type 'OTHER'"),
    "empty promise": (0, "promises", "keep_their_promises", "has no program_address"),
    "hook of a wrong type": (0, "hooks", "device_hooks_answer[pm_batch]", "PatternMatcher"),
    "header without text": (0, "header", "report_header", "gives 1"),
    "copy cut to words": (1, "bytes_come_back", "bytes_come_back[1]", "bytes are wrong"),
    "large copies cut": (1, "bytes_come_back", "bytes_come_back[1048579]", "from 1048576"),
    "copy rounded up to words": (1, "misaligned", "are_written[0]", "write of 1 bytes at 0"),
    "view one byte off": (1, "misaligned", "are_written[1]", "bytes at 1"),
    "view aligned down": (1, "misaligned", "are_read[3]", "bytes at 3"),
    "missing free": (1, "released", "released_memory_goes_back", "does not free"),
    "memory given twice": (1, "overlap", "buffers_do_not_overlap", "buffer"),
    "misaligned memory": (1, "aligned", "addresses_are_aligned", "not a multiple of 8"),
    "endless memory": (1, "exhaustion", "exhaustion_is_an_error", "DID NOT RAISE"),
    "broken after exhaustion": (1, "exhaustion", "exhaustion_is_an_error", "out of memory"),
    "mapping is a copy": (1, "maps", "maps_the_memory_itself[1]", "mapping after a write"),
    "launch lost": (2, "every_length", "every_length[1]", "run 2 gives other bytes"),
    "stale argument": (4, "compile_once", "equal_kernels_compile_once", "run 2 of the same"),
    "last group missing": (2, "every_length", "every_length", "4099"),
    "subnormals flushed": (2, "neg-float32", "float_functions[neg-float32]", "neg of float32"),
    "halves rounded down": (2, "add-float16", "arithmetic[add-float16]", "add of float16"),
    "doubles computed in single": (2, "add-float64", "arithmetic[add-float64]", "add of float64"),
    "floor division truncates": (2, "floordiv-int32", "floordiv-int32", "floordiv of int32"),
    "unsigned compared as signed": (2, "lt-uint32", "comparisons[lt-uint32]", "lt of uint32"),
    "shift for rotation": (2, "rshift-int32", "shifts[rshift-int32]", "rshift of int32"),
    "or for exclusive or": (2, "xor-uint8", "bitwise_xor-uint8", "bitwise_xor of uint8"),
    "gate ignored": (2, "pad-int32", "movement[pad-int32]", "pad of int32"),
    "source of this process": (4, "source", "does_not_depend_on_the_process", "other sources"),
    "stale variable": (4, "variables", "variables_are_read_at_each_call", "rows"),
    "stale output": (4, "earlier", "results_of_earlier_calls_stay", "result of call"),
    "key of the moment": (0, "renderer", "renderer_describes_itself", "different keys"),
    "second device is the first": (5, "not_there", "is_not_there_is_an_error", "with index 0"),
    "transfer in whole words": (5, "copies", "copies_between_devices", "bytes are wrong"),
    "junk is loaded": (6, "binary", "binary_that_is_none_is_refused", "junk were loaded"),
    "interrupt swallowed": (6, "ctrl", "ctrl_c_interrupts", "Ctrl-C was lost"),
    "lost in the child": (6, "forked", "forked_child_computes", "the child ends with"),
    "noise at exit": (6, "in_flight", "exit_with_work_in_flight", "queue not drained"),
    "timestamps swapped": (7, "time_is", "a_time_is_a_time", "took -"),
    "time in milliseconds": (7, "no_longer", "no_longer_than_the_host", "by the device"),
    "no clock": (7, "zero", "times_are_not_all_zero", "[0.0, 0.0, 0.0]"),
}


FILES = {
    0: ["test_level0_discovery.py"],
    1: ["test_level1_buffers.py", "test_level1_allocation.py"],
    2: ["test_level2_elementwise.py", "test_level2_reductions.py"],
    4: ["test_level4_compile.py", "test_level4_jit.py"],
    5: ["test_level5_several.py"],
    6: ["test_level6_faults.py"],
    7: ["test_level7_profiling.py"],
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of the tests for each fault, and of all of them without one."""
    return shared_results(tmp_path_factory, "planted", run_all)


def run_all(folder: Path) -> dict[str, Any]:
    """Run the suite once for each fault, and once for each level without one."""
    requests = [(fault, FILES[level], names) for fault, (level, names, _, _) in FAULTS.items()]
    for level, files in FILES.items():
        names = " or ".join(dict.fromkeys(r[1] for r in FAULTS.values() if r[0] == level))
        requests.append((f"sound {level}", files, names))
    return run_faults("PLANTED", "TG_PLANTED", requests, install_planted(folder))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught(fault: str, results: dict[str, Any]) -> None:
    _, _, test, message = FAULTS[fault]
    result = results[fault]
    assert result["code"] == 1, result["output"]
    caught = [f for f in result["report"]["failures"] if test in f["test"]]
    assert caught, (fault, result["report"]["failures"])
    assert any(message in f["message"] for f in caught), (fault, caught)
    assert caught[0]["test"] in result["output"]


@pytest.mark.parametrize("level", FILES)
def test_the_sound_backend_passes_the_same_tests(level: int, results: dict[str, Any]) -> None:
    result = results[f"sound {level}"]
    assert result["code"] == 0, result["output"]
    assert result["report"]["failed"] == 0


def test_the_committed_table_names_every_fault() -> None:
    assert rows_of_table("PLANTED") == list(FAULTS), "run nox -s faults"
