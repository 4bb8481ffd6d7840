"""Calls of TPPs that are answered later."""

from __future__ import annotations

from typing import Any

from chalicelib.foundation.http.outbound import NotReached
from tests.causeway import Answer, Causeway
from tests.openbanking.examples import BY_WEBHOOK
from tests.openbanking.kit import Sent

LATER = {"prefer": "respond-async"}

ACCOUNTS = {1: BY_WEBHOOK["/accounts"], 2: BY_WEBHOOK["/v2_accounts"]}

DOWN = NotReached("no connection could be made")


def accepted(answer: Answer) -> str:
    """The id of a request that was accepted in the decided form."""
    assert answer.status == 202, answer
    request_id: str = answer.body["request_id"]
    assert answer.body == {"request_id": request_id, "state": "queued"}
    assert answer.headers["location"] == f"/tpp/requests/{request_id}"
    assert answer.headers["preference-applied"] == "respond-async"
    return request_id


def looked_up(causeway: Causeway, request_id: str, bearer: str | None = None, **others: Any) -> Answer:
    return causeway.tpp.call("GET", f"/tpp/requests/{request_id}", bearer=bearer, **others)


class Died(BaseException):
    """The end of a worker."""


def dies(sent: Sent) -> Any:
    """A worker's end after the bank has got its request."""
    raise Died


class Question:
    """A question about accounts that was accepted from a TPP; ``answer`` is what the bank will give."""

    def __init__(self, causeway: Causeway, version: int = 1, **headers: str) -> None:
        self.causeway = causeway
        self.row = ACCOUNTS[version]
        self.side = causeway.banks[version]
        tokens = causeway.tpp.tokens(version)
        self.bearer, self.refresh_token = tokens["access_token"], tokens["refresh_token"]
        self.consent_id = tokens["consent_id"]
        self.bank_gives(self.row.answer)
        self.request_id = accepted(self.ask(**headers))

    def bank_gives(self, answer: Any) -> None:
        self.side.answers[self.row.webhook] = lambda sent: answer

    def ask(self, **headers: str) -> Answer:
        return self.causeway.tpp.call("GET", self.row.call, bearer=self.bearer, headers=LATER | headers)

    def at_once(self, **headers: str) -> Answer:
        """The same question, waited for."""
        return self.causeway.tpp.call("GET", self.row.call, bearer=self.bearer, headers=headers)

    def attempt(self) -> None:
        self.causeway.hub.delivery.worker.attempt(self.request_id)

    def refreshed(self) -> str:
        """A new bearer of the same consent."""
        answer = self.causeway.tpp.call("POST", "/tpp/token", {"refresh_token": self.refresh_token})
        assert answer.status == 200, answer
        bearer: str = answer.body["access_token"]
        return bearer

    def outcome(self) -> dict[str, Any]:
        """What can be fetched, whatever the time: bearers last an hour."""
        answer = looked_up(self.causeway, self.request_id, self.refreshed())
        assert answer.status == 200, answer
        body: dict[str, Any] = answer.body
        return body

    @property
    def state(self) -> str:
        return self.causeway.delivery(self.request_id).state
