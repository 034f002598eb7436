"""What the plugin that counts proofs writes."""

from __future__ import annotations

from index_proofs import Proofs

from tg_core.dtype import dtypes
from tg_core.uop.ops import KernelInfo, UOp
from tg_core.uop.validate import check_accesses

r = UOp.range(8, 0)


def kernel(size: int) -> UOp:
    store = UOp.param(0, dtypes.float32, (size,)).index(r).store(UOp.const(0.0, dtypes.float32))
    return UOp.sink(store.end(r), arg=KernelInfo(f"fill_{size}"))


def found(proofs: Proofs, test: str, size: int) -> None:
    proofs.test = test
    proofs.add(kernel(size), "some-pass", check_accesses(kernel(size)))


def test_kernels_are_counted_once_and_what_is_not_proved_is_listed() -> None:
    proofs, worker = Proofs(), Proofs()
    found(proofs, "a::refused", 7)
    found(worker, "b::fine", 8)
    found(worker, "c::again", 8)
    found(worker, "d::broken", 6)
    proofs.merge(worker.to_json())
    proofs.failed.append("d::broken")
    report = proofs.report()
    assert (report["kernels"], report["accesses"]) == (3, 3)
    assert (report["by_bounds"], report["violated"], report["timeouts"]) == (1, 2, 0)
    assert [(e["test"], e["kernel"], e["outcome"]) for e in report["unproved"]] == [
        ("a::refused", "fill_7", "refused as expected"),
        ("d::broken", "fill_6", "failed"),
    ]
    assert report["unproved"][0]["accesses"].startswith("STORE of p0[r0] in storage of 7")
