"""Parallel calls of banks on the running stack: exactly one of several conflicting conditional writes succeeds."""

import uuid
from typing import Any

import pytest

from chalicelib import bootstrap
from tests.e2e.parties import OwnBank, Tpp, at_once

pytestmark = pytest.mark.e2e


@pytest.fixture
def bank(operator: bootstrap.Hub, stack: dict[str, Any]) -> OwnBank:
    return OwnBank(operator, stack["base_url"])


def test_50_parallel_consent_requests_with_one_state_save_one_consent(
    tpp: Tpp, bank: OwnBank, operator: bootstrap.Hub
) -> None:
    asked = tpp.call("POST", "/tpp/authorize", {"bic": bank.bic, "scopes": ["account.list"]}).json()

    answers = at_once(50, lambda: bank.consent(asked["redirect_url"]))

    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200] + [409] * 49
    saved = [item for item in operator.store.scan("consents") if item.get("bic") == bank.bic]
    assert len(saved) == 1


def test_50_parallel_duplicate_requests_have_the_same_response(tpp: Tpp, bank: OwnBank) -> None:
    asked = tpp.call("POST", "/tpp/authorize", {"bic": bank.bic, "scopes": ["account.list"]}).json()
    request_id = str(uuid.uuid4())

    answers = at_once(50, lambda: bank.consent(asked["redirect_url"], request_id))

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1


def test_parallel_revocations_with_one_request_id_revoke_one_consent(
    tpp: Tpp, bank: OwnBank, operator: bootstrap.Hub
) -> None:
    request, request_id = {"bic": bank.bic, "scopes": ["account.list"]}, str(uuid.uuid4())
    urls = [tpp.call("POST", "/tpp/authorize", request).json()["redirect_url"] for _ in range(20)]
    tokens = [bank.consent(url).json()["access_token"] for url in urls]

    answers = at_once(20, lambda: bank.revoke(tokens.pop(), request_id))

    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 19
    saved = [item["status"] for item in operator.store.scan("consents") if item.get("bic") == bank.bic]
    assert sorted(saved) == ["authorised"] * 19 + ["revoked"]


def test_50_parallel_authorization_requests_with_one_state_store_one_authorization(tpp: Tpp, bank: OwnBank) -> None:
    request = {"bic": bank.bic, "scopes": ["account.list"], "state": uuid.uuid4().hex}

    answers = at_once(50, lambda: tpp.call("POST", "/tpp/authorize", request))

    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 49
