"""The relay: a TPP's call for a PSU's data, passed to the bank and answered (specification, Get data flow)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chalicelib.foundation.fields import InvalidMessage
from chalicelib.openbanking.bank_link import BankAnswer, BankLink
from chalicelib.openbanking.banks import Bank, Banks
from chalicelib.openbanking.callers import Callers, Credentials
from chalicelib.openbanking.consents import Consent, Consents
from chalicelib.openbanking.protocol.errors import Fault, Refusal, refuse_parameters
from chalicelib.openbanking.protocol.webhooks import RelayedCall

_ACCOUNT_KINDS = {"iban": "ibans", "account_id": "account_ids"}


@dataclass(frozen=True, slots=True)
class Relay:
    """Passes calls on to banks."""

    callers: Callers
    banks: Banks
    consents: Consents
    link: BankLink

    def get(
        self,
        call: RelayedCall,
        credentials: Credentials,
        parameters: Mapping[str, str],
        *,
        request_id: str,
        psu_address: str | None,
    ) -> BankAnswer:
        """Check in the documented order (client, request id, bearer, version, scope, fields, account), then ask.

        Raises:
            Refusal: before the bank is called, or because the bank failed.
        """
        _, consent = self.callers.bearer(credentials)
        bank = self._bank(consent)
        webhook = call.webhooks.get(consent.api_version)
        if webhook is None:
            raise Refusal(Fault.NO_SUCH_ACTION, f"a bank of version {consent.api_version} does not have this call")
        if webhook.scope not in consent.scopes:
            raise Refusal(Fault.FORBIDDEN, f"the consent has not the scope {webhook.scope}")
        try:
            request = webhook.request.read(dict(parameters)).model_dump(exclude_none=True)
        except InvalidMessage as error:
            raise refuse_parameters(error) from None
        _check_account(consent, request)
        token = self.consents.bank_token(consent)
        return self.link.call(bank, webhook, request, request_id=request_id, token=token, psu_address=psu_address)

    def _bank(self, consent: Consent) -> Bank:
        bank = self.banks.find(consent.bic)
        if bank is None:
            raise Refusal(Fault.UNKNOWN_RESOURCE, "the bank of this consent is not reachable any more")
        return bank


def _check_account(consent: Consent, request: Mapping[str, str]) -> None:
    for member, kind in _ACCOUNT_KINDS.items():
        if member in request and not consent.allows_account(kind, request[member]):
            raise Refusal(Fault.FORBIDDEN, f"the PSU did not approve the account that {member} names")
