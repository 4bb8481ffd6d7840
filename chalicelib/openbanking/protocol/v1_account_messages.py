"""Version 1 messages about accounts: requests to banks, and models of their responses (specification, Version 1)."""

from typing import Annotated, Any, Self

from pydantic import model_validator

from chalicelib.foundation.fields.field_rules import IdRule
from chalicelib.foundation.fields.field_types import AN, A, Iban, Message, N, OpenMessage, Text, Whole
from chalicelib.foundation.fields.problems import fault
from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_ID, BankId, BankNumber


class AccountRequest(Message):
    """``/account``, ``/account_balance``: an account, identified by IBAN, account_id or both."""

    iban: Iban | None = None
    """The account's IBAN."""
    account_id: AN[LONGEST_ID] | None = None
    """The bank's own identifier of the account."""

    @model_validator(mode="after")
    def one_of(self) -> Self:
        if self.iban is None and self.account_id is None:
            fault("value", "iban or account_id is required")
        return self


class Account(OpenMessage):
    """An account of the PSU."""

    id: BankNumber[20]
    """The bank's identifier."""
    name: Text[50]
    """The account's name."""
    iban: AN[34]
    """The account's IBAN."""
    currency: A[3]
    """The currency."""
    additional_data: list[Any] | dict[str, Any] | None = None
    """Additional data from the bank, passed to the TPP unchanged."""


class AccountsAnswer(OpenMessage):
    """The PSU's accounts."""

    accounts: list[Account]
    """The accounts."""


class AccountAnswer(OpenMessage):
    """One of the PSU's accounts."""

    account: Account
    """The account."""


class Balance(OpenMessage):
    """An account's balance."""

    id: BankNumber[20]
    """The bank's identifier."""
    name: Text[20]
    """The account's name."""
    balance: N[50]
    """The balance, with a dot as decimal separator."""
    currency: A[3]
    """The currency."""


class BalancesAnswer(OpenMessage):
    """An account's balance, as a list."""

    accounts: list[Balance]
    """The accounts."""


def balances_as_list(answer: dict[str, Any]) -> dict[str, Any]:
    """Convert a single account to a list: the specification's table has a list, its sample a single ``account``."""
    found = answer.get("accounts", answer.get("account"))
    if not isinstance(found, dict | list):
        return answer
    others = {name: value for name, value in answer.items() if name not in ("account", "accounts")}
    return {"accounts": found if isinstance(found, list) else [found], **others}


class PaymentRequest(Message):
    """``/account_payment``."""

    payment_id: AN[LONGEST_ID]
    """The payment's identifier at the bank."""


class PaymentParty(OpenMessage):
    """``sender_data`` or ``receiver_data`` of a payment."""

    iban: AN[34] | None = None
    """The account's IBAN."""
    account_name: Text[50] | None = None
    """The account holder's name."""
    account_number: Annotated[str, IdRule(34, width=8, beside="sort_code")] | None = None
    """The local account number."""
    sort_code: Annotated[str, IdRule(6, width=6)] | None = None
    """The sort code of the account."""
    bic: AN[12] | None = None
    """The BIC of the account's bank."""
    internal_account_id: BankId[255] | None = None
    """The bank's own identifier of the account."""
    card_number: N[19] | None = None
    """The card's number, masked by the bank."""
    currency: AN[3] | None = None
    """The currency."""


class PartyWithCurrency(PaymentParty):
    """A party with a mandatory currency: all senders and, in lists, all receivers."""

    currency: AN[3]


class PaymentData(OpenMessage):
    """An entry of a payment's ``additional_data``; banks may add members."""

    sender_data: PartyWithCurrency | None = None
    """The payer."""
    receiver_data: PaymentParty | None = None
    """The payee."""


class ListedPaymentData(PaymentData):
    """An entry of a listed payment's ``additional_data``."""

    receiver_data: PartyWithCurrency | None = None


class PaymentRecord(OpenMessage):
    """The mandatory members of a payment."""

    id: BankId[20]
    """The payment's identifier at the bank."""
    reference: Text[30]
    """The payment's reference."""
    date_created: AN[10]
    """The date of the payment (ISO 8601)."""
    amount: N[20]
    """The amount, negative when money left the account."""
    status: N[10] | None = None
    """The payment's status."""
    type: AN[18] | None = None
    """The type of payment: Bank transfer, Card transfer, Internal transfer, Load, Withdrawal or Other."""
    description: Text[255]
    """The purpose of the payment."""


class Payment(PaymentRecord):
    """An incoming or outgoing payment."""

    additional_data: list[PaymentData] | None = None
    """Additional data from the bank, passed to the TPP unchanged."""


class ListedPayment(PaymentRecord):
    """A payment in a list."""

    additional_data: list[ListedPaymentData] | None = None
    """Additional data from the bank, passed to the TPP unchanged."""


class PaymentAnswer(OpenMessage):
    """One payment."""

    payment: Payment
    """The payment."""


class PaymentsRequest(AccountRequest):
    """``/account_payments``: a page of an account's payments."""

    record_count: Whole[100] = 100
    """The maximum number of payments per page."""
    current_page: Whole[999] = 1
    """The page number."""


class Paginator(OpenMessage):
    """The position of this page in the list of payments."""

    limit: N[3]
    """The maximum number of payments per page."""
    current_page: N[3]
    """The page number."""


class PaymentsAnswer(OpenMessage):
    """A page of an account's payments."""

    payments: list[ListedPayment]
    """The payments, newest first; pending ones may come before all others."""
    paginator: Paginator
    """The position of this page."""


def paginator_as_object(answer: dict[str, Any]) -> dict[str, Any]:
    """Convert ``paginator`` to an object; the specification's table has a list."""
    entries = answer.get("paginator")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return answer
    return {**answer, "paginator": {name: value for entry in entries for name, value in entry.items()}}
