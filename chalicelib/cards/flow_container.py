"""The card API's flows, wired by name; loaded on the first request to the card API."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from chalicelib.cards.actions import ACTIONS, PORTAL_ACTIONS, SIMULATOR_ACTIONS
from chalicelib.cards.portal.portal import Portal
from chalicelib.cards.requests.action import Action
from chalicelib.cards.requests.dispatch import Dispatcher
from chalicelib.cards.storage.reserved_rows import RowReservation
from chalicelib.foundation.wiring import Container, part

if TYPE_CHECKING:
    from chalicelib.cards.authorization.authorizer import Authorizer
    from chalicelib.cards.authorization.cardholder_verification import CardholderVerification
    from chalicelib.cards.authorization.decline_recovery import DeclineRecovery
    from chalicelib.cards.authorization.hold_release import HoldExpiry, HoldRelease
    from chalicelib.cards.authorization.late_declines import LateDeclines
    from chalicelib.cards.container import CardContainer
    from chalicelib.cards.issuing.card_secrets import CardSecrets
    from chalicelib.cards.payments.direct_debits import DirectDebits
    from chalicelib.cards.payments.payment_posting import PaymentPosting
    from chalicelib.cards.payments.provider_completion import ProviderCompletion, ProviderRecovery
    from chalicelib.cards.payments.provider_orders import AddressOpening, PaymentOrders
    from chalicelib.cards.programs.credential_limits import CredentialLimits
    from chalicelib.cards.reconciliation.rolling_proof import RollingProof
    from chalicelib.cards.requests.answers_in_time import AnswersInTime
    from chalicelib.cards.requests.references import RequestReferences
    from chalicelib.cards.storage.sequences import Sequences
    from chalicelib.foundation.requests.claims import Claims


class CardFlows(Container):
    """The card API's flows: ``api`` serves ``POST /api``, ``simulator`` serves ``POST /simulator``.

    ``portal`` serves the web interface; schedules run ``provider_recovery``, ``hold_expiry`` and ``rolling_proof``, and
    tasks ``decline_recovery``.
    """

    claims: Claims = part("chalicelib.foundation.requests.claims")
    references: RequestReferences = part("chalicelib.cards.requests.references")
    sequences: Sequences = part("chalicelib.cards.storage.sequences")
    in_time: AnswersInTime = part("chalicelib.cards.requests.answers_in_time")
    credential_limits: CredentialLimits = part("chalicelib.cards.programs.credential_limits")
    card_secrets: CardSecrets = part("chalicelib.cards.issuing.card_secrets")
    cardholder_verification: CardholderVerification = part("chalicelib.cards.authorization.cardholder_verification")
    authorizer: Authorizer = part("chalicelib.cards.authorization.authorizer")
    hold_release: HoldRelease = part("chalicelib.cards.authorization.hold_release")
    hold_expiry: HoldExpiry = part("chalicelib.cards.authorization.hold_release")
    late_declines: LateDeclines = part("chalicelib.cards.authorization.late_declines")
    decline_recovery: DeclineRecovery = part("chalicelib.cards.authorization.decline_recovery")
    posting: PaymentPosting = part("chalicelib.cards.payments.payment_posting")
    payment_orders: PaymentOrders = part("chalicelib.cards.payments.provider_orders")
    addresses: AddressOpening = part("chalicelib.cards.payments.provider_orders")
    debits: DirectDebits = part("chalicelib.cards.payments.direct_debits")
    completion: ProviderCompletion = part("chalicelib.cards.payments.provider_completion")
    provider_recovery: ProviderRecovery = part("chalicelib.cards.payments.provider_completion")
    rolling_proof: RollingProof = part("chalicelib.cards.reconciliation.rolling_proof")

    def __init__(self, cards: CardContainer) -> None:
        self.parents = (cards, cards.delivery, cards.shared, cards.shared.settings)
        self.new_reservation = partial(RowReservation, cards.shared.store, cards.shared.clock)

    @cached_property
    def api(self) -> Dispatcher:
        return self._dispatcher(ACTIONS, dict.fromkeys(SIMULATOR_ACTIONS, "call it at POST /simulator"))

    @cached_property
    def simulator(self) -> Dispatcher:
        return self._dispatcher(SIMULATOR_ACTIONS, dict.fromkeys(ACTIONS, "call it at POST /api"))

    @cached_property
    def portal(self) -> Portal:
        return Portal(self._dispatcher(PORTAL_ACTIONS, {}), self.api, self.simulator)

    def _dispatcher(self, actions: Mapping[str, Action[Any]], elsewhere: Mapping[str, str]) -> Dispatcher:
        dispatcher: Dispatcher = self.make(Dispatcher, make_flow=self.make, actions=actions, elsewhere=elsewhere)
        return dispatcher
