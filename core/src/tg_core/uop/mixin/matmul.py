"""Products of matrices and their general form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tg_core.dtype import DTypeLike, dtypes, to_dtype
from tg_core.errors import DTypeError, ShapeError
from tg_core.uop.mixin.extrema import ExtremaMixin
from tg_core.uop.mixin.reduce import accumulation_dtype
from tg_core.uop.mixin.shape_utils import shape_text
from tg_core.uop.opcodes import Ops

if TYPE_CHECKING:
    from typing import Self


class MatmulMixin(ExtremaMixin):
    """`dot matmul linear einsum`."""

    __slots__ = ()

    def _product_sum(self, other: Self, axes: tuple[int, ...], dtype: DTypeLike | None) -> Self:
        """Return the sum of the elementwise product over the axes, narrow floats in float32."""
        common = self._result_dtype(self.dtype, other.dtype)
        result = common if dtype is None else to_dtype(dtype)
        wide = accumulation_dtype(result)
        if dtypes.is_int(common) or common is dtypes.bool:
            # integers multiply in their own width, as in PyTorch
            wide = result = result if result is not dtypes.bool else dtypes.default_int()
        product = self._as(wide) * other._as(wide)
        return product._reduce(Ops.ADD, axes, False)._as(result)

    def dot(self, w: Self, dtype: DTypeLike | None = None) -> Self:
        """Return the matrix product; vectors and stacks of matrices as in `numpy.matmul`.

        Args:
            w: the right operand.
            dtype: the dtype of the result; narrow floats accumulate in float32 in any case.

        Raises:
            ShapeError: the inner sizes differ, or an operand is a scalar.
        """
        w = self._operand(w, "dot")
        if not self.ndim or not w.ndim:
            raise ShapeError(
                f"matmul: operands need an axis, found shapes {shape_text(self.shape)} and "
                f"{shape_text(w.shape)}"
            )
        inner = w.shape[max(w.ndim - 2, 0)]
        if self.shape[-1] is not inner and self.shape[-1] != inner:
            raise ShapeError(
                f"matmul: shapes {shape_text(self.shape)} and {shape_text(w.shape)} do not fit, "
                f"inner sizes {self.shape[-1]} and {inner}"
            )
        left = self if self.ndim > 1 else self.unsqueeze(0)
        right = w if w.ndim > 1 else w.unsqueeze(-1)
        # (..., m, 1, k) * (..., 1, n, k), summed over k
        rows = left.unsqueeze(-2)
        columns = right.transpose(right.ndim - 2, right.ndim - 1).unsqueeze(-3)
        rank = max(rows.ndim, columns.ndim)
        result = rows._product_sum(columns, (rank - 1,), dtype)
        if self.ndim == 1:
            result = result.squeeze(-2)
        return result.squeeze(-1) if w.ndim == 1 else result

    def matmul(self, x: Self, reverse: bool = False, dtype: DTypeLike | None = None) -> Self:
        """Return `self @ x`, or `x @ self` when `reverse`."""
        other = self._operand(x, "matmul")
        return other.dot(self, dtype) if reverse else self.dot(other, dtype)

    def __matmul__(self, x: Any) -> Self:
        return self.matmul(x)

    def __rmatmul__(self, x: Any) -> Self:
        return self.matmul(x, reverse=True)

    def linear(
        self, weight: Self, bias: Self | None = None, dtype: DTypeLike | None = None
    ) -> Self:
        """Return `self @ weight + bias`; a vector as weight scales the last axis.

        Args:
            weight: of shape (in, out), or (features,).
            bias: added, of shape (out,).
            dtype: convert self, weight and bias to this dtype first.
        """
        self._same_kind(weight, "linear")
        if bias is not None:
            self._same_kind(bias, "linear")
        if dtype is not None:
            cast_bias = None if bias is None else bias.cast(dtype)
            return self.cast(dtype).linear(weight.cast(dtype), cast_bias)
        product = self * weight if weight.ndim == 1 else self.dot(weight)
        return product if bias is None else product + bias

    @classmethod
    def einsum(
        cls, formula: str, *operands: Self | Sequence[Self], dtype: DTypeLike | None = None
    ) -> Self:
        """Return the sum of products that the formula names, in Einstein's notation.

        Args:
            formula: as in `numpy.einsum`; blanks, ellipses and repeated letters are allowed.
            *operands: one tensor for each input of the formula, or one sequence of them.
            dtype: the dtype to sum in.

        Raises:
            ShapeError: the formula does not fit the operands.
        """
        tensors = (
            operands[0]
            if len(operands) == 1 and isinstance(operands[0], (list, tuple))
            else operands
        )
        result: Self = _einsum(formula, list(tensors), dtype)
        return result

    def image_dot(self, w: Self, dtype: DTypeLike | None = None) -> Self:
        """Multiply with textures; needs a backend with image storage.

        Raises:
            DTypeError: no installed backend has image storage.
        """
        raise DTypeError("image_dot: needs a backend with image storage, use dot()")


def _parse(formula: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """Return the letters of each input and of the output, with ellipses as capital-free letters."""
    text = "".join(formula.split())
    left, arrow, right = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ranks):
        raise ShapeError(f"einsum: {formula!r} names {len(inputs)} operands, {len(ranks)} given")
    named = set("".join(inputs) + right) - set(".")
    if any(not letter.isalpha() for letter in named):
        raise ShapeError(f"einsum: {formula!r} may hold letters, commas, '...' and '->' only")
    extra = max(
        (
            rank - len(t.replace("...", ""))
            for t, rank in zip(inputs, ranks, strict=True)
            if "..." in t
        ),
        default=0,
    )
    spare = [chr(code) for code in range(0x3B1, 0x3B1 + max(extra, 0))]
    expanded = []
    for term, rank in zip(inputs, ranks, strict=True):
        hidden = rank - len(term.replace("...", ""))
        if hidden < 0 or (hidden and "..." not in term):
            raise ShapeError(f"einsum: {term!r} of {formula!r} does not fit {rank} axes")
        expanded.append(term.replace("...", "".join(spare[len(spare) - hidden :])))
    if arrow:
        output = right.replace("...", "".join(spare))
    else:
        joined = "".join(expanded)
        once = sorted(l for l in set(joined) - set(spare) if joined.count(l) == 1)
        output = "".join(spare) + "".join(once)
    if len(set(output)) != len(output) or set(output) - set("".join(expanded)):
        raise ShapeError(f"einsum: the output of {formula!r} repeats or invents a letter")
    return expanded, output


def _einsum(formula: str, tensors: list[Any], dtype: DTypeLike | None) -> Any:
    if not tensors:
        raise ShapeError("einsum: no operands")
    if any(not hasattr(tensor, "_product_sum") for tensor in tensors):
        found = ", ".join(type(tensor).__name__ for tensor in tensors)
        raise DTypeError(f"einsum: expected a formula and tensors, found {found}")
    if not isinstance(formula, str):
        raise DTypeError(f"einsum: the formula must be a str, found {formula!r}")
    terms, output = _parse(formula, [tensor.ndim for tensor in tensors])
    sizes: dict[str, Any] = {}
    for term, tensor in zip(terms, tensors, strict=True):
        for letter, size in zip(term, tensor.shape, strict=True):
            known = sizes.get(letter, 1)
            if known is not size and known != size and 1 not in (known, size):
                raise ShapeError(
                    f"einsum: {letter!r} of {formula!r} has sizes {known} and {size} in shapes "
                    + ", ".join(shape_text(t.shape) for t in tensors)
                )
            sizes[letter] = size if letter not in sizes or known == 1 else known
    letters = output + "".join(sorted(set(sizes) - set(output)))
    laid_out = []
    for term, tensor in zip(terms, tensors, strict=True):
        term, tensor = _take_diagonals(term, tensor)
        order = tuple(term.index(letter) for letter in letters if letter in term)
        moved = tensor.permute(order)
        have = iter(moved.shape)
        laid_out.append(moved.reshape(tuple(next(have) if l in term else 1 for l in letters)))
    product = laid_out[0]
    summed = tuple(range(len(output), len(letters)))
    shape = tuple(sizes[letter] for letter in letters)
    for operand in laid_out[1:-1]:
        product = product * operand
    if len(laid_out) > 1:
        last = laid_out[-1]._broadcast_to(shape) if summed else laid_out[-1]
        return product._product_sum(last, summed, dtype)
    one = product if dtype is None else product.cast(dtype)
    wide = accumulation_dtype(one.dtype) if dtypes.is_float(one.dtype) else one.dtype
    return one._broadcast_to(shape)._as(wide)._reduce(Ops.ADD, summed, False)._as(one.dtype)


def _take_diagonals(term: str, tensor: Any) -> tuple[str, Any]:
    """Return the term without repeated letters, and the diagonal over their axes."""
    for letter in sorted(set(term)):
        while term.count(letter) > 1:
            first = term.index(letter)
            second = term.index(letter, first + 1)
            tensor = tensor.diagonal(0, first, second)
            term = term[:first] + term[first + 1 : second] + term[second + 1 :] + letter
    return term, tensor
