"""``python -m costlib``: the command line."""

import sys

from costlib.command import main

if __name__ == "__main__":
    sys.exit(main())
