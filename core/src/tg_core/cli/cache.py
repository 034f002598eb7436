"""`tg cache`: where compiled programs are kept, and how to be rid of them."""

from __future__ import annotations

import argparse
import sys

__all__ = ["add_cache_command"]

NOWHERE = "there is no cache: this user has no home, and TG_CACHE_DIR is not set"


def add_cache_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `cache show`, `verify`, `clear` and `path` to the command line."""
    cache = subparsers.add_parser("cache", help="the disk cache of compiled programs")
    actions = cache.add_subparsers(dest="action", metavar="ACTION", required=True)
    clear = actions.add_parser("clear", help="remove everything in it")
    clear.set_defaults(handler=run_clear)
    show = actions.add_parser("show", help="say where it is, and what is in it")
    show.set_defaults(handler=run_show)
    verify = actions.add_parser("verify", help="check every entry, and remove damaged ones")
    verify.set_defaults(handler=run_verify)
    path = actions.add_parser("path", help="print where it is")
    path.set_defaults(handler=run_path)


def run_clear(arguments: argparse.Namespace) -> int:
    """Run `tg cache clear`."""
    from tg_core.device.memory_pool import format_bytes
    from tg_core.support.cache_folder import cache_folder, clear_cache

    files, nbytes = clear_cache()
    where = cache_folder() or "nowhere"
    print(f"removed {files} entries ({format_bytes(nbytes)}) from {where}")
    return 0


def run_show(arguments: argparse.Namespace) -> int:
    """Run `tg cache show`."""
    from tg_core.config import CACHE_LIMIT_MB
    from tg_core.device.memory_pool import format_bytes
    from tg_core.support.cache_folder import cache_folder, caches, folder_size

    folder = cache_folder()
    if folder is None:
        print(NOWHERE)
        return 0
    print(f"{folder} (at most {CACHE_LIMIT_MB.value} MB)")
    for cache in caches():
        files, nbytes = folder_size(cache)
        print(f"{cache.name:<12} {files:6d} entries {format_bytes(nbytes):>10}")
    return 0


def run_verify(arguments: argparse.Namespace) -> int:
    """Run `tg cache verify`; the exit code is 1 when entries were damaged."""
    from tg_core.support.cache_folder import verify_cache

    whole, damaged = verify_cache()
    for path in damaged:
        path.unlink(missing_ok=True)
        print(f"removed {path}: damaged")
    print(f"{whole} entries are whole, {len(damaged)} were damaged")
    return 1 if damaged else 0


def run_path(arguments: argparse.Namespace) -> int:
    """Run `tg cache path`."""
    from tg_core.support.cache_folder import cache_folder

    folder = cache_folder()
    if folder is None:
        print(NOWHERE, file=sys.stderr)
        return 1
    print(folder)
    return 0
