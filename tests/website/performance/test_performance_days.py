"""Days on the performance page: synthetic days, weeks of a long period, and invalid dates."""

import re
from dataclasses import replace
from datetime import date, timedelta

import pytest

from chalicelib.statistics import day_records
from chalicelib.statistics.days import hours_of
from tests.causeway import Causeway
from tests.statistics.bank_days import hourly, record
from tests.website.statistics_data import BIC, FEBRUARY, OTHER, YESTERDAY, add_day
from tests.website.web_user import WebUser


def made_up(causeway: Causeway, bic: str, day: date, *, answered: int = 9) -> None:
    invented = replace(record(bic, day, hourly(bic, hours_of(day)[0], answered=answered)), made_up=True)
    day_records.store_record(causeway.hub.store, invented)


def test_a_notice_above_the_figures_and_a_mark_in_each_row_identify_synthetic_days(
    causeway: Causeway, visitor: WebUser
) -> None:
    add_day(causeway, BIC, date(2026, 2, 3))
    for day in (4, 5):
        made_up(causeway, BIC, date(2026, 2, day))
    visitor.get(f"/performance?bic={BIC}&{FEBRUARY}")

    notice, found, _ = visitor.last.text.partition('<dl class="figures">')
    assert found
    assert "<strong>2 of the 3 days with figures are made up.</strong>" in notice
    assert "The summary adds them to the measured days." in notice
    assert visitor.figures()["Requests"] == "27"
    for label in ("Availability by day", "Latency by day"):
        assert [row[0] for row in visitor.table(label)] == ["5 Feb 2026 made up", "4 Feb 2026 made up", "3 Feb 2026"]
    assert visitor.last.text.count('<span class="key of-made-up">Made up</span>') == 3
    assert visitor.last.text.count('<path class="made-up"') == 3


def test_a_page_without_synthetic_days_does_not_mention_synthetic_days(causeway: Causeway, visitor: WebUser) -> None:
    add_day(causeway, BIC, YESTERDAY)
    visitor.get(f"/performance?bic={BIC}")

    assert "made up" not in visitor.last.text.lower()
    assert "made-up" not in visitor.last.text


def test_a_page_with_only_synthetic_days_shows_a_notice_and_no_download(causeway: Causeway, visitor: WebUser) -> None:
    made_up(causeway, BIC, YESTERDAY)
    visitor.get(f"/performance?bic={BIC}")

    assert "<strong>All of these days are made up.</strong>" in visitor.last.text
    assert "The summary adds them" not in visitor.last.text
    assert "format=csv" not in visitor.last.text
    assert "No download: downloads have measured days only, and all of these are made up." in visitor.text


def test_a_download_omits_synthetic_days(causeway: Causeway, visitor: WebUser) -> None:
    add_day(causeway, BIC, date(2026, 2, 3))
    made_up(causeway, BIC, date(2026, 2, 4))
    address = f"/performance?bic={BIC}&{FEBRUARY}"

    assert "downloads leave them out" in visitor.get(address).text
    for written_as in ("csv", "json"):
        told = visitor.get(f"{address}&format={written_as}").text
        assert "2026-02-03" in told
        assert "2026-02-04" not in told


# -- what cannot be shown


@pytest.mark.parametrize(
    ("query", "status", "told"),
    [
        ("bic=NOBKGB2L", 404, "There is no bank with this BIC."),
        ("bic=%3Cb%3E", 404, "There is no bank with this BIC."),
        ("from=tomorrow", 400, "This is not a date. Enter one such as 2026-11-21."),
        ("from=2026-02-30", 400, "This is not a date."),
        ("from=20260201", 400, "This is not a date."),
        ("to=2026-2-1", 400, "This is not a date."),
        ("to=\u0662026-02-01", 400, "This is not a date."),
        ("to=2026-03-02", 400, "The latest complete day is 1 Mar 2026."),
        ("to=9999-12-31", 400, "The latest complete day is 1 Mar 2026."),
        ("from=2026-02-02&to=2026-02-01", 400, "This is later than the last day, 1 Feb 2026."),
        ("from=2026-03-02", 400, "This is later than the last day, 1 Mar 2026."),
        ("from=2025-02-27&to=2026-02-28", 400, "This is more than 366 days. Start on 28 Feb 2025 or later."),
        ("from=0001-01-01&to=2026-02-28", 400, "This is more than 366 days."),
        ("bic=&from=x", 400, "This is not a date."),
        ("bic=NOBKGB2L&from=x", 400, "There is no bank with this BIC."),
    ],
)
@pytest.mark.parametrize("format", ["", "&format=csv"])
def test_an_invalid_bank_or_day_shows_its_error_at_the_field(
    visitor: WebUser, query: str, status: int, told: str, format: str
) -> None:
    answer = visitor.get(f"/performance?{query}{format}")

    assert (answer.status, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert told in visitor.text
    assert 'aria-invalid="true"' in answer.text
    assert "Today so far" not in visitor.text


def test_the_form_shows_the_invalid_input_that_was_entered(visitor: WebUser) -> None:
    visitor.get("/performance?bic=BETADEF1&from=2026-02-05&to=next%20%22week%22")
    assert visitor.chosen_days() == (OTHER, "2026-02-05", "next &#34;week&#34;")
    assert re.search('<input id="to"[^>]* type="text"', visitor.last.text), "a field for dates would not show it"

    visitor.get("/performance?bic=NOBKGB2L&from=2026-02-05&to=2026-02-07")
    assert visitor.chosen_days() == ("NOBKGB2L", "2026-02-05", "2026-02-07")

    visitor.get("/performance?from=2026-02-09&to=2026-02-07")
    assert visitor.chosen_days()[1:] == ("2026-02-09", "2026-02-07")


@pytest.mark.parametrize("query", ["from=2025-03-01&to=2026-03-01", "from=0001-01-01&to=0001-01-05", "to=0001-01-05"])
def test_a_user_can_select_a_year_or_any_range_of_past_days(visitor: WebUser, query: str) -> None:
    assert visitor.get(f"/performance?{query}").status == 200


# -- weeks


def test_the_page_counts_measured_and_synthetic_days(causeway: Causeway, visitor: WebUser) -> None:
    add_day(causeway, BIC, date(2026, 2, 3))
    for day in (4, 5):
        made_up(causeway, BIC, date(2026, 2, day))
    visitor.get(f"/performance?bic={BIC}&{FEBRUARY}")

    assert "28 days: 1 measured, 2 made up, 25 without figures" in visitor.text


def test_more_than_92_days_are_shown_by_week_and_downloaded_by_day(causeway: Causeway, visitor: WebUser) -> None:
    for day in (date(2025, 12, 1), date(2025, 12, 3), date(2026, 2, 28)):
        add_day(causeway, BIC, day, unanswered=6)
    address = f"/performance?bic={BIC}&from=2025-11-28&to=2026-02-28"
    visitor.get(address)

    assert visitor.table("Availability by week") == [
        ["23 \u2013 28 Feb 2026", "99.993 %", "6 s", "40 %", "15", "6", "0"],
        ["1 \u2013 7 Dec 2025", "99.993 %", "12 s", "40 %", "30", "12", "0"],
    ]
    assert [row[0] for row in visitor.table("Latency by week")] == ["23 \u2013 28 Feb 2026", "1 \u2013 7 Dec 2025"]
    assert visitor.figures()["Down"] == "18 s"
    rows = visitor.get(f"{address}&format=json").body["days"]
    assert [row["day"] for row in rows] == ["2025-12-01", "2025-12-03", "2026-02-28"]


def test_92_days_are_shown_by_day_and_93_days_by_week(causeway: Causeway, visitor: WebUser) -> None:
    add_day(causeway, BIC, YESTERDAY)
    visitor.get(f"/performance?bic={BIC}&from={YESTERDAY - timedelta(days=91)}&to={YESTERDAY}")

    assert len(visitor.table("Availability by day")) == 1
    visitor.get(f"/performance?bic={BIC}&from={YESTERDAY - timedelta(days=92)}&to={YESTERDAY}")
    assert len(visitor.table("Availability by week")) == 1
