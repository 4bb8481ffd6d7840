"""Parallel browser requests on the running stack take effect once."""

import re
import secrets
from typing import Any

import pytest
import requests

from chalicelib import bootstrap
from chalicelib.website.records.attempts import LIMITS
from infra.psu_browser import Browser, approve_consent
from tests.e2e.parties import WebBrowser, at_once
from tests.kit.time import PATIENCE_SECONDS
from tests.website.web_user import ensure_user

pytestmark = [pytest.mark.e2e, pytest.mark.faults]


@pytest.fixture
def window(stack: dict[str, Any]) -> WebBrowser:
    return WebBrowser(stack["base_url"])


@pytest.fixture
def email() -> str:
    return f"{secrets.token_hex(8)}@example.com"


def test_30_parallel_password_attempts_do_not_exceed_the_limit(window: WebBrowser, email: str) -> None:
    shown = window.get("/sign-in")
    answers = at_once(30, lambda: window.post("/sign-in", shown, email=email, password="wrong password"))

    statuses = [answer.status_code for answer in answers]
    assert set(statuses) == {401, 429}
    assert statuses.count(401) <= LIMITS["account_at_address"].attempts


def test_10_parallel_registrations_of_one_email_create_one_user(window: WebBrowser, email: str) -> None:
    shown = window.get("/register")
    fields = {"email": email, "password": "correct horse battery", "terms": "yes"}
    answers = at_once(10, lambda: window.post("/register", shown, **fields))

    assert sorted(answer.status_code for answer in answers) == [303] + [409] * 9


def test_10_parallel_form_submissions_create_one_client(
    window: WebBrowser, email: str, operator: bootstrap.Hub
) -> None:
    window.session.cookies.set("causeway_session", operator.website.sessions.begin(ensure_user(operator, email)).cookie)
    shown = window.get("/clients/new")
    draft = re.search(r'name="draft" value="([^"]+)"', shown.text)
    assert draft is not None
    fields = {"draft": draft[1], "title": "Once", "active": "yes", "secret": "yes"}
    answers = at_once(10, lambda: window.post("/clients/new", shown, **fields))

    assert {answer.status_code for answer in answers} == {201}
    assert len({re.findall(r'<code id="client-secret">([^<]+)', answer.text)[0] for answer in answers}) == 1
    assert len(operator.openbanking.clients.all(email)) == 1


def test_10_parallel_requests_of_a_callback_exchange_the_authorization_code_once(
    window: WebBrowser, email: str, operator: bootstrap.Hub, stack: dict[str, Any]
) -> None:
    window.session.cookies.set("causeway_session", operator.website.sessions.begin(ensure_user(operator, email)).cookie)
    client = operator.openbanking.clients.create(owner=email, title="Impatient").client
    bic = stack["banks"][0]["bic"]
    shown = window.get(f"/authorize?client_id={client.client_id}&bic={bic}")
    draft = re.search(r'name="draft" value="([^"]+)"', shown.text)
    assert draft is not None
    fields = {"client_id": client.client_id, "bic": bic, "draft": draft[1], "scope": "account.list", "pkce": "yes"}
    asked = window.post("/authorize", shown, consent_type="reusable", **fields)
    callback = approve_consent(Browser(client.callback_url, lambda *_: None), asked.headers["Location"])
    path = callback.removeprefix(stack["base_url"])

    answers = at_once(10, lambda: window.get(path))
    assert {answer.status_code for answer in answers} == {200}
    (journey,) = operator.website.journeys.list_latest(email)
    assert journey.stage == "tokens"
    bearer = operator.website.journeys.unseal_secrets(journey)["access_token"]
    headers = {"X-Api-Key": client.client_id, "Authorization": f"Bearer {bearer}"}
    assert (
        requests.get(f"{stack['base_url']}/tpp/consent", headers=headers, timeout=PATIENCE_SECONDS).status_code == 200
    )
