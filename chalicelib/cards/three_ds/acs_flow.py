"""3-D Secure: whitelist rules, authentication requests and their confirmation (specification, Card operations).

In sandboxes, the simulator replaces the online merchants that request authentication.
"""

from __future__ import annotations

import hmac
import secrets
from typing import Never

from chalicelib.cards.card_data.encryption import CardData
from chalicelib.cards.events.card_events import CardEvent
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.protocol import card_records, simulator_messages
from chalicelib.cards.protocol.card_events import ThreeDSecureEvent
from chalicelib.cards.protocol.card_messages import AuthenticationConfirm, CreateCardAcsMerchantWhitelistRule
from chalicelib.cards.protocol.simulator_messages import SimulateAuthentication
from chalicelib.cards.protocol.states import ACTIVE
from chalicelib.cards.protocol.status_codes import Refused, Status, refused_field
from chalicelib.cards.protocol.values import CHALLENGE, FRICTIONLESS, REJECTED
from chalicelib.cards.requests import disclosure
from chalicelib.cards.requests.request_context import ActionOutcome, RefusedWith, RequestContext
from chalicelib.cards.storage.record import without_none
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.cards.three_ds import acs_record as records
from chalicelib.foundation.dynamodb.store import Operation


def create_card_acs_merchant_whitelist_rule(
    request: CreateCardAcsMerchantWhitelistRule, context: RequestContext, *, sequences: Sequences
) -> ActionOutcome[card_records.WhitelistRule]:
    """If a payment matches every criterion of the rule, and at least one entry of each list, 3-D Secure does not
    challenge the cardholder. A ``rule_code`` must be unique among all your rules (2005), including rules above your
    access level.
    """
    code = request.rule_code and records.code_key(context.manager_id, request.rule_code)
    items = context.items([Card.key(request.card_id), *([code] if code else [])])
    card = context.require_visible(Card, items[0])
    card.require(context.action, context.now)
    if code and items[1] is not None:
        raise refused_field("rule_code", "value", "belongs to another rule")
    rule = records.WhitelistRule(
        sequences.next("rule"),
        request.maximum_amount,
        request.maximum_amount_currency_ison,
        {name: entries for name in records.LISTS if (entries := getattr(request, name))},
    )
    made = records.put_rule(card.id, rule, request.rule_name, code or None, context.write_id)
    return ActionOutcome({"rule_id": rule.id}, [*made, card.check_unchanged()])


def authentication_confirm(
    request: AuthenticationConfirm, context: RequestContext, *, card_data: CardData
) -> ActionOutcome[dict[str, Never]]:
    """A request that was already confirmed or has expired is refused with 4008. If ``validation_value`` is present, it
    must match (6004).
    """
    asked = context.find(records.Authentication, request.auth_request_id)
    item = context.items([Card.key(asked.card_id)])[0]
    if not context.can_see(item):
        raise Refused(Status.NO_AUTHENTICATION)
    card = context.require_visible(Card, item)
    card.require(context.action, context.now)
    if not asked.is_pending(context.now):
        raise Refused(Status.WRONG_STATE, "the request has expired or has already been answered")
    value = request.validation_value
    if value is not None and not hmac.compare_digest(records.hash_of(card_data, asked.id, value), asked.proof):
        wrong = asked.wrong_values + 1
        status = records.FAILED if wrong >= records.TRIES else asked.status
        change = asked.update(context.write_id, wrong_values=wrong, status=status)
        raise RefusedWith(Status.VALIDATION_DIFFERS, [change, card.check_unchanged()])
    status = records.CONFIRMED if request.confirmation_status == "Y" else records.REFUSED
    change = asked.update(context.write_id, status=status, method=request.oob_auth_method)
    return ActionOutcome({}, [change, card.check_unchanged()])


def simulate_authentication(
    request: SimulateAuthentication, context: RequestContext, *, card_data: CardData, sequences: Sequences
) -> ActionOutcome[simulator_messages.Authentication]:
    """``outcome`` is ``frictionless`` if a rule of the card exempts the payment, ``rejected`` if the card is not
    active, and ``challenge`` otherwise. A challenge creates a request for ``authenticationConfirm``. No message is sent
    to the cardholder. The response contains the validation value. If the programme manager delivers validation values,
    the programme manager's event contains the encrypted value.
    """
    card = context.find(Card, request.card_id)
    if card.status(context.now) != ACTIVE:
        return ActionOutcome(_serialize_answer(REJECTED))
    purchase = request.amount, request.currency_ison, _purchase_facts(request)
    if any(rule.matches(*purchase) for rule in records.rules_of_card(context.store, card.id)):
        return ActionOutcome(_serialize_answer(FRICTIONLESS))
    number, value = sequences.next("authentication"), f"{secrets.randbelow(10**6):06}"
    asked = records.Authentication(
        id=number,
        manager_id=context.manager_id,
        access_level=card.access_level,
        card_id=card.id,
        amount=request.amount,
        currency=request.currency_ison,
        proof=records.hash_of(card_data, number, value),
        valid_until=context.now + records.VALID_SECONDS,
        expires_at=context.now + records.RETENTION_SECONDS,
    )
    encrypted = disclosure.encrypt_for_event(context.catalogue, number, value)
    event = CardEvent("three_d_secure.requested", _event_data(request, asked, encrypted))
    operations: list[Operation] = [asked.put(context.write_id), card.check_unchanged()]
    return ActionOutcome(_serialize_answer(CHALLENGE, asked, value), operations, events=[event])


def _serialize_answer(
    outcome: str, asked: records.Authentication | None = None, validation_value: str | None = None
) -> simulator_messages.Authentication:
    answer: simulator_messages.Authentication = {
        "outcome": outcome,
        "auth_request_id": asked.id if asked else None,
        "validation_value": validation_value,
        "expires_at": asked.valid_until if asked else None,
    }
    return without_none(answer)


def _event_data(
    request: SimulateAuthentication, asked: records.Authentication, encrypted: str | None
) -> ThreeDSecureEvent:
    """Return the event data of a pending request. ``encrypted`` is the encrypted validation value, if the programme
    manager delivers validation values.
    """
    return {
        "auth_request_id": asked.id,
        "card_id": asked.card_id,
        "amount": asked.amount,
        "currency_ison": asked.currency,
        "acquirer_bin": request.acquirer_bin,
        "mcc": request.mcc,
        "merchant_name": request.merchant_name,
        "merchant_id": request.merchant_id,
        "merchant_country_ison": request.merchant_country_ison,
        "terminal_id": request.terminal_id,
        "expires_at": asked.valid_until,
        "validation_value": encrypted,
    }


def _purchase_facts(request: SimulateAuthentication) -> dict[str, str]:
    """Return the known facts of a purchase, in the same format as the lists of a whitelist rule."""
    country, shop = request.merchant_country_ison, None
    if request.acquirer_bin is not None and request.merchant_id is not None:
        shop = f"{request.acquirer_bin}+{request.merchant_id}"
    facts = {
        "acquirer_bin_merchant_id": shop,
        "mcc": request.mcc,
        "merchant_country_ison": None if country is None else f"{country:03}",
        "merchant_name": request.merchant_name,
    }
    return {name: fact for name, fact in facts.items() if fact is not None}
