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
    account_id: AN[LONGEST_ID] | None = None

    @model_validator(mode="after")
    def one_of(self) -> Self:
        if self.iban is None and self.account_id is None:
            fault("value", "iban or account_id is required")
        return self


class Account(OpenMessage):
    """An account of the PSU."""

    id: BankNumber[20]
    name: Text[50]
    iban: AN[34]
    currency: A[3]
    additional_data: list[Any] | dict[str, Any] | None = None


class AccountsAnswer(OpenMessage):
    """The PSU's accounts."""

    accounts: list[Account]


class AccountAnswer(OpenMessage):
    """One of the PSU's accounts."""

    account: Account


class Balance(OpenMessage):
    """An account's balance."""

    id: BankNumber[20]
    name: Text[20]
    balance: N[50]
    currency: A[3]


class BalancesAnswer(OpenMessage):
    """An account's balance, as a list."""

    accounts: list[Balance]


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


class PaymentParty(OpenMessage):
    """``sender_data`` or ``receiver_data`` of a payment."""

    iban: AN[34] | None = None
    account_name: Text[50] | None = None
    account_number: Annotated[str, IdRule(34, width=8, beside="sort_code")] | None = None
    sort_code: Annotated[str, IdRule(6, width=6)] | None = None
    bic: AN[12] | None = None
    internal_account_id: BankId[255] | None = None
    card_number: N[19] | None = None
    currency: AN[3] | None = None


class PartyWithCurrency(PaymentParty):
    """A party with a mandatory currency: all senders and, in lists, all receivers."""

    currency: AN[3]


class PaymentData(OpenMessage):
    """An entry of a payment's ``additional_data``; banks may add members."""

    sender_data: PartyWithCurrency | None = None
    receiver_data: PaymentParty | None = None


class ListedPaymentData(PaymentData):
    """An entry of a listed payment's ``additional_data``."""

    receiver_data: PartyWithCurrency | None = None


class PaymentRecord(OpenMessage):
    """The mandatory members of a payment."""

    id: BankId[20]
    reference: Text[30]
    date_created: AN[10]
    amount: N[20]
    status: N[10] | None = None
    type: AN[18] | None = None
    description: Text[255]


class Payment(PaymentRecord):
    """An incoming or outgoing payment."""

    additional_data: list[PaymentData] | None = None


class ListedPayment(PaymentRecord):
    """A payment in a list."""

    additional_data: list[ListedPaymentData] | None = None


class PaymentAnswer(OpenMessage):
    """One payment."""

    payment: Payment


class PaymentsRequest(AccountRequest):
    """``/account_payments``: a page of an account's payments."""

    record_count: Whole[100] = 100
    current_page: Whole[999] = 1


class Paginator(OpenMessage):
    """The position of this page in the list of payments."""

    limit: N[3]
    current_page: N[3]


class PaymentsAnswer(OpenMessage):
    """A page of an account's payments."""

    payments: list[ListedPayment]
    paginator: Paginator


def paginator_as_object(answer: dict[str, Any]) -> dict[str, Any]:
    """Convert ``paginator`` to an object; the specification's table has a list."""
    entries = answer.get("paginator")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return answer
    return {**answer, "paginator": {name: value for entry in entries for name, value in entry.items()}}
