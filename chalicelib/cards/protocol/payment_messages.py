"""Messages of the eleven external payment actions (specification, External payment operations), and their records."""

from collections.abc import Iterator
from typing import ClassVar

from chalicelib.cards.protocol import fields
from chalicelib.cards.protocol.fields import (
    AN,
    ANS,
    BritishAccountNumber,
    CountryIson,
    CurrencyIson,
    ExtList,
    Flag,
    Iban,
    Id,
    Level,
    N,
)
from chalicelib.cards.protocol.message import Answer, Members, Needs, Request, if_absent, if_given
from chalicelib.foundation.fields.problems import Problem


class _Assignment(Request):
    """The fields of a new address."""

    epm_method_id: fields.EpmMethod
    currency_ison: CurrencyIson
    country_ison: CountryIson | None = None
    card_id: Id | None = None
    account_name: ANS[1, 70] | None = None
    risk_score: N[1, 20] | None = None


class AssignExternalPaymentAddress(_Assignment):
    """assignExternalPaymentAddress: have the provider open an address for a holder's account."""

    account_id: Id


class AssignExternalPaymentAddressForSpecialAccount(_Assignment):
    """assignExternalPaymentAddressForSpecialAccount: have the provider open an address for a special account."""

    special_account_id: Id


class CancelExternalPaymentMandate(Request):
    """cancelExternalPaymentMandate: cancel a mandate. Its pending direct debits are rejected at their cut-off."""

    epm_mandate_id: Id
    reason: fields.ReasonCode


class ChangeDDExternalPaymentStatus(Request):
    """changeDDExternalPaymentStatus: before the cut-off, set whether a direct debit is to be paid."""

    epm_transaction_id: Id
    should_pay: Flag
    reason: fields.NumberedDebitReason


class GetExternalPaymentAddress(Request):
    epm_address_id: Id


class GetAccountExternalPaymentAddresses(Request):
    """getAccountExternalPaymentAddresses: list an account's addresses."""

    account_id: Id


class ChangeExternalPaymentAddressStatus(Request):
    """changeExternalPaymentAddressStatus: change an address's status; B is final."""

    epm_address_id: Id
    status: fields.AddressStatus
    reason_code: fields.ReasonCode | None = None
    note: ANS[1, 255] | None = None


def check_amount(members: Members) -> Iterator[Problem]:
    """Reject an amount of zero."""
    if members.get("amount") == 0:
        yield Problem("amount", "value", "must be more than 0")


class TransferToExternalPayment(Request):
    """transferToExternalPayment: pay from an address. The amount is in minor units of the address's currency."""

    conditions: ClassVar = (
        Needs(("destination_sort_code",), (if_given("destination_account_number"),)),
        Needs(("destination_account_number",), (if_given("destination_sort_code"),)),
        Needs(("destination_iban",), (if_absent("destination_account_number"), if_absent("destination_sort_code"))),
    )
    further: ClassVar = (check_amount,)

    epm_address_id: Id
    destination_account_number: BritishAccountNumber | None = None
    destination_account_name: ANS[1, 70]
    destination_iban: Iban | None = None
    destination_sort_code: AN[6] | None = None
    currency_ison: CurrencyIson
    amount: N[1, 15]
    reference_number: ANS[1, 255] | None = None
    description: ANS[1, 255] | None = None
    note: ANS[1, 35] | None = None
    withdrawal_purpose: N[1, 2] | None = None
    receiver_type: N[1] | None = None
    industry_id: N[1, 2] | None = None
    schemes: ExtList[fields.Scheme] | None = None


class InboundReturn(Request):
    """inboundReturn: send back a payment in, except a Bacs direct credit."""

    epm_transaction_id: Id
    reason: fields.ReasonCode | None = None
    reference: ANS[1, 255] | None = None


class DirectDebitReturn(Request):
    """directDebitReturn: reclaim a collected direct debit."""

    returned_epm_transaction_id: Id
    reason: fields.DirectDebitReason
    reference: ANS[1, 255] | None = None


class DirectCreditReturn(Request):
    """directCreditReturn: send back a Bacs direct credit."""

    epm_transaction_id: Id
    return_reason_id: fields.ReasonCode | None = None
    reference: ANS[1, 255] | None = None


class AddressRecord(Answer):
    """An external payment address, which receives payments and direct debits."""

    id: Id
    access_level: Level
    active: Flag
    account_number: AN[1, 26] | None
    iban: AN[15, 34] | None
    sort_code: AN[6] | None
    bic: AN[8, 11] | None
    account_name: ANS[1, 101]
    direct_credit_enabled: Flag
    direct_debit_enabled: Flag
    inbound_enabled: Flag
    outbound_enabled: Flag
    epm_method_id: fields.EpmMethod
    epm_type_id: fields.EpmType
    account_id: Id
    account_type: fields.AccountType
    card_id: Id | None
    holder_id: Id | None
    currency_ison: CurrencyIson
    country_ison: CountryIson
    assignment_state: fields.AssignmentState


class AddressWithStatus(AddressRecord):
    """An external payment address with its status, and the reason for its last change."""

    status: fields.AddressStatus
    status_change_reason_code: fields.ReasonCode | None
    status_change_note: ANS[1, 255] | None


class OwnBankAccount(Answer):
    """The address of this service in a payment; missing numbers are empty strings."""

    id: Id
    account_number: str
    account_name: ANS[1, 101]
    iban: str
    sort_code: str
    bic: str


class OtherBankAccount(Answer):
    """The destination of a payment."""

    account_number: AN[1, 26] | None
    account_name: ANS[1, 70]
    iban: AN[15, 34] | None
    sort_code: AN[6] | None
    bic: AN[8, 11] | None


class TransferRecord(Answer):
    """A payment submitted to the provider. Amounts are in minor units; ``created_at`` is Unix seconds as a digit
    string.
    """

    id: Id | None
    external_transaction_reference: N[1, 15] | None
    settlement_amount: int
    settlement_currency: CurrencyIson
    instructed_amount: int
    instructed_currency: CurrencyIson
    transaction_id: Id | None
    trans_link: AN[1, 36] | None
    source_bank_account_address: list[OwnBankAccount] | None
    created_at: str | None


class TransferWithDestination(TransferRecord):
    """A payment submitted to the provider, with its destination."""

    destination_bank_account_address: list[OtherBankAccount] | None
