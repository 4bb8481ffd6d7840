"""A small model of card use that follows the documentation and shares no code with the service.

One holder has three cards in a separate programme. The first card has accounts in euros and in pounds and no fees. The
second card has an account in pounds, fees and no card limits. The third card shares this account. All amounts are in
minor units.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Literal

from tests.cards import programmes

GBP, EUR = 826, 978
DAY, WEEK = 24 * 3600, 7 * 24 * 3600
RATES = {(EUR, GBP): Fraction("0.86"), (GBP, EUR): Fraction("1.16")}
MARKUP = Fraction("0.015")
PURCHASE, REFUND = 0, 20
APPROVED, IN_PART, NO_FUNDS, OVER_AMOUNT, OVER_COUNT, RESTRICTED = "00", "10", "51", "61", "65", "62"
ACCOUNT_STATUS, WRONG_STATE, FINAL, OTHER_AMOUNT, OTHER_CURRENCY, TOO_MUCH = 4003, 4008, 4002, 2005, 5003, 5004
GIVEN = 300_000


def programme() -> dict[str, Any]:
    rates = [
        {"of": of, "to": to, "rate": str(float(rate)), "markup_percent": "1.5"} for (of, to), rate in RATES.items()
    ]
    fees = [
        programmes.fee("SHOP", transaction_type=0, fixed=30, percent="0.5", minimum=40, maximum=200, currency=GBP),
        programmes.fee("RISE", transaction_type=0, percent="0.25", blended=True, currency=GBP),
        programmes.fee("BACK", transaction_type=20, percent="1", minimum=15, currency=GBP),
    ]
    of_cards = [
        programmes.limit(1, **{"class": 1}, amount=150_000, currency=GBP, duration=0),
        programmes.limit(2, **{"class": 1}, amount=200_000, count=6, currency=GBP),
        {"id": 3, "country_count": 2, "currency": GBP, "duration": 7},
    ]
    of_accounts = [
        programmes.limit(1, amount=600_000, currency=EUR, duration=7),
        programmes.limit(2, **{"class": 4}, transaction_type=20, amount=50_000, count=4, currency=EUR, duration=30),
    ]
    of_holders = [programmes.limit(1, amount=900_000, count=12, currency=GBP, duration=30)]
    least = {"currencies": [EUR, GBP], "risk_group_ids": [1], "limit_group_ids": [2], "holder_limit_group_id": 3}
    cards = {"currencies": [EUR, GBP], "auto_conversion": True}
    return programmes.manager(
        exchange_rates=rates,
        fee_groups=[{"id": 1, "name": "None"}, {"id": 2, "name": "Some", "entries": fees}],
        limit_groups=[
            {"id": 1, "name": "Cards", "limit_type": 1, "entries": of_cards},
            {"id": 2, "name": "Accounts", "limit_type": 2, "entries": of_accounts},
            {"id": 3, "name": "Holders", "limit_type": 3, "entries": of_holders},
            {"id": 4, "name": "Free Cards", "limit_type": 1},
        ],
        account_programmes=[
            {"id": 1, "name": "Blended", "fee_group_ids": [1], **least},
            {"id": 2, "name": "Beside", "fee_group_ids": [1], "conversion_fee_blended": False, **least},
        ],
        card_programmes=[
            programmes.card_programme(**cards),
            programmes.card_programme(
                id=2, account_program_id=2, fee_group_ids=[2], limit_group_ids=[4], **cards, name="With Fees"
            ),
        ],
        credentials=[programmes.credential("app", modes=programmes.PLAIN, allow_plain=True)],
    )


def rounded(exact: Fraction) -> int:
    """Round half up. Amounts in this model are never negative."""
    return int(exact + Fraction(1, 2))


def worth(amount: int, of: int, to: int, more: Fraction = Fraction(1)) -> int:
    return amount if of == to else rounded(amount * RATES[of, to] * more)


def share(whole: int, part: int, of: int) -> int:
    return whole if part >= of else rounded(Fraction(whole * part, of))


@dataclass
class Account:
    id: int
    currency: int
    blends: bool
    settled: int = GIVEN
    held: int = 0
    reserved: int = 0

    @property
    def available(self) -> int:
        return self.settled - self.held - self.reserved


@dataclass
class Card:
    """A card. ``messages`` lists the card's network messages in order: number, kind and response code."""

    id: int
    accounts: list[Account]
    has_fees: bool
    has_limits: bool
    messages: list[tuple[int, int, str]] = field(default_factory=list)

    def account_for(self, currency: int) -> Account:
        return next((account for account in self.accounts if account.currency == currency), self.accounts[0])


@dataclass
class Collected:
    """The cleared and the debited amount in a currency, and the refunded parts of these amounts."""

    amount: int = 0
    debited: int = 0
    given_back: int = 0
    credited: int = 0

    def refund(self, amount: int, currency: int, to: int) -> tuple[int, int]:
        """Return a refund at the base rate and the conversion fee. Rates never change in this model."""
        taken, base, brought = (worth(self.amount, currency, to, 1 + sign * MARKUP) for sign in (1, 0, -1))

        def share(whole: int, given_back: int) -> int:
            return whole * given_back // self.amount

        after = self.given_back + amount
        fee = share(base - brought, after) - share(base - brought, self.given_back)
        whole = max(0, self.debited - (taken - base) - (base - brought))
        credited = share(whole, after) - min(share(whole, self.given_back), self.credited)
        return min(credited, max(0, share(self.debited, after) - self.credited)) + fee, fee


@dataclass(frozen=True)
class Price:
    """The amounts that a card transaction debits or credits, including conversion and transaction fees.

    ``total`` is the account's total debit or credit, and ``shown`` is the amount of the transaction. ``beside`` lists
    the fees that are booked as separate transactions. ``bare`` is the amount including only the conversion fee, and
    ``blended`` is the sum of the transaction fees that are included in ``shown``.
    """

    total: int
    shown: int
    beside: list[int]
    bare: int
    blended: int

    @classmethod
    def of(
        cls, card: Card, account: Account, kind: int, amount: int, currency: int, back: Collected | None = None
    ) -> Price:
        sign = 1 if kind == PURCHASE else -1
        base = worth(amount, currency, account.currency)
        conversion = abs(worth(amount, currency, account.currency, 1 + sign * MARKUP) - base)
        if back is not None and currency != account.currency:
            base, conversion = back.refund(amount, currency, account.currency)
        pounds = worth(amount, currency, GBP)
        blended, beside = 0, []
        if card.has_fees and kind == PURCHASE:
            blended = worth(rounded(pounds * Fraction("0.0025")), GBP, account.currency)
            beside = [min(max(30 + rounded(Fraction(pounds, 200)), 40), 200)]
        elif card.has_fees:
            beside = [min(max(rounded(Fraction(pounds, 100)), 15), base - conversion)]
        beside = [fee for fee in beside if fee]
        shown = base + sign * (blended + (conversion if account.blends else 0))
        total = base + sign * (conversion + blended + sum(beside))
        return cls(total, shown, beside, base + sign * conversion, blended)


Place = tuple[str, str, int]
"""The key of a limit window: the owner, the limit entry, and the start of the window."""


@dataclass
class Counted:
    amounts: Counter[Place] = field(default_factory=Counter)
    counts: Counter[Place] = field(default_factory=Counter)
    countries: set[Place] = field(default_factory=set)

    def divided(self, part: int, of: int, *, counts: bool) -> tuple[Counted, Counted]:
        """Split the usage into a part and the rest. If ``counts`` is true, the part gets the counts."""
        taken = Counter({place: share(amount, part, of) for place, amount in self.amounts.items()})
        rest = Counter({place: amount - taken[place] for place, amount in self.amounts.items()})
        numbers = [(self.counts, self.countries), (Counter[Place](), set[Place]())]
        first, second = numbers if counts else numbers[::-1]
        return Counted(taken, *first), Counted(rest, *second)

    def joined(self, other: Counted) -> Counted:
        return Counted(self.amounts + other.amounts, self.counts + other.counts, self.countries | other.countries)


@dataclass
class Authorization:
    """An authorization. ``counted`` is the limit usage that a release returns: amounts, counts and countries."""

    id: int
    card: Card
    account: Account
    currency: int
    country: int
    kind: int = PURCHASE
    state: Literal["D", "H", "C", "R", "X"] = "D"
    left: int = 0
    held: int = 0
    until: int = 0
    counted: Counted = field(default_factory=Counted)
    collected: defaultdict[int, Collected] = field(default_factory=lambda: defaultdict(Collected))

    @property
    def link(self) -> str:
        return f"{self.id:012}"

    @property
    def is_cleared(self) -> bool:
        return any(each.amount for each in self.collected.values())


@dataclass
class Transaction:
    """A transaction. ``step`` is the current step of the dispute, and ``disputed`` is the disputed amount."""

    id: int
    of: Authorization
    amount: int
    currency: int
    shown: int
    is_purchase: bool
    step: str | None = None
    disputed: int = 0
    worth: int = 0
    blended: int = 0

    def bare(self, amount: int) -> int:
        """Return the part of a disputed amount that is not a blended fee."""
        return share(self.shown - self.blended, amount, self.shown)


@dataclass(frozen=True)
class Entry:
    """An entry of a limit group. A ``duration`` of 0 means single movements."""

    owner: Literal["account", "holder", "card"]
    key: str
    duration: int
    kind: int | None
    currency: int = GBP
    amount: int | None = None
    count: int | None = None
    countries: int | None = None

    def start(self, now: int) -> int:
        if self.duration == 7:
            return now - (now - 4 * DAY) % WEEK
        day = datetime.fromtimestamp(now, UTC)
        return now - now % DAY if self.duration == 1 else int(datetime(day.year, day.month, 1, tzinfo=UTC).timestamp())


ENTRIES = (
    Entry("account", "2.1", 7, PURCHASE, EUR, amount=600_000),
    Entry("account", "2.2", 30, REFUND, EUR, amount=50_000, count=4),
    Entry("holder", "3.1", 30, PURCHASE, amount=900_000, count=12),
    Entry("card", "1.1", 0, PURCHASE, amount=150_000),
    Entry("card", "1.2", 1, PURCHASE, amount=200_000, count=6),
    Entry("card", "1.3", 7, PURCHASE, countries=2),
)


class Limits:
    def __init__(self, holder: int) -> None:
        self.holder = holder
        self.used = Counted()
        self.countries: Counter[tuple[Place, int]] = Counter()

    def entries(self, card: Card, account: Account, kind: int, now: int) -> Iterator[tuple[Entry, Place]]:
        owners = {"account": account.id, "holder": self.holder, "card": card.id}
        for entry in ENTRIES:
            if entry.kind == kind and (entry.owner != "card" or card.has_limits):
                yield entry, (f"{entry.owner}#{owners[entry.owner]}", entry.key, entry.start(now))

    def obstacle(self, card: Card, account: Account, asked: tuple[int, int], country: int, now: int) -> str | None:
        for entry, place in self.entries(card, account, PURCHASE, now):
            is_single = not entry.duration
            used = 0 if is_single else self.used.amounts[place]
            if entry.amount is not None and worth(*asked, entry.currency) > max(0, entry.amount - used):
                return OVER_AMOUNT
            if entry.count is not None and self.used.counts[place] >= entry.count:
                return OVER_COUNT
            known = {each for (where, each), number in self.countries.items() if where == place and number}
            if entry.countries is not None and country not in known and len(known) >= entry.countries:
                return OVER_COUNT
        return None

    def is_over(self, of: Authorization, more: int, now: int) -> bool:
        """Return whether an increment exceeds a limit. The limit's usage already includes the purchase."""
        for entry, place in self.entries(of.card, of.account, PURCHASE, now):
            asked = more if entry.duration else of.left + more
            used = self.used.amounts[place] if entry.duration else 0
            if entry.amount is not None and worth(asked, of.currency, entry.currency) > max(0, entry.amount - used):
                return True
        return False

    def count(
        self, of: Authorization, kind: int, asked: tuple[int, int], now: int, *, further: bool = False
    ) -> Counted:
        counted = Counted()
        for entry, place in self.entries(of.card, of.account, kind, now):
            if entry.duration:
                counted.amounts[place] = 0 if entry.amount is None else worth(*asked, entry.currency)
                counted.counts[place] = 0 if further else 1
            if entry.duration and entry.countries is not None and not further:
                counted.countries.add(place)
        self.used = self.used.joined(counted)
        self.countries.update((place, of.country) for place in counted.countries)
        return counted

    def give_back(self, of: Authorization, counted: Counted) -> None:
        self.used.amounts -= counted.amounts
        self.used.counts -= counted.counts
        self.countries -= Counter((place, of.country) for place in counted.countries)

    def shown(self, owner: str, now: int) -> Mapping[str, tuple[int, int]]:
        places = {entry.key: (owner, entry.key, entry.start(now)) for entry in ENTRIES if entry.duration}
        return {key: (self.used.counts[place], self.used.amounts[place]) for key, place in places.items()}
