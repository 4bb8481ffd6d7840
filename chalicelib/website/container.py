"""Wires the web interface; loaded on the first visit."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from chalicelib.delivery.container import DeliveryContainer
from chalicelib.foundation.container import Infrastructure
from chalicelib.foundation.wiring import Call, Container, part
from chalicelib.openbanking.container import OpenBankingContainer
from chalicelib.statistics.container import StatisticsContainer

if TYPE_CHECKING:
    from chalicelib.cards.portal.portal import Portal
    from chalicelib.website.records.journeys import Journeys
    from chalicelib.website.records.sessions import Sessions
    from chalicelib.website.records.users import Users


class WebsiteContainer(Container):
    """The web interface, which uses ``openbanking``, ``delivery``, ``statistics`` and the portal of the card API."""

    users: Users = part("chalicelib.website.records.users")
    journeys: Journeys = part("chalicelib.website.records.journeys")
    sessions: Sessions = part("chalicelib.website.records.sessions")

    def __init__(
        self,
        shared: Infrastructure,
        delivery: DeliveryContainer,
        statistics: StatisticsContainer,
        openbanking: OpenBankingContainer,
        portal: Callable[[], Portal],
    ) -> None:
        self.shared = shared
        self.delivery = delivery
        self.statistics = statistics
        self.openbanking = openbanking
        self._portal = portal
        self.parents = (shared, delivery, statistics, openbanking, shared.settings)

    @cached_property
    def portal(self) -> Portal:
        return self._portal()

    @property
    def call_hub(self) -> Call:
        """A function that calls open banking's flows as a TPP."""
        return self.openbanking.call
