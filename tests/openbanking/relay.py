"""A service, shared by the tests of a module, that has bearers for every scope and makes the calls of all webhooks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from chalicelib.foundation import jsontext
from chalicelib.openbanking.records.payments import payment_key
from tests.causeway import Answer, Causeway
from tests.kit.logs import Lines
from tests.openbanking.examples import BY_WEBHOOK, SCOPES, Json, Row
from tests.openbanking.kit import Bank, ReceivedRequest

_PAID_BY = {"/v2_payment_single_status": "/v2_payment_single", "/v2_payment_bulk_status": "/v2_payment_bulk"}


@dataclass
class Relay:
    """A service with its bearers. ``call`` makes the TPP call of a webhook with a scripted bank response."""

    causeway: Causeway
    bank_tokens: dict[int, str] = field(default_factory=dict)
    _bearers: dict[tuple[str, ...], str] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)
    _read: dict[str, Any] = field(default_factory=dict)

    def bearer(self, version: int, without: str | None = None) -> str:
        """Return a bearer for the account ``IBAN``, with all scopes of a version, or all except ``without``."""
        scopes = [scope for scope in SCOPES[version] if scope != without]
        if tuple(scopes) not in self._bearers:
            consented = self.causeway.psu.approve(version, scopes=scopes)
            if without is None:
                self.bank_tokens[version] = consented.bank_token
            self._bearers[tuple(scopes)] = self.redeemed(consented.query["code"])
        return self._bearers[tuple(scopes)]

    def bearer_for(self, version: int, **accounts: Sequence[str | int]) -> str:
        """Return a new bearer with all scopes, for a consent with ``ibans``, ``account_ids`` or ``account_numbers``."""
        scopes = SCOPES[version]
        url = self.causeway.tpp.authorize(version, scopes=scopes)["redirect_url"]
        body = self.causeway.banks[version].consent_body(url, scopes=scopes, **({"ibans": []} | accounts))
        saved = self.causeway.banks[version].call("/consent", body).body
        return self.redeemed((saved.get("callback_url") or saved["callbackUrl"]).rpartition("code=")[2].split("&")[0])

    def redeemed(self, code: str) -> str:
        answer = self.causeway.tpp.call("POST", "/tpp/token", {"code": code})
        assert answer.status == 200, answer
        bearer: str = answer.body["access_token"]
        return bearer

    def read(self, real: Callable[[Any], Any], keys: Any) -> Any:
        """Cache the store's ``batch_get`` of clients and consents, which never change in these tests.

        Most calls of these tests are refused. Without the cache, reads from the emulator would take most of the time.
        """
        if {table for table, _ in keys} - {"clients", "consents"}:
            return real(keys)
        if repr(keys) not in self._read:
            self._read[repr(keys)] = real(keys)
        return self._read[repr(keys)]

    def bank(self, row: Row) -> Bank:
        return self.causeway.banks[row.version]

    def bank_answers(self, row: Row, answer: Any) -> None:
        """Script the bank's response: a JSON value, a ``Reply`` or an exception."""
        self.bank(row).answers[row.webhook] = lambda sent: answer

    def call(
        self,
        row: Row,
        request: Any = None,
        answer: Any = None,
        *,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
        raw_query: str | None = None,
    ) -> Answer:
        """Make the TPP call of ``row``, by default a valid call. Clear the recorded requests of the bank first."""
        self._pay_first(row)
        self._forget_payment(row, answer)
        self.causeway.hub.openbanking.bank_client.breaker.record_success(
            self.bank(row).bic
        )  # failures of other tests do not count
        self.bank_answers(row, row.answer if answer is None else answer)
        request = row.request if request is None else request
        bearer = bearer or (self.bearer(row.version) if row.token else None)
        self.bank(row).received.clear()
        if not row.in_query:
            return self.causeway.tpp.call(
                row.method, row.call, self._addressed(row, request), bearer=bearer, headers=headers
            )
        query = urlencode(request) if raw_query is None else raw_query
        return self.causeway.tpp.call(row.method, f"{row.call}?{query}", bearer=bearer, headers=headers)

    def received(self, row: Row) -> list[ReceivedRequest]:
        return self.bank(row).received

    def _addressed(self, row: Row, request: Any) -> Any:
        if row.is_direct and isinstance(request, dict):
            return {"bic": self.bank(row).bic, **request}
        return request

    def _pay_first(self, row: Row) -> None:
        """Before a payment status call, make the payment whose status the call requests."""
        paid = _PAID_BY.get(row.webhook)
        if paid and paid not in self._known:
            assert self.call(BY_WEBHOOK[paid]).status == 200
            self._known.add(paid)

    def _forget_payment(self, row: Row, answer: Any) -> None:
        """Delete the payment of the example, because all example orders have the same payment_id."""
        if row.is_payment:
            given = answer if isinstance(answer, dict) else {}
            payment_id = given.get("payment_id", given.get("paymentId", row.answer["payment_id"]))
            self.causeway.hub.store.delete(*payment_key(self.bank(row).bic, str(payment_id)))
            self._known.discard(row.webhook)


def error_of(answer: Answer) -> tuple[int, str, list[Json]]:
    """Check the form of an error. Return its status, code and additional errors."""
    body = answer.body
    assert set(body) - {"additionalErrors", "reason_code"} == {"code", "title", "timestamp", "requestId"}, answer
    assert body["requestId"] == answer.headers["x-request-id"]
    assert len(body["timestamp"]) == 25
    additional = body.get("additionalErrors", [])
    for each in additional:
        assert set(each) == {"code", "title", "details"}
    return answer.status, body["code"], additional


def details_of(answer: Answer) -> str:
    status, code, (additional,) = error_of(answer)
    assert (status, code, additional["code"]) == (502, "ASPSP_UNKNOWN_ERROR", "ASPSP_ERROR_DESC"), answer
    details: str = additional["details"]
    return details


def json_bytes(value: Any) -> bytes:
    return jsontext.dumps(value).encode()


def handed_on(row: Row, answer: Json) -> Json:
    requested = {"payment_id": row.request["payment_id"]} if row.call == "/tpp/payment_status" else {}
    return requested | {name: value for name, value in answer.items() if row.version == 2 or name != "status"}


def logged_problems(lines: Lines) -> list[str]:
    logged = [line for line in lines.all() if line["message"] == "malformed bank response"]
    return [problem for line in logged for problem in line["problems"]]
