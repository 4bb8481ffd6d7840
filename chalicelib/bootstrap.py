"""Wiring of the service: one ``Hub`` per process, created on first use and replaceable in tests."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from chalicelib.cards import container as cards
from chalicelib.delivery.container import DeliveryContainer, Senders
from chalicelib.delivery.delivery_plan import Plans
from chalicelib.delivery.outcomes import Delivered, Dispatch, Sender
from chalicelib.delivery.tasks import Handlers
from chalicelib.foundation import log, security_refusals
from chalicelib.foundation.container import Infrastructure
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking import delivery_plans as openbanking_plans
from chalicelib.openbanking.container import OpenBankingContainer
from chalicelib.statistics.container import StatisticsContainer
from chalicelib.website import delivery_plans as mail_plans

if TYPE_CHECKING:
    from chalice.app import Response

    from chalicelib.foundation.crypto.resealing import Resealing
    from chalicelib.openbanking.flows.bank.choice import BankChoice
    from chalicelib.sandbox_clock.container import ClockContainer
    from chalicelib.statistics.ingest import ExpectedBank
    from chalicelib.website.container import WebsiteContainer


PLANS: Plans = {**openbanking_plans.PLANS, **cards.PLANS, **mail_plans.PLANS}
"""The delivery plan for each kind of delivery."""


class Hub(Infrastructure):
    """The service of one stage: shared infrastructure and one container per package, each created on first use."""

    @cached_property
    def delivery(self) -> DeliveryContainer:
        return DeliveryContainer(self, PLANS, self._senders, self._task_handlers)

    @cached_property
    def statistics(self) -> StatisticsContainer:
        return StatisticsContainer(self, self._expected_banks)

    @cached_property
    def openbanking(self) -> OpenBankingContainer:
        return OpenBankingContainer(self, self.delivery, self.statistics, self._error_page, self._bank_choice_page)

    @cached_property
    def cards(self) -> cards.CardContainer:
        return cards.CardContainer(self, self.delivery)

    @cached_property
    def website(self) -> WebsiteContainer:
        from chalicelib.website.container import WebsiteContainer

        return WebsiteContainer(self, self.delivery, self.statistics, self.openbanking, lambda: self.cards.portal)

    @cached_property
    def sandbox_clock(self) -> ClockContainer:
        from chalicelib.sandbox_clock.container import ClockContainer

        return ClockContainer(self, self.delivery, self.statistics, self.openbanking, self.cards, self.website)

    @cached_property
    def resealing(self) -> Resealing:
        from chalicelib.foundation.crypto.resealing import Resealing
        from chalicelib.sealed_places import SEALED_PLACES

        return Resealing(self.store, self.vault, self.keyring, self.clock.real, SEALED_PLACES)

    def _senders(self) -> Senders:
        """Return the sender for each kind of delivery. The sender's package is loaded with the first delivery."""
        return {
            **self.openbanking.senders(),
            "card_event": Sender(self._send_card_event),
            "mail": Sender(self._send_mail),
        }

    def _task_handlers(self) -> Handlers:
        """Return the handlers of queued tasks. The card API is loaded with the first task."""
        from chalicelib.cards.authorization.decline_recovery import TASK, record_decline

        return {TASK: partial(self.cards.call, record_decline)}

    def _send_card_event(self, dispatch: Dispatch) -> Delivered:
        from chalicelib.cards.events.card_events import send_card_event

        return self.cards.call(send_card_event, dispatch)

    def _send_mail(self, dispatch: Dispatch) -> Delivered:
        from chalicelib.website.accounts.account_flow import send_mail

        return self.website.call(send_mail, dispatch)

    def _expected_banks(self) -> Sequence[ExpectedBank]:
        from chalicelib.openbanking.flows.bank.expected_reports import expected_banks

        return expected_banks(self.openbanking.banks)

    def _error_page(self, title: str, what: str, next_step: str, *, status: int) -> Response:
        from chalicelib.website.pages import error_page

        return error_page(self.website, title, what, next_step, status=status)

    def _bank_choice_page(self, choice: BankChoice) -> Response:
        from chalicelib.website.authorization.bank_choice_views import bank_choice_page

        return bank_choice_page(self.website, choice)


_hub: Hub | None = None


def hub() -> Hub:
    """The process's hub, configured from the environment. Raises: InvalidSetting."""
    if _hub is None:
        new = Hub(Settings.from_environment(os.environ))
        use(new)
        log.set_level(new.settings.log_level)
        return new
    return _hub


def use(replacement: Hub | None) -> None:
    """Use ``replacement`` as the process's hub; with ``None``, the next call reads the environment again."""
    global _hub
    _hub = replacement
    security_refusals.count_with(replacement.metrics if replacement else None)
