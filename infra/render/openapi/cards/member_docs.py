"""What each member of the card API's requests, answers and events means: the sentence below it in its class.

A member without one means what the first member of its name means in the same module. The sentences are read from the
source of ``chalicelib/cards/protocol``, so they cost nothing at run time.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from pydantic import BaseModel

from infra.render.openapi.member_docs import read_members

INHERITED: Mapping[str, str] = {
    "UpdateHolder.country_ison": "The country; ignored if the programme forbids changing it",
    "AssignExternalPaymentAddress.country_ison": "The address's country; default: the holder's",
    "AssignExternalPaymentAddress.card_id": "A card of the account, recorded in transactions; its limits also apply",
    "AssignExternalPaymentAddress.account_name": "The account name shown to other parties; default: the holder's name",
    "AssignExternalPaymentAddressForSpecialAccount.country_ison": (
        "The address's country; default: the special account's"
    ),
    "AssignExternalPaymentAddressForSpecialAccount.card_id": "A card to record in transactions",
    "AssignExternalPaymentAddressForSpecialAccount.account_name": (
        "The account name shown to other parties; default: the special account's"
    ),
    "SimulateRefund.amount": "The amount refunded, in minor units",
    "SimulateRefund.final": "Accepted, without effect",
}
"""What a member of a base class means in a request of its own. Declared there again, the member would change places."""


def sentence(model: type[BaseModel], member: str) -> str:
    """What a member means, without a full stop. Raises: LookupError, if nothing says it."""
    found = INHERITED.get(f"{model.__name__}.{member}") or next(_declared(model, member), "")
    if not found:
        raise LookupError(f"{model.__module__}.{model.__name__}.{member} has no sentence: add it below the member")
    return found


def _declared(model: type[BaseModel], member: str) -> Iterator[str]:
    """The sentences of the classes that declare a member: the model's own, then those of its bases."""
    for base in model.__mro__:
        members = _sentences(base.__module__).get(base.__name__, {})
        if member in members:
            yield members[member]


@cache
def _sentences(module: str) -> Mapping[str, Mapping[str, str]]:
    """The sentences of a module's members by class; empty where nothing says what the member means."""
    if not module.startswith("chalicelib.cards.protocol."):
        return {}
    first: dict[str, str] = {}
    found: dict[str, dict[str, str]] = {}
    for each in ast.parse(inspect.getsource(import_module(module))).body:
        if isinstance(each, ast.ClassDef):
            own = dict(read_members(each))
            first = {name: text for name, text in own.items() if text} | first
            found[each.name] = {name: text or first.get(name, "") for name, text in own.items()}
    return found
