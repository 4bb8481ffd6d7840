"""The calls of the conformance kit to the bank: headers, retries, timeouts, and recorded exchanges."""

from collections.abc import Mapping
from typing import Any

import pytest

from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.http.outbound import Outbound, Reply, TimedOut
from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.conformance.caller import SHOWN, Caller
from infra.conformance.masking import Masking
from tests.infra.conformance.kit_runs import HUB_KEY
from tests.infra.conformance.small_bank import API_KEY

WEBHOOK = VERSIONS[2].relayed["accounts"]


class Answers(Outbound):
    def __init__(self, *replies: Reply | Exception) -> None:
        super().__init__(public_only=False)
        self._replies = list(replies)
        self.sent: list[tuple[str, bytes, Mapping[str, str]]] = []

    def post(
        self, url: str, body: bytes, headers: Mapping[str, str], *, repeat: bool, fresh: bool = False, **_: object
    ) -> Reply:
        assert (repeat, fresh) == (False, True)
        self.sent.append((url, body, headers))
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


def reply(status: int, body: bytes = b"{}", **headers: str) -> Reply:
    return Reply(status, body, {name.replace("_", "-"): value for name, value in headers.items()}, 0.012)


def caller(outbound: Outbound, pauses: list[float]) -> Caller:
    return Caller("http://bank", API_KEY, HUB_KEY, Masking(), outbound, pause=pauses.append)


def test_conformance_kit_calls_have_the_signature_and_headers_of_the_hub() -> None:
    outbound = Answers(reply(200))
    call = caller(outbound, []).send(WEBHOOK, {"a": "ä"}, token="the-token-of-it")
    ((url, body, headers),) = outbound.sent

    assert (url, body) == ("http://bank/v2_accounts", '{"a":"ä"}'.encode())
    assert signatures.verify([HUB_KEY.public_key()], body, headers["X-Signature"])
    assert (headers["X-Api-Key"], headers["X-Auth-Token"]) == (API_KEY, "the-token-of-it")
    assert call.headers == headers


def test_the_conformance_kit_repeats_a_call_with_status_429_after_the_retry_after_time() -> None:
    pauses: list[float] = []
    outbound = Answers(reply(429, Retry_After="3"), reply(429), reply(429, Retry_After="900"), reply(200))
    call = caller(outbound, pauses).send(WEBHOOK, {}, token=None)

    assert call.reply is not None
    assert call.reply.status == 200
    assert pauses == [3, 1, 10]
    assert len({headers["X-Request-Id"] for _, _, headers in outbound.sent}) == 1


def test_a_call_of_the_conformance_kit_fails_after_repeated_responses_with_status_429() -> None:
    call = caller(Answers(*[reply(429)] * 5), []).send(WEBHOOK, {}, token=None)

    assert call.reply is not None
    assert call.reply.status == 429


def test_the_conformance_kit_stops_calling_a_webhook_that_timed_out() -> None:
    made = caller(Answers(TimedOut("no answer came in time")), [])
    call = made.send(WEBHOOK, {}, token=None)

    assert made.paused == {WEBHOOK.path}
    assert call.evidence.received == "no response: no answer came in time"


@pytest.mark.parametrize("name", ["X-Api-Key", "X-Auth-Token", "X-Signature"])
def test_the_recorded_exchange_of_a_call_masks_secret_headers(name: str) -> None:
    call = caller(Answers(reply(200, Set_Cookie="a=b", Server="x")), []).send(WEBHOOK, {}, token="the-token-of-it")
    evidence: Any = call.evidence

    assert f"{name}: ***" in evidence.sent
    assert evidence.received.splitlines()[:3] == ["200 after 12 ms", "Set-Cookie: ***", "Server: x"]


def test_the_recorded_exchange_of_a_call_has_a_truncated_long_body() -> None:
    call = caller(Answers(reply(200, b"x" * 9000)), []).send(WEBHOOK, {}, token=None)

    assert call.evidence.received.endswith("… (9000 characters)")
    assert len(call.evidence.received) < SHOWN + 100
