"""Payments that are answered later."""

from __future__ import annotations

from typing import Any

from chalicelib.delivery.delivery_record import CLAIMED_SECONDS
from chalicelib.delivery.sweeper import sweep
from chalicelib.foundation.identifiers import OpaqueToken
from chalicelib.openbanking.records.consents import consent_key
from tests.causeway import Answer, Causeway
from tests.openbanking.deferred_calls import LATER, accepted, looked_up
from tests.openbanking.payer import Payer


class LaterPayer(Payer):
    """A TPP that does not wait for the bank's answer."""

    def __init__(self, causeway: Causeway, version: int, kind: str = "single", consent_type: str = "reusable") -> None:
        super().__init__(causeway, version, kind, consent_type)
        self.headers = dict(LATER)

    def order(self, key: str | None = None, **members: Any) -> str:
        """The id of a payment that was accepted."""
        return accepted(self.pay(key, **members))

    def pay_at_once(self, key: str | None = None, **members: Any) -> Answer:
        """The same payment, waited for."""
        self.headers = {}
        try:
            return self.pay(key, **members)
        finally:
            self.headers = dict(LATER)

    def attempt(self, request_id: str) -> None:
        """The next attempt, when its time has come."""
        due_at = self.causeway.delivery(request_id).due_at
        self.causeway.clock.advance(max((due_at or 0) - self.causeway.clock.time(), 0))
        self.causeway.hub.delivery.worker.attempt(request_id)

    def outcome(self, request_id: str) -> dict[str, Any]:
        answer = looked_up(self.causeway, request_id, self.bearer)
        assert answer.status == 200, answer
        body: dict[str, Any] = answer.body
        return body

    def failure(self, request_id: str) -> tuple[int, str]:
        """The status and the title that a payment failed with; it is never sent again."""
        outcome, calls = self.outcome(request_id), self.calls
        assert outcome["state"] == "failed"
        self.causeway.clock.advance(CLAIMED_SECONDS)
        self.causeway.hub.delivery.worker.attempt(request_id)
        self.causeway.hub.delivery.call(sweep)
        assert self.calls == calls
        return outcome["status"], outcome["body"]["title"]

    def consent_status(self) -> str:
        token = OpaqueToken.parse(self.bearer or "", parts=3)
        item = self.causeway.hub.store.get(*consent_key(token.ids[0])) if token else None
        assert item is not None
        return str(item["status"])


def payments(causeway: Causeway) -> list[dict[str, Any]]:
    return sorted(causeway.hub.store.scan("payments"), key=lambda item: str(item["payment_id"]))
