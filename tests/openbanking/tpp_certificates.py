"""The PSD2 certificates of a TPP, and a stage that takes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.protocol.psd2_statement import encode_statement
from chalicelib.openbanking.protocol.scopes import Role
from tests.kit import certificates
from tests.kit.certificates import Authority

ORGANIZATION = "PSDGB-FCA-123456"
SUBJECT = f"CN=tpp.example.com,2.5.4.97={ORGANIZATION},O=TPP,C=GB"
ROLES: Sequence[Role] = ("PSP_AI", "PSP_PI", "PSP_IC")


def issue(authority: Authority, roles: Sequence[Role] = ROLES, subject: str = SUBJECT, **options: Any) -> str:
    statement = certificates.qc_statements(encode_statement(roles, "Financial Conduct Authority", "GB-FCA"))
    return authority.issue(subject, extensions=[statement], **options)


def stage_with(authority: Authority, folder: Path) -> Settings:
    """The settings of a local stage that takes the certificates of ``authority``."""
    bundle = folder / "authorities.pem"
    bundle.write_text(authority.pem)
    environment = {"STAGE": "local", "MTLS_URL": "https://127.0.0.1:8443", "TPP_CA_BUNDLE": str(bundle)}
    return Settings.from_environment(environment)
