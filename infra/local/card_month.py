"""The story of a month that a new stack begins with: five holders of the demonstration programme and their cards.

People, companies and merchants are invented. Amounts are in minor units, days count from the start of the month, and
ids are those of ``infra/programme/demo.yaml``. Almost every payment has been collected; one hold is still open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import time
from typing import Any

from infra.local.card_player import ResponseValue, Step

DAYS = 28
"""Whole days of the story; the last is yesterday."""

_EURO, _POUND, _DOLLAR = 978, 826, 840
_GERMANY, _BRITAIN, _IRELAND, _AMERICA = 276, 826, 372, 840
_CHIP, _CONTACTLESS, _STORED, _ONLINE = 5, 7, 10, 81
_PURCHASE, _CASH = 0, 1
_AUTHENTICATED = 5
_EVERYDAY, _PREPAID, _ONLINE_ONLY = 101, 102, 103
_UK, _SEPA = 1, 2
_OUT = "61"
"""The response code for an amount limit."""


Members = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Merchant:
    """A merchant: its name, category, country and currency, and how cards are usually read."""

    name: str
    mcc: str
    country: int = _GERMANY
    currency: int = _EURO
    entry_mode: int = _CHIP

    @property
    def members(self) -> Members:
        return {
            "merchant_name": self.name,
            "mcc": self.mcc,
            "merchant_country_ison": self.country,
            "merchant_id": f"M{self.mcc}{self.country:03}",
            "terminal_id": f"T{self.mcc}{self.country:03}",
        }


_BAKERY = Merchant("Backstube Morgenrot", "5462", entry_mode=_CONTACTLESS)
_GROCER = Merchant("Markthalle am Wehr", "5411")
_BOOKS = Merchant("Buchhandlung Anker", "5942")
_TRAINS = Merchant("Nordlicht Bahn", "4112", entry_mode=_ONLINE)
_BISTRO = Merchant("Bistro Kranich", "5812", entry_mode=_CONTACTLESS)
_ATM = Merchant("Geldautomat Hafenstrasse", "6011")
_SEASIDE = Merchant("Hotel Leuchtturm", "7011")
_DINER = Merchant("Bluebird Diner", "5812", _AMERICA, _DOLLAR)
_INN = Merchant("Harbor Light Inn", "7011", _AMERICA, _DOLLAR)
_TOURS = Merchant("Two Rivers Tours", "4722", _AMERICA, _DOLLAR)
_TOUR = {"amount": 62_000, "currency_ison": _DOLLAR}
"""A cancelled tour whose price comes back in dollars."""
_CAFE = Merchant("Foxglove Cafe", "5814", _BRITAIN, _POUND, _CONTACTLESS)
_SUPERMARKET = Merchant("Harrowfield Foods", "5411", _BRITAIN, _POUND)
_FUEL = Merchant("Stonebridge Fuel", "5542", _BRITAIN, _POUND)
_CINEMA = Merchant("Orchard Picture House", "7832", _BRITAIN, _POUND, _ONLINE)
_CASHPOINT = Merchant("Cashpoint Mill Lane", "6011", _BRITAIN, _POUND)
_PARTS = Merchant("Tandem Parts Supply", "5940", _BRITAIN, _POUND)
_COURIER = Merchant("Swiftmoor Couriers", "4215", _BRITAIN, _POUND, _ONLINE)
_HOTEL = Merchant("Larkspur Hotel", "7011", _BRITAIN, _POUND)
_PHARMACY = Merchant("Willow Lane Pharmacy", "5912", _IRELAND)
_DUBLIN_GROCER = Merchant("Liffey Larder", "5411", _IRELAND, entry_mode=_CONTACTLESS)
_BUS = Merchant("Emerald Coaches", "4131", _IRELAND, entry_mode=_CONTACTLESS)
_CASINO = Merchant("Golden Clover Games", "7995", _IRELAND, entry_mode=_ONLINE)
_STREAMING = Merchant("Kinoglas Streaming", "4899", entry_mode=_ONLINE)
_SHOES = Merchant("Schuhwerk Online", "5661", entry_mode=_ONLINE)
_GAMES = Merchant("Pixelhof", "5816", entry_mode=_ONLINE)
_ELECTRONICS = Merchant("Voltwerk", "5732", entry_mode=_ONLINE)


@dataclass(frozen=True, slots=True)
class Card:
    """A card of the story and its account; ``name`` identifies it in the names of steps."""

    name: str
    currency: int

    @property
    def id(self) -> ResponseValue:
        return ResponseValue(f"{self.name} created", ("card_id",))

    @property
    def account_id(self) -> ResponseValue:
        return ResponseValue(f"{self.name} created", ("account_id",))

    @property
    def holder_id(self) -> ResponseValue:
        return ResponseValue(f"{self.name} created", ("holder_id",))

    @property
    def address_id(self) -> ResponseValue:
        """The external payment address of its account."""
        return ResponseValue(f"{self.name} address", (0, "id"))

    def step(self, day: int, at: str, name: str, action: str, code: str | None = None, **members: Any) -> Step:
        return Step(day, time.fromisoformat(at), f"{self.name} {name}", action, members, code)

    def card_step(self, day: int, at: str, name: str, action: str, **members: Any) -> Step:
        """An action whose request names the card."""
        return self.step(day, at, name, action, card_id=self.id, **members)

    def activation(self, day: int, at: str) -> Step:
        return self.card_step(day, at, "activated", "activateCard")

    def authorization(
        self, day: int, at: str, merchant: Merchant, amount: int, *, code: str = "00", **members: Any
    ) -> Step:
        """An authorization request; its step is named after the time and the merchant."""
        use: Members = {"transaction_type": _PURCHASE, "amount": amount, "currency_ison": merchant.currency}
        use |= {"entry_mode_type": merchant.entry_mode, **merchant.members, "card_id": self.id}
        return self.step(day, at, f"{day} {at} {merchant.name}", "simulateAuthorization", code, **use | members)

    def clearing(self, authorization: Step, days: int = 1, amount: int | None = None) -> Step:
        """The final collection of an authorized amount, or of another one, some days later in the morning."""
        members: Members = {"trans_link": ResponseValue(authorization.name, ("trans_link",)), "final": 1}
        members |= {name: authorization.members[name] for name in ("amount", "currency_ison")}
        members |= {} if amount is None else {"amount": amount}
        return Step(
            authorization.day + days,
            time(4, authorization.at.minute),
            f"{authorization.name} cleared",
            "simulateClearing",
            members,
        )

    def purchase(self, day: int, at: str, merchant: Merchant, amount: int, **members: Any) -> Iterator[Step]:
        """An approved use and its collection on the next day."""
        authorization = self.authorization(day, at, merchant, amount, **members)
        yield from (authorization, self.clearing(authorization))

    def refund(self, day: int, at: str, clearing: Step, amount: int) -> Step:
        members: Members = {"trans_link": ResponseValue(clearing.name, ("trans_link",)), "amount": amount}
        members |= {"currency_ison": clearing.members["currency_ison"]}
        return self.step(day, at, f"refund of {clearing.name}", "simulateRefund", **members)

    def address_opening(self, day: int, at: str, method: int) -> Step:
        members: Members = {"account_id": self.account_id, "epm_method_id": method, "currency_ison": self.currency}
        return self.step(day, at, "address", "assignExternalPaymentAddress", **members)

    def inbound_payment(self, day: int, at: str, sender: str, amount: int, reference: str) -> Step:
        """A payment from another bank."""
        members: Members = {"epm_address_id": self.address_id, "amount": amount, "currency_ison": self.currency}
        members |= {"scheme": "FPS" if self.currency == _POUND else "SCT", "sender_name": sender}
        return self.step(day, at, f"from {sender} {day}", "simulateInboundPayment", **members, reference=reference)


_CLARA = Card("Clara", _EURO)
_CLARA_ONLINE = Card("Clara online", _EURO)
_TOM = Card("Tom", _POUND)
_AOIFE = Card("Aoife", _EURO)
_JONAS = Card("Jonas", _EURO)
_KESTREL = Card("Kestrel", _POUND)
_KESTREL_SECOND = Card("Kestrel second", _POUND)


def _holder(first: str, last: str, street: str, zipcode: str, city: str, country: int, phone: str) -> Members:
    return {
        "holder_first_name": first,
        "holder_last_name": last,
        "holder_address_line_1": street,
        "holder_zipcode": zipcode,
        "holder_city": city,
        "holder_country_ison": country,
        "holder_phone_number": phone,
        "holder_email": f"{first}.{last}@example.com".lower(),
    }


def _delivery(holder: Members) -> Members:
    """The delivery of a physical card to its holder's address."""
    names = ("first_name", "last_name", "address_line_1", "zipcode", "city", "country_ison")
    return {f"delivery_{name}": holder[f"holder_{name}"] for name in names} | {"order_shipping_method": 701}


_CLARA_HOME = _holder("Clara", "Lindqvist", "Hafenstrasse 18", "20359", "Hamburg", _GERMANY, "4940555018")
_TOM_HOME = _holder("Tom", "Ashworth", "7 Mill Lane", "LS1 4DY", "Leeds", _BRITAIN, "441135550107")
_AOIFE_HOME = _holder("Aoife", "Brennan", "21 Willow Lane", "D02 XH91", "Dublin", _IRELAND, "35315550121")
_JONAS_HOME = _holder("Jonas", "Weidner", "Am Wehr 3", "04109", "Leipzig", _GERMANY, "493415550103")
_KESTREL_HOME = _holder("Priya", "Nair", "Unit 4, Canal Yard", "BS1 6QH", "Bristol", _BRITAIN, "441175550144")
_KESTREL_HOME |= {"holder_type": "1", "holder_business_name": "Kestrel Cycles Ltd"}


def steps() -> list[Step]:
    """All steps of the month; the player puts them in order."""
    return [*_clara_steps(), *_clara_online_steps(), *_tom_steps(), *_aoife_steps(), *_jonas_steps(), *_kestrel_steps()]


def _creation(card: Card, day: int, at: str, programme: int, country: int, emboss: str, **members: Any) -> Step:
    members = {"card_program_id": programme, "card_country_ison": country, "card_name_line_3": emboss, **members}
    return card.step(day, at, "created", "createCard", **members)


def _clara_steps() -> Iterator[Step]:
    """A physical card with accounts in euros and dollars: daily life in Hamburg, and a journey to America."""
    card, currencies = _CLARA, [_EURO, _DOLLAR]
    home = _CLARA_HOME | _delivery(_CLARA_HOME)
    yield _creation(
        card, 0, "08:12", _EVERYDAY, _GERMANY, "CLARA LINDQVIST", card_virtual=0, card_currency_ison=currencies, **home
    )
    yield card.address_opening(0, "08:20", _SEPA)
    yield card.inbound_payment(1, "05:30", "Hansekontor GmbH", 284_000, "Salary")
    yield card.activation(2, "17:45")
    yield from card.purchase(3, "06:55", _BAKERY, 740)
    yield from card.purchase(4, "16:20", _GROCER, 6_385)
    yield from card.purchase(6, "10:05", _ATM, 10_000, transaction_type=_CASH)
    books = card.authorization(8, "15:10", _BOOKS, 4_590)
    collected = card.clearing(books)
    yield from (books, collected, card.refund(12, "11:30", collected, 1_890))
    yield from card.purchase(10, "18:40", _TRAINS, 8_790)
    yield card.card_step(13, "09:40", "tour refunded", "simulateRefund", **_TOURS.members, **_TOUR)
    yield from card.purchase(14, "22:15", _DINER, 4_275)
    inn = card.authorization(15, "20:30", _INN, 38_000)
    yield from (inn, card.clearing(inn, 3, 36_400))
    yield from card.purchase(19, "17:05", _GROCER, 5_120)
    yield from card.purchase(22, "12:25", _BISTRO, 2_360)
    disputed = card.authorization(23, "09:00", _ELECTRONICS, 12_900)
    collected = card.clearing(disputed)
    yield from (disputed, collected)
    number = ResponseValue(collected.name, ("transaction_id",))
    yield card.step(25, "08:30", "dispute", "simulateDispute", transaction_id=number, step="opened")
    yield card.authorization(26, "19:45", _SEASIDE, 21_000)


def _clara_online_steps() -> Iterator[Step]:
    """A virtual card of the same account, blocked after a suspicion of fraud."""
    card, account = _CLARA_ONLINE, {"account_id": [_CLARA.account_id], "account_owner_id": [_CLARA.holder_id]}
    owner: Members = {"holder_id": _CLARA.holder_id, "card_virtual": 1, **account}
    yield _creation(card, 5, "19:00", _EVERYDAY, _GERMANY, "CLARA LINDQVIST", **owner)
    yield card.activation(5, "19:01")
    yield from card.purchase(7, "20:10", _SHOES, 7_995)
    yield from card.purchase(9, "21:30", _STREAMING, 1_299)
    suspicion: Members = {"status": "B", "reason_code": 9, "note": "The holder did not recognise a payment"}
    yield card.card_step(16, "07:50", "blocked", "changeCardStatus", **suspicion)
    yield card.authorization(17, "03:12", _ELECTRONICS, 89_900, code="46")


def _tom_steps() -> Iterator[Step]:
    """A physical card that is lost and replaced by one with another number."""
    card, home = _TOM, _TOM_HOME | _delivery(_TOM_HOME)
    yield _creation(
        card, 0, "10:30", _EVERYDAY, _BRITAIN, "TOM ASHWORTH", card_virtual=0, card_currency_ison=[_POUND], **home
    )
    yield card.address_opening(0, "10:34", _UK)
    yield card.inbound_payment(1, "06:00", "Aire Valley Joinery", 212_500, "Wages")
    yield card.activation(3, "18:20")
    yield from card.purchase(4, "07:35", _CAFE, 385)
    yield from card.purchase(5, "17:50", _SUPERMARKET, 4_812)
    yield from card.purchase(7, "12:00", _CASHPOINT, 6_000, transaction_type=_CASH)
    fuel = card.authorization(9, "18:05", _FUEL, 10_000)
    yield from (fuel, card.clearing(fuel, 1, 5_237))
    yield from card.purchase(11, "19:30", _CINEMA, 2_450)
    yield card.card_step(13, "08:40", "lost", "changeCardStatus", status="L", reason_code=4, note="Left on a train")
    yield card.authorization(13, "14:05", _SUPERMARKET, 7_300, code="41")
    again: Members = {"generate_new_pan": 1, "card_name_line_3": "TOM ASHWORTH", **_delivery(_TOM_HOME)}
    yield card.card_step(13, "15:00", "replaced", "reissueCard", **again)
    charged: Members = {"card_id": card.id, "account_currency": _POUND, "fee_group_id": 301, "fee_code": "CARDREPL"}
    yield card.step(13, "15:05", "replacement fee", "createCustomFee", **charged, description="Card replacement")
    yield card.card_step(17, "18:15", "activated again", "activateCard")
    yield from card.purchase(18, "08:10", _CAFE, 420)
    yield from card.purchase(20, "17:20", _SUPERMARKET, 5_668)
    yield from card.purchase(24, "18:30", _FUEL, 4_890)
    saved: Members = {"epm_address_id": card.address_id, "currency_ison": _POUND, "amount": 25_000, "schemes": ["FPS"]}
    saved |= {"destination_account_name": "Tom Ashworth Savings", "reference_number": "SAVINGS"}
    saved |= {"destination_account_number": "31926819", "destination_sort_code": "601613"}
    yield card.step(25, "09:15", "savings", "transferToExternalPayment", **saved)
    settled: Members = {"epm_transaction_id": ResponseValue(f"{card.name} savings", ("id",)), "result": "settled"}
    yield card.step(25, "09:18", "savings settled", "simulateOutboundResult", **settled)
    yield from card.purchase(26, "07:30", _CAFE, 385)


def _aoife_steps() -> Iterator[Step]:
    """A prepaid card with payment fees, which declines gambling and what exceeds its balance."""
    card, home = _AOIFE, _AOIFE_HOME | _delivery(_AOIFE_HOME)
    yield _creation(card, 1, "12:00", _PREPAID, _IRELAND, "AOIFE BRENNAN", card_virtual=0, **home)
    yield card.address_opening(1, "12:02", _SEPA)
    yield card.activation(1, "12:05")
    yield card.inbound_payment(2, "09:00", "Aoife Brennan", 25_000, "Top-up")
    yield from card.purchase(3, "13:15", _DUBLIN_GROCER, 2_310)
    yield from card.purchase(6, "08:00", _BUS, 480)
    yield from card.purchase(9, "16:45", _PHARMACY, 1_875)
    yield card.authorization(11, "23:10", _CASINO, 2_000, code=_OUT)
    yield from card.purchase(15, "12:30", _DUBLIN_GROCER, 3_465)
    yield card.authorization(21, "14:20", _PHARMACY, 30_000, code="51")
    yield card.inbound_payment(22, "09:00", "Aoife Brennan", 15_000, "Top-up")
    yield from card.purchase(23, "08:00", _BUS, 480)
    yield from card.purchase(25, "13:40", _DUBLIN_GROCER, 2_945)


def _jonas_steps() -> Iterator[Step]:
    """A virtual card for online shops with 3-D Secure, hidden from credentials of a low level; blocked for now."""
    card = _JONAS
    owner: Members = {"card_virtual": 1, "card_currency_ison": [_EURO], **_JONAS_HOME}
    yield _creation(card, 4, "18:00", _ONLINE_ONLY, _GERMANY, "JONAS WEIDNER", **owner)
    yield card.address_opening(4, "18:01", _SEPA)
    yield card.activation(4, "18:05")
    yield card.inbound_payment(5, "07:00", "Jonas Weidner", 40_000, "Pocket money")
    authenticated: Members = {"eci_indicator": _AUTHENTICATED}
    yield from card.purchase(6, "20:00", _GAMES, 2_999, **authenticated)
    yield from card.purchase(9, "19:20", _STREAMING, 1_299, **authenticated)
    yield card.authorization(12, "17:30", _SHOES, 8_900, code="1A")
    shoes = card.authorization(12, "17:33", _SHOES, 8_900, **authenticated)
    yield from (shoes, card.clearing(shoes))
    forgotten = card.authorization(14, "21:00", _GAMES, 4_999, **authenticated)
    link: Members = {"trans_link": ResponseValue(forgotten.name, ("trans_link",))}
    yield from (forgotten, card.step(21, "21:01", "hold expired", "simulateExpiry", **link))
    cancelled = card.authorization(16, "20:40", _ELECTRONICS, 5_900, **authenticated)
    link = {"trans_link": ResponseValue(cancelled.name, ("trans_link",))}
    yield from (cancelled, card.step(16, "21:15", "order cancelled", "simulateReversal", **link))
    paused: Members = {"status": "T", "reason_code": 2, "note": "Until the holder is back from a journey"}
    yield card.card_step(24, "10:00", "paused", "changeCardStatus", **paused)


def _kestrel_steps() -> Iterator[Step]:
    """A business with two cards, one of them not yet activated, with payments out and a direct debit."""
    card, home = _KESTREL, _KESTREL_HOME | _delivery(_KESTREL_HOME)
    fees: Members = {"card_fee_group_id": 304, "card_limit_group_id": 202, "card_currency_ison": [_POUND]}
    yield _creation(card, 0, "13:00", _EVERYDAY, _BRITAIN, "KESTREL CYCLES", card_virtual=0, **fees, **home)
    fee_group: Members = {"account_id": card.account_id, "fee_group_id": 304}
    yield card.step(0, "13:02", "business fees", "assignAccountToFeeRuleGroup", **fee_group)
    yield card.address_opening(0, "13:05", _UK)
    yield card.activation(2, "09:30")
    yield card.inbound_payment(2, "10:00", "Dalesway Tours", 480_000, "Invoice 2041")
    yield from card.purchase(4, "11:20", _PARTS, 64_350)
    yield from card.purchase(5, "14:00", _COURIER, 3_890)
    rent: Members = {"epm_address_id": card.address_id, "currency_ison": _POUND, "amount": 95_000, "schemes": ["FPS"]}
    rent |= {"destination_account_name": "Canal Yard Estates", "reference_number": "UNIT 4 RENT"}
    rent |= {"destination_account_number": "55779911", "destination_sort_code": "200000"}
    yield card.step(7, "09:00", "rent", "transferToExternalPayment", **rent)
    settled: Members = {"epm_transaction_id": ResponseValue(f"{card.name} rent", ("id",)), "result": "settled"}
    yield card.step(7, "09:02", "rent settled", "simulateOutboundResult", **settled)
    creditor: Members = {
        "epm_address_id": card.address_id,
        "creditor_name": "Avonlight Energy",
        "reference": "KC-88120",
    }
    yield card.step(8, "08:00", "mandate", "simulateMandate", **creditor)
    mandate = ResponseValue(f"{card.name} mandate", ("epm_mandate_id",))
    yield card.step(14, "06:00", "energy bill", "simulateDirectDebit", epm_mandate_id=mandate, amount=18_640)
    announced = ResponseValue(f"{card.name} energy bill", ("epm_transaction_id",))
    yield card.step(15, "06:01", "energy bill paid", "simulateDirectDebit", epm_transaction_id=announced)
    yield card.inbound_payment(16, "10:00", "Harbourside Hire", 136_500, "Invoice 2047")
    stay = card.authorization(18, "19:00", _HOTEL, 22_000)
    yield from (stay, card.clearing(stay, 2, 20_800))
    statement: Members = {"account_id": card.account_id, "fee_group_id": 301, "fee_code": "STATEMNT"}
    yield card.step(20, "09:00", "statement fee", "createCustomFee", **statement, description="Paper statement")
    yield from card.purchase(21, "10:40", _PARTS, 28_975)
    yield from card.purchase(26, "15:30", _COURIER, 2_640)
    second: Members = {"holder_id": card.holder_id, "card_virtual": 0, **_delivery(_KESTREL_HOME)}
    second |= {"account_id": [card.account_id], "account_owner_id": [card.holder_id]}
    yield _creation(_KESTREL_SECOND, 26, "16:00", _EVERYDAY, _BRITAIN, "KESTREL WORKSHOP", **second)
