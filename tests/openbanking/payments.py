"""A PISP that initiates payments, immediately or deferred, and the responses of banks."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from chalicelib.delivery.delivery_record import CLAIMED_SECONDS
from chalicelib.delivery.sweeper import sweep
from chalicelib.foundation.http.outbound import Reply
from chalicelib.foundation.identifiers import OpaqueToken
from chalicelib.openbanking.records.consents import consent_key
from tests.causeway import Answer, Causeway
from tests.openbanking.kit import IBAN, LATER, ReceivedRequest, accepted_id

KINDS = pytest.mark.parametrize("kind", ["single", "bulk", "direct"])

PATHS = {
    "single": "/tpp/payment_initiation",
    "bulk": "/tpp/bulk_payment_initiation",
    "direct": "/tpp/direct_payment_initiation",
}

WEBHOOKS = {
    (1, "single"): "/payment_initiation",
    (1, "bulk"): "/bulk_payment_initiation",
    (1, "direct"): "/direct_payment_initiation",
    (2, "single"): "/v2_payment_single",
    (2, "bulk"): "/v2_payment_bulk",
    (2, "direct"): "/v2_payment_direct_single",
}

SCOPES = {1: ["payment.init"], 2: ["payments.single", "payments.bulk"]}

CALLBACK = "http://127.0.0.1:8000/payments/callback"

RECEIVER = "DE89370400440532013000"


def order(causeway: Causeway, version: int, kind: str, **members: Any) -> dict[str, Any]:
    amount = {"amount": "12.30", "currency": "EUR"}
    bodies: dict[str, dict[str, Any]]
    if version == 1:
        receiver = {"receiver_name": "Ada Receiver", "receiver_iban": RECEIVER, **amount}
        bodies = {
            "single": {"sender_iban": IBAN, "callback_url": CALLBACK, **receiver},
            "direct": {"callback_url": CALLBACK, **receiver},
            "bulk": {"sender_iban": IBAN, "callback_url": CALLBACK, "totals": [amount], "payments": [receiver]},
        }
    else:
        item = {"creditor_account": {"iban": RECEIVER}, "creditor_name": "Ada", "instructed_amount": amount}
        bodies = {
            "single": {"debtor_account": {"iban": IBAN}, "callback_url": CALLBACK, **item},
            "direct": {"callback_url": CALLBACK, **item},
            "bulk": {"callback_url": CALLBACK, "instructed_totals": amount, "payments": [item]},
        }
    bic = {"bic": causeway.banks[version].bic} if kind == "direct" else {}
    return bodies[kind] | bic | members


UNIFIED_PATHS = {
    "single": "/tpp/unified/payments",
    "bulk": "/tpp/unified/bulk_payments",
    "direct": "/tpp/unified/direct_payments",
}


def unified_order(causeway: Causeway, version: int, kind: str, **members: Any) -> dict[str, Any]:
    """Return a valid unified payment order for banks of all versions. Direct payments have no debtor."""
    transfer = {"creditor": {"name": "Ada Receiver", "iban": RECEIVER}, "amount": {"value": "12.30", "currency": "EUR"}}
    bodies: dict[str, dict[str, Any]] = {
        "single": {"debtor": {"iban": IBAN}, "callback_url": CALLBACK, **transfer},
        "direct": {"bic": causeway.banks[version].bic, "callback_url": CALLBACK, **transfer},
        "bulk": {"debtor": {"iban": IBAN}, "callback_url": CALLBACK, "payments": [transfer]},
    }
    return bodies[kind] | members


def payment_answer(version: int, payment_id: str = "P-1") -> dict[str, Any]:
    body = {"confirmation_url": "https://bank.example/confirm", "payment_id": payment_id}
    return {"status": "success" if version == 1 else "RCVD", **body}


REFUSAL = {
    1: Reply(400, b'{"status":"error","error_code":77,"message":"not enough money"}', {}, 0.01),
    2: Reply(400, b'{"code":"FUNDS","title":"not enough money","timestamp":"x"}', {}, 0.01),
}


class Pisp:
    """A TPP with a payment consent at a bank that accepts all orders. ``deferred`` makes orders asynchronous."""

    paths = PATHS
    status_path = "/tpp/payment_status"

    def __init__(
        self,
        causeway: Causeway,
        version: int,
        kind: str = "single",
        consent_type: str = "reusable",
        *,
        deferred: bool = False,
    ) -> None:
        self.causeway = causeway
        self.version = version
        self.kind = kind
        self.deferred = deferred
        self.bearer = None
        self.request_id: str | None = None
        self.headers: dict[str, str] = dict(LATER) if deferred else {}
        if kind != "direct":
            tokens = causeway.tpp.tokens(version, scopes=SCOPES[version], consent_type=consent_type)
            self.bearer, self.refresh_token = tokens["access_token"], tokens["refresh_token"]
        self.bank = causeway.banks[version]
        self.bank_accepts_all()

    @classmethod
    def with_request_id(cls, causeway: Causeway, version: int, *arguments: Any, **options: Any) -> Pisp:
        pisp = cls(causeway, version, *arguments, **options)
        pisp.request_id = str(uuid.uuid4())
        return pisp

    def bank_accepts_all(self) -> None:
        """Make the bank accept all orders, with the payment ids P-1, P-2 and so on. Orders with the same X-Request-Id
        count as one order.
        """
        self.bank.answers[WEBHOOKS[self.version, self.kind]] = lambda sent: payment_answer(
            self.version, self._payment_id(sent)
        )

    def _payment_id(self, sent: ReceivedRequest) -> str:
        orders = [each.headers["X-Request-Id"] for each in self.bank.received if each.path in WEBHOOKS.values()]
        return f"P-{[*dict.fromkeys(orders)].index(sent.headers['X-Request-Id']) + 1}"

    def bank_answers(self, answer: Any) -> None:
        self.bank.answers[WEBHOOKS[self.version, self.kind]] = lambda sent: answer

    # -- payments

    def pay(self, key: str | None = None, **members: Any) -> Answer:
        return self._initiate(key, self.headers, members)

    def pay_at_once(self, key: str | None = None, **members: Any) -> Answer:
        return self._initiate(key, {}, members)

    def pay_later(self, key: str | None = None, **members: Any) -> Answer:
        return self._initiate(key, LATER, members)

    def order(self, key: str | None = None, **members: Any) -> str:
        return accepted_id(self.pay_later(key, **members))

    def _initiate(self, key: str | None, headers: dict[str, str], members: dict[str, Any]) -> Answer:
        headers = headers | ({"idempotency-key": key} if key is not None else {})
        headers |= {"x-request-id": self.request_id} if self.request_id else {}
        body = self.body(**members)
        return self.causeway.tpp.call("POST", self.paths[self.kind], body, bearer=self.bearer, headers=headers)

    def body(self, **members: Any) -> dict[str, Any]:
        """Return a valid order."""
        return order(self.causeway, self.version, self.kind, **members)

    @property
    def calls(self) -> int:
        return len(self.bank.received)

    # -- statuses

    def status(self, payment_id: str = "P-1") -> Answer:
        return self._find(f"payment_id={payment_id}")

    def status_of_order(self) -> Answer:
        return self._find(f"request_id={self.request_id}")

    def _find(self, query: str) -> Answer:
        bic = f"&bic={self.bank.bic}" if self.kind == "direct" else ""
        return self.causeway.tpp.call("GET", f"{self.status_path}?{query}{bic}", bearer=self.bearer)

    def report(self, status: Any, payment_id: str | int = "P-1", **headers: Any) -> Answer:
        members = {"payment_id": payment_id, "payment_status": status}
        body = {self.bank.spell(name): value for name, value in members.items()}
        return self.bank.call("/payments/status", body, headers=headers)

    def consent_status(self) -> str:
        token = OpaqueToken.parse(self.bearer or "", parts=3)
        item = self.causeway.hub.store.get(*consent_key(token.ids[0])) if token else None
        assert item is not None
        return str(item["status"])

    # -- deferred payments

    def attempt(self, request_id: str) -> None:
        """Advance the clock to the due time and make the next attempt."""
        due_at = self.causeway.delivery(request_id).due_at
        self.causeway.clock.advance(max((due_at or 0) - self.causeway.clock.time(), 0))
        self.causeway.hub.delivery.worker.attempt(request_id)

    def outcome(self, request_id: str) -> dict[str, Any]:
        return self.causeway.tpp.outcome(request_id, self.bearer)

    def failure(self, request_id: str) -> tuple[int, str]:
        """Return the status and the title of a failed payment. Check that the payment is never sent again."""
        outcome, calls = self.outcome(request_id), self.calls
        assert outcome["state"] == "failed"
        self.causeway.clock.advance(CLAIMED_SECONDS)
        self.causeway.hub.delivery.worker.attempt(request_id)
        self.causeway.hub.delivery.call(sweep)
        assert self.calls == calls
        return outcome["status"], outcome["body"]["title"]


class UnifiedPisp(Pisp):
    """A TPP that initiates payments with the unified API."""

    paths = UNIFIED_PATHS
    status_path = "/tpp/unified/payments"

    def body(self, **members: Any) -> dict[str, Any]:
        return unified_order(self.causeway, self.version, self.kind, **members)


def stored_payments(causeway: Causeway) -> list[dict[str, Any]]:
    return sorted(causeway.hub.store.scan("payments"), key=lambda item: str(item["payment_id"]))
