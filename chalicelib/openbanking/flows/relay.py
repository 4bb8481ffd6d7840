"""The relay: a TPP's call for a PSU's data, passed to the bank and answered (specification, Get data flow)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from chalicelib.foundation.fields.field_types import InvalidMessage
from chalicelib.openbanking.bank_client.bank_client import BankAnswer, BankLink
from chalicelib.openbanking.flows.approved_accounts import check_accounts, withhold_others
from chalicelib.openbanking.flows.consent_permissions import permitted, reachable
from chalicelib.openbanking.flows.tpp_authentication import Callers, Credentials
from chalicelib.openbanking.protocol.errors import refuse_fields, refuse_parameters
from chalicelib.openbanking.protocol.webhooks import RelayedCall, Webhook
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.consents import Consent, Consents
from chalicelib.statistics import current_call


@dataclass(frozen=True, slots=True)
class Admitted:
    """A caller who may make a call: its consent, and the webhook that its bank's version has for it."""

    consent: Consent
    webhook: Webhook


@dataclass(frozen=True, slots=True)
class Question:
    """What a bank is to be asked: a call's webhook and the members of the request, checked."""

    bank: Bank
    consent: Consent
    webhook: Webhook
    request: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Relay:
    """Passes calls on to banks."""

    callers: Callers
    banks: Banks
    consents: Consents
    link: BankLink

    def admit(self, call: RelayedCall, credentials: Credentials) -> Admitted:
        """Check client, request id, bearer, version and scope, in this order. Raises: Refusal."""
        consent = self.callers.bearer(credentials).consent
        current_call.concerns(consent.bic, call.service)
        return Admitted(consent, permitted(call, consent))

    def question(self, admitted: Admitted, members: object, *, in_query: bool) -> Question:
        """Check the request's members, the account that they name, and the bank. Raises: Refusal."""
        consent, webhook = admitted.consent, admitted.webhook
        try:
            request = webhook.request.read(members).model_dump(exclude_none=True)
        except InvalidMessage as error:
            raise (refuse_parameters(error) if in_query else refuse_fields(error)) from None
        check_accounts(consent, request)
        return Question(reachable(self.banks, consent), consent, webhook, request)

    def ask(self, question: Question, *, request_id: str, psu_address: str | None) -> BankAnswer:
        """Ask the bank; accounts that the PSU did not approve are withheld. Raises: Refusal."""
        consent, webhook = question.consent, question.webhook
        token = self.consents.bank_token(consent)
        answer = self.link.call(
            question.bank,
            consent.version,
            webhook,
            question.request,
            request_id=request_id,
            token=token,
            psu_address=psu_address,
        )
        return replace(answer, body=withhold_others(consent, webhook, answer.body))
