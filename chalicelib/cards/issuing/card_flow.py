"""Cards: activation, status, PIN, groups, details and card data (specification, Card operations).

A credential has a separate mode for the number, CVC2, PIN and 3-D Secure password. The mode determines how the value is
disclosed.
"""

from __future__ import annotations

import hmac
from typing import Any

from chalicelib.cards.card_data.encryption import CardData
from chalicelib.cards.issuing.card_decryption import (
    compute_cvc2,
    decrypt_number,
    decrypt_password,
    decrypt_pin,
    pin_members,
    require_good,
)
from chalicelib.cards.issuing.card_record import Card, update_listed
from chalicelib.cards.issuing.serializers import card_activation_event, card_status_events, serialize_card
from chalicelib.cards.programs import group_resolution
from chalicelib.cards.protocol import card_messages as messages
from chalicelib.cards.protocol import card_records as records
from chalicelib.cards.protocol.states import ACTIVE, CARD_MOVES, PIN_OK
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.requests import disclosure
from chalicelib.cards.requests.request_context import ActionOutcome, RefusedWith, RequestContext
from chalicelib.cards.storage.record import without_none
from chalicelib.foundation import security_refusals

ACTIVATION = "activation"
"""The name of the card's counter for activateCard requests with incorrect card data."""


def activate_card(
    request: messages.ActivateCard, context: RequestContext, *, card_data: CardData
) -> ActionOutcome[None]:
    """All card data in the request must be correct (6001). After 5 mismatches in one UTC day, requests are refused
    without checking (8004).
    """
    card = _require_card(context, request.card_id)
    if not request.members().keys() - {"card_id", "access_level"}:
        return _activate(context, card)
    if card.has_too_many_mismatches(ACTIVATION, context.now):
        security_refusals.record("too_many_attempts", "too many attempts", limits=[ACTIVATION])
        raise Refused(Status.TOO_MANY_ATTEMPTS, "incorrect card data was submitted too often today (UTC)")
    if _matches(card, request, card_data):
        return _activate(context, card)
    counted = card.update(context.write_id, wrong=card.with_wrong_entry(ACTIVATION, context.now))
    raise RefusedWith(Status.CARD_DATA_DIFFERS, [counted])


def change_card_status(request: messages.ChangeCardStatus, context: RequestContext) -> ActionOutcome[None]:
    """Setting the current status again succeeds. Status B is final."""
    card = _require_card(context, request.card_id)
    before = card.status(context.now)
    if request.status not in CARD_MOVES[before]:
        raise Refused(Status.WRONG_STATE)
    members = {"stored_status": request.status, "reason_code": request.reason_code, "note": request.note}
    events = card_status_events(card, before, request.status, request.reason_code)
    return ActionOutcome(operations=update_listed(card, context.write_id, **members), events=events)


def get_card_status(request: messages.OfCard, context: RequestContext) -> ActionOutcome[records.CardStatusAnswer]:
    """Returns the status and the reason for its last change."""
    card = context.find(Card, request.card_id)
    answer: records.CardStatusAnswer = {
        "card_status": card.status(context.now),
        "reason_code": card.reason_code,
        "note": card.note,
    }
    return ActionOutcome(without_none(answer))


def get_card_details(request: messages.OfCard, context: RequestContext) -> ActionOutcome[records.CardDetails]:
    """The response does not include the number, the CVC2, the PIN or the password."""
    card = context.find(Card, request.card_id)
    expiry = disclosure.disclose_expiry(context.credential, card.id, card.expiry_year, card.expiry_month)
    return ActionOutcome(serialize_card(card, context.now, expiry))


def set_pin(request: messages.SetPin, context: RequestContext, *, card_data: CardData) -> ActionOutcome[None]:
    """A PIN has 4 digits, which must not be all the same or an ascending or descending sequence (6002). A blocked PIN
    must be unblocked before a new PIN is set (6003). The PIN of a virtual card is accepted, but ``getPin`` still
    returns an empty PIN.
    """
    card = _require_card(context, request.card_id)
    if card.pin_is_blocked:
        raise Refused(Status.PIN_BLOCKED)
    require_good(request.pin)
    members = pin_members(card.id, decrypt_number(card, card_data), request.pin, card.key_version, card_data)
    return _update(context, card, **members)


def unblock_pin(request: messages.OfCard, context: RequestContext) -> ActionOutcome[None]:
    """The PIN is unchanged, and the counter of failed PIN attempts is reset. If the PIN is not blocked, the action is
    refused with 4007.
    """
    card = _require_card(context, request.card_id)
    if not card.pin_is_blocked:
        raise Refused(Status.PIN_NOT_BLOCKED)
    return _update(context, card, pin_status=PIN_OK, pin_tries=0)


def change_card_acs_password(
    request: messages.ChangeCardAcsPassword, context: RequestContext, *, card_data: CardData
) -> ActionOutcome[None]:
    """The old password becomes invalid immediately."""
    card = _require_card(context, request.card_id)
    sealed = card_data.seal(card.id, "acs_password", request.acs_password)
    return _update(context, card, acs_password=sealed)


def change_card_scheme_account_updates_status(
    request: messages.ChangeCardSchemeAccountUpdatesStatus, context: RequestContext
) -> ActionOutcome[None]:
    """Pass 1 to participate in the scheme's account updates, or 0 to opt out."""
    return _update(context, _require_card(context, request.card_id), participating=request.participating)


def assign_card_to_fees_group(request: messages.AssignCardToFeesGroup, context: RequestContext) -> ActionOutcome[None]:
    """The programme must allow the group (2005)."""
    return _assign_group(context, request.card_id, "fee_group", "fees_group_id", request.fees_group_id)


def assign_card_to_limits_group(
    request: messages.AssignCardToLimitsGroup, context: RequestContext
) -> ActionOutcome[None]:
    """The programme must allow the group (2005)."""
    return _assign_group(context, request.card_id, "limit_group", "limits_group_id", request.limits_group_id)


def assign_card_to_usage_group(
    request: messages.AssignCardToUsageGroup, context: RequestContext
) -> ActionOutcome[None]:
    """The programme must allow the group (2005)."""
    return _assign_group(context, request.card_id, "usage_group", "usages_group_id", request.usages_group_id)


def assign_card_to_risk_rule_group(
    request: messages.AssignCardToRiskRuleGroup, context: RequestContext
) -> ActionOutcome[None]:
    """The programme must allow the group (2005)."""
    return _assign_group(context, request.card_id, "risk_group", "risk_rules_group_id", request.risk_rules_group_id)


def get_card_number(
    request: messages.OfCard, context: RequestContext, *, card_data: CardData
) -> ActionOutcome[records.CardNumber]:
    """The credential's mode determines how the value is returned. If the mode is ``absent``, the action is refused with
    1103.
    """
    card = context.find(Card, request.card_id)
    return ActionOutcome({"pan": _reveal(context, card, "pan", decrypt_number(card, card_data))})


def get_cvc2(request: messages.OfCard, context: RequestContext, *, card_data: CardData) -> ActionOutcome[records.Cvc2]:
    """The credential's mode determines how the value is returned. If the mode is ``absent``, the action is refused with
    1103.
    """
    card = context.find(Card, request.card_id)
    return ActionOutcome(
        {"cvc2": _reveal(context, card, "cvc2", compute_cvc2(card, decrypt_number(card, card_data), card_data))}
    )


def get_pin(request: messages.OfCard, context: RequestContext, *, card_data: CardData) -> ActionOutcome[records.Pin]:
    """The credential's mode determines how the value is returned. If the mode is ``absent``, the action is refused with
    1103. The PIN of a virtual card is empty.
    """
    card = context.find(Card, request.card_id)
    pin = None if card.virtual else decrypt_pin(card, card_data)
    return ActionOutcome({"pin": "" if pin is None else _reveal(context, card, "pin", pin)})


def get_card_acs_password(
    request: messages.OfCard, context: RequestContext, *, card_data: CardData
) -> ActionOutcome[records.AcsPassword]:
    """The credential's mode determines how the value is returned. If the mode is ``absent``, the action is refused with
    1103.
    """
    card = context.find(Card, request.card_id)
    return ActionOutcome({"acs_password": _reveal(context, card, "acs_password", decrypt_password(card, card_data))})


def get_design(request: messages.GetDesign, context: RequestContext) -> ActionOutcome[list[records.Design]]:
    """The response contains the name both as ``card_design_name`` and as ``name``, because clients may read either
    member.
    """
    programme = group_resolution.card_programme(context.catalogue, request.program_id)
    designs = [context.catalogue.designs[number] for number in programme.design_ids]
    return ActionOutcome(
        [{"card_design_id": each.id, "card_design_name": each.name, "name": each.name} for each in designs]
    )


def _matches(card: Card, request: messages.ActivateCard, card_data: CardData) -> bool:
    """Whether all submitted card data match. The comparison takes constant time."""
    pan = decrypt_number(card, card_data)
    expected: dict[str, Any] = {
        "card_request_id": card.request_id,
        "card_pan": pan,
        "card_cvc2": compute_cvc2(card, pan, card_data),
        "card_expiration_year": card.expiry_year,
        "card_expiration_month": card.expiry_month,
    }
    given = request.members()
    matches = [hmac.compare_digest(str(given[name]), str(value)) for name, value in expected.items() if name in given]
    return all(matches)


def _require_card(context: RequestContext, card_id: int) -> Card:
    card = context.find(Card, card_id)
    card.require(context.action, context.now)
    return card


def _assign_group(context: RequestContext, card_id: int, kind: str, field: str, group_id: int) -> ActionOutcome[None]:
    card = context.find(Card, card_id)
    programme = group_resolution.card_programme(context.catalogue, card.program_id)
    group = group_resolution.require_allowed(
        context.catalogue, kind, field, group_id, getattr(programme, f"{kind}_ids")
    )
    card.require(context.action, context.now)
    return ActionOutcome(operations=[card.update(context.write_id, **{f"{kind}_id": group_id})], uses=[group])


def _reveal(context: RequestContext, card: Card, field: records.CardField, clear: str) -> str:
    shown = disclosure.disclose(context.credential, card.id, field, clear)
    assert shown is not None, "who is never shown a field is refused before"
    return shown


def _activate(context: RequestContext, card: Card) -> ActionOutcome[None]:
    return ActionOutcome(
        operations=update_listed(card, context.write_id, stored_status=ACTIVE), events=[card_activation_event(card)]
    )


def _update(context: RequestContext, card: Card, **members: Any) -> ActionOutcome[None]:
    return ActionOutcome(operations=[card.update(context.write_id, **members)])
