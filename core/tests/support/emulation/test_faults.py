from __future__ import annotations

from tg_core.support.emulation import AccessFault, FaultReport, PacketFault


def test_a_report_has_the_place_of_an_access() -> None:
    report = FaultReport.of("X COMPUTE:0", AccessFault("no", 0x1000, 8, True))
    assert report == FaultReport("X COMPUTE:0", "access", "no", 0x1000, 8, True)


def test_a_report_finds_the_access_behind_a_packet() -> None:
    fault = PacketFault("packet 3: no")
    fault.__cause__ = AccessFault("no", 0x20, 4)
    assert FaultReport.of("q", fault) == FaultReport("q", "packet", "packet 3: no", 0x20, 4, False)
    assert FaultReport.of("q", PacketFault("bad")) == FaultReport("q", "packet", "bad")
    assert FaultReport.of("q", AccessFault("bad")).address is None
