"""The small form of long tests, which the merge gate runs: ``make test-faults SMALL=1`` and ``test-pages``."""

import os

SMALL = bool(os.environ.get("SMALL"))


def fewer(count: int, small: int) -> int:
    """Return ``count``, or ``small`` in the small form."""
    return small if SMALL else count
