"""The records of the account that sends or receives a payment, and the keys of the records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.issuing.holder_record import Holder
from chalicelib.cards.ledger import usage_counters
from chalicelib.cards.ledger.account_record import Account, LedgerAccount, SpecialAccount, special_account_key
from chalicelib.cards.ledger.charges import PostingContext
from chalicelib.cards.ledger.usage_counters import Counters, Owner
from chalicelib.cards.payments.address_record import ExternalAddress
from chalicelib.cards.payments.payment_record import ExternalPayment
from chalicelib.cards.programs.catalogue import Catalogue
from chalicelib.cards.protocol.values import OF_HOLDER
from chalicelib.cards.storage.record import without_none
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.facts import Key


@dataclass(frozen=True, slots=True)
class AccountRef:
    """The ids of an account and of its related records, which are read together."""

    manager_id: int
    account_type: int
    account_id: int
    holder_id: int | None = None
    card_id: int | None = None

    @classmethod
    def of(cls, about: ExternalAddress | ExternalPayment) -> AccountRef:
        """Return the reference from an address or a payment."""
        return cls(about.manager_id, about.account_type, about.account_id, about.holder_id, about.card_id)

    @classmethod
    def of_number_item(cls, number: Item) -> AccountRef:
        """Return the reference from the lookup item of an address's number."""
        return cls(**{each.name: number[each.name] for each in fields(cls) if each.name in number})

    @property
    def as_dict(self) -> dict[str, Any]:
        return without_none(asdict(self))

    @property
    def keys(self) -> list[Key]:
        return [*self._record_keys.values()]

    def posting_context(self, catalogue: Catalogue, items: Sequence[Item | None]) -> PostingContext:
        """Return the posting context built from the items at ``keys``. All items exist, because records are never
        removed.
        """
        found = dict(zip(self._record_keys, items, strict=True))
        holder_item, card_item = found.get("holder"), found.get("card")
        holder = Holder.from_item(holder_item) if holder_item else None
        card = Card.from_item(card_item) if card_item else None
        return PostingContext(
            catalogue,
            self.account(found["account"]),
            [Counters.from_item(name, number, found[f"{name} counters"]) for name, number in self._counter_owners],
            {"holder": holder.limit_group_id if holder else None, "card": card.limit_group_id if card else None},
            holder.details.get("country_ison") if holder else None,
        )

    def account(self, item: Item | None) -> LedgerAccount:
        """Return the account in the item at ``account_key``."""
        assert item is not None, "an address has its account"
        kind: type[LedgerAccount] = Account if self.account_type == OF_HOLDER else SpecialAccount
        return kind.from_item(item)

    @property
    def _counter_owners(self) -> list[tuple[Owner, int]]:
        """Return the owners of the counters.

        For a special account, the counters of a card are used only to order the card's lists.
        """
        owners: list[tuple[Owner, int | None]] = [("card", self.card_id)]
        if self.account_type == OF_HOLDER:
            owners = [("account", self.account_id), ("holder", self.holder_id), *owners]
        return [(name, number) for name, number in owners if number is not None]

    @property
    def _record_keys(self) -> dict[str, Key]:
        parts = {"account": self.account_key}
        if self.account_type == OF_HOLDER:
            parts |= {"holder": Holder.key(self.holder_id)} if self.holder_id is not None else {}
            parts |= {"card": Card.key(self.card_id)} if self.card_id is not None else {}
        return parts | {f"{name} counters": usage_counters.key(name, number) for name, number in self._counter_owners}

    @property
    def account_key(self) -> Key:
        if self.account_type == OF_HOLDER:
            return Account.key(self.account_id)
        return special_account_key(self.manager_id, self.account_id)
