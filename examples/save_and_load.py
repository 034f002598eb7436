"""Save a model to a safetensors file and load it into another one."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tg_core import Tensor, nn


class Classifier:
    """A convolution, a normalization and a linear layer."""

    def __init__(self) -> None:
        self.convolution = nn.Conv2d(1, 4, 3, padding=1)
        self.normalization = nn.BatchNorm(4)
        self.head = nn.Linear(4 * 8 * 8, 10)

    def __call__(self, x: Tensor) -> Tensor:
        return self.head(self.normalization(self.convolution(x)).relu().flatten(1))


def main() -> bool:
    first, second = Classifier(), Classifier()
    images = Tensor.rand(2, 1, 8, 8).realize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "classifier.safetensors"
        nn.state.safe_save(nn.state.get_state_dict(first), path)
        print(f"{path.stat().st_size} bytes in {path.name}")
        nn.state.load_state_dict(second, nn.state.safe_load(path))
    same = bool((first(images) == second(images)).all().item())
    print("both models give the same scores:", same)
    return same


if __name__ == "__main__":
    main()
