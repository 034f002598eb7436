"""Write `zip.pt` and `legacy.pt`, small files of `torch.save`, for the tests; needs PyTorch."""

from __future__ import annotations

from pathlib import Path

import torch

FOLDER = Path(__file__).parent


def main() -> None:
    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    state = {
        "base": base,
        "view": base[1:3, ::2],
        "half": torch.linspace(-2, 2, 5, dtype=torch.float16),
        "brain": torch.linspace(-2, 2, 5, dtype=torch.bfloat16),
        "long": torch.tensor([[1, -2], [3, 1 << 40]]),
        "flags": torch.tensor([True, False, True]),
        "scalar": torch.tensor(3.5),
        "nested": [1, 2.5, "text", None, (torch.zeros(2), {"a": 1})],
    }
    torch.save(state, FOLDER / "zip.pt")
    torch.save(state, FOLDER / "legacy.pt", _use_new_zipfile_serialization=False)


if __name__ == "__main__":
    main()
