"""The activity page of a client: its latest calls with status and durations, and its errors by kind."""

import re
from collections.abc import Mapping

import pytest

from chalicelib.foundation.http.outbound import NotReached
from chalicelib.statistics import client_activity
from chalicelib.statistics.client_activity import PER_MINUTE
from chalicelib.website.clients.activity_views import SHOWN
from tests.causeway import Causeway
from tests.openbanking.kit import ReceivedRequest
from tests.website.statistics_data import fill_activity
from tests.website.web_user import PAGE_BYTES, WebUser

NO_CALLS = "No calls yet"


@pytest.fixture
def client_id(causeway: Causeway, user: WebUser) -> str:
    client_id = user.create_client("Budget Friend")
    causeway.tpp.client = causeway.hub.openbanking.clients.get(client_id)
    return client_id


def shown(user: WebUser) -> list[str]:
    return re.findall(r'data-label="Call"><span class="mono">([^<]+)</span>', user.last.text)


def figures(user: WebUser) -> dict[str, str]:
    return dict(re.findall(r"<div><dt>([^<]+)</dt><dd>([^<]+)</dd></div>", user.last.text))


def test_the_activity_page_of_an_unused_client_shows_no_calls(user: WebUser, client_id: str) -> None:
    user.get(f"/clients/{client_id}/activity")

    assert NO_CALLS in user.text


def test_calls_above_the_rate_limit_are_counted(causeway: Causeway, user: WebUser, client_id: str) -> None:
    causeway.hub.openbanking.clients.update(client_id, calls_per_minute=2)
    answers = [causeway.tpp.call("GET", "/tpp/banks").status for _ in range(5)]

    user.get(f"/clients/{client_id}/activity")

    assert answers == [200, 200, 429, 429, 429]
    assert "Limit of calls: 2 a minute in each instance" in user.text
    assert figures(user)["Rate limit"] == "3"


def test_the_client_page_links_to_its_activity(user: WebUser, client_id: str) -> None:
    user.get(f"/clients/{client_id}")

    assert f'href="/clients/{client_id}/activity"' in user.last.text


def test_the_activity_page_lists_calls_with_status_code_durations_and_bank(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    def answer(sent: ReceivedRequest) -> Mapping[str, object]:
        causeway.clock.advance(0.12)
        return {"status": "success", "accounts": []}

    causeway.banks[1].answers["/accounts"] = answer
    tokens = causeway.tpp.tokens(1)
    good = causeway.tpp.call("GET", "/tpp/accounts", bearer=tokens["access_token"])
    bad = causeway.tpp.call("GET", "/tpp/account?nonsense=1", bearer=tokens["access_token"])
    user.get(f"/clients/{client_id}/activity")

    assert (good.status, bad.status) == (200, 400)
    assert shown(user) == ["GET /tpp/account", "GET /tpp/accounts", "POST /tpp/token", "POST /tpp/authorize"]
    assert good.headers["x-request-id"] in user.text
    assert re.search(r"400 [A-Z_]+ Refused \(4xx\) ALPHGB21 \d+ ms \u2013 2 Mar 2026, 09:00:00 UTC", user.text)
    assert re.search(r"200 ALPHGB21 0 ms 120 ms 2 Mar 2026", user.text)
    assert figures(user) == {
        "Calls": "4",
        "Errors": "1",
        "Refused (4xx)": "1",
        "Rate limit": "0",
        "Bank": "0",
        "Hub": "0",
    }
    for secret in (tokens["access_token"], "nonsense", tokens["consent_id"]):
        assert secret not in user.last.text


def test_an_unreachable_bank_counts_as_a_bank_error(causeway: Causeway, user: WebUser, client_id: str) -> None:
    bearer = causeway.tpp.tokens(1)["access_token"]
    causeway.banks[1].answers["/accounts"] = lambda sent: NotReached("it is down")
    causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer)
    user.get(f"/clients/{client_id}/activity")

    assert figures(user)["Bank"] == "1"
    assert "Errors by kind" in user.text
    assert "1 error in 24 hours." in user.text
    assert 'class="kind-bank"' in user.last.text


def test_a_call_with_a_wrong_client_secret_is_listed(causeway: Causeway, user: WebUser) -> None:
    client_id = user.create_client("Secretive", secret="yes")
    assert causeway.tpp.call("GET", "/tpp/banks", client_id=client_id).status == 401
    assert causeway.tpp.call("GET", "/tpp/banks", client_id="somebody").status == 401
    user.get(f"/clients/{client_id}/activity")

    assert shown(user) == ["GET /tpp/banks"]
    assert "401 WRONG_CREDENTIALS Refused (4xx)" in user.text


def test_a_call_of_an_inactive_client_is_listed(causeway: Causeway, user: WebUser, client_id: str) -> None:
    causeway.hub.openbanking.clients.deactivate(client_id)
    assert causeway.tpp.call("GET", "/tpp/banks").status == 401
    user.get(f"/clients/{client_id}/activity")

    assert shown(user) == ["GET /tpp/banks"]


def test_calls_of_all_processes_are_listed_after_their_counters_are_written(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    causeway.tpp.call("GET", "/tpp/banks")
    causeway.hub.statistics.measurements.write()
    causeway.writes_measurements()
    causeway.tpp.call("GET", "/tpp/consents")
    user.get(f"/clients/{client_id}/activity")

    assert sorted(shown(user)) == ["GET /tpp/banks", "GET /tpp/consents"]


def test_calls_are_filtered_by_status_class(causeway: Causeway, user: WebUser, client_id: str) -> None:
    causeway.tpp.call("GET", "/tpp/banks")
    causeway.tpp.call("GET", "/tpp/consents?after=nothing")

    for status, calls in (("2", ["GET /tpp/banks"]), ("4", ["GET /tpp/consents"]), ("5", []), ("x", None)):
        user.get(f"/clients/{client_id}/activity?status={status}")
        assert calls is None or shown(user) == calls
    assert len(shown(user)) == 2
    user.get(f"/clients/{client_id}/activity?status=5")
    assert "None of the latest calls fits" in user.text


def test_the_activity_page_lists_the_latest_calls_and_counts_all_calls(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    for _ in range(4):
        for _ in range(PER_MINUTE + 1):
            causeway.tpp.call("GET", "/tpp/banks")
        causeway.clock.advance(60)
    user.get(f"/clients/{client_id}/activity")

    assert len(shown(user)) == SHOWN
    assert "The latest of more calls." in user.text
    assert figures(user)["Calls"] == str(4 * (PER_MINUTE + 1))
    assert len(user.last.text.encode()) < 100_000


def test_the_activity_page_shows_a_notice_if_some_rows_were_not_read(
    causeway: Causeway, user: WebUser, client_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_activity, "HOUR_ROWS_READ", 2)
    monkeypatch.setattr(client_activity, "ROWS_READ", 2)
    fill_activity(causeway, client_id, processes=3)
    user.get(f"/clients/{client_id}/activity?status=2")

    assert "those of the oldest hours are not all counted here" in user.text
    assert "include all" not in user.text
    assert "Calls before 2 Mar 2026, 09:01:00 UTC may be missing here." in user.text
    user.get("/")
    assert re.search("Budget Friend .* at least 200 at least 20 ", user.text)


def test_the_activity_page_has_no_notice_if_all_rows_are_read(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    fill_activity(causeway, client_id, processes=1)
    user.get(f"/clients/{client_id}/activity")

    assert "not all" not in user.text
    assert "may be missing" not in user.text
    assert "at least" not in user.get("/").text


def test_the_activity_page_of_a_busy_client_is_within_its_size_budget(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    """The client is served by 100 processes. These processes write more rows than a page reads."""
    fill_activity(causeway, client_id, processes=100)
    address = f"/clients/{client_id}/activity"

    assert len(user.get(address).text.encode()) <= PAGE_BYTES
    assert "not all counted" in user.text


def test_requests_of_the_web_interface_do_not_count_as_calls_of_the_client(user: WebUser, client_id: str) -> None:
    user.get_tokens(client_id)
    user.get(f"/clients/{client_id}/activity")

    assert NO_CALLS in user.text


def test_the_activity_of_another_users_client_returns_404(causeway: Causeway, user: WebUser, client_id: str) -> None:
    causeway.tpp.call("GET", "/tpp/banks")
    other = WebUser.signed_in(causeway, "other@example.com")

    assert other.get(f"/clients/{client_id}/activity").status == 404
    assert other.get("/clients/nothing/activity").status == 404
