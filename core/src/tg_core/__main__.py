"""`python -m tg_core` is `tg`."""

import sys

from tg_core.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
