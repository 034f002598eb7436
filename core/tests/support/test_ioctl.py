from __future__ import annotations

import pytest

from tg_core.support.ioctl import Direction, ioctl_request, split_request

# numbers out of kernel headers: TCGETS2, FS_IOC_GETFLAGS, DRM_IOCTL_VERSION, KFD GET_VERSION
KNOWN = [
    (Direction.READ, ord("T"), 0x2A, 44, 0x802C542A),
    (Direction.READ, ord("f"), 1, 8, 0x80086601),
    (Direction.READ | Direction.WRITE, ord("d"), 0, 64, 0xC0406400),
    (Direction.READ, ord("K"), 1, 8, 0x80084B01),
    (Direction.NONE, 0x12, 119, 0, 0x1277),
]


@pytest.mark.parametrize(("direction", "kind", "number", "nbytes", "request_number"), KNOWN)
def test_numbers_are_those_of_the_kernel(
    direction: Direction, kind: int, number: int, nbytes: int, request_number: int
) -> None:
    assert ioctl_request(direction, kind, number, nbytes) == request_number
    assert split_request(request_number) == (direction, kind, number, nbytes)
