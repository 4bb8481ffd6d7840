"""A card programme with round rates, and helpers that send a merchant's messages through the simulator.

A card has an account in pounds and optionally an account in euros. Each euro rate has a mark-up of 2.5 %, and the
dollar rate has no mark-up. There is no rate between euros and yen, and no rate for the dinar. By default, a card has no
fees and no limits. The groups in this module add fees and limits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chalicelib.cards.authorization.authorization_record import Authorization
from chalicelib.cards.ledger import usage_counters
from chalicelib.cards.ledger.account_record import Account
from chalicelib.cards.ledger.transaction_record import timeline
from chalicelib.cards.ledger.usage_counters import Counters
from chalicelib.foundation.dynamodb.store import Item
from infra.admin.ledger_verification import prove_single_account
from tests.cards.issuer import (
    BRITAIN,
    EUR,
    EVERYDAY,
    EVERYDAY_ACCOUNT,
    GBP,
    PREPAID,
    PREPAID_ACCOUNT,
    USD,
    Envelope,
    Issuer,
    NewCard,
)
from tests.cards.programmes import Content, card_programme, fee, limit, loaded, manager
from tests.cards.stored_money import movements, transactions

YEN, DINAR = 392, 414
BLENDING, NOT_BLENDING = EVERYDAY, PREPAID
"""Card programmes that include or do not include the conversion fee in a transaction's amount."""
FREE, SEPARATE, BLENDED = 301, 302, 303
"""Fee groups. ``FREE`` has no fees. ``SEPARATE`` charges 0.30 GBP plus 1 % for a purchase and 0.10 GBP for a refund, as
separate transactions. ``BLENDED`` adds 0.20 GBP plus 1 % to the amount of a purchase.
"""
NO_LIMITS = {"card_limit_group_id": 201, "account_limit_group_id": 211}
LIMITED = {"card_limit_group_id": 202, "account_limit_group_id": 212}
"""Limit groups. The card has limits of 100.00 GBP, 5 uses and 2 countries per day, and of 50.00 GBP in credits per
week. The account has a limit of 200.00 EUR in 30 days.
"""
A_DAY, COUNTRIES, BACK_A_WEEK, OF_ACCOUNT, OF_HOLDER = "202.1", "202.2", "202.3", "212.1", "221.1"
"""The names of the limit windows. Every holder has the ``OF_HOLDER`` window."""

_RATES = {
    (EUR, GBP): ("0.8", "2.5"),
    (GBP, EUR): ("1.25", "2.5"),
    (USD, GBP): ("0.75", "0"),
    (GBP, USD): ("1.3", "0"),
    (USD, EUR): ("0.9", "0"),
    (YEN, GBP): ("0.004", "2.5"),
}
_FEES = {
    FREE: [],
    SEPARATE: [
        fee("BUY", title="Purchase", transaction_type=0, fixed=30, currency=GBP),
        fee("SHARE", title="Share", transaction_type=0, percent="1", currency=GBP),
        fee("BACK", title="Refund", transaction_type=20, fixed=10, currency=GBP),
    ],
    BLENDED: [fee("BUY", title="Purchase", transaction_type=0, fixed=20, percent="1", currency=GBP, blended=True)],
}
_LIMITS: dict[int, tuple[int, list[Content]]] = {
    201: (1, []),
    202: (
        1,
        [
            limit(1, amount=100_00, count=5, currency=GBP),
            {"id": 2, "country_count": 2, "currency": GBP, "duration": 1},
            limit(3, amount=50_00, currency=GBP, duration=7, **{"class": 4}),
        ],
    ),
    211: (2, []),
    212: (2, [limit(1, amount=200_00, duration=30)]),
    221: (3, [limit(1, amount=1_000_000_00, currency=GBP, duration=365)]),
}


def content(number: int | None = None, rates: Mapping[tuple[int, int], tuple[str, str]] | None = None) -> Content:
    accounts = {
        "currencies": [EUR, GBP],
        "fee_group_ids": [FREE],
        "limit_group_ids": [211, 212],
        "risk_group_ids": [1],
        "holder_limit_group_id": 221,
    }
    cards = {
        "fee_group_ids": [FREE, SEPARATE, BLENDED],
        "limit_group_ids": [201, 202],
        "account_limit_group_id": 211,
        "account_limit_group_ids": [211, 212],
        "holder_limit_group_id": 221,
        "currencies": [GBP, EUR],
        "auto_conversion": True,
    }
    changed = {**_RATES, **(rates or {})}
    made = manager() | {
        "currencies": [EUR, GBP, USD, YEN, DINAR],
        "exchange_rates": [
            {"of": of, "to": to, "rate": rate, "markup_percent": markup} for (of, to), (rate, markup) in changed.items()
        ],
        "fee_groups": [{"id": group, "name": f"Fees {group}", "entries": entries} for group, entries in _FEES.items()],
        "limit_groups": [
            {"id": group, "name": f"Limits {group}", "limit_type": kind, "entries": entries}
            for group, (kind, entries) in _LIMITS.items()
        ],
        "account_programmes": [
            {"id": EVERYDAY_ACCOUNT, "name": "Blends conversions", **accounts},
            {"id": PREPAID_ACCOUNT, "name": "Does not", "conversion_fee_blended": False, **accounts},
        ],
        "card_programmes": [
            card_programme(id=BLENDING, account_program_id=EVERYDAY_ACCOUNT, **cards),
            card_programme(id=NOT_BLENDING, account_program_id=PREPAID_ACCOUNT, **cards),
        ],
    }
    return made if number is None else made | {"id": number}


def with_prices(issuer: Issuer, name: str = "shops") -> Issuer:
    made = content()
    loaded(issuer.hub, made)
    return issuer.with_credential(name, manager=made["id"])


@dataclass(frozen=True)
class Shop:
    issuer: Issuer
    card: NewCard

    @property
    def card_id(self) -> int:
        return self.card.card_id

    def authorize(self, amount: int, currency: int = GBP, **members: Any) -> Any:
        """Request a purchase, check that the purchase is approved, and return the response data."""
        answer = self.request_authorization(amount, currency, **members)
        assert answer["response_code"] == "00", answer
        return answer

    def request_authorization(self, amount: int, currency: int = GBP, **members: Any) -> Any:
        least = {"card_id": self.card_id, "transaction_type": 0, "amount": amount, "currency_ison": currency}
        return self.issuer.data("simulateAuthorization", **least | members)

    def increment(self, link: str, amount: int) -> Any:
        return self.issuer.data("simulateIncrement", trans_link=link, amount=amount)

    def reverse(self, link: str, amount: int | None = None) -> Any:
        return self.issuer.data("simulateReversal", **_given(trans_link=link, amount=amount))

    def clear(self, link: str | None, amount: int, currency: int = GBP, **members: Any) -> Any:
        """Clear the authorization with the link ``link``, or an unauthorized purchase without a link. Return the
        transaction.
        """
        return _succeeded(self.submit("simulateClearing", link, amount, currency, **members))

    def refund(self, link: str | None, amount: int, currency: int = GBP, **members: Any) -> Any:
        return _succeeded(self.submit("simulateRefund", link, amount, currency, **members))

    def submit(self, action: str, link: str | None, amount: int, currency: int = GBP, **members: Any) -> Envelope:
        least = {"card_id": self.card_id} if link is None else {"trans_link": link}
        return self.issuer.sim(action, **least | {"amount": amount, "currency_ison": currency} | members)

    def dispute(self, transaction_id: int, step: str = "opened", amount: int | None = None) -> Any:
        return _succeeded(self.submit_dispute(transaction_id, step, amount))

    def submit_dispute(self, transaction_id: int, step: str = "opened", amount: int | None = None) -> Envelope:
        return self.issuer.sim("simulateDispute", **_given(transaction_id=transaction_id, step=step, amount=amount))


@dataclass(frozen=True)
class Holder(Shop):
    """A cardholder with a card, an account in pounds and optionally in euros, and access to the stored records."""

    euros: int | None = None

    @property
    def account(self) -> int:
        return self.card.account_id

    def balances(self, account: int | None = None) -> tuple[int, int, int, int]:
        """Return the settled, held, reserved and available balance. Check that they match the account's ledger rows."""
        number = account or self.account
        key = Account.key(number)
        prove_single_account(self.issuer.hub.store, key)
        item = self.issuer.hub.store.get(*key)
        assert item is not None
        kept = Account.from_item(item)
        return kept.settled, kept.held, kept.reserved, kept.available

    def record(self, link: str) -> Authorization:
        """Return the stored authorization with the given ``trans_link``.

        Check that the authorization has a due time if and only if its amount is held.
        """
        item = self.issuer.hub.store.get(*Authorization.key(int(link)))
        assert item is not None
        found = Authorization.from_item(item)
        assert (found.due_at is not None) == (found.due_shard is not None) == found.is_held
        return found

    def hold(self, link: str) -> tuple[str, int, int]:
        found = self.record(link)
        return found.state, found.left, found.held

    def transactions(self, account: int | None = None) -> list[Item]:
        """Return the transactions of an account, oldest first. Check that the card's lists have the same rows."""
        rows = transactions(self.issuer, account or self.account)
        lists = (timeline(None, self.card_id), timeline(f"account#{account or self.account}", self.card_id))
        for each in lists:
            listed = self.issuer.hub.store.rows("ledger", ("owner", each.owner), sort_prefix=("part", each.name))
            of_account = [row for row in listed if row["account_id"] == (account or self.account)]
            assert [_bare(row) for row in of_account] == [_bare(row) for row in rows if "card_id" in row]
        return [row for row in rows if "card_id" in row]

    def movement_causes(self, account: int | None = None) -> list[str]:
        return [row["cause"] for row in movements(self.issuer, account or self.account)][1:]

    def limit_usage(self, *windows: str) -> list[tuple[int, int]]:
        found = self._windows()
        return [(found[name].count, found[name].amount) if name in found else (0, 0) for name in windows]

    def counted_countries(self) -> Mapping[int, int]:
        found = self._windows()
        counted = found[COUNTRIES].countries if COUNTRIES in found else {}
        return {int(country): movements for country, movements in counted.items()}

    def _windows(self) -> dict[str, Any]:
        owners = (("card", self.card_id), ("account", self.account), ("holder", self.card.holder_id))
        items = self.issuer.hub.store.batch_get([usage_counters.key(*owner) for owner in owners])  # type: ignore[arg-type]
        kept = [Counters.from_item(*owner, item) for owner, item in zip(owners, items, strict=True)]  # type: ignore[arg-type]
        return {name: window for each in kept for name, window in each.windows.items()}


def new_holder(issuer: Issuer, funds: int = 1_000_00, *, euros: int | None = None, **members: Any) -> Holder:
    """Create an activated card with ``funds`` in pounds and, if ``euros`` is given, an account in euros."""
    currencies = [GBP] if euros is None else [GBP, EUR]
    least = {"card_currency_ison": currencies, "card_country_ison": BRITAIN, "auto_conversion": 1}
    card = issuer.card_in("A", **least | members)
    if funds:
        issuer.inbound(issuer.address(card.account_id), funds)
    if euros is None:
        return Holder(issuer, card)
    [other] = set(accounts_of(issuer, card)) - {card.account_id}
    if euros:
        issuer.inbound(issuer.address(other, method=2), euros)
    return Holder(issuer, card, other)


def accounts_of(issuer: Issuer, card: NewCard) -> Sequence[int]:
    return [record["id"] for record in issuer.data("getHolderAccounts", holder_id=card.holder_id)]


def _given(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _succeeded(answer: Envelope) -> Any:
    assert answer.status == "success", answer.raw
    return answer.data


def _bare(row: Item) -> Item:
    return {name: value for name, value in row.items() if name not in ("owner", "part")}
