"""Consents that a bank ends by itself: once, and the service is told until it has heard."""

from __future__ import annotations

from typing import Any

import pytest
import requests
import responses

from chalicelib import bootstrap
from chalicelib.demo_bank import clearing, consents, faults
from chalicelib.demo_bank.banks import get_bank
from chalicelib.demo_bank.runtime import TABLE, DemoBank
from tests.demo_bank.stage import Stage

GONE = requests.ConnectionError("gone")


@pytest.fixture(params=["faults-one", "faults-two"])
def stage(
    request: pytest.FixtureRequest, resources: None, outside: responses.RequestsMock, monkeypatch: pytest.MonkeyPatch
) -> Stage:
    """Each fault bank in turn."""
    stage = Stage(request.param, outside)
    monkeypatch.setattr(bootstrap, "hub", lambda: stage)
    return stage


def bank_of(stage: Stage) -> DemoBank:
    return get_bank(stage.profile.name, stage)


def run(stage: Stage) -> None:
    clearing.run_due_work(stage)


def told(stage: Stage) -> list[Any]:
    return [body for _, body, _ in stage.hub.named("/token/revoke")]


def due(stage: Stage) -> list[str]:
    return [item["id"] for item in stage.store.scan(TABLE) if item["id"].startswith("ends#")]


def consent(stage: Stage) -> Any:
    (item,) = [item for item in stage.store.scan(TABLE) if item["id"].startswith("token#")]
    return item["status"], item["told"]


def asks(stage: Stage, token: str) -> int:
    path = "/accounts" if stage.profile.version == 1 else "/v2_accounts"
    return stage.webhook(path, {}, token=token).status


def test_a_consent_ends_after_a_day_and_the_service_is_notified_once(stage: Stage) -> None:
    token = stage.approve("revokes-after-a-day")
    stage.clock.advance(faults.CONSENT_SECONDS - 1)
    run(stage)
    assert (consent(stage), told(stage), asks(stage, token)) == (("active", True), [], 200)
    stage.clock.advance(1)
    for _ in range(3):
        run(stage)
    assert [list(body.values()) for body in told(stage)] == [[token]]
    assert (consent(stage), due(stage)) == (("revoked", True), [])
    assert asks(stage, token) in (400, 401, 404)


def test_consents_of_other_customers_stay_active(stage: Stage) -> None:
    stage.approve("slow")
    stage.clock.advance(10 * faults.CONSENT_SECONDS)
    run(stage)
    assert (consent(stage), due(stage), told(stage)) == (("active", True), [], [])


@pytest.mark.parametrize("failure", [GONE, (500, {}), (403, {"error_code": 1, "code": "X"})])
def test_a_failed_revocation_notice_is_retried(stage: Stage, failure: Any) -> None:
    token = stage.approve("revokes-after-a-day")
    stage.clock.advance(faults.CONSENT_SECONDS)
    stage.hub.errors["/token/revoke"] = failure
    run(stage)
    assert asks(stage, token) in (400, 401, 404)
    assert (consent(stage), len(due(stage)), len(told(stage))) == (("revoked", False), 1, 1)
    run(stage)
    assert len(told(stage)) == 1
    stage.hub.errors.clear()
    stage.clock.advance(consents.RETRY_SECONDS)
    run(stage)
    run(stage)
    assert (consent(stage), due(stage), len(told(stage))) == (("revoked", True), [], 2)


@pytest.mark.parametrize("answer", [(400, {"error_code": 4202, "code": "RESOURCE_UNKNOWN"}), (400, {"code": "FORMAT"})])
def test_a_finally_rejected_revocation_is_not_repeated(stage: Stage, answer: Any) -> None:
    stage.approve("revokes-after-a-day")
    stage.clock.advance(faults.CONSENT_SECONDS)
    stage.hub.errors["/token/revoke"] = answer
    for _ in range(2):
        run(stage)
        stage.clock.advance(consents.RETRY_SECONDS)
    assert (len(told(stage)), due(stage)) == (1, [])


def test_a_consent_revoked_by_the_tpp_is_not_ended_again(stage: Stage) -> None:
    token = stage.approve("revokes-after-a-day")
    reply = stage.webhook(stage.profile.protocol.revoke_token.path, {"access_token": token})
    assert reply.status == 200, reply
    stage.clock.advance(faults.CONSENT_SECONDS)
    run(stage)
    assert (told(stage), due(stage)) == ([], [])


def test_a_consent_that_fails_to_end_does_not_delay_others(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        stage.approve("revokes-after-a-day")
    stage.clock.advance(faults.CONSENT_SECONDS)
    real, failures = consents.get_consent, iter([KeyError("token")])

    def read(bank: DemoBank, record: str) -> Any:
        for failure in failures:
            raise failure
        return real(bank, record)

    monkeypatch.setattr(consents, "get_consent", read)
    run(stage)
    assert (len(told(stage)), len(due(stage))) == (1, 1)
    stage.clock.advance(consents.RETRY_SECONDS)
    run(stage)
    assert (len(told(stage)), len(due(stage))) == (2, 0)


def test_consents_beyond_the_time_limit_are_ended_in_the_next_run(stage: Stage) -> None:
    for _ in range(3):
        stage.approve("revokes-after-a-day")
    stage.clock.advance(faults.CONSENT_SECONDS)
    stage.hub.answer_seconds = 6
    run(stage)
    assert (len(told(stage)), len(due(stage))) == (2, 1)
    run(stage)
    assert (len(told(stage)), len(due(stage))) == (3, 0)
