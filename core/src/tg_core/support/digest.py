"""BLAKE2b, without what `hashlib` loads to find a faster one of another algorithm.

Importing `hashlib` loads OpenSSL, which takes as long as a tenth of core. The digest is CPython's
own in either case; where an interpreter hides the module, `hashlib` has it.
"""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

__all__ = ["blake2b"]
