"""The relay: passes TPPs' requests for PSU data to the bank (specification, Get data flow)."""

from __future__ import annotations

from dataclasses import replace

from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.bank_client.bank_client import BankAnswer, BankClient, PreparedRequest
from chalicelib.openbanking.bank_client.bank_failures import BankFailed
from chalicelib.openbanking.flows.consent.permissions import require_bank, require_scope
from chalicelib.openbanking.flows.reads.approved_accounts import check_accounts, withhold_unapproved
from chalicelib.openbanking.flows.reads.read_limits import ReadLimits
from chalicelib.openbanking.flows.reads.relay_requests import AuthorizedCall, RelayRequest
from chalicelib.openbanking.flows.tpp_authentication import TppAuthentication
from chalicelib.openbanking.oauth.tpp_credentials import TppCredentials
from chalicelib.openbanking.protocol.errors import refuse_fields, refuse_parameters
from chalicelib.openbanking.protocol.psu_context import PsuContext
from chalicelib.openbanking.protocol.webhooks import RelayedCall
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.consents import Consents
from chalicelib.statistics import current_call


@dataclass(frozen=True, slots=True)
class Relay:
    """Relays calls to banks."""

    tpp_authentication: TppAuthentication
    banks: Banks
    consents: Consents
    bank_client: BankClient
    read_limits: ReadLimits

    def authorize(self, call: RelayedCall, credentials: TppCredentials) -> AuthorizedCall:
        """Check client, request id, bearer, version and scope, in this order. Raises: Refusal."""
        consent = self.tpp_authentication.authenticate_bearer(credentials).consent
        current_call.record_concern(consent.bic, call.service)
        return AuthorizedCall(call, consent, require_scope(call, consent))

    def build_request(self, authorized: AuthorizedCall, members: object, *, in_query: bool) -> RelayRequest:
        """Check the members, the requested account and the bank. Raises: Refusal."""
        consent, webhook = authorized.consent, authorized.webhook
        try:
            request = webhook.request.read(members).model_dump(exclude_none=True)
        except InvalidMessage as error:
            raise (refuse_parameters(error) if in_query else refuse_fields(error)) from None
        check_accounts(consent, request)
        return RelayRequest(authorized.call, require_bank(self.banks, consent), consent, webhook, request)

    def send(self, relayed: RelayRequest, *, request_id: str, psu: PsuContext) -> BankAnswer:
        """Count an unattended read, and send the request to the bank. Raises: Refusal."""
        outgoing, read = self._prepare(relayed, request_id, psu), self.read_limits.counted_read(relayed, psu)
        if read is None:
            return self._call(relayed, outgoing)
        self.bank_client.require_closed(relayed.bank, relayed.webhook)
        self.read_limits.reserve(read)
        try:
            return self._call(relayed, outgoing)
        except BankFailed as failure:
            if failure.reach == "never":
                self.read_limits.release(read.reservation)
            raise

    def send_accepted(self, relayed: RelayRequest, *, request_id: str, psu: PsuContext) -> BankAnswer:
        """Send a deferred request, which was counted when it was accepted. Raises: Refusal."""
        return self._call(relayed, self._prepare(relayed, request_id, psu))

    # -- inside

    def _prepare(self, relayed: RelayRequest, request_id: str, psu: PsuContext) -> PreparedRequest:
        """Build the request to the bank, before a read is counted."""
        token = self.consents.bank_token(relayed.consent)
        path = relayed.webhook.path
        return self.bank_client.prepare(
            relayed.bank, path, relayed.request, request_id=request_id, token=token, psu=psu
        )

    def _call(self, relayed: RelayRequest, outgoing: PreparedRequest) -> BankAnswer:
        """Call the bank and remove accounts that the PSU did not approve. Raises: BankFailed."""
        consent, webhook = relayed.consent, relayed.webhook
        answer = self.bank_client.call_prepared(outgoing, consent.version, webhook, relayed.request)
        return replace(answer, body=withhold_unapproved(consent, webhook, answer.body))
