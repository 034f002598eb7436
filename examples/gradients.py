"""Differentiate a function of two matrices and compare with the formula."""

from __future__ import annotations

from tg_core import Tensor


def main() -> float:
    a = Tensor([[1.0, 2.0], [3.0, 4.0]])
    b = Tensor([[0.5, -1.0], [2.0, 0.25]])
    loss = (a @ b).square().sum()
    gradient_a, gradient_b = loss.gradient(a, b)
    # d/dA |AB|^2 = 2 AB B^T and d/dB |AB|^2 = 2 A^T AB
    expected_a = 2 * (a @ b) @ b.transpose(0, 1)
    expected_b = 2 * a.transpose(0, 1) @ (a @ b)
    difference = (gradient_a - expected_a).abs().max() + (gradient_b - expected_b).abs().max()
    print("gradient for a:", gradient_a.tolist())
    print("gradient for b:", gradient_b.tolist())
    return float(difference.item())


if __name__ == "__main__":
    main()
