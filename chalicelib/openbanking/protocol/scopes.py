"""Scopes: the permissions that PSUs can grant (specification, Scopes). Each protocol version declares its own scopes.

Each scope belongs to a service, which requires a role of a payment service provider (ETSI TS 119 495, section 5.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from chalicelib.foundation.lazy_dataclasses import dataclass

Service = Literal["AISP", "PISP", "CBPII"]
Role = Literal["PSP_AS", "PSP_PI", "PSP_AI", "PSP_IC"]


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


ROLES_BY_SERVICE: Mapping[Service, Role] = {"AISP": "PSP_AI", "PISP": "PSP_PI", "CBPII": "PSP_IC"}
"""The role that each service requires. No service requires PSP_AS, the role of banks."""


def missing_roles(roles: Iterable[Role], services: Iterable[Service]) -> set[Role]:
    """Return the roles that ``services`` require and that ``roles`` does not contain."""
    return {ROLES_BY_SERVICE[service] for service in services} - set(roles)
