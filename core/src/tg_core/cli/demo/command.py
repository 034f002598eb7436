"""The arguments of `tg demo`."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["add_demo_command", "run_digits_demo", "run_embed_demo"]

EPOCHS = 20


def add_demo_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `demo digits` and `demo embed` to the command line."""
    demo = subparsers.add_parser(
        "demo",
        help="train a small network, or run a published one, on real data",
        description="Programs that train or run models on real data and show the result.",
    )
    demos = demo.add_subparsers(dest="demo", metavar="NAME", required=True)
    digits = demos.add_parser(
        "digits",
        help="a convolutional network on the UCI handwritten digits",
        description="Train a small convolutional network on the UCI handwritten digits; print a"
        " table and draw the loss, the confusion matrix and the misclassified digits.",
    )
    digits.add_argument(
        "--seed", type=_natural, default=0, help="of the split, the weights and the order"
    )
    digits.add_argument("--device", metavar="NAME", help="the default device unless given")
    length = digits.add_mutually_exclusive_group()
    length.add_argument(
        "--epochs", type=_positive, default=EPOCHS, help=f"passes over the data ({EPOCHS})"
    )
    length.add_argument("--steps", type=_positive, help="number of batches instead of passes")
    digits.add_argument(
        "--out", type=Path, default=Path("tg-digits"), metavar="DIR", help="folder of the picture"
    )
    digits.add_argument("--json", type=Path, metavar="FILE", help="write the result as JSON too")
    digits.set_defaults(handler=run_digits_demo)
    _add_embed(demos)


def _add_embed(demos: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    embed = demos.add_parser(
        "embed",
        help="how similar sentences are, by the all-MiniLM-L6-v2 model",
        description="Embed sentences with the published weights of all-MiniLM-L6-v2 and print a"
        " heat map of their cosine similarities. Needs two packages; the error names them.",
    )
    embed.add_argument("sentences", nargs="+", metavar="SENTENCE", help="a text, in quotes")
    embed.add_argument("--device", metavar="NAME", help="the default device unless given")
    embed.add_argument("--json", type=Path, metavar="FILE", help="write vectors and similarities")
    embed.set_defaults(handler=run_embed_demo)


def run_embed_demo(arguments: argparse.Namespace) -> int:
    """Run `tg demo embed` on the device that the arguments name."""
    from rich.console import Console

    from tg_core.cli.demo.embed import EmbedOptions, run_embed
    from tg_core.config import Context
    from tg_core.device import Device

    device = Device.require(arguments.device)
    options = EmbedOptions(tuple(arguments.sentences), device, arguments.json)
    with Context(DEV=device):
        return run_embed(options, Console())


def run_digits_demo(arguments: argparse.Namespace) -> int:
    """Run `tg demo digits` on the device that the arguments name."""
    from rich.console import Console

    from tg_core.cli.demo.digits import Options, run_digits
    from tg_core.config import Context
    from tg_core.device import Device

    device = Device.require(arguments.device)
    options = Options(
        seed=arguments.seed,
        device=device,
        epochs=arguments.epochs,
        steps=arguments.steps,
        out=arguments.out,
        json=arguments.json,
    )
    with Context(DEV=device):
        return run_digits(options, Console())


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number above 0, found {text}")
    return number


def _natural(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"expected 0 or more, found {text}")
    return number
