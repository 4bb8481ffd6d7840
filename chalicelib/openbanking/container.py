"""The parts of the open banking hub, wired: records, the bank client, flows, and what deliveries are sent with."""

from __future__ import annotations

from functools import cached_property

from chalicelib.delivery.container import DeliveryContainer, Senders
from chalicelib.delivery.outcomes import Sender
from chalicelib.foundation.container import Infrastructure
from chalicelib.foundation.http.breaker import Breaker
from chalicelib.foundation.http.pages import ErrorPage
from chalicelib.openbanking.bank_client.bank_client import BankLink
from chalicelib.openbanking.flows.authorization import AuthorizationFlow
from chalicelib.openbanking.flows.bank_authentication import BankGate
from chalicelib.openbanking.flows.bank_notifications import Notices
from chalicelib.openbanking.flows.callback_status import CallbackStatus
from chalicelib.openbanking.flows.consent_expiry import ConsentExpiry
from chalicelib.openbanking.flows.deferred_calls import Deferred
from chalicelib.openbanking.flows.deferred_execution import OrderSender, QuestionSender
from chalicelib.openbanking.flows.payment_execution import PaymentExecution
from chalicelib.openbanking.flows.payment_initiation import PaymentFlow
from chalicelib.openbanking.flows.payment_status import PaymentStatus
from chalicelib.openbanking.flows.performance_reports import PerformanceFlow
from chalicelib.openbanking.flows.relay import Relay
from chalicelib.openbanking.flows.tokens import TokenFlow
from chalicelib.openbanking.flows.tpp_authentication import Callers
from chalicelib.openbanking.flows.tpp_events import Events, EventSender
from chalicelib.openbanking.records.authorizations import Authorizations
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.callback_limits import CallbackLimits
from chalicelib.openbanking.records.clients import Clients
from chalicelib.openbanking.records.consents import Consents
from chalicelib.openbanking.records.idempotency_keys import IdempotencyKeys
from chalicelib.openbanking.records.payments import Payments
from chalicelib.openbanking.records.replays import Replays
from chalicelib.openbanking.records.request_ids import RequestClaims
from chalicelib.statistics.container import StatisticsContainer


class OpenBankingContainer:
    """``error_page`` makes the page that a person is shown for whom something went wrong."""

    def __init__(
        self,
        shared: Infrastructure,
        delivery: DeliveryContainer,
        statistics: StatisticsContainer,
        error_page: ErrorPage,
    ) -> None:
        self.shared = shared
        self.delivery = delivery
        self.statistics = statistics
        self.error_page = error_page

    @cached_property
    def clients(self) -> Clients:
        return Clients(self.shared.store, self.shared.vault, self.shared.clock, self.shared.settings)

    @cached_property
    def banks(self) -> Banks:
        return Banks(self.shared.store, self.shared.vault, self.shared.clock, self.shared.settings)

    @cached_property
    def authorizations(self) -> Authorizations:
        return Authorizations(self.shared.store, self.shared.vault, self.shared.clock)

    @cached_property
    def consents(self) -> Consents:
        return Consents(self.shared.vault, self.shared.clock, self.shared.settings.code_lifetime)

    @cached_property
    def replays(self) -> Replays:
        return Replays(self.shared.store, self.shared.vault, self.shared.clock)

    @cached_property
    def callers(self) -> Callers:
        return Callers(self.shared.store, self.shared.clock)

    @cached_property
    def bank_gate(self) -> BankGate:
        return BankGate(self.banks, explains=self.shared.settings.is_sandbox)

    @cached_property
    def bank_link(self) -> BankLink:
        return BankLink(
            self.banks,
            self.shared.keyring,
            self.shared.outbound,
            Breaker(self.shared.clock),
            self.shared.clock,
            self.shared.metrics,
        )

    @cached_property
    def events(self) -> Events:
        return Events(self.shared.store, self.shared.clock, self.delivery.outbox)

    @cached_property
    def authorization_flow(self) -> AuthorizationFlow:
        return AuthorizationFlow(
            self.shared.settings,
            self.shared.store,
            self.shared.clock,
            self.banks,
            self.authorizations,
            self.consents,
            self.replays,
            self.events,
            self.delivery.outbox,
        )

    @cached_property
    def token_flow(self) -> TokenFlow:
        return TokenFlow(
            self.shared.store,
            self.shared.clock,
            self.callers,
            self.consents,
            self.replays,
            self.events,
            self.delivery.outbox,
        )

    @cached_property
    def relay(self) -> Relay:
        return Relay(self.callers, self.banks, self.consents, self.bank_link)

    @cached_property
    def payments(self) -> Payments:
        return Payments(self.shared.clock)

    @cached_property
    def payment_execution(self) -> PaymentExecution:
        return PaymentExecution(
            self.shared.store,
            self.consents,
            self.payments,
            RequestClaims(self.shared.clock),
            self.events,
            self.delivery.outbox,
            self.bank_link,
            self.shared.settings.is_local,
        )

    @cached_property
    def payment_flow(self) -> PaymentFlow:
        return PaymentFlow(
            self.shared.store,
            self.callers,
            self.banks,
            self.consents,
            IdempotencyKeys(self.shared.vault, self.shared.clock, self.shared.metrics),
            self.delivery.outbox,
            self.payment_execution,
        )

    @cached_property
    def payment_status(self) -> PaymentStatus:
        return PaymentStatus(
            self.shared.store,
            self.shared.clock,
            self.callers,
            self.banks,
            self.consents,
            self.payments,
            self.replays,
            self.events,
            self.delivery.outbox,
            self.bank_link,
        )

    @cached_property
    def callback_status(self) -> CallbackStatus:
        limits = CallbackLimits(self.shared.keyring, self.shared.clock)
        return CallbackStatus(self.shared.store, self.shared.clock, self.banks, self.consents, limits, self.bank_link)

    @cached_property
    def performance_flow(self) -> PerformanceFlow:
        return PerformanceFlow(self.shared.store, self.replays, self.statistics.reports)

    @cached_property
    def deferred(self) -> Deferred:
        return Deferred(self.shared.store, self.shared.clock, self.callers, self.delivery.bodies, self.delivery.outbox)

    @cached_property
    def consent_expiry(self) -> ConsentExpiry:
        return ConsentExpiry(self.shared.store, self.shared.clock, self.consents, self.events, self.delivery.outbox)

    def senders(self) -> Senders:
        """What sends the deliveries of this room, by their kind."""
        notices = Notices(self.shared.store, self.banks, self.consents, self.bank_link)
        events = EventSender(self.shared.clock, self.clients, self.shared.outbound)
        questions = QuestionSender(self.shared.store, self.shared.clock, self.relay, self.payment_status)
        orders = OrderSender(self.shared.store, self.shared.clock, self.banks, self.payment_execution)
        return {
            "revoke_token": Sender(notices.revoke_token),
            "event": Sender(events.send),
            "relay": Sender(questions.send, questions.given_up),
            "payment": Sender(orders.send, orders.given_up),
        }
