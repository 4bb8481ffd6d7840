"""Meanings of the members of external payments, fees, limits and the simulator, in the format of ``meanings``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.cards.protocol.values import MOST_AMOUNT, MOST_COUNT, MOST_COUNTRIES, RISK_ACTIONS, SECURITY_CHECKS
from infra.render.openapi.cards.example_values import (
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
_TOLD = "The reference for the other party"
_ANY_TYPE, _ANY = "99 matches any", "0 matches any"
_OF_RANGE = "merchant category code of the range"
_CHANGED = "When the operator last changed the entry, in Unix seconds"
_OWN_SIDE = {"id": ADDRESS_ID, "account_number": "", "account_name": _NAME, "iban": _IBAN, "sort_code": "", "bic": _BIC}
_OTHER_SIDE = {"account_name": _OTHER_NAME, "iban": _OTHER_IBAN}

PAYMENTS: Mapping[str, tuple[str, Any]] = {
    # addresses
    "OwnBankAccount.id": ("The external payment address", ADDRESS_ID),
    "epm_address_id": ("The external payment address", ADDRESS_ID),
    "AddressRecord.id": ("The external payment address", ADDRESS_ID),
    "AddressRecord.access_level": ("The minimum access level that can see the address", 0),
    "AddressRecord.account_id": ("The address's account: a holder's or a special one", ACCOUNT_ID),
    "AddressRecord.card_id": ("The card specified when the address was assigned", None),
    "epm_method_id": ("The payment method", 2),
    "epm_type_id": ("The type of account identifiers", 2),
    "special_account_id": ("The special account", 802),
    "_Assignment.currency_ison": ("The address's currency: that of the method", EURO),
    "AssignExternalPaymentAddress.country_ison": ("The address's country; default: the holder's", 276),
    "AssignExternalPaymentAddressForSpecialAccount.country_ison": (
        "The address's country; default: the special account's",
        276,
    ),
    "AssignExternalPaymentAddress.card_id": (
        "A card of the account, recorded in transactions; its limits also apply",
        None,
    ),
    "AssignExternalPaymentAddressForSpecialAccount.card_id": ("A card to record in transactions", None),
    "account_name": ("The account name shown to other parties", _NAME),
    "AssignExternalPaymentAddress.account_name": (
        "The account name shown to other parties; default: the holder's name",
        _NAME,
    ),
    "AssignExternalPaymentAddressForSpecialAccount.account_name": (
        "The account name shown to other parties; default: the special account's",
        None,
    ),
    "risk_score": ("Your own assessment; stored", None),
    "active": ("Whether the address is assigned and its status is A", 1),
    "account_number": ("The account number of a UK address", None),
    "sort_code": ("The sort code of a UK address", None),
    "iban": ("The IBAN", _IBAN),
    "bic": ("The bank's BIC of a SEPA address", _BIC),
    "direct_credit_enabled": ("Whether Bacs direct credits are accepted", 0),
    "direct_debit_enabled": ("Whether direct debits are accepted", 1),
    "inbound_enabled": ("Whether inbound payments are accepted", 1),
    "outbound_enabled": ("Whether outbound payments are allowed", 1),
    "account_type": ("The type of account", 1),
    "assignment_state": ("The state of the assignment at the provider", 1),
    "ChangeExternalPaymentAddressStatus.status": ("The address's new status", "S"),
    "AddressWithStatus.status": ("The address's status", "A"),
    # payments
    "epm_transaction_id": ("The external payment", PAYMENT_ID),
    "destination_account_number": ("The account number, for a UK address; leading zeros may be missing", None),
    "destination_account_name": ("The account holder's name", _OTHER_NAME),
    "destination_iban": ("The IBAN; for a UK address, it must be British", _OTHER_IBAN),
    "destination_sort_code": ("The sort code, for a UK address", None),
    "TransferToExternalPayment.currency_ison": ("The currency: the address's", EURO),
    "TransferToExternalPayment.reference_number": (_TOLD, "Invoice 2041"),
    "description": ("The transaction's description", "Books"),
    "TransferToExternalPayment.note": ("A note of yours; stored", None),
    "withdrawal_purpose": (_STORED, None),
    "receiver_type": (_STORED, None),
    "TransferToExternalPayment.industry_id": (_STORED, None),
    "schemes": (
        (
            "Schemes in order of preference: the first that accepts the amount is used. Default: FPS, then CHAPS, or "
            "SCTINST, then SCT"
        ),
        ["SCTINST", "SCT"],
    ),
    "InboundReturn.epm_transaction_id": ("The inbound payment", PAYMENT_ID),
    "InboundReturn.reason": ("The reason; required for SCTINST and SCT", 2),
    "DirectCreditReturn.epm_transaction_id": ("The inbound Bacs direct credit", PAYMENT_ID),
    "return_reason_id": ("Why", 2),
    "returned_epm_transaction_id": ("The direct debit", PAYMENT_ID),
    "DirectDebitReturn.reason": ("The reason; lower case is accepted", "MD06"),
    "reference": (_TOLD, None),
    "TransferRecord.id": ("The external payment; for a return, the return itself", PAYMENT_ID),
    "external_transaction_reference": ("The provider's own reference number", 9000000000 + PAYMENT_ID),
    "settlement_amount": (
        (
            "The amount in the account's currency, in minor units, including a conversion fee if it is blended, but "
            "no other fees"
        ),
        2599,
    ),
    "settlement_currency": ("The account's currency", EURO),
    "instructed_amount": ("The amount transferred, in minor units", 2599),
    "instructed_currency": ("The currency of the transfer: the address's", EURO),
    "TransferRecord.transaction_id": ("The account's transaction, once it is booked", TRANSACTION_ID),
    "TransferWithDestination.transaction_id": ("The account's transaction, once it is booked", None),
    "TransferRecord.trans_link": (
        "Links the payment's transaction, its fees and its return; present once booked",
        f"E{PAYMENT_ID:011}",
    ),
    "TransferWithDestination.trans_link": (
        "Links the payment's transaction, its fees and its return; present once booked",
        None,
    ),
    "source_bank_account_address": (
        "The payer's account, as a single object; values that the address lacks are empty",
        [_OWN_SIDE],
    ),
    "destination_bank_account_address": (
        "The payee's account, as a single object with the known values",
        [_OTHER_SIDE],
    ),
    "created_at": ("When the payment was requested: Unix seconds as a string of digits", str(MOMENT)),
    # direct debits
    "epm_mandate_id": ("The mandate", MANDATE_ID),
    "CancelExternalPaymentMandate.reason": ("Why", 2),
    "ChangeDDExternalPaymentStatus.epm_transaction_id": ("The direct debit", PAYMENT_ID),
    "should_pay": ("Whether to pay the direct debit at its cut-off", 0),
    "ChangeDDExternalPaymentStatus.reason": ("The reason; stored if the direct debit is not to be paid", 4),
    # simulator
    "SimulateInboundPayment.amount": ("The amount, in minor units", 125000),
    "SimulateInboundPayment.currency_ison": ("The currency: the address's", EURO),
    "scheme": ("The payment scheme; lower case is accepted", "SCT"),
    "sender_name": ("The payer's name", "Meadow Ltd"),
    "SimulateInboundPayment.reference": ("The reference for the holder", "Salary"),
    "creditor_name": ("The creditor's name", "Riverside Gym"),
    "SimulateMandate.reference": ("The creditor's reference", "MEMBER-1042"),
    "SimulateDirectDebit.epm_mandate_id": ("The mandate under which a creditor announces a collection", MANDATE_ID),
    "SimulateDirectDebit.epm_transaction_id": (
        "An announced direct debit, whose cut-off is brought forward to now",
        None,
    ),
    "result": ("The result reported by the provider", "settled"),
    "InboundPayment.reason": ("The reason for the bounce", None),
    "Collection.reason": ("The reason for non-payment", None),
    "SimulateOutboundResult.reason": ("The reason; stored with the payment", None),
    "InboundPayment.transaction_id": ("The account's transaction; absent if the payment was bounced", TRANSACTION_ID),
    "InboundPayment.state": ("The payment's state: S, or J if it was bounced", "S"),
    "Collection.state": ("The direct debit's state", "P"),
    "cut_off": ("When the direct debit is paid or rejected, in Unix seconds", LATER),
    "OutboundResult.state": ("The payment's state", "S"),
    "OutboundResult.transaction_id": (
        "The account's transaction, or the return's; absent if the payment was rejected",
        TRANSACTION_ID,
    ),
}

FEES: Mapping[str, tuple[str, Any]] = {
    "CreateCustomFee.card_id": ("A card with an account to charge", None),
    "CreateCustomFee.account_id": ("The account to charge", ACCOUNT_ID),
    "account_currency": ("The currency of the account; selects one if only card_id is present", None),
    "CreateCustomFee.amount": ("The fee, in minor units; default: the price of the code's entry", 500),
    "CreateCustomFee.currency_ison": ("The fee's currency", EURO),
    "CreateCustomFee.fee_group_id": ("The fee group that contains the code", 301),
    "fee_code": ("A code of the group", "CARDREPL"),
    "CreateCustomFee.description": ("The transaction's description", "Card replacement"),
    "CreateCustomFee.country_ison": ("The country that selects among the code's entries", None),
    "CreateCustomFee.transaction_id": ("The transaction that incurred the fee, on the same account", None),
    "CustomFee.transaction_id": ("The fee's transaction", TRANSACTION_ID),
    "paginator": ("The page to return", {"item_count": 20, "offset": 0}),
    "GetFeesGroups.program_id": ("Returns only the groups allowed by this account or card programme", 501),
    "NamedGroup.id": ("The group", 301),
    "NamedGroup.name": ("The name", "Standard Fees"),
    "FeeEntryRecord.title": ("The fee's name", "Cash elsewhere"),
    "FeeEntryRecord.transaction_type": (f"The transaction type to which the fee applies; {_ANY_TYPE}", 1),
    "FeeEntryRecord.entry_mode_type": (f"The entry mode; {_ANY_TYPE}", 99),
    "mcc_low": (f"The first {_OF_RANGE}", 0),
    "mcc_high": (f"The last {_OF_RANGE}", 9999),
    "fixed_price": ("The fixed part, in minor units", 200),
    "percent_price": ("The variable part, as a percentage of the transaction's amount", 1),
    "FeeEntryRecord.currency_ison": ("The currency of the prices", EURO),
    "FeeEntryRecord.country_ison": ("The country to which the fee applies; all countries when absent", None),
    "region_id": ("The region to which the fee applies; all regions when absent", None),
    "min_amount": ("The minimum fee, in minor units", 300),
    "max_amount": ("The maximum fee, in minor units", None),
    "FeeEntryRecord.date_updated": (_CHANGED, MOMENT),
    "code": ("The fee code: the first matching entry of a code is charged", "ATM"),
}

LIMITS: Mapping[str, tuple[str, Any]] = {
    "record_id": ("The card, account or holder", ACCOUNT_ID),
    "limit_type": ("The type of limits", 2),
    "GetLimitsGroups.program_id": ("Returns only the groups allowed by this account or card programme", 501),
    "LimitScope.name": ("The entry's name", "Payments out a day"),
    "amount_currency_ison": ("The currency of the amount", EURO),
    "duration": ("The length of a window", 1),
    "transaction_type_id": (f"The transaction type counted; {_ANY_TYPE}", 99),
    "entry_mode_type_id": (f"The entry mode; {_ANY_TYPE}", 99),
    "limits_tx_type_id": ("The class of transactions counted", 3),
    "LimitScope.limits_group_id": ("The limit group", 211),
    "LimitScope.holder_country_ison": (f"The holder's country; {_ANY}", 0),
    "holder_region_id": (f"A region that includes the holder's country; {_ANY}", 0),
    "transaction_region_id": (f"A region that includes the transaction's country; {_ANY}", 0),
    "region_type_id": ("The transaction's location relative to the holder", 0),
    "LimitScope.currency_ison": (f"The transaction's currency; {_ANY}", 0),
    "LimitScope.date_updated": (_CHANGED, MOMENT),
    "LimitEntryRecord.count": ("The maximum number of transactions per window", None),
    "LimitEntryRecord.amount": ("The maximum total amount per window, in minor units", 25000000),
    "country_count": ("The maximum number of countries per window", None),
    "original_count": ("The maximum number of transactions per window", None),
    "LimitStatusRecord.count": (f"The number of transactions left; {MOST_COUNT} without a bound", MOST_COUNT),
    "original_amount": ("The maximum total amount per window, in minor units", 25000000),
    "LimitStatusRecord.amount": (f"The amount left, in minor units; {MOST_AMOUNT} without a bound", 24997401),
    "original_country_count": ("The maximum number of countries per window", None),
    "LimitStatusRecord.country_count": (
        f"The number of further countries left; {MOST_COUNTRIES} without a bound",
        MOST_COUNTRIES,
    ),
    "date_valid": ("The first second after the window; the current time for single-transaction limits", MIDNIGHT),
}


_TYPED_IN = "entered"
_SUBMITTED = "submitted"
_OF_USE = "in minor units of the transaction's currency"
_OF_ACCOUNT = "in minor units of the account's currency"
_UNASKED = "The card, instead of `trans_link`, if there was no authorization"

NETWORK: Mapping[str, tuple[str, Any]] = {
    # card use
    "_CardUse.pan": ("The card's number, instead of `card_id`", None),
    "_CardUse.transaction_type": ("The transaction type, below 60", 0),
    "transaction_type": ("The transaction type", 0),
    "entry_mode_type": ("The entry mode", 5),
    "_CardUse.amount": ("The amount, in minor units, without cashback", 2599),
    "_CardUse.cashback_amount": ("Cash paid out in addition to the amount, in minor units", None),
    "cashback_amount": ("Cash paid out in addition to the amount, in minor units", None),
    "_CardUse.pin": (f"The PIN {_TYPED_IN}", None),
    "SimulateAuthorization.pin": (f"The PIN {_TYPED_IN}", PIN),
    "_CardUse.cvc2": (f"The CVC2 {_TYPED_IN}", None),
    "_CardUse.expiry_year": (f"The year of expiry {_SUBMITTED}", None),
    "_CardUse.expiry_month": (f"The month of expiry {_SUBMITTED}", None),
    "eci_indicator": ("How the cardholder was authenticated", None),
    "partial_approval": ("Whether approval of part of the amount is acceptable", None),
    "force_response_code": ("Respond with this code, without any checks and without counting incorrect PINs", None),
    "SimulateAdvice.response_code": ("The network's decision", "00"),
    # later messages
    "trans_link": ("Links all messages of a transaction, from authorization to clearing", TRANS_LINK),
    "SimulateClearing.trans_link": ("The authorization to clear", TRANS_LINK),
    "SimulateClearing.card_id": (_UNASKED, None),
    "SimulateIncrement.amount": (f"The additional amount requested, {_OF_USE}", 500),
    "SimulateReversal.amount": (f"The amount to reverse, {_OF_USE}; the whole remainder when absent", None),
    "SimulateClearing.amount": ("The amount to clear, in minor units", 2599),
    "SimulateClearing.currency_ison": ("The currency of the amount", EURO),
    "final": ("Whether this is the last clearing, which releases the remainder: 0 no, 1 yes (default)", None),
    "SimulateRefund.amount": ("The amount refunded, in minor units", 500),
    "SimulateRefund.final": ("Accepted, without effect", None),
    "SimulateDispute.transaction_id": ("The cleared transaction", TRANSACTION_ID),
    "step": ("The step of the dispute", "opened"),
    "SimulateDispute.amount": (f"The disputed amount, {_OF_ACCOUNT}; the whole transaction when absent", None),
    # responses
    "authorize_id": ("The message", AUTHORIZE_ID),
    "response_code": ("The issuer's response", "00"),
    "auth_code": ("The approval code", "471082"),
    "approved_amount": (f"The approved amount, {_OF_USE}", 2599),
    "holder_amount": (f"The amount charged, {_OF_ACCOUNT}, including blended fees", 2599),
    "holder_currency_ison": ("The account's currency", EURO),
    "fee_amount": (f"The fees, {_OF_ACCOUNT}, without the conversion fee", 0),
    "released_amount": (f"The amount released from hold, {_OF_ACCOUNT}", 2599),
    "risk_actions": (
        "The actions triggered by risk rules, as a single object of flags",
        [dict.fromkeys(RISK_ACTIONS, 0)],
    ),
    "security_checks": (
        "The security data present in the message, as a single object of flags",
        [dict.fromkeys(SECURITY_CHECKS, 0)],
    ),
    "Cleared.transaction_id": ("The transaction", TRANSACTION_ID),
    "dispute_id": ("The dispute", DISPUTE_ID),
}
