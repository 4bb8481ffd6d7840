"""Models of responses and events. The documents and the tests use the members, rules and examples of these models.

At run time, a response is a dictionary. Mypy checks the dictionary against its ``Answer`` type.
"""

from __future__ import annotations

from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import create_model
from typing_extensions import is_typeddict

from chalicelib.cards.protocol.card_events import EVENTS, CardEventType
from chalicelib.cards.protocol.message import NULL, Answer
from chalicelib.cards.requests.action import Action
from chalicelib.foundation.fields.field_types import Message


class AnswerModel(Message):
    """The base class of all responses."""


Model = type[AnswerModel]


def answer_of(action: Action) -> Model | None:
    """Return the model of an action's ``data`` or, for a list, of its entries. Return ``None`` if ``data`` is empty."""
    answer: Any = action.answer
    return None if answer is None else model_of(answer)


def data_of(event: CardEventType) -> Model:
    """Return the model of an event's ``data``."""
    data: Any = EVENTS[event].data
    return model_of(data)


@cache
def model_of(answer: Any) -> Model:
    """Return the model of an ``Answer``. Base classes of the ``Answer`` become base classes of the model."""
    bases = tuple(model_of(base) for base in answer.__orig_bases__ if base is not Answer)
    inherited = {name for base in bases for name in base.model_fields}
    types = get_type_hints(answer, include_extras=True)
    fields: dict[str, Any] = {name: _field(kind) for name, kind in types.items() if name not in inherited}
    made: Model = create_model(
        answer.__name__,
        __base__=bases or (AnswerModel,),
        __module__=answer.__module__,
        __doc__=answer.__doc__,
        **fields,
    )
    return made


def _field(kind: Any) -> tuple[Any, Any]:
    if get_origin(kind) is Annotated and NULL in kind.__metadata__:
        return get_args(kind)[0], ...
    return _with_models(kind), None if type(None) in get_args(kind) else ...


def _with_models(kind: Any) -> Any:
    if is_typeddict(kind):
        return model_of(kind)
    if get_origin(kind) is list:
        return list[_with_models(get_args(kind)[0])]  # type: ignore[misc]
    if type(None) in get_args(kind):
        return reduce(or_, map(_with_models, get_args(kind)))
    return kind
