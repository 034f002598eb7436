"""The grammar of DEV and of device names."""

from __future__ import annotations

import pytest

from tg_core.device.target import Target, canonical_name, parse_targets, split_name, target_for
from tg_core.errors import DeviceNotFound


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("  ", ()),
        ("AMD", (Target("AMD"),)),
        ("amd", (Target("AMD"),)),
        ("KFD+AMD", (Target("AMD", "KFD"),)),
        ("KFD:1+AMD", (Target("AMD", "KFD", (1,)),)),
        ("kfd:0,2 + amd", (Target("AMD", "KFD", (0, 2)),)),
        ("CPU:LLVM", (Target("CPU", renderer="LLVM"),)),
        (
            "MOCKKFD+AMD:LLVM:gfx1100",
            (Target("AMD", "MOCKKFD", renderer="LLVM", arch="gfx1100"),),
        ),
        ("AMD:LLVM:gfx90a:xnack+", None),
        (
            "KFD:0,2+AMD;CPU:llvm",
            (Target("AMD", "KFD", (0, 2)), Target("CPU", renderer="LLVM")),
        ),
    ],
)
def test_targets(text: str, expected: tuple[Target, ...] | None) -> None:
    if expected is None:
        with pytest.raises(DeviceNotFound):
            parse_targets(text)
    else:
        assert parse_targets(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("AMD;", "device type ''"),
        (";AMD", "device type ''"),
        ("+AMD", "interface ''"),
        ("KFD:+AMD", "index '' of KFD"),
        ("KFD:a+AMD", "index 'a' of KFD"),
        ("KFD:1,1+AMD", "named twice"),
        ("AMD:1", "visible indices go before the type"),
        ("AMD:", "renderer ''"),
        ("AMD:LLVM:", "architecture is empty"),
        ("1AMD", "device type '1AMD'"),
        ("AMD;CPU;amd", "AMD is named twice"),
    ],
)
def test_targets_invalid(text: str, message: str) -> None:
    with pytest.raises(DeviceNotFound, match=r"DEV=") as caught:
        parse_targets(text)
    assert message in str(caught.value)


def test_target_for_a_type() -> None:
    assert target_for("KFD+AMD;CPU:LLVM", "CPU") == Target("CPU", renderer="LLVM")
    assert target_for("KFD+AMD", "CPU") is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("AMD", "AMD"),
        ("AMD:0", "AMD"),
        ("amd:1", "AMD:1"),
        ("cpu:01", "CPU:1"),
        ("CPU:", "CPU"),
        ("disk:/tmp/Some File:2", "DISK:/tmp/Some File:2"),
    ],
)
def test_canonical_names(name: str, expected: str) -> None:
    assert canonical_name(name) == expected
    assert canonical_name(expected) == expected


@pytest.mark.parametrize("name", ["", ":1", "1", "CPU-1", " "])
def test_names_invalid(name: str) -> None:
    with pytest.raises(DeviceNotFound, match="expected TYPE"):
        canonical_name(name)


def test_split_name() -> None:
    assert split_name("AMD:3") == ("AMD", 3, "")
    assert split_name("DISK:/a:b") == ("DISK", 0, "/a:b")
