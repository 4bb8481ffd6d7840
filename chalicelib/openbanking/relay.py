"""The relay: a TPP's call for a PSU's data, passed to the bank and answered (specification, Get data flow)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chalicelib.foundation.fields import InvalidMessage
from chalicelib.openbanking.approved_accounts import check_accounts
from chalicelib.openbanking.bank_link import BankAnswer, BankLink
from chalicelib.openbanking.bank_record import Bank
from chalicelib.openbanking.banks import Banks
from chalicelib.openbanking.callers import Callers, Credentials
from chalicelib.openbanking.consents import Consent, Consents
from chalicelib.openbanking.protocol.errors import Fault, Refusal, refuse_fields, refuse_parameters
from chalicelib.openbanking.protocol.scopes import Version
from chalicelib.openbanking.protocol.webhooks import RelayedCall, Webhook


@dataclass(frozen=True, slots=True)
class Admitted:
    """A caller who may make a call: its consent, and the webhook that its bank's version has for it."""

    consent: Consent
    webhook: Webhook


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
        return Admitted(consent, permitted(call.webhooks, consent))

    def ask(
        self, admitted: Admitted, members: object, *, in_query: bool, request_id: str, psu_address: str | None
    ) -> BankAnswer:
        """Check the request's members and the account that they name, then ask the bank. Raises: Refusal."""
        consent, webhook = admitted.consent, admitted.webhook
        try:
            request = webhook.request.read(members).model_dump(exclude_none=True)
        except InvalidMessage as error:
            raise (refuse_parameters(error) if in_query else refuse_fields(error)) from None
        check_accounts(consent, request)
        bank = reachable(self.banks, consent)
        token = self.consents.bank_token(consent)
        return self.link.call(
            bank, consent.api_version, webhook, request, request_id=request_id, token=token, psu_address=psu_address
        )


def permitted(webhooks: Mapping[Version, Webhook], consent: Consent) -> Webhook:
    """The webhook that the consent's version has for a call, if its scopes allow it. Raises: Refusal."""
    webhook = in_version(webhooks, consent.api_version)
    if webhook.scope not in consent.scopes:
        raise Refusal(Fault.FORBIDDEN, f"the consent has not the scope {webhook.scope}")
    return webhook


def in_version(webhooks: Mapping[Version, Webhook], version: Version) -> Webhook:
    """The webhook that a version has for a call. Raises: Refusal."""
    if version not in webhooks:
        raise Refusal(Fault.NO_SUCH_ACTION, f"a bank of version {version} does not have this call")
    return webhooks[version]


def reachable(banks: Banks, consent: Consent) -> Bank:
    """The bank of a consent. Raises: Refusal."""
    bank = banks.find(consent.bic)
    if bank is None:
        raise Refusal(Fault.UNKNOWN_RESOURCE, "the bank of this consent is not reachable any more")
    return bank
