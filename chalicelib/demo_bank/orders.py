"""Payment orders: one record per payment, conditional writes, and a report of every status change.

``open`` → ``confirmed`` → ``settled`` or ``rejected``. Instant payments move from ``open`` directly to
``settled``. ``open`` can also become ``rejected`` (no funds) or ``cancelled`` (refused, expired). Three
kinds of records exist: ``payment#<id>`` is the order, ``lines#<id>#…`` are the single payments of a bulk,
and ``due#<time>#<id>`` has the time of the next step, so that due orders are found in order.

The secret of the confirmation page is derived from the id with the bank's own key, and not stored.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Sequence
from dataclasses import astuple, field, replace
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit

from chalicelib.demo_bank import faults
from chalicelib.demo_bank.customers import Customer, CustomerAccount
from chalicelib.demo_bank.directory import find_account, find_customer
from chalicelib.demo_bank.format import PaymentStep
from chalicelib.demo_bank.instructions import AccountIdentifiers, PaymentInstruction, PaymentLine
from chalicelib.demo_bank.runtime import TABLE, DemoBank, DueTimes
from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto.keyring import Unsealable
from chalicelib.foundation.dynamodb.conditions import Attr
from chalicelib.foundation.dynamodb.store import Delete, Item, Operation, Put, absent
from chalicelib.foundation.identifiers import new_uuid
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.payment_statuses import Status

State = Literal["open", "confirmed", "settled", "rejected", "cancelled"]

CONFIRM_SECONDS = 1800
RETENTION_SECONDS = 430 * 86400
DUE = DueTimes("due", RETENTION_SECONDS)
"""The times at which orders are due, by payment id."""
NEVER = 999_999_999_999
"""The due time of a payment that is never settled. It is the largest time that a due-time entry can contain."""
_LINES_PER_RECORD = 100
_ID_LENGTH = 18


@dataclass(frozen=True, slots=True)
class StatusReport:
    """A status change to report to the service. All retries have the same ``request_id``."""

    status: Status
    request_id: str


@dataclass(frozen=True, slots=True)
class Credit:
    """An account's total credit from an order, in minor units, and the number of payments to the account."""

    account_id: str
    amount: int
    count: int


@dataclass(frozen=True, slots=True)
class DemoPaymentOrder:
    """A stored payment order. Times are in Unix seconds, amounts in minor units.

    Attributes:
        content: digest of the request, to detect duplicates.
        consent: record of the order's consent; empty for a direct payment.
        customer_id: the debtor; empty until the customer of a direct payment has signed in.
        account_id: the debtor account; empty until the customer has chosen one.
        is_fixed: whether the request named the debtor account.
        receiver, text: the payee and purpose, as shown on a statement.
        receiver_account: the creditor account; empty if there are several payees.
        count: number of single payments.
        test: the payment's test reference, or empty.
        is_within: whether all accounts of the payment are at this bank.
        settles_at: when a confirmed order is settled.
        result: the status with which the browser returns to the TPP; ``None`` while the order is open.
        report_at: when the reports are next sent, after ``report_attempts`` failures.
    """

    payment_id: str
    kind: Kind
    content: str
    consent: str
    tpp_name: str
    customer_id: str
    account_id: str
    is_fixed: bool
    currency: str
    amount: int
    count: int
    receiver: str
    receiver_account: AccountIdentifiers
    text: str
    is_instant: bool
    is_within: bool
    test: str
    credits: tuple[Credit, ...]
    state: State
    status: Status
    created_at: int
    callback_url: str = field(repr=False)
    confirmed_at: int = 0
    settles_at: int = 0
    result: Status | None = None
    message: str = ""
    attempts: int = 0
    sign_in_attempts: int = 0
    reports: tuple[StatusReport, ...] = ()
    report_at: int = 0
    report_attempts: int = 0
    revision: int = 1

    @property
    def test_reference(self) -> str:
        """The payment's own test reference, or the test reference that the customer's fault defines.

        The text is empty if neither exists.
        """
        return faults.payment_reference(self.test, self.customer_id)

    @property
    def confirm_by(self) -> int:
        return self.created_at + CONFIRM_SECONDS

    @property
    def due_at(self) -> int:
        """Return the time of the order's next step, or 0 if no step follows."""
        times = [self.confirm_by] if self.state == "open" else [self.settles_at] if self.state == "confirmed" else []
        return min([*times, *([self.report_at] if self.reports else [])], default=0)

    @property
    def return_url(self) -> str:
        """Return the URL of the final redirect: the request's callback URL with the outcome in the query."""
        outcome = {"status": str(self.result), "payment_id": self.payment_id}
        outcome |= {"message": self.message} if self.message else {}
        joint = "&" if urlsplit(self.callback_url).query else "?"
        joint = "" if self.callback_url.endswith(("?", "&")) else joint
        return f"{self.callback_url}{joint}{urlencode(outcome)}"

    def customer(self, bank: DemoBank) -> Customer | None:
        """The debtor, or ``None`` if the debtor is unknown or was deleted."""
        return find_customer(bank, self.customer_id) if self.customer_id else None

    def account(self, bank: DemoBank) -> CustomerAccount | None:
        """The debtor account, or ``None`` if the account is unknown or no longer belongs to the customer."""
        if not self.customer_id:
            return find_account(bank, self.account_id) if self.account_id else None
        customer = self.customer(bank)
        return customer.account(self.account_id) if customer else None

    def is_payer_gone(self, bank: DemoBank) -> bool:
        """Whether the paying customer was deleted, or no longer has the order's account."""
        if self.account_id:
            return self.account(bank) is None
        return bool(self.customer_id) and self.customer(bank) is None

    def key_code(self, bank: DemoBank) -> str:
        """Return the six digits that confirm exactly this payment from this account."""
        parts = (
            self.payment_id,
            self.account_id,
            str(self.amount),
            self.currency,
            self.receiver,
            self.receiver_account.label,
        )
        derived = bank.derive("payment key code", *parts)
        return f"{int.from_bytes(derived[:8], 'big') % 1_000_000:06d}"


def derive_payment_id(bank: DemoBank, *parts: str) -> str:
    """Derive an unguessable id from the parts. A duplicate request results in the same id."""
    return base64.b32encode(bank.derive("payment", *parts)).decode()[:_ID_LENGTH].lower()


def confirmation_secret(bank: DemoBank, order_id: str) -> str:
    """Derive the secret of a payment's confirmation page."""
    proof = base64.urlsafe_b64encode(bank.derive("confirmation", order_id)).decode().rstrip("=")
    return f"{order_id}.{proof}"


def find(bank: DemoBank, order_id: str) -> DemoPaymentOrder | None:
    item = bank.store.get(TABLE, bank.key(_record_id(order_id)))
    try:
        return _order(bank, order_id, item) if item else None
    except Unsealable:  # the bank's storage key was replaced meanwhile
        return None


def find_by_secret(bank: DemoBank, given: str) -> DemoPaymentOrder | None:
    order_id = given.partition(".")[0]
    if not hmac.compare_digest(given.encode(), confirmation_secret(bank, order_id).encode()):
        return None
    return find(bank, order_id)


def read_lines(bank: DemoBank, order: DemoPaymentOrder) -> list[PaymentLine]:
    """Read the single payments of a bulk."""
    keys = [(TABLE, bank.key(_lines_record_id(order.payment_id, start))) for start in _chunks(order.count)]
    found: list[PaymentLine] = []
    for item in bank.store.batch_get(keys):
        rows = jsontext.loads(item["lines"]) if item else []
        found += [
            PaymentLine(name, AccountIdentifiers(*account), amount, *texts) for name, account, amount, *texts in rows
        ]
    return found


def put_order(bank: DemoBank, order: DemoPaymentOrder, instruction: PaymentInstruction) -> list[Operation]:
    """Return the write operations that create an order. The first write fails for a duplicate request."""
    expires_at = order.created_at + RETENTION_SECONDS
    operations: list[Operation] = [Put(TABLE, _item(bank, order), absent("bank")), _put_due(bank, order)]
    for start in _chunks(order.count) if order.kind == "bulk" else ():
        rows = list(map(astuple, instruction.lines[start : start + _LINES_PER_RECORD]))
        key = bank.key(_lines_record_id(order.payment_id, start))
        operations.append(Put(TABLE, key | {"lines": jsontext.dumps(rows), "expires_at": expires_at}))
    return operations


def update_order(bank: DemoBank, before: DemoPaymentOrder, after: DemoPaymentOrder) -> list[Operation]:
    """Return the write operations of an order's next state. The first write fails if the order was changed
    concurrently.
    """
    after = replace(after, revision=before.revision + 1)
    operations: list[Operation] = [Put(TABLE, _item(bank, after), Attr("revision").eq(before.revision))]
    if before.due_at != after.due_at:
        operations += [Delete(TABLE, DUE.key(bank, before.due_at, before.payment_id))] if before.due_at else []
        operations += [_put_due(bank, after)] if after.due_at else []
    return operations


def apply_steps(
    bank: DemoBank, order: DemoPaymentOrder, steps: Sequence[PaymentStep], **changes: Any
) -> DemoPaymentOrder:
    """Return the order after ``changes``, with a pending report for the status of each of ``steps``."""
    status, reports = order.status, list(order.reports)
    for step in steps:
        reached = bank.format.statuses[step]
        if reached != status:
            reports.append(StatusReport(reached, new_uuid()))
        status = reached
    if len(reports) > len(order.reports):
        changes |= {"report_at": bank.clock.time(), "report_attempts": 0}
    return replace(order, **changes, status=status, reports=tuple(reports))


def _put_due(bank: DemoBank, order: DemoPaymentOrder) -> Put:
    key = DUE.key(bank, order.due_at, order.payment_id)
    return Put(TABLE, key | {"expires_at": order.created_at + RETENTION_SECONDS})


def _record_id(order_id: str) -> str:
    return f"payment#{order_id}"


def _lines_record_id(order_id: str, start: int) -> str:
    return f"lines#{order_id}#{start:04d}"


def _chunks(count: int) -> range:
    return range(0, count, _LINES_PER_RECORD)


def _item(bank: DemoBank, order: DemoPaymentOrder) -> Item:
    record = _record_id(order.payment_id)
    members = {name: getattr(order, name) for name in DemoPaymentOrder.__dataclass_fields__ if name != "payment_id"}
    members["callback_url"] = bank.seal(order.callback_url, record)
    members["receiver_account"] = list(astuple(order.receiver_account))
    members["credits"] = [[credit.account_id, credit.amount, credit.count] for credit in order.credits]
    members["reports"] = [[report.status, report.request_id] for report in order.reports]
    return bank.key(record) | members | {"expires_at": order.created_at + RETENTION_SECONDS}


def _order(bank: DemoBank, order_id: str, item: Item) -> DemoPaymentOrder:
    members: dict[str, Any] = {
        name: item[name] for name in DemoPaymentOrder.__dataclass_fields__ if name != "payment_id"
    }
    members["callback_url"] = bank.unseal(item["callback_url"], item["id"])
    members["receiver_account"] = AccountIdentifiers(*item["receiver_account"])
    members["credits"] = tuple(Credit(*entry) for entry in item["credits"])
    members["reports"] = tuple(StatusReport(*entry) for entry in item["reports"])
    return DemoPaymentOrder(order_id, **members)
