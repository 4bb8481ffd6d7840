"""Payment requests of either version, read into one neutral form: who pays whom, how much, and by which scheme."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.demo_bank import refusals
from chalicelib.demo_bank.customers import Account
from chalicelib.demo_bank.minor_units import Unpayable, minor_units
from chalicelib.demo_bank.profiles import Profile
from chalicelib.demo_bank.references import reference_among
from chalicelib.foundation.fields.field_types import Message
from chalicelib.openbanking.protocol import v1_messages as v1
from chalicelib.openbanking.protocol import v2_messages as v2
from chalicelib.openbanking.protocol.errors import Fault, Refusal
from chalicelib.openbanking.protocol.payment_enumerations import Kind, possible_schemes, scheme

INSTANT = frozenset({"FPS", "SCTI"})
"""Schemes that settle the moment the customer confirms."""
_CURRENCIES = {"FPS": "GBP", "BACS": "GBP", "CHAPS": "GBP", "SCT": "EUR", "SCTI": "EUR"}
"""The one currency of a scheme; SWIFT takes any."""


@dataclass(frozen=True, slots=True)
class Party:
    """How a message names an account; what it does not say is empty."""

    iban: str = ""
    bban: str = ""
    number: str = ""
    sort_code: str = ""

    def is_account(self, account: Account) -> bool:
        """Whether every identifier that was given is the account's; currencies of one account share an IBAN."""
        pairs = (
            (self.iban, account.iban),
            (self.bban, account.bban),
            (self.number, account.number),
            (self.sort_code, account.sort_code),
        )
        given = [(named, own) for named, own in pairs if named]
        return bool(given) and all(named == own for named, own in given)

    @property
    def label(self) -> str:
        """The account as it is shown to a person; empty when nothing names it."""
        return self.iban or self.bban or f"{self.sort_code} {self.number}".strip()


BOTH = " \N{MIDDLE DOT} "
"""Between the reference of a payment and the message to its receiver."""


@dataclass(frozen=True, slots=True)
class Line:
    """One payment of an instruction; ``amount`` in minor units."""

    name: str
    account: Party
    amount: int
    reference: str
    message: str

    @property
    def text(self) -> str:
        """What the payment is for: its reference, and what the sender adds to it."""
        return BOTH.join(filter(None, (self.reference, self.message)))


@dataclass(frozen=True, slots=True)
class Instruction:
    """One payment request. ``debtor`` is ``None`` when the customer chooses the account at the bank.

    ``test`` is the test reference that it carries, or empty.
    """

    kind: Kind
    debtor: Party | None
    currency: str
    lines: tuple[Line, ...]
    schemes: frozenset[str]
    callback_url: str
    test: str

    @property
    def amount(self) -> int:
        return sum(line.amount for line in self.lines)

    @property
    def is_instant(self) -> bool:
        return self.schemes <= INSTANT


def read(profile: Profile, kind: Kind, request: Message) -> Instruction:
    """The instruction in a payment request of the bank's version. Raises: Refusal."""
    try:
        return _READERS[profile.version, kind](profile, kind, request)
    except Unpayable as error:
        raise Refusal(Fault.CONTENT, str(error)) from None


def _single_v1(profile: Profile, kind: Kind, request: v1.DirectPayment) -> Instruction:
    sender = getattr(request, "sender_iban", None)
    return Instruction(
        kind,
        Party(iban=sender) if sender else None,
        request.currency,
        (_line_v1(request),),
        _schemes(profile, kind, request.currency, [request.payment_scheme]),
        request.callback_url,
        reference_among([request.reference]),
    )


def _bulk_v1(profile: Profile, kind: Kind, request: v1.BulkPayment) -> Instruction:
    currency = request.totals[0].currency
    return Instruction(
        kind,
        Party(iban=request.sender_iban),
        currency,
        tuple(map(_line_v1, request.payments)),
        _schemes(profile, kind, currency, {item.payment_scheme for item in request.payments}),
        request.callback_url,
        reference_among(item.reference for item in request.payments),
    )


def _line_v1(item: v1.Receiver) -> Line:
    account = Party(
        iban=item.receiver_iban or "",
        number="" if item.receiver_iban else _padded(item.receiver_account_number, 8),
        sort_code="" if item.receiver_iban else _padded(item.receiver_sort_code, 6),
    )
    message, reference = item.message_for_receiver or "", item.reference or ""
    return Line(item.receiver_name, account, minor_units(item.amount), reference, message)


def _single_v2(profile: Profile, kind: Kind, request: v2.DirectPayment) -> Instruction:
    currency = request.instructed_amount.currency
    return _instruction_v2(profile, kind, request, currency, [request])


def _bulk_v2(profile: Profile, kind: Kind, request: v2.BulkPayment) -> Instruction:
    return _instruction_v2(profile, kind, request, request.instructed_totals.currency, request.payments)


def _instruction_v2(
    profile: Profile,
    kind: Kind,
    request: v2.DirectPayment | v2.BulkPayment,
    currency: str,
    items: Iterable[v2.Transfer],
) -> Instruction:
    lines = tuple(map(_line_v2, items))
    return Instruction(
        kind,
        party_of(request.debtor_account) if request.debtor_account else None,
        currency,
        lines,
        _schemes(profile, kind, currency, [request.payment_scheme]),
        request.callback_url,
        reference_among(text for line in lines for text in (line.message, line.reference)),
    )


def _line_v2(item: v2.Transfer) -> Line:
    if item.creditor_account is None:
        raise refusals.CREDITOR_MISSING()
    structured = item.remittance_information_structured
    return Line(
        item.creditor_name or "",
        party_of(item.creditor_account),
        minor_units(item.instructed_amount.amount),
        structured.reference if structured else "",
        item.remittance_information_unstructured or "",
    )


def party_of(account: v2.PaymentAccount) -> Party:
    """An account as version 2 names it."""
    return Party(
        iban=account.iban or "",
        bban=account.bban or "",
        number=_padded(account.account_number, 8),
        sort_code=_padded(account.sort_code, 6),
    )


def _padded(digits: object, length: int) -> str:
    """An account number or sort code, whose leading zeros a JSON number cannot have."""
    return "" if digits is None else str(digits).zfill(length)


def _schemes(profile: Profile, kind: Kind, currency: str, given: Iterable[str | None]) -> frozenset[str]:
    """The schemes of a request's payments. Raises: Refusal."""
    possible = possible_schemes(profile.protocol.schemes, kind, profile.schemes)
    chosen = frozenset(scheme(name, currency, possible) for name in given)
    for name in sorted(chosen):
        if _CURRENCIES.get(name, currency) != currency:
            raise refusals.SCHEME_OF_ANOTHER_CURRENCY(scheme=name, currency=_CURRENCIES[name])
    return chosen


_READERS: Mapping[tuple[int, Kind], Callable[[Profile, Kind, Any], Instruction]] = {
    (1, "single"): _single_v1,
    (1, "direct"): _single_v1,
    (1, "bulk"): _bulk_v1,
    (2, "single"): _single_v2,
    (2, "direct"): _single_v2,
    (2, "bulk"): _bulk_v2,
}
