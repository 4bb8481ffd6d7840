"""reissueCard: the same card in another body (specification, reissueCard request).

The card keeps its id, holder and accounts. It waits for its activation again, with no wrong tries. With a new number
the old one is retired and remembers the state that the card had.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from chalicelib.cards import groups, pins
from chalicelib.cards.call import Call, Outcome
from chalicelib.cards.card_data import CardData
from chalicelib.cards.card_flow import pin_members, require_good
from chalicelib.cards.card_numbers import new_pan
from chalicelib.cards.cards import Card, month_of, months_later, retiring_number, taking_number
from chalicelib.cards.catalogue import CardProgramme
from chalicelib.cards.issuing import card_members, card_uses, created, may_convert
from chalicelib.cards.orders import ordering
from chalicelib.cards.protocol.card_messages import ReissueCard
from chalicelib.cards.protocol.states import PIN_OK
from chalicelib.cards.protocol.status_codes import Refused, Status, refused_field
from chalicelib.cards.protocol.values import NO, YES
from chalicelib.cards.sequences import Sequences
from chalicelib.foundation.store import Operation


@dataclass(frozen=True, slots=True)
class _Secrets:
    """A reissued card's number and PIN in clear, and the writes that a new number takes."""

    pan: str
    pin: str | None
    operations: list[Operation]


@dataclass(frozen=True, slots=True)
class Reissuing:
    """Issues cards anew."""

    sequences: Sequences
    card_data: CardData

    def reissue_card(self, call: Call) -> Outcome:
        request: ReissueCard = call.request
        card = call.find(Card, request.card_id)
        card.require(call.action.name, call.now)
        virtual = card.virtual if request.virtual is None else request.virtual
        programme = self._programme(call, card, virtual)
        members = card_members(call, programme, virtual, card)
        members["auto_conversion"] = self._converts(request, card, programme)
        product_id = card.product_id if card.product_id in programme.product_ids else programme.product_ids[0]
        product = call.catalogue.products[product_id]
        found = self._secrets(call, card, programme, virtual)
        version = self.card_data.key_version()
        year, month = _expiry(call, card, programme)
        members |= {
            "product_id": product.id,
            "sub_product_id": product.sub_product_id,
            "stored_status": "N",
            "reason_code": None,
            "note": None,
            "expiry_year": year,
            "expiry_month": month,
            "request_id": self.sequences.next("card_request"),
            "key_version": version,
            "pan": self.card_data.seal(card.id, "pan", found.pan),
            "wrong": None,
        }
        if found.pin is None:
            members |= {"pin": None, "pvv": None, "pin_status": PIN_OK, "pin_tries": 0}
        else:
            members |= pin_members(self.card_data, card.id, found.pan, found.pin, version)
        reissued = replace(card, **members)
        operations = [
            card.changing(call.write_id, **members),
            *found.operations,
            *ordering(call, reissued, request),
        ]
        password = self.card_data.open(card.id, "acs_password", card.acs_password)
        shown_pin = None if virtual else found.pin
        data = created(call, self.card_data, reissued, found.pan, shown_pin, password)
        return Outcome(data, operations, card_uses(reissued, request.order_shipping_method))

    # -- inside

    def _programme(self, call: Call, card: Card, virtual: int) -> CardProgramme:
        """The programme that the request names, or the card's own. Raises: Refused."""
        request: ReissueCard = call.request
        if request.card_program_id is None and virtual != card.virtual:
            raise refused_field("card_program_id", "required", "is required when the card's type changes")
        if request.card_program_id is None:
            return groups.card_programme(call.catalogue, card.program_id)
        programme = groups.card_programme(call.catalogue, request.card_program_id)
        if card.currency not in programme.currencies:
            raise Refused(Status.CURRENCY_NOT_SUPPORTED, "the programme does not have the card's currency")
        if programme.countries and card.country not in programme.countries:
            raise refused_field("card_program_id", "value", "names a programme without the card's country")
        return programme

    def _converts(self, request: ReissueCard, card: Card, programme: CardProgramme) -> int:
        """Whether the card converts: without a wish as before, which a new programme has to permit. Raises: Refused."""
        if request.auto_conversion is None and programme.id == card.program_id:
            return card.auto_conversion
        return may_convert(programme, request.auto_conversion, card.auto_conversion)

    def _secrets(self, call: Call, card: Card, programme: CardProgramme, virtual: int) -> _Secrets:
        """The number and PIN that the request asks for. Raises: Refused."""
        request: ReissueCard = call.request
        pan, pin = self.card_data.open(card.id, "pan", card.pan), None
        operations: list[Operation] = []
        if request.generate_new_pan == YES:
            status = card.status(call.now)
            operations.append(retiring_number(self.card_data.lookup(pan), card.id, status, call.write_id))
            pan = new_pan(programme.bin, programme.pan_length)
            operations.append(taking_number(self.card_data.lookup(pan), card.id, call.write_id))
        elif card.stored_status in ("L", "S"):
            raise refused_field("generate_new_pan", "value", "must be 1 for a lost or stolen card")
        elif not pan.startswith(programme.bin) or len(pan) != programme.pan_length:
            raise refused_field("generate_new_pan", "value", "must be 1 in a programme with other card numbers")
        if request.generate_new_pin == NO:
            if card.virtual and not virtual:
                raise refused_field("generate_new_pin", "value", "must be 1 when a virtual card becomes physical")
            pin = None if card.pin is None else self.card_data.open(card.id, "pin", card.pin)
        elif not virtual:
            if request.card_pin is not None:
                require_good(request.card_pin)
            pin = request.card_pin or pins.random_pin()
        return _Secrets(pan, pin, operations)


def _expiry(call: Call, card: Card, programme: CardProgramme) -> tuple[int, int]:
    """Year and month of the new expiry: with the same number later than the old one, or the CVC2 would repeat."""
    fresh = months_later(month_of(call.now), programme.validity_months)
    if call.request.generate_new_pan == YES:
        return fresh
    return max(fresh, months_later((card.expiry_year, card.expiry_month), 1))
