"""The demonstration banks' built-in customers and accounts. The data is identical on every machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Literal
from uuid import NAMESPACE_URL, uuid5

from chalicelib.demo_bank.faults import FAULTS, MANY_ACCOUNTS
from chalicelib.demo_bank.profiles import BankName
from chalicelib.foundation.fields.ibans import make_iban
from chalicelib.foundation.fields.registries import currency_numbers
from chalicelib.foundation.lazy_dataclasses import dataclass

AccountKind = Literal["current", "savings", "business", "foreign", "card", "busy", "dormant", "loaded"]
"""The kind of an account. ``busy`` accounts have thousands of transactions, ``dormant`` accounts have none, and
``loaded`` accounts have the transactions of their book.
"""

MOST_BALANCES = 20
"""The maximum number of accounts in a list that shows balances, because each balance requires a query."""

_SORT_CODE = "040004"
_BLZ = "10099900"


@dataclass(frozen=True, slots=True)
class CustomerAccount:
    """A customer's account.

    Attributes:
        account_id: the bank's own id: digits at bank one, a UUID at bank two.
        number: unique at the bank. Transaction ids start with it.
        iban: ``None`` for a card account.
        opening: the balance before the first transaction, in minor units. For a loaded account, the book contains this
            balance.
        scale: the size of transactions, as a percentage of an average household's transactions.
        is_closed: whether webhooks and payments do not find the account after the PSU's approval.
    """

    account_id: str
    number: str
    name: str
    kind: AccountKind
    currency: str
    iban: str | None
    opening: int
    scale: int
    bban: str | None = None
    sort_code: str | None = None
    payment_schemes: tuple[str, ...] = ()
    is_closed: bool = False


@dataclass(frozen=True, slots=True)
class Customer:
    """One customer, who signs in as ``customer_id``."""

    customer_id: str
    full_name: str
    about: str
    accounts: tuple[CustomerAccount, ...]

    @property
    def password(self) -> str:
        """The password. It is public, because the sandbox's pages display it."""
        return f"sandbox-{self.customer_id}"

    @property
    def shows_balances(self) -> bool:
        """Whether lists of the accounts show balances."""
        return len(self.accounts) <= MOST_BALANCES

    def account(self, account_id: str) -> CustomerAccount | None:
        return next((account for account in self.accounts if account.account_id == account_id), None)


def make_loaded_account(
    bank: BankName, number: str, name: str, currency: str, iban: str | None = None
) -> CustomerAccount:
    """Create an account of a loaded customer. The account id contains the currency, so that payments in other
    currencies do not match.

    ``number`` has 8 digits at bank one and 10 at bank two. Without ``iban``, the IBAN is derived from the number.
    """
    if bank == "two":
        account = _german_account(number, name, "loaded", currency, 0)
        return replace(account, iban=iban, bban=iban[4:]) if iban else account
    account = _british_account(number, name, "loaded", currency, 0)
    account_id = f"20{number}{_currency_number(currency):03d}"
    return replace(account, account_id=account_id, iban=iban or account.iban)


@cache
def _currency_number(currency: str) -> int:
    return next(number for number, code in currency_numbers().items() if code == currency)


def _british_account(
    number: str,
    name: str,
    kind: AccountKind,
    currency: str,
    opening: int,
    scale: int = 100,
    *,
    sort_code: str = _SORT_CODE,
) -> CustomerAccount:
    account_id, iban = f"10{number}", make_iban("GB", f"DEMO{sort_code}{number}")
    return CustomerAccount(account_id, number, name, kind, currency, iban, opening, scale, sort_code=sort_code)


def _german_account(
    number: str,
    name: str,
    kind: AccountKind,
    currency: str,
    opening: int,
    scale: int = 100,
    root: str = "",
    *,
    blz: str = _BLZ,
) -> CustomerAccount:
    """Create an account of bank two. The currency accounts of one multicurrency account share the IBAN of ``root``."""
    account_id, bban = str(uuid5(NAMESPACE_URL, f"demo-bank-two/{number}/{currency}")), f"{blz}{root or number}"
    iban = None if kind == "card" else make_iban("DE", bban)
    schemes = () if kind == "card" else ("SCT", "SCTI") if currency == "EUR" else ("SWIFT",)
    return CustomerAccount(
        account_id, number, name, kind, currency, iban, opening, scale, bban=bban, payment_schemes=schemes
    )


_BANK_ONE = (
    Customer(
        "ada",
        "Ada Whitfield",
        "Employed, saves a little every month",
        (
            _british_account("31926801", "Everyday Account", "current", "GBP", 1_284_63),
            _british_account("31926819", "Rainy Day Saver", "savings", "GBP", 9_450_00),
            _british_account("31926827", "Euro Account", "foreign", "EUR", 2_310_40),
        ),
    ),
    Customer(
        "bilal",
        "Bilal Hussain",
        "Contractor, paid in pounds and dollars",
        (
            _british_account("40718204", "Everyday Account", "current", "GBP", 612_09, 140),
            _british_account("40718212", "US Dollar Account", "foreign", "USD", 7_845_75, 180),
        ),
    ),
    Customer(
        "carys",
        "Carys Morgan",
        "Owner of Morgan Ceramics Ltd",
        (
            _british_account("55200318", "Morgan Ceramics Business", "business", "GBP", 18_402_11),
            _british_account("55200326", "Morgan Ceramics Euro", "business", "EUR", 6_120_88, 60),
            _british_account("55200334", "Tax Reserve", "savings", "GBP", 12_000_00, 200),
            _british_account("55200342", "Personal Account", "current", "GBP", 935_20),
        ),
    ),
)
_BANK_TWO = (
    Customer(
        "lena",
        "Lena Brandt",
        "Employed, travels a lot",
        (
            _german_account("0004711001", "Girokonto", "current", "EUR", 1_740_15),
            _german_account("0004711002", "Reisekonto SEK", "foreign", "SEK", 14_200_00, 900, "0004711002"),
            _german_account("0004711003", "Reisekonto PLN", "foreign", "PLN", 3_815_50, 420, "0004711002"),
            _german_account("0004711004", "Kreditkarte", "card", "EUR", -286_40),
        ),
    ),
    Customer(
        "mateusz",
        "Mateusz Nowak",
        "Works in two countries",
        (
            _german_account("0005820011", "Girokonto", "current", "EUR", 890_72, 90),
            _german_account("0005820012", "Konto złotowe", "foreign", "PLN", 11_460_00, 430),
            _german_account("0005820013", "Tagesgeld", "savings", "EUR", 22_500_00, 150),
        ),
    ),
    Customer(
        "sofia",
        "Sofia Lindqvist",
        "Runs Lindqvist Hafenlogistik GmbH",
        (
            _german_account("0006930021", "Geschäftskonto", "business", "EUR", 41_275_60, 160),
            _german_account("0006930022", "Geschäftskonto SEK", "business", "SEK", 128_400_00, 900, "0006930021"),
            _german_account("0006930023", "Privatkonto", "current", "EUR", 2_055_04, 120),
            _german_account("0006930024", "Firmenkarte", "card", "EUR", -1_120_35, 180),
        ),
    ),
)


_FAULTS_SORT_CODE = "040009"
_FAULTS_BLZ = "10099909"
_FIRST_NUMBER, _NUMBERS_PER_FAULT = 70_000_000, 1_000
_AccountMaker = Callable[[str, str, AccountKind, int], CustomerAccount]
"""A function that creates an account in the bank's currency from a number, a name, a kind and an opening balance."""


def _fault_customers(make: _AccountMaker) -> tuple[Customer, ...]:
    starts = range(_FIRST_NUMBER, _FIRST_NUMBER + _NUMBERS_PER_FAULT * len(FAULTS), _NUMBERS_PER_FAULT)
    return tuple(
        Customer(fault.name, fault.title, fault.what.replace("`", ""), _fault_accounts(fault.name, first, make))
        for fault, first in zip(FAULTS, starts, strict=True)
    )


def _fault_accounts(fault: str, first: int, make: _AccountMaker) -> tuple[CustomerAccount, ...]:
    if fault == "no-accounts":
        return (replace(make(str(first), "Closing Account", "dormant", 0), is_closed=True),)
    if fault == "many":
        others = [make(str(first + n), f"Account {n + 1}", "dormant", 100_00) for n in range(1, MANY_ACCOUNTS)]
        return (make(str(first), "Busy Account", "busy", 8_400_00), *others)
    current = make(str(first), "Everyday Account", "current", 50_000_00)
    return (current, make(str(first + 1), "Savings Account", "savings", 5_000_00))


_BY_BANK: Mapping[BankName, tuple[Customer, ...]] = {
    "one": _BANK_ONE,
    "two": _BANK_TWO,
    "faults-one": _fault_customers(
        lambda number, name, kind, opening: _british_account(
            number, name, kind, "GBP", opening, sort_code=_FAULTS_SORT_CODE
        )
    ),
    "faults-two": _fault_customers(
        lambda number, name, kind, opening: _german_account(f"00{number}", name, kind, "EUR", opening, blz=_FAULTS_BLZ)
    ),
}
CUSTOMERS: Mapping[BankName, Mapping[str, Customer]] = {
    bank: {customer.customer_id: customer for customer in customers} for bank, customers in _BY_BANK.items()
}
"""The built-in customers of each bank by id."""
