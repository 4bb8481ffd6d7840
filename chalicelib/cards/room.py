"""How the card API's parts are put together; loaded when the card API is first asked for something."""

from __future__ import annotations

from chalicelib.cards.account_flow import AccountFlow
from chalicelib.cards.acs_flow import AcsFlow
from chalicelib.cards.card_data import CardData
from chalicelib.cards.card_data_flow import CardDataFlow
from chalicelib.cards.card_flow import CardFlow
from chalicelib.cards.card_secrets import CardSecrets
from chalicelib.cards.credentials import Credentials
from chalicelib.cards.desk import Desk
from chalicelib.cards.desk_flow import DeskFlow
from chalicelib.cards.dispatch import Dispatch
from chalicelib.cards.events import CardEvents
from chalicelib.cards.external.address_flow import AddressFlow
from chalicelib.cards.external.address_orders import AddressOrders
from chalicelib.cards.external.booking import Booking
from chalicelib.cards.external.debit_flow import DebitFlow
from chalicelib.cards.external.debits import Debits
from chalicelib.cards.external.finishing import Finishing
from chalicelib.cards.external.incoming import Incoming
from chalicelib.cards.external.overdue import Overdue
from chalicelib.cards.external.payment_orders import PaymentOrders
from chalicelib.cards.external.provider import Provider
from chalicelib.cards.external.return_flow import ReturnFlow
from chalicelib.cards.external.simulator_flow import PaymentSimulatorFlow
from chalicelib.cards.external.transfer_flow import TransferFlow
from chalicelib.cards.holder_flow import HolderFlow
from chalicelib.cards.idempotency import References
from chalicelib.cards.issuing import Issuing
from chalicelib.cards.money.fee_flow import FeeFlow
from chalicelib.cards.money.limit_flow import LimitFlow
from chalicelib.cards.network.authorization_flow import AuthorizationFlow
from chalicelib.cards.network.authorizer import Authorizer
from chalicelib.cards.network.clearing_flow import ClearingFlow
from chalicelib.cards.network.dispute_flow import DisputeFlow
from chalicelib.cards.network.holds import Holds
from chalicelib.cards.network.proving import Proof
from chalicelib.cards.network.release_flow import ReleaseFlow
from chalicelib.cards.network.releasing import Releasing
from chalicelib.cards.programmes import Programmes
from chalicelib.cards.protocol.action import Flow
from chalicelib.cards.protocol.actions import ACTIONS
from chalicelib.cards.protocol.desk_messages import DESK_ACTIONS
from chalicelib.cards.protocol.simulator_actions import SIMULATED
from chalicelib.cards.proving.rounds import Rounds
from chalicelib.cards.reissuing import Reissuing
from chalicelib.cards.reports.report_flow import ReportFlow
from chalicelib.cards.sequences import Sequences
from chalicelib.cards.simulator_flow import SimulatorFlow
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
        references = References(vault, card_data)
        sequences = Sequences(store)
        finishing = Finishing(store, clock, references, events)
        booking = Booking(sequences)
        releasing = Releasing(sequences)
        payments = PaymentOrders(store, programmes, provider, booking)
        addresses, debits = AddressOrders(store, provider), Debits(booking)
        flows = _flows(sequences, card_data) | {
            "addresses": AddressFlow(sequences, finishing, addresses),
            "clearings": ClearingFlow(sequences),
            "disputes": DisputeFlow(sequences),
            "releases": ReleaseFlow(releasing),
            "debits": DebitFlow(),
            "fees": FeeFlow(sequences),
            "limits": LimitFlow(),
            "outside": PaymentSimulatorFlow(sequences, booking, Incoming(booking), debits),
            "reports": ReportFlow(sequences),
            "returns": ReturnFlow(programmes, booking, finishing, payments),
            "transfers": TransferFlow(programmes, booking, finishing, payments),
        }
        self.overdue = Overdue(store, clock, metrics, programmes, finishing, payments, addresses, debits, events)
        self.proof = Rounds(store, clock, metrics)
        self.holds = Holds(store, clock, metrics, programmes, releasing, events)
        parts = (store, clock, credentials, programmes, references, events, flows)
        self.api = Dispatch(*parts, ACTIONS, dict.fromkeys(SIMULATED, "this action is one of POST /simulator"))
        self.simulator = Dispatch(*parts, SIMULATED, dict.fromkeys(ACTIONS, "this action is one of POST /api"))
        self.desk = Desk(Dispatch(*parts, DESK_ACTIONS, {}), self.api, self.simulator)


def _flows(sequences: Sequences, card_data: CardData) -> dict[Flow, object]:
    """Who carries the actions out, by the names in their table."""
    secrets = CardSecrets(card_data)
    return {
        "accounts": AccountFlow(sequences),
        "acs": AcsFlow(sequences, card_data),
        "authorizations": AuthorizationFlow(sequences, card_data, Authorizer(Proof(secrets))),
        "card_data": CardDataFlow(secrets),
        "cards": CardFlow(secrets),
        "desk": DeskFlow(secrets),
        "holders": HolderFlow(sequences),
        "issuing": Issuing(sequences, secrets),
        "reissuing": Reissuing(sequences, secrets),
        "simulator": SimulatorFlow(sequences, card_data),
    }
