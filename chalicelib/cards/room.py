"""How the card API's parts are put together; loaded when the card API is first asked for something."""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.cards.account_flow import AccountFlow
from chalicelib.cards.acs_flow import AcsFlow
from chalicelib.cards.authorizing import Authorizer
from chalicelib.cards.card_data import CardData
from chalicelib.cards.card_data_flow import CardDataFlow
from chalicelib.cards.card_flow import CardFlow
from chalicelib.cards.card_secrets import CardSecrets
from chalicelib.cards.credentials import Credentials
from chalicelib.cards.dispatch import Dispatch
from chalicelib.cards.holder_flow import HolderFlow
from chalicelib.cards.idempotency import References
from chalicelib.cards.issuing import Issuing
from chalicelib.cards.programmes import Programmes
from chalicelib.cards.protocol.actions import ACTIONS, SIMULATED, Flow
from chalicelib.cards.reissuing import Reissuing
from chalicelib.cards.sequences import Sequences
from chalicelib.cards.simulator_flow import SimulatorFlow
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.store import Store
from chalicelib.foundation.vault import Vault


class CardRoom:
    """``api`` answers ``POST /api``, ``simulator`` answers ``POST /simulator``."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        vault: Vault,
        credentials: Credentials,
        programmes: Programmes,
        card_data: CardData,
    ) -> None:
        references = References(vault, card_data)
        flows = _flows(Sequences(store), card_data)
        self.api = Dispatch(store, clock, credentials, programmes, references, flows, ACTIONS)
        self.simulator = Dispatch(store, clock, credentials, programmes, references, flows, SIMULATED)


def _flows(sequences: Sequences, card_data: CardData) -> Mapping[Flow, object]:
    """Who carries the actions out, by the names in their table."""
    secrets = CardSecrets(card_data)
    return {
        "accounts": AccountFlow(sequences),
        "acs": AcsFlow(sequences, card_data),
        "card_data": CardDataFlow(secrets),
        "cards": CardFlow(secrets),
        "holders": HolderFlow(sequences),
        "issuing": Issuing(sequences, secrets),
        "reissuing": Reissuing(sequences, secrets),
        "simulator": SimulatorFlow(sequences, card_data, Authorizer(secrets)),
    }
