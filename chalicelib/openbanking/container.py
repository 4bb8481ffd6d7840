"""The components of the open banking hub, which flows receive by parameter name, and the senders of deliveries."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from chalicelib.delivery.container import DeliveryContainer, Senders
from chalicelib.delivery.outcomes import Sender
from chalicelib.foundation.container import Infrastructure
from chalicelib.foundation.http.pages import ErrorPage, PageRenderer
from chalicelib.foundation.wiring import Container, part
from chalicelib.statistics.container import StatisticsContainer

if TYPE_CHECKING:
    from chalicelib.foundation.requests.claims import Claims
    from chalicelib.openbanking.bank_client.bank_client import BankClient
    from chalicelib.openbanking.flows.bank.choice import BankChoice
    from chalicelib.openbanking.flows.tpp_authentication import TppAuthentication
    from chalicelib.openbanking.flows.tpp_events import TppEvents
    from chalicelib.openbanking.oauth.credential_checks import CredentialChecks
    from chalicelib.openbanking.oauth.dpop import DpopNonces
    from chalicelib.openbanking.records.authorization_requests import AuthorizationRequests
    from chalicelib.openbanking.records.bank_answers import BankAnswers
    from chalicelib.openbanking.records.banks import Banks
    from chalicelib.openbanking.records.callback_limits import CallbackLimits
    from chalicelib.openbanking.records.certificate_blocklist import CertificateBlocklist
    from chalicelib.openbanking.records.client_list import ClientList
    from chalicelib.openbanking.records.clients import Clients
    from chalicelib.openbanking.records.consent_list import ConsentList
    from chalicelib.openbanking.records.consents import Consents
    from chalicelib.openbanking.records.order_answers import OrderAnswers
    from chalicelib.openbanking.records.orders import Orders
    from chalicelib.openbanking.records.payments import Payments
    from chalicelib.openbanking.records.pushed_requests import PushedRequests
    from chalicelib.openbanking.records.single_use import SingleUses
    from chalicelib.openbanking.records.unattended_reads import UnattendedReads
    from chalicelib.openbanking.unified.transaction_cursors import TransactionCursors


class OpenBankingContainer(Container):
    """The components of the open banking hub.

    ``error_page`` renders error pages for browsers, ``bank_choice_page`` the page on which a user chooses a bank.
    """

    claims: Claims = part("chalicelib.foundation.requests.claims")
    clients: Clients = part("chalicelib.openbanking.records.clients")
    client_list: ClientList = part("chalicelib.openbanking.records.client_list")
    banks: Banks = part("chalicelib.openbanking.records.banks")
    certificate_blocklist: CertificateBlocklist = part("chalicelib.openbanking.records.certificate_blocklist")
    single_uses: SingleUses = part("chalicelib.openbanking.records.single_use")
    authorization_requests: AuthorizationRequests = part("chalicelib.openbanking.records.authorization_requests")
    pushed_requests: PushedRequests = part("chalicelib.openbanking.records.pushed_requests")
    consents: Consents = part("chalicelib.openbanking.records.consents")
    consent_list: ConsentList = part("chalicelib.openbanking.records.consent_list")
    transaction_cursors: TransactionCursors = part("chalicelib.openbanking.unified.transaction_cursors")
    unattended_reads: UnattendedReads = part("chalicelib.openbanking.records.unattended_reads")
    payments: Payments = part("chalicelib.openbanking.records.payments")
    orders: Orders = part("chalicelib.openbanking.records.orders")
    callback_limits: CallbackLimits = part("chalicelib.openbanking.records.callback_limits")
    bank_answers: BankAnswers = part("chalicelib.openbanking.records.bank_answers")
    order_answers: OrderAnswers = part("chalicelib.openbanking.records.order_answers")
    tpp_events: TppEvents = part("chalicelib.openbanking.flows.tpp_events")
    bank_client: BankClient = part("chalicelib.openbanking.bank_client.bank_client")
    dpop_nonces: DpopNonces = part("chalicelib.openbanking.oauth.dpop")
    credential_checks: CredentialChecks = part("chalicelib.openbanking.oauth.credential_checks")

    def __init__(
        self,
        shared: Infrastructure,
        delivery: DeliveryContainer,
        statistics: StatisticsContainer,
        error_page: ErrorPage,
        bank_choice_page: PageRenderer[BankChoice],
    ) -> None:
        self.shared, self.delivery, self.statistics = shared, delivery, statistics
        self.parents = (shared, delivery, statistics, shared.settings)
        self.error_page, self.bank_choice_page = error_page, bank_choice_page

    @cached_property
    def tpp_authentication(self) -> TppAuthentication:
        from chalicelib.openbanking.flows.tpp_authentication import TppAuthentication

        shared = self.shared
        calls = shared.settings.client_calls
        return TppAuthentication(shared.store, shared.clock, shared.metrics, calls, lambda: self.credential_checks)

    def senders(self) -> Senders:
        """The senders of open banking deliveries, by kind of delivery."""
        from chalicelib.openbanking.flows.bank.notifications import send_revoke_token
        from chalicelib.openbanking.flows.payments.deferred_orders import expire_deferred_order, send_deferred_order
        from chalicelib.openbanking.flows.payments.status_queries import send_status_query
        from chalicelib.openbanking.flows.reads.deferred_reads import expire_deferred_read, send_deferred_read
        from chalicelib.openbanking.flows.tpp_events import send_event

        call = self.call
        return {
            "revoke_token": Sender(partial(call, send_revoke_token)),
            "event": Sender(partial(call, send_event)),
            "relay": Sender(partial(call, send_deferred_read), partial(call, expire_deferred_read)),
            "payment": Sender(partial(call, send_deferred_order), partial(call, expire_deferred_order)),
            "payment_status": Sender(partial(call, send_status_query)),
        }
