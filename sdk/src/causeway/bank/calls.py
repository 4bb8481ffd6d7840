"""What the functions of a bank get: the call, the PSU's consent, orders and payments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from causeway import _json

if TYPE_CHECKING:
    from causeway._records import Record
    from causeway.bank._versions import Kind, Status
    from causeway.bank.accounts import Account
    from causeway.bank.models_v1 import BulkPaymentV1, DirectPaymentV1, SinglePaymentV1
    from causeway.bank.models_v2 import BulkPaymentV2, DirectPaymentV2, SinglePaymentV2

    OrderRequest = SinglePaymentV1 | BulkPaymentV1 | DirectPaymentV1 | SinglePaymentV2 | BulkPaymentV2 | DirectPaymentV2

LOCAL = ("iban", "bban", "account_number", "sort_code")
"""Identifiers of an account besides the bank's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """A consent of a PSU. ``spent`` is the X-Request-Id of the order for which a one-time consent was used."""

    consent_id: str
    psu: str
    tpp_name: str
    scopes: tuple[str, ...]
    account_ids: tuple[str, ...]
    valid_until: float
    """Unix seconds."""
    one_time: bool
    spent: str = ""
    ended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a function is called for: a webhook, or a page that the PSU sees.

    ``psu`` is the PSU's id, as the function ``psu`` gave it; empty for a direct payment, whose PSU is not known yet.
    ``request`` is the webhook's request (``TransactionsRequestV2``, …), ``headers`` those about the PSU, in lower case:
    ``psu-ip-address`` is there if the PSU is present. On a page, ``consent`` and ``request`` are ``None``.
    """

    psu: str
    consent: Consent | None = None
    request: Record | None = None
    request_id: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def is_attended(self) -> bool:
        """Whether the PSU is present at the TPP."""
        return "psu-ip-address" in self.headers


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A payment order before it is accepted. ``totals`` are the sums by currency.

    ``psu`` is empty for a direct payment: its PSU is known when it is confirmed.
    """

    kind: Kind
    request: OrderRequest
    totals: Mapping[str, Decimal]
    payee: str
    psu: str
    request_id: str

    @property
    def text(self) -> str:
        """For people: ``12.50 EUR to Oak Street Books``."""
        sums = " and ".join(f"{_json.plain(amount)} {currency}" for currency, amount in self.totals.items())
        return f"{sums} to {self.payee}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """An accepted payment. ``psu`` and the debtor's ``account_id`` are known at the latest when the PSU decides."""

    payment_id: str
    order: Order
    status: Status
    psu: str
    account_id: str


def order_of(kind: Kind, request: Any, psu: str, request_id: str) -> Order:
    """The order in a request of either version."""
    many = getattr(request, "payments", None)
    payee = f"{len(many)} payees" if many else _payee(request)
    return Order(kind=kind, request=request, totals=_totals(request), payee=payee, psu=psu, request_id=request_id)


def _totals(request: Any) -> dict[str, Decimal]:
    single = getattr(request, "instructed_totals", None) or getattr(request, "instructed_amount", request)
    found: dict[str, Decimal] = {}
    for each in getattr(request, "totals", (single,)):
        found[each.currency] = found.get(each.currency, Decimal()) + each.amount
    return found


def _payee(request: Any) -> str:
    account = getattr(request, "creditor_account", None)
    if account is None:
        return str(request.receiver_name)
    return str(request.creditor_name or account.iban or account.bban or account.account_number or "the payee")


def account_id(account: Account) -> str:
    """The bank's identifier of an account."""
    found: str | None = getattr(account, "resource_id", None)
    return found or str(getattr(account, "id", ""))


def matches(account: Account, named: Any) -> bool:
    """Whether all identifiers in a part of a request are an account's; without one they are not."""
    given = {name: getattr(named, name, None) for name in ("account_id", *LOCAL)}
    return has_identifiers(account, given)


def has_identifiers(account: Account, given: Mapping[str, str | None]) -> bool:
    """Whether all identifiers are an account's; without one they are not."""
    wanted = {name: value for name, value in given.items() if value is not None}
    own = {"account_id": account_id(account), **{name: getattr(account, name, None) for name in LOCAL}}
    return bool(wanted) and all(own[name] == value for name, value in wanted.items())


def is_debtor(account: Account, request: Any) -> bool:
    """Whether an order is to be paid from an account: from the one that it names, or any if the PSU chooses it."""
    if getattr(request, "sender_iban", None):
        return has_identifiers(account, {"iban": request.sender_iban})
    named = getattr(request, "debtor_account", None)
    return named is None or matches(account, named)


def identifiers(account: Account) -> dict[str, str]:
    """The identifiers under which a TPP may ask for an account: ``account_ids``, ``ibans``, ``account_numbers``."""
    found = {"account_ids": account_id(account), "ibans": account.iban or ""}
    number = getattr(account, "account_number", None)
    if number:
        found["account_numbers"] = f"{getattr(account, 'sort_code', None) or ''} {number}".strip()
    return {kind: value for kind, value in found.items() if value}
