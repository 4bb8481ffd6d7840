"""The performance page of a bank: access, figures, charts, tables, current day, reports and downloads."""

import csv
import io
import re
from dataclasses import replace
from datetime import date, timedelta

import pytest

from chalicelib.foundation.settings import Settings
from chalicelib.statistics import day_records, export
from chalicelib.statistics.call_counts import CallCounts
from chalicelib.statistics.current_day import CurrentDay, DayToDate
from chalicelib.statistics.day_records import Summary
from chalicelib.statistics.days import hours_of
from chalicelib.statistics.ingest import ExpectedBank
from infra.local.bank_days import BankBehaviour, made_up_days
from tests.causeway import Causeway
from tests.openbanking.examples import BY_WEBHOOK
from tests.openbanking.relay import Relay
from tests.statistics.bank_days import hourly, put_counters, record
from tests.website.statistics_data import BIC, FEBRUARY, OTHER, TODAY, YESTERDAY, add_day
from tests.website.web_user import PAGE_BYTES, WebUser

# -- who may look, and what for


def test_the_performance_page_is_public_and_in_the_menu(visitor: WebUser, user: WebUser) -> None:
    for person in (visitor, user):
        assert person.get("/performance").status == 200
        assert re.search(
            '<a href="/performance" aria-current="page"><svg .+?</svg>Performance</a>', person.last.text, re.DOTALL
        )
        assert re.search('<a href="/performance"><svg .+?</svg>Performance</a>', person.get("/").text, re.DOTALL)


def test_the_performance_page_is_available_in_production(causeway: Causeway) -> None:
    prod = Settings.from_environment({"STAGE": "prod", "PUBLIC_URL": "https://causeway.example"})
    fresh = causeway.again()
    fresh.hub.settings = prod
    fresh.hub.__dict__["store"] = causeway.hub.store
    with fresh.installed():
        assert WebUser(fresh).get("/performance").status == 200


def test_the_last_thirty_days_are_shown_by_default(causeway: Causeway, visitor: WebUser) -> None:
    for day in (YESTERDAY - timedelta(days=30), YESTERDAY - timedelta(days=29), YESTERDAY):
        add_day(causeway, BIC, day)
    visitor.get(f"/performance?bic={BIC}")

    assert visitor.chosen_days() == (BIC, "2026-01-31", "2026-03-01")
    assert [row[0] for row in visitor.table("Availability by day")] == ["1 Mar 2026", "31 Jan 2026"]


def test_a_start_day_without_an_end_day_or_the_reverse_selects_a_range_of_30_days(visitor: WebUser) -> None:
    visitor.get(f"/performance?bic={BIC}&to=2026-01-30")
    assert visitor.chosen_days()[1:] == ("2026-01-01", "2026-01-30")

    visitor.get(f"/performance?bic={BIC}&from=2026-02-20")
    assert visitor.chosen_days()[1:] == ("2026-02-20", "2026-03-01")


@pytest.mark.parametrize("bic", ["betadef1", "BETADEF1XXX", "%20BETADEF1"])
def test_a_bank_is_found_by_bic_of_8_or_11_characters_in_any_case(visitor: WebUser, bic: str) -> None:
    visitor.get(f"/performance?bic={bic}")

    assert visitor.chosen_days()[0] == OTHER
    assert visitor.last.text.count(f'<option value="{OTHER}"') == 1


def test_the_days_of_a_deactivated_bank_are_shown(causeway: Causeway, visitor: WebUser) -> None:
    add_day(causeway, OTHER, YESTERDAY)
    try:
        causeway.hub.openbanking.banks.change(OTHER, active=False)
        assert OTHER not in visitor.get(f"/performance?bic={BIC}").text
        assert visitor.get(f"/performance?bic={OTHER}").status == 200
    finally:
        causeway.hub.openbanking.banks.change(OTHER, active=True)

    assert visitor.chosen_days()[0] == OTHER
    assert visitor.figures()["Requests"] == "9"


# -- what is shown


def test_the_performance_page_shows_the_days_of_a_month_in_figures_charts_and_tables(
    causeway: Causeway, visitor: WebUser
) -> None:
    add_day(causeway, BIC, date(2026, 2, 3), answered=90, unanswered=10)
    add_day(causeway, BIC, date(2026, 2, 5))
    add_day(causeway, OTHER, date(2026, 2, 5), answered=77)
    visitor.get(f"/performance?bic={BIC}&{FEBRUARY}")

    assert visitor.figures() == {
        "Availability": "99.994 %",
        "Down": "10 s",
        "Error rate": "9.174 %",
        "Requests": "109",
        "At the bank, p95": "128 ms",
        "In this service, p95": "4.0 ms",
    }
    assert visitor.table("Availability by day") == [
        ["5 Feb 2026", "100 %", "none", "0 %", "9", "0", "0"],
        ["3 Feb 2026", "99.988 %", "10 s 00:00:00\u201300:00:10", "10 %", "100", "10", "0"],
    ]
    (latest, _) = visitor.table("Latency by day")
    assert latest == ["5 Feb 2026", *["128 ms"] * 3, *["4.0 ms"] * 3, "120 ms", "\u2013", "\u2013"]
    assert visitor.last.text.count('role="img"') == 3
    assert "Requests on 2 of 28 days. Down on 1 of them; longest on 3 Feb 2026: 99.988 %, down 10 s." in visitor.text


def test_every_chart_has_a_title_and_a_description(causeway: Causeway, visitor: WebUser) -> None:
    add_day(causeway, BIC, YESTERDAY)
    visitor.get(f"/performance?bic={BIC}")

    labelled = re.findall('<svg class="picture"[^>]*aria-labelledby="([^"]+)"', visitor.last.text)
    assert labelled
    for labels in labelled:
        title, description = labels.split()
        assert re.search(
            f'<title id="{title}">[^<]+</title>\\s*<desc id="{description}">[^<]+</desc>', visitor.last.text
        )


def test_a_page_has_no_inline_style_or_script(causeway: Causeway, visitor: WebUser) -> None:
    add_day(causeway, BIC, YESTERDAY, unanswered=7)
    text = visitor.get(f"/performance?bic={BIC}").text

    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?! src=)", text)


def test_unknown_figures_are_shown_as_dashes_instead_of_zeros(causeway: Causeway, visitor: WebUser) -> None:
    add_day(causeway, BIC, YESTERDAY)
    add_day(causeway, BIC, YESTERDAY - timedelta(days=1), answered=0)
    visitor.get(f"/performance?bic={BIC}")
    (_, quiet), (_, untimed) = visitor.table("Availability by day"), visitor.table("Latency by day")

    assert quiet == ["28 Feb 2026", *["\u2013"] * 3, "0", "0", "0"]
    assert untimed == ["28 Feb 2026", *["\u2013"] * 9]


def test_days_without_requests_have_no_chart(causeway: Causeway, visitor: WebUser) -> None:
    add_day(causeway, BIC, YESTERDAY, answered=0)
    visitor.get(f"/performance?bic={BIC}")

    assert 'role="img"' not in visitor.last.text
    assert "There were no requests to this bank on these days" in visitor.text
    assert visitor.figures()["Availability"] == "\u2013"


def test_a_page_without_days_shows_the_time_of_the_next_computation(visitor: WebUser) -> None:
    visitor.get(f"/performance?bic={BIC}")

    assert "There are no figures for these days." in visitor.text
    assert "at 01:10 UTC the next day" in visitor.text
    assert "format=csv" not in visitor.last.text


def test_a_notice_states_that_a_past_day_has_no_figures(causeway: Causeway, visitor: WebUser) -> None:
    add_day(causeway, BIC, YESTERDAY - timedelta(days=1))
    visitor.get(f"/performance?bic={BIC}")
    assert "1 Mar 2026 has not been computed yet" in visitor.text

    add_day(causeway, BIC, YESTERDAY)
    visitor.get(f"/performance?bic={BIC}")
    assert "not reckoned yet" not in visitor.text


def test_the_figures_of_the_current_day_are_summed(causeway: Causeway, visitor: WebUser) -> None:
    visitor.get(f"/performance?bic={BIC}")
    assert "There have been no requests to this bank today." in visitor.text

    made = put_counters(hourly(BIC, hours_of(TODAY)[8], answered=99, unanswered=6))
    causeway.hub.store.put(made.table, made.item)
    causeway.clock.advance(60)
    visitor.get(f"/performance?bic={BIC}")
    assert "Today so far Availability 99.982 % Down 6 s Error rate 5.714 % Requests 105" in visitor.text
    assert "As of 2 Mar 2026, 09:01:00 UTC" in visitor.text


def test_a_tpp_call_appears_in_the_figures_of_today_after_its_counters_are_written(
    causeway: Causeway, visitor: WebUser
) -> None:
    relay = Relay(causeway)
    relay.bearer(1)
    assert relay.call(BY_WEBHOOK["/accounts"]).status == 200
    causeway.hub.statistics.measurements.write()
    visitor.get(f"/performance?bic={BIC}")

    assert "Today so far Availability 100 % Down none Error rate 0 % Requests" in visitor.text


def test_calls_that_sent_no_request_to_the_bank_are_described_as_not_yet_counted(
    causeway: Causeway, visitor: WebUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        CurrentDay, "of_bank", lambda *_: DayToDate(causeway.clock.time(), Summary(total=CallCounts(calls=1)), True)
    )
    visitor.get(f"/performance?bic={BIC}")

    assert "No requests to this bank have been counted yet." in visitor.text


def test_partial_figures_of_today_are_labelled_as_partial(
    causeway: Causeway, visitor: WebUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = DayToDate(causeway.clock.time(), Summary(total=CallCounts(calls=9, answered=9)), is_whole=False)
    monkeypatch.setattr(CurrentDay, "of_bank", lambda *_: part)
    visitor.get(f"/performance?bic={BIC}")

    assert "today's figures are partial" in visitor.text
    assert "Today so far Availability \u2013 Down \u2013 Error rate 0 %" in visitor.text


def test_the_page_shows_a_message_if_there_are_no_banks(
    causeway: Causeway, visitor: WebUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(causeway.hub.openbanking.banks, "directory", list)

    assert visitor.get("/performance").status == 200
    assert "There are no banks yet" in visitor.text
    assert visitor.get("/performance?bic=NOBKGB2L").status == 404


def reported(causeway: Causeway, day: date, consent: int | None, payment: int | None) -> None:
    """Store a day of bank Beta with its report, with durations in milliseconds."""
    told = replace(
        record(OTHER, day, hourly(OTHER, hours_of(day)[0], answered=3)),
        report="received",
        consent_duration=consent,
        payment_duration=payment,
        report_received_at=hours_of(day)[0],
    )
    day_records.store_record(causeway.hub.store, told)


def test_reported_durations_are_shown_as_figures_chart_and_table(causeway: Causeway, visitor: WebUser) -> None:
    reported(causeway, date(2026, 2, 3), 40_000, 20_000)
    reported(causeway, date(2026, 2, 4), 41_250, None)
    late = replace(
        record(OTHER, date(2026, 2, 5), hourly(OTHER, hours_of(date(2026, 2, 5))[0], answered=1)), report="missing"
    )
    day_records.store_record(causeway.hub.store, late)
    visitor.get(f"/performance?bic={OTHER}&{FEBRUARY}")

    assert visitor.table("Reports by day") == [
        ["5 Feb 2026", "\u2013", "\u2013", "missing"],
        ["4 Feb 2026", "41.3 s", "\u2013", "received"],
        ["3 Feb 2026", "40.0 s", "20.0 s", "received"],
    ]
    assert "2 of 3 reports received" in visitor.text
    assert "Consent, average 40.6 s Payment, average 20.0 s" in visitor.text
    assert "On 2 of 28 days: consents between 40.0 s and 41.3 s, payments between 20.0 s and 20.0 s." in visitor.text
    assert 'aria-label="4 Feb 2026: consent 41.3 s, payment \u2013"' in visitor.last.text
    assert 'aria-label="5 Feb 2026: not reported"' in visitor.last.text


def test_a_bank_without_reports_has_no_report_section(causeway: Causeway, visitor: WebUser) -> None:
    add_day(causeway, BIC, YESTERDAY)
    visitor.get(f"/performance?bic={BIC}")

    assert "as the bank reports</h3>" not in visitor.last.text


@pytest.mark.parametrize("days", [92, 366])
def test_a_page_of_many_days_is_within_its_size_budget(causeway: Causeway, visitor: WebUser, days: int) -> None:
    bank = ExpectedBank(OTHER, "A bank", is_active=True, reports=True)
    busy = [
        each for year in range(5) for each in made_up_days(bank, BankBehaviour(), YESTERDAY - timedelta(days=90 * year))
    ]
    causeway.hub.store.transact([each.put() for each in busy[:90]])
    for each in busy[90:]:
        day_records.store_record(causeway.hub.store, each)
    address = f"/performance?bic={OTHER}&from={YESTERDAY - timedelta(days=days - 1)}&to={YESTERDAY}"

    assert len(visitor.get(address).text.encode()) <= PAGE_BYTES


# -- files


def test_the_displayed_days_can_be_downloaded_as_csv_and_json(causeway: Causeway, visitor: WebUser) -> None:
    for day in (date(2026, 2, 1), date(2026, 2, 28), YESTERDAY):
        add_day(causeway, BIC, day, unanswered=5)
    visitor.get(f"/performance?bic={BIC}&{FEBRUARY}")
    links = {link[-4:]: link for link in re.findall('href="([^"]+&amp;format=[a-z]+)"', visitor.last.text)}
    as_csv, as_json = (visitor.get(links[name].replace("&amp;", "&")) for name in ("=csv", "json"))

    name = f"performance-{BIC}-2026-02-01-2026-02-28"
    assert as_csv.headers["content-type"] == "text/csv; charset=utf-8"
    assert as_csv.headers["content-disposition"] == f'attachment; filename="{name}.csv"'
    assert as_json.headers["content-disposition"] == f'attachment; filename="{name}.json"'
    rows = list(csv.DictReader(io.StringIO(as_csv.text)))
    assert [row["day"] for row in rows] == ["2026-02-01", "2026-02-28"]
    assert list(rows[0]) == list(export.NAMES)
    assert [row["day"] for row in as_json.body["days"]] == ["2026-02-01", "2026-02-28"]
    assert {str(row["uptime_percent"]) for row in as_json.body["days"]} == {rows[0]["uptime_percent"]}


def test_a_download_without_days_has_no_rows(visitor: WebUser) -> None:
    assert visitor.get(f"/performance?bic={BIC}&format=json").body == {"days": []}
    assert visitor.get(f"/performance?bic={BIC}&format=csv").text.count("\r\n") == 1
    assert visitor.get(f"/performance?bic={BIC}&format=pdf").headers["content-type"].startswith("text/html")
