"""The parameters of a bank's functions: the call, the PSU's consent, orders and payments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from causeway import _json

if TYPE_CHECKING:
    from causeway._records import Record
    from causeway.bank._generated.models_v1 import BulkPaymentV1, DirectPaymentV1, SinglePaymentV1
    from causeway.bank._generated.models_v2 import BulkPaymentV2, DirectPaymentV2, SinglePaymentV2
    from causeway.bank._versions import Kind, Status
    from causeway.bank.accounts import Account

    OrderRequest = SinglePaymentV1 | BulkPaymentV1 | DirectPaymentV1 | SinglePaymentV2 | BulkPaymentV2 | DirectPaymentV2

LOCAL = ("iban", "bban", "account_number", "sort_code")
"""The identifiers of an account that are not the bank's internal identifier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """A consent of a PSU."""

    consent_id: str
    """The consent's id at the hub."""
    psu: str
    """The PSU's id, as returned by the function ``psu``."""
    tpp_name: str
    """The TPP's display name."""
    scopes: tuple[str, ...]
    """The scopes that the PSU approved."""
    account_ids: tuple[str, ...]
    """The bank's ids for the accounts that the PSU approved."""
    valid_until: float
    """The end of the consent, in Unix seconds."""
    one_time: bool
    """Whether the consent is valid for only one payment."""
    spent: str = ""
    """The X-Request-Id of the order for which a one-time consent was used."""
    ended: bool = False
    """Whether the consent ended before ``valid_until``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The context in which a bank's function is called: a webhook, or a page for the PSU."""

    psu: str
    """The PSU's id, as returned by the function ``psu``. Empty for a direct payment, whose PSU is not yet known."""
    consent: Consent | None = None
    """The consent on which the TPP's request is based; ``None`` on a page."""
    request: Record | None = None
    """The webhook's request, such as ``TransactionsRequestV2``; ``None`` on a page."""
    request_id: str = ""
    """The webhook's X-Request-Id."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The headers with data about the PSU. Their names are in lower case. ``psu-ip-address`` is present only if the PSU
    is present.
    """

    @property
    def is_attended(self) -> bool:
        """Return whether the PSU is using the TPP's application at the time of the request."""
        return "psu-ip-address" in self.headers


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A payment order before it is accepted."""

    kind: Kind
    """The kind of order: one payment, several payments that are confirmed together, or a payment without a consent."""
    request: OrderRequest
    """The request that contains the order."""
    totals: Mapping[str, Decimal]
    """The total amounts by currency."""
    payee: str
    """The recipient of the money as a display text: a name, or the number of payees."""
    psu: str
    """The PSU's id. Empty for a direct payment, whose PSU is not known until the payment is confirmed."""
    request_id: str
    """The X-Request-Id of the order. When the hub sends the order again, the id is the same."""

    @property
    def text(self) -> str:
        """Return a description of the order for people: ``12.50 EUR to Oak Street Books``."""
        sums = " and ".join(f"{_json.plain(amount)} {currency}" for currency, amount in self.totals.items())
        return f"{sums} to {self.payee}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """An accepted payment."""

    payment_id: str
    """The bank's id for the payment."""
    order: Order
    """The TPP's order."""
    status: Status
    """The latest status: a number in version 1, an ISO 20022 code in version 2."""
    psu: str
    """The PSU's id, which may be unknown until the PSU decides."""
    account_id: str
    """The bank's id for the account that is debited, which may be unknown until the PSU decides."""


def order_of(kind: Kind, request: Any, psu: str, request_id: str) -> Order:
    """Return the order in a request of version 1 or 2."""
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
    """Return the bank's identifier of an account."""
    found: str | None = getattr(account, "resource_id", None)
    return found or str(getattr(account, "id", ""))


def matches(account: Account, named: Any) -> bool:
    """Return whether all identifiers in a part of a request match an account. Without identifiers, return false."""
    given = {name: getattr(named, name, None) for name in ("account_id", *LOCAL)}
    return has_identifiers(account, given)


def has_identifiers(account: Account, given: Mapping[str, str | None]) -> bool:
    """Return whether all identifiers match an account. Without identifiers, return false."""
    wanted = {name: value for name, value in given.items() if value is not None}
    own = {"account_id": account_id(account), **{name: getattr(account, name, None) for name in LOCAL}}
    return bool(wanted) and all(own[name] == value for name, value in wanted.items())


def is_debtor(account: Account, request: Any) -> bool:
    """Return whether an order may be paid from an account. If the PSU chooses, any account is allowed; otherwise, only
    the requested account is allowed.
    """
    if getattr(request, "sender_iban", None):
        return has_identifiers(account, {"iban": request.sender_iban})
    named = getattr(request, "debtor_account", None)
    return named is None or matches(account, named)


def identifiers(account: Account) -> dict[str, str]:
    """Return the identifiers of an account that a TPP may use: ``account_ids``, ``ibans``, ``account_numbers``."""
    found = {"account_ids": account_id(account), "ibans": account.iban or ""}
    number = getattr(account, "account_number", None)
    if number:
        found["account_numbers"] = f"{getattr(account, 'sort_code', None) or ''} {number}".strip()
    return {kind: value for kind, value in found.items() if value}
