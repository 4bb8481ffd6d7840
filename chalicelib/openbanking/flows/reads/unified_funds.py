"""Unified confirmations of funds: the request to the bank by the table of its version, and the response to the TPP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from chalicelib.foundation.clock import Clock, timestamp
from chalicelib.foundation.http.outbound import Reply
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.bank_client.bank_answers import AnswerReader, read_answer
from chalicelib.openbanking.oauth.tpp_request import read_fields
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import Webhook
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.consents import Consent
from chalicelib.openbanking.unified.bank_requests import read_request
from chalicelib.openbanking.unified.payment_messages import FundsRequest
from chalicelib.openbanking.unified.tables import FundsTable

if TYPE_CHECKING:
    from chalicelib.openbanking.unified.answers import UnifiedFundsConfirmation


@dataclass(frozen=True, slots=True)
class UnifiedFundsRead:
    """A unified confirmation of funds. ``body`` is the TPP's request, and ``members`` the request to the bank."""

    webhook: Webhook
    body: Mapping[str, Any]
    members: Mapping[str, Any]
    clock: Clock

    def request_to(self, _bank: Bank) -> Mapping[str, Any]:
        return self.members

    def as_members(self) -> Mapping[str, Any]:
        """Return the body, from which the read is restored."""
        return {"unified": self.body}

    def reader(self, consent: Consent, _bank: Bank) -> AnswerReader:
        """Return the reader of the bank's response."""

        def read(version: Version, webhook: Webhook, request: Mapping[str, Any], reply: Reply) -> Mapping[str, Any]:
            answer: UnifiedFundsConfirmation = {
                "bic": consent.bic,
                "retrieved_at": timestamp(self.clock.time()),
                "funds_available": read_answer(version, webhook, request, reply)["funds_available"],
            }
            return answer

        return read


def validate_funds(
    table: FundsTable, webhook: Webhook, given: object, consent: Consent, clock: Clock
) -> UnifiedFundsRead:
    """Validate the body of a unified confirmation of funds. Raises: Refusal."""
    body = read_fields(FundsRequest, given).members()
    members = read_request(table.request, webhook.request, body, consent.api_version)
    return UnifiedFundsRead(webhook, body, members, clock)
