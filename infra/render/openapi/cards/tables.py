"""The card API's tables in Markdown: status codes, value lists and states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS
from chalicelib.cards.protocol import payment_states, schemes, states, values
from chalicelib.cards.protocol.card_events import EVENTS
from chalicelib.cards.protocol.status_codes import Status
from chalicelib.foundation.fields.number_rules import CodeWordRule, OneOfRule
from infra.render.openapi.cards.answer_models import answer_of, data_of
from infra.render.openapi.cards.schemas import rule_in
from infra.render.openapi.introduction import table

LISTS: Mapping[str, Mapping[Any, str]] = {
    "Account statuses": states.ACCOUNT_STATES,
    "Card statuses": states.CARD_STATES,
    "PIN statuses": states.PIN_STATES,
    "Reason codes": values.REASONS,
    "Kinds of card": values.KINDS_OF_CARD,
    "Kept or new": values.KEPT_OR_NEW,
    "Holder types": values.HOLDER_TYPES,
    "Groups of an account": values.ACCOUNT_GROUPS,
    "Limit types": values.LIMIT_TYPES,
    "Limit durations": values.DURATIONS,
    "Limit classes": values.LIMIT_CLASSES,
    "Region types": values.REGION_TYPES,
    "Payment methods": schemes.METHODS,
    "Schemes": schemes.SCHEME_NAMES,
    "Kinds of address": values.EPM_TYPES,
    "Address statuses": payment_states.ADDRESS_STATES,
    "Assignment states": values.ASSIGNMENT_STATES,
    "Account types": values.ACCOUNT_TYPES,
    "Kinds of payment": payment_states.PAYMENT_KINDS,
    "Payment states": payment_states.PAYMENT_STATES,
    "Results of payments": payment_states.RESULT_MEANINGS,
    "Mandate states": payment_states.MANDATE_STATES,
    "Direct debit reasons": values.DIRECT_DEBIT_REASONS,
    "Numbered direct debit reasons": values.NUMBERED_DEBIT_REASONS,
    "Answers of a cardholder": values.CONFIRMATIONS,
    "Transaction types": values.TRANSACTION_TYPES,
    "Entry modes": values.ENTRY_MODES,
    "Electronic commerce indicators": values.ECI_INDICATORS,
    "Response codes": values.RESPONSE_CODES,
    "Authorize types": values.AUTHORIZE_TYPES,
    "Authorization states": states.AUTHORIZATION_STATES,
    "Steps of a dispute": states.DISPUTE_STEPS,
}
"""The value lists. Fields that accept only some values of a list enumerate them."""
LIST_OF: Mapping[str, str] = {
    "duration": "Limit durations",
    "limits_tx_type_id": "Limit classes",
    "region_type_id": "Region types",
    "transaction_type_id": "Transaction types",
    "entry_mode_type_id": "Entry modes",
    "FeeEntryRecord.transaction_type": "Transaction types",
    "FeeEntryRecord.entry_mode_type": "Entry modes",
}
"""The value lists of fields that also accept a wildcard, by field name or by model and field name."""
_YES = "yes"


def status_codes() -> str:
    """Return the table of status codes. A column contains whether the error is stored for duplicate requests."""
    rows = [(f"`{status.value}`", status.meaning, _YES if status.is_stored else "no") for status in Status]
    return table(("Code", "Meaning", "Stored for repeats"), rows)


def value_list(name: str) -> str:
    """Return the table of a value list, and the fields that use the list."""
    used = ", ".join(f"`{field}`" for field in fields_with(name))
    text = table(("Value", "Meaning"), [(f"`{value}`", meaning) for value, meaning in LISTS[name].items()])
    return "\n\n".join(part for part in (f"Used by {used}." if used else "", text) if part)


def fields_with(name: str) -> list[str]:
    """Return the fields of all actions and events that use a value list."""
    actions = (*ACTIONS.values(), *SIMULATOR_ACTIONS.values())
    models = [model for action in actions for model in (action.request, answer_of(action)) if model is not None]
    found = []
    for model in (*models, *map(data_of, EVENTS)):
        for field, info in model.model_fields.items():
            rule = rule_in(info)
            if isinstance(rule, OneOfRule | CodeWordRule) and rule.meanings is LISTS[name]:
                found.append(field)
    found += [field for field, listed in LIST_OF.items() if listed == name and "." not in field]
    return sorted(dict.fromkeys(found))


def account_rules() -> str:
    """Return the table of actions that each account status allows."""
    return _rules(states.ACCOUNT_RULES, states.ACCOUNT_STATES)


def card_rules() -> str:
    """Return the table of actions that each card status allows."""
    return _rules(states.CARD_RULES, states.CARD_STATES)


def address_rules() -> str:
    """Return the table of actions that each status of an external payment address allows."""
    return _rules(payment_states.ADDRESS_RULES, payment_states.ADDRESS_STATES)


def mandate_rules() -> str:
    """Return the table of actions that each mandate state allows."""
    return _rules(payment_states.MANDATE_RULES, payment_states.MANDATE_STATES)


def authorization_rules() -> str:
    """Return the table of actions that each authorization state allows."""
    return _rules(states.AUTHORIZATION_RULES, states.AUTHORIZATION_STATES)


def dispute_rules() -> str:
    """Return the table of dispute steps that may follow each step."""
    columns = ["never disputed", *(f"`{step}`" for step in states.DISPUTE_STEPS)]
    rows = [(f"`{step}`", *map(_passes, rule.values())) for step, rule in states.DISPUTE_RULES.items()]
    return table(("Step", *columns), rows)


def payment_rules() -> str:
    """Return the table of actions that each state allows, by type of payment."""
    columns = [f"`{state}`" for state in payment_states.PAYMENT_STATES]
    rows = []
    for action, rule in payment_states.PAYMENT_RULES.items():
        kind = next(kind for (kind, _), status in rule.items() if status is None)
        passes = [_passes(rule[kind, state]) for state in payment_states.PAYMENT_STATES]
        rows.append((f"`{action}`", payment_states.PAYMENT_KINDS[kind], *passes))
    return table(("Action", "Payment", *columns), rows)


def _rules(rules: Mapping[str, states.Rule], every: Iterable[str]) -> str:
    columns = [f"`{state}`" for state in every]
    rows = [(f"`{action}`", *(_passes(rule[state]) for state in every)) for action, rule in rules.items()]
    return table(("Action", *columns), rows)


def _passes(status: Status | None) -> str:
    return _YES if status is None else f"{status.value}"


def card_moves() -> str:
    """Return the table of status changes that changeCardStatus allows."""
    rows = [
        (f"`{before}`", ", ".join(f"`{after}`" for after in states.CARD_STATES_TO_SET if after in moves))
        for before, moves in states.CARD_MOVES.items()
    ]
    return table(("From", "To"), rows)
