"""3-D Secure records: merchant whitelist rules, and authentication requests awaiting the cardholder's response.

A payment that matches a whitelist rule needs no challenge. A rule is an item in its card's collection. Each list of a
rule is a separate item, because a list may be 64 KB. A payment must match one entry of every list. If the rule has a
maximum amount, only payments in the rule's currency up to that amount match.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

from chalicelib.cards.card_data.encryption import CardData
from chalicelib.cards.protocol.status_codes import Status
from chalicelib.cards.storage.record import TABLE, Record
from chalicelib.foundation.dynamodb.store import Item, Operation, Put, Store, absent
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.facts import Key

LISTS = ("acquirer_bin_merchant_id", "mcc", "merchant_country_ison", "merchant_name")
"""The list criteria of a rule."""
_PREFIX = "rule#"


@dataclass(frozen=True, slots=True)
class WhitelistRule:
    """A whitelist rule. ``lists`` contains only the criteria that were set."""

    id: int
    maximum: int | None = None
    currency: int | None = None
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def matches(self, amount: int, currency: int, facts: Mapping[str, str]) -> bool:
        """Whether ``facts``, keyed as in ``LISTS``, match all criteria and the amount is within the maximum."""
        if self.maximum is not None and (currency != self.currency or amount > self.maximum):
            return False
        return bool(self.lists) and all(facts.get(name) in entries for name, entries in self.lists.items())


def put_rule(card_id: int, rule: WhitelistRule, name: str, code: Key | None, write_id: str) -> list[Operation]:
    """Return the write operations that create a rule. The writes fail if the rule's code is already used."""
    owner = f"card#{card_id}"
    head: dict[str, Any] = {"name": name, "lists": sorted(rule.lists), "written_by": write_id}
    if rule.maximum is not None:
        head |= {"maximum": rule.maximum, "currency": rule.currency}
    part = f"{_PREFIX}{rule.id:020}"
    operations: list[Operation] = [Put(TABLE, {"owner": owner, "part": part, **head}, absent("owner"))]
    operations += [
        Put(TABLE, {"owner": owner, "part": f"{part}#{each}", "entries": list(entries)}, absent("owner"))
        for each, entries in rule.lists.items()
    ]
    if code is not None:
        table, key = code
        operations.append(Put(table, {**key, "rule_id": rule.id, "written_by": write_id}, absent("owner")))
    return operations


def code_key(manager_id: int, code: str) -> Key:
    """Return the key that reserves a rule's code. Codes are unique among the programme manager's cards."""
    return TABLE, {"owner": f"rule_code#{manager_id}#{digest(code)}", "part": "rule_code"}


def rules_of_card(store: Store, card_id: int) -> list[WhitelistRule]:
    heads: dict[str, Item] = {}
    lists: dict[str, dict[str, tuple[str, ...]]] = {}
    for row in store.rows(TABLE, ("owner", f"card#{card_id}"), sort_prefix=("part", _PREFIX)):
        _, number, *rest = row["part"].split("#")
        if rest:
            lists.setdefault(number, {})[rest[0]] = tuple(row["entries"])
        else:
            heads[number] = row
    return [
        WhitelistRule(int(number), head.get("maximum"), head.get("currency"), lists.get(number, {}))
        for number, head in heads.items()
        if set(head["lists"]) == set(lists.get(number, {}))
    ]


VALID_SECONDS = 300
RETENTION_SECONDS = 30 * 24 * 3600
TRIES = 5
"""The number of incorrect validation values after which a request fails."""

WAITING, CONFIRMED, REFUSED, FAILED = "waiting", "confirmed", "refused", "failed"


@dataclass(frozen=True, kw_only=True)
class Authentication(Record):
    """An authentication request.

    ``proof`` is the keyed hash of the request's validation value. ``valid_until`` is in Unix seconds.
    """

    kind: ClassVar = "authentication"
    missing: ClassVar = Status.NO_AUTHENTICATION

    card_id: int
    amount: int
    currency: int
    proof: str
    valid_until: int
    expires_at: int
    status: str = WAITING
    wrong_values: int = 0
    method: int | None = None

    def is_pending(self, now: int) -> bool:
        """Whether the cardholder can still respond."""
        return self.status == WAITING and now < self.valid_until


def hash_of(card_data: CardData, number: int, value: str) -> str:
    """Return the keyed hash of an authentication request's validation value."""
    return card_data.fingerprint(f"authentication {number} {value}")
