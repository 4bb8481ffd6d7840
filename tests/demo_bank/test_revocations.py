"""Revocations of consents by a bank: each consent is revoked once, and each notice is retried until the service
responds.
"""

from typing import Any

import pytest
import requests
import responses

from chalicelib import bootstrap
from chalicelib.demo_bank import clearing, consents, faults
from chalicelib.demo_bank.banks import get_bank
from chalicelib.demo_bank.runtime import TABLE, DemoBank
from tests.demo_bank.single_bank import SingleBank

GONE = requests.ConnectionError("gone")


@pytest.fixture(params=["faults-one", "faults-two"])
def bank(
    request: pytest.FixtureRequest, resources: None, outside: responses.RequestsMock, monkeypatch: pytest.MonkeyPatch
) -> SingleBank:
    bank = SingleBank(request.param, outside)
    monkeypatch.setattr(bootstrap, "hub", lambda: bank)
    return bank


def bank_of(bank: SingleBank) -> DemoBank:
    return get_bank(bank.profile.name, bank)


def run(bank: SingleBank) -> None:
    clearing.run_due_work(bank)


def told(bank: SingleBank) -> list[Any]:
    return [body for _, body, _ in bank.hub.received("/token/revoke")]


def due(bank: SingleBank) -> list[str]:
    return [item["id"] for item in bank.store.scan(TABLE) if item["id"].startswith("ends#")]


def consent(bank: SingleBank) -> Any:
    (item,) = [item for item in bank.store.scan(TABLE) if item["id"].startswith("token#")]
    return item["status"], item["told"]


def asks(bank: SingleBank, token: str) -> int:
    path = "/accounts" if bank.profile.version == 1 else "/v2_accounts"
    return bank.webhook(path, {}, token=token).status


def test_a_consent_is_revoked_after_a_day_and_the_service_is_notified_once(bank: SingleBank) -> None:
    token = bank.approve("revokes-after-a-day")
    bank.clock.advance(faults.CONSENT_SECONDS - 1)
    run(bank)
    assert (consent(bank), told(bank), asks(bank, token)) == (("active", True), [], 200)
    bank.clock.advance(1)
    for _ in range(3):
        run(bank)
    assert [list(body.values()) for body in told(bank)] == [[token]]
    assert (consent(bank), due(bank)) == (("revoked", True), [])
    assert asks(bank, token) in (400, 401, 404)


def test_consents_of_other_customers_remain_active(bank: SingleBank) -> None:
    bank.approve("slow")
    bank.clock.advance(10 * faults.CONSENT_SECONDS)
    run(bank)
    assert (consent(bank), due(bank), told(bank)) == (("active", True), [], [])


@pytest.mark.parametrize("failure", [GONE, (500, {}), (403, {"error_code": 1, "code": "X"})])
def test_a_failed_revocation_notice_is_retried(bank: SingleBank, failure: Any) -> None:
    token = bank.approve("revokes-after-a-day")
    bank.clock.advance(faults.CONSENT_SECONDS)
    bank.hub.errors["/token/revoke"] = failure
    run(bank)
    assert asks(bank, token) in (400, 401, 404)
    assert (consent(bank), len(due(bank)), len(told(bank))) == (("revoked", False), 1, 1)
    run(bank)
    assert len(told(bank)) == 1
    bank.hub.errors.clear()
    bank.clock.advance(consents.RETRY_SECONDS)
    run(bank)
    run(bank)
    assert (consent(bank), due(bank), len(told(bank))) == (("revoked", True), [], 2)


@pytest.mark.parametrize("answer", [(400, {"error_code": 4202, "code": "RESOURCE_UNKNOWN"}), (400, {"code": "FORMAT"})])
def test_a_permanently_rejected_revocation_notice_is_not_retried(bank: SingleBank, answer: Any) -> None:
    bank.approve("revokes-after-a-day")
    bank.clock.advance(faults.CONSENT_SECONDS)
    bank.hub.errors["/token/revoke"] = answer
    for _ in range(2):
        run(bank)
        bank.clock.advance(consents.RETRY_SECONDS)
    assert (len(told(bank)), due(bank)) == (1, [])


def test_a_consent_revoked_by_the_tpp_is_not_revoked_again(bank: SingleBank) -> None:
    token = bank.approve("revokes-after-a-day")
    reply = bank.webhook(bank.profile.protocol.revoke_token.path, {"access_token": token})
    assert reply.status == 200, reply
    bank.clock.advance(faults.CONSENT_SECONDS)
    run(bank)
    assert (told(bank), due(bank)) == ([], [])


def test_a_failed_revocation_of_a_consent_does_not_delay_other_revocations(
    bank: SingleBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        bank.approve("revokes-after-a-day")
    bank.clock.advance(faults.CONSENT_SECONDS)
    real, failures = consents.get_consent, iter([KeyError("token")])

    def read(bank: DemoBank, record: str) -> Any:
        for failure in failures:
            raise failure
        return real(bank, record)

    monkeypatch.setattr(consents, "get_consent", read)
    run(bank)
    assert (len(told(bank)), len(due(bank))) == (1, 1)
    bank.clock.advance(consents.RETRY_SECONDS)
    run(bank)
    assert (len(told(bank)), len(due(bank))) == (2, 0)


def test_consents_beyond_the_time_limit_are_revoked_in_the_next_run(bank: SingleBank) -> None:
    for _ in range(3):
        bank.approve("revokes-after-a-day")
    bank.clock.advance(faults.CONSENT_SECONDS)
    bank.hub.answer_seconds = 6
    run(bank)
    assert (len(told(bank)), len(due(bank))) == (2, 1)
    run(bank)
    assert (len(told(bank)), len(due(bank))) == (3, 0)
