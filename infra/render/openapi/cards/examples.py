"""Builds valid examples of all card requests, responses and events from the examples of their members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.cards.programs.credentials import refuse_call
from chalicelib.cards.protocol.card_events import CardEventType
from chalicelib.cards.protocol.status_codes import Refused, Status, refused_field
from chalicelib.cards.protocol.values import API_VERSION, VIRTUAL
from chalicelib.cards.requests.action import Action
from chalicelib.foundation.call_limits import LimitReached
from infra.render.openapi import webhooks
from infra.render.openapi.cards.answer_models import AnswerModel, answer_of, data_of
from infra.render.openapi.cards.schemas import ENVELOPE, example, order_members
from infra.render.openapi.models import Model, is_list, models_in

Json = dict[str, Any]

HOLDER_ID = 100000017
ERRORS: Mapping[str, Refused] = {
    "error_credentials": Refused(Status.WRONG_CREDENTIALS),
    "error_fields": refused_field("first_name", "missing", "is required"),
    "error_not_found": Refused(Status.NO_CARD),
    "error_state": Refused(Status.FINAL),
    "error_reference": Refused(Status.REFERENCE_REUSED),
    "error_call_limit": refuse_call(LimitReached(3_000, retry_after=1)),
}
"""Errors that any action may return, with their messages."""

_CREDENTIALS = ("access_key", "access_api_id", "access_api_key")
_OF_HOLDER = ("holder_", "kyc_")
_OF_DELIVERY = ("delivery_", "order_", "bulk_")
_OF_ACTION: Mapping[str, Json] = {"getLimitsGroups": {"id": 211, "name": "Account Standard"}}
"""Example values for an action whose response model is also used by other actions."""


def request(action: Action) -> Json:
    """Return an example of a request body."""
    return {
        **{name: ENVELOPE[name]["examples"][0] for name in _CREDENTIALS},
        "action": action.name,
        "api_version": API_VERSION,
        "request_reference_id": f"{action.handler.__name__.replace('_', '-')}-0001",
        **_members(action.request),
    }


def more_requests(action: Action) -> Mapping[str, tuple[str, Json]]:
    """Return additional examples of requests for an action, by title."""
    if action.name != "createCard":
        return {}
    virtual = _without(request(action), *_OF_DELIVERY) | {"card_virtual": VIRTUAL}
    of_holder = _without(virtual, *_OF_HOLDER) | {"holder_id": HOLDER_ID}
    return {
        "createCard_virtual": ("Create a virtual card", virtual),
        "createCard_of_holder": ("Create a virtual card for an existing holder", of_holder),
    }


def _without(body: Json, *beginnings: str) -> Json:
    return {name: value for name, value in body.items() if not name.startswith(beginnings)}


def answer(action: Action) -> Json:
    """Return an example of a success response's body."""
    beside: Json = {"id": HOLDER_ID} if action.shape == "id" else {}
    beside |= {"paginator": {"total_items_count": 1}} if action.is_paged else {}
    beside |= {"has_more_records": "N"} if action.is_continued else {}
    return {"status": "success", "duplicated": 0, **beside, "data": _data(action)}


def event(name: CardEventType) -> Json:
    """Return an example of an event's body."""
    return webhooks.example(name, _members(data_of(name)))


def error(refused: Refused) -> Json:
    """Return an example of an error's body."""
    return {"status": "error", "duplicated": 0, "status_code": int(refused.status), "message": refused.message}


def _data(action: Action) -> Any:
    answer = answer_of(action)
    if answer is None:
        return {} if action.shape == "empty object" else []
    made = _members(answer) | _OF_ACTION.get(action.name, {})
    return [made] if action.shape == "list" else made


def _members(model: Model) -> Json:
    """Return an object with the examples of all members. Requests omit ``access_level``, which every request
    accepts.
    """
    made: Json = {}
    for name in order_members(model):
        if name == "access_level" and not issubclass(model, AnswerModel):
            continue
        value = _value(model, name)
        if value is not None:
            made[name] = value
    return made


def _value(model: Model, name: str) -> Any:
    annotation = model.model_fields[name].annotation
    inner = next(models_in(annotation), None)
    if inner is None or is_list(annotation):
        return example(model, name)
    return _members(inner)
