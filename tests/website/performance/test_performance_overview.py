"""The performance overview: all banks in ascending order of availability, with a chart for each bank."""

import csv
import html
import io
import re
from collections import Counter
from dataclasses import replace
from datetime import date, timedelta

import pytest

from chalicelib.statistics import day_overviews, day_records
from chalicelib.statistics.call_counts import Histogram
from chalicelib.statistics.day_overviews import DayOverview, Row, pack_histogram
from chalicelib.statistics.day_records import TABLE
from chalicelib.statistics.days import DayRange, hours_of
from chalicelib.statistics.downtimes import OpenDowntimes
from chalicelib.website.performance.performance_overview import SPARKLINE_HEIGHT, SPARKLINE_WIDTH, draw_sparkline
from tests.causeway import Causeway
from tests.statistics.bank_days import hourly, record
from tests.website.statistics_data import BIC, FEBRUARY, OTHER, TODAY, YESTERDAY
from tests.website.web_user import PAGE_BYTES, WebUser


def measured(
    causeway: Causeway,
    bic: str,
    day: date,
    *,
    answered: int = 9,
    unanswered: int = 0,
    bank: float = 120,
    invented: bool = False,
) -> None:
    counters = hourly(bic, hours_of(day)[0], answered=answered, unanswered=unanswered, bank=bank)
    day_records.store_record(causeway.hub.store, replace(record(bic, day, counters), made_up=invented))
    day_overviews.build_overviews(causeway.hub.store, [day], (BIC, OTHER))


def rows(person: WebUser) -> list[list[str]]:
    (body,) = re.findall('aria-label="Banks">.*?<tbody>(.*?)</tbody>', person.last.text, re.DOTALL)
    cells = (re.findall("<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in body.split("</tr>")[:-1])
    return [[" ".join(re.sub("<[^>]+>", " ", cell).split()) for cell in row] for row in cells]


def test_the_overview_lists_all_banks_lowest_availability_first(causeway: Causeway, visitor: WebUser) -> None:
    measured(causeway, BIC, date(2026, 2, 3))
    measured(causeway, OTHER, date(2026, 2, 3), unanswered=10, bank=240)
    visitor.get(f"/performance?{FEBRUARY}")

    (worst, best) = rows(visitor)
    assert worst[0].split()[-1] == OTHER
    assert worst[1:5] == ["99.988 %", "52.632 %", "256 ms", "19"]
    assert best[1:5] == ["100 %", "0 %", "128 ms", "9"]
    assert f'<a href="/performance?bic={OTHER}&amp;from=2026-02-01&amp;to=2026-02-28">' in visitor.last.text
    assert visitor.get(f"/performance?bic={OTHER}&{FEBRUARY}").status == 200
    assert '<a href="/performance?from=2026-02-01&amp;to=2026-02-28">All banks</a>' in visitor.last.text


def test_the_overview_and_the_page_of_a_bank_have_the_same_figures(causeway: Causeway, visitor: WebUser) -> None:
    for number in range(1, 20):
        measured(causeway, BIC, date(2026, 2, number), answered=7 * number, unanswered=number, bank=30 * number)
    visitor.get(f"/performance?{FEBRUARY}")
    shown = next(row for row in rows(visitor) if BIC in row[0])
    visitor.get(f"/performance?bic={BIC}&{FEBRUARY}")
    found = visitor.figures()

    assert shown[1:5] == [found[name] for name in ("Availability", "Error rate", "At the bank, p95", "Requests")]


def test_banks_of_equal_availability_are_ordered_by_error_rate_then_latency(
    causeway: Causeway, visitor: WebUser
) -> None:
    measured(causeway, BIC, YESTERDAY, bank=500)
    measured(causeway, OTHER, YESTERDAY, bank=100)
    visitor.get("/performance")
    assert [row[0].split()[-1] for row in rows(visitor)] == [BIC, OTHER]

    measured(causeway, OTHER, YESTERDAY, unanswered=3, bank=100)  # not down with three
    visitor.get("/performance")
    assert [row[0].split()[-1] for row in rows(visitor)] == [OTHER, BIC]


def test_a_bank_without_calls_is_listed_last_with_dashes(causeway: Causeway, visitor: WebUser) -> None:
    measured(causeway, OTHER, YESTERDAY, unanswered=50)
    visitor.get("/performance")

    assert rows(visitor)[-1][1:] == ["\u2013", "\u2013", "\u2013", "0", "\u2013"]


def test_a_notice_and_a_mark_in_the_row_of_the_bank_identify_synthetic_days(
    causeway: Causeway, visitor: WebUser
) -> None:
    measured(causeway, BIC, date(2026, 2, 3), invented=True)
    measured(causeway, OTHER, date(2026, 2, 3), invented=True)
    measured(causeway, OTHER, date(2026, 2, 4))
    visitor.get(f"/performance?{FEBRUARY}")

    assert "Some of these days are made up." in visitor.text
    names = {row[0] for row in rows(visitor)}
    assert any(name.endswith(f"{BIC} made up") for name in names)
    assert any(name.endswith(f"{OTHER} 1 of 2 days made up") for name in names)


def test_an_overview_without_synthetic_days_does_not_mention_synthetic_days(
    causeway: Causeway, visitor: WebUser
) -> None:
    measured(causeway, BIC, YESTERDAY)

    assert "made up" not in visitor.get("/performance").text


def test_a_bank_with_an_ongoing_downtime_is_marked(
    causeway: Causeway, visitor: WebUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(causeway, BIC, YESTERDAY)
    assert "down now" not in visitor.get("/performance").text
    monkeypatch.setattr(OpenDowntimes, "bics", lambda _: frozenset({BIC}))

    visitor.get("/performance")

    assert [BIC in row[0] for row in rows(visitor) if "down now" in row[0]] == [True]


def test_a_notice_lists_the_days_without_an_overview(causeway: Causeway, visitor: WebUser) -> None:
    visitor.get("/performance")
    assert "There are no figures for these days." in visitor.text

    measured(causeway, BIC, YESTERDAY - timedelta(days=1))
    assert "1 Mar 2026 has not been computed yet" in visitor.get("/performance").text
    measured(causeway, BIC, YESTERDAY)
    assert "has not been computed yet" not in visitor.get("/performance").text


def test_older_records_are_displayed_after_the_overview_of_the_day_is_built(
    causeway: Causeway, visitor: WebUser
) -> None:
    old = record(BIC, YESTERDAY, hourly(BIC, hours_of(YESTERDAY)[0], answered=9))
    causeway.hub.store.put(TABLE, old.to_item())
    assert rows_of(visitor, BIC)[4] == "0"

    day_overviews.build_missing_overviews(causeway.hub.store, [YESTERDAY], (BIC, OTHER))

    assert rows_of(visitor, BIC)[4] == "9"


def rows_of(person: WebUser, bic: str) -> list[str]:
    person.get("/performance")
    (found,) = [row for row in rows(person) if bic in row[0]]
    return found


def test_all_banks_are_downloaded_in_page_order_without_synthetic_days(causeway: Causeway, visitor: WebUser) -> None:
    measured(causeway, BIC, date(2026, 2, 3))
    measured(causeway, OTHER, date(2026, 2, 3), unanswered=10, bank=240)
    measured(causeway, OTHER, date(2026, 2, 4), invented=True)
    visitor.get(f"/performance?{FEBRUARY}")
    links = [html.unescape(each) for each in re.findall('href="([^"]+&amp;format=[a-z]+)"', visitor.last.text)]
    as_csv, as_json = (visitor.get(link) for link in links)
    found = list(csv.DictReader(io.StringIO(as_csv.text)))

    name = "performance-2026-02-01-2026-02-28"
    assert as_csv.headers["content-type"] == "text/csv; charset=utf-8"
    assert as_csv.headers["content-disposition"] == f'attachment; filename="{name}.csv"'
    assert as_json.headers["content-disposition"] == f'attachment; filename="{name}.json"'
    assert [(row["aspsp_bic"], row["days"], row["uptime_percent"]) for row in found] == [
        (OTHER, "1", "99.988"),
        (BIC, "1", "100.000"),
    ]
    assert [row["requests"] for row in as_json.body["banks"]] == [19, 9]


def test_a_download_contains_the_banks_of_all_pages(
    causeway: Causeway, visitor: WebUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(causeway, monkeypatch, 45, 3)

    assert len(visitor.get("/performance?format=json&page=2").body["banks"]) == 45


def test_an_overview_with_only_synthetic_days_has_no_download(causeway: Causeway, visitor: WebUser) -> None:
    measured(causeway, BIC, YESTERDAY, invented=True)
    visitor.get("/performance")

    assert "format=csv" not in visitor.last.text
    assert "No download: downloads have measured days only" in visitor.text
    assert "All of these days are made up." in visitor.text


def test_a_measured_day_without_requests_is_downloaded_and_not_marked_as_synthetic(
    causeway: Causeway, visitor: WebUser
) -> None:
    measured(causeway, BIC, YESTERDAY - timedelta(days=1), invented=True)
    measured(causeway, BIC, YESTERDAY, answered=0)
    visitor.get("/performance")

    assert "Some of these days are made up." in visitor.text
    assert "format=csv" in visitor.last.text


def many(causeway: Causeway, monkeypatch: pytest.MonkeyPatch, banks: int, days: int) -> None:
    (first, *_) = causeway.hub.openbanking.banks.directory()
    listed = [replace(first, bic=f"X{number:05}GB", name=f"Bank {number}") for number in range(banks)]
    monkeypatch.setattr(causeway.hub.openbanking.banks, "directory", lambda: listed)
    durations = pack_histogram(Histogram(Counter({bucket: 40 + bucket for bucket in range(40, 68)})))
    for ago in range(1, days + 1):
        rows = {
            bank.bic: (1, 1, 0, 60 * (number == ago), 1000 + number, number % 7, durations)
            for number, bank in enumerate(listed)
        }
        day = TODAY - timedelta(days=ago)
        causeway.hub.store.put(TABLE, DayOverview(rows).to_item(day))


@pytest.mark.parametrize(("banks", "days"), [(100, 30), (50, 92), (20, 366)])
def test_the_overview_is_within_its_size_budget(
    causeway: Causeway, visitor: WebUser, monkeypatch: pytest.MonkeyPatch, banks: int, days: int
) -> None:
    many(causeway, monkeypatch, banks, days)
    address = f"/performance?from={TODAY - timedelta(days=days)}&to={YESTERDAY}"

    assert len(visitor.get(address).text.encode()) <= PAGE_BYTES


def test_many_banks_are_listed_on_pages_in_one_order(
    causeway: Causeway, visitor: WebUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(causeway, monkeypatch, 45, 30)
    seen = [row[0].split()[-1] for page in (1, 2, 3) for row in _page(visitor, page)]

    assert len(seen) == len(set(seen)) == 45
    assert [row[0].split()[-1] for row in _page(visitor, 9)] == seen[40:]


def _page(person: WebUser, number: int) -> list[list[str]]:
    person.get(f"/performance?page={number}")
    return rows(person)


# -- sparklines

TEN = DayRange(date(2026, 2, 1), date(2026, 2, 10))


def row(milliseconds: float | None, down: int = 0) -> Row:
    histogram = Histogram()
    if milliseconds is not None:
        histogram.add(milliseconds)
    return (1, int(milliseconds is not None or down > 0), 0, down, 1, 0, pack_histogram(histogram))


def sparkline(days: dict[int, Row], shown: DayRange = TEN) -> tuple[str, str, str]:
    overviews = {shown.since + timedelta(days=number): DayOverview({BIC: each}) for number, each in days.items()}
    made = draw_sparkline(BIC, overviews, shown)
    assert made is not None
    return made.line, made.down, made.description


def test_a_sparkline_breaks_at_a_gap() -> None:
    line, down, words = sparkline({0: row(100), 1: row(200), 4: row(100), 8: row(200)})

    assert re.findall("[ML]([0-9.]+) ", line) == ["6", "18", "54", "102"]
    assert "".join(re.findall("[MLh]", line)) == "MLMhMh"
    assert down == ""
    assert words == "p95 between 108 ms and 215 ms, never down"


def test_a_day_with_downtime_is_a_column_of_full_height() -> None:
    _, down, words = sparkline({0: row(100), 1: row(None, down=600)})

    assert down == f"M12 0h12V{SPARKLINE_HEIGHT}h-12z"
    assert words == "p95 between 108 ms and 108 ms, down on 1 of 2 days"
    assert sparkline({1: row(None, down=600)})[2] == "Down on 1 of 1 days"


def test_a_sparkline_of_a_year_has_a_point_per_week() -> None:
    year = DayRange(date(2025, 3, 2), date(2026, 3, 1))
    line, _, words = sparkline({number: row(100 + number, down=60 * (number == 9)) for number in range(365)}, year)
    places = [float(each) for each in re.findall("[ML]([0-9.]+) ", line)]

    assert len(places) == len(year.periods) == 53
    assert 0 < places[0] < places[-1] < SPARKLINE_WIDTH
    assert words.endswith("down on 1 of 365 days")


def test_no_sparkline_is_drawn_without_requests() -> None:
    assert draw_sparkline(BIC, {}, TEN) is None
    assert draw_sparkline(BIC, {TEN.since: DayOverview({BIC: row(None)})}, TEN) is None
