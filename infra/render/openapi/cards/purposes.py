"""Groups of card actions, and rules that are not evident from their fields."""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS
from chalicelib.cards.protocol.card_messages import TRACK_NAME
from chalicelib.cards.protocol.card_records import LONGEST_BYTES
from chalicelib.cards.protocol.message import Request
from chalicelib.cards.protocol.states import MISMATCHES_A_DAY, PIN_TRIES
from chalicelib.cards.protocol.values import (
    CUT_OFF_SECONDS,
    HOLD_SECONDS,
    MOST_ADDRESSES,
    MOST_AMOUNT,
    MOST_COUNT,
    MOST_COUNTRIES,
)
from chalicelib.cards.requests.action import Action
from infra.render.openapi.cards import conditions

_PAYMENTS, _SIMULATOR = "External payments", "Simulator"
_DAY = 24 * 3600
GROUPS: Mapping[str, str] = {
    "account_flow": "Accounts",
    "card_flow": "Cards",
    "card_creation_flow": "Cards",
    "card_reissue_flow": "Cards",
    "acs_flow": "Cards",
    "holder_flow": "Holders",
    "address_flow": _PAYMENTS,
    "transfer_flow": _PAYMENTS,
    "return_flow": _PAYMENTS,
    "direct_debits": _PAYMENTS,
    "fee_flow": "Fees",
    "limit_flow": "Limits",
    "report_flow": "Reports",
}
"""The groups of ``POST /api`` actions, by the module that implements them."""

_SHOWN = (
    "The credential's mode determines how the value is returned; if the mode is `absent`, the action is refused with "
    "1103."
)
_BUREAU_RULE = (
    "Embossed lines, thermal lines and chip names have only characters that the programme's card bureau can print "
    "(2004), for virtual cards too."
)
_HOLDER_DATES = (
    "A date of birth or incorporation must not be in the future, nor `kyc_document_expiration_date` in the past, in "
    "UTC (2005)."
)
_GROUP_ALLOWED = "The programme must allow the group (2005)."
_PIN_RULE = "A PIN has 4 digits, which must not be all the same or an ascending or descending sequence (6002)."
_CONVERSION = "`auto_conversion` 1 requires a programme that permits it (2005)."
_REFUSED = "A refusal by the provider is returned as 7001; until the provider responds, the action returns 8001."
_METHOD = (
    "The currency must be the method's (5003): 826 for the United Kingdom, 978 for SEPA. Exchange rates between it and "
    "the account's currency must exist in both directions (5003). An account has at most "
    f"{MOST_ADDRESSES} addresses (2003). {_REFUSED}"
)
_ORDER = "Entries are in the order defined by the operator; `total_items_count` is their total number."
_PAGES = (
    "Rows are in the order of recording; rows recorded while you page follow those already read. A `last_id` that is "
    "not in the list is refused with 3012."
)
_WHOLE = "A return covers the whole amount, and a payment can be returned only once (4004)."

NOTES: Mapping[str, str] = {
    "createAccount": "Omitted groups default to the programme's first; no limit group is set if the programme has "
    f"none. With `skip_holder_validation` 0, the cards must belong to the holder. {_HOLDER_DATES}",
    "changeAccountStatus": "Status C requires zero balances (4008) and is final. The event `account.status_changed` "
    "has the new status and the one before.",
    "changeAccountProgramId": (
        "The programme must be one of your account programmes (3004). The account keeps every group that the programme "
        "allows; others are replaced with its defaults. getAccounts returns the groups, and the event "
        "`account.program_changed` lists the replaced ones."
    ),
    "getAccounts": "Always returns a list: the account, or the accounts of the card. A card and an account that do not "
    "belong together are refused with 3002.",
    "assignAccountToRiskRuleGroup": _GROUP_ALLOWED,
    "assignAccountToLimitRuleGroup": _GROUP_ALLOWED,
    "assignAccountToFeeRuleGroup": _GROUP_ALLOWED,
    "activateCard": f"All card data in the request must be correct (6001). After {MISMATCHES_A_DAY} mismatches in one "
    "UTC day, requests are refused without checking (8004).",
    "assignCardToFeesGroup": _GROUP_ALLOWED,
    "assignCardToLimitsGroup": _GROUP_ALLOWED,
    "assignCardToUsageGroup": _GROUP_ALLOWED,
    "assignCardToRiskRuleGroup": _GROUP_ALLOWED,
    "changeCardSchemeAccountUpdatesStatus": "1 to participate, 0 to opt out.",
    "changeCardStatus": "Setting the current status again succeeds. B is final.",
    "createCard": "Either creates new accounts, one per currency, or uses existing ones with their holders. Omitted "
    f"settings default to the programme's. {_PIN_RULE} {_CONVERSION} {_BUREAU_RULE} {_HOLDER_DATES} The new card is "
    "not activated.",
    "getCvc2": _SHOWN,
    "getCardDetails": "Does not include the number, CVC2, PIN and password.",
    "getCardNumber": _SHOWN,
    "getPin": f"{_SHOWN} The PIN of a virtual card is empty.",
    "getCardStatus": "Returns the status and the reason for its last change.",
    "reissueCard": "The card keeps its `card_id`, gets a new `card_request_id`, and must be activated again. A lost or "
    "stolen card needs a new number, and a virtual card that becomes physical needs a new PIN (2005). Changing between "
    "virtual and physical requires `card_program_id`, and a physical card requires the delivery fields (2006). "
    f"{_PIN_RULE} {_CONVERSION} {_BUREAU_RULE}",
    "setPin": f"{_PIN_RULE} A blocked PIN must be unblocked first (6003). The PIN of a virtual card is accepted, but "
    "`getPin` still returns it empty.",
    "unblockPin": "The PIN is unchanged, and its counter of failed attempts is reset. If the PIN is not blocked, the "
    "action is refused with 4007.",
    "getDesign": "The name is returned both as `card_design_name` and as `name`, to support clients of either "
    "spelling.",
    "getCardAcsPassword": _SHOWN,
    "changeCardAcsPassword": "The old password becomes invalid immediately.",
    "createCardAcsMerchantWhitelistRule": "If a payment matches every criterion of the rule, and one entry of each "
    "list, 3-D Secure does not challenge the cardholder. A `rule_code` must be unique among all your rules (2005), "
    "including those above your access level.",
    "authenticationConfirm": "A request that was answered or has expired is refused with 4008. If `validation_value` "
    "is present, it must match (6004).",
    "getHolder": "Pass either id, or both if they belong together (3002).",
    "getHolderAccounts": "Returns the accounts visible at your access level.",
    "createHolder": "`id` is returned next to `data`, which is empty. The default `access_level` is 0. "
    f"{_HOLDER_DATES}",
    "updateHolder": "`id` is returned next to `data`, which is empty. A change of country that the programme forbids "
    f"is ignored. {_HOLDER_DATES} Stored dates are not checked again.",
    "assignExternalPaymentAddress": f"Always returns a list with one address. {_METHOD} `country_ison` is required if "
    "the holder has none (2006).",
    "assignExternalPaymentAddressForSpecialAccount": "Special accounts are your own accounts, set up by the operator; "
    f"they have no holder, no limits and no fees. {_METHOD}",
    "cancelExternalPaymentMandate": "Pending and later collections under the mandate are rejected. A mandate that is "
    "already cancelled is refused with 4005.",
    "changeDDExternalPaymentStatus": "Can be called repeatedly until the cut-off (4008 afterwards); the last call "
    "counts. Without a call, the direct debit is paid.",
    "getExternalPaymentAddress": "Includes the status and the reason for its last change.",
    "getAccountExternalPaymentAddresses": "Returns the addresses visible at your access level.",
    "changeExternalPaymentAddressStatus": "Setting the current status again succeeds. B is final.",
    "transferToExternalPayment": "Pays in the address's currency (5003), using the first scheme that accepts the "
    "amount (2005 if none does). A UK address pays to a matching sort code and account number, or to a British IBAN; a "
    f"SEPA address pays to a SEPA IBAN (2005). {_REFUSED}",
    "inboundReturn": f"Returns a settled inbound payment of any scheme except BACS (4008). {_WHOLE} {_REFUSED}",
    "directDebitReturn": f"Returns a paid direct debit, regardless of the account's status. {_WHOLE} {_REFUSED}",
    "directCreditReturn": "Returns a settled inbound BACS payment; other payments are refused with 4008. "
    f"{_WHOLE} {_REFUSED}",
    "createCustomFee": "Without `amount`, the fee is the price of an entry for `fee_code`: the first in the requested "
    "currency and for the country, otherwise the first with the code. Percentages apply to the amount of the linked "
    "transaction. `account_currency` must be the account's if `account_id` or `transaction_id` is present (2005). An "
    "unknown code is refused with 2005, insufficient funds with 5001.",
    "getCardFees": _ORDER,
    "getFeesGroups": "All your groups, or those of a programme (3004).",
    "getLimits": f"{_ORDER} Without a limit group, the list is empty.",
    "getLimitsGroups": "All your groups of this type, or those of a programme (3004).",
    "getLimitsStatus": f"{_ORDER} If an entry sets no bound, the remainder is the maximum value: {MOST_COUNT}, "
    f"{MOST_AMOUNT} and {MOST_COUNTRIES}.",
    "getCardsActivity": f"All messages, approved or declined. {_PAGES} The list of all cards shows a row one second "
    "after it was recorded.",
    "getFinancialAuthorizes": f"Approved messages that involve money, except reversals and expiries. {_PAGES}",
    "getTransactions": f"A card and an account that do not belong together are refused with 3002. {_PAGES}",
    "getFinancialDetailAddendums": f"{_PAGES} The list for all transactions shows a row one second after it was "
    "recorded.",
    "simulateAuthentication": "`outcome` is `frictionless` if a rule of the card exempts the payment, `rejected` if "
    "the card is not active, and `challenge` otherwise; a challenge creates a request for `authenticationConfirm`. "
    "Nothing is sent to the cardholder: the response contains the value, as does, encrypted, the event to a programme "
    "manager that delivers it.",
    "simulateAuthorization": "A decline is a success whose `response_code` is neither 00 nor 10. After "
    f"{PIN_TRIES} consecutive wrong PINs, the PIN is blocked (75). An unknown card number gets 14 and is not recorded. "
    "If other requests or slow storage prevent a decision within 2 seconds, the authorization is declined with 91.",
    "simulateAdvice": "Nothing is checked, and only amounts that cannot be converted are declined (57): an amount that "
    "the network approved is held even if funds are insufficient. An unknown card number is refused with 3002.",
    "simulateIncrement": "Requires a held authorization (4008). The increment is declined because of the card's or the "
    f"account's status, limits (61, 65) or funds (51); if approved, it is held for {HOLD_SECONDS // _DAY} days from "
    "now.",
    "simulateReversal": "Requires a held authorization (4008) and at most the amount still held (5004).",
    "simulateExpiry": "Requires a held authorization (4008). A scheduled job does the same for authorizations held for "
    f"{HOLD_SECONDS // _DAY} days.",
    "simulateClearing": "Booked regardless of status and balance, at the current rates and fees (5003 without a rate). "
    "Merchant details in the request replace the earlier ones.",
    "simulateRefund": "The account must be A or R (4003). With `trans_link`, the currency must be that of a clearing "
    "(5003), and the amount at most what was cleared in it, less earlier refunds and disputes (5004); without a "
    "clearing, the refund is refused with 4008.",
    "simulateDispute": "The transaction must be a clearing (4008) and can be disputed once. `amount` is at most the "
    "amount charged, less refunds (5004). `won` and `lost` close an open dispute (4008), once (4002), for its amount "
    "(2005).",
    "simulateInboundPayment": "The scheme must belong to the address's method (2005), and the currency must be the "
    "address's (5003). If the address, the account or limits prevent the payment, it is bounced: the action succeeds "
    "with `state` J.",
    "simulateMandate": "The address must be active (4008).",
    "simulateDirectDebit": f"An announced collection waits {CUT_OFF_SECONDS // 3600} hours for its cut-off; under a "
    "cancelled mandate, it is rejected immediately. At the cut-off it is paid if permitted and if funds and limits "
    "suffice, otherwise rejected; both are successes.",
    "simulateOutboundResult": "A pending payment is settled or rejected; a settled one is returned. Repeating the same "
    "result has no effect and succeeds; a different one is refused with 4008, or with 4004 for a returned payment.",
    "simulateAddendum": "Can be called repeatedly.",
}

FURTHER: Mapping[str, str] = {
    "check_track_names": "`track_data_first_name` and `track_data_last_name` have at most "
    f"{TRACK_NAME} characters together (2003).",
    "check_amount": "`amount` must be greater than 0 (2005).",
    "check_total_amount": "`amount` and `cashback_amount` have at most 15 digits together (2003).",
    "check_dates": "No period may end before it begins (2005).",
    "check_owners": "`account_owner_id` must have as many entries as `account_id` (2003).",
    "check_password_length": f"`acs_password` has at most {LONGEST_BYTES} bytes in UTF-8 (2003).",
}
"""Sentences about checks that span several fields, by the name of the check."""


def group(action: Action) -> str:
    """The group of an action. Raises: LookupError."""
    return _SIMULATOR if action.name in SIMULATOR_ACTIONS else GROUPS[action.handler.__module__.rpartition(".")[2]]


def group_members() -> Mapping[str, list[Action]]:
    """All actions by group, in the table's order."""
    every = [*ACTIONS.values(), *SIMULATOR_ACTIONS.values()]
    names = dict.fromkeys([*GROUPS.values(), _SIMULATOR])
    return {name: [action for action in every if group(action) == name] for name in names}


def rules(action: Action) -> list[str]:
    """The rules for an action's request beyond its individual fields, as sentences."""
    model = action.request
    further = [FURTHER[check.__name__] for check in model.further]
    return [NOTES[action.name], *conditions.as_sentences(model), *_nullable_members(model), *further, *_repeats(action)]


def _nullable_members(model: type[Request]) -> list[str]:
    if not model.emptied:
        return []
    names = [f"`{name}`" for name in model.model_fields if name in model.emptied]
    return [f"Absent fields keep their values; null clears {', '.join(names[:-1])} and {names[-1]}."]


def _repeats(action: Action) -> list[str]:
    if action.effect == "reveal":
        return ["A repeat with the same `request_reference_id` reads the current value."]
    if action.seals:
        return ["A repeat gets the same response for 24 hours, afterwards without card data."]
    return []
