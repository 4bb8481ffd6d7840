"""Wires the card API; each part is loaded on first use, so other interfaces start without it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from chalicelib.delivery.container import DeliveryContainer
from chalicelib.foundation.container import Infrastructure

if TYPE_CHECKING:
    from chalicelib.cards.card_data.keys import CardKeys
    from chalicelib.cards.card_data.sealed_data import CardData
    from chalicelib.cards.events.card_events import CardEvents, CardEventSender
    from chalicelib.cards.events.event_secrets import EventSecrets
    from chalicelib.cards.flow_container import CardFlows
    from chalicelib.cards.payments.provider import Provider
    from chalicelib.cards.programs.credentials import Credentials
    from chalicelib.cards.programs.programmes import Programmes


class CardContainer:
    """The card API's shared services and keys; ``flows`` has its flows and jobs."""

    def __init__(self, shared: Infrastructure, delivery: DeliveryContainer) -> None:
        self.shared = shared
        self.delivery = delivery

    @cached_property
    def programmes(self) -> Programmes:
        from chalicelib.cards.programs.programmes import Programmes

        return Programmes(self.shared.store, self.shared.clock)

    @cached_property
    def credentials(self) -> Credentials:
        from chalicelib.cards.programs.credentials import Credentials

        return Credentials(self.shared.store, self.shared.clock)

    @cached_property
    def event_secrets(self) -> EventSecrets:
        from chalicelib.cards.events.event_secrets import EventSecrets

        return EventSecrets(self.shared.store, self.shared.vault, self.shared.clock, self.delivery.engine)

    @cached_property
    def event_sender(self) -> CardEventSender:
        from chalicelib.cards.events.card_events import CardEventSender

        return CardEventSender(self.shared.store, self.shared.clock, self.event_secrets, self.shared.outbound)

    @cached_property
    def keys(self) -> CardKeys:
        from chalicelib.cards.card_data.keys import CardKeys

        shared = self.shared
        return CardKeys(shared.secrets, shared.kms, shared.settings.card_keys_secret, shared.clock.real)

    @cached_property
    def card_data(self) -> CardData:
        from chalicelib.cards.card_data.sealed_data import CardData

        return CardData(self.shared.vault, self.keys)

    @cached_property
    def payment_provider(self) -> Provider:
        """The provider of external payments: a simulated one in sandboxes, none in production yet."""
        from chalicelib.cards.payments.provider import NoProvider
        from chalicelib.cards.payments.sandbox_provider import SandboxProvider

        return SandboxProvider(self.shared.store) if self.shared.settings.is_sandbox else NoProvider()

    @cached_property
    def events(self) -> CardEvents:
        from chalicelib.cards.events.card_events import CardEvents

        return CardEvents(self.shared.clock, self.programmes, self.delivery.outbox)

    @cached_property
    def flows(self) -> CardFlows:
        from chalicelib.cards.flow_container import CardFlows

        return CardFlows(self)
