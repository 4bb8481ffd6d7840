"""Tests of storage faults during authorization and token requests: a retry completes the request without duplicates."""

import uuid
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.causeway import Answer, Causeway
from tests.kit.storage import LateAnswers
from tests.openbanking.fault_scenarios import (
    Run,
    completed,
    consent_items,
    lose_first_transaction,
    recorded_events,
    records,
    refused,
    scenario,
    status_of_consent,
)
from tests.openbanking.faults import Fault, items
from tests.openbanking.kit import IBAN, TOKEN, TOKENS, URL, event_ids
from tests.openbanking.payments import Pisp

pytestmark = pytest.mark.faults


@pytest.mark.parametrize(("version", "consent_type"), [(1, "one_time"), (2, "reusable")])
def test_a_payment_whose_response_cannot_be_stored_has_an_unknown_outcome_and_is_not_resent(
    causeway: Causeway, version: int, consent_type: str
) -> None:
    pisp = Pisp(causeway, version, consent_type=consent_type)

    with Fault(causeway, "before", 3, lasting=True):
        first = pisp.pay("key")
    soon = pisp.pay("key")
    causeway.clock.advance(31)
    late = pisp.pay("key")

    assert [first.status, soon.status, late.status] == [500, 409, 502]
    assert (first.body["code"], late.body["code"]) == ("INTERNAL_SERVER_ERROR", "ASPSP_UNKNOWN_ERROR")
    assert "unknown" in first.body["title"]
    assert "unknown" in late.body["title"]
    assert "retry-after" not in first.headers
    assert pisp.calls == 1


# -- the authorization flow


@scenario()
def authorize(causeway: Causeway) -> Run:
    request = {"bic": "ALPHGB21", "scopes": ["account.list"]}

    def run(fault: Fault) -> None:
        answer = completed(fault, lambda: causeway.tpp.call("POST", "/tpp/authorize", request))
        urls = [item["request_url"] for item in items(causeway, "authorizations")]
        assert urls.count(answer.body["redirect_url"]) == 1
        assert len(urls) == 1 or fault.loses_what_was_applied()

    return run


@scenario()
def authorize_with_a_state(causeway: Causeway) -> Run:
    request = {"bic": "ALPHGB21", "scopes": ["account.list"], "state": "of-the-tpp"}

    def run(fault: Fault) -> None:
        if fault.loses_what_was_applied():
            return  # the TPP has to take a new state: this one was used
        answer = completed(fault, lambda: causeway.tpp.call("POST", "/tpp/authorize", request))
        assert answer.body["state"] == "of-the-tpp"
        assert len(items(causeway, "authorizations")) == 1

    return run


@scenario()
def authorize_in_the_browser(causeway: Causeway) -> Run:
    query = {
        "response_type": "code",
        "client_id": causeway.tpp.client_id,
        "scope": "account.list",
        "state": "of-the-tpp",
        "bic": "ALPHGB21",
    }

    def go() -> Answer:
        return causeway.call("GET", f"/oauth/authorize?{urlencode(query)}")

    def run(fault: Fault) -> None:
        with fault:
            answer = go()
        if answer.status == 500:  # the client is not known yet: a page
            assert "storage did not respond" in answer.text
            answer = go()
        elif answer.headers["location"].startswith(causeway.tpp.client.callback_url):
            assert parse_qs(urlsplit(answer.headers["location"]).query)["error"] == ["server_error"]
            answer = go()
        (stored,) = items(causeway, "authorizations")
        assert (answer.status, answer.headers["location"]) == (303, stored["request_url"])

    return run


@scenario(1, 2)
def init_authorization(causeway: Causeway, version: int) -> Run:
    url, request_id = causeway.tpp.authorize(version)["redirect_url"], str(uuid.uuid4())

    def ask() -> Answer:
        return causeway.banks[version].call(
            "/init_authorization", {URL[version]: url}, headers={"x-request-id": request_id}
        )

    def run(fault: Fault) -> None:
        answer = completed(fault, ask)
        assert ask().text == answer.text
        assert len(items(causeway, "idempotency")) == 1

    return run


@scenario(1, 2)
def save_a_consent(causeway: Causeway, version: int) -> Run:
    causeway.tpp.set_events_url()
    url, request_id = causeway.tpp.authorize(version)["redirect_url"], str(uuid.uuid4())
    body = causeway.banks[version].consent_body(url)

    def save() -> Answer:
        return causeway.banks[version].call("/consent", body, headers={"x-request-id": request_id})

    def run(fault: Fault) -> None:
        answer = completed(fault, save)
        assert save().text == answer.text
        (consent,), (grant,) = consent_items(causeway, "consent"), consent_items(causeway, "grant")
        (authorization,) = items(causeway, "authorizations")
        assert consent["consent_id"] == grant["consent_id"] == authorization["consent_id"]
        assert (authorization["status"], consent["status"]) == ("approved", "authorised")
        assert recorded_events(causeway) == ["consent.authorised"]

    return run


@scenario()
def cancel(causeway: Causeway) -> Run:
    causeway.tpp.set_events_url()
    url = causeway.tpp.authorize(1)["redirect_url"]
    address = causeway.banks[1].call("/init_authorization", {"request_url": url}).body["cancel_url"]
    path = f"{urlsplit(address).path}?{urlencode({'error': 'login_required'})}"

    def run(fault: Fault) -> None:
        with fault:
            answer = causeway.call("GET", path)
        if answer.status == 500:
            assert "Load this page again" in answer.text
            answer = causeway.call("GET", path)
        assert answer.status == 303
        assert parse_qs(urlsplit(answer.headers["location"]).query)["error"] == ["login_required"]
        (authorization,) = items(causeway, "authorizations")
        assert (authorization["status"], authorization["error"]) == ("cancelled", "login_required")
        assert recorded_events(causeway) == ["consent.cancelled"]

    return run


# -- tokens


def has_pairs(causeway: Causeway, count: int) -> bool:
    return len(consent_items(causeway, "access")) == len(consent_items(causeway, "refresh")) == count


def ended_once(causeway: Causeway) -> bool:
    """Return whether the consent ended with one notice to the bank and one event to the client."""
    (delivery,), (consent,) = records(causeway, "revoke_token"), consent_items(causeway, "consent")
    assert recorded_events(causeway) == ["consent.revoked"]
    return (consent["status"], delivery["consent_id"]) == ("revoked", consent["consent_id"])


@scenario()
def exchange_a_code(causeway: Causeway) -> Run:
    code = causeway.psu.approve(1).query["code"]

    def run(fault: Fault) -> None:
        tokens = completed(fault, lambda: causeway.tpp.call("POST", "/tpp/token", {"code": code})).body
        assert has_pairs(causeway, 1)
        assert items(causeway, "deliveries") == []
        assert causeway.tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"]).status == 200

    return run


@scenario()
def exchange_a_code_with_a_lost_transaction_response(causeway: Causeway) -> Run:
    code = causeway.psu.approve(1).query["code"]

    def run(fault: Fault) -> None:
        if fault.lasting:
            return  # nobody can find out then
        with lose_first_transaction(causeway), fault:
            answer = causeway.tpp.call("POST", "/tpp/token", {"code": code})
        if refused(answer):
            answer = causeway.tpp.call("POST", "/tpp/token", {"code": code})
        assert answer.status == 200, answer
        assert has_pairs(causeway, 1)
        assert items(causeway, "deliveries") == []

    return run


@scenario()
def redeem_a_code_twice(causeway: Causeway) -> Run:
    code = causeway.psu.approve(1).query["code"]
    causeway.tpp.call("POST", "/tpp/token", {"code": code})
    causeway.tpp.set_events_url()

    def run(fault: Fault) -> None:
        answer = completed(fault, lambda: causeway.tpp.call("POST", "/tpp/token", {"code": code}), 400)
        assert answer.body["error"] == "invalid_grant"
        assert ended_once(causeway)

    return run


@scenario()
def refresh(causeway: Causeway) -> Run:
    request = {"refresh_token": causeway.tpp.tokens(2)["refresh_token"]}

    def run(fault: Fault) -> None:
        tokens = completed(fault, lambda: causeway.tpp.call("POST", "/tpp/token", request)).body
        assert has_pairs(causeway, 2)
        assert causeway.tpp.call("POST", "/tpp/token", request).body == tokens
        assert has_pairs(causeway, 2)
        assert items(causeway, "deliveries") == []
        assert causeway.tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"]).status == 200

    return run


@scenario()
def repeat_a_refresh(causeway: Causeway) -> Run:
    request = {"refresh_token": causeway.tpp.tokens(1)["refresh_token"]}
    before = causeway.tpp.call("POST", "/tpp/token", request).body

    def run(fault: Fault) -> None:
        assert completed(fault, lambda: causeway.tpp.call("POST", "/tpp/token", request)).body == before
        assert has_pairs(causeway, 2)

    return run


@scenario()
def use_a_refresh_token_after_its_successor(causeway: Causeway) -> Run:
    request = {"refresh_token": causeway.tpp.tokens(1)["refresh_token"]}
    second = causeway.tpp.call("POST", "/tpp/token", request).body
    causeway.tpp.call("POST", "/tpp/token", {"refresh_token": second["refresh_token"]})
    causeway.tpp.set_events_url()

    def run(fault: Fault) -> None:
        answer = completed(fault, lambda: causeway.tpp.call("POST", "/tpp/token", request), 400)
        assert answer.body["error"] == "invalid_grant"
        assert ended_once(causeway)

    return run


@scenario()
def revoke_by_the_tpp(causeway: Causeway) -> Run:
    token = causeway.tpp.tokens(1)["access_token"]
    causeway.tpp.set_events_url()

    def run(fault: Fault) -> None:
        completed(fault, lambda: causeway.tpp.call("POST", "/tpp/token/revoke", {"token": token}))
        assert ended_once(causeway)

    return run


@scenario((1, "for the first time"), (2, "for the first time"), (1, "again"))
def revoke_by_the_bank(causeway: Causeway, version: int, which: str) -> Run:
    token, request_id = {TOKEN[version]: causeway.psu.approve(version).bank_token}, str(uuid.uuid4())
    causeway.tpp.set_events_url()
    if which == "again":
        causeway.banks[version].call("/token/revoke", token)

    def revoke() -> Answer:
        return causeway.banks[version].call("/token/revoke", token, headers={"x-request-id": request_id})

    def run(fault: Fault) -> None:
        assert completed(fault, revoke).text == revoke().text
        assert status_of_consent(causeway) == "revoked"
        assert recorded_events(causeway) == ["consent.revoked"]
        assert records(causeway, "revoke_token") == []

    return run


# -- questions


@scenario("/tpp/consent", "/tpp/accounts")
def ask_with_a_bearer(causeway: Causeway, path: str) -> Run:
    bearer = causeway.tpp.tokens(1)["access_token"]
    causeway.banks[1].answers["/accounts"] = lambda sent: {"status": "success", "accounts": []}

    def run(fault: Fault) -> None:
        completed(fault, lambda: causeway.tpp.call("GET", path, bearer=bearer))

    return run


@scenario("/tpp/consents?limit=1", "/tpp/consents?status=authorised")
def list_consents(causeway: Causeway, path: str) -> Run:
    expected = {causeway.tpp.tokens(1)["consent_id"] for _ in range(2)}

    def run(fault: Fault) -> None:
        page = completed(fault, lambda: causeway.tpp.call("GET", path)).body
        found = page["consents"]
        if page["has_more"]:
            found += causeway.tpp.call("GET", f"{path}&after={page['next']}").body["consents"]
        assert {entry["consent_id"] for entry in found} == expected

    return run


@scenario()
def fetch_events(causeway: Causeway) -> Run:
    poller = causeway.tpp.poll_events()
    expected = {causeway.tpp.send_test_event() for _ in range(2)}

    def run(fault: Fault) -> None:
        page = completed(fault, lambda: poller.request(limit=2)).body
        assert set(event_ids(page["events"])) == expected
        poller.after = page["next"]
        assert poller.fetch() == []

    return run


@scenario(1, 2)
def end_a_consent_of_a_client_that_fetches_events(causeway: Causeway, version: int) -> Run:
    poller, consented, request_id = causeway.tpp.poll_events(), causeway.psu.approve(version), str(uuid.uuid4())
    token = {TOKEN[version]: consented.bank_token}
    poller.fetch()

    def revoke() -> Answer:
        return causeway.banks[version].call("/token/revoke", token, headers={"x-request-id": request_id})

    def run(fault: Fault) -> None:
        assert completed(fault, revoke).text == revoke().text
        assert [event["type"] for event in poller.fetch()] == ["consent.revoked"]
        assert records(causeway, "event") == []

    return run


@scenario(1, 2)
def query_the_status_of_consents(causeway: Causeway, version: int) -> Run:
    token = causeway.psu.approve(version).bank_token
    stored = items(causeway, "idempotency")

    def run(fault: Fault) -> None:
        answer = completed(fault, lambda: causeway.banks[version].call("/consents/status", {TOKENS[version]: [token]}))
        assert [entry["status"] for entry in answer.body["consents"]] == ["authorised"]
        assert items(causeway, "idempotency") == stored

    return run


@scenario("/tpp/banks", "/tpp/scope?bic=ALPHGB21")
def ask_an_instance_that_has_just_started(causeway: Causeway, path: str) -> Run:
    def run(fault: Fault) -> None:
        causeway.hub.openbanking.banks.forget()
        completed(fault, lambda: causeway.tpp.call("GET", path))

    return run


@scenario()
def request_a_funds_confirmation(causeway: Causeway) -> Run:
    bearer = causeway.tpp.tokens(1, scopes=["card_based.funds_confirmations"])["access_token"]
    body = {"account": {"iban": IBAN}, "instructed_amount": {"amount": "10.00", "currency": "GBP"}}
    causeway.banks[1].answers["/funds_confirmations"] = lambda sent: {"status": "success", "funds_available": True}

    def run(fault: Fault) -> None:
        answer = completed(fault, lambda: causeway.tpp.call("POST", "/tpp/funds_confirmations", body, bearer=bearer))
        assert answer.body == {"funds_available": True}

    return run


@scenario((1, "single"), (2, "single"), (1, "direct"))
def query_the_status_of_a_payment(causeway: Causeway, version: int, kind: str) -> Run:
    pisp = Pisp(causeway, version, kind)
    pisp.pay()
    pisp.bank.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}

    def run(fault: Fault) -> None:
        answer = completed(fault, pisp.status).body
        assert answer.get("payment_status", answer.get("transaction_status")) == (1 if version == 1 else "ACSC")

    return run


@scenario()
def return_from_a_payment(causeway: Causeway) -> Run:
    pisp = Pisp(causeway, 2)
    pisp.pay()
    pisp.bank.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}

    def run(fault: Fault) -> None:
        with fault:
            answer = causeway.call("GET", "/payments/callback?bic=BETADEF1&payment_id=P-1")
        if answer.status == 503:
            assert "storage did not respond" in answer.text
        if answer.status == 503 or (isinstance(fault, LateAnswers) and "ACSC" not in answer.text):
            causeway.clock.advance(10)  # an engine that ignores tokens counts the query once, but refuses it
            answer = causeway.call("GET", "/payments/callback?bic=BETADEF1&payment_id=P-1")
        assert answer.status == 200
        assert "ACSC" in answer.text

    return run


# -- statistics


@scenario()
def report_a_days_performance(causeway: Causeway) -> Run:
    request_id, body = str(uuid.uuid4()), {"date": "2026-03-01", "consentDuration": "1200"}

    def report() -> Answer:
        return causeway.banks[2].call("/daily_performance", body, headers={"x-request-id": request_id})

    def run(fault: Fault) -> None:
        assert completed(fault, report).text == report().text
        (kept,) = items(causeway, "statistics")
        assert (kept["part"], kept["consent_duration"]) == ("2026-03-01", 1200)

    return run


@pytest.mark.parametrize("name", scenario.of(__name__))
def test_a_storage_fault_during_a_request_neither_loses_nor_duplicates_data(
    causeway: Causeway, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario.run_with_faults(causeway, name, monkeypatch)
