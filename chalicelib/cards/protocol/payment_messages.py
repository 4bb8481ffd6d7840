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
    """The payment method. Example: ``2``."""
    currency_ison: CurrencyIson
    """The address's currency, which is the currency of the payment method."""
    country_ison: CountryIson | None = None
    """The address's country, by default the holder's country. Example: ``276``."""
    card_id: Id | None = None
    """The id of one of the account's cards. The card is recorded in transactions, and the card's limits also apply."""
    account_name: ANS[1, 70] | None = None
    """The account name shown to other parties, by default the holder's name. Example: ``"Ada Okafor"``."""
    risk_score: N[1, 20] | None = None
    """Your own risk assessment, which is stored."""


class AssignExternalPaymentAddress(_Assignment):
    """assignExternalPaymentAddress: open an address for a holder's account at the provider."""

    account_id: Id
    """The account's id. Example: ``100000025``."""


class AssignExternalPaymentAddressForSpecialAccount(_Assignment):
    """assignExternalPaymentAddressForSpecialAccount: open an address for a special account at the provider."""

    special_account_id: Id
    """The special account's id. Example: ``802``."""

    """Inherited ``country_ison``: The address's country; default: the special account's."""
    """Inherited ``card_id``: A card to record in transactions."""
    """Inherited ``account_name``: The account name shown to other parties; default: the special account's.
    No example.
    """


class CancelExternalPaymentMandate(Request):
    """cancelExternalPaymentMandate: cancel a mandate. The mandate's pending direct debits are rejected at their
    cut-off.
    """

    epm_mandate_id: Id
    """The mandate's id. Example: ``100000108``."""
    reason: fields.ReasonCode
    """The reason for the cancellation. Example: ``2``."""


class ChangeDDExternalPaymentStatus(Request):
    """changeDDExternalPaymentStatus: before the cut-off, set whether a direct debit is to be paid."""

    epm_transaction_id: Id
    """The direct debit's id. Example: ``100000090``."""
    should_pay: Flag
    """Whether to pay the direct debit at its cut-off."""
    reason: fields.NumberedDebitReason
    """The reason, which is stored if the direct debit is not to be paid. Example: ``4``."""


class GetExternalPaymentAddress(Request):
    epm_address_id: Id
    """The external payment address's id. Example: ``100000082``."""


class GetAccountExternalPaymentAddresses(Request):
    """getAccountExternalPaymentAddresses: list an account's addresses."""

    account_id: Id


class ChangeExternalPaymentAddressStatus(Request):
    """changeExternalPaymentAddressStatus: change an address's status. Status B is final."""

    epm_address_id: Id
    status: fields.AddressStatus
    """The address's new status. Example: ``"S"``."""
    reason_code: fields.ReasonCode | None = None
    """The reason for the status. Example: ``2``."""
    note: ANS[1, 255] | None = None
    """A note on the status change. Example: ``"Requested by telephone"``."""


def check_amount(members: Members) -> Iterator[Problem]:
    """``amount`` must be greater than 0 (2005)."""
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
    """The account number for a UK address. Leading zeros can be omitted."""
    destination_account_name: ANS[1, 70]
    """The account holder's name. Example: ``"Lantern Books"``."""
    destination_iban: Iban | None = None
    """The IBAN, which must be British for a UK address. Example: ``"DE89370400440532013000"``."""
    destination_sort_code: AN[6] | None = None
    """The sort code for a UK address."""
    currency_ison: CurrencyIson
    """The currency, which must be the address's currency."""
    amount: N[1, 15]
    """The amount, in minor units. Example: ``2599``."""
    reference_number: ANS[1, 255] | None = None
    """The reference for the other party. Example: ``"Invoice 2041"``."""
    description: ANS[1, 255] | None = None
    """The transaction's description. Example: ``"Books"``."""
    note: ANS[1, 35] | None = None
    """Your own note, which is stored. No example."""
    withdrawal_purpose: N[1, 2] | None = None
    """A value agreed with the provider, which is stored."""
    receiver_type: N[1] | None = None
    """A value agreed with the provider, which is stored."""
    industry_id: N[1, 2] | None = None
    """A value agreed with the provider, which is stored."""
    schemes: ExtList[fields.Scheme] | None = None
    """The schemes in order of preference. The first scheme that accepts the amount is used. The default is FPS, then
    CHAPS for a UK address, and SCTINST, then SCT for a SEPA address.
    Example: ``["SCTINST", "SCT"]``.
    """


class InboundReturn(Request):
    """inboundReturn: return an inbound payment, except a Bacs direct credit."""

    epm_transaction_id: Id
    """The inbound payment's id."""
    reason: fields.ReasonCode | None = None
    """The reason, which is required for SCTINST and SCT."""
    reference: ANS[1, 255] | None = None
    """The reference for the other party."""


class DirectDebitReturn(Request):
    """directDebitReturn: reclaim a collected direct debit."""

    returned_epm_transaction_id: Id
    """The direct debit's id. Example: ``100000090``."""
    reason: fields.DirectDebitReason
    """The reason, in upper or lower case. Example: ``"MD06"``."""
    reference: ANS[1, 255] | None = None


class DirectCreditReturn(Request):
    """directCreditReturn: return a Bacs direct credit."""

    epm_transaction_id: Id
    """The id of the inbound Bacs direct credit."""
    return_reason_id: fields.ReasonCode | None = None
    """The reason for the return. Example: ``2``."""
    reference: ANS[1, 255] | None = None


class AddressRecord(Answer):
    """An external payment address, which receives payments and direct debits."""

    id: Id
    """The external payment address's id. Example: ``100000082``."""
    access_level: Level
    """The minimum access level required to see the address. Example: ``0``."""
    active: Flag
    """Whether the address is assigned and its status is A. Example: ``1``."""
    account_number: AN[1, 26] | None
    """The account number of a UK address."""
    iban: AN[15, 34] | None
    """The IBAN. Example: ``"DE84999999990100000082"``."""
    sort_code: AN[6] | None
    """The sort code of a UK address."""
    bic: AN[8, 11] | None
    """The BIC of a SEPA address's bank. Example: ``"CSWYDE2X"``."""
    account_name: ANS[1, 101]
    """The account name shown to other parties."""
    direct_credit_enabled: Flag
    """Whether Bacs direct credits are accepted."""
    direct_debit_enabled: Flag
    """Whether direct debits are accepted. Example: ``1``."""
    inbound_enabled: Flag
    """Whether inbound payments are accepted. Example: ``1``."""
    outbound_enabled: Flag
    """Whether outbound payments are allowed. Example: ``1``."""
    epm_method_id: fields.EpmMethod
    """The payment method."""
    epm_type_id: fields.EpmType
    """The type of account identifiers. Example: ``2``."""
    account_id: Id
    """The id of the address's account, which is a holder's account or a special account."""
    account_type: fields.AccountType
    """The type of account."""
    card_id: Id | None
    """The id of the card that was specified when the address was assigned."""
    holder_id: Id | None
    """The holder's id. Example: ``100000017``."""
    currency_ison: CurrencyIson
    """The currency as a numeric ISO 4217 code. Example: ``978``."""
    country_ison: CountryIson
    """The country as a numeric ISO 3166-1 code."""
    assignment_state: fields.AssignmentState
    """The state of the assignment at the provider."""


class AddressWithStatus(AddressRecord):
    """An external payment address with its status, and the reason for the last status change."""

    status: fields.AddressStatus
    """The address's status. Example: ``"A"``."""
    status_change_reason_code: fields.ReasonCode | None
    """The reason for the last status change. Example: ``2``."""
    status_change_note: ANS[1, 255] | None
    """The note on the last status change. Example: ``"Requested by telephone"``."""


class OwnBankAccount(Answer):
    """The address of this service in a payment. Missing numbers are empty strings."""

    id: Id
    account_number: str
    """The account number of a UK address."""
    account_name: ANS[1, 101]
    """The account name shown to other parties."""
    iban: str
    """The IBAN."""
    sort_code: str
    """The sort code of a UK address."""
    bic: str
    """The BIC of a SEPA address's bank."""


class OtherBankAccount(Answer):
    """The destination of a payment."""

    account_number: AN[1, 26] | None
    """The payee's account number in the UK."""
    account_name: ANS[1, 70]
    """The payee's name."""
    iban: AN[15, 34] | None
    """The payee's IBAN."""
    sort_code: AN[6] | None
    """The sort code of the payee's account in the UK."""
    bic: AN[8, 11] | None
    """The BIC of the payee's bank."""


class TransferRecord(Answer):
    """A payment submitted to the provider. Amounts are in minor units. ``created_at`` is in Unix seconds, as a string
    of digits.
    """

    id: Id | None
    """The id of the external payment. A return has its own id. Example: ``100000090``."""
    external_transaction_reference: N[1, 15] | None
    """The provider's own reference number. Example: ``9100000090``."""
    settlement_amount: int
    """The amount in the account's currency, in minor units. It includes a conversion fee that is not a separate
    transaction, but no other fees. Example: ``2599``.
    """
    settlement_currency: CurrencyIson
    """The account's currency. Example: ``978``."""
    instructed_amount: int
    """The amount transferred, in minor units. Example: ``2599``."""
    instructed_currency: CurrencyIson
    """The currency of the transfer, which is the address's currency. Example: ``978``."""
    transaction_id: Id | None
    """The id of the account's transaction, absent until the transaction is booked. Example: ``100000116``."""
    trans_link: AN[1, 36] | None
    """The identifier that links the payment's transaction, fees and return, absent until the payment is booked.
    Example: ``"E00100000090"``.
    """
    source_bank_account_address: list[OwnBankAccount] | None
    """The payer's account, as a list with one object. Missing values are empty.
    Example: ``[{"id": 100000082, "account_number": "", "account_name": "Ada Okafor", "iban": "DE84999999990100000082",
    "sort_code": "", "bic": "CSWYDE2X"}]``.
    """
    created_at: str | None
    """The time when the payment was requested, in Unix seconds, as a string of digits.
    Example: ``"1795253400"``.
    """


class TransferWithDestination(TransferRecord):
    """A payment submitted to the provider, with its destination."""

    destination_bank_account_address: list[OtherBankAccount] | None
    """The payee's account, as a list with one object that contains the known values.
    Example: ``[{"account_name": "Lantern Books", "iban": "DE89370400440532013000"}]``.
    """

    """Inherited ``transaction_id``: No example."""
    """Inherited ``trans_link``: No example."""
