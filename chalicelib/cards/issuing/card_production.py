"""Shared parts of createCard and reissueCard: the card's members, its delivery, and the response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from chalicelib.cards.card_data.encryption import CardData
from chalicelib.cards.issuing.card_decryption import compute_cvc2
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.programs import group_resolution
from chalicelib.cards.programs.catalogue import CardProgramme
from chalicelib.cards.programs.programmes import EntryId
from chalicelib.cards.protocol.card_messages import (
    DELIVERY_BLOCK,
    DELIVERY_MANDATORY,
    EMBOSSED,
    CreateCard,
    ReissueCard,
)
from chalicelib.cards.protocol.card_records import CreatedCard
from chalicelib.cards.protocol.embossing import is_printable
from chalicelib.cards.protocol.status_codes import refused_field, refused_fields
from chalicelib.cards.requests import disclosure
from chalicelib.cards.requests.request_context import RequestContext
from chalicelib.cards.storage.record import TABLE, without_none
from chalicelib.foundation.dynamodb.store import Operation, Put, absent
from chalicelib.foundation.fields.problems import Problem
from chalicelib.foundation.lazy_dataclasses import dataclass

_CHOICES = (
    ("fee_group_id", "fee_group", "card_fee_group_id"),
    ("limit_group_id", "limit_group", "card_limit_group_id"),
    ("usage_group_id", "usage_group", "card_usage_group_id"),
    ("risk_group_id", "risk_group", "risk_rules_group_id"),
    ("design_id", "design", "card_design_id"),
)
"""The fields that select an entry of the programme. Each row consists of card member, entry kind and request field."""


def card_members(
    request: CreateCard | ReissueCard,
    context: RequestContext,
    programme: CardProgramme,
    virtual: int,
    before: Card | None,
) -> dict[str, Any]:
    """Return the members that createCard and reissueCard set: programme, type, groups, design and embossing.

    Groups and design that the request omits are copied from ``before``. If the programme differs from the previous one,
    only groups and a design that the new programme allows are copied.

    Raises: Refused.
    """
    _check_embossing(request, programme)
    is_same = before is not None and before.program_id == programme.id
    if not (programme.virtual if virtual else programme.physical):
        raise refused_field("card_virtual" if before is None else "virtual", "value", "is not allowed by the programme")
    return {
        "program_id": programme.id,
        "virtual": virtual,
        "service_code": programme.service_code,
        **{
            member: group_resolution.choose(
                context.catalogue,
                kind,
                asked,
                getattr(request, asked),
                (*getattr(programme, f"{member}s"), *([getattr(before, member)] if is_same else [])),
                None if before is None else getattr(before, member),
            )
            for member, kind, asked in _CHOICES
        },
        "name_line_3": request.card_name_line_3,
        "name_line_4": request.card_name_line_4,
        "track_first_name": request.track_data_first_name,
        "track_last_name": request.track_data_last_name,
    }


def _check_embossing(request: CreateCard | ReissueCard, programme: CardProgramme) -> None:
    """Check the texts on a physical card, or on a virtual card that may become physical.

    Raises: Refused, with the names of all invalid texts.
    """
    texts = {name: getattr(request, name, None) for name in EMBOSSED}
    reason = "must have only characters that the programme's card bureau can print"
    problems = [
        Problem(name, "characters", reason)
        for name, text in texts.items()
        if text is not None and not is_printable(text, programme.bureau_characters)
    ]
    if problems:
        raise refused_fields(problems)


def may_convert(programme: CardProgramme, wished: int | None, otherwise: int) -> int:
    """Whether the card converts currencies. ``otherwise`` is the default for a request without this setting.

    Raises: Refused, if the programme does not permit conversion.
    """
    converts = otherwise if wished is None else wished
    if converts and not programme.auto_conversion:
        raise refused_field("auto_conversion", "value", "is not allowed by the programme")
    return converts


@dataclass(frozen=True, slots=True)
class ClearCardData:
    """The secret data of a new card in clear text. ``pin`` is ``None`` if it is not disclosed."""

    pan: str = field(repr=False)
    pin: str | None = field(repr=False)
    password: str = field(repr=False)


def serialize_created(context: RequestContext, card_data: CardData, card: Card, clear: ClearCardData) -> CreatedCard:
    """Return the response for a new card. The credential's modes determine how each field is disclosed."""
    credential = context.credential
    expiry = disclosure.disclose_expiry(credential, card.id, card.expiry_year, card.expiry_month)
    answer: CreatedCard = {
        "card_id": card.id,
        "card_request_id": card.request_id,
        "holder_id": card.holder_id,
        "account_id": card.account_ids[0],
        "pan": disclosure.disclose(credential, card.id, "pan", clear.pan),
        "pin": "" if clear.pin is None else disclosure.disclose(credential, card.id, "pin", clear.pin),
        "cvc2": disclosure.disclose(credential, card.id, "cvc2", compute_cvc2(card, clear.pan, card_data)),
        "expiration": {"year": expiry[0], "month": expiry[1]} if expiry else None,
        "acs_password": disclosure.disclose(credential, card.id, "acs_password", clear.password) or "",
    }
    return without_none(answer)


def delivery_details(request: CreateCard | ReissueCard, programme: CardProgramme, virtual: int) -> dict[str, Any]:
    """Return the delivery details of a physical card, or an empty result for a virtual card. Raises: Refused."""
    if virtual:
        return {}
    given = without_none({name: getattr(request, name) for name in DELIVERY_BLOCK})
    reason = "is required for a physical card"
    problems = [Problem(name, "required", reason) for name in DELIVERY_MANDATORY if name not in given]
    if problems:
        raise refused_fields(problems)
    if given["order_shipping_method"] not in programme.shipping_method_ids:
        raise refused_field("order_shipping_method", "value", "is not allowed by the programme")
    return given


def order_body(context: RequestContext, card: Card, given: Mapping[str, Any]) -> tuple[list[Operation], list[EntryId]]:
    """Return the put operation of a card order and the configuration entries that the order uses.

    For a virtual card, return two empty lists.
    """
    if card.virtual:
        return [], []
    order = {
        "owner": f"card#{card.id}",
        "part": f"order#{card.request_id:020}",
        "ordered_at": context.now,
        "delivery": dict(given),
        "written_by": context.write_id,
    }
    return [Put(TABLE, order, absent("owner"))], [("shipping_method", given["order_shipping_method"])]
