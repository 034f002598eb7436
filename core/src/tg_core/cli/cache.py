"""`tg cache`: where compiled programs are kept, and how to be rid of them."""

from __future__ import annotations

import argparse

__all__ = ["add_cache_command"]


def add_cache_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `cache clear` and `cache path` to the command line."""
    cache = subparsers.add_parser("cache", help="the disk cache of compiled programs")
    actions = cache.add_subparsers(dest="action", metavar="ACTION", required=True)
    clear = actions.add_parser("clear", help="remove everything in it")
    clear.set_defaults(handler=run_clear)
    path = actions.add_parser("path", help="print where it is")
    path.set_defaults(handler=run_path)


def run_clear(arguments: argparse.Namespace) -> int:
    """Run `tg cache clear`."""
    from tg_core.device.memory_pool import format_bytes
    from tg_core.support.disk_cache import cache_folder, clear_cache

    files, nbytes = clear_cache()
    print(f"removed {files} entries ({format_bytes(nbytes)}) from {cache_folder()}")
    return 0


def run_path(arguments: argparse.Namespace) -> int:
    """Run `tg cache path`."""
    from tg_core.support.disk_cache import cache_folder

    print(cache_folder())
    return 0
