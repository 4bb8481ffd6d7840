"""Tests of the bank directory: capabilities, availability and response times of each bank."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.openbanking.records.bank_record import NewBank
from chalicelib.openbanking.records.banks import CACHED_SECONDS
from chalicelib.statistics import day_records
from chalicelib.statistics.call_counts import TABLE
from chalicelib.statistics.days import hours_of
from chalicelib.statistics.downtimes import Downtime
from tests.causeway import Causeway
from tests.kit.storage import record_calls
from tests.statistics import bank_days

GAMMA = "GAMMFRPP"
SWITCHES = {"unsigned_amounts": False, "balance_type": "booked", "credit_limit_included": None, "no_date_to": False}
"""The switches of the unified API, with their defaults."""


@pytest.fixture
def gamma(causeway: Causeway) -> Iterator[str]:
    new = NewBank(
        bic=GAMMA,
        name="Banque Gamma",
        country="FR",
        api_version=1,
        domain="http://127.0.0.1:1/gamma",
        authorization_url="http://127.0.0.1:1/gamma/authorize",
        schemes=["SCTI", "SCT"],
        scopes=["account.details", "account.list"],
        history_days=90,
    )
    causeway.hub.openbanking.banks.add(new)
    yield GAMMA
    causeway.hub.openbanking.banks.remove(GAMMA)


def listed(causeway: Causeway, query: str = "") -> list[str]:
    body = causeway.tpp.call("GET", f"/tpp/banks?{query}").body
    assert body["total"] == len(body["banks"])
    return [bank["bic"] for bank in body["banks"]]


def test_an_entry_of_the_bank_directory_contains_the_capabilities_of_the_bank(causeway: Causeway, gamma: str) -> None:
    body = causeway.tpp.call("GET", "/tpp/banks?q=gamma").body

    assert body == {
        "banks": [
            {
                "bic": gamma,
                "name": "Banque Gamma",
                "country": "FR",
                "api_version": 1,
                "scopes": ["account.list", "account.details"],
                "unified_scopes": ["accounts:read"],
                "payment_schemes": ["SCTI", "SCT"],
                "history_days": 90,
                **SWITCHES,
                "reachable": True,
                "average_ms": None,
                "logo_url": None,
            }
        ],
        "page": 1,
        "limit": 20,
        "total": 1,
    }
    assert causeway.tpp.call("GET", f"/tpp/banks/{gamma}").body == body["banks"][0]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["ALPHGB21", "BETADEF1", GAMMA]),
        ("country=FR", [GAMMA]),
        ("country=fr", [GAMMA]),
        ("country=SE", []),
        ("scope=account.balance", ["ALPHGB21"]),
        ("scope=account.list", ["ALPHGB21", GAMMA]),
        ("scope=accounts:read", ["ALPHGB21", "BETADEF1", GAMMA]),
        ("scope=bulk_payments:write", ["ALPHGB21", "BETADEF1"]),
        ("scope=accounts:read&country=FR", [GAMMA]),
        ("scheme=SWIFT", ["BETADEF1"]),
        ("scheme=SCTI&country=FR", [GAMMA]),
        ("scheme=scti&country=fr", [GAMMA]),
        ("scheme=SWIFT&country=FR", []),
        ("q=bank+of+VERSION+1", ["ALPHGB21"]),
        ("q=mmfr", [GAMMA]),
        ("q=nobody", []),
        ("q=.*", []),
        ("q=%3Cscript%3E", []),
    ],
)
def test_the_bank_directory_returns_only_banks_that_match_all_filters(
    causeway: Causeway, gamma: str, query: str, found: list[str]
) -> None:
    assert listed(causeway, query) == found


def test_the_total_in_the_bank_directory_counts_only_the_banks_that_match_the_filters(
    causeway: Causeway, gamma: str
) -> None:
    body = causeway.tpp.call("GET", "/tpp/banks?scope=account.list&limit=1&page=2").body

    assert ([bank["bic"] for bank in body["banks"]], body["total"]) == ([gamma], 2)


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("country=F", "country must be a two-letter country code (ISO 3166-1)"),
        ("country=FRA", "country must be a two-letter country code (ISO 3166-1)"),
        ("country=%C3%84%C3%96", "country must be a two-letter country code (ISO 3166-1)"),
        ("country=", "country must be a two-letter country code (ISO 3166-1)"),
        ("scope=everything", "scope must be one of account.balance, account.details"),
        ("scope=accounts:write", "scope must be one of account.balance, account.details"),
        ("scope=ACCOUNTS", "scope must be one of account.balance, account.details"),
        ("scheme=GIRO", "scheme must be one of BACS, CHAPS, FPS, SCT, SCTI, SWIFT"),
        ("scheme=%C5%BFct", "scheme must be one of BACS, CHAPS, FPS, SCT, SCTI, SWIFT"),
        ("scheme=" + "S" * 36, "scheme must have at most 35 characters"),
        ("q=", "q must not be empty"),
        ("q=" + "a" * 65, "q must have at most 64 characters"),
        ("q=a&q=b", "a parameter is present twice"),
        ("colour=red", "colour is not recognised"),
    ],
)
def test_an_invalid_filter_of_the_bank_directory_returns_400_with_the_name_of_the_filter(
    causeway: Causeway, query: str, named: str
) -> None:
    answer = causeway.tpp.call("GET", f"/tpp/banks?{query}")

    assert (answer.status, answer.body["code"]) == (400, "PARAMETER_NOT_CONSISTENT")
    assert named in answer.text


# -- one bank


@pytest.mark.parametrize("bic", ["ALPHGB21", "alphgb21", "ALPHGB21XXX"])
def test_the_bank_directory_accepts_a_bic_of_8_or_11_characters_in_upper_or_lower_case(
    causeway: Causeway, bic: str
) -> None:
    answer = causeway.tpp.call("GET", f"/tpp/banks/{bic}")

    assert (answer.status, answer.body["bic"]) == (200, "ALPHGB21")


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("NONEGB21", 404, "RESOURCE_UNKNOWN"),
        ("bank", 400, "PARAMETER_NOT_CONSISTENT"),
        ("logo%2FALPHGB21", 400, "PARAMETER_NOT_CONSISTENT"),
        ("ALPHGB21?page=1", 400, "PARAMETER_NOT_CONSISTENT"),
        ("ALPHGB21/more", 401, "API_ACTION_DOES_NOT_EXIST"),
    ],
)
def test_an_invalid_bank_directory_path_returns_its_error_code(
    causeway: Causeway, path: str, status: int, code: str
) -> None:
    answer = causeway.tpp.call("GET", f"/tpp/banks/{path}")

    assert (answer.status, answer.body["code"]) == (status, code)


def test_an_inactive_bank_is_not_listed_and_returns_404(causeway: Causeway, gamma: str) -> None:
    causeway.hub.openbanking.banks.change(gamma, active=False)

    assert gamma not in listed(causeway)
    assert causeway.tpp.call("GET", f"/tpp/banks/{gamma}").status == 404


def test_a_query_for_an_entry_of_the_bank_directory_requires_a_known_client(causeway: Causeway) -> None:
    assert causeway.tpp.call("GET", "/tpp/banks/ALPHGB21", client_id="nobody").status == 401
    assert causeway.tpp.call("POST", "/tpp/banks/ALPHGB21", {}).status == 401


# -- what is measured


def test_the_bank_directory_lists_an_unavailable_bank_as_not_reachable(causeway: Causeway) -> None:
    now = causeway.clock.time()
    causeway.hub.store.put(
        TABLE, Downtime("ALPHGB21", is_open=True, latest=now, computed_at=now, ends_at=now + 90).to_item()
    )

    def told() -> dict[str, bool]:
        return {bank["bic"]: bank["reachable"] for bank in causeway.tpp.call("GET", "/tpp/banks").body["banks"]}

    assert told() == {"ALPHGB21": False, "BETADEF1": True}
    assert causeway.tpp.call("GET", "/tpp/banks/ALPHGB21").body["reachable"] is False
    causeway.clock.advance(90)
    assert told() == {"ALPHGB21": True, "BETADEF1": True}


def test_the_bank_directory_contains_the_average_duration_of_the_last_full_day(causeway: Causeway) -> None:
    day = causeway.clock.now().date() - timedelta(days=1)
    made = bank_days.hourly("BETADEF1", hours_of(day)[3], answered=4, bank=87.6)
    day_records.store_record(causeway.hub.store, bank_days.record("BETADEF1", day, made))

    told = {bank["bic"]: bank["average_ms"] for bank in causeway.tpp.call("GET", "/tpp/banks").body["banks"]}

    assert told == {"ALPHGB21": None, "BETADEF1": 88}


# -- what it costs, and old records


def test_the_first_request_for_the_bank_directory_to_an_instance_makes_6_storage_calls(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chalicelib.foundation.parallel.WIDTH", 1)
    causeway.hub.openbanking.banks.forget()

    with record_calls(causeway) as calls:
        causeway.tpp.call("GET", "/tpp/banks")

    client, index, banks, downtimes, averages, of_the_day_before = calls
    assert {client, banks, averages, of_the_day_before} == {"BatchGetItem"}
    assert {index, downtimes} == {"Query"}


def test_the_bank_directory_is_read_from_storage_in_batches_of_100_banks(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chalicelib.foundation.parallel.WIDTH", 1)
    banks = causeway.hub.openbanking.banks
    known = [{"bic": bic, "active": True} for bic in ("ALPHGB21", "BETADEF1")]
    gone = [{"bic": f"GONEDE{number:02}", "active": True} for number in range(199)]
    banks.forget()

    with causeway.replace_method("each", lambda *_, **__: [*gone, *known]), record_calls(causeway) as calls:
        found = banks.directory()

    assert [bank.bic for bank in found] == ["ALPHGB21", "BETADEF1"]
    assert calls == ["BatchGetItem"] * 3


def test_a_cached_directory_is_read_again_after_a_minute(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chalicelib.foundation.parallel.WIDTH", 1)
    causeway.tpp.call("GET", "/tpp/banks")
    taken = []

    for seconds in (CACHED_SECONDS - 1, 1, 1):
        causeway.clock.advance(seconds)
        with record_calls(causeway) as calls:
            causeway.tpp.call("GET", "/tpp/banks")
        taken.append(len(calls))

    assert taken == [1, 4, 1]  # and the index, the banks and the downtimes


def test_a_bank_stored_without_history_and_logo_is_listed(causeway: Causeway, gamma: str) -> None:
    table, key = "banks", {"bic": gamma}
    old: Any = causeway.hub.store.get(table, key)
    causeway.hub.store.put(
        table,
        {
            name: value
            for name, value in old.items()
            if name not in ("history_days", "logo_digest", "logo_type", *SWITCHES)
        },
    )

    body = causeway.tpp.call("GET", f"/tpp/banks/{gamma}").body

    assert (body["history_days"], body["logo_url"]) == (None, None)
    assert body.items() >= SWITCHES.items()


@pytest.mark.parametrize("path", [f"/tpp/banks/{GAMMA}", "/tpp/banks?q=gamma"], ids=["one bank", "list"])
@pytest.mark.parametrize("included", [True, False])
def test_directory_shows_the_switches_of_a_bank(causeway: Causeway, gamma: str, path: str, included: bool) -> None:
    changed: dict[str, Any] = {"unsigned_amounts": True, "balance_type": "available", "credit_limit_included": included}
    causeway.hub.openbanking.banks.change(gamma, **changed)

    body = causeway.tpp.call("GET", path).body

    assert (body["banks"][0] if "banks" in body else body).items() >= (SWITCHES | changed).items()


def test_directory_shows_that_a_version_2_bank_has_no_date_to(causeway: Causeway) -> None:
    bic = causeway.banks[2].bic
    causeway.hub.openbanking.banks.change(bic, no_date_to=True)
    try:
        assert causeway.tpp.call("GET", f"/tpp/banks/{bic}").body["no_date_to"] is True
    finally:
        causeway.hub.openbanking.banks.change(bic, no_date_to=False)


def test_a_bank_change_appears_in_the_directory_within_a_minute(causeway: Causeway, gamma: str) -> None:
    assert causeway.tpp.call("GET", f"/tpp/banks/{gamma}").body["history_days"] == 90
    causeway.another_process().openbanking.banks.change(gamma, history_days=None, name="Gamma")

    causeway.clock.advance(CACHED_SECONDS)

    body = causeway.tpp.call("GET", f"/tpp/banks/{gamma}").body
    assert (body["history_days"], body["name"]) == (None, "Gamma")
