"""Renders the pages of the card API reference: all actions, events, value lists, states and status codes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from chalicelib.cards.protocol.account_messages import CreateAccount
from chalicelib.cards.protocol.card_events import EVENTS
from chalicelib.cards.protocol.card_messages import CreateCard, WithDelivery
from chalicelib.cards.protocol.holder_messages import WithHolder
from chalicelib.cards.protocol.message import Needs, NeedsOne, Request
from chalicelib.cards.requests.action import Action
from chalicelib.foundation.fields.list_rules import SeriesRule, TextsRule
from chalicelib.foundation.fields.number_rules import CodeWordRule, OneOfRule
from infra.render.openapi.cards import examples, notation, purposes, tables
from infra.render.openapi.cards.answer_models import answer_of, data_of
from infra.render.openapi.cards.schemas import ENVELOPE, Json, order_members, rule_in
from infra.render.openapi.introduction import table
from infra.render.openapi.member_docs import sentence
from infra.render.openapi.models import Model, models_in

_VALUES = "card-values.md"
BLOCKS: Mapping[str, tuple[type[Request], type[Request]]] = {
    "Holder block": (WithHolder, CreateAccount),
    "Delivery and bulk block": (WithDelivery, CreateCard),
}
"""Blocks of fields that several actions share, each with a request type that contains the conditions of the block."""
_COMMON = ("access_level",)
_FEW = 6
_WIDTH = 120


def render_actions() -> str:
    return "\n\n".join([*_types(), *_shared_fields(), *_actions()])


def render_events() -> str:
    return "\n\n".join(_events())


def render_values() -> str:
    return "\n\n".join([*_codes(), *_states(), *_lists()])


def _types() -> Iterator[str]:
    yield "## Types"
    yield table(("Type", "Meaning"), notation.TYPES.items())


def _states() -> Iterator[str]:
    yield "## States"
    yield "A number is the [status code](#status-codes) of the refusal. Read actions are always allowed."
    yield "### Account"
    yield tables.account_rules()
    yield "### Card"
    yield tables.card_rules()
    yield (
        "Status changes that `changeCardStatus` allows; others are refused with 4008. A card changes to E "
        "automatically after its month of expiry."
    )
    yield tables.card_moves()
    yield "### External payment address"
    yield tables.address_rules()
    yield "### Mandate"
    yield tables.mandate_rules()
    yield "### External payment"
    yield "Payments of another kind are refused with 4008, or with 4004 if they have been returned."
    yield tables.payment_rules()
    yield "### Authorization"
    yield tables.authorization_rules()
    yield "### Dispute"
    yield "A transaction can be disputed once. Dispute steps allowed after each step:"
    yield tables.dispute_rules()


def _lists() -> Iterator[str]:
    yield "## Value lists"
    yield "Values that are not in the list are refused with 2005."
    for name in tables.LISTS:
        yield f"### {name}"
        yield tables.value_list(name)


def _events() -> Iterator[str]:
    yield table(("Type", "Sent when"), [(f"[`{name}`](#{_anchor(name)})", row.meaning) for name, row in EVENTS.items()])
    for name in EVENTS:
        yield f"## `{name}`"
        yield table(("Member of `data`", "", "Type", "Meaning"), list(_answer_rows(data_of(name), "")))
        yield _block(examples.event(name))


def _codes() -> Iterator[str]:
    yield "## Status codes"
    yield tables.status_codes()


# -- actions


def _shared_fields() -> Iterator[str]:
    yield "## Every request"
    yield _envelope()
    for name, (block, model) in BLOCKS.items():
        yield f"## {name}"
        yield _fields(model, [field for field in block.model_fields if field not in _COMMON])


def _actions() -> Iterator[str]:
    groups = purposes.group_members()
    links = ", ".join(f"[{group}](#{_anchor(group)})" for group in groups)
    yield "## Actions"
    yield f"By subject: {links}. Request examples omit the credentials."
    for group, actions in groups.items():
        yield f"## {group}"
        yield table(
            ("Action", "Purpose", "Effect"),
            [(f"[`{action.name}`](#{action.name.lower()})", action.summary, action.effect) for action in actions],
        )
        for action in actions:
            yield from _action(action)


def _envelope() -> str:
    level = Request.model_fields["access_level"]
    rows = [(f"`{name}`", _need_of_envelope(name), kind, rule) for name, (kind, rule) in _ENVELOPE.items()]
    rows.append(("`access_level`", "optional", notation.field_notation(level), sentence(Request, "access_level")))
    return table(("Envelope field", "", "Type", "Rule"), rows)


_ENVELOPE: Mapping[str, tuple[str, str]] = {
    "access_key": ("AN 20", "The credential's access key"),
    "access_api_id": ("AN 32", "The credential's API id"),
    "access_api_key": ("AN 64", "The credential's API key"),
    "action": ("choice", "The action"),
    "api_version": ("choice", "`1.2`"),
    "request_reference_id": (
        "ANS 10-255",
        "Letters, digits and hyphens; see [Repeats](../concepts/card-requests.md#repeats)",
    ),
}


def _need_of_envelope(name: str) -> str:
    return "optional" if "null" in ENVELOPE[name].get("type", ()) else "mandatory"


def _action(action: Action) -> Iterator[str]:
    model = action.request
    blocks = {name: block for name, (block, _) in BLOCKS.items() if issubclass(model, block)}
    shared = {*_COMMON, *(field for block in blocks.values() for field in block.model_fields)}
    own = [field for field in order_members(model) if field not in shared]
    yield f"### `{action.name}`"
    yield f"{action.summary}."
    yield "\n".join(f"- {rule}" for rule in purposes.rules(action))
    if own:
        yield _fields(model, own)
    if blocks:
        linked = [f"the [{name[0].lower()}{name[1:]}](#{name.lower().replace(' ', '-')})" for name in blocks]
        yield f"Also {' and '.join(linked)}."
    yield _block({name: value for name, value in examples.request(action).items() if not name.startswith("access_")})
    yield from _answer(action)


def _answer(action: Action) -> Iterator[str]:
    answer = answer_of(action)
    if answer is None:
        said = {
            "empty": "is `[]`",
            "empty object": "is `{}`",
            "id": "is `[]`, and `id` is a separate member next to it",
        }
        yield f"`data` {said[action.shape]}."
        return
    beside = ", next to a `paginator` with `total_items_count`" if action.is_paged else ""
    beside += ", next to `has_more_records` (`Y` or `N`)" if action.is_continued else ""
    yield f"`data` is {'a list of objects' if action.shape == 'list' else 'an object'}{beside}:"
    yield table(("Response field", "", "Type", "Meaning"), list(_answer_rows(answer, "")))
    yield _block(examples.answer(action))


def _fields(model: type[Request], names: Sequence[str]) -> str:
    rows = [
        (f"`{name}`", _need(model, name), notation.field_notation(model.model_fields[name]), _rule(model, name))
        for name in names
    ]
    return table(("Request field", "", "Type", "Rule"), rows)


def _need(model: type[Request], name: str) -> str:
    if model.model_fields[name].is_required():
        return "mandatory"
    conditional = (each for each in model.conditions if isinstance(each, Needs | NeedsOne))
    return "conditional" if any(name in each.fields for each in conditional) else "optional"


def _rule(model: Model, name: str) -> str:
    said, rule = sentence(model, name), rule_in(model.model_fields[name])
    listed = next((tables.LIST_OF[key] for key in (f"{model.__name__}.{name}", name) if key in tables.LIST_OF), None)
    if listed is not None:
        return f"{said}: {_link(listed)}"
    if isinstance(rule, OneOfRule | CodeWordRule) and notation.rule_notation(rule) == "choice":
        return f"{said}: {_values(rule)}"
    if isinstance(rule, SeriesRule | TextsRule):
        kind = rule.json_schema()["description"]
        return f"{said}: {kind[0].lower()}{kind[1:]}"
    return said


def _values(rule: OneOfRule | CodeWordRule) -> str:
    if len(rule.meanings) <= _FEW:
        return ", ".join(f"`{value}` {text}" for value, text in rule.meanings.items())
    name = next(name for name, meanings in tables.LISTS.items() if rule.meanings.items() <= meanings.items())
    return _link(name)


def _link(name: str) -> str:
    return f"see [{name}]({_VALUES}#{_anchor(name)})"


def _anchor(title: str) -> str:
    return re.sub("[^a-z0-9_-]", "", title.lower().replace(" ", "-"))


def _answer_rows(model: Model, above: str) -> Iterator[tuple[str, str, str, str]]:
    for name, field in model.model_fields.items():
        need = "mandatory" if field.is_required() else "optional"
        yield f"`{above}{name}`", need, notation.field_notation(field), _rule(model, name)
        for inner in models_in(field.annotation):
            yield from _answer_rows(inner, f"{above}{name}.")


def _block(value: Json) -> str:
    line = json.dumps(value, ensure_ascii=False)
    return f"```json\n{line if len(line) <= _WIDTH else json.dumps(value, indent=2, ensure_ascii=False)}\n```"
