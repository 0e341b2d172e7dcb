"""``python -m costlib``: see `costlib.measured.timing`."""

import sys

from costlib.measured.timing import main

if __name__ == "__main__":
    sys.exit(main())
