"""Card context: a card, its accounts, its holder, and the limit usage of each, read in one operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from chalicelib.cards.authorization.authorization_record import Authorization
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.issuing.holder_record import Holder
from chalicelib.cards.ledger import usage_counters
from chalicelib.cards.ledger.account_record import Account
from chalicelib.cards.ledger.charges import PostingContext
from chalicelib.cards.ledger.usage_counters import Counters
from chalicelib.cards.programs.catalogue import Catalogue
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.facts import Key

Read = Callable[[Sequence[Key]], list[Item | None]]


@dataclass(frozen=True, slots=True)
class CardContext:
    """The records of a card context, as read from storage. The first of ``accounts`` is the primary account."""

    catalogue: Catalogue
    card: Card
    holder: Holder | None
    accounts: Sequence[Account]
    of_card: Counters
    of_holder: Counters
    of_accounts: Sequence[Counters]

    def posting_context(self, account: Account) -> PostingContext:
        """Return the posting context for one of the card's accounts."""
        own = self.of_accounts[[each.id for each in self.accounts].index(account.id)]
        return PostingContext(
            self.catalogue,
            account,
            [own, self.of_holder, self.of_card],
            {"holder": self.holder.limit_group_id if self.holder else None, "card": self.card.limit_group_id},
            self.holder.details.get("country_ison") if self.holder else None,
            self.card.fee_group_id,
        )

    def account_for(self, currency: int) -> Account | None:
        """Return the account in ``currency``, or the primary account if the card converts currencies."""
        fitting = [account for account in self.accounts if account.currency == currency]
        return fitting[0] if fitting else self.accounts[0] if self.card.auto_conversion else None

    def with_account(self, account: Account) -> CardContext:
        """Return a copy of the context with only this account."""
        own = self.posting_context(account).counters[0]
        return replace(self, accounts=[account], of_accounts=[own])


def read_card_context(read: Read, catalogue: Catalogue, card: Card) -> CardContext:
    """Read the context of a card with all its accounts, in one round trip."""
    return _card_context(catalogue, card, read(_keys(card.account_ids, card.id, card.holder_id)))


def read_by_number(
    read: Read, sees: Callable[[Item | None], bool], catalogue: Catalogue, number: Item
) -> CardContext | None:
    """Read the context of the card with this number, or return ``None`` if no card has the number.

    The read takes one round trip, or two if the card's accounts have changed since the number was assigned.
    """
    account_ids = number.get("account_ids", [])
    keys = _keys(account_ids, number["card_id"], number.get("holder_id", 0))
    found, *items = read([Card.key(number["card_id"]), *keys])
    if found is None or not sees(found):
        return None
    card = Card.from_item(found)
    if card.account_ids != account_ids:
        return read_card_context(read, catalogue, card)
    return _card_context(catalogue, card, items)


def read_with_card(read: Read, catalogue: Catalogue, of: Authorization) -> CardContext:
    """Read the context of an authorization's card with only the authorization's account, in one round trip."""
    found, *items = read([Card.key(of.card_id), *_keys([of.account_id], of.card_id, of.holder_id)])
    assert found is not None, "cards stay"
    return _card_context(catalogue, Card.from_item(found), items)


def _keys(account_ids: Sequence[int], card_id: int, holder_id: int) -> list[Key]:
    counters = [usage_counters.key("card", card_id), usage_counters.key("holder", holder_id)]
    of_accounts = [usage_counters.key("account", number) for number in account_ids]
    return [Holder.key(holder_id), *counters, *map(Account.key, account_ids), *of_accounts]


def _card_context(catalogue: Catalogue, card: Card, items: Sequence[Item | None]) -> CardContext:
    found, of_card, of_holder, *rest = items
    accounts = [Account.from_item(item) for item in rest[: len(rest) // 2] if item is not None]
    counted = zip(accounts, rest[len(rest) // 2 :], strict=True)
    return CardContext(
        catalogue,
        card,
        Holder.from_item(found) if found else None,
        accounts,
        Counters.from_item("card", card.id, of_card),
        Counters.from_item("holder", card.holder_id, of_holder),
        [Counters.from_item("account", account.id, item) for account, item in counted],
    )
