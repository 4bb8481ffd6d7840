"""Where everything is wired: one hub per process, made on first use, replaced as a whole by tests."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from chalicelib.delivery.journal import Journal
from chalicelib.delivery.outbox import Outbox
from chalicelib.delivery.outcomes import Delivered, Dispatch, Sender
from chalicelib.delivery.schedule import Kind
from chalicelib.delivery.sealed_bodies import SealedBodies
from chalicelib.delivery.sweeper import Sweeper
from chalicelib.delivery.worker import Worker
from chalicelib.foundation import aws, log, mail
from chalicelib.foundation.clock import Clock, SystemClock
from chalicelib.foundation.crypto.keyring import Keyring
from chalicelib.foundation.crypto.vault import Vault
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.http.breaker import Breaker
from chalicelib.foundation.http.outbound import Outbound
from chalicelib.foundation.metrics import Metrics
from chalicelib.foundation.settings import Settings
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
from chalicelib.statistics.measurements import Measurements
from chalicelib.website.account_flow import Accounts
from chalicelib.website.drafts import Drafts
from chalicelib.website.mails import MailSender
from chalicelib.website.records.attempts import Attempts
from chalicelib.website.records.journeys import Journeys
from chalicelib.website.records.sessions import Sessions
from chalicelib.website.records.users import Users
from chalicelib.website.web_tpp_flow import Tpp

if TYPE_CHECKING:  # a room is loaded when it is first asked for: no other interface waits for it
    from chalicelib.cards.card_data.keys import CardKeys
    from chalicelib.cards.card_data.sealed_data import CardData
    from chalicelib.cards.container import CardRoom
    from chalicelib.cards.events.card_events import CardEventSender
    from chalicelib.cards.events.signing_secrets import EventSecrets
    from chalicelib.cards.payments.provider import Provider
    from chalicelib.cards.programs.credentials import Credentials
    from chalicelib.cards.programs.programmes import Programmes
    from chalicelib.cards.requests.dispatch import Dispatcher
    from chalicelib.statistics.container import StatisticsRoom


class Hub:
    """All parts of the service for one stage; each is made when it is first asked for."""

    def __init__(self, settings: Settings, clock: Clock | None = None) -> None:
        self.settings = settings
        self.clock: Clock = clock or SystemClock()

    @cached_property
    def store(self) -> Store:
        return Store(aws.client("dynamodb"), self.settings.prefix)

    @cached_property
    def secrets(self) -> aws.Secrets:
        return aws.Secrets()

    @cached_property
    def metrics(self) -> Metrics:
        return Metrics(self.settings.stage)

    @cached_property
    def measurements(self) -> Measurements:
        return Measurements(lambda: self.store, self.clock, self.metrics)

    @cached_property
    def keyring(self) -> Keyring:
        return Keyring(self.secrets, aws.Kms(self.settings.kms_key_id), self.settings.keys_secret, self.clock)

    @cached_property
    def vault(self) -> Vault:
        return Vault(self.keyring)

    @cached_property
    def outbound(self) -> Outbound:
        return Outbound(public_only=not self.settings.is_local)

    @cached_property
    def deliveries_queue(self) -> aws.Queue:
        return aws.Queue(f"{self.settings.prefix}-deliveries")

    @cached_property
    def bodies(self) -> SealedBodies:
        return SealedBodies(self.store, self.vault)

    @cached_property
    def outbox(self) -> Outbox:
        return Outbox(self.bodies, self.deliveries_queue, self.clock)

    @cached_property
    def sweeper(self) -> Sweeper:
        return Sweeper(self.store, self.clock, self.deliveries_queue, self.outbox, self.metrics)

    @cached_property
    def journal(self) -> Journal:
        return Journal(self.store, self.clock, self.outbox)

    @cached_property
    def users(self) -> Users:
        return Users(self.store, self.clock)

    @cached_property
    def accounts(self) -> Accounts:
        return Accounts(self.settings, self.store, self.clock, self.users, self.outbox)

    @cached_property
    def mailer(self) -> mail.Mailer:
        return mail.mailer(self.settings)

    @cached_property
    def sessions(self) -> Sessions:
        return Sessions(self.store, self.keyring, self.clock)

    @cached_property
    def attempts(self) -> Attempts:
        return Attempts(self.store, self.keyring, self.clock)

    @cached_property
    def drafts(self) -> Drafts:
        return Drafts(self.keyring, self.clock)

    @cached_property
    def journeys(self) -> Journeys:
        return Journeys(self.store, self.vault, self.clock)

    @cached_property
    def web_tpp(self) -> Tpp:
        return Tpp(
            self.settings,
            self.clock,
            self.drafts,
            self.clients,
            self.journeys,
            self.authorization_flow,
            self.token_flow,
        )

    @cached_property
    def clients(self) -> Clients:
        return Clients(self.store, self.vault, self.clock, self.settings)

    @cached_property
    def banks(self) -> Banks:
        return Banks(self.store, self.vault, self.clock, self.settings)

    @cached_property
    def authorizations(self) -> Authorizations:
        return Authorizations(self.store, self.vault, self.clock)

    @cached_property
    def consents(self) -> Consents:
        return Consents(self.vault, self.clock, self.settings.code_lifetime)

    @cached_property
    def replays(self) -> Replays:
        return Replays(self.store, self.vault, self.clock)

    @cached_property
    def callers(self) -> Callers:
        return Callers(self.store, self.clock)

    @cached_property
    def bank_gate(self) -> BankGate:
        return BankGate(self.banks, explains=self.settings.is_sandbox)

    @cached_property
    def bank_link(self) -> BankLink:
        return BankLink(self.banks, self.keyring, self.outbound, Breaker(self.clock), self.clock, self.metrics)

    @cached_property
    def events(self) -> Events:
        return Events(self.store, self.clock, self.outbox)

    @cached_property
    def authorization_flow(self) -> AuthorizationFlow:
        return AuthorizationFlow(
            self.settings,
            self.store,
            self.clock,
            self.banks,
            self.authorizations,
            self.consents,
            self.replays,
            self.events,
            self.outbox,
        )

    @cached_property
    def token_flow(self) -> TokenFlow:
        return TokenFlow(self.store, self.clock, self.callers, self.consents, self.replays, self.events, self.outbox)

    @cached_property
    def relay(self) -> Relay:
        return Relay(self.callers, self.banks, self.consents, self.bank_link)

    @cached_property
    def payments(self) -> Payments:
        return Payments(self.clock)

    @cached_property
    def payment_execution(self) -> PaymentExecution:
        return PaymentExecution(
            self.store,
            self.consents,
            self.payments,
            RequestClaims(self.clock),
            self.events,
            self.outbox,
            self.bank_link,
            self.settings.is_local,
        )

    @cached_property
    def payment_flow(self) -> PaymentFlow:
        return PaymentFlow(
            self.store,
            self.callers,
            self.banks,
            self.consents,
            IdempotencyKeys(self.vault, self.clock, self.metrics),
            self.outbox,
            self.payment_execution,
        )

    @cached_property
    def payment_status(self) -> PaymentStatus:
        return PaymentStatus(
            self.store,
            self.clock,
            self.callers,
            self.banks,
            self.consents,
            self.payments,
            self.replays,
            self.events,
            self.outbox,
            self.bank_link,
        )

    @cached_property
    def callback_status(self) -> CallbackStatus:
        limits = CallbackLimits(self.keyring, self.clock)
        return CallbackStatus(self.store, self.clock, self.banks, self.consents, limits, self.bank_link)

    @cached_property
    def performance_flow(self) -> PerformanceFlow:
        return PerformanceFlow(self.store, self.replays, self.statistics.reports)

    @cached_property
    def statistics(self) -> StatisticsRoom:
        from chalicelib.statistics.container import StatisticsRoom

        return StatisticsRoom(self.store, self.clock, self.metrics)

    @cached_property
    def deferred(self) -> Deferred:
        return Deferred(self.store, self.clock, self.callers, self.bodies, self.outbox)

    @cached_property
    def consent_expiry(self) -> ConsentExpiry:
        return ConsentExpiry(self.store, self.clock, self.consents, self.events, self.outbox)

    @cached_property
    def programmes(self) -> Programmes:
        from chalicelib.cards.programs.programmes import Programmes

        return Programmes(self.store, self.clock)

    @cached_property
    def credentials(self) -> Credentials:
        from chalicelib.cards.programs.credentials import Credentials

        return Credentials(self.store, self.clock)

    @cached_property
    def card_event_secrets(self) -> EventSecrets:
        from chalicelib.cards.events.signing_secrets import EventSecrets

        return EventSecrets(self.store, self.vault, self.clock)

    @cached_property
    def card_event_sender(self) -> CardEventSender:
        from chalicelib.cards.events.card_events import CardEventSender

        return CardEventSender(self.store, self.clock, self.card_event_secrets, self.outbound)

    @cached_property
    def card_keys(self) -> CardKeys:
        from chalicelib.cards.card_data.keys import CardKeys

        kms = aws.Kms(self.settings.kms_key_id)
        return CardKeys(self.secrets, kms, self.settings.card_keys_secret, self.clock)

    @cached_property
    def card_data(self) -> CardData:
        from chalicelib.cards.card_data.sealed_data import CardData

        return CardData(self.vault, self.card_keys)

    @cached_property
    def payment_provider(self) -> Provider:
        """The provider of external payments: one that plays outside production, in it none yet."""
        from chalicelib.cards.payments.provider import NoProvider
        from chalicelib.cards.payments.sandbox_provider import SandboxProvider

        return SandboxProvider(self.store) if self.settings.is_sandbox else NoProvider()

    @cached_property
    def card_room(self) -> CardRoom:
        from chalicelib.cards.container import CardRoom
        from chalicelib.cards.events.card_events import CardEvents

        return CardRoom(
            self.store,
            self.clock,
            self.vault,
            self.credentials,
            self.programmes,
            self.card_data,
            self.payment_provider,
            CardEvents(self.clock, self.programmes, self.outbox),
            metrics=self.metrics,
        )

    @property
    def card_api(self) -> Dispatcher:
        return self.card_room.api

    @property
    def card_simulator(self) -> Dispatcher:
        return self.card_room.simulator

    @cached_property
    def worker(self) -> Worker:
        notices = Notices(self.store, self.banks, self.consents, self.bank_link)
        events = EventSender(self.clock, self.clients, self.outbound)
        questions = QuestionSender(self.store, self.clock, self.relay, self.payment_status)
        orders = OrderSender(self.store, self.clock, self.banks, self.payment_execution)
        senders: dict[Kind, Sender] = {
            "revoke_token": Sender(notices.revoke_token),
            "event": Sender(events.send),
            "card_event": Sender(self._send_card_event),
            "relay": Sender(questions.send, questions.given_up),
            "payment": Sender(orders.send, orders.given_up),
            "mail": Sender(MailSender(self.mailer).send),
        }
        dead = aws.Queue(f"{self.settings.prefix}-deliveries-dead")
        return Worker(self.store, self.clock, self.bodies, self.outbox, dead, senders)

    def _send_card_event(self, parcel: Dispatch) -> Delivered:
        """As ``CardEventSender``, which is loaded with the first one: other deliveries do not wait for it."""
        return self.card_event_sender.send(parcel)


_hub: Hub | None = None


def hub() -> Hub:
    """The process's hub, from the environment. Raises: InvalidSetting."""
    global _hub
    if _hub is None:
        _hub = Hub(Settings.from_environment(os.environ))
        log.set_level(_hub.settings.log_level)
    return _hub


def use(replacement: Hub | None) -> None:
    """Make ``replacement`` the process's hub; ``None`` has the next call read the environment again."""
    global _hub
    _hub = replacement
