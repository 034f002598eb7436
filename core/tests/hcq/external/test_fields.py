"""Which fields linking writes, and which the program stores."""

from __future__ import annotations

import ctypes

from tg_core.dtype import dtypes
from tg_core.hcq.external import Field, cstruct, host_storage, split_fields
from tg_core.hcq.external.fields import placeholders_in, storage_of
from tg_core.uop.ops import KernelInfo, Ops, UOp

OUT = host_storage(("host", "out"), dtypes.uint8, 8)
WORDS = host_storage(("host", "words"), dtypes.uint32, 8)


class Pair(ctypes.Structure):
    _fields_ = [("number", ctypes.c_uint32), ("other", ctypes.c_uint32)]


class Link(ctypes.Structure):
    _fields_ = [("pair", ctypes.c_void_p)]


def body_of(storage: UOp) -> UOp:
    stored = OUT.index(UOp.const(0)).store(storage.index(UOp.const(0)).load())
    return UOp.sink(stored, arg=KernelInfo("t", ()))


def test_numbers_are_known() -> None:
    made = cstruct(Pair, number=7, other=UOp.const(2, dtypes.uint32) + 3)
    body, fields = split_fields(body_of(made))
    assert body is body_of(storage_of(made))
    ((memory, found),) = fields.items()
    assert memory is storage_of(made)
    assert [(f.offset, f.nbytes) for f in found] == [(0, 4), (4, 4)]
    assert found[0] == Field(0, 4, UOp.const(7, dtypes.uint32))


def test_what_is_loaded_is_stored_byte_by_byte() -> None:
    value = WORDS.index(UOp.const(3)).load()
    body, fields = split_fields(body_of(cstruct(Pair, number=1, other=value)))
    assert [[f.offset for f in found] for found in fields.values()] == [[0]]
    stores = [n for n in body.toposort() if n.op is Ops.STORE and n.src[0].src[0] is not OUT]
    assert sorted(store.src[0].src[1].const_value for store in stores) == [4, 5, 6, 7]
    assert not any(n.op is Ops.INS for n in body.toposort())


def test_structures_that_only_others_point_to_are_found() -> None:
    pair = cstruct(Pair, number=5)
    body, fields = split_fields(body_of(cstruct(Link, pair=pair)))
    assert storage_of(pair) in fields
    assert storage_of(pair) not in body.toposort()
    (address,) = [f.value for memory, found in fields.items() for f in found if f.nbytes == 8]
    assert address.src[0] is storage_of(pair)


def test_a_computed_field_behind_an_address_comes_before_the_reader() -> None:
    value = WORDS.index(UOp.const(3)).load()
    pair = cstruct(Pair, other=value)
    body, _ = split_fields(body_of(cstruct(Link, pair=pair)))
    stored = {n.src[0].src[0] for n in body.toposort() if n.op is Ops.STORE}
    assert storage_of(pair) in stored


def test_a_body_without_structures_is_left_alone() -> None:
    body = body_of(OUT)
    assert split_fields(body) == (body, {})


def test_placeholders_come_in_the_order_of_the_walk() -> None:
    first = WORDS.index(UOp.const(0)).load().cast(dtypes.uint8)
    body = UOp.sink(OUT.index(UOp.const(0)).store(first), arg=KernelInfo("t", ()))
    assert set(placeholders_in([body])) == {OUT, WORDS}
    assert placeholders_in([WORDS, body])[0] is WORDS


def test_deep_chains_need_no_stack() -> None:
    value = UOp.const(0, dtypes.uint32)
    for _ in range(30_000):
        value = value + WORDS.index(UOp.const(0)).load()
    body, fields = split_fields(body_of(cstruct(Pair, number=value)))
    assert fields == {}
    assert any(n.op is Ops.STORE for n in body.toposort())
