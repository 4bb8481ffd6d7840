"""Scopes: the rights that a PSU can give (specification, Scopes); each version declares its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Service = Literal["AISP", "PISP", "CBPII"]


@dataclass(frozen=True, slots=True)
class Scope:
    """One right that a PSU can give: its name, its role, and its meaning."""

    name: str
    service: Service
    meaning: str

    @property
    def needs_accounts(self) -> bool:
        """Whether an approval of this scope has to name accounts."""
        return self.service == "AISP"

    def __str__(self) -> str:
        return self.name
