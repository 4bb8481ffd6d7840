"""A valid example of every card action's request and answer, made of its members' examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from chalicelib.cards.protocol.actions import Action
from chalicelib.cards.protocol.message import Answer
from chalicelib.cards.protocol.status_codes import Refused, Status, refused_field
from chalicelib.cards.protocol.values import API_VERSION, VIRTUAL
from infra.openapi.cards.meanings import meaning
from infra.openapi.cards.schemas import ENVELOPE, ordered
from infra.openapi.models import Model, models_in

Json = dict[str, Any]

ERRORS: Mapping[str, Refused] = {
    "error_credentials": Refused(Status.WRONG_CREDENTIALS),
    "error_fields": refused_field("first_name", "missing", "is required"),
    "error_not_found": Refused(Status.NO_CARD),
    "error_state": Refused(Status.FINAL),
    "error_in_progress": Refused(Status.IN_PROGRESS),
}
"""Some of the errors that any action may have, as they are told."""

_CREDENTIALS = ("access_key", "access_api_id", "access_api_key")
_HOLDER_ONLY = ("holder_id",)


def request(action: Action) -> Json:
    """The body of a request."""
    return {
        **{name: ENVELOPE[name]["examples"][0] for name in _CREDENTIALS},
        "action": action.name,
        "api_version": API_VERSION,
        "request_reference_id": ENVELOPE["request_reference_id"]["examples"][0],
        **_members(action.request),
    }


def more_requests(action: Action) -> Mapping[str, tuple[str, Json]]:
    """Other useful requests of an action, with their titles."""
    if action.name != "createCard":
        return {}
    body = request(action)
    for_physical = ("delivery_", "order_", "bulk_")
    virtual = {name: value for name, value in body.items() if not name.startswith(for_physical)}
    existing = {name: value for name, value in virtual.items() if not name.startswith(("holder_", "kyc_"))}
    existing |= {"holder_id": meaning(action.request.__mro__[1], "holder_id")[1]}
    return {
        "createCard_virtual": ("Make a virtual card", virtual | {"card_virtual": VIRTUAL}),
        "createCard_of_holder": ("Make a virtual card for a holder that there is", existing | {"card_virtual": VIRTUAL}),
    }


def answer(action: Action) -> Json:
    """The body of a successful answer."""
    found: Json = {"status": "success", "duplicated": 0, "data": _data(action)}
    if action.shape == "id":
        found["id"] = meaning(action.request, "holder_id")[1]
    return found


def error(refused: Refused) -> Json:
    """The body of an error."""
    return {"status": "error", "duplicated": 0, "status_code": int(refused.status), "message": refused.message}


def _data(action: Action) -> Any:
    if action.answer is None:
        return {} if action.shape == "empty object" else []
    made = _members(action.answer)
    return [made] if action.shape == "list" else made


def _members(model: Model) -> Json:
    """An object with all members that have an example; of requests without ``access_level``, which all may have."""
    made: Json = {}
    for name in ordered(model):
        if name == "access_level" and not issubclass(model, Answer):
            continue
        value = _value(model, name)
        if value is not None:
            made[name] = value
    return made


def _value(model: Model, name: str) -> Any:
    inner = next(models_in(model.model_fields[name].annotation), None)
    if inner is not None:
        return _members(inner)
    found = meaning(model, name)[1]
    return found if found is None or not get_args(model.model_fields[name].annotation) else found
