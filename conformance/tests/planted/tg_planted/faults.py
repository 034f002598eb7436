"""Which fault this process runs with."""

import os

FAULT = os.environ.get("TG_PLANTED", "")


def planted(name: str) -> bool:
    """Tell whether this is the fault of this process."""
    return name == FAULT
