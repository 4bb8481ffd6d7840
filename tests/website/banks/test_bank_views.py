"""The public page of a bank: its record in plain words, availability today, and links."""

import html
import re
from collections.abc import Iterator

import pytest

from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.flows.bank.directory import describe_bank
from chalicelib.openbanking.records.bank_record import SWITCHES
from chalicelib.statistics.days import hours_of
from chalicelib.website.banks.bank_text import describe_switches
from tests.causeway import Causeway
from tests.openbanking.conformance_reports import report, written
from tests.openbanking.logos import SVG
from tests.statistics.bank_days import hourly, put_counters
from tests.website.statistics_data import BIC, OTHER, TODAY
from tests.website.web_user import PAGE_BYTES, WebUser


def shown_facts(person: WebUser) -> dict[str, str]:
    """Return the rows of the page's facts, as text."""
    found = re.findall(r"<dt>([^<]+)</dt><dd[^>]*>(.*?)</dd>", person.last.text, re.DOTALL)
    return {name: " ".join(html.unescape(re.sub("<[^>]+>", " ", value)).split()) for name, value in found}


@pytest.fixture
def changed(causeway: Causeway) -> Iterator[Causeway]:
    before = {bic: causeway.hub.openbanking.banks.get(bic).as_new() for bic in (BIC, OTHER)}
    yield causeway
    for bic, members in before.items():
        causeway.hub.openbanking.banks.change(bic, **{name: members[name] for name in members if name != "bic"})


def test_the_page_of_a_bank_is_public_in_every_stage(causeway: Causeway, visitor: WebUser, user: WebUser) -> None:
    for person in (visitor, user):
        assert person.get(f"/banks/{BIC}").status == 200
    prod = Settings.from_environment({"STAGE": "prod", "PUBLIC_URL": "https://causeway.example"})
    fresh = causeway.again()
    fresh.hub.settings = prod
    fresh.hub.__dict__["store"] = causeway.hub.store
    with fresh.installed():
        assert WebUser(fresh).get(f"/banks/{BIC}").status == 200


@pytest.mark.parametrize("bic", ["betadef1", "BETADEF1XXX", "BetaDef1"])
def test_a_bank_is_found_by_its_bic_of_8_or_11_characters_in_any_case(visitor: WebUser, bic: str) -> None:
    assert visitor.get(f"/banks/{bic}").status == 200
    assert f"/performance?bic={OTHER}" in visitor.last.text


@pytest.mark.parametrize("bic", ["NOBKGB2L", "x", "%C3%9F", "logo%2FALPHGB21", "report%2FALPHGB21", "A" * 3000])
@pytest.mark.parametrize("page", ["", "/conformance"])
def test_the_page_of_an_unknown_bank_is_the_sites_404(visitor: WebUser, bic: str, page: str) -> None:
    nowhere = visitor.get("/nowhere").text

    assert visitor.get(f"/banks/{bic}{page}").status == 404
    assert visitor.last.text == nowhere


def test_the_page_of_a_deactivated_bank_is_404_and_no_page_links_to_it(changed: Causeway, visitor: WebUser) -> None:
    changed.hub.openbanking.banks.change(OTHER, active=False)

    assert visitor.get(f"/banks/{OTHER}").status == 404
    for path in ("/", "/performance", f"/performance?bic={OTHER}"):
        assert f"/banks/{OTHER}" not in visitor.get(path).text


def test_the_page_shows_what_the_directory_says_about_the_bank(causeway: Causeway, visitor: WebUser) -> None:
    for bic in (BIC, OTHER):
        entry = causeway.tpp.call("GET", f"/tpp/banks/{bic}").body
        visitor.get(f"/banks/{bic}")

        for name in (*entry["scopes"], *entry["unified_scopes"]):
            assert f"<code>{name}</code>" in visitor.last.text
        assert shown_facts(visitor)["Payment schemes"] == ", ".join(entry["payment_schemes"])
        assert f"{bic} · " in visitor.text
        assert f"version {entry['api_version']}" in visitor.text


def test_a_unified_scope_is_shown_only_if_the_bank_provides_it_entirely(changed: Causeway, visitor: WebUser) -> None:
    changed.hub.openbanking.banks.change(BIC, scopes=("account.list", "account.balance"))
    visitor.get(f"/banks/{BIC}")

    assert "<code>account.list</code>" in visitor.last.text
    assert "accounts:read" not in visitor.last.text
    assert "<code>balances:read</code>" in visitor.last.text


def test_history_and_unattended_reads_are_shown_in_plain_words(changed: Causeway, visitor: WebUser) -> None:
    visitor.get(f"/banks/{BIC}")
    unlimited = shown_facts(visitor)
    changed.hub.openbanking.banks.change(BIC, history_days=90, unattended_reads=4)
    visitor.get(f"/banks/{BIC}")
    limited = shown_facts(visitor)

    assert unlimited["History"] == "The bank does not say how far back"
    assert unlimited["Unattended reads"] == "This service sets no limit Reads without the PSU"
    assert limited["History"] == "The last 90 days"
    assert limited["Unattended reads"].startswith("At most 4 times a day, for each consent, account and call")
    changed.hub.openbanking.banks.change(BIC, history_days=1, unattended_reads=1)
    visitor.get(f"/banks/{BIC}")
    assert shown_facts(visitor)["History"] == "The last 1 day"
    assert shown_facts(visitor)["Unattended reads"].startswith("At most 1 time a day")


@pytest.mark.parametrize(
    ("bic", "switches", "label", "words"),
    [
        (BIC, {}, "Amounts", "Transactions are signed: negative if money left the account"),
        (BIC, {"unsigned_amounts": True}, "Amounts", "Transactions have no sign: the unified API takes the direction"),
        (BIC, {}, "Balances", "The only balance is the booked balance"),
        (BIC, {"balance_type": "available"}, "Balances", "The only balance is the available balance"),
        (OTHER, {}, "Balances", "Each balance has its type"),
        (BIC, {}, "Credit limit", "Unknown for the whole bank"),
        (BIC, {"credit_limit_included": True}, "Credit limit", "Included in balances"),
        (BIC, {"credit_limit_included": False}, "Credit limit", "Not included in balances"),
        (BIC, {}, "Last day", "Version 1 has no date_to: the unified API leaves out later transactions"),
        (OTHER, {}, "Last day", "The bank accepts date_to"),
        (OTHER, {"no_date_to": True}, "Last day", "The bank does not accept date_to: the unified API leaves out"),
    ],
)
def test_each_switch_is_shown_in_plain_words(
    changed: Causeway, visitor: WebUser, bic: str, switches: dict[str, object], label: str, words: str
) -> None:
    changed.hub.openbanking.banks.change(bic, **switches)
    visitor.get(f"/banks/{bic}")

    assert shown_facts(visitor)[label].startswith(words)


def test_every_switch_of_the_record_has_words(causeway: Causeway) -> None:
    bank = causeway.hub.openbanking.banks.get(BIC)
    entry = causeway.hub.website.call_hub(describe_bank, BIC)

    assert len(describe_switches(bank, entry)) == len(SWITCHES)


def test_availability_today_links_to_the_performance_page(causeway: Causeway, visitor: WebUser) -> None:
    counters = hourly(BIC, hours_of(TODAY)[0], answered=9, unanswered=1)
    causeway.hub.store.transact([put_counters(counters)])
    visitor.get(f"/banks/{BIC}")
    facts = shown_facts(visitor)

    assert (facts["Availability"], facts["Requests"], facts["Error rate"]) == ("100 %", "10", "10 %")
    assert f'<a href="/performance?bic={BIC}">Performance of the last 30 days</a>' in visitor.last.text
    assert visitor.get(f"/performance?bic={BIC}").status == 200


def test_a_day_without_requests_has_no_figures(visitor: WebUser) -> None:
    visitor.get(f"/banks/{BIC}")

    assert "There have been no requests to this bank today" in visitor.text
    assert "Availability" not in visitor.text


def test_a_bank_that_is_down_is_marked(causeway: Causeway, visitor: WebUser, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Reachable" in visitor.get(f"/banks/{BIC}").text
    monkeypatch.setattr(causeway.hub.statistics.open_downtimes, "bics", lambda: frozenset({BIC}))

    assert "Not reachable at the moment" in visitor.get(f"/banks/{BIC}").text
    assert "Not reachable" not in visitor.get(f"/banks/{OTHER}").text


def test_the_page_shows_the_logo_or_the_first_letter(causeway: Causeway, visitor: WebUser) -> None:
    letter = causeway.hub.openbanking.banks.get(BIC).name[0]
    assert f'<span class="initial" aria-hidden="true">{letter}</span>' in visitor.get(f"/banks/{BIC}").text
    causeway.hub.openbanking.banks.set_logo(BIC, SVG)
    try:
        assert re.search(rf'<img src="[^"]*/banks/{BIC}/logo/[0-9a-f]+" alt=""', visitor.get(f"/banks/{BIC}").text)
    finally:
        causeway.hub.openbanking.banks.remove_logo(BIC)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ("conforms", "Conforms Version 1, 27 Feb 2026"),
        ("unknown", "Not all checks could run"),
        ("partial", "Selected checks only"),
    ],
)
def test_the_page_links_to_the_published_report_with_date_and_result(
    causeway: Causeway, visitor: WebUser, result: str, words: str
) -> None:
    assert "No report is published" in " ".join(visitor.get(f"/banks/{BIC}").text.split())
    causeway.hub.openbanking.banks.publish_report(BIC, written(report(result=result)))
    try:
        visitor.get(f"/banks/{BIC}")
        assert f'<a href="/banks/{BIC}/conformance">Conformance report</a>' in visitor.last.text
        assert words in visitor.text
    finally:
        causeway.hub.openbanking.banks.unpublish_report(BIC)


@pytest.mark.parametrize("path", ["/", "/performance", f"/performance?bic={BIC}"])
def test_public_pages_that_name_a_bank_link_to_its_page(visitor: WebUser, path: str) -> None:
    assert f'href="/banks/{BIC}"' in visitor.get(path).text


def test_the_bank_choice_and_the_authorize_page_link_to_the_page_of_a_bank(visitor: WebUser, user: WebUser) -> None:
    client_id = user.create_client()
    assert f'href="/banks/{BIC}"' in user.get("/authorize").text
    query = "response_type=code&scope=accounts:read&code_challenge_method=S256&code_challenge=" + "a" * 43
    visitor.get(f"/oauth/authorize?client_id={client_id}&{query}")

    (link,) = re.findall(f'<a [^>]*href="/banks/{BIC}"[^>]*>', visitor.last.text)
    assert 'target="_blank" rel="noopener"' in link


def test_a_bank_page_has_no_inline_code_and_fits_its_size_budget(visitor: WebUser) -> None:
    text = visitor.get(f"/banks/{BIC}").text

    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?! src=)", text)
    assert len(text.encode()) <= PAGE_BYTES
