"""The roles of a payment service provider (ETSI TS 119 495, section 5.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from chalicelib.openbanking.protocol.scopes import Service

Role = Literal["PSP_AS", "PSP_PI", "PSP_AI", "PSP_IC"]

ROLES_BY_SERVICE: Mapping[Service, Role] = {"AISP": "PSP_AI", "PISP": "PSP_PI", "CBPII": "PSP_IC"}
"""The role that each service takes. PSP_AS, which is that of banks, covers none."""


def missing_roles(roles: Iterable[Role], services: Iterable[Service]) -> set[Role]:
    """The roles that ``services`` take and that are not among ``roles``."""
    return {ROLES_BY_SERVICE[service] for service in services} - set(roles)
