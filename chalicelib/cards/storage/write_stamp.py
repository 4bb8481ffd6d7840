"""The moment of a change: what its writes have in common."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WriteStamp:
    """When something is written (Unix milliseconds), and by which attempt."""

    at: int
    write_id: str

    @property
    def now(self) -> int:
        """The same in Unix seconds."""
        return self.at // 1000
