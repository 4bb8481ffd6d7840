"""Wires the open banking hub: records, bank client, flows and delivery senders."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from chalicelib.delivery.container import DeliveryContainer, Senders
from chalicelib.delivery.outcomes import Sender
from chalicelib.foundation.container import Infrastructure
from chalicelib.foundation.http.pages import ErrorPage, PageRenderer
from chalicelib.foundation.requests.claims import Claims
from chalicelib.openbanking.bank_client.bank_circuits import BankCircuits
from chalicelib.openbanking.bank_client.bank_client import BankClient
from chalicelib.openbanking.bank_client.slow_call_limit import SlowCallLimit
from chalicelib.openbanking.flows.client_limits import ClientLimits
from chalicelib.openbanking.flows.read_limits import ReadLimits
from chalicelib.openbanking.flows.relay import Relay
from chalicelib.openbanking.flows.tpp_authentication import TppAuthentication
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.consents import Consents
from chalicelib.openbanking.records.unattended_reads import UnattendedReads
from chalicelib.statistics.container import StatisticsContainer

if TYPE_CHECKING:
    from chalicelib.openbanking.flows.authorization import AuthorizationCodeFlow
    from chalicelib.openbanking.flows.authorization_cancellation import AuthorizationCancellation
    from chalicelib.openbanking.flows.bank_authentication import BankAuthentication
    from chalicelib.openbanking.flows.bank_choice import BankChoice, BankChoices
    from chalicelib.openbanking.flows.bank_directory import BankDirectory
    from chalicelib.openbanking.flows.callback_status import CallbackStatus
    from chalicelib.openbanking.flows.consent_expiry import ConsentExpiry
    from chalicelib.openbanking.flows.consent_states import ConsentStates
    from chalicelib.openbanking.flows.deferred_calls import DeferredCalls
    from chalicelib.openbanking.flows.introspection import Introspection
    from chalicelib.openbanking.flows.payment_execution import PaymentExecution
    from chalicelib.openbanking.flows.payment_initiation import PaymentInitiation
    from chalicelib.openbanking.flows.payment_outcomes import PaymentOutcomes
    from chalicelib.openbanking.flows.payment_status import PaymentStatus
    from chalicelib.openbanking.flows.performance_reports import PerformanceReports
    from chalicelib.openbanking.flows.pushed_authorization import PushedAuthorization
    from chalicelib.openbanking.flows.tokens import TokenFlow
    from chalicelib.openbanking.flows.tpp_events import TppEvents
    from chalicelib.openbanking.flows.unresolved_orders import UnresolvedOrders
    from chalicelib.openbanking.oauth.credential_checks import CredentialChecks
    from chalicelib.openbanking.oauth.dpop import DpopNonces
    from chalicelib.openbanking.records.authorization_requests import AuthorizationRequests
    from chalicelib.openbanking.records.bank_answers import BankAnswers
    from chalicelib.openbanking.records.certificate_blocklist import CertificateBlocklist
    from chalicelib.openbanking.records.client_list import ClientList
    from chalicelib.openbanking.records.clients import Clients
    from chalicelib.openbanking.records.consent_list import ConsentList
    from chalicelib.openbanking.records.orders import Orders
    from chalicelib.openbanking.records.payments import Payments


class OpenBankingContainer:
    """The open banking hub's components.

    ``error_page`` renders error pages for browsers, ``bank_choice_page`` the page on which a user chooses the bank.
    """

    def __init__(
        self,
        shared: Infrastructure,
        delivery: DeliveryContainer,
        statistics: StatisticsContainer,
        error_page: ErrorPage,
        bank_choice_page: PageRenderer[BankChoice],
    ) -> None:
        self.shared = shared
        self.delivery = delivery
        self.statistics = statistics
        self.error_page = error_page
        self.bank_choice_page = bank_choice_page

    @cached_property
    def clients(self) -> Clients:
        from chalicelib.openbanking.records.clients import Clients

        return Clients(self.shared.store, self.shared.vault, self.shared.clock, self.shared.settings)

    @cached_property
    def banks(self) -> Banks:
        return Banks(self.shared.store, self.shared.vault, self.shared.clock, self.shared.settings)

    @cached_property
    def bank_directory(self) -> BankDirectory:
        from chalicelib.openbanking.flows.bank_directory import BankDirectory

        statistics = self.statistics
        return BankDirectory(
            self.shared.settings.public_url, self.banks, statistics.open_downtimes, statistics.response_times
        )

    @cached_property
    def bank_choices(self) -> BankChoices:
        from chalicelib.openbanking.flows.bank_choice import BankChoices

        return BankChoices(self.shared.settings.public_url, self.banks, self.statistics.open_downtimes)

    @cached_property
    def authorization_requests(self) -> AuthorizationRequests:
        from chalicelib.openbanking.records.authorization_requests import AuthorizationRequests

        return AuthorizationRequests(self.shared.vault, self.shared.clock)

    @cached_property
    def consents(self) -> Consents:
        return Consents(self.shared.vault, self.shared.clock, self.shared.settings.code_lifetime)

    @cached_property
    def bank_answers(self) -> BankAnswers:
        from chalicelib.openbanking.records.bank_answers import BankAnswers

        return BankAnswers(Claims(self.shared.vault, self.shared.clock))

    @cached_property
    def certificate_blocklist(self) -> CertificateBlocklist:
        from chalicelib.openbanking.records.certificate_blocklist import CertificateBlocklist

        return CertificateBlocklist(self.shared.store, self.shared.clock)

    @cached_property
    def tpp_authentication(self) -> TppAuthentication:
        shared = self.shared
        limits = ClientLimits(shared.clock, shared.settings.client_calls, shared.metrics)
        return TppAuthentication(shared.store, shared.clock, limits, lambda: self.credential_checks)

    @cached_property
    def dpop_nonces(self) -> DpopNonces:
        from chalicelib.openbanking.oauth.dpop import DpopNonces

        return DpopNonces(self.shared.keyring, self.shared.clock.real)

    @cached_property
    def credential_checks(self) -> CredentialChecks:
        from chalicelib.openbanking.oauth.credential_checks import CredentialChecks
        from chalicelib.openbanking.oauth.dpop import DpopProofs
        from chalicelib.openbanking.oauth.key_sets import KeySets
        from chalicelib.openbanking.oauth.private_key_jwt import ClientAssertions
        from chalicelib.openbanking.records.single_use import SingleUses

        clock, settings = self.shared.clock.real, self.shared.settings
        token_endpoints = [f"{base}/tpp/token" for base in (settings.public_url, settings.mtls_url) if base]
        key_sets = KeySets(self.shared.outbound, clock)
        return CredentialChecks(
            ClientAssertions(key_sets, clock, settings.public_url, token_endpoints),
            DpopProofs(self.dpop_nonces, clock),
            SingleUses(self.shared.store),
            self.shared.tpp_ca_bundle,
        )

    @cached_property
    def bank_authentication(self) -> BankAuthentication:
        from chalicelib.openbanking.flows.bank_authentication import BankAuthentication
        from chalicelib.openbanking.flows.bank_certificates import BankCertificates

        certificates = BankCertificates(self.certificate_blocklist, self.shared.bank_ca_bundle)
        return BankAuthentication(self.banks, certificates, explains=self.shared.settings.is_sandbox)

    @cached_property
    def bank_client(self) -> BankClient:
        shared, statistics = self.shared, self.statistics
        circuits = BankCircuits(shared.clock, statistics.open_downtimes, statistics.downtime_probes)
        limit = SlowCallLimit(statistics.slow_calls)
        return BankClient(self.banks, shared.keyring, shared.outbound, circuits, limit, shared.clock, shared.metrics)

    @cached_property
    def tpp_events(self) -> TppEvents:
        from chalicelib.openbanking.flows.tpp_events import TppEvents

        return TppEvents(self.delivery.engine, self.shared.clock, self.delivery.outbox, self.delivery.event_log)

    @cached_property
    def authorization_flow(self) -> AuthorizationCodeFlow:
        from chalicelib.openbanking.flows.authorization import AuthorizationCodeFlow

        return AuthorizationCodeFlow(
            self.shared.settings,
            self.shared.store,
            self.shared.clock,
            self.banks,
            self.authorization_requests,
            self.consents,
            self.bank_answers,
            self.tpp_events,
            self.delivery.engine,
        )

    @cached_property
    def authorization_cancellation(self) -> AuthorizationCancellation:
        from chalicelib.openbanking.flows.authorization_cancellation import AuthorizationCancellation

        return AuthorizationCancellation(
            self.shared.settings.public_url, self.authorization_requests, self.tpp_events, self.delivery.engine
        )

    @cached_property
    def pushed_authorization(self) -> PushedAuthorization:
        from chalicelib.openbanking.flows.pushed_authorization import PushedAuthorization
        from chalicelib.openbanking.records.pushed_requests import PushedRequests

        return PushedAuthorization(
            self.shared.store,
            self.shared.clock,
            self.authorization_flow,
            PushedRequests(self.shared.clock),
            self.delivery.engine,
        )

    @cached_property
    def introspection(self) -> Introspection:
        from chalicelib.openbanking.flows.introspection import Introspection

        return Introspection(self.shared.clock, self.shared.settings.public_url, self.tpp_authentication)

    @cached_property
    def token_flow(self) -> TokenFlow:
        from chalicelib.openbanking.flows.tokens import TokenFlow

        return TokenFlow(
            self.shared.clock,
            self.tpp_authentication,
            self.consents,
            self.bank_answers,
            self.tpp_events,
            self.delivery.outbox,
            self.delivery.engine,
        )

    @cached_property
    def consent_states(self) -> ConsentStates:
        from chalicelib.openbanking.flows.consent_states import ConsentStates

        return ConsentStates(self.shared.store, self.shared.clock, self.consent_list)

    @cached_property
    def client_list(self) -> ClientList:
        from chalicelib.openbanking.records.client_list import ClientList

        return ClientList(self.shared.store)

    @cached_property
    def consent_list(self) -> ConsentList:
        from chalicelib.openbanking.records.consent_list import ConsentList

        return ConsentList(self.shared.store, self.shared.keyring, self.shared.clock)

    @cached_property
    def relay(self) -> Relay:
        return Relay(self.tpp_authentication, self.banks, self.consents, self.bank_client, self.read_limits)

    @cached_property
    def read_limits(self) -> ReadLimits:
        return ReadLimits(self.delivery.engine, self.shared.clock, UnattendedReads(self.shared.clock))

    @cached_property
    def payments(self) -> Payments:
        from chalicelib.openbanking.records.payments import Payments

        return Payments(self.shared.clock)

    @cached_property
    def orders(self) -> Orders:
        from chalicelib.openbanking.records.orders import Orders

        return Orders(self.shared.clock)

    @cached_property
    def payment_outcomes(self) -> PaymentOutcomes:
        from chalicelib.openbanking.flows.payment_outcomes import PaymentOutcomes

        return PaymentOutcomes(self.shared.clock, self.payments, self.orders, self.tpp_events, self.delivery.engine)

    @cached_property
    def unresolved_orders(self) -> UnresolvedOrders:
        from chalicelib.openbanking.flows.unresolved_orders import UnresolvedOrders

        return UnresolvedOrders(
            self.shared.store, self.shared.clock, self.payments, self.orders, self.tpp_events, self.delivery.engine
        )

    @cached_property
    def payment_execution(self) -> PaymentExecution:
        from chalicelib.openbanking.flows.payment_execution import PaymentExecution

        return PaymentExecution(
            self.delivery.engine,
            self.consents,
            self.payments,
            self.orders,
            self.tpp_events,
            self.delivery.outbox,
            self.bank_client,
            self.shared.metrics,
            self.shared.settings.is_local,
        )

    @cached_property
    def payment_initiation(self) -> PaymentInitiation:
        from chalicelib.openbanking.flows.payment_initiation import PaymentInitiation
        from chalicelib.openbanking.records.order_answers import OrderAnswers

        return PaymentInitiation(
            self.delivery.engine,
            self.tpp_authentication,
            self.banks,
            self.consents,
            OrderAnswers(Claims(self.shared.vault, self.shared.clock), self.shared.clock),
            self.delivery.outbox,
            self.payment_execution,
        )

    @cached_property
    def payment_status(self) -> PaymentStatus:
        from chalicelib.openbanking.flows.payment_status import PaymentStatus

        return PaymentStatus(
            self.shared.store,
            self.shared.clock,
            self.tpp_authentication,
            self.banks,
            self.consents,
            self.payments,
            self.bank_answers,
            self.tpp_events,
            self.bank_client,
            self.payment_outcomes,
            self.delivery.engine,
        )

    @cached_property
    def callback_status(self) -> CallbackStatus:
        from chalicelib.openbanking.flows.callback_status import CallbackStatus
        from chalicelib.openbanking.records.callback_limits import CallbackLimits

        limits = CallbackLimits(self.shared.keyring, self.shared.clock)
        return CallbackStatus(
            self.shared.store,
            self.shared.clock,
            self.banks,
            self.consents,
            limits,
            self.bank_client,
            self.payment_outcomes,
            self.delivery.engine,
        )

    @cached_property
    def performance_reports(self) -> PerformanceReports:
        from chalicelib.openbanking.flows.performance_reports import PerformanceReports

        return PerformanceReports(self.bank_answers, self.statistics.reports, self.delivery.engine)

    @cached_property
    def deferred_calls(self) -> DeferredCalls:
        from chalicelib.openbanking.flows.deferred_calls import DeferredCalls

        return DeferredCalls(
            self.delivery.engine,
            self.shared.clock,
            self.tpp_authentication,
            self.delivery.bodies,
            self.delivery.outbox,
            self.read_limits,
        )

    @cached_property
    def consent_expiry(self) -> ConsentExpiry:
        from chalicelib.openbanking.flows.consent_expiry import ConsentExpiry

        return ConsentExpiry(
            self.shared.store,
            self.shared.clock,
            self.consents,
            self.tpp_events,
            self.delivery.outbox,
            self.delivery.engine,
        )

    def senders(self) -> Senders:
        """The senders of open banking deliveries, by delivery kind."""
        from chalicelib.openbanking.flows.bank_notifications import BankNotifications
        from chalicelib.openbanking.flows.deferred_execution import PaymentOrderSender, RelayRequestSender
        from chalicelib.openbanking.flows.status_queries import StatusQuerySender
        from chalicelib.openbanking.flows.tpp_events import TppEventSender

        notifications = BankNotifications(self.shared.store, self.banks, self.consents, self.bank_client)
        events = TppEventSender(
            self.delivery.engine, self.shared.clock, self.clients, self.shared.outbound, self.delivery.event_log
        )
        relay_requests = RelayRequestSender(self.shared.store, self.shared.clock, self.relay, self.payment_status)
        orders = PaymentOrderSender(self.shared.store, self.shared.clock, self.banks, self.payment_execution)
        queries = StatusQuerySender(
            self.shared.store, self.shared.clock, self.banks, self.consents, self.bank_client, self.payment_outcomes
        )
        return {
            "revoke_token": Sender(notifications.send_revoke_token),
            "event": Sender(events.send),
            "relay": Sender(relay_requests.send, relay_requests.expire),
            "payment": Sender(orders.send, orders.expire),
            "payment_status": Sender(queries.send),
        }
