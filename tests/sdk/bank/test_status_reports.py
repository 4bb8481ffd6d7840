"""A payment's status is reported until the hub accepts the report or rejects its content."""

import json

import httpx
import pytest

from causeway.bank import ResourceUnknown
from tests.sdk.bank.harness import STATUSES, BankHarness


def test_a_failed_status_report_is_sent_later_with_the_same_request_id(harness: BankHarness) -> None:
    taken = harness.pay(token=harness.consent(accounts=("1001",)))
    harness.hub.steps = [httpx.ReadTimeout("lost")] * 2

    assert harness.decide(taken["confirmation_url"], "yes").status_code == 303
    assert sum(harness.clock.slept) < 1
    harness.run(harness.bank.send_pending())
    harness.run(harness.bank.send_pending())

    calls = [each for each in harness.hub.calls if each.url.path.endswith("/payments/status")]
    assert len(calls) == 3
    assert len({(each.headers["x-request-id"], each.content) for each in calls}) == 1


def test_a_newer_payment_status_replaces_an_unreported_status(harness_2: BankHarness) -> None:
    taken = harness_2.pay(token=harness_2.consent(accounts=("1001",)))
    harness_2.hub.steps = [httpx.ConnectError("away")] * 4
    harness_2.decide(taken["confirmation_url"], "yes")
    harness_2.run(harness_2.bank.report_status(taken["payment_id"], "ACCC"))

    harness_2.run(harness_2.bank.send_pending())

    assert json.loads(harness_2.hub.calls[-1].content)["paymentStatus"] == "ACCC"
    harness_2.hub.calls.clear()
    harness_2.run(harness_2.bank.send_pending())
    assert harness_2.hub.calls == []


def test_a_status_report_rejected_by_the_hub_is_not_retried(
    harness: BankHarness, caplog: pytest.LogCaptureFixture
) -> None:
    taken = harness.pay(token=harness.consent(accounts=("1001",)))
    harness.hub.steps = [httpx.Response(400, json={"error_code": 4001, "message": "unknown"})]

    assert harness.decide(taken["confirmation_url"], "yes").status_code == 303

    harness.run(harness.bank.send_pending())
    assert len(harness.hub.bodies("/payments/status")) == 1
    assert "was refused, and is not made again" in caplog.text


@pytest.mark.parametrize(
    "failure",
    [
        httpx.Response(200, text="<html>"),
        httpx.Response(302, headers={"Location": "https://login.example"}),
        httpx.Response(403, text="<html>"),
        httpx.Response(401, json={"error_code": 4200, "message": "wrong key"}),
        httpx.Response(401, json={"code": "WRONG_CREDENTIALS", "title": "wrong key"}),
        httpx.Response(401, json={"code": "HEADERS_ERROR", "title": "wrong signature"}),
    ],
    ids=["a page", "a redirect", "a proxy's refusal", "wrong key 1", "wrong key 2", "wrong signature"],
)
def test_a_status_report_rejected_by_a_proxy_or_for_its_credentials_is_retried(
    harness: BankHarness, failure: httpx.Response
) -> None:
    taken = harness.pay(token=harness.consent(accounts=("1001",)))
    harness.hub.steps = [failure] * 2

    assert harness.decide(taken["confirmation_url"], "yes").status_code == 303

    harness.run(harness.bank.send_pending())
    harness.run(harness.bank.send_pending())
    harness.hub.calls.clear()
    harness.run(harness.bank.send_pending())
    assert harness.hub.steps == []
    assert harness.hub.calls == [], "it was made"


def test_a_status_of_an_unknown_payment_is_not_reported(harness: BankHarness) -> None:
    with pytest.raises(ResourceUnknown):
        harness.run(harness.bank.report_status("other", STATUSES[harness.version]["confirmed"]))
    assert harness.hub.calls == []


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>a proxy</html>"),
        httpx.Response(404, text="<html>a proxy</html>"),
        httpx.Response(302, headers={"Location": "https://elsewhere.example"}),
        httpx.Response(401, json={"error_code": 4200, "code": "WRONG_CREDENTIALS"}),
        httpx.Response(403, json={"error_code": 4004, "code": "SERVICE_BLOCKED"}),
    ],
    ids=lambda answer: str(answer.status_code),
)
def test_a_status_report_is_pending_until_the_hub_accepts_or_rejects_the_report(
    harness: BankHarness, answer: httpx.Response
) -> None:
    taken = harness.pay(token=harness.consent(accounts=("1001",)))
    harness.hub.steps = [answer]

    assert harness.decide(taken["confirmation_url"], "yes").status_code == 303
    harness.run(harness.bank.send_pending())
    harness.run(harness.bank.send_pending())

    assert len(harness.hub.bodies("/payments/status")) == 2
