"""The clock advances day by day for a year, and the statistics of every day are recorded once."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from tests.e2e.parties import Tpp
from tests.e2e.separate_stack import SeparateStack, separate_stack


@pytest.fixture
def own_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeparateStack]:
    with separate_stack(tmp_path_factory.mktemp("year")) as started:
        yield started


def move_by_days(own_stack: SeparateStack, count: int) -> None:
    for _ in range(count):
        own_stack.advance("P1D")


def now(own_stack: SeparateStack) -> datetime:
    return datetime.fromisoformat(own_stack.time()["now"]).astimezone(UTC)


def move_to_noon(own_stack: SeparateStack) -> None:
    """Advance the clock to between 12:00 and 13:00, when the nightly jobs have finished."""
    hours = (12 - now(own_stack).hour) % 24
    if hours:
        own_stack.advance(f"PT{hours}H")


def days_before(last: date, count: int) -> list[str]:
    return [(last - timedelta(days=ago)).isoformat() for ago in range(count, 0, -1)]


def read_accounts(own_stack: SeparateStack) -> None:
    client = own_stack.content["client"]
    tpp = Tpp(own_stack.content["base_url"], client["client_id"], client["callback_url"])
    for bank in own_stack.content["banks"]:
        bearer = tpp.redeem(tpp.journey(bank).code).json()["access_token"]
        assert tpp.call("GET", "/tpp/accounts", bearer=bearer).status_code == 200


def check_days(own_stack: SeparateStack, count: int) -> None:
    """Check that each bank has one record per day, with the expected report state, and calls only on the first day."""
    days = days_before(now(own_stack).date(), count)
    found: list[Any] = own_stack.admin("statistics", "show", "--from", days[0], "--to", days[-1])["days"]
    banks = own_stack.content["banks"] + own_stack.content["fault_banks"]
    reports = {bank["bic"]: {1: "not_expected", 2: "received"}[bank["api_version"]] for bank in banks}
    with_calls = {(bank["bic"], days[0]) for bank in own_stack.content["banks"]}

    assert Counter((row["aspsp_bic"], row["day"], row["report"]) for row in found) == Counter(
        (bic, day, report) for bic, report in reports.items() for day in days
    )
    assert {(row["aspsp_bic"], row["day"]) for row in found if row["calls"]} == with_calls


@pytest.mark.year
def test_a_year_of_daily_clock_advances_records_every_day_once(own_stack: SeparateStack) -> None:
    move_to_noon(own_stack)
    offset = own_stack.time()["offset_seconds"]
    read_accounts(own_stack)

    move_by_days(own_stack, 365)

    check_days(own_stack, 365)
    assert own_stack.time()["offset_seconds"] == offset + 365 * 86_400
    assert own_stack.admin("ledger", "verify")["good"] is True
