"""One step of a long short-term memory."""

from __future__ import annotations

from tg_core.errors import ShapeError
from tg_core.nn.initializers import uniform_by_fan_in
from tg_core.tensor import Tensor

__all__ = ["LSTMCell"]


class LSTMCell:
    """Advance the hidden and the cell state of an LSTM by one input.

    With input x, states h and c, and `z = W_ih x + b_ih + W_hh h + b_hh` split in four parts::

        c' = sigmoid(z_forget) * c + sigmoid(z_input) * tanh(z_cell)
        h' = sigmoid(z_output) * tanh(c')

    Args:
        input_size: size of the input.
        hidden_size: size of each state.
        bias: whether to add the two biases.

    Source: Hochreiter and Schmidhuber, "Long short-term memory" (1997), with the forget gate of
    Gers et al. (2000); gates in the order input, forget, cell, output, as PyTorch stores them.
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        self.input_size = input_size
        self.hidden_size = hidden_size
        rows = 4 * hidden_size
        self.weight_ih = uniform_by_fan_in((rows, input_size), hidden_size)
        """Shape `(4 * hidden_size, input_size)`."""
        self.weight_hh = uniform_by_fan_in((rows, hidden_size), hidden_size)
        """Shape `(4 * hidden_size, hidden_size)`."""
        self.bias_ih = uniform_by_fan_in((rows,), hidden_size) if bias else None
        """Shape `(4 * hidden_size,)`, or None."""
        self.bias_hh = uniform_by_fan_in((rows,), hidden_size) if bias else None
        """Shape `(4 * hidden_size,)`, or None."""

    def __call__(self, x: Tensor, hc: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """Return the next hidden and cell state, each of shape `(batch, hidden_size)`.

        Args:
            x: the input, shape `(batch, input_size)`.
            hc: hidden and cell state, each of shape `(batch, hidden_size)`; zeros where None.

        Raises:
            ShapeError: a shape is another.
        """
        if x.ndim != 2 or x.shape[1] != self.input_size:
            raise ShapeError(
                f"LSTMCell: expected an input of shape (batch, {self.input_size}), found {x.shape}"
            )
        if hc is None:
            zeros = Tensor.zeros(
                x.shape[0], self.hidden_size, dtype=self.weight_hh.dtype, device=x.device
            )
            hc = (zeros, zeros)
        hidden, cell = hc
        if hidden.shape != (x.shape[0], self.hidden_size) or cell.shape != hidden.shape:
            raise ShapeError(
                f"LSTMCell: expected states of shape {(x.shape[0], self.hidden_size)}, found"
                f" {hidden.shape} and {cell.shape}"
            )
        from_input = x.linear(self.weight_ih.transpose(0, 1), self.bias_ih)
        from_hidden = hidden.linear(self.weight_hh.transpose(0, 1), self.bias_hh)
        admit, forget, candidate, emit = (from_input + from_hidden).chunk(4, dim=1)
        next_cell = forget.sigmoid() * cell + admit.sigmoid() * candidate.tanh()
        return emit.sigmoid() * next_cell.tanh(), next_cell
