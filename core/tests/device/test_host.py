"""Host memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tg_core.device import host
from tg_core.device.host import host_memory_bytes

PHYSICAL = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1048576\n", 1 << 20), ("max\n", PHYSICAL), ("9223372036854771712\n", PHYSICAL)],
)
def test_a_container_is_limited_to_less(
    text: str, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "memory.max").write_text(text)
    paths = (str(tmp_path / "memory.max"), str(tmp_path / "absent"))
    monkeypatch.setattr(host, "CONTAINER_LIMITS", paths)
    host_memory_bytes.cache_clear()
    try:
        assert host_memory_bytes() == expected
    finally:
        host_memory_bytes.cache_clear()


def test_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> int:
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(os, "sysconf", unknown)
    host_memory_bytes.cache_clear()
    try:
        assert host_memory_bytes() is None
    finally:
        host_memory_bytes.cache_clear()
