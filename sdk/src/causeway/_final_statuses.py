"""The final statuses of payments."""

FINAL_V1 = frozenset({2, 3, 4})
"""Failed, cancelled, confirmed."""
FINAL_V2 = frozenset({"ACSC", "ACCC", "RJCT", "CANC"})
"""``ACSC`` may still become ``ACCC``, which most banks never report."""
