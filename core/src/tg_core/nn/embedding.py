"""The embedding table."""

from __future__ import annotations

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError
from tg_core.nn.initializers import parameter
from tg_core.tensor import Tensor

__all__ = ["Embedding"]


class Embedding:
    """Look up one row of a table per index.

    Args:
        vocab_size: number of rows.
        embed_size: length of a row.
    """

    def __init__(self, vocab_size: int, embed_size: int) -> None:
        self.weight = parameter(Tensor.randn(vocab_size, embed_size))
        """Shape `(vocab_size, embed_size)`, drawn from the standard normal distribution."""

    def __call__(self, index: Tensor) -> Tensor:
        """Return the rows that `index` names, shape `(*index.shape, embed_size)`.

        An index outside the table reads zeros, as tensor indices do everywhere.

        Raises:
            DTypeError: `index` does not hold integers.
        """
        if not dtypes.is_int(index.dtype):
            raise DTypeError(f"Embedding: expected integer indices, found {index.dtype.name}")
        return self.weight[index]
