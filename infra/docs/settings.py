"""The settings page: all environment variables that the service reads."""

from __future__ import annotations

from typing import NamedTuple

from infra.openapi.introduction import table


class Setting(NamedTuple):
    variable: str
    default: str
    meaning: str


SETTINGS = (
    Setting("STAGE", "`local`; none in AWS Lambda", "`local`, `dev` or `prod`. AWS Lambda takes `dev` and `prod` only"),
    Setting("PORT", "`8000`", "The port of the local stack, 1 to 65535"),
    Setting(
        "PUBLIC_URL",
        "local: `http://127.0.0.1:{PORT}`; else mandatory",
        "The address at which the world reaches the service; https outside the local stage. The service builds every "
        "address that it gives out from this one, never from a request",
    ),
    Setting(
        "BANK_API_URL",
        "`PUBLIC_URL`",
        "The address of the bank-facing API in `cancel_url`. PSUs' browsers open it, so it must not ask for client "
        "certificates. The demonstration banks call it too",
    ),
    Setting(
        "RESOURCE_PREFIX",
        "`causeway-{STAGE}`",
        "The prefix of all resource names. The template and the policies use the default; each local stack takes one "
        "of its own, so that several can share an endpoint",
    ),
    Setting("KMS_KEY_ID", "`alias/{RESOURCE_PREFIX}`", "The KMS key that wraps the data keys"),
    Setting("KEYS_SECRET", "`{RESOURCE_PREFIX}-keys`", "The secret with the signing keys and the wrapped data keys"),
    Setting("CARD_KEYS_SECRET", "`{RESOURCE_PREFIX}-card-keys`", "The secret with the wrapped keys of card data"),
    Setting("DEMO_BANKS_SECRET", "`{RESOURCE_PREFIX}-demo-banks`", "The secret of the demonstration banks"),
    Setting(
        "MAIL_FROM",
        "`causeway@` and the host of `PUBLIC_URL`",
        "The sender of mails to users: an address or a domain that Amazon SES has verified",
    ),
    Setting("MAIL_FOLDER", "`.local/mail`", "The folder that the local stage writes mails to"),
    Setting("LOG_LEVEL", "`INFO`", "`DEBUG`, `INFO`, `WARNING`, `ERROR` or `CRITICAL`: the least level that is logged"),
)


def render() -> str:
    return table(("Variable", "Default", "Meaning"), [(f"`{each.variable}`", *each[1:]) for each in SETTINGS])
