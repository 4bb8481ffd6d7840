"""reissueCard reissues an existing card, physical or virtual (specification, reissueCard request).

The card's id, holder and accounts do not change. The card must be activated again, and its counters of failed attempts
are reset. A replaced number is retired together with the card's previous state.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chalicelib.cards.card_data import pins_and_passwords
from chalicelib.cards.card_data.encryption import CardData
from chalicelib.cards.card_data.numbers import new_pan
from chalicelib.cards.issuing import card_production
from chalicelib.cards.issuing.card_decryption import (
    WITHOUT_PIN,
    decrypt_number,
    decrypt_password,
    decrypt_pin,
    pin_members,
    require_good,
)
from chalicelib.cards.issuing.card_record import (
    Card,
    month_of,
    months_later,
    put_number,
    put_retired_number,
    update_reissued_row,
)
from chalicelib.cards.issuing.serializers import card_creation_event
from chalicelib.cards.programs import group_resolution
from chalicelib.cards.programs.catalogue import CardProgramme
from chalicelib.cards.protocol.card_messages import ReissueCard
from chalicelib.cards.protocol.card_records import ReissuedCard
from chalicelib.cards.protocol.states import LOST, NEW, STOLEN
from chalicelib.cards.protocol.status_codes import Refused, Status, refused_field, refused_fields
from chalicelib.cards.protocol.values import NO, YES
from chalicelib.cards.requests.request_context import ActionOutcome, RequestContext
from chalicelib.cards.storage.record import or_default
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.foundation.dynamodb.store import Operation


def reissue_card(
    request: ReissueCard, context: RequestContext, *, card_data: CardData, sequences: Sequences
) -> ActionOutcome[ReissuedCard]:
    """The card keeps its ``card_id``, gets a new ``card_request_id``, and must be activated again. A lost or stolen
    card needs a new number, and a virtual card that becomes physical needs a new PIN (2005). Changing between virtual
    and physical requires ``card_program_id``, and a physical card requires the delivery fields (2006). A PIN has 4
    digits, which must not be all the same or an ascending or descending sequence (6002). ``auto_conversion`` 1 requires
    a programme that permits conversion (2005). Embossed lines, thermal lines and chip names have only characters that
    the programme's card bureau can print (2004). This also applies to virtual cards.
    """
    card = context.find(Card, request.card_id)
    virtual = or_default(request.virtual, card.virtual)
    if not virtual and request.problems:
        raise refused_fields(request.problems)
    programme = _choose_programme(request, context, card, virtual)
    members = card_production.card_members(request, context, programme, virtual, card)
    card.require(context.action, context.now)
    _check_card(request, card, programme, virtual)
    given = card_production.delivery_details(request, programme, virtual)
    old_number = decrypt_number(card, card_data)
    pan = _choose_number(request, programme, old_number)
    members |= _body_members(request, context, card, programme)
    members |= {"request_id": sequences.next("card_request"), "key_version": card_data.key_version()}
    members["pan"] = card_data.seal(card.id, "pan", pan)
    pin = _choose_pin(request, card, virtual, card_data)
    members |= WITHOUT_PIN if pin is None else pin_members(card.id, pan, pin, members["key_version"], card_data)
    reissued = replace(card, **members)
    sent, shipping = card_production.order_body(context, reissued, given)
    operations: list[Operation] = [
        card.update(context.write_id, **members),
        update_reissued_row(reissued, pan, context.write_id),
        *sent,
    ]
    if pan != old_number:
        lookup, status = card_data.lookup, card.status(context.now)
        operations.append(put_retired_number(lookup(old_number), card, status, context.write_id))
        operations.append(put_number(lookup(pan), reissued, context.write_id))
    clear = card_production.ClearCardData(pan, None if virtual else pin, decrypt_password(card, card_data))
    answer = card_production.serialize_created(context, card_data, reissued, clear)
    return ActionOutcome(
        answer, operations, [*reissued.uses, *shipping], events=[card_creation_event(reissued, reissued=True)]
    )


def _body_members(
    request: ReissueCard, context: RequestContext, card: Card, programme: CardProgramme
) -> dict[str, Any]:
    """Return the members that every reissue changes. Raises: Refused."""
    year, month = _new_expiry(request, context, card, programme)
    product_id = group_resolution.keep_or_default(card.product_id, programme.product_ids)
    return {
        "product_id": product_id,
        "sub_product_id": context.catalogue.products[product_id].sub_product_id,
        "auto_conversion": _choose_conversion(request, card, programme),
        "stored_status": NEW,
        "reason_code": None,
        "note": None,
        "expiry_year": year,
        "expiry_month": month,
        "wrong": None,
    }


def _choose_pin(request: ReissueCard, card: Card, virtual: int, card_data: CardData) -> str | None:
    if request.generate_new_pin == NO:
        return decrypt_pin(card, card_data)
    if virtual:
        return None
    if request.card_pin is not None:
        require_good(request.card_pin)
    return request.card_pin or pins_and_passwords.random_pin()


def _choose_programme(request: ReissueCard, context: RequestContext, card: Card, virtual: int) -> CardProgramme:
    if request.card_program_id is None and virtual != card.virtual:
        raise refused_field("card_program_id", "required", "is required when the card's type changes")
    return group_resolution.card_programme(context.catalogue, or_default(request.card_program_id, card.program_id))


def _check_card(request: ReissueCard, card: Card, programme: CardProgramme, virtual: int) -> None:
    if request.generate_new_pan != YES and card.stored_status in (LOST, STOLEN):
        raise refused_field("generate_new_pan", "value", "must be 1 for a lost or stolen card")
    if request.generate_new_pin == NO and card.virtual and not virtual:
        raise refused_field("generate_new_pin", "value", "must be 1 when a virtual card becomes physical")
    if programme.id == card.program_id:
        return
    if programme.countries and card.country not in programme.countries:
        raise refused_field("card_program_id", "value", "must be a programme that allows the card's country")
    if card.currency not in programme.currencies:
        raise Refused(Status.CURRENCY_NOT_SUPPORTED, "the programme does not support the card's currency")


def _choose_number(request: ReissueCard, programme: CardProgramme, old: str) -> str:
    if request.generate_new_pan == YES:
        return new_pan(programme.bin, programme.pan_length)
    if not old.startswith(programme.bin) or len(old) != programme.pan_length:
        raise refused_field("generate_new_pan", "value", "must be 1: the old number does not fit the programme")
    return old


def _choose_conversion(request: ReissueCard, card: Card, programme: CardProgramme) -> int:
    """Whether the card converts currencies. The default is the previous setting.

    Raises: Refused, if a new programme does not permit conversion.
    """
    if request.auto_conversion is None and programme.id == card.program_id:
        return card.auto_conversion
    return card_production.may_convert(programme, request.auto_conversion, card.auto_conversion)


def _new_expiry(request: ReissueCard, context: RequestContext, card: Card, programme: CardProgramme) -> tuple[int, int]:
    """Return the year and month of the new expiry.

    If the number is unchanged, the new expiry must be later than the old expiry. Otherwise the CVC2 would be the same.

    Raises: Refused, if the expiry exceeds the programme's maximum validity from today by more than a month.
    """
    this_month = month_of(context.now)
    fresh = months_later(this_month, programme.validity_months)
    if request.generate_new_pan == YES:
        return fresh
    later = max(fresh, months_later((card.expiry_year, card.expiry_month), 1))
    if later > months_later(this_month, programme.max_validity_months + 1):
        raise refused_field("generate_new_pan", "value", "must be 1: the programme allows no later expiry")
    return later
