"""Checks of stored cards, claims, set-ups and card use, and a normalized format for comparing two runs."""

import json
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from chalicelib.cards.storage.time_ordered import CANCELLED, RESERVED_BY
from chalicelib.delivery.delivery_record import RECORD
from chalicelib.foundation.dynamodb.store import Item, Store
from infra.admin.ledger_verification import prove_ledger
from tests.causeway import Causeway
from tests.conftest import DYNAMODB_ENGINE
from tests.openbanking.faults import items

TABLES = ("cards", "idempotency", "programmes", "ledger", "card-activity", "deliveries")

_ONE_RUN_ONLY = frozenset(
    (
        *("owner", "part", "id", "holder_id", "card_id", "rule_id", "request_id", "account_ids", "written_by"),
        *("pan", "last_four", "pin", "pvv", "acs_password"),
        *("proof", "claim", "attempt", "answer", "fingerprint"),
    )
)
"""Members with values that differ between equal runs: identifiers, random values and encrypted values."""
_ONE_USE_ONLY = frozenset(
    (
        *("owner", "part", "id", "at", "last_at", "written_by", "movement", "auth_code", "trans_link", "of"),
        *("authorize_id", "authorization_id", "transaction_id", "parent_id", "due_shard", "part_of_account"),
        *("transmission_time", "transaction_local_time", "expires_at"),
        *("stan", "trace_id", "trace_number", "retrieval_reference_number", "delivery_id", "body", "added"),
    )
)
"""Members of ledger and activity rows with values that differ between equal runs."""
_USED = {
    "card": {
        "card_programme": "program_id",
        "product": "product_id",
        "design": "design_id",
        "fee_group": "fee_group_id",
        "limit_group": "limit_group_id",
        "usage_group": "usage_group_id",
        "risk_group": "risk_group_id",
    },
    "account": {
        "account_programme": "program_id",
        "fee_group": "fee_group_id",
        "limit_group": "limit_group_id",
        "risk_group": "risk_group_id",
    },
}
"""The set-up entries that a record uses, by kind of record."""


class StoredCards:
    """The stored card records, idempotency claims and set-up records. If ``holders`` is given, only the card records of
    these holders are included.
    """

    def __init__(self, causeway: Causeway, holders: Collection[int] = ()) -> None:
        self._hub = causeway.hub
        self._rows = all_items(causeway, "cards")
        if holders:
            self._rows = [*_of(holders, self._rows)]
        self._claims = all_items(causeway, "idempotency")
        self._programmes = {(row["owner"], row["part"]): row for row in all_items(causeway, "programmes")}

    def of(self, part: str) -> list[Item]:
        """Return the rows of the given kind, for example ``card``. The kind is the first part of the sort key."""
        return [row for row in self._rows if _name(row["part"]) == part]

    def by_id(self, kind: str) -> Mapping[int, Item]:
        return {row["id"]: row for row in self.of(kind) if row["part"] == kind}

    def shape(self) -> list[str]:
        rows = [row for row in self._rows if row["part"] != "sequences"]
        return sorted(_shape(row, _ONE_RUN_ONLY) for row in [*rows, *self._claims])

    def records(self) -> frozenset[tuple[str, int]]:
        return frozenset((kind, number) for kind in ("holder", "account", "card") for number in self.by_id(kind))

    def check(self, before: Container[tuple[str, int]] = ()) -> None:
        """Check that every record is complete and that records refer to each other consistently.

        The set-up entries of records in ``before`` need no mark of use.
        """
        holders, accounts, cards = (self.by_id(kind) for kind in ("holder", "account", "card"))
        for account in accounts.values():
            assert account["id"] in holders[account["holder_id"]]["account_ids"], "every account is its holder's"
        for holder in holders.values():
            assert len(holder.get("account_ids", ())) <= 100
            assert set(holder.get("account_ids", ())) <= accounts.keys(), "every account of a holder is there"
        for card in cards.values():
            assert set(card["account_ids"]) <= accounts.keys(), "every account of a card is there"
            assert len(set(card["account_ids"])) == len(card["account_ids"])
            assert card["holder_id"] in holders
            assert card["pin_tries"] <= card["pin_tries_limit"]
        self._check_numbers(cards)
        self._check_lists(cards)
        self._check_orders(cards)
        self._check_rules()
        records = [*holders.values(), *accounts.values(), *cards.values()]
        self._check_use([row for row in records if (row["part"], row["id"]) not in before])
        self._check_claims()

    def number(self, card: Item) -> str:
        return str(self._hub.cards.card_data.open(card["id"], "pan", bytes(card["pan"])))

    # -- inside

    def _check_numbers(self, cards: Mapping[int, Item]) -> None:
        """Check that every card is found only by its current and retired numbers."""
        entries = {row["owner"]: row for row in self.of("pan")}
        live = {owner: row["card_id"] for owner, row in entries.items() if "retired" not in row}
        assert live == {
            f"pan#{self._hub.cards.card_data.lookup(self.number(card))}": card["id"] for card in cards.values()
        }
        assert {row["card_id"] for row in entries.values()} <= cards.keys()

    def _check_lists(self, cards: Mapping[int, Item]) -> None:
        """Check that the manager's list contains each card exactly once, with the last digits of the card number."""
        rows = [row for row in self.of("card") if row["part"] != "card"]
        listed = [(row["owner"].split("#")[1], row["card_id"]) for row in rows]
        assert sorted(listed) == sorted((str(card["manager_id"]), number) for number, card in cards.items())
        ends = {row["card_id"]: row["last_four"] for row in rows if "last_four" in row}
        assert ends == {number: self.number(cards[number])[-4:] for number in ends}

    def _check_orders(self, cards: Mapping[int, Item]) -> None:
        """Check that every physical card was ordered and every order belongs to a card."""
        ordered = {(row["owner"], row["part"]) for row in self.of("order")}
        physical = [card for card in cards.values() if not card["virtual"]]
        assert {(f"card#{card['id']}", f"order#{card['request_id']:020}") for card in physical} <= ordered
        assert {owner for owner, _ in ordered} <= {f"card#{number}" for number in cards}

    def _check_rules(self) -> None:
        """Check that every rule has an entry in each of its lists, and that every list entry has a rule."""
        rules = {(row["owner"], row["part"]) for row in self.of("rule")}
        lists = {(row["owner"], f"{row['part']}#{name}") for row in self.of("rule") for name in row.get("lists", ())}
        heads = {(owner, part) for owner, part in rules if part.count("#") == 1}
        assert rules == heads | lists

    def _check_use(self, records: list[Item]) -> None:
        """Check that used entries are marked, so that the operator cannot remove them."""
        for record in records:
            for kind, number in _uses(record):
                entry = self._programmes[f"manager#{record['manager_id']}", f"{kind}#{number}"]
                assert entry.get("used") is True, f"{kind} {number} of a {record['part']}"

    def _check_claims(self) -> None:
        claims = {row["claim"]: row for row in self._claims}
        for name, row in claims.items():
            if name.endswith("#card-data"):
                assert claims[name.removesuffix("#card-data")]["attempt"] == row["attempt"]


@dataclass(frozen=True)
class EmulatorTables:
    """A reader of the emulator's tables that makes no DynamoDB calls and therefore has no delay."""

    causeway: Causeway
    _kept: dict[str, list[Item]] = field(default_factory=dict)

    def scan(self, table: str) -> Iterator[Item]:
        return iter(self._rows(table))

    def get(self, table: str, key: Item) -> Item | None:
        return next((row for row in self._rows(table) if key.items() <= row.items()), None)

    def batch_get(self, keys: Sequence[tuple[str, Item]]) -> list[Item | None]:
        return [self.get(*key) for key in keys]

    def each(
        self, table: str, partition: tuple[str, Any], *, sort_prefix: tuple[str, str], **how: Any
    ) -> Iterator[Item]:
        (name, value), (sort, prefix) = partition, sort_prefix
        after = (how.get("after") or {sort: ""})[sort]
        found = [row for row in self._rows(table) if row[name] == value and row[sort].startswith(prefix)]
        found = sorted((row for row in found if row[sort] > after), key=lambda row: str(row[sort]))
        return iter(found[::-1] if how.get("newest_first") else found)

    def wait(self, attempt: int) -> None:
        """Return immediately, because the tables do not change."""

    def _rows(self, table: str) -> list[Item]:
        if table not in self._kept:
            self._kept[table] = items(self.causeway, table)
        return self._kept[table]


def check(causeway: Causeway, before: Collection[tuple[str, int]] = ()) -> None:
    StoredCards(causeway).check(before)
    prove_ledger(cast(Store, EmulatorTables(causeway)))


def shape(causeway: Causeway) -> list[str]:
    rows = [row for table in ("ledger", "card-activity") for row in items(causeway, table) if _is_written(row)]
    events = [f"event {row['kind']} {row['topic']}" for row in items(causeway, "deliveries") if row["part"] == RECORD]
    return sorted([*(_shape(row, _ONE_USE_ONLY) for row in rows), *events, *StoredCards(causeway).shape()])


def _is_written(row: Item) -> bool:
    return RESERVED_BY not in row and CANCELLED not in row


def _shape(row: Item, ignored: Container[str]) -> str:
    place = [_name(row[key]) for key in ("owner", "part") if key in row] or row["claim"].endswith("#card-data")
    kept = {name: value for name, value in row.items() if name not in ignored}
    if "network" in row:
        kept["network"] = {name: value for name, value in row["network"].items() if name not in ignored}
    if "account_ids" in row:
        kept["account_ids"] = len(row["account_ids"])
    return f"{place} {sorted(row)} {json.dumps(kept, sort_keys=True, default=str)}"


def all_items(causeway: Causeway, table: str) -> list[Item]:
    return [*causeway.hub.store.scan(table)] if DYNAMODB_ENGINE else [*items(causeway, table)]


def _of(holders: Collection[int], rows: list[Item]) -> Iterator[Item]:
    cards = {row["id"] for row in rows if row["part"] == "card" and row["holder_id"] in holders}
    for row in rows:
        kind, _, number = row["owner"].partition("#")
        of_card = (kind == "card" and int(number) in cards) or row.get("card_id") in cards
        if of_card or row.get("holder_id") in holders or (kind == "holder" and int(number) in holders):
            yield row


def _name(part: str) -> str:
    return part.partition("#")[0]


def _uses(record: Item) -> Iterator[tuple[str, int]]:
    for kind, member in _USED.get(record["part"], {}).items():
        if record.get(member) is not None:
            yield kind, record[member]
    group = record.get("details", {}).get("holder_limit_group_id")
    if group is not None:
        yield "limit_group", group
