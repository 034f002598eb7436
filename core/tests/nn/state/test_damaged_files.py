"""Files from outside, damaged at random: an error that names the file, or values; never more memory
than the file can hold, and nothing executed.

`FUZZ_FILES` is how many damaged files there are of each format; `JUDGE_REPORT` names a file for the
counts.
"""

from __future__ import annotations

import os
import struct
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from judge_report import write_part

from tg_core import Tensor
from tg_core.errors import FileFormatError, TGError, UnsupportedModel
from tg_core.nn.state import gguf_load, safe_load, safe_save, torch_load

DATA = Path(__file__).parent / "data"
EXAMPLES = int(os.environ.get("FUZZ_FILES", "60"))
SEED = 0
HEADROOM = 2 << 20
"""Bytes that reading may take beside what the file holds: parsers, messages, compiled kernels."""
EXTREMES = (0, 1, 0x7F, 0xFF, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 40, 1 << 62)


def torch_values() -> dict[str, np.ndarray]:
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    return {
        "base": base,
        "view": base[1:3, ::2],
        "half": np.linspace(-2, 2, 5).astype(np.float16),
        "brain": np.linspace(-2, 2, 5).astype(np.float32),
        "long": np.array([[1, -2], [3, 1 << 40]]),
        "flags": np.array([True, False, True]),
        "scalar": np.array(3.5, np.float32),
    }


@pytest.mark.parametrize("name", ["zip.pt", "legacy.pt"])
def test_files_of_pytorch_load_as_they_were_saved(name: str) -> None:
    state = torch_load(DATA / name)
    for key, expected in torch_values().items():
        np.testing.assert_array_equal(state[key].numpy(), expected)
    nested = state["nested"]
    assert nested[:4] == [1, 2.5, "text", None]
    assert nested[4][0].tolist() == [0.0, 0.0]
    assert nested[4][1] == {"a": 1}


def gguf_bytes() -> bytes:
    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    head = b"GGUF" + struct.pack("<IQQ", 3, 2, 2)
    head += text("general.name") + struct.pack("<I", 8) + text("small")
    head += text("sizes") + struct.pack("<IIQ", 9, 4, 3) + struct.pack("<III", 1, 2, 3)
    head += text("plain") + struct.pack("<IQQ", 2, 8, 2) + struct.pack("<IQ", 0, 0)
    head += text("blocks") + struct.pack("<IQ", 1, 64) + struct.pack("<IQ", 8, 64)
    head += b"\0" * (-len(head) % 32)
    blocks = struct.pack("<e32b", 0.5, *range(-16, 16)) * 2
    return head + np.arange(16, dtype=np.float32).tobytes() + blocks


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    pytest.importorskip("safetensors", reason="the io extra is not installed")
    path = tmp_path_factory.mktemp("originals") / "a.safetensors"
    safe_save({"a": Tensor(np.eye(5, dtype=np.float32)), "b": Tensor([1, 2, 3])}, path)
    return {
        "safetensors": path.read_bytes(),
        "gguf": gguf_bytes(),
        "zip": (DATA / "zip.pt").read_bytes(),
        "legacy": (DATA / "legacy.pt").read_bytes(),
    }


LOADERS: dict[str, Callable[[Any], Any]] = {
    "safetensors": safe_load,
    "gguf": gguf_load,
    "zip": torch_load,
    "legacy": torch_load,
}


def damaged(data: st.DataObject, original: bytes) -> bytes:
    """Return the file with one to three of: a flipped bit, a cut, an extreme number, a repeat."""
    content = bytearray(original)
    for _ in range(data.draw(st.integers(1, 3))):
        kind = data.draw(st.sampled_from(["flip", "cut", "number", "repeat", "drop"]))
        # Headers are where it hurts: half of the damage goes to the first bytes.
        most = data.draw(st.sampled_from([min(256, len(content)), len(content)]))
        place = data.draw(st.integers(0, max(most - 1, 0)))
        if kind == "flip" and content:
            content[place] ^= 1 << data.draw(st.integers(0, 7))
        elif kind == "cut":
            del content[place:]
        elif kind == "drop":
            del content[place : place + data.draw(st.integers(1, 16))]
        elif kind == "number":
            width = data.draw(st.sampled_from(["<B", "<H", "<I", "<Q"]))
            size = struct.calcsize(width)
            value = data.draw(st.sampled_from(EXTREMES)) % (1 << (8 * size))
            content[place : place + size] = struct.pack(width, value)
        else:
            content[place:place] = content[place : place + 32]
    return bytes(content)


def touch(value: Any) -> None:
    """Compute what was loaded; of a model, what it makes of zeros."""
    if isinstance(value, Tensor):
        value.numpy()
    elif isinstance(value, dict):
        for entry in value.values():
            touch(entry)
    elif isinstance(value, (list, tuple)):
        for entry in value:
            touch(entry)
    elif hasattr(value, "inputs"):
        try:
            touch(value(dict.fromkeys(value.inputs, np.zeros((1, 1, 8, 8), np.float32))))
        except TGError:
            return


def write_report(kind: str, outcomes: Counter[str]) -> None:
    header = {"judge": "damaged_files", "numpy": np.__version__, "seed": SEED}
    counts = {"failed": 0, "files": sum(outcomes.values()), **dict(sorted(outcomes.items()))}
    write_part(header, "formats", kind, counts)


@pytest.mark.parametrize("kind", ["gguf", "legacy", "onnx", "safetensors", "zip"])
def test_damage_is_an_error_or_harmless(
    kind: str, originals: dict[str, bytes], tmp_path: Path
) -> None:
    if kind == "onnx":
        pytest.importorskip("onnx", reason="ONNX is not installed: pip install ./core[onnx]")
        from onnx_models import convnet

        from tg_core.onnx import load

        loader, original = load, convnet().SerializeToString()
    else:
        loader, original = LOADERS[kind], originals[kind]
    path = tmp_path / f"damaged.{kind}"
    path.write_bytes(original)
    touch(loader(path))
    outcomes: Counter[str] = Counter()

    @seed(SEED)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.data())
    def run(data: st.DataObject) -> None:
        content = damaged(data, original)
        path.write_bytes(content)
        message, loaded, outcome = path.name, None, "loaded"
        tracemalloc.start()
        try:
            loaded = loader(path)
        except FileFormatError as error:
            message, outcome = str(error), "refused"
        except UnsupportedModel:
            outcome = "not supported"
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert path.name in message
        assert peak < HEADROOM + 8 * len(content)
        touch(loaded)
        outcomes[outcome] += 1

    run()
    write_report(kind, outcomes)
