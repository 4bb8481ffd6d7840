"""Everything that holds or reserves money of accounts, by the records of payments, authorizations and disputes."""

from __future__ import annotations

from collections.abc import Iterator

from chalicelib.cards.authorization.authorization_record import DUE, NOT_DUE, Authorization
from chalicelib.cards.authorization.dispute_record import Dispute
from chalicelib.cards.issuing.account_record import Account
from chalicelib.cards.payments.payment_record import ExternalPayment
from chalicelib.cards.payments.special_account_record import special_account_key
from chalicelib.cards.protocol.authorization_states import HELD
from chalicelib.cards.protocol.values import OF_HOLDER
from chalicelib.cards.reconciliation.ledger_proof import Broken
from chalicelib.cards.reconciliation.reservations import AUTHORIZATION, DISPUTE, PAYMENT, Claim
from chalicelib.cards.storage.record import Key
from chalicelib.foundation.dynamodb.store import Item, Store
from infra.admin.progress import SILENT, Progress


def claims_by_account(store: Store, progress: Progress = SILENT) -> dict[str, list[Claim]]:
    """Everything that claims money, by the owner of the account.

    Raises: Broken, for an authorization that would never expire, or once too often.
    """
    found: dict[str, list[Claim]] = {}
    for owner, claim in _claims(store, progress):
        found.setdefault(owner, []).append(claim)
    return found


# -- inside


def _claims(store: Store, progress: Progress) -> Iterator[tuple[str, Claim]]:
    for item in progress.counted(store.scan(ExternalPayment.table), "records of external payments"):
        if item["part"] == ExternalPayment.kind and item.get("held"):
            yield _owner(_key_of_payer(item)), Claim(PAYMENT, item["id"])
    for item in progress.counted(store.scan(Authorization.table), "records of card activity"):
        if item["part"] == Authorization.kind and "state" in item:  # later messages only lead to it
            _check_due(item)
            claim, is_claiming = Claim(AUTHORIZATION, item["id"]), bool(item["held"])
        elif item["part"] == Dispute.kind:
            claim = Claim(DISPUTE, item["transaction_id"])
            is_claiming = claim.amount(item) > 0
        else:
            continue
        if is_claiming:
            yield _owner(Account.key(item["account_id"])), claim


def _check_due(authorization: Item) -> None:
    """Whether an authorization expires as long as it waits for its clearing, and not any more then. Raises: Broken."""
    number, is_held = authorization["id"], authorization["state"] == HELD
    owner = _owner(Account.key(authorization["account_id"]))
    in_index = {name: authorization[name] for name in NOT_DUE if name in authorization}
    if not is_held and (authorization["left"] or authorization["held"]):
        raise Broken(owner, f"authorization {number} is over, and holds something")
    if not is_held and in_index:
        raise Broken(owner, f"authorization {number} is over, and will expire")
    if is_held and not (in_index.keys() == NOT_DUE.keys() and DUE.entry(str(number)).items() <= in_index.items()):
        raise Broken(owner, f"authorization {number} is held, and will never expire")


def _owner(key: Key) -> str:
    return str(key[1]["owner"])


def _key_of_payer(payment: Item) -> Key:
    if payment["account_type"] == OF_HOLDER:
        return Account.key(payment["account_id"])
    return special_account_key(payment["manager_id"], payment["account_id"])
