"""Many banks' calls at once on the running stack: decisions are conditional writes, so one writer wins."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
import requests

from chalicelib import bootstrap
from chalicelib.foundation import jsontext, signatures
from chalicelib.openbanking.bank_record import NewBank
from tests.e2e.parties import Tpp, at_once

pytestmark = pytest.mark.e2e


class OwnBank:
    """A bank of the test's own, which only calls."""

    def __init__(self, operator: bootstrap.Hub, base: str) -> None:
        self._base = base
        self._key = signatures.load_private_key(signatures.generate_private_pem())
        self.bic = f"TESTGB{uuid.uuid4().hex[:5].upper()}"
        _, self._api_key = operator.banks.add(
            NewBank(
                bic=self.bic,
                name="Test Bank",
                country="GB",
                api_version=1,
                domain=f"{base}/nowhere",
                authorization_url=f"{base}/nowhere",
                public_keys=[signatures.public_pem(self._key.public_key())],
            )
        )

    def consent(self, url: str, request_id: str | None = None) -> requests.Response:
        members = {"request_url": url, "scopes": ["account.list"], "account_ids": ["1"]}
        return self._call("/consent", members, request_id)

    def revoke(self, token: str, request_id: str) -> requests.Response:
        return self._call("/token/revoke", {"access_token": token}, request_id)

    def _call(self, path: str, members: dict[str, Any], request_id: str | None) -> requests.Response:
        body = jsontext.dumps(members).encode()
        headers = {
            "Content-Type": "application/json",
            "X-Api-Key": self._api_key,
            "X-Request-Id": request_id or str(uuid.uuid4()),
            "X-Signature": signatures.sign(self._key, body),
        }
        with requests.Session() as session:
            session.trust_env = False
            return session.post(f"{self._base}/bank{path}", data=body, headers=headers, timeout=60)


@pytest.fixture
def bank(operator: bootstrap.Hub, stack: dict[str, Any]) -> OwnBank:
    return OwnBank(operator, stack["base_url"])


def test_of_50_parallel_consents_with_one_state_one_is_saved(tpp: Tpp, bank: OwnBank, operator: bootstrap.Hub) -> None:
    asked = tpp.call("POST", "/tpp/authorize", {"bic": bank.bic, "scopes": ["account.list"]}).json()

    answers = at_once(50, lambda: bank.consent(asked["redirect_url"]))

    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200] + [409] * 49
    saved = [item for item in operator.store.scan("consents") if item.get("bic") == bank.bic]
    assert len(saved) == 1


def test_50_parallel_repeats_of_one_request_all_get_its_one_answer(tpp: Tpp, bank: OwnBank) -> None:
    asked = tpp.call("POST", "/tpp/authorize", {"bic": bank.bic, "scopes": ["account.list"]}).json()
    request_id = str(uuid.uuid4())

    answers = at_once(50, lambda: bank.consent(asked["redirect_url"], request_id))

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1


def test_of_parallel_revocations_with_one_request_id_one_consent_ends(
    tpp: Tpp, bank: OwnBank, operator: bootstrap.Hub
) -> None:
    request, request_id = {"bic": bank.bic, "scopes": ["account.list"]}, str(uuid.uuid4())
    urls = [tpp.call("POST", "/tpp/authorize", request).json()["redirect_url"] for _ in range(20)]
    tokens = [bank.consent(url).json()["access_token"] for url in urls]

    answers = at_once(20, lambda: bank.revoke(tokens.pop(), request_id))

    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 19
    saved = [item["status"] for item in operator.store.scan("consents") if item.get("bic") == bank.bic]
    assert sorted(saved) == ["authorised"] * 19 + ["revoked"]


def test_of_50_parallel_authorizations_with_one_state_one_is_stored(tpp: Tpp, bank: OwnBank) -> None:
    request = {"bic": bank.bic, "scopes": ["account.list"], "state": uuid.uuid4().hex}

    answers = at_once(50, lambda: tpp.call("POST", "/tpp/authorize", request))

    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 49
