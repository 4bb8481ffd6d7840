"""Cards: activation, status, PIN, groups, and what is shown without revealing (specification, Card operations)."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Any

from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.issuing.card_secrets import CardSecrets, require_good
from chalicelib.cards.issuing.event_payloads import card_activated, card_status_changed
from chalicelib.cards.issuing.serializers import card_shown
from chalicelib.cards.programs import group_resolution
from chalicelib.cards.protocol.card_messages import ActivateCard, ChangeCardStatus
from chalicelib.cards.protocol.states import ACTIVE, CARD_MOVES, PIN_OK
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.requests import disclosure
from chalicelib.cards.requests.request_context import Call, Outcome, RefusedWith
from chalicelib.cards.storage.record import present

ACTIVATION = "activation"
"""Wrong card data at activateCard, as a card counts them."""


@dataclass(frozen=True, slots=True)
class CardFlow:
    """Changes cards, and shows what is no secret."""

    secrets: CardSecrets

    def activate_card(self, call: Call) -> Outcome:
        request: ActivateCard = call.request
        card = self._changeable(call)
        if not _is_checked(request):
            return _activated(call, card)
        if card.is_guessed_at(ACTIVATION, call.now):
            raise Refused(Status.TOO_MANY_ATTEMPTS, "wrong card data were given too often today (UTC)")
        if self._fits(card, request):
            return _activated(call, card)
        counted = card.changing(call.write_id, wrong=card.one_more_wrong(ACTIVATION, call.now))
        raise RefusedWith(Status.CARD_DATA_DIFFERS, [counted])

    def change_card_status(self, call: Call) -> Outcome:
        request: ChangeCardStatus = call.request
        card = self._changeable(call)
        before = card.status(call.now)
        if request.status not in CARD_MOVES[before]:
            raise Refused(Status.WRONG_STATE)
        members = {"stored_status": request.status, "reason_code": request.reason_code, "note": request.note}
        events = card_status_changed(card, before, request.status, request.reason_code)
        return Outcome(operations=[card.changing(call.write_id, **members)], events=events)

    def get_card_status(self, call: Call) -> Outcome:
        card = call.find(Card, call.request.card_id)
        why = present({"reason_code": card.reason_code, "note": card.note})
        return Outcome({"card_status": card.status(call.now), **why})

    def get_card_details(self, call: Call) -> Outcome:
        card = call.find(Card, call.request.card_id)
        expiry = disclosure.shown_expiry(call.credential, card.id, card.expiry_year, card.expiry_month)
        return Outcome(card_shown(card, call.now, expiry))

    def set_pin(self, call: Call) -> Outcome:
        card = self._changeable(call)
        if card.pin_is_blocked:
            raise Refused(Status.PIN_BLOCKED)
        pin: str = call.request.pin
        require_good(pin)
        return _changed(call, card, **self.secrets.with_pin(card.id, self.secrets.number(card), pin, card.key_version))

    def unblock_pin(self, call: Call) -> Outcome:
        card = self._changeable(call)
        if not card.pin_is_blocked:
            raise Refused(Status.PIN_NOT_BLOCKED)
        return _changed(call, card, pin_status=PIN_OK, pin_tries=0)

    def change_card_acs_password(self, call: Call) -> Outcome:
        card = self._changeable(call)
        sealed = self.secrets.data.seal(card.id, "acs_password", call.request.acs_password)
        return _changed(call, card, acs_password=sealed)

    def change_card_scheme_account_updates_status(self, call: Call) -> Outcome:
        return _changed(call, self._changeable(call), participating=call.request.participating)

    def assign_card_to_fees_group(self, call: Call) -> Outcome:
        return self._assigned(call, "fee_group", "fees_group_id")

    def assign_card_to_limits_group(self, call: Call) -> Outcome:
        return self._assigned(call, "limit_group", "limits_group_id")

    def assign_card_to_usage_group(self, call: Call) -> Outcome:
        return self._assigned(call, "usage_group", "usages_group_id")

    def assign_card_to_risk_rule_group(self, call: Call) -> Outcome:
        return self._assigned(call, "risk_group", "risk_rules_group_id")

    def get_design(self, call: Call) -> Outcome:
        programme = group_resolution.card_programme(call.catalogue, call.request.program_id)
        designs = [call.catalogue.designs[number] for number in programme.design_ids]
        return Outcome(
            [{"card_design_id": each.id, "card_design_name": each.name, "name": each.name} for each in designs]
        )

    # -- inside

    def _changeable(self, call: Call) -> Card:
        """The card that the request names, in a state that lets the action pass. Raises: Refused."""
        card = call.find(Card, call.request.card_id)
        card.require(call.action.name, call.now)
        return card

    def _assigned(self, call: Call, kind: str, field: str) -> Outcome:
        """The card with the group that ``field`` names, one of those that its programme allows. Raises: Refused."""
        number: int = getattr(call.request, field)
        card = call.find(Card, call.request.card_id)
        programme = group_resolution.card_programme(call.catalogue, card.program_id)
        group = group_resolution.allowed_one(call.catalogue, kind, field, number, getattr(programme, f"{kind}_ids"))
        card.require(call.action.name, call.now)
        return Outcome(operations=[card.changing(call.write_id, **{f"{kind}_id": number})], uses=[group])

    def _fits(self, card: Card, request: ActivateCard) -> bool:
        """Whether every datum that the request gives is the card's; all are compared, each in constant time."""
        pan = self.secrets.number(card)
        kept: dict[str, Any] = {
            "card_request_id": card.request_id,
            "card_pan": pan,
            "card_cvc2": self.secrets.cvc2(card, pan),
            "card_expiration_year": card.expiry_year,
            "card_expiration_month": card.expiry_month,
        }
        given = request.members()
        matches = [hmac.compare_digest(str(given[name]), str(value)) for name, value in kept.items() if name in given]
        return all(matches)


def _is_checked(request: ActivateCard) -> bool:
    return request.members().keys() - {"card_id", "access_level"} != set()


def _activated(call: Call, card: Card) -> Outcome:
    change = card.changing(call.write_id, stored_status=ACTIVE)
    return Outcome(operations=[change], events=[card_activated(card)])


def _changed(call: Call, card: Card, **members: Any) -> Outcome:
    return Outcome(operations=[card.changing(call.write_id, **members)])
