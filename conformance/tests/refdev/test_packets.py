"""The formats, as documented."""

from __future__ import annotations

import json
import struct

import pytest

from tg_conformance.refdev.packets import LENGTHS, Opcode, header, pack_image, unpack_image
from tg_core.backend import PacketFault, ProgramInfo

TEXT = json.dumps(
    {
        "format": 1,
        "name": "k",
        "arguments": [0, 1, 2],
        "nodes": [
            ["PARAM", "float32", 0, [], 16],
            ["PARAM", "int8", 0, [], 3],
            ["PARAM", "int32", 1, [], None],
        ],
    }
).encode()


def test_headers_hold_opcode_and_length() -> None:
    assert [header(op) for op in Opcode] == [op << 16 | LENGTHS[op] for op in Opcode]
    assert header(Opcode.EXEC) == 0x2000C


def test_images_hold_lengths_and_rights() -> None:
    data = pack_image(TEXT, ProgramInfo("k", params=(0, 1), outs=(0,), ins=(0, 1)))
    assert struct.unpack_from("<4I4Q", data) == (0x4B464552, 2, 1, len(TEXT), 64, 3, 3, 1)
    image = unpack_image(data)
    assert (image.name, image.buffers, image.variables) == ("k", ((64, 3), (3, 1)), 1)


@pytest.mark.parametrize("cut", [0, 8, 40])
def test_what_is_no_image_is_a_fault(cut: int) -> None:
    data = pack_image(TEXT, ProgramInfo("k", params=(0, 1), outs=(0,), ins=(0, 1)))
    with pytest.raises(PacketFault, match="image"):
        unpack_image(data[:cut])
