"""A stack with TLS: only clients that trust the stack's development CA can connect, and clients can use mutual TLS."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from infra.local.background import run_stack
from infra.local.development_ca import ClientSubject, DevelopmentCa
from tests.conftest import ENDPOINT
from tests.e2e.separate_stack import CLEAN, run_admin
from tests.kit.endpoint import of_a_stack
from tests.kit.time import PATIENCE_SECONDS

pytestmark = pytest.mark.e2e
BIC = "TLSBGB21"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls-stack")


@pytest.fixture(scope="module")
def tls_stack(place: Path) -> Iterator[dict[str, Any]]:
    with run_stack(environ=CLEAN, folder=place, elsewhere=of_a_stack(ENDPOINT) | {"TLS": "1"}) as content:
        yield content


@pytest.fixture
def caller(tls_stack: dict[str, Any]) -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.trust_env = False
        session.verify = tls_stack["ca_file"]
        yield session


def test_only_clients_that_trust_the_development_ca_connect_over_https(
    tls_stack: dict[str, Any], caller: requests.Session
) -> None:
    answer = caller.get(f"{tls_stack['base_url']}/health", timeout=PATIENCE_SECONDS)

    assert tls_stack["base_url"].startswith("https://127.0.0.1:")
    assert answer.status_code == 200
    assert "Strict-Transport-Security" not in answer.headers
    with pytest.raises(requests.exceptions.SSLError):
        requests.get(f"{tls_stack['base_url']}/health", timeout=PATIENCE_SECONDS)


def test_the_service_and_the_demonstration_banks_call_each_other_over_https(
    tls_stack: dict[str, Any], caller: requests.Session, python: Path, place: Path
) -> None:
    bank = tls_stack["banks"][0]
    asked = {"bic": bank["bic"], "scopes": ["account.list"]}
    key = {"X-Api-Key": tls_stack["client"]["client_id"]}
    place_to_go = caller.post(
        f"{tls_stack['base_url']}/tpp/authorize", json=asked, headers=key, timeout=PATIENCE_SECONDS
    ).json()
    page = caller.get(place_to_go["redirect_url"], timeout=PATIENCE_SECONDS)

    assert page.status_code == 200, "the bank has asked the service who the TPP is"
    assert page.url.startswith(tls_stack["base_url"])
    assert run_admin(python, place, "banks", "test", bank["bic"])["reachable"] is True


def test_a_call_of_a_bank_without_its_registered_certificate_is_rejected(
    tls_stack: dict[str, Any], caller: requests.Session, python: Path, place: Path
) -> None:
    asked = ("--bank", "--common-name", "api.bank.example", "--out", str(place))
    made = run_admin(python, place, "certificates", "issue", *asked)["certificate"]
    url = f"{tls_stack['base_url']}/elsewhere"
    added = run_admin(
        *(python, place, "banks", "add", BIC, "--name", "Bank with TLS", "--country", "GB", "--api-version", "1"),
        *("--domain", url, "--authorization-url", url, "--certificate-subject", made["certificate_subject"]),
    )
    headers = {"X-Api-Key": added["api_key"]}

    without = caller.post(f"{tls_stack['base_url']}/bank/consent", json={}, headers=headers, timeout=PATIENCE_SECONDS)
    caller.cert = (made["certificate"], made["key"])
    shown = caller.post(f"{tls_stack['base_url']}/bank/consent", json={}, headers=headers, timeout=PATIENCE_SECONDS)

    assert "client certificate" in without.text
    assert "X-Request-Id must be a UUID" in shown.text, "the certificate comes before this check"


def test_a_client_certificate_of_another_ca_fails_in_the_tls_handshake(
    tls_stack: dict[str, Any], caller: requests.Session, tmp_path: Path
) -> None:
    pem, key = DevelopmentCa(tmp_path / "other").issue_client(ClientSubject("api.bank.example"), days=1)
    (tmp_path / "client.pem").write_text(pem + key)
    caller.cert = str(tmp_path / "client.pem")

    with pytest.raises(requests.exceptions.ConnectionError):
        caller.get(f"{tls_stack['base_url']}/health", timeout=PATIENCE_SECONDS)
