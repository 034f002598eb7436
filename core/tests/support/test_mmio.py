from __future__ import annotations

import numpy as np

from tg_core.support.mmio import MMIOView


def test_words_and_parts_share_memory() -> None:
    cells = np.zeros(32, np.uint8)
    view = MMIOView(cells.data, "Q")
    view[1] = 0x1122334455667788
    assert (len(view), view.nbytes, view.address) == (4, 32, cells.ctypes.data)
    assert cells[8:16].tolist() == [0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11]
    part = view.view(8, 8, "I")
    assert part.read(0, 2) == [0x55667788, 0x11223344]
    part[0] = 1
    assert view[1] == 0x1122334400000001
