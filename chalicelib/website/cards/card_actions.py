"""Forms for card API actions: the fields of each form. The action's request model defines their rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.cards.protocol import values
from chalicelib.cards.protocol.message import Needs, Request
from chalicelib.cards.protocol.states import CARD_MOVES, CARD_RULES, CARD_STATES, PIN_IS_BLOCKED
from chalicelib.foundation.fields.field_types import ValueRule, rule_in
from chalicelib.foundation.fields.number_rules import CodeRule, CodeWordRule, OneOfRule
from chalicelib.foundation.fields.registries import country_numbers
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.website.cards.card_text import currency_code
from chalicelib.website.cards.country_choice import INVALID, country_number
from chalicelib.website.cards.simulation_forms import InvalidForm
from chalicelib.website.cards.simulations import Choices, FormField, Kind
from chalicelib.website.form_fields import FieldReader
from chalicelib.website.notices import Notice

CREATE = "createCard"


@dataclass(frozen=True, slots=True)
class CardAction:
    """A form on the page of a card, offered in the states that permit its action (``CARD_RULES``).

    Attributes:
        members: the request members that are fields, apart from ``card_id``.
        kind: the kind of the group that the first member identifies.
        notice: the message that follows a success.
    """

    action: str
    title: str
    button: str
    notice: Notice
    members: tuple[str, ...] = ()
    kind: str = ""


CARD_ACTIONS: tuple[CardAction, ...] = (
    CardAction("activateCard", "Activate the card", "Activate", Notice.CARD_ACTIVATED),
    CardAction(
        "changeCardStatus",
        "Block, unblock or change the status",
        "Change the status",
        Notice.CARD_STATUS_CHANGED,
        ("status", "reason_code", "note"),
    ),
    CardAction("unblockPin", "Unblock the PIN", "Unblock", Notice.PIN_UNBLOCKED),
    CardAction(
        "assignCardToFeesGroup",
        "Change the fee group",
        "Change",
        Notice.CARD_GROUP_CHANGED,
        ("fees_group_id",),
        kind="fee_group",
    ),
    CardAction(
        "assignCardToLimitsGroup",
        "Change the limit group",
        "Change",
        Notice.CARD_GROUP_CHANGED,
        ("limits_group_id",),
        kind="limit_group",
    ),
    CardAction(
        "assignCardToUsageGroup",
        "Change the usage group",
        "Change",
        Notice.CARD_GROUP_CHANGED,
        ("usages_group_id",),
        kind="usage_group",
    ),
    CardAction(
        "assignCardToRiskRuleGroup",
        "Change the risk rules",
        "Change",
        Notice.CARD_GROUP_CHANGED,
        ("risk_rules_group_id",),
        kind="risk_group",
    ),
)
BY_ACTION = {each.action: each for each in CARD_ACTIONS}
_MEMBERS_SHOWN = {"risk_rules_group_id": "risk_group_id"}
"""Members of the forms that have another name in ``showCard``, with that name."""

NEW_CARD: Mapping[str, tuple[str, ...]] = {
    "Card": (
        "card_program_id",
        "card_virtual",
        "card_country_ison",
        "card_name_line_3",
        "card_name_line_4",
        "card_reference_id",
    ),
    "Holder": (
        "holder_id",
        "holder_first_name",
        "holder_last_name",
        "holder_address_line_1",
        "holder_zipcode",
        "holder_city",
        "holder_country_ison",
        "holder_phone_number",
        "holder_email",
    ),
    "Account": ("card_currency_ison", "account_id"),
    "Delivery of a physical card": (
        "delivery_first_name",
        "delivery_last_name",
        "delivery_address_line_1",
        "delivery_zipcode",
        "delivery_city",
        "delivery_country_ison",
        "order_shipping_method",
    ),
}
"""The fields of a new card, by heading."""
_DEFAULTS = {"card_virtual": "1"}
"""The default values of choices. For other members, the first choice is the default."""
HELP: Mapping[str, str] = {
    "Holder": (
        "With the id of an existing holder, leave the other fields of the holder empty. "
        "A phone number begins with the country code."
    ),
    "Account": (
        "Choose the currency of a new account (by default the programme's first), "
        "or enter the id of an account that the holder has."
    ),
    "Delivery of a physical card": "For virtual cards, leave this empty.",
}
LABELS: Mapping[str, str] = {
    "status": "New status",
    "reason_code": "Reason",
    "note": "Note",
    "fees_group_id": "Fee group",
    "limits_group_id": "Limit group",
    "usages_group_id": "Usage group",
    "risk_rules_group_id": "Risk rules",
    "card_program_id": "Programme",
    "card_virtual": "Kind of card",
    "card_country_ison": "Country of use",
    "card_name_line_3": "Name on the card",
    "card_name_line_4": "Second line on the card",
    "card_reference_id": "Your reference",
    "card_currency_ison": "Currency of a new account",
    "account_id": "Account id",
    "holder_id": "Holder id",
    "holder_address_line_1": "Address",
    "holder_zipcode": "Postcode",
    "holder_country_ison": "Country",
    "holder_phone_number": "Phone number",
    "delivery_address_line_1": "Delivery address",
    "delivery_zipcode": "Delivery postcode",
    "delivery_country_ison": "Delivery country",
    "order_shipping_method": "Shipping method",
}
"""The labels of members. A member without a label is shown by its name."""


def label(member: str) -> str:
    return LABELS.get(member) or member.removeprefix("holder_").replace("_", " ").capitalize()


def form_field(model: type[Request], member: str, choices: Choices | None = None, default: str = "") -> FormField:
    """Return the form field of a request member, with the model's bounds or values, and whether the field is required.

    Args:
        choices: the values that are offered instead of the model's values.
    """
    field = model.model_fields[member]
    rule, optional = rule_in(field), not field.is_required()
    offered = choices if choices is not None else _values(rule)
    is_country = isinstance(rule, CodeRule) and rule.registry is country_numbers
    kind: Kind = "choice" if offered else "country" if is_country else "text"
    hints = [] if _is_needed(model, member) else ["Optional"]
    hints += [] if offered else _bounds(rule)
    return FormField(member, label(member), kind, default, offered, optional=optional, hint=". ".join(hints))


def _is_needed(model: type[Request], member: str) -> bool:
    """Whether the model requires the member, at least in some requests."""
    conditions = [each for each in model.conditions if isinstance(each, Needs)]
    return model.model_fields[member].is_required() or any(member in each.fields for each in conditions)


def _values(rule: ValueRule) -> Choices:
    """Return the values of an enumeration with their meanings, or no values for other rules."""
    if isinstance(rule, OneOfRule | CodeWordRule):
        return {str(value): meaning.capitalize() for value, meaning in rule.meanings.items()}
    return {}


def _bounds(rule: ValueRule) -> list[str]:
    """Describe the length limits of a text."""
    schema = rule.json_schema()
    shortest, longest = schema.get("minLength"), schema.get("maxLength")
    if longest is None:
        return []
    return [f"At most {longest} characters" if (shortest or 0) <= 1 else f"{shortest} to {longest} characters"]


def card_fields(form: CardAction, model: type[Request], shown: Mapping[str, Any]) -> list[FormField]:
    """Return the fields of a form for a card, from the response of ``showCard``. The current group is chosen."""
    offered: dict[str, Choices] = {}
    if form.kind:
        (member,) = form.members
        return [form_field(model, member, shown["groups"][form.kind], _current_group(form, shown))]
    if form.action == "changeCardStatus":
        status = shown["card"]["status"]
        moves = CARD_MOVES.get(status, frozenset()) - {status}
        offered["status"] = {letter: CARD_STATES[letter].capitalize() for letter in CARD_STATES if letter in moves}
        offered["reason_code"] = {str(number): reason for number, reason in values.REASONS.items()}
    return [form_field(model, member, offered.get(member)) for member in form.members]


def offered_actions(shown: Mapping[str, Any]) -> list[CardAction]:
    """Return the forms that a card's state and groups permit, from the response of ``showCard``."""
    card = shown["card"]
    possible = [each for each in CARD_ACTIONS if CARD_RULES[each.action][card["status"]] is None]
    possible = [each for each in possible if not each.kind or _has_another_group(each, shown)]
    return [each for each in possible if each.action != "unblockPin" or card["pin_status"] == PIN_IS_BLOCKED]


def _has_another_group(form: CardAction, shown: Mapping[str, Any]) -> bool:
    """Whether the programme allows a group other than the card's current group.

    The current group itself may no longer be allowed.
    """
    current = _current_group(form, shown)
    return any(group != current for group in shown["groups"][form.kind])


def _current_group(form: CardAction, shown: Mapping[str, Any]) -> str:
    (member,) = form.members
    return str(shown["card"][_MEMBERS_SHOWN.get(member, member)])


def new_card_fields(
    model: type[Request], programmes: Choices, currencies: list[int], shipping: Choices
) -> Mapping[str, list[FormField]]:
    """The fields of a new card, by heading."""
    offered: Mapping[str, Choices] = {
        "card_program_id": programmes,
        "card_currency_ison": {str(number): currency_code(number) for number in currencies},
        "order_shipping_method": shipping,
    }
    return {
        heading: [form_field(model, member, offered.get(member), _DEFAULTS.get(member, "")) for member in members]
        for heading, members in NEW_CARD.items()
    }


def read_fields(fields: list[FormField], written: FieldReader) -> dict[str, str]:
    """Return the nonempty members of a submitted form. Raises: InvalidForm, with every invalid field."""
    members: dict[str, str] = {}
    errors: dict[str, str] = {}
    for field in fields:
        text = written(field.name).strip()
        if not text:
            errors |= {} if field.optional else {field.name: f"{field.label} is missing."}
        elif field.kind != "country":
            members[field.name] = text
        elif number := country_number(text):
            members[field.name] = str(number)
        else:
            errors[field.name] = INVALID
    if errors:
        raise InvalidForm(errors)
    return members
