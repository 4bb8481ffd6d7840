"""Renders the settings page, which lists all environment variables that the service reads."""

from __future__ import annotations

from typing import NamedTuple

from chalicelib.foundation.settings import CALLS_IN_LAMBDA, CALLS_LOCALLY, MOST_CALLS_PER_MINUTE
from infra.render.openapi.introduction import table


class Setting(NamedTuple):
    variable: str
    default: str
    meaning: str


SETTINGS = (
    Setting(
        "STAGE", "`local`; none in AWS Lambda", "`local`, `dev` or `prod`. AWS Lambda accepts only `dev` and `prod`"
    ),
    Setting("PORT", "`8000`", "The port of the local stack, 1 to 65535"),
    Setting(
        "PUBLIC_URL",
        "local: `http://127.0.0.1:{PORT}`; otherwise mandatory",
        "The service's public URL; https outside the local stage. All URLs that the service issues are built from "
        "it, never from a request",
    ),
    Setting(
        "BANK_API_URL",
        "`PUBLIC_URL`",
        "The base URL of the bank-facing API in `cancel_url`. PSUs' browsers open it, so it must not require "
        "client certificates. The demonstration banks also call it",
    ),
    Setting(
        "MTLS_URL",
        "none",
        "The base URL of the domain on which API Gateway demands client certificates (mutual TLS); https, and "
        "different from `PUBLIC_URL`, outside the local stage. It needs `TPP_CA_BUNDLE`",
    ),
    Setting(
        "TPP_CA_BUNDLE",
        "none",
        "The authorities that issue the certificates of TPPs, in PEM: a file, absolute or relative to the "
        "application's folder, or outside the local stage `s3://bucket/key`, the truststore of `MTLS_URL`'s domain. "
        "It is read again once a minute",
    ),
    Setting(
        "BANK_CA_BUNDLE",
        "none",
        "The authorities that issue the certificates of banks, as `TPP_CA_BUNDLE` for TPPs: the truststore of the "
        "banks' domain. Without it, calls of banks whose record names a certificate subject are refused",
    ),
    Setting(
        "OUTBOUND_CA_FILE",
        "the public authorities",
        "Local stage: the authorities that the service's own calls trust, in PEM. `make run TLS=1` sets it",
    ),
    Setting(
        "RESOURCE_PREFIX",
        "`causeway-{STAGE}`",
        "The prefix of all resource names. The template and the policies use the default; each local stack uses "
        "its own, so that several can share an endpoint",
    ),
    Setting("KMS_KEY_ID", "`alias/{RESOURCE_PREFIX}`", "The KMS key that wraps the data keys"),
    Setting("KEYS_SECRET", "`{RESOURCE_PREFIX}-keys`", "The secret with the signing keys and the wrapped data keys"),
    Setting("CARD_KEYS_SECRET", "`{RESOURCE_PREFIX}-card-keys`", "The secret with the wrapped keys of card data"),
    Setting("DEMO_BANKS_SECRET", "`{RESOURCE_PREFIX}-demo-banks`", "The secret of the demonstration banks"),
    Setting(
        "MAIL_FROM",
        "`causeway@` plus the host of `PUBLIC_URL`",
        "The sender of emails to users: an address or domain verified in Amazon SES",
    ),
    Setting("MAIL_FOLDER", "`.local/mail`", "The folder to which the local stage writes emails"),
    Setting(
        "OPERATOR_KEY",
        "none",
        "The key that moves the clock of a stack on one machine; `make run` makes a new one for each start. In the "
        "local stage only",
    ),
    Setting(
        "CLIENT_CALLS_PER_MINUTE",
        f"local: `{CALLS_LOCALLY}`; otherwise `{CALLS_IN_LAMBDA}`",
        "The [limit of calls](../operations.md#limits-of-calls) of each client that has none of its own, in each "
        f"process; 1 to {MOST_CALLS_PER_MINUTE}",
    ),
    Setting(
        "CREDENTIAL_CALLS_PER_MINUTE",
        f"local: `{CALLS_LOCALLY}`; otherwise `{CALLS_IN_LAMBDA}`",
        "The same for each credential of the card API",
    ),
    Setting(
        "CLOUDFRONT_SECRET_SHA256",
        "none",
        "The SHA-256 digest of the secret with which CloudFront proves that a request [comes from it]"
        "(../domains.md#cloudfront), in hex; two, separated by a comma, while the secret is replaced. Without it, "
        "no forwarded address is trusted",
    ),
    Setting(
        "SECURITY_CONTACT",
        "none",
        "Where to [report a vulnerability](../security.md#report-a-vulnerability): `mailto:` and an address, or an "
        "`https:` URL. Without it, `/.well-known/security.txt` is not found",
    ),
    Setting("LOG_LEVEL", "`INFO`", "The lowest level to log: `DEBUG`, `INFO`, `WARNING`, `ERROR` or `CRITICAL`"),
)


def render() -> str:
    return table(("Variable", "Default", "Meaning"), [(f"`{each.variable}`", *each[1:]) for each in SETTINGS])
