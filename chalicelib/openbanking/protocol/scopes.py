"""Scopes: the permissions that PSUs can grant (specification, Scopes). Each version declares its own."""

from __future__ import annotations

from typing import Literal

from chalicelib.foundation.lazy_dataclasses import dataclass

Service = Literal["AISP", "PISP", "CBPII"]


@dataclass(frozen=True, slots=True)
class Scope:
    """A permission that a PSU can grant: its name, service and meaning."""

    name: str
    service: Service
    meaning: str

    @property
    def needs_accounts(self) -> bool:
        """Whether an approval of this scope must include accounts."""
        return self.service == "AISP"

    def __str__(self) -> str:
        return self.name
