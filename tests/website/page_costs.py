"""What a page may weigh, in bytes."""

from __future__ import annotations

BYTES = 100_000
