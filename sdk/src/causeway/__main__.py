"""Runs the command ``causeway`` as ``python -m causeway``."""

import sys

from causeway.cli import main

if __name__ == "__main__":
    sys.exit(main())
