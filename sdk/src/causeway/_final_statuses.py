"""The final statuses of payments."""

FINAL_V1 = frozenset({2, 3, 4})
"""The final statuses of version 1: failed, cancelled, and confirmed."""
FINAL_V2 = frozenset({"ACSC", "ACCC", "RJCT", "CANC"})
"""The final statuses of version 2. ``ACSC`` counts as final although ``ACCC`` may follow, because most banks never
report ``ACCC``.
"""
