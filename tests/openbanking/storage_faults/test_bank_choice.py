"""Tests of storage faults during the choice of a bank and in lists of banks."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from chalicelib.openbanking.records.authorization_requests import AuthorizationRequest, authorization_key
from tests.causeway import Answer, Causeway
from tests.openbanking.fault_scenarios import Run, completed, scenario
from tests.openbanking.faults import Fault, items
from tests.openbanking.key_holder import open_pushed

pytestmark = pytest.mark.faults

BIC = "BETADEF1"
_GONE = "http://127.0.0.1:1/another-bank/authorize"


def request(causeway: Causeway, **more: str) -> str:
    query = {"response_type": "code", "client_id": causeway.tpp.client_id, "scope": "accounts", "state": "s", **more}
    return f"/oauth/authorize?{urlencode(query)}"


def starts_anew(causeway: Causeway) -> None:
    causeway.hub.openbanking.banks.forget()
    for name in ("open_downtimes", "response_times"):
        causeway.hub.statistics.__dict__.pop(name, None)
    for name in ("bank_directory", "bank_choices"):
        causeway.hub.openbanking.__dict__.pop(name, None)


def shown(causeway: Causeway, fault: Fault, ask: Callable[[], Answer], status: int = 200) -> Answer:
    """Make a call. If the response reports a storage failure, make the call again."""
    with fault:
        answer = ask()
    location = answer.headers.get("location", "")
    if answer.status == 500:
        assert "storage did not respond" in answer.text or "failed to read the logo" in answer.text
        answer = ask()
    elif location.startswith(causeway.tpp.client.callback_url):
        assert parse_qs(urlsplit(location).query)["error"] == ["server_error"]
        answer = ask()
    assert answer.status == status, answer
    return answer


def requests(causeway: Causeway) -> list[str]:
    return [item["request_url"] for item in items(causeway, "authorizations") if "request_url" in item]


@scenario()
def list_banks_on_the_choice_page(causeway: Causeway) -> Run:
    def run(fault: Fault) -> None:
        starts_anew(causeway)
        assert "Choose your bank" in shown(causeway, fault, lambda: causeway.call("GET", request(causeway))).text
        assert requests(causeway) == []

    return run


@scenario()
def choose_another_bank(causeway: Causeway) -> Run:
    """The URL of the bank in the stored request has changed. The service therefore treats the bank as another bank."""
    causeway.call("GET", request(causeway, chosen_bic=BIC))
    (item,) = items(causeway, "authorizations")
    causeway.hub.store.put("authorizations", item | {"bic": "ALPHGB21", "api_version": 1, "request_url": _GONE})

    def run(fault: Fault) -> None:
        answer = shown(causeway, fault, lambda: causeway.call("GET", request(causeway, chosen_bic=BIC)), 303)
        assert requests(causeway) == [answer.headers["location"]]
        kept = causeway.hub.store.get(*authorization_key(item["authorization_id"]))
        assert kept is not None
        assert AuthorizationRequest.from_item(kept).bic == BIC

    return run


@scenario()
def open_a_pushed_request_without_a_bank(causeway: Causeway) -> Run:
    form = {"response_type": "code", "scope": "accounts"}
    request_uri = causeway.tpp.call("POST", "/oauth/par", form=form).body["request_uri"]

    def run(fault: Fault) -> None:
        assert "Choose your bank" in shown(causeway, fault, lambda: open_pushed(causeway, request_uri)).text
        (item,) = items(causeway, "authorizations")
        assert "kept_until" in item

    return run


@scenario()
def choose_the_bank_of_a_pushed_request(causeway: Causeway) -> Run:
    form = {"response_type": "code", "scope": "accounts"}
    request_uri = causeway.tpp.call("POST", "/oauth/par", form=form).body["request_uri"]
    query = urlencode({"client_id": causeway.tpp.client_id, "request_uri": request_uri, "chosen_bic": BIC})

    def run(fault: Fault) -> None:
        answer = shown(causeway, fault, lambda: causeway.call("GET", f"/oauth/authorize?{query}"), 303)
        assert requests(causeway) == [answer.headers["location"]]

    return run


@scenario("/tpp/banks", "/tpp/banks/ALPHGB21")
def list_banks_on_an_instance_that_has_just_started(causeway: Causeway, path: str) -> Run:
    def run(fault: Fault) -> None:
        starts_anew(causeway)
        completed(fault, lambda: causeway.tpp.call("GET", path))

    return run


@scenario()
def look_at_a_logo(causeway: Causeway) -> Run:
    def run(fault: Fault) -> None:
        shown(causeway, fault, lambda: causeway.call("GET", f"/banks/{BIC}/logo/{'0' * 32}"), 404)

    return run


@pytest.mark.parametrize("name", scenario.of(__name__))
def test_a_storage_fault_during_the_choice_of_a_bank_neither_loses_nor_duplicates_data(
    causeway: Causeway, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario.run_with_faults(causeway, name, monkeypatch)
