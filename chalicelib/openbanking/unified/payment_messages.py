"""The unified API's bodies of payments and funds confirmations, which are the same for banks of all versions.

Lengths are the longest of any version. What only one version cannot carry is refused by the tables of that version. A
member that is null counts as absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from chalicelib.foundation.fields.decimal_rules import AmountTextRule, decimal, exact_sum
from chalicelib.foundation.fields.field_types import Message
from chalicelib.foundation.fields.number_rules import IdRule
from chalicelib.foundation.fields.problems import fault
from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_ID
from chalicelib.openbanking.protocol.british_accounts import NUMBER, SORT_CODE, contradicts, digits_of
from chalicelib.openbanking.protocol.currency_amounts import check_decimals
from chalicelib.openbanking.protocol.fields import AN, A, Country, Currency, Iban, Text, WebAddress
from chalicelib.openbanking.protocol.payment_enumerations import SCHEME, VERSION_2_SCHEMES, Kind, schemes_schema

LONGEST_BBAN = 30
MOST_PAYMENTS = 1000
"""The most payments of a bulk payment."""


class Body(Message):
    """An object in which a member that is null counts as absent."""

    @model_validator(mode="before")
    @classmethod
    def null_is_absent(cls, members: Any) -> Any:
        if not isinstance(members, dict) or None not in members.values():
            return members
        return {name: value for name, value in members.items() if value is not None or name not in cls.model_fields}

    def members(self) -> dict[str, Any]:
        """Return the members for the tables of a version."""
        return self.model_dump(exclude_none=True)


class PaidAmount(Body):
    """An amount of money."""

    value: Annotated[str, AmountTextRule(70)]
    """The number, with at most the decimals of its currency, not counting trailing zeros. Example: ``"12.50"``."""
    currency: Currency
    """The currency. Example: ``"EUR"``."""

    @model_validator(mode="after")
    def has_the_decimals_of_its_currency(self) -> Self:
        check_decimals("value", self.value, self.currency)
        return self


class AccountIdentifiers(Body):
    """The identifiers of an account."""

    iban: Iban | None = None
    """The IBAN. Example: ``"DE61100999000004711001"``."""
    bban: AN[LONGEST_BBAN] | None = None
    """The local identifier of the account (basic bank account number). Example if sent: ``"100999000004711001"``."""
    sort_code: Annotated[str, IdRule(SORT_CODE, width=SORT_CODE)] | None = None
    """The sort code. Example if sent: ``"040004"``."""
    account_number: Annotated[str, IdRule(34, digits=True, width=NUMBER)] | None = None
    """The local account number; together with the sort code, it identifies an account.
    Example if sent: ``"31926801"``.
    """

    @model_validator(mode="after")
    def agrees_with_its_iban(self) -> Self:
        if contradicts(self.iban, self.account_number, self.sort_code):
            fault("value", "iban is not the account of account_number and sort_code")
        return self

    @property
    def names_account(self) -> bool:
        """Whether the identifiers, without an ``account_id``, name an account."""
        return bool(self.iban or self.bban or (self.account_number and self.sort_code))


def _require_account(account: AccountIdentifiers) -> None:
    if not account.names_account:
        fault("value", "must have iban, bban, or account_number with sort_code")


class Debtor(AccountIdentifiers):
    """The payer, with at least one member; a name alone is possible."""

    name: Text[70] | None = None
    """The payer's name; banks of version 1 do not get it. Example if sent: ``"Lena Brandt"``."""

    @model_validator(mode="after")
    def has_a_member(self) -> Self:
        if not self.model_fields_set:
            fault("value", "must have at least one member")
        if self.model_fields_set != {"name"}:
            _require_account(self)
        return self


class Address(Body):
    """The payee's address."""

    street_name: Text[70] | None = None
    """The street. Example: ``"Riverside"``."""
    building_number: Text[35] | None = None
    """The building number. Example: ``"12"``."""
    town_name: Text[140] | None = None
    """The town. Example: ``"Berlin"``."""
    postal_code: AN[35] | None = None
    """The postal code. Example: ``"10115"``."""
    country: Country[2]
    """The country. Example: ``"DE"``."""


class CreditorBank(Body):
    """The payee's bank; mandatory for the SWIFT scheme, and possible at banks of version 2 only."""

    name: Text[140]
    """The name of the payee's bank. Example: ``"Nordea Bank Abp"``."""
    bic: AN[11] | None = None
    """The BIC of the payee's bank. Example: ``"NDEAFIHH"``."""
    country: Country[2]
    """The country of the payee's bank. Example: ``"FI"``."""


class Creditor(AccountIdentifiers):
    """The payee: the name, and ``iban``, ``bban``, or ``account_number`` with ``sort_code``."""

    """Inherited ``iban``: Example: ``"DE89370400440532013000"``."""
    name: Text[70]
    """The payee's name; banks of version 1 take at most 40 letters, digits and spaces. Example: ``"Corner Shop"``."""
    address: Address | None = None
    """The payee's address."""
    bank: CreditorBank | None = None
    """The payee's bank; mandatory for the SWIFT scheme. No example."""

    @model_validator(mode="after")
    def has_an_account(self) -> Self:
        _require_account(self)
        return self


class Remittance(Body):
    """The purpose of a payment."""

    unstructured: Text[140] | None = None
    """The purpose as text; banks of version 1 take at most 35 characters. Example: ``"Invoice 17"``."""
    reference: Text[35] | None = None
    """The reference; banks of version 1 take at most 18 characters. Example if sent: ``"RF18539007547034"``."""
    reference_type: A[35] | None = None
    """The type of reference, by default ``SCOR``; banks of version 1 do not get it. Example if sent: ``"SCOR"``."""

    @model_validator(mode="after")
    def has_the_reference_of_its_type(self) -> Self:
        if self.reference_type is not None and self.reference is None:
            fault("value", "reference is required with reference_type")
        return self


class Transfer(Body):
    """The payee and the amount of a payment."""

    creditor: Creditor
    """The payee."""
    amount: PaidAmount
    """The amount."""
    remittance: Remittance | None = None
    """The purpose."""


Scheme = Annotated[AN[SCHEME], WithJsonSchema(schemes_schema(VERSION_2_SCHEMES))]


class SinglePayment(Transfer):
    """``POST /tpp/unified/payments`` and ``POST /tpp/unified/direct_payments``."""

    debtor: Debtor | None = None
    """The payer; if absent, the PSU chooses an account at the bank."""
    scheme: Scheme | None = None
    """The payment scheme, by default ``FPS`` for GBP and ``SCT`` for EUR. Example: ``"SCT"``."""
    callback_url: WebAddress
    """The URL that the PSU returns to; it must have the scheme, host and port of one of the client's Callback URLs.
    Example: ``"http://127.0.0.1:8000/payments/callback"``.
    """


class BulkPayment(Body):
    """``POST /tpp/unified/bulk_payments``: up to 1000 payments in one currency."""

    debtor: Debtor | None = None
    """The payer; banks of version 1 require ``iban``, and at others the PSU can choose an account."""
    scheme: Scheme | None = None
    """The payment scheme of all payments, by default ``FPS`` for GBP and ``SCT`` for EUR. Example: ``"SCT"``."""
    callback_url: WebAddress
    """The URL that the PSU returns to; it must have the scheme, host and port of one of the client's Callback URLs.
    Example: ``"http://127.0.0.1:8000/payments/callback"``.
    """
    total: PaidAmount | None = None
    """The exact sum of the amounts; the service computes it if it is absent. No example."""
    payments: Annotated[list[Transfer], Field(min_length=1, max_length=MOST_PAYMENTS)]
    """The payments."""

    @model_validator(mode="after")
    def adds_up(self) -> Self:
        currency, total = self.payments[0].amount.currency, self.total
        if any(each.amount.currency != currency for each in self.payments):
            fault("value", "all payments must be in one currency")
        if total is not None and (total.currency, decimal(total.value)) != (currency, self._sum()):
            fault("value", "total must contain the currency and the exact sum of all payments")
        return self

    def members(self) -> dict[str, Any]:
        """Return the members. ``total`` is the sum, with as many decimals as the payment that has most."""
        total = {"value": f"{self._sum():f}", "currency": self.payments[0].amount.currency}
        return {**super().members(), "total": total}

    def _sum(self) -> Decimal:
        return exact_sum(each.amount.value for each in self.payments)


BODIES: Mapping[Kind, type[SinglePayment | BulkPayment]] = {
    "single": SinglePayment,
    "direct": SinglePayment,
    "bulk": BulkPayment,
}
"""The body of each kind of payment; that of a direct payment also has the ``bic`` of the bank."""


class FundsAccount(AccountIdentifiers):
    """The account to check, with any identifiers that ``GET /tpp/unified/accounts`` returned. An identifier in a form
    that no bank takes counts as absent.
    """

    bban: Annotated[AN[LONGEST_ID], AfterValidator(lambda text: text if len(text) <= LONGEST_BBAN else None)] | None = (
        None
    )
    """The local identifier of the account (basic bank account number). Example if sent: ``"100999000004711001"``."""
    sort_code: (
        Annotated[str, IdRule(LONGEST_ID, width=SORT_CODE), AfterValidator(partial(digits_of, most=SORT_CODE))] | None
    ) = None
    """The sort code, also with hyphens or spaces. Example if sent: ``"040004"``."""
    account_number: (
        Annotated[str, IdRule(LONGEST_ID, width=NUMBER), AfterValidator(partial(digits_of, most=NUMBER))] | None
    ) = None
    """The local account number; together with the sort code, it identifies an account.
    Example if sent: ``"31926801"``.
    """
    account_id: AN[LONGEST_ID] | None = None
    """The ``account_id`` from ``accounts``. Example if sent: ``"4711001"``."""

    @model_validator(mode="after")
    def has_an_identifier(self) -> Self:
        if self.account_id is None and not self.names_account:
            fault("value", "must have account_id, iban, bban, or account_number with sort_code, in a form banks take")
        return self


class FundsRequest(Body):
    """``POST /tpp/unified/funds_confirmations``: whether the account covers an amount."""

    account: FundsAccount
    """The account."""
    amount: PaidAmount
    """The amount."""
