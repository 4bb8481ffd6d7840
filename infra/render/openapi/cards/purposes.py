"""Groups of card actions, and the rules of each action: the docstring of its handler, and the conditions on its
fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS
from chalicelib.cards.protocol.message import Request
from chalicelib.cards.requests.action import Action
from infra.render.openapi.cards import conditions

_PAYMENTS, _SIMULATOR = "External payments", "Simulator"
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


def group(action: Action) -> str:
    """Return the group of an action. Raises: LookupError."""
    return _SIMULATOR if action.name in SIMULATOR_ACTIONS else GROUPS[action.handler.__module__.rpartition(".")[2]]


def group_members() -> Mapping[str, list[Action]]:
    """Return the actions of each group, in the table's order."""
    every = [*ACTIONS.values(), *SIMULATOR_ACTIONS.values()]
    names = dict.fromkeys([*GROUPS.values(), _SIMULATOR])
    return {name: [action for action in every if group(action) == name] for name in names}


def rules(action: Action) -> list[str]:
    """Return the rules for an action's request as sentences. Rules for individual fields are omitted.

    The list begins with the docstring of the action's handler, followed by the conditions on fields and the docstrings
    of the request's checks.
    """
    model = action.request
    further = map(_described, model.further)
    return [
        _described(action.handler),
        *conditions.as_sentences(model),
        *_nullable_members(model),
        *further,
        *_repeats(action),
    ]


def _described(function: Callable[..., object]) -> str:
    if not function.__doc__:
        raise LookupError(f"{function.__module__}.{function.__qualname__} has no docstring: add it, with its rules")
    return " ".join(function.__doc__.replace("``", "`").split())


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
