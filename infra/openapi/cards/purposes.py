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
from infra.openapi.cards import conditions

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

_SHOWN = "It is shown as the mode of the credential says; where that is `absent`, the answer is 1103."
_GROUP_ALLOWED = "The group has to be one that the programme allows (2005)."
_PIN_RULE = "A PIN has 4 digits, not all the same and no sequence up or down (6002)."
_CONVERSION = "`auto_conversion` 1 needs a programme that permits it (2005)."
_REFUSED = "What the provider refuses is 7001; while it is silent, the answer is 8001."
_METHOD = (
    "The currency has to be that of the method (5003): 826 for the United Kingdom, 978 for SEPA. There have to be "
    "exchange rates between it and the account's currency, both ways (5003). An account has at most "
    f"{MOST_ADDRESSES} addresses (2003). {_REFUSED}"
)
_ORDER = "The entries in the order in which the operator has written them; `total_items_count` is how many there are."
_PAGES = (
    "Rows in the order of recording; those that come while you page stand after what you have read. A `last_id` that "
    "names no row of the list is 3012."
)
_WHOLE = "A return is of the whole amount, and there is one at most (4004)."

NOTES: Mapping[str, str] = {
    "createAccount": "Groups that are left out are the programme's first; without a limit group in the programme none "
    "is set. With `skip_holder_validation` 0 the cards have to be the holder's own.",
    "changeAccountStatus": "C needs balances of zero (4008), and is final.",
    "changeAccountProgramId": (
        "The programme has to be an account programme of yours (3004). The account keeps every group that it allows, "
        "and gets its default in place of others; getAccounts shows the groups, and the event "
        "`account.program_changed` names those that were replaced."
    ),
    "getAccounts": "Always a list: the account, or those of the card. A card and an account that do not belong "
    "together are 3002.",
    "assignAccountToRiskRuleGroup": _GROUP_ALLOWED,
    "assignAccountToLimitRuleGroup": _GROUP_ALLOWED,
    "assignAccountToFeeRuleGroup": _GROUP_ALLOWED,
    "activateCard": f"Whatever is given of the card has to be right (6001); after {MISMATCHES_A_DAY} mismatches in one "
    "UTC day nothing more is looked at (8004).",
    "assignCardToFeesGroup": _GROUP_ALLOWED,
    "assignCardToLimitsGroup": _GROUP_ALLOWED,
    "assignCardToUsageGroup": _GROUP_ALLOWED,
    "assignCardToRiskRuleGroup": _GROUP_ALLOWED,
    "changeCardSchemeAccountUpdatesStatus": "1 takes part, 0 does not.",
    "changeCardStatus": "The same status once more succeeds. B is final.",
    "createCard": "Either new accounts, one for each currency, or existing ones with their holders. What is left out "
    f"is as the programme says. {_PIN_RULE} {_CONVERSION} The card is not activated yet.",
    "getCvc2": _SHOWN,
    "getCardDetails": "Without number, CVC2, PIN and password.",
    "getCardNumber": _SHOWN,
    "getPin": f"{_SHOWN} It is empty for a virtual card.",
    "getCardStatus": "The status, and why it was changed last.",
    "reissueCard": "The card keeps its `card_id`, gets another `card_request_id`, and has to be activated again. A "
    "lost or stolen card needs a new number, a virtual one that becomes physical a new PIN (2005); when virtual and "
    f"physical change, `card_program_id` is required, and for a physical card the delivery (2006). {_PIN_RULE} "
    f"{_CONVERSION}",
    "setPin": f"{_PIN_RULE} A PIN that is blocked has to be unblocked first (6003). Of a virtual card it is taken, and "
    "`getPin` stays empty.",
    "unblockPin": "The PIN stays the same, and its tries begin anew. One that is not blocked is 4007.",
    "getDesign": "The name is told twice, as `card_design_name` and as `name`: clients of both spellings are served.",
    "getCardAcsPassword": _SHOWN,
    "changeCardAcsPassword": "The old password ends at once.",
    "createCardAcsMerchantWhitelistRule": "A payment has to meet every criterion that is given, and one entry of each "
    "list; then 3-D Secure asks the cardholder nothing. A `rule_code` is used once among all your rules (2005), "
    "also those that your level does not let you see.",
    "authenticationConfirm": "A request that was answered or has expired is 4008; a `validation_value` is compared "
    "when it is given (6004).",
    "getHolder": "By either, or by both when they belong together (3002).",
    "getHolderAccounts": "Those that your level lets you see.",
    "createHolder": "`id` stands beside `data`, which is empty. Without `access_level` the holder's level is 0.",
    "updateHolder": "`id` stands beside `data`, which is empty. A change of the country that the programme forbids is "
    "ignored.",
    "assignExternalPaymentAddress": f"Always a list, of the one address. {_METHOD} `country_ison` is required when the "
    "holder has none (2006).",
    "assignExternalPaymentAddressForSpecialAccount": f"Special accounts are your own, set up by the operator: they "
    f"have no holder, no limits and no fees. {_METHOD}",
    "cancelExternalPaymentMandate": "Collections by it that are pending, and later ones, are rejected. Cancelled "
    "already: 4005.",
    "changeDDExternalPaymentStatus": "As often as you like before the cut-off (4008 afterwards): the last one counts. "
    "Without one the direct debit is paid.",
    "getExternalPaymentAddress": "With its status, and why it was changed last.",
    "getAccountExternalPaymentAddresses": "Those that your level lets you see.",
    "changeExternalPaymentAddressStatus": "The same status once more succeeds. B is final.",
    "transferToExternalPayment": "Pays in the address's currency (5003), by the first scheme that takes the amount "
    "(2005 when none does). An address of the United Kingdom pays to sort code and account number that belong "
    f"together, or to a British IBAN, one in SEPA to an IBAN of SEPA (2005). {_REFUSED}",
    "inboundReturn": f"Sends back a settled payment that came in by any scheme but BACS (4008). {_WHOLE} {_REFUSED}",
    "directDebitReturn": f"Takes back a direct debit that was paid, in whatever status the account is. {_WHOLE} "
    f"{_REFUSED}",
    "directCreditReturn": f"Sends back a settled payment that came in by BACS; others are 4008. {_WHOLE} {_REFUSED}",
    "createCustomFee": "Without an amount it is the price of the entry of `fee_code`: of those in the wished currency "
    "and for the country the first, else the first of the code. An entry's percentage is of the linked transaction's "
    "amount. An unknown code is 2005; not enough funds are 5001.",
    "getCardFees": _ORDER,
    "getFeesGroups": "All of yours, or those of a programme (3004).",
    "getLimits": f"{_ORDER} Without a limit group there are none.",
    "getLimitsGroups": "All of this type, or those of a programme (3004).",
    "getLimitsStatus": f"{_ORDER} Where an entry sets no bound, what is left is the largest number: {MOST_COUNT}, "
    f"{MOST_AMOUNT} and {MOST_COUNTRIES}.",
    "getCardsActivity": f"Every message, approved or declined. {_PAGES} The list over all cards shows a row when it is "
    "a second old.",
    "getFinancialAuthorizes": f"Messages that were approved and are about money, but those that give up. {_PAGES}",
    "getTransactions": f"A card and an account that do not belong together are 3002. {_PAGES}",
    "getFinancialDetailAddendums": f"{_PAGES} The list over all transactions shows a row when it is a second old.",
    "simulateAuthentication": "`outcome` is `frictionless` when a rule of the card lets the payment pass, `rejected` "
    "when the card is not active, else `challenge`: then there is a request that `authenticationConfirm` answers. "
    "The cardholder is sent nothing: the answer has the value, and so has the event of who delivers it, encrypted.",
    "simulateAuthorization": "A decline is a success, with another `response_code` than 00 or 10. After "
    f"{PIN_TRIES} wrong PINs in a row the PIN is blocked (75). A number that no card has is answered 14, and recorded "
    "nowhere. What cannot be decided within 2 seconds, because other requests are in the way, is declined with 91.",
    "simulateAdvice": "Nothing is looked at, and nothing declined but what cannot be converted (57): what the network "
    "has approved is held even if there is not so much. A number that no card has is 3002.",
    "simulateIncrement": "Of an authorization that is held (4008). It is declined for the card's or the account's "
    f"status, limits (61, 65) or funds (51); approved, it is held for {HOLD_SECONDS // _DAY} days from now.",
    "simulateReversal": "Of an authorization that is held (4008), and of no more than is left of it (5004).",
    "simulateExpiry": "What a schedule does as well, when an authorization has been held for "
    f"{HOLD_SECONDS // _DAY} days. Of one that is held (4008).",
    "simulateClearing": "Booked whatever the status and the balance, at the rates and fees of this moment (5003 "
    "without a rate). What the shop says of itself stands in the place of what it said before.",
    "simulateRefund": "To an account that is A or R (4003). With `trans_link` in a currency in which something was "
    "cleared (5003), and at most that, less what was refunded or disputed before (5004); nothing cleared is 4008.",
    "simulateDispute": "Of what a shop has collected (4008), once. `amount` is at most what the transaction took, and "
    "what is left of it after refunds (5004). `won` and `lost` end what was opened (4008), once (4002), and for "
    "its amount (2005).",
    "simulateInboundPayment": "The scheme has to be one of the address's method (2005), the currency the address's "
    "(5003). Where address, account or limits are in the way the payment is bounced: a success, with `state` J.",
    "simulateMandate": "The address has to be active (4008).",
    "simulateDirectDebit": f"A collection that is announced waits {CUT_OFF_SECONDS // 3600} hours for its cut-off; by "
    "a mandate that is cancelled it is rejected at once. At the cut-off it is paid, if it may be and funds and limits "
    "suffice, or rejected: both are successes.",
    "simulateOutboundResult": "A pending payment is settled or rejected, a settled one returned. The same result once "
    "more changes nothing and succeeds; another one is 4008, of a returned payment 4004.",
    "simulateAddendum": "As often as you like.",
}

FURTHER: Mapping[str, str] = {
    "check_track_names": "`track_data_first_name` and `track_data_last_name` have at most "
    f"{TRACK_NAME} characters together (2003).",
    "check_amount": "`amount` is more than 0 (2005).",
    "check_total_amount": "`amount` and `cashback_amount` have at most 15 digits together (2003).",
    "check_dates": "No span ends before it begins (2005).",
    "check_owners": "`account_owner_id` has as many entries as `account_id` (2003).",
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
    return [f"A field that is absent keeps its value; null empties {', '.join(names[:-1])} and {names[-1]}."]


def _repeats(action: Action) -> list[str]:
    if action.effect == "reveal":
        return ["A repeat with the same `request_reference_id` reads anew."]
    if action.seals:
        return ["A repeat gets the same answer for 24 hours, afterwards without card data."]
    return []
