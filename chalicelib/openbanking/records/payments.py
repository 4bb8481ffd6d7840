"""Payments and their status history.

Each payment is one item, keyed by bank and payment_id. A bank may report a payment's status before the service has
recorded the payment: such early reports are stored under the same key for 15 minutes and applied when the payment is
recorded. Every write is conditional on ``revision``, so that concurrent reports cannot overwrite each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.conditions import Attr, Condition
from chalicelib.foundation.dynamodb.store import Check, Item, Put, Update, absent
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.claims import Claim
from chalicelib.openbanking.protocol.payment_enumerations import Kind, PaymentOutcome
from chalicelib.openbanking.protocol.payment_statuses import Status
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS, translate_status

TABLE = "payments"
EARLY_SECONDS = 15 * 60
HISTORY = 200
"""The maximum number of status changes that are stored for a payment. If there are more, the first change and the most
recent changes are stored.
"""


@dataclass(frozen=True, slots=True)
class PaymentStatusReport:
    """A reported status and the time of the report in Unix seconds."""

    status: Status
    at: int

    def as_item(self) -> Item:
        return {"status": self.status, "at": self.at}


@dataclass(frozen=True, slots=True)
class Payment:
    """A payment that a bank has accepted. ``consent_id`` is ``None`` for a direct payment.

    ``request_id`` is the X-Request-Id sent to the bank, and ``order_digest`` the order's digest (see ``orders``). Both
    are ``None`` for payments that were stored before these members were introduced. ``outcome`` is set if the bank's
    response contained the payment id but was otherwise unusable, and is removed when the bank returns a status.
    ``key_claim`` and ``key_digest`` identify the claim of the payment's idempotency key, if any.
    """

    bic: str
    payment_id: str
    api_version: int
    kind: Kind
    client_id: str
    consent_id: str | None
    request_id: str
    order_digest: str | None
    status: Status
    history: tuple[PaymentStatusReport, ...]
    created_at: int
    revision: int
    outcome: PaymentOutcome | None = None
    key_claim: str | None = None
    key_digest: str | None = None

    @classmethod
    def from_item(cls, item: Item) -> Payment:
        members: dict[str, Any] = {name: item.get(name) for name in cls.__dataclass_fields__}
        return cls(**members | {"history": tuple(PaymentStatusReport(**entry) for entry in item["history"])})

    @property
    def version(self) -> Version:
        """The protocol version of the order. The status is stored in that version's notation."""
        return VERSIONS[self.api_version]

    def is_of_one_order_with(self, other: Payment) -> bool:
        """Whether this payment and ``other``, from two responses of a bank, belong to the same order."""
        known = {self.order_digest, other.order_digest} - {None}
        return len(known) <= 1 and self._order_key() == other._order_key()

    def _order_key(self) -> tuple[str, str, str | None]:
        return self.request_id.lower(), self.client_id, self.consent_id

    def with_report(self, report: PaymentStatusReport) -> Payment:
        """Return the payment after a report. A report with a status that is not allowed or not new does not change the
        status.

        Every report proves that the bank has the payment.
        """
        known = self if self.outcome is None else replace(self, outcome=None)
        if not self.version.statuses.may_follow(self.status, report.status):
            return known
        at = max(report.at, self.history[-1].at)  # another process's clock may be ahead
        first, *later = (*self.history, replace(report, at=at))
        return replace(known, status=report.status, history=(first, *later[-(HISTORY - 1) :]))


def payment_key(bic: str, payment_id: str) -> tuple[str, Item]:
    """Return a payment's table and key, for batch reads."""
    return TABLE, {"payment": f"{bic}#{digest(payment_id)}"}


def is_early(item: Item) -> bool:
    """Whether an item contains early reports on a payment that is not recorded yet."""
    return "early" in item


class Payments:
    """Builds the write operations that store and change payments, for the flows' transactions."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def new(
        self,
        bic: str,
        payment_id: str,
        *,
        api_version: int,
        kind: Kind,
        client_id: str,
        consent_id: str | None,
        request_id: str,
        order_digest: str | None,
        status: Status,
        outcome: PaymentOutcome | None = None,
        claim: Claim | None = None,
    ) -> Payment:
        """Create a payment that a bank has just accepted, in its first status."""
        now = self._clock.time()
        return Payment(
            bic=bic,
            payment_id=payment_id,
            api_version=api_version,
            kind=kind,
            client_id=client_id,
            consent_id=consent_id,
            request_id=request_id,
            order_digest=order_digest,
            status=status,
            history=(PaymentStatusReport(status, now),),
            created_at=now,
            revision=1,
            outcome=outcome,
            key_claim=claim.name if claim else None,
            key_digest=claim.digest if claim else None,
        )

    def put_payment(self, payment: Payment, found: Item | None = None) -> Put:
        """Return the write operation that stores a new payment. It replaces ``found`` and applies its early reports, if
        any.
        """
        if found is None:
            return Put(TABLE, _item(payment), absent("payment"))
        reports = self.early_reports(found) if is_early(found) else ()
        if reports:
            received = PaymentStatusReport(payment.status, min(payment.created_at, reports[0].at))
            payment = replace(payment, history=(received,))
        for report in reports:  # the bank's version may differ from the consent's
            status = translate_status(report.status, payment.version.statuses)
            payment = payment.with_report(replace(report, status=status)) if status is not None else payment
        return Put(TABLE, _item(replace(payment, revision=found["revision"] + 1)), _at_revision(found["revision"]))

    def early_reports(self, item: Item) -> Sequence[PaymentStatusReport]:
        """Return the early reports in an item that have not expired."""
        reports = [PaymentStatusReport(**entry) for entry in item["early"]]
        return [report for report in reports if report.at > self._clock.time() - EARLY_SECONDS]

    def check_unchanged(self, payment: Payment) -> Check:
        """Return the condition that a payment has not changed since it was read."""
        return Check(*payment_key(payment.bic, payment.payment_id), _at_revision(payment.revision))

    def update_payment(self, before: Payment, after: Payment) -> Update:
        """Return the conditional write that replaces ``before`` with ``after``."""
        return Update(
            *payment_key(before.bic, before.payment_id),
            set={
                "status": after.status,
                "history": [entry.as_item() for entry in after.history],
                **({"outcome": after.outcome} if after.outcome else {}),
            },
            remove=() if after.outcome else ("outcome",),
            add={"revision": 1},
            condition=_at_revision(before.revision),
        )

    def put_early_report(self, bic: str, payment_id: str, report: PaymentStatusReport, found: Item | None) -> Put:
        """Return the write operation that adds an early report on an unknown payment."""
        reports = [*(self.early_reports(found) if found else ()), report][-HISTORY:]
        table, key = payment_key(bic, payment_id)
        item = {
            **key,
            "early": [entry.as_item() for entry in reports],
            "revision": found["revision"] + 1 if found else 1,
            "expires_at": self._clock.time() + EARLY_SECONDS,
        }
        return Put(table, item, _at_revision(found["revision"]) if found else absent("payment"))


def _item(payment: Payment) -> Item:
    members = {name: getattr(payment, name) for name in Payment.__dataclass_fields__}
    members["history"] = [entry.as_item() for entry in payment.history]
    present = {name: value for name, value in members.items() if value is not None}
    return payment_key(payment.bic, payment.payment_id)[1] | present


def _at_revision(revision: int) -> Condition:
    return Attr("revision").eq(revision)
