"""Whom a payment concerns on this side: an account with its holder and card, and how they have used their limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, get_args

from chalicelib.cards.accounts import Account, LedgerAccount
from chalicelib.cards.cards import Card
from chalicelib.cards.catalogue import Catalogue
from chalicelib.cards.external.addresses import ExternalAddress
from chalicelib.cards.external.payments import ExternalPayment
from chalicelib.cards.external.special_accounts import SpecialAccount, special_account_key
from chalicelib.cards.holders import Holder
from chalicelib.cards.money import counters
from chalicelib.cards.money.amounts import NoRate
from chalicelib.cards.money.charging import Charge, charge
from chalicelib.cards.money.counters import Counters, Owner
from chalicelib.cards.money.facts import Facts
from chalicelib.cards.money.limits import Counted, LimitExceeded, Windows, counting, released
from chalicelib.cards.protocol.states import CREDITED_ACCOUNT
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.protocol.values import OF_HOLDER
from chalicelib.cards.record import Key, present
from chalicelib.foundation.store import Item, Put

Usage = dict[str, list[dict[str, Any]]]
"""What a movement has counted, by the owner of the counters, as an item keeps it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Which records a party is made of: they are read together."""

    manager_id: int
    account_type: int
    account_id: int
    holder_id: int | None = None
    card_id: int | None = None

    @classmethod
    def of(cls, about: ExternalAddress | ExternalPayment) -> Place:
        """Those of an address, or of a payment that came or went by one."""
        return cls(about.manager_id, about.account_type, about.account_id, about.holder_id, about.card_id)

    @classmethod
    def led_to(cls, number: Item) -> Place:
        """Those of the address that the item of a number leads to."""
        return cls(**{each.name: number[each.name] for each in fields(cls) if each.name in number})

    @property
    def plain(self) -> dict[str, Any]:
        """The same as an item keeps it."""
        return present({each.name: getattr(self, each.name) for each in fields(self)})

    @property
    def keys(self) -> list[Key]:
        return [*self._parts.values()]

    def party(self, catalogue: Catalogue, items: Sequence[Item | None]) -> Party:
        """What stands at ``keys``; whatever an address names is there for good."""
        found = dict(zip(self._parts, items, strict=True))
        holder, card = found.get("holder"), found.get("card")
        return Party(
            catalogue,
            self.account(found["account"]),
            Holder.from_item(holder) if holder else None,
            Card.from_item(card) if card else None,
            [
                Counters.from_item(name, number, found[f"{name} counters"])
                for name, number in self._numbers.items()
                if number is not None
            ],
        )

    def account(self, item: Item | None) -> LedgerAccount:
        """What stands at ``account_key``."""
        assert item is not None, "an address has its account"
        kind: type[LedgerAccount] = Account if self.account_type == OF_HOLDER else SpecialAccount
        return kind.from_item(item)

    @property
    def _numbers(self) -> dict[Owner, int | None]:
        """Who has limits; a special account has nobody."""
        if self.account_type != OF_HOLDER:
            return dict.fromkeys(get_args(Owner))
        return {"account": self.account_id, "holder": self.holder_id, "card": self.card_id}

    @property
    def _parts(self) -> dict[str, Key]:
        numbers = self._numbers
        parts = {"account": self.account_key}
        if numbers["holder"] is not None:
            parts["holder"] = Holder.key(numbers["holder"])
        if numbers["card"] is not None:
            parts["card"] = Card.key(numbers["card"])
        kept = {
            f"{name} counters": counters.key(name, number) for name, number in numbers.items() if number is not None
        }
        return parts | kept

    @property
    def account_key(self) -> Key:
        if self.account_type == OF_HOLDER:
            return Account.key(self.account_id)
        return special_account_key(self.manager_id, self.account_id)


class Tally:
    """What is counted in one transaction, which writes each owner's counters once."""

    def __init__(self) -> None:
        self._changed: dict[str, tuple[Counters, Windows]] = {}

    def windows(self, kept: Counters) -> Windows:
        """The windows of an owner as they stand by now."""
        _, windows = self._changed.get(kept.owner, (kept, kept.windows))
        return windows

    def change(self, kept: Counters, windows: Windows) -> None:
        self._changed[kept.owner] = kept, windows

    def operations(self, write_id: str) -> list[Put]:
        return [kept.counting(write_id, windows) for kept, windows in self._changed.values()]


@dataclass(frozen=True, slots=True)
class Party:
    """The records as they were read."""

    catalogue: Catalogue
    account: LedgerAccount
    holder: Holder | None
    card: Card | None
    counters: Sequence[Counters]

    def facts(self, transaction_type: int, currency: int, country: int | None) -> Facts:
        """What an external payment is for fees and limits; ``country`` is the other bank's."""
        own = self.holder.details.get("country_ison") if self.holder else None
        return Facts(transaction_type, currency, country=country, holder_country=own)

    def charge(self, facts: Facts, amount: int, *, debit: bool) -> Charge:
        """What ``amount`` of the payment's currency comes to. Raises: Refused."""
        try:
            return charge(self.catalogue, self.account, facts, amount, debit=debit)
        except NoRate:
            raise Refused(Status.CURRENCY_NOT_SUPPORTED, "there is no exchange rate for this currency") from None

    def require_credit(self, address: ExternalAddress) -> None:
        """Raises: Refused, when the address or the account takes nothing from others."""
        if not address.is_live:
            raise Refused(Status.WRONG_STATE, "the address is not active")
        if self.account.status not in CREDITED_ACCOUNT:
            raise Refused(Status.ACCOUNT_STATUS)

    def require_funds(self, amount: int) -> None:
        """Raises: Refused, when less than ``amount`` is available."""
        if self.account.available < amount:
            raise Refused(Status.NO_FUNDS)

    def count(self, facts: Facts, amount: int, now: int, tally: Tally) -> Usage:
        """Count a payment in all limits; answers what it has counted. Raises: Refused.

        The groups of holder and card are those that were read: one that is assigned meanwhile holds for the next.
        """
        usage: Usage = {}
        for kept in self.counters:
            group = self.catalogue.limit_groups.get(self._group_of(kept) or 0)
            windows = tally.windows(kept)
            try:
                changed, counted = counting(self.catalogue, group, windows, facts, amount, facts.currency, now)
            except LimitExceeded as exceeded:
                raise Refused(Status.LIMIT_EXCEEDED, _said(kept, exceeded)) from None
            except NoRate:
                raise Refused(Status.CURRENCY_NOT_SUPPORTED, "there is no exchange rate for a limit") from None
            if counted:
                tally.change(kept, changed)
                usage[kept.owner] = [each.plain for each in counted]
        return usage

    def release(self, usage: Usage | None, write_id: str) -> list[Put]:
        """The writes that give back what a payment has counted."""
        of_mine = [(kept, (usage or {}).get(kept.owner)) for kept in self.counters]
        return [
            kept.counting(write_id, released(kept.windows, map(Counted.of, counted)))
            for kept, counted in of_mine
            if counted
        ]

    def _group_of(self, kept: Counters) -> int | None:
        owner = kept.owner.partition("#")[0]
        of: LedgerAccount | Card | Holder | None = self.account
        if owner != "account":
            of = self.card if owner == "card" else self.holder
        return of.limit_group_id if of else None


def _said(kept: Counters, exceeded: LimitExceeded) -> str:
    """Which limit it was; a name is the operator's."""
    name = f' "{exceeded.entry.name}"' if exceeded.entry.name else ""
    return f"the {exceeded.bound.replace('_', ' ')} of the {kept.owner.partition('#')[0]}'s limit{name} is exceeded"
