"""Builds the card API document, which has one operation for all actions, and one operation for the simulator's
actions.
"""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS
from chalicelib.cards.protocol.card_events import EVENTS
from chalicelib.cards.requests.action import Action
from infra.render.openapi import introduction, webhooks
from infra.render.openapi.cards import examples, tables
from infra.render.openapi.cards.answer_models import data_of
from infra.render.openapi.cards.schemas import ERROR, CardSchemas, Json, name_of, reference
from infra.render.openapi.document import ANY_REQUEST_ID, body, document, json_content
from infra.render.openapi.responses import HEADERS

_TAGS = (
    ("Actions", "A programme manager's holders, accounts, cards and money."),
    ("Simulator", "Simulates a card network, online shops, other banks and creditors. Not available in `prod`."),
)
_HEADERS = ("X-Request-Id", "Retry-After")
_EVENTS_TAG = ("Events", "Notifications that the service sends to a programme manager's Events URL.")
_INTRODUCTION = "The API for programme managers: holders, accounts, cards, payments, fees, limits and reports."
_NUMBERS = f"Amounts, in minor units, and ids are whole JSON numbers in responses and events. {introduction.NUMBERS}"
_SIMULATOR = "The same envelope and credentials. A decline is a success whose `response_code` is not 00."


def build() -> Json:
    """Build the document."""
    schemas = CardSchemas()
    outside_prod = {"x-outside-prod-only": True}
    paths = {
        "/api": {"post": _operation(0, "Carry out an action", ACTIONS, schemas)},
        "/simulator": {
            "post": _operation(1, "Simulate external systems", SIMULATOR_ACTIONS, schemas, _SIMULATOR) | outside_prod
        },
    }
    return document(
        "Causeway: card API",
        "\n\n".join([_INTRODUCTION, _NUMBERS, *_tables()]),
        summary="The API for programme managers: holders, accounts, cards, payments, fees, limits and reports.",
        tags=(*_TAGS, _EVENTS_TAG),
        paths=paths,
        webhooks=_webhooks(schemas),
        components={
            "parameters": {"RequestIdIfAny": ANY_REQUEST_ID, **webhooks.parameters()},
            "headers": {name: HEADERS[name] for name in _HEADERS},
            "schemas": schemas.components(),
        },
    )


def _operation(tag: int, summary: str, actions: Mapping[str, Action], schemas: CardSchemas, text: str = "") -> Json:
    name, _ = _TAGS[tag]
    return {
        "operationId": name.lower(),
        "tags": [name],
        "summary": summary,
        "description": _about(actions, text),
        "security": [],
        "parameters": [{"$ref": "#/components/parameters/RequestIdIfAny"}],
        "requestBody": body(json_content(_requests(actions, schemas), _request_examples(actions))),
        "responses": {"200": _answers(actions, schemas)},
    }


def _about(actions: Mapping[str, Action], more: str) -> str:
    rows = [(f"`{name}`", action.summary) for name, action in actions.items()]
    return "\n\n".join(part for part in (more, introduction.table(("Action", "Purpose"), rows)) if part)


def _requests(actions: Mapping[str, Action], schemas: CardSchemas) -> Json:
    made = {name: schemas.request(action) for name, action in actions.items()}
    mapping = {name: found["$ref"] for name, found in made.items()}
    return {"oneOf": list(made.values()), "discriminator": {"propertyName": "action", "mapping": mapping}}


def _request_examples(actions: Mapping[str, Action]) -> Mapping[str, tuple[str, Json]]:
    found: dict[str, tuple[str, Json]] = {}
    for name, action in actions.items():
        found[name] = action.summary, examples.request(action)
        found |= examples.more_requests(action)
    return found


def _answers(actions: Mapping[str, Action], schemas: CardSchemas) -> Json:
    found = {name: (action.summary, examples.answer(action)) for name, action in actions.items()}
    found |= {name: (refused.message, examples.error(refused)) for name, refused in examples.ERRORS.items()}
    answers = [schemas.response(action) for action in actions.values()]
    lines = [f"- `{name}`: `{name_of(action, 'Response')}`" for name, action in actions.items()]
    return {
        "description": "\n".join(
            [f"Success, in the shape of the action's response, or an error, `{ERROR}`.", "", *lines]
        ),
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in _HEADERS},
        "content": json_content({"anyOf": [*answers, reference(ERROR)]}, found),
    }


def _webhooks(schemas: CardSchemas) -> Mapping[str, Json]:
    return {
        name: {
            "post": webhooks.operation(
                name,
                row.meaning,
                schemas.event(data_of(name)),
                {"usual": ("Usual", examples.event(name))},
                tag=_EVENTS_TAG[0],
                receiver="programme manager",
            )
        }
        for name, row in EVENTS.items()
    }


def _tables() -> list[str]:
    lists = [f"### {name}\n\n{tables.value_list(name)}" for name in tables.LISTS]
    rules = {
        "Accounts": tables.account_rules(),
        "Cards": tables.card_rules(),
        "`changeCardStatus`": tables.card_moves(),
        "External payment addresses": tables.address_rules(),
        "Mandates": tables.mandate_rules(),
        "External payments": tables.payment_rules(),
        "Authorizations": tables.authorization_rules(),
        "Disputes": tables.dispute_rules(),
    }
    return [
        introduction.section("Status codes", tables.status_codes()),
        introduction.section("Value lists", "\n\n".join(lists)),
        introduction.section("States", "\n\n".join(f"### {name}\n\n{text}" for name, text in rules.items())),
    ]
