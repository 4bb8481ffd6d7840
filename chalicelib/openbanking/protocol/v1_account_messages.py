"""Version 1 messages about accounts: requests to banks, and models of their responses (specification, Version 1)."""

from typing import Annotated, Any, Literal, Self

from pydantic import model_validator

from chalicelib.foundation.fields.field_types import Message, OpenMessage
from chalicelib.foundation.fields.number_rules import IdRule
from chalicelib.foundation.fields.problems import fault
from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_ID, BankId, BankNumber
from chalicelib.openbanking.protocol.fields import AN, A, Iban, N, Text, Whole

LAST_PAGE = 999
"""The last page of payments that a request can name."""


class AccountRequest(Message):
    """The request of ``/account`` and ``/account_balance``: an account, identified by IBAN, account_id or both."""

    iban: Iban | None = None
    """The account's IBAN. Example if sent: ``"GB10DEMO04000431926801"``."""
    account_id: AN[LONGEST_ID] | None = None
    """The bank's own identifier of the account. Example: ``"1031926801"``."""

    @model_validator(mode="after")
    def one_of(self) -> Self:
        if self.iban is None and self.account_id is None:
            fault("value", "iban or account_id is required")
        return self


class Account(OpenMessage):
    """An account of the PSU."""

    id: BankNumber[20]
    """The bank's identifier of the account. Example: ``"1031926801"``."""
    name: Text[50]
    """The account's name. Example: ``"Everyday Account"``."""
    iban: AN[34]
    """The account's IBAN."""
    currency: A[3]
    """The currency. Example: ``"GBP"``."""
    additional_data: list[Any] | dict[str, Any] | None = None
    """Additional data from the bank, passed to the TPP unchanged.
    Example: ``[{"sort_code": "040004", "account_number": "31926801"}]``.
    """


class AccountsAnswer(OpenMessage):
    """The PSU's accounts."""

    accounts: list[Account]
    """The accounts."""


class AccountAnswer(OpenMessage):
    """One of the PSU's accounts."""

    account: Account
    """The account."""


BookedOrAvailable = Literal["booked", "available"]
"""The type of a balance, which version 1 does not state."""


class Balance(OpenMessage):
    """An account's balance."""

    id: BankNumber[20]
    name: Text[20]
    """The account's name."""
    balance: N[50]
    """The balance, with a dot as decimal separator. Example: ``"1250.75"``."""
    currency: A[3]


class BalancesAnswer(OpenMessage):
    """An account's balance, as a list."""

    accounts: list[Balance]
    """The accounts."""


def balances_as_list(answer: dict[str, Any]) -> dict[str, Any]:
    """Convert a single ``account`` to a list. The specification's table has a list, but its sample has a single
    account.
    """
    found = answer.get("accounts", answer.get("account"))
    if not isinstance(found, dict | list):
        return answer
    others = {name: value for name, value in answer.items() if name not in ("account", "accounts")}
    return {"accounts": found if isinstance(found, list) else [found], **others}


class PaymentRequest(Message):
    """The request of ``/account_payment``."""

    payment_id: AN[LONGEST_ID]
    """The payment's identifier at the bank. Example: ``"31926801261103"``."""


class PaymentParty(OpenMessage):
    """The sender or receiver of a payment, in ``sender_data`` or ``receiver_data``."""

    iban: AN[34] | None = None
    """The account's IBAN."""
    account_name: Text[50] | None = None
    """The account holder's name. Example: ``"Ada Okafor"``."""
    account_number: Annotated[str, IdRule(34, width=8, beside="sort_code")] | None = None
    """The local account number. Example: ``"31926801"``."""
    sort_code: Annotated[str, IdRule(6, width=6)] | None = None
    """The sort code of the account. Example: ``"040004"``."""
    bic: AN[12] | None = None
    """The BIC of the account's bank. Example: ``"DEMOGB21"``."""
    internal_account_id: BankId[255] | None = None
    """The bank's own identifier of the account. Example if sent: ``"1031926801"``."""
    card_number: N[19] | None = None
    """The card's number, masked by the bank. Example if sent: ``"4111110000001111"``."""
    currency: AN[3] | None = None
    """The currency."""


class PartyWithCurrency(PaymentParty):
    """A sender or receiver with a mandatory currency: all senders and, in lists, all receivers."""

    currency: AN[3]
    """The currency."""


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
    """The payment's identifier at the bank. Example: ``"31926801261103"``."""
    reference: Text[30]
    """The payment's reference. Example: ``"RENT NOVEMBER"``."""
    date_created: AN[10]
    """The date of the payment (ISO 8601). Example: ``"2026-11-20"``."""
    amount: N[20]
    """The amount, negative when money left the account. Example: ``"-950.00"``."""
    status: N[10] | None = None
    """The payment's status. Example: ``4``."""
    type: AN[18] | None = None
    """The type of payment: Bank transfer, Card transfer, Internal transfer, Load, Withdrawal or Other.
    Example: ``"Bank transfer"``.
    """
    description: Text[255]
    """The purpose of the payment. Example: ``"Monthly rent"``."""


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
    """The request of ``/account_payments`` for a page of an account's payments."""

    record_count: Whole[100] = 100
    """The maximum number of payments per page."""
    current_page: Whole[LAST_PAGE] = 1
    """The page number. Example: ``1``."""


class Paginator(OpenMessage):
    """The position of this page in the list of payments."""

    limit: N[3]
    """The maximum number of payments per page. Example: ``100``."""
    current_page: N[3]
    """The page number."""


class PaymentsAnswer(OpenMessage):
    """A page of an account's payments."""

    payments: list[ListedPayment]
    """The payments, newest first. Pending payments may come before all other payments."""
    paginator: Paginator
    """The position of this page."""


def paginator_as_object(answer: dict[str, Any]) -> dict[str, Any]:
    """Convert ``paginator`` to an object, because the specification's table has a list."""
    entries = answer.get("paginator")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return answer
    return {**answer, "paginator": {name: value for entry in entries for name, value in entry.items()}}
