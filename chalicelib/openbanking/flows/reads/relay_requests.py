"""Requests for PSU data, from the permitted call to the validated request to the bank."""

from __future__ import annotations

from typing import Any

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.psu_context import PsuContext
from chalicelib.openbanking.protocol.webhooks import RelayedCall, Webhook
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.consents import Consent


@dataclass(frozen=True, slots=True)
class AuthorizedCall:
    """A permitted call: the consent and the bank's webhook for it."""

    call: RelayedCall
    consent: Consent
    webhook: Webhook


@dataclass(frozen=True, slots=True)
class RelayRequest:
    """A validated request to a bank: the TPP's call, its webhook, and the members of its body."""

    call: RelayedCall
    bank: Bank
    consent: Consent
    webhook: Webhook
    request: dict[str, Any]

    def read_limit(self, psu: PsuContext) -> int | None:
        """The bank's limit for this request, if it counts: it reads an account's first page without the PSU."""
        counts = self.call.reads_accounts and not psu.is_attended and not self.webhook.is_later_page(self.request)
        return self.bank.unattended_reads if counts else None
