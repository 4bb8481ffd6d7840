"""The relay: a TPP's call for a PSU's data, passed to the bank and answered (specification, Get data flow)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chalicelib.foundation.fields import InvalidMessage
from chalicelib.openbanking.bank_link import BankAnswer, BankLink
from chalicelib.openbanking.bank_record import Bank
from chalicelib.openbanking.banks import Banks
from chalicelib.openbanking.callers import Callers, Credentials
from chalicelib.openbanking.consents import Consent, Consents
from chalicelib.openbanking.protocol.errors import Fault, Refusal, refuse_parameters
from chalicelib.openbanking.protocol.webhooks import RelayedCall, Webhook

_ACCOUNT_KINDS = {"iban": "ibans", "account_id": "account_ids"}


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
        _, consent = self.callers.bearer(credentials)
        webhook = call.webhooks.get(consent.api_version)
        if webhook is None:
            raise Refusal(Fault.NO_SUCH_ACTION, f"a bank of version {consent.api_version} does not have this call")
        if webhook.scope not in consent.scopes:
            raise Refusal(Fault.FORBIDDEN, f"the consent has not the scope {webhook.scope}")
        return Admitted(consent, webhook)

    def ask(
        self, admitted: Admitted, parameters: Mapping[str, str], *, request_id: str, psu_address: str | None
    ) -> BankAnswer:
        """Check the parameters and the account that they name, then ask the bank. Raises: Refusal."""
        consent, webhook = admitted.consent, admitted.webhook
        try:
            request = webhook.request.read(dict(parameters)).model_dump(exclude_none=True)
        except InvalidMessage as error:
            raise refuse_parameters(error) from None
        _check_account(consent, request)
        bank = self._bank(consent)
        token = self.consents.bank_token(consent)
        return self.link.call(
            bank, consent.api_version, webhook, request, request_id=request_id, token=token, psu_address=psu_address
        )

    def _bank(self, consent: Consent) -> Bank:
        bank = self.banks.find(consent.bic)
        if bank is None:
            raise Refusal(Fault.UNKNOWN_RESOURCE, "the bank of this consent is not reachable any more")
        return bank


def _check_account(consent: Consent, request: Mapping[str, str]) -> None:
    for member, kind in _ACCOUNT_KINDS.items():
        if member in request and not consent.allows_account(kind, request[member]):
            raise Refusal(Fault.FORBIDDEN, f"the PSU did not approve the account that {member} names")
