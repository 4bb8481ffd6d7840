"""What each card action is for besides its one line: its group, and the rules that its fields do not tell."""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.cards.protocol.actions import ACTIONS, SIMULATED, Action
from chalicelib.cards.protocol.card_blocks import TRACK_NAME
from chalicelib.cards.protocol.card_fields import LONGEST_BYTES
from chalicelib.cards.protocol.message import Request
from chalicelib.cards.protocol.states import MISMATCHES_A_DAY, PIN_TRIES
from infra.openapi.cards import conditions
from infra.openapi.models import module_of

GROUPS: Mapping[str, str] = {
    "account_messages": "Accounts",
    "card_messages": "Cards",
    "holder_messages": "Holders",
    "simulator_messages": "Simulator",
}
"""The groups of actions, by the module that their requests stand in."""

_SHOWN = "It is shown as the mode of the credential says; where that is `absent`, the answer is 1103."
_GROUP_ALLOWED = "The group has to be one that the programme allows (2005)."
_PIN_RULE = "A PIN has 4 digits, not all the same and no sequence up or down (6002)."
_CONVERSION = "`auto_conversion` 1 needs a programme that permits it (2005)."

NOTES: Mapping[str, str] = {
    "createAccount": "Groups that are left out are the programme's first; without a limit group in the programme none "
    "is set. With `skip_holder_validation` 0 the cards have to be the holder's own.",
    "changeAccountStatus": "C needs balances of zero (4008), and is final.",
    "changeAccountProgramId": "The programme has to be an account programme of yours (3004).",
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
    "simulateAuthentication": "`outcome` is `frictionless` when a rule of the card lets the payment pass, `rejected` "
    "when the card is not active, else `challenge`: then there is a request that `authenticationConfirm` answers. "
    "Nothing is sent to anybody: the answer has the value that the cardholder would get.",
    "simulateAuthorization": f"A decline is a success, with another `response_code` than 00. After {PIN_TRIES} wrong "
    "PINs in a row the PIN is blocked (75).",
}

FURTHER: Mapping[str, str] = {
    "track_names": "`track_data_first_name` and `track_data_last_name` have at most "
    f"{TRACK_NAME} characters together (2003).",
    "_owners": "`account_owner_id` has as many entries as `account_id` (2003).",
    "_password_length": f"`acs_password` has at most {LONGEST_BYTES} bytes in UTF-8 (2003).",
}
"""What models check of fields that are right each by itself, by the name of the check."""


def group(action: Action) -> str:
    """The group that an action belongs to. Raises: LookupError."""
    return GROUPS[module_of(action.request)]


def grouped() -> Mapping[str, list[Action]]:
    """All actions by their groups, in the order of the table."""
    every = [*ACTIONS.values(), *SIMULATED.values()]
    return {name: [action for action in every if group(action) == name] for name in GROUPS.values()}


def rules(action: Action) -> list[str]:
    """Everything that is to be known of an action's request besides its fields, sentence by sentence."""
    model = action.request
    further = [FURTHER[check.__name__] for check in model.further]
    return [NOTES[action.name], *conditions.in_words(model), *_emptied(model), *further, *_repeats(action)]


def _emptied(model: type[Request]) -> list[str]:
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
