"""The linear algebra extension of the standard."""

from tg_core.array_api.linalg.elimination import SlogdetResult, det, inv, slogdet, solve
from tg_core.array_api.linalg.norms import matrix_norm, vector_norm
from tg_core.array_api.linalg.products import cross, diagonal, matrix_power, outer, trace
from tg_core.array_api.linalg.singular import SVDResult, matrix_rank, pinv, svd, svdvals
from tg_core.array_api.linalg.symmetric import EighResult, eigh, eigvalsh
from tg_core.array_api.linalg.triangular import QRResult, cholesky, qr
from tg_core.array_api.linear_algebra import matmul, matrix_transpose, tensordot, vecdot

__all__ = [
    "EighResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
