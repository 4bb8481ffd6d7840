"""Removes the data of card holders: on request, data without a legal retention duty; after five years, all other data.

The five years begin when the holder's last account is closed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.bootstrap import Hub
from chalicelib.cards.card_data.encryption import CardData
from chalicelib.cards.issuing.card_decryption import WITHOUT_PIN, decrypt_password
from chalicelib.cards.issuing.card_record import Card, update_nameless_row
from chalicelib.cards.issuing.holder_record import Holder
from chalicelib.cards.ledger.account_record import Account
from chalicelib.cards.protocol.states import BLOCKED, CLOSED, EXPIRED, NEW
from chalicelib.cards.storage.record import TABLE
from chalicelib.foundation.crypto.keyring import Unsealable
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.identifiers import new_id
from infra.retention.errors import NotErasable
from infra.retention.kinds import BY_NAME, RETENTION_SECONDS

CONTACT = ("phone_number", "email", "title", "holder_locale", "ip_address")
MANDATORY = ("first_name", "last_name", "address_line_1", "zip_code", "city", "phone_number")
"""Members that every holder's record has. They are set to an empty value."""
IDENTIFYING_NOTHING = ("holder_limit_group_id", "country_ison", "industry_id")
"""Members of a cardholder that do not identify a person, and are therefore not erased."""
_NAMES = ("name_line_4", "track_first_name", "track_last_name", "thermal_line_1", "thermal_line_2", "note", "reference")
_ENDED_CARDS = (BLOCKED, EXPIRED, NEW)
"""States in which a card of closed accounts cannot be used again. A card that is not yet activated is included, because
it cannot be blocked.
"""


@dataclass(frozen=True, slots=True)
class HolderRecords:
    """A holder with all accounts and cards."""

    holder: Holder
    accounts: list[Account]
    cards: list[Card]

    def obstacles(self, now: int) -> Iterator[str]:
        """Return the open accounts and usable cards, each with the action that the programme manager must take."""
        for account in self.accounts:
            if account.status != CLOSED:
                yield f"account {account.id} is open (changeAccountStatus {CLOSED})"
        for card in self.cards:
            if card.status(now) not in _ENDED_CARDS:
                yield (
                    f"card {card.id} is not blocked; the programme manager has to block it (changeCardStatus {BLOCKED})"
                )

    def ended_at(self, now: int) -> int | None:
        """Return the time, in Unix seconds, at which the last account was closed. Return ``None`` if an account is open
        or no account exists.
        """
        if any(self.obstacles(now)):
            return None
        return max((each.updated_at for each in self.accounts), default=None)


def erase_holder(hub: Hub, holder_id: int) -> list[str]:
    """Remove data without a legal retention duty. Returns the removed kinds.

    Raises:
        NotErasable: there is no such holder, or an account is open, or a card is neither blocked nor expired and was
            activated.
    """
    found = next(iter(_read(hub.store, holder_id)), None)
    if found is None:
        raise NotErasable(f"there is no holder {holder_id}")
    if obstacles := list(found.obstacles(hub.clock.time())):
        raise NotErasable(f"holder {holder_id}: {'; '.join(obstacles)}")
    removed = _remove_contact(hub, found)
    return [name for name in BY_NAME if name in removed]


def due_holders(hub: Hub, now: int) -> list[HolderRecords]:
    """Yield the holders whose last account was closed five years ago, and whose names are still stored."""
    return [each for each in _read(hub.store) if _is_named(each) and _is_over(each, now)]


def _is_over(found: HolderRecords, now: int) -> bool:
    ended_at = found.ended_at(now)
    return ended_at is not None and ended_at + RETENTION_SECONDS <= now


def remove_holder(hub: Hub, found: HolderRecords) -> None:
    """Remove all data that identifies the holder. The ledger remains unchanged."""
    _remove_contact(hub, found)
    holder = _read_one(hub.store, found.holder.id)
    anonymous = {name: value for name, value in holder.details.items() if name in IDENTIFYING_NOTHING}
    for card in found.cards:
        _remove_parts(hub.store, card, "order#")
        _remove_names(hub.store, card)
    details = anonymous | dict.fromkeys(MANDATORY, "")
    hub.store.transact([holder.update(new_id(), details=details)])


def _remove_contact(hub: Hub, found: HolderRecords) -> set[str]:
    """Remove data without a legal retention duty. Returns the removed kinds."""
    removed = set()
    details = {
        **{name: value for name, value in found.holder.details.items() if name not in CONTACT},
        "phone_number": "",
    }
    if details != found.holder.details:
        hub.store.transact([found.holder.update(new_id(), details=details)])
        removed.add("holder-contact")
    for card in found.cards:
        if _remove_secrets(hub, card):
            removed.add("card-secrets")
        if _remove_parts(hub.store, card, "rule#"):
            removed.add("whitelist-rules")
    return removed


def _remove_secrets(hub: Hub, card: Card) -> bool:
    data = hub.cards.card_data
    if card.pin is None and card.pvv is None and not _has_password(data, card):
        return False
    hub.store.transact([card.update(new_id(), **WITHOUT_PIN, acs_password=data.seal(card.id, "acs_password", ""))])
    return True


def _has_password(data: CardData, card: Card) -> bool:
    try:
        return bool(decrypt_password(card, data))
    except Unsealable:
        return True


def _remove_names(store: Store, card: Card) -> None:
    current = _read_card(store, card.id)
    write_id = new_id()
    members: Mapping[str, Any] = {"name_line_3": "", **dict.fromkeys(_NAMES)}
    store.transact([current.update(write_id, **members), update_nameless_row(current, write_id)])


def _remove_parts(store: Store, card: Card, prefix: str) -> bool:
    rows = store.rows(TABLE, ("owner", f"card#{card.id}"), sort_prefix=("part", prefix))
    for row in rows:
        store.delete(TABLE, {"owner": row["owner"], "part": row["part"]})
    return bool(rows)


def _is_named(found: HolderRecords) -> bool:
    return bool(found.holder.name)


def _read(store: Store, holder_id: int | None = None) -> Iterator[HolderRecords]:
    """Read all holders, or one holder. Reads the whole table of cards, because there is no index by holder."""
    holders: dict[int, Holder] = {}
    accounts: dict[int, list[Account]] = {}
    cards: dict[int, list[Card]] = {}
    for item in store.scan(TABLE):
        if item["part"] == Holder.kind:
            holders[item["id"]] = Holder.from_item(item)
        elif item["part"] == Account.kind:
            accounts.setdefault(item["holder_id"], []).append(Account.from_item(item))
        elif item["part"] == Card.kind:
            cards.setdefault(item["holder_id"], []).append(Card.from_item(item))
    for number, holder in sorted(holders.items()):
        if holder_id in (None, number):
            yield HolderRecords(holder, accounts.get(number, []), cards.get(number, []))


def _read_one(store: Store, holder_id: int) -> Holder:
    item = store.get(*Holder.key(holder_id))
    assert item is not None, "holders are never deleted"
    return Holder.from_item(item)


def _read_card(store: Store, card_id: int) -> Card:
    item = store.get(*Card.key(card_id))
    assert item is not None, "cards are never deleted"
    return Card.from_item(item)
