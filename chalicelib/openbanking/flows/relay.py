"""The relay: passes TPPs' requests for PSU data to the bank (specification, Get data flow)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.bank_client.bank_client import BankAnswer, BankClient
from chalicelib.openbanking.flows.approved_accounts import check_accounts, withhold_unapproved
from chalicelib.openbanking.flows.consent_permissions import require_bank, require_scope
from chalicelib.openbanking.flows.tpp_authentication import TppAuthentication
from chalicelib.openbanking.oauth.tpp_credentials import TppCredentials
from chalicelib.openbanking.protocol.errors import refuse_fields, refuse_parameters
from chalicelib.openbanking.protocol.psu_context import PsuContext
from chalicelib.openbanking.protocol.webhooks import RelayedCall, Webhook
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.consents import Consent, Consents
from chalicelib.statistics import current_call


@dataclass(frozen=True, slots=True)
class AuthorizedCall:
    """A permitted call: the consent and the bank's webhook for it."""

    consent: Consent
    webhook: Webhook


@dataclass(frozen=True, slots=True)
class RelayRequest:
    """A validated request to a bank: the call's webhook and the members of its body."""

    bank: Bank
    consent: Consent
    webhook: Webhook
    request: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Relay:
    """Relays calls to banks."""

    tpp_authentication: TppAuthentication
    banks: Banks
    consents: Consents
    bank_client: BankClient

    def authorize(self, call: RelayedCall, credentials: TppCredentials) -> AuthorizedCall:
        """Check client, request id, bearer, version and scope, in this order. Raises: Refusal."""
        consent = self.tpp_authentication.authenticate_bearer(credentials).consent
        current_call.record_concern(consent.bic, call.service)
        return AuthorizedCall(consent, require_scope(call, consent))

    def build_request(self, authorized: AuthorizedCall, members: object, *, in_query: bool) -> RelayRequest:
        """Check the members, the requested account and the bank. Raises: Refusal."""
        consent, webhook = authorized.consent, authorized.webhook
        try:
            request = webhook.request.read(members).model_dump(exclude_none=True)
        except InvalidMessage as error:
            raise (refuse_parameters(error) if in_query else refuse_fields(error)) from None
        check_accounts(consent, request)
        return RelayRequest(require_bank(self.banks, consent), consent, webhook, request)

    def send(self, relayed: RelayRequest, *, request_id: str, psu: PsuContext) -> BankAnswer:
        """Send the request to the bank and remove accounts that the PSU did not approve. Raises: Refusal."""
        consent, webhook = relayed.consent, relayed.webhook
        token = self.consents.bank_token(consent)
        answer = self.bank_client.call(
            relayed.bank, consent.version, webhook, relayed.request, request_id=request_id, token=token, psu=psu
        )
        return replace(answer, body=withhold_unapproved(consent, webhook, answer.body))
