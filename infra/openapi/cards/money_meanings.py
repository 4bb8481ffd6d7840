"""Meanings of the members of external payments, fees, limits and the simulator, in the format of ``meanings``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.cards.protocol.values import MOST_AMOUNT, MOST_COUNT, MOST_COUNTRIES, RISK_ACTIONS, SECURITY_CHECKS
from infra.openapi.cards.example_values import (
    ACCOUNT_ID,
    ADDRESS_ID,
    AUTHORIZE_ID,
    DISPUTE_ID,
    EURO,
    LATER,
    MANDATE_ID,
    MIDNIGHT,
    MOMENT,
    PAYMENT_ID,
    PIN,
    TRANS_LINK,
    TRANSACTION_ID,
)

_IBAN, _BIC, _NAME = "DE84999999990100000082", "CSWYDE2X", "Ada Okafor"
_OTHER_IBAN, _OTHER_NAME = "DE89370400440532013000", "Lantern Books"
_STORED = "As agreed with the provider; stored"
_TOLD = "What the other side is told"
_ANY_TYPE, _ANY = "99 is any", "0 is any"
_OF_RANGE = "merchant category code of the range that it is for"
_CHANGED = "When the operator last changed the entry, in Unix seconds"
_OWN_SIDE = {"id": ADDRESS_ID, "account_number": "", "account_name": _NAME, "iban": _IBAN, "sort_code": "", "bic": _BIC}
_OTHER_SIDE = {"account_name": _OTHER_NAME, "iban": _OTHER_IBAN}

PAYMENTS: Mapping[str, tuple[str, Any]] = {
    # addresses
    "OwnBankAccount.id": ("The external payment address", ADDRESS_ID),
    "epm_address_id": ("The external payment address", ADDRESS_ID),
    "AddressRecord.id": ("The external payment address", ADDRESS_ID),
    "AddressRecord.access_level": ("The level from which the address is seen", 0),
    "AddressRecord.account_id": ("The account that it leads to: a holder's, or a special one", ACCOUNT_ID),
    "AddressRecord.card_id": ("The card that was named when it was assigned", None),
    "epm_method_id": ("How payments travel", 2),
    "epm_type_id": ("Which numbers it has", 2),
    "special_account_id": ("The special account", 802),
    "_Assignment.currency_ison": ("The address's currency: that of the method", EURO),
    "AssignExternalPaymentAddress.country_ison": ("The address's country; else the holder's", 276),
    "AssignExternalPaymentAddressForSpecialAccount.country_ison": (
        "The address's country; else the special account's",
        276,
    ),
    "AssignExternalPaymentAddress.card_id": (
        "A card of the account: transactions name it, and its limits count, too",
        None,
    ),
    "AssignExternalPaymentAddressForSpecialAccount.card_id": ("A card that transactions name", None),
    "account_name": ("What the account is called to others", _NAME),
    "AssignExternalPaymentAddress.account_name": ("What the account is called to others; else after its holder", _NAME),
    "AssignExternalPaymentAddressForSpecialAccount.account_name": (
        "What the account is called to others; else as the special account",
        None,
    ),
    "risk_score": ("Your own assessment; stored", None),
    "active": ("Whether its status is A, and it is assigned", 1),
    "account_number": ("The account number; of a British address", None),
    "sort_code": ("The sort code; of a British address", None),
    "iban": ("The IBAN", _IBAN),
    "bic": ("The bank's BIC; of an address in SEPA", _BIC),
    "direct_credit_enabled": ("Whether Bacs direct credits arrive", 0),
    "direct_debit_enabled": ("Whether creditors may collect", 1),
    "inbound_enabled": ("Whether payments arrive", 1),
    "outbound_enabled": ("Whether payments go out", 1),
    "account_type": ("Whose account it leads to", 1),
    "assignment_state": ("How far the provider is with it", 1),
    "ChangeExternalPaymentAddressStatus.status": ("The address's new status", "S"),
    "AddressWithStatus.status": ("The address's status", "A"),
    # payments
    "epm_transaction_id": ("The external payment", PAYMENT_ID),
    "destination_account_number": ("The account number; for an address of the United Kingdom", None),
    "destination_account_name": ("Whom the account belongs to", _OTHER_NAME),
    "destination_iban": ("The IBAN; for an address of the United Kingdom a British one", _OTHER_IBAN),
    "destination_sort_code": ("The sort code; for an address of the United Kingdom", None),
    "TransferToExternalPayment.currency_ison": ("The currency: the address's", EURO),
    "TransferToExternalPayment.reference_number": (_TOLD, "Invoice 2041"),
    "description": ("What the transaction is described as", "Books"),
    "TransferToExternalPayment.note": ("A note of yours; stored", None),
    "withdrawal_purpose": (_STORED, None),
    "receiver_type": (_STORED, None),
    "TransferToExternalPayment.industry_id": (_STORED, None),
    "schemes": (
        "Schemes, the best first: the first that takes the amount is used. Else FPS, then CHAPS, or SCTINST, then SCT",
        ["SCTINST", "SCT"],
    ),
    "InboundReturn.epm_transaction_id": ("The payment that came in", PAYMENT_ID),
    "InboundReturn.reason": ("Why; required for SCTINST and SCT", 2),
    "DirectCreditReturn.epm_transaction_id": ("The Bacs direct credit that came in", PAYMENT_ID),
    "return_reason_id": ("Why", 2),
    "returned_epm_transaction_id": ("The direct debit", PAYMENT_ID),
    "DirectDebitReturn.reason": ("Why; small letters stand for capitals", "MD06"),
    "reference": (_TOLD, None),
    "TransferRecord.id": ("The external payment; of a return the return itself", PAYMENT_ID),
    "external_transaction_reference": ("The provider's own number of it", 9000000000 + PAYMENT_ID),
    "settlement_amount": (
        "What that comes to on the account, in minor units: with a conversion's fee if it is blended, without others",
        2599,
    ),
    "settlement_currency": ("The account's currency", EURO),
    "instructed_amount": ("The amount that travels, in minor units", 2599),
    "instructed_currency": ("Its currency: the address's", EURO),
    "TransferRecord.transaction_id": ("The account's transaction; once it is booked", TRANSACTION_ID),
    "TransferWithDestination.transaction_id": ("The account's transaction; once it is booked", None),
    "TransferRecord.trans_link": (
        "The same for the payment's transaction, its fees and its return; once it is booked",
        f"E{PAYMENT_ID:011}",
    ),
    "TransferWithDestination.trans_link": (
        "The same for the payment's transaction, its fees and its return; once it is booked",
        None,
    ),
    "source_bank_account_address": (
        "The account that pays, one object: what the address does not have is empty",
        [_OWN_SIDE],
    ),
    "destination_bank_account_address": ("The account that is paid, one object: what is known of it", [_OTHER_SIDE]),
    "created_at": ("When it was asked for, in Unix seconds, as a string of digits", str(MOMENT)),
    # direct debits
    "epm_mandate_id": ("The mandate", MANDATE_ID),
    "CancelExternalPaymentMandate.reason": ("Why", 2),
    "ChangeDDExternalPaymentStatus.epm_transaction_id": ("The direct debit", PAYMENT_ID),
    "should_pay": ("Whether it is to be paid at its cut-off", 0),
    "ChangeDDExternalPaymentStatus.reason": ("Why; kept where it is not to be paid", 4),
    # simulator
    "SimulateInboundPayment.amount": ("The amount, in minor units", 125000),
    "SimulateInboundPayment.currency_ison": ("The currency: the address's", EURO),
    "scheme": ("How it travels; small letters stand for capitals", "SCT"),
    "sender_name": ("The payer's name", "Meadow Ltd"),
    "SimulateInboundPayment.reference": ("What the holder is told", "Salary"),
    "creditor_name": ("Who may collect", "Riverside Gym"),
    "SimulateMandate.reference": ("The creditor's reference", "MEMBER-1042"),
    "SimulateDirectDebit.epm_mandate_id": ("The mandate by which a creditor announces a collection", MANDATE_ID),
    "SimulateDirectDebit.epm_transaction_id": ("A direct debit that was announced: its cut-off passes now", None),
    "result": ("What the provider reports", "settled"),
    "InboundPayment.reason": ("Why it was bounced", None),
    "Collection.reason": ("Why it is not paid", None),
    "SimulateOutboundResult.reason": ("Why; kept with the payment", None),
    "InboundPayment.transaction_id": ("The account's transaction; left out when it was bounced", TRANSACTION_ID),
    "InboundPayment.state": ("The payment's state: S, or J when it was bounced", "S"),
    "Collection.state": ("The direct debit's state", "P"),
    "cut_off": ("When it is paid or rejected, in Unix seconds", LATER),
    "OutboundResult.state": ("The payment's state", "S"),
    "OutboundResult.transaction_id": (
        "The account's transaction, or that of the return; left out when it was rejected",
        TRANSACTION_ID,
    ),
}

FEES: Mapping[str, tuple[str, Any]] = {
    "CreateCustomFee.card_id": ("A card, one of whose accounts pays", None),
    "CreateCustomFee.account_id": ("The account to charge", ACCOUNT_ID),
    "account_currency": ("Which of the card's accounts pays, by its currency", None),
    "CreateCustomFee.amount": ("The fee, in minor units; else what the code's entry says", 500),
    "CreateCustomFee.currency_ison": ("The fee's currency", EURO),
    "CreateCustomFee.fee_group_id": ("The fee group that has the code", 301),
    "fee_code": ("A code of the group", "CARDREPL"),
    "CreateCustomFee.description": ("What the transaction is described as", "Card replacement"),
    "CreateCustomFee.country_ison": ("Which of the code's entries counts: those for this country", None),
    "CreateCustomFee.transaction_id": ("The transaction that the fee is for, on the same account", None),
    "CustomFee.transaction_id": ("The fee's transaction", TRANSACTION_ID),
    "paginator": ("Which entries are wanted", {"item_count": 20, "offset": 0}),
    "GetFeesGroups.program_id": ("Only groups that this programme, of accounts or cards, allows", 501),
    "NamedGroup.id": ("The group", 301),
    "NamedGroup.name": ("What it is called", "Standard Fees"),
    "FeeEntryRecord.title": ("What the fee is called", "Cash elsewhere"),
    "FeeEntryRecord.transaction_type": (f"What kind of transaction it is for; {_ANY_TYPE}", 1),
    "FeeEntryRecord.entry_mode_type": (f"How the card was read; {_ANY_TYPE}", 99),
    "mcc_low": (f"The first {_OF_RANGE}", 0),
    "mcc_high": (f"The last {_OF_RANGE}", 9999),
    "fixed_price": ("The fixed part, in minor units", 200),
    "percent_price": ("The other part, in percent of the transaction's amount", 1),
    "FeeEntryRecord.currency_ison": ("The currency of the prices", EURO),
    "FeeEntryRecord.country_ison": ("The country that it is for; every one when absent", None),
    "region_id": ("The region that it is for; every one when absent", None),
    "min_amount": ("The fee is at least this, in minor units", 300),
    "max_amount": ("The fee is at most this, in minor units", None),
    "FeeEntryRecord.date_updated": (_CHANGED, MOMENT),
    "code": ("Names the fee: of the entries of one code the first that matches is charged", "ATM"),
}

LIMITS: Mapping[str, tuple[str, Any]] = {
    "record_id": ("The card, account or holder", ACCOUNT_ID),
    "limit_type": ("Whose limits they are", 2),
    "GetLimitsGroups.program_id": ("Only groups that this programme, of accounts or cards, allows", 501),
    "LimitScope.name": ("What the entry is called", "Payments out a day"),
    "amount_currency_ison": ("The currency of the amount", EURO),
    "duration": ("How long its windows are", 1),
    "transaction_type_id": (f"The transaction type that it counts; {_ANY_TYPE}", 99),
    "entry_mode_type_id": (f"How the card was read; {_ANY_TYPE}", 99),
    "limits_tx_type_id": ("The class of transactions that it counts", 3),
    "LimitScope.limits_group_id": ("The limit group", 211),
    "LimitScope.holder_country_ison": (f"The holder's country; {_ANY}", 0),
    "holder_region_id": (f"A region that the holder's country is in; {_ANY}", 0),
    "transaction_region_id": (f"A region that the transaction's country is in; {_ANY}", 0),
    "region_type_id": ("Where the transaction is, seen from the holder", 0),
    "LimitScope.currency_ison": (f"The transaction's currency; {_ANY}", 0),
    "LimitScope.date_updated": (_CHANGED, MOMENT),
    "LimitEntryRecord.count": ("How many transactions there may be in a window", None),
    "LimitEntryRecord.amount": ("How much they may come to, in minor units", 25000000),
    "country_count": ("In how many countries they may be", None),
    "original_count": ("How many transactions there may be in a window", None),
    "LimitStatusRecord.count": (f"How many are left; {MOST_COUNT} without a bound", MOST_COUNT),
    "original_amount": ("How much they may come to, in minor units", 25000000),
    "LimitStatusRecord.amount": (f"How much is left; {MOST_AMOUNT} without a bound", 24997401),
    "original_country_count": ("In how many countries they may be", None),
    "LimitStatusRecord.country_count": (
        f"In how many further countries they may be; {MOST_COUNTRIES} without a bound",
        MOST_COUNTRIES,
    ),
    "date_valid": ("The first second after the window; for a single transaction now", MIDNIGHT),
}


_TYPED_IN = "that was typed in"
_SUBMITTED = "that was told"
_OF_USE = "in minor units of the transaction's currency"
_OF_ACCOUNT = "in minor units of the account's currency"
_UNASKED = "The card, where there was no authorization: instead of `trans_link`"

NETWORK: Mapping[str, tuple[str, Any]] = {
    # card use
    "_CardUse.pan": ("The card's number, instead of `card_id`", None),
    "_CardUse.transaction_type": ("What kind of transaction it is; one below 60", 0),
    "transaction_type": ("What kind of transaction it is", 0),
    "entry_mode_type": ("How the card was read", 5),
    "_CardUse.amount": ("The amount, in minor units, without cashback", 2599),
    "_CardUse.cashback_amount": ("Cash that is handed out on top of the amount, in minor units", None),
    "cashback_amount": ("How much cash was handed out on top, in minor units", None),
    "_CardUse.pin": (f"The PIN {_TYPED_IN}", None),
    "SimulateAuthorization.pin": (f"The PIN {_TYPED_IN}", PIN),
    "_CardUse.cvc2": (f"The CVC2 {_TYPED_IN}", None),
    "_CardUse.expiry_year": (f"The year of expiry {_SUBMITTED}", None),
    "_CardUse.expiry_month": (f"The month of expiry {_SUBMITTED}", None),
    "eci_indicator": ("How the cardholder was authenticated", None),
    "partial_approval": ("Whether a part of the amount would do", None),
    "force_response_code": ("Answer with this response code: nothing is looked at, and no wrong PIN counted", None),
    "SimulateAdvice.response_code": ("What the network has decided", "00"),
    # later messages
    "trans_link": ("Names the whole transaction, from authorization to clearing", TRANS_LINK),
    "SimulateClearing.trans_link": ("The authorization that it belongs to", TRANS_LINK),
    "SimulateClearing.card_id": (_UNASKED, None),
    "SimulateIncrement.amount": (f"How much more is asked for, {_OF_USE}", 500),
    "SimulateReversal.amount": (f"How much is given up, {_OF_USE}; all that is left when absent", None),
    "SimulateClearing.amount": ("What the shop collects, in minor units", 2599),
    "SimulateClearing.currency_ison": ("The currency of that", EURO),
    "final": ("Whether it is the last: what is left is released then. 0 no, 1 yes, also when absent", None),
    "SimulateRefund.amount": ("What the shop gives back, in minor units", 500),
    "SimulateRefund.final": ("Taken, and of no effect", None),
    "SimulateDispute.transaction_id": ("What the shop has collected", TRANSACTION_ID),
    "step": ("How far the dispute is", "opened"),
    "SimulateDispute.amount": (f"What is disputed, {_OF_ACCOUNT}; all of the transaction when absent", None),
    # responses
    "authorize_id": ("The message", AUTHORIZE_ID),
    "response_code": ("How the issuer answers", "00"),
    "auth_code": ("The approval's code", "471082"),
    "approved_amount": (f"How much was approved, {_OF_USE}", 2599),
    "holder_amount": (f"What the amount comes to, {_OF_ACCOUNT}, with the fees that are blended into it", 2599),
    "holder_currency_ison": ("The account's currency", EURO),
    "fee_amount": (f"The fees, {_OF_ACCOUNT}, without that of a conversion", 0),
    "released_amount": (f"What is not held any more, {_OF_ACCOUNT}", 2599),
    "risk_actions": ("What the risk rules have brought about: one object of flags", [dict.fromkeys(RISK_ACTIONS, 0)]),
    "security_checks": ("What was there to be checked: one object of flags", [dict.fromkeys(SECURITY_CHECKS, 0)]),
    "Cleared.transaction_id": ("The transaction", TRANSACTION_ID),
    "dispute_id": ("The dispute", DISPUTE_ID),
}
