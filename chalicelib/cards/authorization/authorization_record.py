"""Authorizations with their holds, and disputes.

All messages with the same ``trans_link`` share one record. The number of a later message refers to this record. A
transaction can be disputed only once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, ClassVar, TypeVar

from chalicelib.cards.authorization.activity_record import TABLE, CardUse, NetworkMessage
from chalicelib.cards.authorization.group_rules import FiredRules
from chalicelib.cards.ledger.charges import Charge
from chalicelib.cards.ledger.conversion import ClearedAmount, portion
from chalicelib.cards.ledger.usage_counters import Usage
from chalicelib.cards.protocol.states import AUTHORIZATION_RULES, HELD
from chalicelib.cards.protocol.status_codes import Status, require_permitted
from chalicelib.cards.requests.request_context import RequestContext
from chalicelib.cards.storage.record import Record, WriteStamp
from chalicelib.foundation.dynamodb.sharded_index import ShardedIndex
from chalicelib.foundation.dynamodb.store import Check, Item, Put, absent
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.facts import Key

T = TypeVar("T")
DUE = ShardedIndex(TABLE, "due", "due_shard", "due_at")
NOT_DUE: Item = {"due_at": None, "due_shard": None}
"""The attribute changes that remove an authorization from the ``DUE`` index."""


@dataclass(frozen=True, kw_only=True)
class Authorization(Record):
    """An authorization, identified by ``trans_link``. Amounts are in minor units.

    Attributes:
        state: one of ``AUTHORIZATION_STATES``.
        at: the time when the authorization was recorded, in Unix milliseconds.
        listed_at: the position in the list of all cards, in Unix milliseconds, if different from ``at``.
        currency: the merchant's currency.
        left: the amount still to be cleared, in ``currency``.
        held: the amount held on the account for ``left``.
        charge: the latest charge for the full amount, a ``Charge`` as a dict.
        counted: the usage counted against limits. A release subtracts this usage.
        use: the card use, as returned by ``CardUse.as_dict``.
        rules: the risk rules that fired.
        actions: the actions of the risk rules that fired.
        cleared: the amounts cleared by the merchant, by currency.
        given_back: the refunded or disputed part of ``cleared``, by currency.
        debited: the amounts debited for ``cleared``, by currency, as in ``ClearedAmount``.
        credited: the part of ``debited`` that was given back, by currency.
        rates: the base rates, for currencies cleared at a single rate.
        booked_row: the account's ledger row of the latest clearing or refund, if any.
        lists: the lists that include the first message, or empty for a clearing without an authorization.
        due_at: the time when the hold expires, in Unix seconds.
        due_shard: the shard of the due index.
    """

    kind: ClassVar = "authorization"
    missing: ClassVar = Status.NO_TRANSACTION
    table: ClassVar = TABLE

    card_id: int
    holder_id: int
    account_id: int
    at: int
    state: str
    response_code: str
    currency: int
    use: dict[str, Any]
    left: int = 0
    held: int = 0
    charge: dict[str, Any] | None = None
    counted: Usage | None = None
    rules: list[str] | None = None
    actions: list[str] | None = None
    cleared: dict[str, int] | None = None
    given_back: dict[str, int] | None = None
    debited: dict[str, int] | None = None
    credited: dict[str, int] | None = None
    rates: dict[str, Decimal] | None = None
    booked_row: int | None = None
    auth_code: str | None = None
    lists: list[str] | None = None
    listed_at: int | None = None
    due_at: int | None = None
    due_shard: str | None = None

    @property
    def trans_link(self) -> str:
        """The identifier shared by all messages of the authorization."""
        return f"{self.id:012}"

    @property
    def card_use(self) -> CardUse:
        return CardUse(**self.use)

    @property
    def charge_details(self) -> Charge | None:
        return Charge.from_dict(self.charge) if self.charge else None

    @property
    def fired_rules(self) -> FiredRules:
        return FiredRules(tuple(self.rules or ()), tuple(self.actions or ()))

    @property
    def is_held(self) -> bool:
        return self.state == HELD

    def require(self, action: str) -> None:
        """Check that the state permits the action. Raises: Refused."""
        require_permitted(AUTHORIZATION_RULES[action][self.state])

    def cleared_in(self, currency: int, worth: Callable[[int], int]) -> ClearedAmount | None:
        """Return the cleared amount in a currency, or ``None``.

        For older records without debits, ``worth`` converts a cleared amount into the account's currency.
        """
        name = str(currency)
        if name not in (self.cleared or {}):
            return None
        amounts = (self.cleared, self.debited, self.given_back, self.credited)
        amount, debited, given_back, credited = ((each or {}).get(name, 0) for each in amounts)
        if name in (self.debited or {}):
            return ClearedAmount(amount, debited, (self.rates or {}).get(name), given_back, credited)
        found = ClearedAmount(amount, worth(amount), None, given_back)
        return replace(found, credited=found.share(found.debited, given_back))

    def cleared_members(self, currency: int, now: ClearedAmount) -> dict[str, Any]:
        """The record members for the cleared and returned amounts in a currency."""
        name = str(currency)
        return {
            "cleared": _with_amount(self.cleared, name, now.amount),
            "given_back": _with_amount(self.given_back, name, now.given_back),
            "debited": {**(self.debited or {}), name: now.debited},
            "credited": _with_amount(self.credited, name, now.credited),
            "rates": _with_amount(self.rates, name, now.rate),
        }


@dataclass(frozen=True, kw_only=True)
class Dispute(Record):
    """The dispute of a transaction, keyed by the transaction's id.

    Attributes:
        account_id: the account that the transaction was booked to.
        step: the current step, one of ``DISPUTE_STEPS``.
        amount: the disputed amount, in minor units of the account's currency.
        worth: the disputed amount in the transaction's own currency. This part cannot be refunded.
        opened_at: the time when the dispute was opened, in Unix seconds.
    """

    kind: ClassVar = "dispute"
    missing: ClassVar = Status.NO_TRANSACTION
    table: ClassVar = TABLE

    transaction_id: int
    account_id: int
    step: str
    amount: int
    worth: int
    opened_at: int

    @property
    def place(self) -> Key:
        return self.key(self.transaction_id)

    @classmethod
    def check_undisputed(cls, transaction_id: int) -> Check:
        """Return a check that the transaction has no dispute when the check is evaluated."""
        return Check(*cls.key(transaction_id), absent("owner"))


def find_by_trans_link(context: RequestContext, trans_link: str) -> Authorization:
    """Return the authorization with this ``trans_link``.

    Raises:
        Refused: there is no such authorization, or ``trans_link`` is the number of a later message.
    """
    [item] = context.items([Authorization.key(int(trans_link))])
    return context.require_visible(Authorization, None if item and "of" in item else item)


def put_message_number(
    message: NetworkMessage, authorization: Authorization, stamp: WriteStamp, listed_at: int | None
) -> Put:
    """Return the put operation for the item that links a later message's number to its authorization.

    The item is recorded at ``stamp``. ``listed_at`` is as in ``Authorization``.
    """
    table, place = Authorization.key(message.number)
    members: Item = {"manager_id": authorization.manager_id, "access_level": authorization.access_level}
    members |= {"card_id": authorization.card_id, "of": authorization.id, "lists": message.lists}
    members |= {"at": stamp.at, "written_by": stamp.write_id}
    members |= {} if listed_at is None else {"listed_at": listed_at}
    return Put(table, place | members, absent("owner"))


def split_usage(usage: Usage | None, part: int, of: int, *, with_count: bool) -> tuple[Usage, Usage]:
    """Split counted usage into the share ``part / of`` and the rest.

    The share includes the transaction count if ``with_count`` is true. Otherwise the rest includes the transaction
    count.
    """
    taken: Usage = {}
    rest: Usage = {}
    for owner, counted in (usage or {}).items():
        pairs = [_split(each, part, of, with_count) for each in counted]
        taken[owner] = [first for first, _ in pairs]
        rest[owner] = [second for _, second in pairs]
    return taken, rest


def join_usage(first: Usage | None, second: Usage | None) -> Usage | None:
    """Return the sum of two usages, with one entry per window, or ``None`` if the sum is empty."""
    owners: dict[str, None] = dict.fromkeys([*(first or {}), *(second or {})])
    usage = {owner: _merge([*(first or {}).get(owner, ()), *(second or {}).get(owner, ())]) for owner in owners}
    return {owner: counted for owner, counted in usage.items() if counted} or None


def _split(counted: Mapping[str, Any], part: int, of: int, with_count: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    amount = portion(counted["amount"], part, of)
    bare = {name: value for name, value in counted.items() if name != "country"}
    whole, none = {**counted, "amount": amount}, {**bare, "amount": amount, "count": 0}
    rest = {"amount": counted["amount"] - amount}
    return (whole, {**bare, **rest, "count": 0}) if with_count else (none, {**counted, **rest})


def _merge(counted: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for each in counted:
        before = found.get((each["key"], each["start"]), {"amount": 0, "count": 0})
        sums = {name: before[name] + each[name] for name in ("amount", "count")}
        found[each["key"], each["start"]] = {**each, **before, **sums}
    return [each for each in found.values() if each["amount"] or each["count"]]


def _with_amount(amounts: dict[str, T] | None, name: str, value: T | None) -> dict[str, T] | None:
    rest = {each: amount for each, amount in (amounts or {}).items() if each != name}
    return ({**rest, name: value} if value else rest) or None
