"""The roles of a payment service provider, as its PSD2 certificate states them (ETSI TS 119 495, section 5.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from chalicelib.foundation.crypto.certificates import load_certificate
from chalicelib.openbanking.protocol.scopes import Service

Role = Literal["PSP_AS", "PSP_PI", "PSP_AI", "PSP_IC"]

ROLES_BY_SERVICE: Mapping[Service, Role] = {"AISP": "PSP_AI", "PISP": "PSP_PI", "CBPII": "PSP_IC"}
"""The role that each service takes. PSP_AS, which is that of banks, covers none."""


def read_roles(pem: str) -> frozenset[Role]:
    """The roles that a certificate states; none if it has no PSD2 statement. Raises: InvalidCertificate."""
    from chalicelib.openbanking.protocol import psd2_statement

    return psd2_statement.read_roles(load_certificate(pem))


def missing_roles(roles: Iterable[Role], services: Iterable[Service]) -> set[Role]:
    """The roles that ``services`` take and that are not among ``roles``."""
    return {ROLES_BY_SERVICE[service] for service in services} - set(roles)


def encode_statement(roles: Iterable[Role], authority_name: str, authority_id: str) -> bytes:
    """The DER encoding of the extension ``qcStatements`` with a PSD2 statement, for certificates of a test CA.

    ``authority_name`` and ``authority_id`` are those of the competent authority, such as ``Financial Conduct
    Authority`` and ``GB-FCA``.
    """
    from chalicelib.openbanking.protocol import psd2_statement

    return psd2_statement.encode(roles, authority_name, authority_id)
