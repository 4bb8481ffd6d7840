"""How the card API's parts are put together; loaded when the card API is first asked for something."""

from __future__ import annotations

from chalicelib.cards.authorization.authorization_flow import AuthorizationFlow
from chalicelib.cards.authorization.authorizer import Authorizer
from chalicelib.cards.authorization.cardholder_verification import CardholderVerification
from chalicelib.cards.authorization.clearing_flow import ClearingFlow
from chalicelib.cards.authorization.dispute_flow import DisputeFlow
from chalicelib.cards.authorization.hold_expiry import HoldExpiry
from chalicelib.cards.authorization.hold_release import HoldRelease
from chalicelib.cards.authorization.release_flow import ReleaseFlow
from chalicelib.cards.card_data.sealed_data import CardData
from chalicelib.cards.events.card_events import CardEvents
from chalicelib.cards.issuing.account_flow import AccountFlow
from chalicelib.cards.issuing.card_creation_flow import CardCreationFlow
from chalicelib.cards.issuing.card_data_flow import CardDataFlow
from chalicelib.cards.issuing.card_flow import CardFlow
from chalicelib.cards.issuing.card_reissue_flow import CardReissueFlow
from chalicelib.cards.issuing.card_secrets import CardSecrets
from chalicelib.cards.issuing.holder_flow import HolderFlow
from chalicelib.cards.ledger.fee_flow import FeeFlow
from chalicelib.cards.ledger.limit_flow import LimitFlow
from chalicelib.cards.payments.address_flow import AddressFlow
from chalicelib.cards.payments.address_opening import AddressOpening
from chalicelib.cards.payments.direct_debit_flow import DirectDebitFlow
from chalicelib.cards.payments.direct_debits import DirectDebits
from chalicelib.cards.payments.incoming_payments import IncomingPayments
from chalicelib.cards.payments.payment_posting import PaymentPosting
from chalicelib.cards.payments.provider import Provider
from chalicelib.cards.payments.provider_completion import ProviderCompletion
from chalicelib.cards.payments.provider_orders import PaymentOrders
from chalicelib.cards.payments.provider_recovery import ProviderRecovery
from chalicelib.cards.payments.return_flow import ReturnFlow
from chalicelib.cards.payments.simulator_flow import PaymentSimulatorFlow
from chalicelib.cards.payments.transfer_flow import TransferFlow
from chalicelib.cards.portal.portal import Portal
from chalicelib.cards.portal.portal_flow import PortalFlow
from chalicelib.cards.programs.credentials import Credentials
from chalicelib.cards.programs.programmes import Programmes
from chalicelib.cards.protocol.action import Flow
from chalicelib.cards.protocol.actions import ACTIONS
from chalicelib.cards.protocol.portal_messages import DESK_ACTIONS
from chalicelib.cards.protocol.simulator_actions import SIMULATED
from chalicelib.cards.reconciliation.rolling_proof import RollingProof
from chalicelib.cards.reports.report_flow import ReportFlow
from chalicelib.cards.requests.dispatch import Dispatcher
from chalicelib.cards.requests.idempotency import RequestReferences
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.cards.three_ds.acs_flow import AcsFlow
from chalicelib.cards.three_ds.simulator_flow import ThreeDsSimulatorFlow
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.vault import Vault
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.metrics import Metrics


class CardRoom:
    """``api`` answers ``POST /api``, ``simulator`` ``POST /simulator``.

    ``desk`` is where the web interface asks; schedules ask ``overdue``, ``holds`` and ``proof``.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        vault: Vault,
        credentials: Credentials,
        programmes: Programmes,
        card_data: CardData,
        provider: Provider,
        events: CardEvents,
        *,
        metrics: Metrics,
    ) -> None:
        references = RequestReferences(vault, card_data)
        sequences = Sequences(store)
        completion = ProviderCompletion(store, clock, references, events)
        booking = PaymentPosting(sequences)
        releasing = HoldRelease(sequences)
        payments = PaymentOrders(store, programmes, provider, booking)
        addresses, debits = AddressOpening(store, provider), DirectDebits(booking)
        flows = _flows(sequences, card_data) | {
            "addresses": AddressFlow(sequences, completion, addresses),
            "clearings": ClearingFlow(sequences),
            "disputes": DisputeFlow(sequences),
            "releases": ReleaseFlow(releasing),
            "debits": DirectDebitFlow(),
            "fees": FeeFlow(sequences),
            "limits": LimitFlow(),
            "outside": PaymentSimulatorFlow(sequences, booking, IncomingPayments(booking), debits),
            "reports": ReportFlow(sequences),
            "returns": ReturnFlow(programmes, booking, completion, payments),
            "transfers": TransferFlow(programmes, booking, completion, payments),
        }
        self.overdue = ProviderRecovery(
            store, clock, metrics, programmes, completion, payments, addresses, debits, events
        )
        self.proof = RollingProof(store, clock, metrics)
        self.holds = HoldExpiry(store, clock, metrics, programmes, releasing, events)
        parts = (store, clock, credentials, programmes, references, events, flows)
        self.api = Dispatcher(*parts, ACTIONS, dict.fromkeys(SIMULATED, "this action is one of POST /simulator"))
        self.simulator = Dispatcher(*parts, SIMULATED, dict.fromkeys(ACTIONS, "this action is one of POST /api"))
        self.desk = Portal(Dispatcher(*parts, DESK_ACTIONS, {}), self.api, self.simulator)


def _flows(sequences: Sequences, card_data: CardData) -> dict[Flow, object]:
    """Who carries the actions out, by the names in their table."""
    secrets = CardSecrets(card_data)
    return {
        "accounts": AccountFlow(sequences),
        "acs": AcsFlow(sequences, card_data),
        "authorizations": AuthorizationFlow(sequences, card_data, Authorizer(CardholderVerification(secrets))),
        "card_data": CardDataFlow(secrets),
        "cards": CardFlow(secrets),
        "desk": PortalFlow(secrets),
        "holders": HolderFlow(sequences),
        "issuing": CardCreationFlow(sequences, secrets),
        "reissuing": CardReissueFlow(sequences, secrets),
        "simulator": ThreeDsSimulatorFlow(sequences, card_data),
    }
