"""Wiring of the card API. Each part is loaded on first use, so other interfaces start without the card API."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from chalicelib.delivery.container import DeliveryContainer
from chalicelib.delivery.delivery_plan import NOTIFICATION, Plans
from chalicelib.foundation.container import Infrastructure
from chalicelib.foundation.wiring import Container, part

if TYPE_CHECKING:
    from chalicelib.cards.card_data.encryption import CardData, CardKeys
    from chalicelib.cards.payments.provider import Provider
    from chalicelib.cards.portal.portal import Portal
    from chalicelib.cards.programs.credentials import CredentialLimits, Credentials
    from chalicelib.cards.programs.programmes import Programmes
    from chalicelib.cards.requests.action import Action
    from chalicelib.cards.requests.dispatch import Dispatcher
    from chalicelib.cards.requests.envelope import RequestReferences
    from chalicelib.cards.storage.sequences import Sequences
    from chalicelib.foundation.requests.claims import Claims

PLANS: Plans = {"card_event": NOTIFICATION}
"""The delivery plan for card events."""


class CardContainer(Container):
    """The container of the card API. ``api`` serves ``POST /api``, ``simulator`` serves ``POST /simulator``, and
    ``portal`` serves the web interface.

    Jobs and tasks are run with ``call``.
    """

    programmes: Programmes = part("chalicelib.cards.programs.programmes")
    credentials: Credentials = part("chalicelib.cards.programs.credentials")
    credential_limits: CredentialLimits = part("chalicelib.cards.programs.credentials")
    card_data: CardData = part("chalicelib.cards.card_data.encryption")
    claims: Claims = part("chalicelib.foundation.requests.claims")
    references: RequestReferences = part("chalicelib.cards.requests.envelope")
    sequences: Sequences = part("chalicelib.cards.storage.sequences")

    def __init__(self, shared: Infrastructure, delivery: DeliveryContainer) -> None:
        self.shared = shared
        self.delivery = delivery
        self.parents = (delivery, shared, shared.settings)

    @cached_property
    def keys(self) -> CardKeys:
        from chalicelib.cards.card_data.encryption import CardKeys

        shared = self.shared
        return CardKeys(shared.secrets, shared.kms, shared.settings.card_keys_secret, shared.clock.real)

    @cached_property
    def payment_provider(self) -> Provider:
        """The provider of external payments. Sandboxes have a simulated provider. Production has no provider yet."""
        from chalicelib.cards.payments.provider import NoProvider
        from chalicelib.cards.payments.sandbox_provider import SandboxProvider

        return SandboxProvider(self.shared.store) if self.shared.settings.is_sandbox else NoProvider()

    @cached_property
    def api(self) -> Dispatcher:
        from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS

        return self._dispatcher(ACTIONS, dict.fromkeys(SIMULATOR_ACTIONS, "call it at POST /simulator"))

    @cached_property
    def simulator(self) -> Dispatcher:
        from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS

        return self._dispatcher(SIMULATOR_ACTIONS, dict.fromkeys(ACTIONS, "call it at POST /api"))

    @cached_property
    def portal(self) -> Portal:
        from chalicelib.cards.actions import PORTAL_ACTIONS
        from chalicelib.cards.portal.portal import Portal

        return Portal(self._dispatcher(PORTAL_ACTIONS, {}), self.api, self.simulator)

    def _dispatcher(self, actions: Mapping[str, Action[Any]], elsewhere: Mapping[str, str]) -> Dispatcher:
        from chalicelib.cards.requests.dispatch import Dispatcher
        from chalicelib.cards.storage.reserved_rows import RowReservation

        new_reservation = partial(RowReservation, self.shared.store, self.shared.clock)
        dispatcher: Dispatcher = self.make(
            Dispatcher, new_reservation=new_reservation, call=self.call, actions=actions, elsewhere=elsewhere
        )
        return dispatcher
