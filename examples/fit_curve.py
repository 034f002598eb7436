"""Fit a small network to a sine wave and print how far off it is."""

from __future__ import annotations

import math

from tg_core import Tensor, nn


class Curve:
    """One hidden layer, from one number to one number."""

    def __init__(self, width: int = 32) -> None:
        self.hidden = nn.Linear(1, width)
        self.output = nn.Linear(width, 1)

    def __call__(self, x: Tensor) -> Tensor:
        return self.output(self.hidden(x).tanh())


def main(steps: int = 300) -> float:
    Tensor.manual_seed(0)
    x = Tensor.linspace(-math.pi, math.pi, 64).reshape(64, 1).realize()
    y = x.sin().realize()
    model = Curve()
    optimizer = nn.optim.Adam(nn.state.get_parameters(model), lr=0.02)
    with Tensor.train():
        for _ in range(steps):
            optimizer.zero_grad()
            (model(x) - y).square().mean().backward()
            optimizer.step()
    error = (model(x) - y).abs().max().item()
    print(f"largest error of the fit: {error:.3f}")
    return error


if __name__ == "__main__":
    main()
