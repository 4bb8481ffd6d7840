"""Card events, received at the Events URL of a programme manager created for the tour."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from typing import Any

from chalicelib.bootstrap import Hub
from chalicelib.cards.programs.catalogue import Catalogue
from chalicelib.cards.programs.credentials import Rights
from chalicelib.cards.protocol.card_records import CARD_FIELDS, PLAIN
from chalicelib.foundation.dynamodb.store import StoreError
from infra.programme import loading
from infra.programme.file import WantedManager
from infra.tour.card_calls import CardCalls
from infra.tour.guide import Guide
from infra.tour.receiver import EventReceiver, listen
from infra.tour.shops import CORNER_SHOP, EURO, GERMANY, PURCHASE

_RIGHTS = {"tour": Rights(access_level=1000, actions=None, modes=dict.fromkeys(CARD_FIELDS, PLAIN))}
_ORDER: Mapping[str, Any] = {
    "card_virtual": 1,
    "card_country_ison": GERMANY,
    "card_name_line_3": "GRACE HOPPER",
    "holder_first_name": "Grace",
    "holder_last_name": "Hopper",
    "holder_address_line_1": "Riverside 12",
    "holder_country_ison": GERMANY,
    "holder_zipcode": "10115",
    "holder_city": "Berlin",
    "holder_phone_number": "4930901821",
}
_NUMBERS = 1_000_000
_AMOUNT = 4590


class CardEventsTour:
    """Triggers card events on the stack at ``base``, and receives and verifies each one."""

    def __init__(self, base: str, hub: Hub, guide: Guide) -> None:
        self._base = base
        self._hub = hub
        self._guide = guide

    def play(self, like: Catalogue) -> int:
        """Play a card's first steps for a new programme manager set up like ``like``. Returns the number of events.

        Raises:
            TourFailed.
        """
        guide = self._guide
        guide.chapter("Card events")
        guide.step("The operator loads a programme manager with an Events URL")
        with listen() as receiver, self._load_manager(like, receiver) as calls:
            self._card(calls, receiver, next(iter(like.card_programmes)))
            return receiver.count

    # -- inside

    @contextmanager
    def _load_manager(self, like: Catalogue, receiver: EventReceiver) -> Iterator[CardCalls]:
        """A client for a new programme manager, whose Events URL is removed on exit."""
        number = _NUMBERS + secrets.randbelow(_NUMBERS)
        made = replace(like, manager_id=number, name=f"Guided Tour {number}", events_url=receiver.url)
        (plan,) = loading.load(self._hub, [WantedManager(made, _RIGHTS)])
        assert plan.events_secret is not None, "it has an Events URL for the first time"
        receiver.secret = plan.events_secret
        shown = {"id": number, "events_url": receiver.url, "events_secret": plan.events_secret}
        self._guide.command("programme load guided-tour.yaml", shown)
        try:
            yield CardCalls(self._base, asdict(plan.secrets["tour"]), None)
        finally:
            with suppress(StoreError):  # the stack may be gone
                loading.load(self._hub, [WantedManager(replace(made, events_url=None), _RIGHTS)])

    def _card(self, calls: CardCalls, receiver: EventReceiver, card_programme_id: int) -> None:
        guide = self._guide
        guide.step("A card is created and activated")
        card = calls.ask("createCard", card_program_id=card_programme_id, **_ORDER)["data"]
        number = {"card_id": card["card_id"]}
        self._expect_event(receiver, "card.created", **number)
        calls.ask("activateCard", **number)
        self._expect_event(receiver, "card.activated", **number)

        guide.step("The account is credited, and a purchase is approved and cleared")
        address = {"account_id": card["account_id"], "epm_method_id": 2, "currency_ison": EURO}
        (opened,) = calls.ask("assignExternalPaymentAddress", **address)["data"]
        payment = {"amount": 10_000, "currency_ison": EURO, "scheme": "SCT", "sender_name": "Meadow Ltd"}
        calls.simulate("simulateInboundPayment", epm_address_id=opened["id"], **payment)
        self._expect_event(receiver, "external_payment", account_id=card["account_id"])
        asked = {"transaction_type": PURCHASE, "amount": _AMOUNT, "currency_ison": EURO, **CORNER_SHOP.members}
        held = calls.simulate("simulateAuthorization", **asked, **number)["data"]
        self._expect_event(receiver, "card.authorization", authorize_id=held["authorize_id"])
        collected = {"trans_link": held["trans_link"], "amount": _AMOUNT, "currency_ison": EURO}
        cleared = calls.simulate("simulateClearing", **collected)["data"]
        self._expect_event(receiver, "card.clearing", transaction_id=cleared["transaction_id"])

        guide.step("An online shop requests 3-D Secure, and then the card is blocked")
        asked = calls.simulate("simulateAuthentication", amount=_AMOUNT, currency_ison=EURO, **number)["data"]
        self._expect_event(receiver, "three_d_secure.requested", auth_request_id=asked["auth_request_id"])
        calls.ask("changeCardStatus", **number, status="B")
        self._expect_event(receiver, "card.status_changed", **number)

    def _expect_event(self, receiver: EventReceiver, name: str, **members: Any) -> None:
        """Wait for an event and print it. Raises: TourFailed."""
        self._guide.event(receiver.wait_for_event(name, **members))
