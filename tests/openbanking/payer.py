"""A TPP that initiates payments, and what banks answer."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.foundation.http.outbound import Reply
from tests.causeway import Answer, Causeway
from tests.openbanking.kit import IBAN, Sent

VERSIONS = pytest.mark.parametrize("version", [1, 2])

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
    """A payment that every check lets pass."""
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


def taken(version: int, payment_id: str = "P-1") -> dict[str, Any]:
    """A bank's answer to an order."""
    body = {"confirmation_url": "https://bank.example/confirm", "payment_id": payment_id}
    return {"status": "success" if version == 1 else "RCVD", **body}


class Payer:
    """A TPP with a consent for payments at a bank that takes them."""

    def __init__(self, causeway: Causeway, version: int, kind: str = "single", consent_type: str = "reusable") -> None:
        self.causeway = causeway
        self.version = version
        self.kind = kind
        self.bearer = None
        self.request_id: str | None = None
        self.headers: dict[str, str] = {}
        if kind != "direct":
            tokens = causeway.tpp.tokens(version, scopes=SCOPES[version], consent_type=consent_type)
            self.bearer, self.refresh_token = tokens["access_token"], tokens["refresh_token"]
        self.side = causeway.banks[version]
        self.bank_takes_all()

    def bank_takes_all(self) -> None:
        """From now on the bank takes every order, as P-1, P-2 and so on; a repeated X-Request-Id is one order."""
        self.side.answers[WEBHOOKS[self.version, self.kind]] = lambda sent: taken(self.version, self._named(sent))

    def _named(self, sent: Sent) -> str:
        orders = [each.headers["X-Request-Id"] for each in self.side.received if each.path in WEBHOOKS.values()]
        return f"P-{[*dict.fromkeys(orders)].index(sent.headers['X-Request-Id']) + 1}"

    def bank_does(self, answer: Any) -> None:
        self.side.answers[WEBHOOKS[self.version, self.kind]] = lambda sent: answer

    def pay(self, key: str | None = None, **members: Any) -> Answer:
        headers = self.headers | ({"idempotency-key": key} if key is not None else {})
        headers |= {"x-request-id": self.request_id} if self.request_id else {}
        body = order(self.causeway, self.version, self.kind, **members)
        return self.causeway.tpp.call("POST", PATHS[self.kind], body, bearer=self.bearer, headers=headers)

    def status(self, payment_id: str = "P-1") -> Answer:
        bic = f"&bic={self.side.bic}" if self.kind == "direct" else ""
        return self.causeway.tpp.call("GET", f"/tpp/payment_status?payment_id={payment_id}{bic}", bearer=self.bearer)

    def status_of_order(self) -> Answer:
        """The status of the payment that was ordered with this X-Request-Id."""
        bic = f"&bic={self.side.bic}" if self.kind == "direct" else ""
        return self.causeway.tpp.call(
            "GET", f"/tpp/payment_status?request_id={self.request_id}{bic}", bearer=self.bearer
        )

    def report(self, status: Any, payment_id: str | int = "P-1", **headers: Any) -> Answer:
        names = ("payment_id", "payment_status") if self.version == 1 else ("paymentId", "paymentStatus")
        members = dict(zip(names, (payment_id, status), strict=True))
        return self.causeway.banks[self.version].call("/payments/status", members, headers=headers)

    @property
    def calls(self) -> int:
        return len(self.side.received)


REFUSAL = {
    1: Reply(400, b'{"status":"error","error_code":77,"message":"not enough money"}', {}, 0.01),
    2: Reply(400, b'{"code":"FUNDS","title":"not enough money","timestamp":"x"}', {}, 0.01),
}
