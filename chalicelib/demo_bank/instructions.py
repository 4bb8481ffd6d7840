"""Payment requests in a version-neutral form: debtor, creditors, amounts and schemes.

Amounts are in minor units. They are parsed exactly, and written with the decimals of their currency. Binary floats are
never used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from decimal import Decimal
from typing import NamedTuple

from chalicelib.demo_bank import refusals
from chalicelib.demo_bank.customers import CustomerAccount
from chalicelib.demo_bank.profiles import Profile
from chalicelib.foundation.fields.registries import decimals
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.payment_enumerations import Kind, possible_schemes, scheme

INSTANT = frozenset({"FPS", "SCTI"})
"""Payment schemes that settle as soon as the customer confirms the payment."""
_CURRENCIES = {"FPS": "GBP", "BACS": "GBP", "CHAPS": "GBP", "SCT": "EUR", "SCTI": "EUR"}
"""The only currency that each payment scheme accepts. SWIFT is not listed, because it accepts any currency."""
_WHOLE_DIGITS = 13


@dataclass(frozen=True, slots=True)
class AccountIdentifiers:
    """The account identifiers in a message. Missing identifiers are empty strings."""

    iban: str = ""
    bban: str = ""
    number: str = ""
    sort_code: str = ""

    def matches(self, account: CustomerAccount) -> bool:
        """Whether all present identifiers match the account. Currency accounts of one account share an IBAN."""
        given = {name: value for name, value in asdict(self).items() if value}
        return bool(given) and all(getattr(account, name) == value for name, value in given.items())

    @property
    def members(self) -> dict[str, str]:
        """Return the known identifiers as members of a response in any version."""
        members = {"iban": self.iban, "bban": self.bban, "account_number": self.number, "sort_code": self.sort_code}
        return {name: value for name, value in members.items() if value}

    @property
    def label(self) -> str:
        """Return a readable description of the account, or an empty text if the message has no identifiers."""
        return self.iban or self.bban or f"{self.sort_code} {self.number}".strip()


TEXT_SEPARATOR = " \N{MIDDLE DOT} "
"""The text between a payment's reference and the message to the payee."""


@dataclass(frozen=True, slots=True)
class PaymentLine:
    """One payment of an instruction. ``amount`` is in minor units."""

    name: str
    account: AccountIdentifiers
    amount: int
    reference: str
    message: str

    @property
    def text(self) -> str:
        """Return the payment's reference and the sender's message."""
        return TEXT_SEPARATOR.join(filter(None, (self.reference, self.message)))


@dataclass(frozen=True, slots=True)
class PaymentInstruction:
    """One payment request. ``debtor`` is ``None`` if the customer chooses the account at the bank.

    ``test`` is the request's test reference, or empty.
    """

    kind: Kind
    debtor: AccountIdentifiers | None
    currency: str
    lines: tuple[PaymentLine, ...]
    schemes: frozenset[str]
    callback_url: str
    test: str

    @property
    def amount(self) -> int:
        return sum(line.amount for line in self.lines)

    @property
    def is_instant(self) -> bool:
        return self.schemes <= INSTANT


def pad_digits(digits: object, length: int) -> str:
    """Restore the leading zeros of an account number or sort code sent as a JSON number."""
    return "" if digits is None else str(digits).zfill(length)


def resolve_schemes(profile: Profile, kind: Kind, currency: str, given: Iterable[str | None]) -> frozenset[str]:
    """Return the schemes of a request's payments. Raises: Refusal."""
    possible = possible_schemes(profile.protocol.schemes, kind, profile.schemes)
    chosen = frozenset(scheme(name, currency, possible) for name in given)
    for name in sorted(chosen):
        if _CURRENCIES.get(name, currency) != currency:
            raise refusals.SCHEME_OF_ANOTHER_CURRENCY(scheme=name, currency=_CURRENCIES[name])
    return chosen


class UnpayableAmount(ValueError):
    """An amount that the demonstration banks cannot pay. The message contains the reason."""


def minor_digits(currency: str) -> int:
    """Return the number of decimal places of a currency (ISO 4217), for example 2 for EUR and 0 for JPY."""
    return decimals()[currency]


def to_minor_units(amount: object, currency: str) -> int:
    """Convert an accepted ``Amount`` to minor units. Raises: UnpayableAmount."""
    digits = minor_digits(currency)
    whole, _, fraction = str(amount).partition(".")
    fraction = fraction.rstrip("0")
    if len(fraction) > digits:
        raise UnpayableAmount(f"an amount in {currency} must have at most {digits} decimal places")
    if len(whole.lstrip("0")) > _WHOLE_DIGITS:
        raise UnpayableAmount(f"an amount must have at most {_WHOLE_DIGITS} digits before the decimal point")
    return int(whole + fraction.ljust(digits, "0"))


def decimal_amount(minor: int, currency: str) -> Decimal:
    """Convert minor units to a decimal number for messages: ``1250`` becomes ``12.50`` in EUR, ``1.250`` in KWD."""
    return Decimal(minor).scaleb(-minor_digits(currency))


class SandboxReference(NamedTuple):
    """A named test reference. A payment that contains the reference fails in the corresponding way.

    A version 1 payment has the reference in ``reference`` (for a bulk, in any payment), a version 2 payment in
    ``remittance_information_unstructured`` or as the reference in ``remittance_information_structured``.
    """

    name: str
    when: str
    what: str


_EARLY, _LATE = "at initiation", "after confirmation"
REFERENCES = (
    SandboxReference(
        "TEST-NO-FUNDS", _EARLY, "The bank refuses the payment for insufficient funds, regardless of the balance."
    ),
    SandboxReference("TEST-REFUSED", _EARLY, "The bank refuses the payment with its own code and message."),
    SandboxReference(
        "TEST-TIMEOUT",
        _EARLY,
        "The bank accepts the payment but responds too late: the service times out after 20 seconds.",
    ),
    SandboxReference(
        "TEST-MALFORMED", _EARLY, "The bank's response is malformed: it contains nothing about the payment."
    ),
    SandboxReference(
        "TEST-LATE-REJECT",
        _LATE,
        "20 seconds after the customer confirms, the payment is rejected and the money is returned.",
    ),
    SandboxReference(
        "TEST-UNKNOWN",
        _LATE,
        "The status is unknown (version 1) or pending (version 2) for 10 minutes; the payment is then settled.",
    ),
    SandboxReference(
        "TEST-PENDING", _LATE, "The payment stays pending and is never settled; it reserves the money for 30 days."
    ),
)
_BY_NAME = {reference.name: reference for reference in REFERENCES}


def find_reference(texts: Iterable[str | None]) -> str:
    """Return the first test reference in a payment's texts, or an empty text."""
    return next((name for text in texts if text and (name := text.strip().upper()) in _BY_NAME), "")
