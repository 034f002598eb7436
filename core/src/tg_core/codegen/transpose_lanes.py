"""Store the lanes of neighbouring vectors crosswise.

Input, in `expand_vectors`: STOREs of vectors whose lanes lie apart, while the same lane of one
vector after the other lies next to each other: rows that are loaded along themselves and stored
along columns. Output: the transposed vectors, each stored as a whole, out of shuffles that take
lanes of two vectors:

    out[4*i + 0] = a[i], out[4*i + 1] = b[i], ...  for lanes i < 4
    ->  out[0:4] = (a[0], b[0], c[0], d[0]), out[4:8] = (a[1], b[1], c[1], d[1]), ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.codegen.utils import LinearForm, linear_form
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def lane(vector: UOp, position: int) -> UOp:
    """Return one lane of a vector value; a scalar is every lane of itself."""
    if not vector.shape:
        return vector
    if vector.op is Ops.STACK:
        return vector.src[position]
    return UOp(Ops.INDEX, (vector, UOp.const(position)))


def lanes(vector: UOp, start: int, count: int) -> UOp:
    """Return `count` lanes from `start` as a vector, one lane as a scalar."""
    if count == 1:
        return lane(vector, start)
    return UOp(Ops.STACK, tuple(lane(vector, i) for i in range(start, start + count)))


def _mixed(picked: Iterable[tuple[UOp, int]]) -> UOp:
    """Return lanes of vectors as one. Shuffles stay what they are: seen through, their lanes would
    come from more than two vectors.
    """
    return UOp(Ops.STACK, tuple(UOp(Ops.INDEX, (v, UOp.const(i))) for v, i in picked))


def _joined(vectors: list[UOp], width: int) -> UOp:
    """Return the lanes of vectors one after the other, a power of two of them."""
    while len(vectors) > 1:
        vectors = [
            _mixed((v, i) for v in pair for i in range(width))
            for pair in zip(vectors[::2], vectors[1::2], strict=True)
        ]
        width *= 2
    return vectors[0]


def _interleaved(left: UOp, right: UOp, width: int, block: int, piece: int) -> Iterator[UOp]:
    """Yield two vectors: pieces of both in turn, from the lower and the upper half of each block
    of lanes.
    """
    for half in (0, block // 2):
        yield _mixed(
            (source, start + half + at + i)
            for start in range(0, width, block)
            for at in range(0, block // 2, piece)
            for source in (left, right)
            for i in range(piece)
        )


def transposed(vectors: list[UOp], width: int) -> list[UOp]:
    """Return a vector for each lane: that lane of all the vectors.

    Args:
        vectors: as many as a power of two.
        width: lanes of each, a power of two.
    """
    count = len(vectors)
    if count > width:
        # blocks side by side are transposed by the same shuffles
        vectors = [_joined(vectors[i::width], width) for i in range(width)]
    wide, parts, piece = max(count, width), [[v] for v in vectors], 1
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [
            [
                mixed
                for left, right in zip(first, second, strict=True)
                for mixed in _interleaved(left, right, wide, width, piece)
            ]
            for first, second in pairs
        ]
        piece *= 2
    if count >= width:
        return parts[0]
    return [
        UOp(Ops.INDEX, (part, UOp.const(start)), count)
        for part in parts[0]
        for start in range(0, width, count)
    ]


def _place(found: tuple[LinearForm, UOp]) -> int:
    return found[0].constant


def _follows(form: LinearForm, before: LinearForm) -> bool:
    """Tell whether one index is the other and one."""
    same = form.coefficients == before.coefficients and form.terms == before.terms
    return same and form.constant == before.constant + 1


def _power_of_two(most: int) -> int:
    """Return the greatest power of two up to a positive number."""
    return 1 << (most.bit_length() - 1)


def neighbouring_stores(group: UOp, rng: UOp, width: int, most: int) -> list[list[UOp]]:
    """Return the STOREs of a GROUP that can be stored crosswise, a power of two of them together,
    in the order of their places.

    Args:
        group: a GROUP.
        rng: the range that becomes lanes.
        width: its size.
        most: how many stores at most become one.
    """
    found: dict[UOp, list[tuple[LinearForm, UOp]]] = {}
    for store in group.src:
        if store.op is not Ops.STORE or len(store.src) != 2 or rng not in store.src[1].ranges:
            continue
        storage, index = store.src[0].src
        form = linear_form(index)
        if abs(form.stride(rng) or 0) > 1:
            found.setdefault(storage, []).append((form, store))
    runs: list[list[tuple[LinearForm, UOp]]] = []
    for stores in found.values():
        for one in sorted(stores, key=_place):
            if not runs or not _follows(one[0], runs[-1][-1][0]):
                runs.append([])
            runs[-1].append(one)
    together: list[list[UOp]] = []
    for run in runs if width == _power_of_two(width) else ():
        rest = [store for _, store in run]
        apart = abs(run[0][0].stride(rng) or 0)
        while len(rest) > 1:
            # the places of the next lane do not lie in between
            count = _power_of_two(min(len(rest), apart, most))
            together.append(rest[:count])
            rest = rest[count:]
    return together
