"""3-D Secure: whitelist rules, requests for authentication and their confirmation (specification, Card operations)."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Any, Never

from chalicelib.cards.card_data.sealed_data import CardData
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.protocol import card_records
from chalicelib.cards.protocol.card_messages import AuthenticationConfirm, CreateCardAcsMerchantWhitelistRule
from chalicelib.cards.protocol.status_codes import Refused, Status, refused_field
from chalicelib.cards.requests.request_context import Outcome, RefusedWith, RequestContext
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.cards.three_ds import whitelist_record
from chalicelib.cards.three_ds.authentication_record import CONFIRMED, FAILED, REFUSED, TRIES, Authentication, proof
from chalicelib.cards.three_ds.whitelist_record import LISTS, WhitelistRule


@dataclass(frozen=True, slots=True)
class AcsFlow:
    """What a programme manager tells its access control server."""

    sequences: Sequences
    card_data: CardData

    def create_card_acs_merchant_whitelist_rule(
        self, request: CreateCardAcsMerchantWhitelistRule, context: RequestContext
    ) -> Outcome[card_records.WhitelistRule]:
        code = request.rule_code and whitelist_record.code_key(context.manager_id, request.rule_code)
        items = context.items([Card.key(request.card_id), *([code] if code else [])])
        card = context.require_visible(Card, items[0])
        card.require(context.action, context.now)
        if code and items[1] is not None:
            raise refused_field("rule_code", "value", "is another rule's")
        rule = WhitelistRule(
            self.sequences.next("rule"),
            request.maximum_amount,
            request.maximum_amount_currency_ison,
            {name: entries for name in LISTS if (entries := getattr(request, name))},
        )
        made = whitelist_record.put_rule(card.id, rule, request.rule_name, code or None, context.write_id)
        return Outcome({"rule_id": rule.id}, [*made, card.check_unchanged()])

    def authentication_confirm(
        self, request: AuthenticationConfirm, context: RequestContext
    ) -> Outcome[dict[str, Never]]:
        asked = context.find(Authentication, request.auth_request_id)
        item = context.items([Card.key(asked.card_id)])[0]
        if not context.can_see(item):
            raise Refused(Status.NO_AUTHENTICATION)
        card = context.require_visible(Card, item)
        card.require(context.action, context.now)
        if not asked.is_pending(context.now):
            raise Refused(Status.WRONG_STATE, "the request has expired, or was answered already")
        if request.validation_value is not None and not self._is_right_value(asked, request.validation_value):
            wrong = asked.wrong_values + 1
            members: dict[str, Any] = {"wrong_values": wrong} | ({"status": FAILED} if wrong >= TRIES else {})
            raise RefusedWith(
                Status.VALIDATION_DIFFERS, [asked.update(context.write_id, **members), card.check_unchanged()]
            )
        status = CONFIRMED if request.confirmation_status == "Y" else REFUSED
        change = asked.update(context.write_id, status=status, method=request.oob_auth_method)
        return Outcome({}, [change, card.check_unchanged()])

    # -- inside

    def _is_right_value(self, asked: Authentication, value: str) -> bool:
        return hmac.compare_digest(proof(self.card_data, asked.id, value), asked.proof)
