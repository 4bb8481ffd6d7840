"""The number of DynamoDB calls that each page makes."""

from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.foundation.http.outbound import Reply
from chalicelib.statistics.day_overviews import DayOverview
from chalicelib.statistics.days import hours_of
from tests.causeway import Causeway
from tests.kit.storage import record_calls
from tests.openbanking.conformance_reports import report, written
from tests.statistics.bank_days import hourly, put_counters
from tests.website.web_user import PASSWORD, WebUser, attempt_due_deliveries

SESSION = "BatchGetItem"


@pytest.fixture
def client_id(user: WebUser) -> str:
    client_id = user.create_client()
    user.open_request(client_id)  # the bank is known from now on
    user.get("/")
    return client_id


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/terms",
        "/register",
        "/sign-in",
        "/forgotten",
        "/authorize/callback",
        "/specifications/account",
        "/verify-signature",
    ],
)
def test_a_page_for_a_visitor_makes_no_storage_call(causeway: Causeway, visitor: WebUser, path: str) -> None:
    causeway.hub.openbanking.banks.directory()
    with record_calls(causeway) as calls:
        assert visitor.get(path).status == 200

    assert calls == []


@pytest.mark.parametrize(
    ("path", "calls"),
    [
        ("/", ["Query"] * 4),
        ("/account", []),
        ("/clients", ["Query"]),
        ("/clients/new", []),
        ("/clients/{client_id}", ["BatchGetItem"]),
        ("/clients/{client_id}/settings", ["BatchGetItem"]),
        ("/clients/{client_id}/security", ["BatchGetItem"]),
        ("/clients/{client_id}/history", ["BatchGetItem"]),
        ("/authorize", ["Query", "Query"]),
        ("/authorize?client_id={client_id}&bic=ALPHGB21", ["BatchGetItem"]),
        ("/specifications/account", ["Query"]),
        ("/deliveries", ["Query"] * 13),
        ("/deliveries?before=9999999999999-0&type=consent.revoked&from=2026-01-01T00:00", ["Query"] * 13),
        ("/deliveries?state=failed", ["Query"] * 9),
        ("/deliveries?state=recorded", ["Query"] * 5),
        ("/deliveries/latest?client_id={client_id}", ["BatchGetItem"] + ["Query"] * 12),
        ("/deliveries/an-id?client_id={client_id}&at=1", ["BatchGetItem", "BatchGetItem"]),
        ("/clients/{client_id}/activity", ["BatchGetItem", "Query", "Query"]),
        ("/consents", ["Query", "Query"]),
        ("/consents/nothing", ["BatchGetItem"]),
        ("/deliveries/nothing", ["BatchGetItem"]),
    ],
)
def test_a_page_for_a_user_reads_the_session_and_makes_a_fixed_number_of_storage_calls(
    causeway: Causeway, user: WebUser, client_id: str, path: str, calls: list[str]
) -> None:
    with record_calls(causeway) as made:
        assert user.get(path.format(client_id=client_id)).status in (200, 404)

    assert made == [SESSION, *calls]


def test_an_event_page_makes_one_storage_call_each_for_record_client_and_bodies(
    causeway: Causeway, user: WebUser
) -> None:
    client_id = user.create_client("Eventful", events_url=causeway.receiver.url)
    path = user.send_test_event(client_id)
    causeway.receiver.answers = [Reply(503, b"busy", {}, 0.1)]
    attempt_due_deliveries(causeway)
    with record_calls(causeway) as calls:
        user.get(path)

    assert "busy" in user.text
    assert calls == [SESSION, "BatchGetItem", "BatchGetItem", "BatchGetItem"]


def test_signing_in_makes_four_storage_calls(causeway: Causeway, visitor: WebUser, email: str) -> None:
    visitor.register(email)
    visitor.cookies.clear()
    visitor.get("/sign-in")
    token = visitor.token
    with record_calls(causeway) as calls:
        assert visitor.post("/sign-in", token, email=email, password=PASSWORD).status == 303

    assert calls == ["TransactWriteItems", "BatchGetItem", "TransactWriteItems", "PutItem"]


def test_an_authorize_request_makes_two_reads_and_two_writes(causeway: Causeway, user: WebUser, client_id: str) -> None:
    user.open_request(client_id)
    with record_calls(causeway) as calls:
        user.run_request(client_id)

    assert calls == [SESSION, "BatchGetItem", "PutItem", "PutItem"]


def test_the_callback_with_a_code_makes_a_fixed_number_of_storage_calls(
    causeway: Causeway, user: WebUser, client_id: str
) -> None:
    back = user.request_consent(client_id)
    with record_calls(causeway) as calls:
        user.get(back)
    journey_and_client, redemption = ["BatchGetItem", "TransactWriteItems", "BatchGetItem"], ["BatchGetItem"]

    writes = ["TransactWriteItems"]
    assert calls == [SESSION, *journey_and_client, *writes, *redemption, *writes, *writes]


@pytest.mark.parametrize(("more", "client"), [("", ["BatchGetItem"]), ("&format=json", [])])
def test_a_journey_page_reads_its_consent_once(
    causeway: Causeway, user: WebUser, client_id: str, more: str, client: list[str]
) -> None:
    state = user.get_tokens(client_id)
    with record_calls(causeway) as calls:
        user.get(f"/authorize/callback?state={state}{more}")

    journey, consent = ["BatchGetItem"], ["BatchGetItem"]
    assert calls == [SESSION, *journey, *consent, *client]


def test_the_latest_journeys_make_one_storage_call(causeway: Causeway, user: WebUser, email: str) -> None:
    for number in range(40):
        state = f"{causeway.clock.time() + number:08x}{'x' * 43}"
        causeway.hub.website.journeys.begin(email, state, {"scopes": [], "begun_at": number}, None)
    with record_calls(causeway) as calls:
        found = causeway.hub.website.journeys.list_latest(email)

    assert calls == ["Query"]
    assert [int(journey.state[:8], 16) - causeway.clock.time() for journey in found] == list(range(39, 29, -1))


HOURS_SO_FAR = ["Query"] * 10
"""The queries for the current day, one for each hour that has begun. The service's clock starts at 09:00."""


def test_the_page_of_a_bank_reads_its_record_its_last_two_days_downtimes_and_today(
    causeway: Causeway, visitor: WebUser
) -> None:
    with record_calls(causeway) as calls:
        visitor.get("/banks/ALPHGB21")
    with record_calls(causeway) as again:
        visitor.get("/banks/alphgb21xxx")

    record, downtimes, days = ["BatchGetItem"], ["Query"], ["BatchGetItem"] * 2
    assert calls == [*record, *downtimes, *days, *HOURS_SO_FAR]
    assert again == ["BatchGetItem"]


def test_a_conformance_report_is_read_in_one_call(causeway: Causeway, visitor: WebUser) -> None:
    banks = causeway.hub.openbanking.banks
    banks.publish_report("ALPHGB21", written(report()))
    banks.find("ALPHGB21")
    try:
        with record_calls(causeway) as calls:
            assert visitor.get("/banks/ALPHGB21/conformance").status == 200
    finally:
        banks.unpublish_report("ALPHGB21")

    assert calls == ["BatchGetItem"]


@pytest.mark.parametrize("path", ["/banks/ALPHGB21/conformance", "/banks/nothing", "/verify-signature?bic=ALPHGB21"])
def test_a_page_of_a_known_bank_without_a_report_makes_no_storage_call(
    causeway: Causeway, visitor: WebUser, path: str
) -> None:
    causeway.hub.openbanking.banks.find("ALPHGB21")
    with record_calls(causeway) as calls:
        visitor.get(path)

    assert calls == []


@pytest.mark.parametrize(
    ("days", "quarters"),
    [("from=2026-01-01&to=2026-03-01", 1), ("from=2025-12-31&to=2026-01-01", 2), ("from=2025-03-01&to=2026-03-01", 5)],
)
def test_the_performance_page_makes_one_query_per_quarter_and_per_hour_of_today(
    causeway: Causeway, visitor: WebUser, days: str, quarters: int
) -> None:
    causeway.hub.openbanking.banks.directory()
    with record_calls(causeway) as calls:
        visitor.get(f"/performance?bic=ALPHGB21&{days}")

    assert calls == ["Query"] * quarters + HOURS_SO_FAR


def test_the_performance_page_caches_the_current_day_for_a_minute_and_reads_at_most_24_hours(
    causeway: Causeway, visitor: WebUser
) -> None:
    visitor.get("/performance?bic=ALPHGB21")
    with record_calls(causeway) as calls:
        visitor.get("/performance?bic=ALPHGB21")
    assert calls == ["Query"]

    causeway.clock.advance(15 * 3600 - 1)
    causeway.hub.openbanking.banks.directory()
    with record_calls(causeway) as calls:
        visitor.get("/performance?bic=ALPHGB21")
    assert calls == ["Query"] * (1 + 24)


@pytest.mark.parametrize(("hours_ago", "more"), [(1, 1), (2, 24), (26, 48)])
def test_the_performance_page_searches_at_most_48_hours_for_the_last_response(
    causeway: Causeway, visitor: WebUser, hours_ago: int, more: int
) -> None:
    midnight = hours_of(causeway.clock.now().date())[0]
    counters = hourly("ALPHGB21", midnight, unanswered=1), hourly("ALPHGB21", midnight - 3600 * hours_ago, answered=1)
    causeway.hub.store.transact([put_counters(each) for each in counters])
    causeway.hub.openbanking.banks.directory()
    with record_calls(causeway) as calls:
        visitor.get("/performance?bic=ALPHGB21")
    assert calls == ["Query", *HOURS_SO_FAR, *["Query"] * more]

    causeway.clock.advance(60)
    causeway.hub.openbanking.banks.directory()
    with record_calls(causeway) as calls:
        visitor.get("/performance?bic=ALPHGB21")
    assert calls == ["Query"] * (1 + 2)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("bic=NOBKGB2L", ["BatchGetItem"]),
        ("bic=nothing", []),
        ("bic=ALPHGB21&from=tomorrow", []),
        ("from=2026-02-02&to=2026-02-01", []),
    ],
)
def test_an_invalid_performance_query_makes_at_most_one_bank_lookup(
    causeway: Causeway, visitor: WebUser, query: str, expected: list[str]
) -> None:
    causeway.hub.openbanking.banks.directory()
    with record_calls(causeway) as calls:
        visitor.get(f"/performance?{query}")

    assert calls == expected


def test_a_download_of_days_does_not_read_the_current_day(causeway: Causeway, visitor: WebUser) -> None:
    causeway.hub.openbanking.banks.directory()
    with record_calls(causeway) as calls:
        visitor.get("/performance?bic=ALPHGB21&format=csv")

    assert calls == ["Query"]


@pytest.mark.parametrize(
    ("days", "reads"), [("", 1), ("?from=2025-12-01&to=2026-03-01", 1), ("?from=2025-03-01&to=2026-03-01", 4)]
)
@pytest.mark.parametrize("more_banks", [0, 300])
def test_the_overview_makes_the_same_storage_calls_for_2_and_302_banks(
    causeway: Causeway, visitor: WebUser, monkeypatch: pytest.MonkeyPatch, days: str, reads: int, more_banks: int
) -> None:
    """The overview makes one read per hundred days, and one query per minute for banks with an ongoing downtime."""
    listed = causeway.hub.openbanking.banks.directory()
    more = [replace(listed[0], bic=f"X{number:05}GB", name=f"Bank {number}") for number in range(more_banks)]
    monkeypatch.setattr(causeway.hub.openbanking.banks, "directory", lambda: [*listed, *more])
    known = DayOverview({bank.bic: (1, 1, 0, 0, 9, 0, 9 << 1000) for bank in (*listed, *more)})
    for ago in range(1, 31):
        causeway.hub.store.put("statistics", known.to_item(causeway.clock.now().date() - timedelta(days=ago)))
    with record_calls(causeway) as calls:
        assert f"{2 + more_banks} banks" in visitor.get(f"/performance{days}").text
    with record_calls(causeway) as again:
        visitor.get(f"/performance{days}")

    assert sorted(calls) == ["BatchGetItem"] * reads + ["Query"]
    assert again == ["BatchGetItem"] * reads
