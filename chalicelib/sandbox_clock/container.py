"""Wires the clock of the one-machine stack, and the scheduled work of all packages by name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from chalicelib.cards.container import CardContainer
from chalicelib.delivery.container import DeliveryContainer
from chalicelib.foundation.container import Infrastructure
from chalicelib.foundation.wiring import Container, part
from chalicelib.openbanking.container import OpenBankingContainer
from chalicelib.statistics.container import StatisticsContainer
from chalicelib.website.container import WebsiteContainer

if TYPE_CHECKING:
    from chalicelib.foundation.moved_clock import ClockOffset
    from chalicelib.sandbox_clock.clock_advance import ClockAdvance, ScheduledWork
    from chalicelib.sandbox_clock.remembered_due import WriteCounts


class ClockContainer(Container):
    """The parts of the adjustable clock. ``shared`` has a ``MovedClock``."""

    advance: ClockAdvance = part("chalicelib.sandbox_clock.clock_advance")
    offset: ClockOffset = part("chalicelib.foundation.moved_clock")
    writes: WriteCounts = part("chalicelib.sandbox_clock.remembered_due")

    def __init__(
        self,
        shared: Infrastructure,
        delivery: DeliveryContainer,
        statistics: StatisticsContainer,
        openbanking: OpenBankingContainer,
        cards: CardContainer,
        website: WebsiteContainer,
    ) -> None:
        self.shared, self.website = shared, website
        self.parents = (shared, delivery, statistics, openbanking, cards, shared.settings)

    @cached_property
    def work(self) -> Sequence[ScheduledWork]:
        from chalicelib.sandbox_clock.scheduled_work_flow import scheduled_work

        return self.call(scheduled_work)
