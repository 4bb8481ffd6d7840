"""Checks of the card API's items: numbers and counters, claims, ledger rows and referenced records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from chalicelib.bootstrap import Hub
from chalicelib.cards.authorization.authorization_record import Authorization, Dispute
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.issuing.holder_record import Holder
from chalicelib.cards.ledger.account_record import Account, special_account_key
from chalicelib.cards.ledger.entries import MOVEMENT, movement_key
from chalicelib.cards.ledger.transaction_record import transaction_key
from chalicelib.cards.payments.address_record import ExternalAddress
from chalicelib.cards.payments.payment_record import ExternalPayment, Mandate
from chalicelib.cards.payments.provider_completion import render_answer
from chalicelib.cards.protocol.values import OF_HOLDER
from chalicelib.cards.reconciliation.ledger_proof import describe_owner, number_of
from chalicelib.cards.requests.envelope import KIND as CLAIM
from chalicelib.cards.storage.sequences import SEQUENCES, SPARE
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Item, Update
from chalicelib.foundation.requests.facts import Key
from infra.restore.check import Inconsistency
from infra.restore.names import name_missing

Found = Sequence[Item | None]
_WITH_CARD_DATA = "#card-data"
_NUMBERED: Mapping[str, str] = {
    **{each.kind: each.kind for each in (Authorization, ExternalAddress, ExternalPayment, Mandate)},
    "transaction": "transaction",
}
"""The counters of records that are not in the table of cards, by the sort key of a record."""
_OF_ROW: Mapping[str, Callable[[int], Key]] = {
    "epm_transaction_id": ExternalPayment.key,
    "authorization_id": Authorization.key,
    "transaction_id": Dispute.key,
}
"""The records to which a ledger row may refer."""
_OF_RESPONSE: Mapping[str, Callable[[int], Key]] = {
    "holder_id": Holder.key,
    "account_id": Account.key,
    "card_id": Card.key,
    "epm_address_id": ExternalAddress.key,
    "epm_transaction_id": ExternalPayment.key,
    "transaction_id": transaction_key,
}
"""The records to which a stored response may refer."""


def counter_of_number(hub: Hub, item: Item) -> list[Key]:
    return [SEQUENCES] if item["part"] in _NUMBERED and _number(item) < SPARE else []


def judge_number(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find a record with a higher number than the restored counter. The counter could assign this number again."""
    name, number = _NUMBERED[item["part"]], _number(item)
    if (found[0] or {}).get(name, 0) >= number:
        return None
    is_behind = Attr(name).not_exists() | Attr(name).lt(number)
    return Inconsistency([Update(*SEQUENCES, set={name: number}, condition=is_behind)])


def records_of_row(hub: Hub, item: Item) -> list[Key]:
    if not item["part"].startswith(f"{MOVEMENT}#"):
        return []
    return [key(item[name]) for name, key in _OF_ROW.items() if item.get(name) is not None]


def judge_row(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find a ledger row that refers to a missing or older record."""
    version = item.get("authorization_version", 0)
    keys, is_known = records_of_row(hub, item), [(each or {}).get("version", version) >= version for each in found]
    named = [describe_owner(key["owner"]) for (_, key), known in zip(keys, is_known, strict=True) if not known]
    return Inconsistency(detail=f", row {number_of(item)}: {', '.join(named)}") if named else None


def row_of_authorization(hub: Hub, item: Item) -> list[Key]:
    """Return the key of the ledger row that records the latest clearing or refund of an authorization."""
    owner = Account.key(item["account_id"])[1]["owner"] if item.get("booked_row") else ""
    return [movement_key(owner, item["booked_row"])] if owner else []


def transactions_of_payment(hub: Hub, item: Item) -> list[Key]:
    named = [item.get(name) for name in ("transaction_id", "return_transaction_id")]
    return [transaction_key(number) for number in named if number] if item["part"] == ExternalPayment.kind else []


def account_of_payment(hub: Hub, item: Item) -> list[Key]:
    """Return the account of a payment or hold. A special account is created with its first address."""
    return [Account.key(item["account_id"])] if item.get("holder_id") and "account_id" in item else []


def judge_account(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find items that belong to a missing account."""
    return None if all(found) else Inconsistency(detail=_name_account(item))


def judge_transactions(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find a payment whose transaction is missing."""
    gone = name_missing(transactions_of_payment(hub, item), found)
    return Inconsistency(detail=f"{_name_account(item)}; gone: {gone}") if gone else None


def judge_booking(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find an authorization whose latest clearing or refund is not booked."""
    return None if all(found) else Inconsistency(detail=f"{_name_account(item)}, row {item['booked_row']}")


def judge_response(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find a stored response that refers to a missing record."""
    gone = name_missing(records_of_response(hub, item), found)
    return Inconsistency(detail=f"; gone: {gone}") if gone else None


def claim_of_payment(hub: Hub, item: Item) -> list[Key]:
    """Return the key of the claim of a payment's request, if the claim should still be stored."""
    if item["part"] != ExternalPayment.kind or item["created_at"] + CLAIM.lifetime <= hub.clock.time():
        return []
    claim = ExternalPayment.from_item(item).waiting_claim
    return [claim.key] if claim else []


def judge_claim(hub: Hub, item: Item, found: Found) -> Inconsistency | None:
    """Find a payment request with a missing or incomplete idempotency record."""
    payment, references, stored = ExternalPayment.from_item(item), hub.cards.references, found[0]
    claim, action = payment.waiting_claim, payment.asks or payment.asked
    if claim is None or action is None:
        return None
    if stored is None:
        now, answer = hub.clock.time(), render_answer(action, payment)
        return Inconsistency(
            [references.put_claim(claim)] if payment.asks else references.put_answer(claim, answer, None, now)
        )
    if payment.asks is None and stored.get("unanswered") and stored["attempt"] == claim.attempt:
        return Inconsistency([references.put_late_answer(claim, render_answer(action, payment))])
    return None


def records_of_response(hub: Hub, item: Item) -> list[Key]:
    """Return the records that a stored response refers to. Copies with card data are ignored.

    In a response without a holder, ``account_id`` is the id of a special account and is also ignored.
    """
    if item["claim"].endswith(_WITH_CARD_DATA):
        return []
    data = hub.cards.references.open_data(item)
    names = _OF_RESPONSE.keys() - (set() if data.get("holder_id") else {"account_id"})
    return [_OF_RESPONSE[name](data[name]) for name in sorted(names) if data.get(name)]


def _name_account(item: Item) -> str:
    is_special = item.get("account_type", OF_HOLDER) != OF_HOLDER
    key = special_account_key(item["manager_id"], item["account_id"]) if is_special else Account.key(item["account_id"])
    return f", {describe_owner(key[1]['owner'])}"


def _number(item: Item) -> int:
    return int(item["owner"].rpartition("#")[2])
