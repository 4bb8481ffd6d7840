"""Wires the card API's flows; loaded on the first request to the card API."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from chalicelib.cards.actions import ACTIONS, PORTAL_ACTIONS, SIMULATOR_ACTIONS
from chalicelib.cards.authorization.authorization_flow import AuthorizationFlow
from chalicelib.cards.authorization.authorizer import Authorizer
from chalicelib.cards.authorization.cardholder_verification import CardholderVerification
from chalicelib.cards.authorization.clearing_flow import ClearingFlow
from chalicelib.cards.authorization.decline_recovery import DeclineRecovery
from chalicelib.cards.authorization.dispute_flow import DisputeFlow
from chalicelib.cards.authorization.hold_release import HoldExpiry, HoldRelease
from chalicelib.cards.authorization.late_declines import LateDeclines
from chalicelib.cards.issuing.account_flow import AccountFlow
from chalicelib.cards.issuing.card_creation_flow import CardCreationFlow
from chalicelib.cards.issuing.card_flow import CardFlow
from chalicelib.cards.issuing.card_reissue_flow import CardReissueFlow
from chalicelib.cards.issuing.card_secrets import CardSecrets
from chalicelib.cards.issuing.holder_flow import HolderFlow
from chalicelib.cards.ledger.fee_flow import FeeFlow
from chalicelib.cards.ledger.limit_flow import LimitFlow
from chalicelib.cards.payments.address_flow import AddressFlow
from chalicelib.cards.payments.direct_debits import DirectDebits
from chalicelib.cards.payments.payment_posting import PaymentPosting
from chalicelib.cards.payments.provider_completion import ProviderCompletion, ProviderRecovery
from chalicelib.cards.payments.provider_orders import AddressOpening, PaymentOrders
from chalicelib.cards.payments.return_flow import ReturnFlow
from chalicelib.cards.payments.simulator_flow import PaymentSimulatorFlow
from chalicelib.cards.payments.transfer_flow import TransferFlow
from chalicelib.cards.portal.portal import Portal
from chalicelib.cards.portal.portal_flow import PortalFlow
from chalicelib.cards.programs.credential_limits import CredentialLimits
from chalicelib.cards.reconciliation.rolling_proof import RollingProof
from chalicelib.cards.reports.report_flow import ReportFlow
from chalicelib.cards.requests.answers_in_time import AnswersInTime
from chalicelib.cards.requests.dispatch import Dispatcher
from chalicelib.cards.requests.references import RequestReferences
from chalicelib.cards.storage.reserved_rows import RowReservation
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.cards.three_ds.acs_flow import AcsFlow
from chalicelib.foundation.requests.claims import Claims

if TYPE_CHECKING:
    from chalicelib.cards.container import CardContainer


class CardFlows:
    """The card API's flows: ``api`` serves ``POST /api``, ``simulator`` serves ``POST /simulator``.

    ``portal`` serves the web interface; schedules run ``provider_recovery``, ``hold_expiry`` and ``rolling_proof``, and
    tasks ``decline_recovery``.
    """

    def __init__(self, cards: CardContainer) -> None:
        shared, programmes, card_data, events = cards.shared, cards.programmes, cards.card_data, cards.events
        engine, store, clock, metrics = cards.delivery.engine, shared.store, shared.clock, shared.metrics
        references = RequestReferences(Claims(shared.vault, shared.clock), card_data)
        self.sequences = sequences = Sequences(store)
        completion = ProviderCompletion(clock, references, events, engine)
        posting = PaymentPosting(sequences)
        hold_release = HoldRelease(sequences)
        payments = PaymentOrders(store, programmes, cards.payment_provider, posting)
        addresses, debits = AddressOpening(store, cards.payment_provider), DirectDebits(posting)
        secrets = CardSecrets(card_data)
        limits = CredentialLimits(clock, shared.settings.credential_calls, metrics)
        self.authorizer = Authorizer(CardholderVerification(secrets))
        flows = (
            AccountFlow(sequences),
            AcsFlow(sequences, card_data),
            AddressFlow(sequences, completion, addresses),
            AuthorizationFlow(sequences, card_data, self.authorizer),
            CardCreationFlow(sequences, secrets),
            CardFlow(secrets),
            CardReissueFlow(sequences, secrets),
            ClearingFlow(sequences),
            debits,
            DisputeFlow(sequences),
            FeeFlow(sequences),
            HolderFlow(sequences),
            LimitFlow(),
            PaymentSimulatorFlow(sequences, posting, debits),
            PortalFlow(secrets, programmes, cards.credentials, limits),
            hold_release,
            ReportFlow(sequences),
            ReturnFlow(programmes, posting, completion, payments),
            TransferFlow(programmes, posting, completion, payments),
        )
        self.provider_recovery = ProviderRecovery(
            store, clock, metrics, programmes, completion, payments, addresses, debits, events, engine
        )
        self.rolling_proof = RollingProof(store, clock, metrics)
        self.hold_expiry = HoldExpiry(
            store, clock, metrics, programmes, hold_release, LateDeclines(engine, clock), events, engine
        )
        self.decline_recovery = DeclineRecovery(
            store, clock, programmes, references, self.authorizer, hold_release, events
        )
        in_time = AnswersInTime(clock, cards.delivery.tasks, metrics)
        new_reservation = partial(RowReservation, store, clock)
        callers = partial(Dispatcher, store, engine, clock, cards.credentials, limits)
        dispatcher = partial(callers, programmes, references, events, in_time, new_reservation, flows)
        self.api = dispatcher(ACTIONS, dict.fromkeys(SIMULATOR_ACTIONS, "call it at POST /simulator"))
        self.simulator = dispatcher(SIMULATOR_ACTIONS, dict.fromkeys(ACTIONS, "call it at POST /api"))
        self.portal = Portal(dispatcher(PORTAL_ACTIONS, {}), self.api, self.simulator)
