"""Consents at this bank, each with its token, customer, accounts and scopes.

Each consent has two records: ``token#<digest of the token>`` has all data, with the token sealed, and
``given#<customer>#…`` lists a customer's consents, newest first. ``ends#<time>#<digest>`` has the time at which the
bank itself ends a consent, if any. ``days`` has the validity in days that the service set for the latest consent.

If the bank revokes a consent, at the customer's request or at the consent's end time, the consent first ends at the
bank. The bank then notifies the service. The customer or the scheduled job retries a failed notification.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import field
from typing import Any, Literal

from chalicelib.demo_bank import hub_client
from chalicelib.demo_bank.customers import Customer, CustomerAccount
from chalicelib.demo_bank.faults import FAULTS_BY_NAME
from chalicelib.demo_bank.hub_client import HubRefusal
from chalicelib.demo_bank.runtime import READ_SECONDS, TABLE, DemoBank, DueTimes, HubUnreachable, NotInstalled
from chalicelib.foundation import log
from chalicelib.foundation.crypto.keyring import Unsealable
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import ConditionFailed, Item, Operation, Put, Update
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.lazy_dataclasses import dataclass

LIST_LIMIT = 50
_DAY = 86400
_RETENTION_SECONDS = 30 * _DAY
ENDS = DueTimes("ends", _RETENTION_SECONDS)
"""The times at which the bank itself ends consents, by the digest of the consent's token."""
_DAYS = "days"


@dataclass(frozen=True, slots=True)
class DemoConsent:
    """One consent. Times are Unix seconds; ``record`` is its storage key.

    ``hub_notified`` is false until the service has been notified that the bank ended the consent. ``payment_id`` is the
    payment of a used one-time consent, otherwise empty. ``last_used_at`` is the time of the first use on the most
    recent day (UTC) of use. It is ``None`` if the consent is unused, or was last used before this member was
    introduced.
    """

    record: str
    customer_id: str
    account_ids: tuple[str, ...]
    scopes: tuple[str, ...]
    tpp_name: str
    given_at: int
    valid_until: int
    status: str
    hub_notified: bool
    sealed_token: bytes = field(repr=False)
    is_one_time: bool = False
    payment_id: str = ""
    last_used_at: int | None = None

    def is_active(self, now: int) -> bool:
        return self.status == "active" and now < self.valid_until

    def accounts(self, customer: Customer) -> tuple[CustomerAccount, ...]:
        """Return the approved accounts that the customer still has, in the bank's order."""
        return tuple(account for account in customer.accounts if account.account_id in self.account_ids)

    def accounts_to_pay_from(self, customer: Customer) -> tuple[CustomerAccount, ...]:
        """Return the approved accounts. If there are none, return all accounts of the customer, who then chooses when
        paying.
        """
        return self.accounts(customer) if self.account_ids else customer.accounts


def put_consent(
    bank: DemoBank,
    token: str,
    *,
    customer_id: str,
    account_ids: Sequence[str],
    scopes: Sequence[str],
    tpp_name: str,
    valid_until: int,
    is_one_time: bool = False,
) -> list[Operation]:
    """Return the write operations that store a new consent, for the transaction that completes the PSU's journey."""
    now, record = bank.clock.time(), _record_id(token)
    expires_at = valid_until + _RETENTION_SECONDS
    members = {
        "customer_id": customer_id,
        "account_ids": list(account_ids),
        "scopes": list(scopes),
        "tpp_name": tpp_name,
        "given_at": now,
        "valid_until": valid_until,
        "status": "active",
        "told": True,
        "is_one_time": is_one_time,
        "token": bank.seal(token, record),
        "expires_at": expires_at,
    }
    listed = {"token_record": record, "expires_at": expires_at}
    return [
        Put(TABLE, bank.key(record) | members),
        Put(TABLE, bank.key(f"{_customer_prefix(customer_id)}{now:012d}#{record[-16:]}") | listed),
        *_put_due_end(bank, record, customer_id, expires_at),
    ]


def _put_due_end(bank: DemoBank, record: str, customer_id: str, expires_at: int) -> list[Operation]:
    fault = FAULTS_BY_NAME.get(customer_id)
    if fault is None or not fault.consent_seconds:
        return []
    due = ENDS.key(bank, bank.clock.time() + fault.consent_seconds, record.removeprefix("token#"))
    return [Put(TABLE, due | {"expires_at": expires_at})]


def consent_days(bank: DemoBank) -> int:
    """Return the validity of the latest consent in days, or the agreed default before the first consent."""
    item = bank.store.get(TABLE, bank.key(_DAYS))
    return item["days"] if item else bank.profile.consent_days


def put_consent_days(bank: DemoBank, valid_until: int) -> list[Operation]:
    """Return the write operation that stores a new validity of consents in days, if the validity changed."""
    said = round((valid_until - bank.clock.time()) / _DAY)
    return [Put(TABLE, bank.key(_DAYS) | {"days": said})] if said != consent_days(bank) else []


def find_by_token(bank: DemoBank, token: str) -> DemoConsent | None:
    """Return the consent with this token, in any status."""
    return get_consent(bank, _record_id(token))


def get_consent(bank: DemoBank, record: str) -> DemoConsent | None:
    """Return the consent stored under ``record``."""
    item = bank.store.get(TABLE, bank.key(record)) if record.startswith("token#") else None
    return _consent(item) if item else None


def list_consents(bank: DemoBank, customer_id: str) -> list[DemoConsent]:
    """Return a customer's consents, newest first, at most ``LIST_LIMIT``."""
    partition = ("bank", bank.profile.name)
    prefix = ("id", _customer_prefix(customer_id))
    page = bank.store.query(TABLE, partition, sort_prefix=prefix, newest_first=True, limit=LIST_LIMIT)
    keys = [(TABLE, bank.key(item["token_record"])) for item in page.items]
    return [_consent(item) for item in (bank.store.batch_get(keys) if keys else []) if item]


def update_payment(bank: DemoBank, consent: DemoConsent, payment_id: str) -> Operation:
    """Return the write operation that uses a one-time consent for a payment.

    The write fails if the consent has ended or was used for a different payment.
    """
    unspent = Attr("payment_id").not_exists() | Attr("payment_id").eq(payment_id)
    condition = Attr("status").eq("active") & unspent
    return Update(TABLE, bank.key(consent.record), set={"payment_id": payment_id}, condition=condition)


def record_use(bank: DemoBank, consent: DemoConsent) -> None:
    """Record that an application used the consent. The use is recorded at most once a day, so that few reads cause a
    write.
    """
    now = bank.clock.time()
    if consent.last_used_at is not None and consent.last_used_at // _DAY == now // _DAY:
        return
    with contextlib.suppress(ConditionFailed):  # it has just been deleted
        bank.store.update(TABLE, bank.key(consent.record), set={"last_used_at": now}, condition=Attr("token").exists())


def mark_revoked(bank: DemoBank, record: str, *, hub_notified: bool) -> bool:
    """Mark a consent as revoked. ``hub_notified`` is whether the service was notified. Returns whether the consent
    exists.
    """
    changes = {"status": "revoked", "told": hub_notified}
    try:
        bank.store.update(TABLE, bank.key(record), set=changes, condition=Attr("token").exists())
    except ConditionFailed:
        return False
    return True


def revoke_by_token(bank: DemoBank, token: str) -> bool:
    """End the consent with this token at the service's request."""
    return mark_revoked(bank, _record_id(token), hub_notified=True)


def _record_id(token: str) -> str:
    return f"token#{digest(token)}"


def _customer_prefix(customer_id: str) -> str:
    return f"given#{customer_id}#"


def _consent(item: Item) -> DemoConsent:
    members: dict[str, Any] = {name: item[name] for name in DemoConsent.__dataclass_fields__ if name in item}
    members |= {
        "hub_notified": item["told"],
        "account_ids": tuple(item["account_ids"]),
        "scopes": tuple(item["scopes"]),
    }
    return DemoConsent(record=item["id"], sealed_token=item["token"], **members)


RETRY_SECONDS = 60
_UNKNOWN_TO_HUB = {"4202", "RESOURCE_UNKNOWN"}

_Outcome = Literal["done", "failed", "unreachable"]


def revoke(bank: DemoBank, consent: DemoConsent, seconds: float = READ_SECONDS) -> None:
    """End a consent at the bank, then at the service. ``seconds`` is the time limit for the service's response.

    Raises:
        HubRefusal, HubUnreachable: the consent has ended at the bank, but the service has not confirmed the end.
    """
    if consent.status == "active":
        mark_revoked(bank, consent.record, hub_notified=False)
    try:
        if (token := _unseal_token(bank, consent)) is not None:
            hub_client.revoke_token(bank, token, seconds)
    except HubRefusal as refusal:
        if refusal.code not in _UNKNOWN_TO_HUB:
            raise
    mark_revoked(bank, consent.record, hub_notified=True)


def _unseal_token(bank: DemoBank, consent: DemoConsent) -> str | None:
    """Return the token of a consent, or ``None`` if the key that encrypts tokens was replaced."""
    with contextlib.suppress(Unsealable):
        return bank.unseal(consent.sealed_token, consent.record)
    return None


def revoke_due_consents(bank: DemoBank, deadline: float) -> int:
    """End due consents until ``deadline`` (monotonic clock). Returns the number of ended consents.

    A failed consent is postponed and does not delay other consents.
    """
    done = 0
    for at, token_digest in ENDS.find(bank):
        left = deadline - bank.clock.monotonic()
        if left <= 0:
            break
        outcome = _end_consent(bank, f"token#{token_digest}", left)
        if outcome == "done":
            bank.store.delete(TABLE, ENDS.key(bank, at, token_digest))
            done += 1
            continue
        ENDS.postpone(bank, at, token_digest, RETRY_SECONDS)
        if outcome == "unreachable":
            break
    return done


def _end_consent(bank: DemoBank, record: str, seconds: float) -> _Outcome:
    """End one consent, unless it has already ended. A permanently refused revocation counts as done."""
    try:
        consent = get_consent(bank, record)
        if consent is not None and (consent.status == "active" or not consent.hub_notified):
            revoke(bank, consent, seconds)
    except HubRefusal as refusal:
        log.warning("demo bank: revocation refused", bank=bank.profile.name, code=refusal.code)
        return "done" if refusal.is_permanent else "failed"
    except HubUnreachable:
        log.exception("demo bank: no response to revocation", bank=bank.profile.name)
        return "unreachable"
    except NotInstalled:
        raise
    except Exception:
        log.exception("demo bank: consent not ended", bank=bank.profile.name)
        return "failed"
    return "done"
