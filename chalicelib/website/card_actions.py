"""Forms that carry out card API actions: which fields each has; their rules come from the action's request model."""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.cards.protocol import values
from chalicelib.cards.protocol.fields import rule_in
from chalicelib.cards.protocol.message import Request
from chalicelib.cards.protocol.rules import CodeRule, CodeWordRule, OneOfRule, ValueRule
from chalicelib.cards.protocol.states import CARD_MOVES, CARD_STATES, PIN_IS_BLOCKED
from chalicelib.foundation.fields.registries import country_numbers
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.website.card_text import currency_code
from chalicelib.website.day_fields import FieldReader
from chalicelib.website.notices import Notice
from chalicelib.website.simulation_forms import InvalidForm
from chalicelib.website.simulations import Choices, FormField

CREATE = "createCard"
_EVERY_STATE = "NATRLSE"


@dataclass(frozen=True, slots=True)
class CardAction:
    """A form on the page of a card: the action that it carries out, and the states in which it is offered.

    Attributes:
        members: the request members that are fields, besides ``card_id``.
        kind: the kind of group that the first member is the id of.
        notice: the message of a success.
    """

    action: str
    title: str
    button: str
    notice: Notice
    members: tuple[str, ...] = ()
    states: str = _EVERY_STATE
    kind: str = ""


CARD_ACTIONS: tuple[CardAction, ...] = (
    CardAction("activateCard", "Activate the card", "Activate", Notice.CARD_ACTIVATED, states="N"),
    CardAction(
        "changeCardStatus",
        "Block, unblock or change the status",
        "Change the status",
        Notice.CARD_STATUS_CHANGED,
        ("status", "reason_code", "note"),
        "".join(CARD_MOVES),
    ),
    CardAction("unblockPin", "Unblock the PIN", "Unblock", Notice.PIN_UNBLOCKED, states="NATR"),
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
HELP: Mapping[str, str] = {
    "Holder": "With the id of an existing holder, leave the other fields of the holder empty.",
    "Account": "Choose a currency to open an account, or enter the id of an account that the holder has.",
    "Delivery of a physical card": "Needed for physical cards only.",
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
    "holder_phone_number": "Phone number, with country code",
    "delivery_address_line_1": "Delivery address",
    "delivery_zipcode": "Delivery postcode",
    "delivery_country_ison": "Delivery country",
    "order_shipping_method": "Shipping method",
}
"""Labels of members; others are called by their names."""


def label(member: str) -> str:
    return LABELS.get(member) or member.removeprefix("holder_").replace("_", " ").capitalize()


def form_field(model: type[Request], member: str, choices: Choices | None = None, default: str = "") -> FormField:
    """The field of a request member: whether it is required, and its values or its bounds, as its model says.

    Args:
        choices: the values that are offered, instead of those of the model.
    """
    field = model.model_fields[member]
    rule, optional = rule_in(field), not field.is_required()
    offered = choices if choices is not None else _values(rule)
    if offered:
        return FormField(member, label(member), "choice", default, offered, optional=optional)
    return FormField(member, label(member), "text", default, optional=optional, hint=_bounds(rule))


def _values(rule: ValueRule) -> Choices:
    """The values of an enumeration and what they mean; none for any other rule."""
    if isinstance(rule, OneOfRule | CodeWordRule):
        return {str(value): meaning.capitalize() for value, meaning in rule.meanings.items()}
    if isinstance(rule, CodeRule) and rule.registry is country_numbers:
        return {str(number): f"{letters} ({number:03})" for number, letters in sorted_countries()}
    return {}


def sorted_countries() -> list[tuple[int, str]]:
    """Numeric and alpha-2 codes of all countries, by the latter."""
    return sorted(country_numbers().items(), key=lambda each: each[1])


def _bounds(rule: ValueRule) -> str:
    """How long a text is."""
    schema = rule.json_schema()
    shortest, longest = schema.get("minLength"), schema.get("maxLength")
    if longest is None:
        return ""
    return f"At most {longest} characters" if (shortest or 0) <= 1 else f"{shortest} to {longest} characters"


def card_fields(form: CardAction, model: type[Request], status: str, groups: Mapping[str, Choices]) -> list[FormField]:
    """The fields of a form for a card in a state; ``groups`` are the allowed ones of each kind, by id."""
    offered: dict[str, Choices] = {}
    if form.kind:
        offered[form.members[0]] = groups[form.kind]
    if form.action == "changeCardStatus":
        moves = CARD_MOVES.get(status, frozenset()) - {status}
        offered["status"] = {letter: CARD_STATES[letter].capitalize() for letter in CARD_STATES if letter in moves}
        offered["reason_code"] = {str(number): reason for number, reason in values.REASONS.items()}
    return [form_field(model, member, offered.get(member)) for member in form.members]


def offered_actions(status: str, pin_status: int) -> list[CardAction]:
    """The forms that a card's state permits."""
    possible = [each for each in CARD_ACTIONS if status in each.states]
    return [each for each in possible if each.action != "unblockPin" or pin_status == PIN_IS_BLOCKED]


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
        heading: [form_field(model, member, offered.get(member)) for member in members]
        for heading, members in NEW_CARD.items()
    }


def read_fields(fields: list[FormField], written: FieldReader) -> dict[str, str]:
    """The members of a submitted form, without empty ones. Raises: InvalidForm, if required ones are missing."""
    given = {field.name: written(field.name).strip() for field in fields}
    missing = [field for field in fields if not field.optional and not given[field.name]]
    if missing:
        raise InvalidForm({field.name: f"{field.label} is missing." for field in missing})
    return {name: text for name, text in given.items() if text}
