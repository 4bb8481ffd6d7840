"""Tests of the page on which a PSU chooses the bank, for browser requests and pushed requests."""

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest

from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.records.authorization_requests import LIFETIME
from chalicelib.openbanking.records.bank_record import NewBank
from chalicelib.statistics.call_counts import TABLE
from chalicelib.statistics.downtimes import Downtime
from tests.causeway import Answer, Causeway
from tests.kit.storage import record_calls
from tests.openbanking.key_holder import CHALLENGE, KeyHolder, open_pushed, secure

BIC = {1: "ALPHGB21", 2: "BETADEF1"}
OTHER = "GAMMDE2L"


@pytest.fixture
def other(causeway: Causeway) -> Iterator[str]:
    """Register a second bank of version 2. The name of the bank contains HTML."""
    new = NewBank(
        bic=OTHER,
        name='<script>alert("G")</script> Gamma & Söhne',
        country="DE",
        api_version=2,
        domain="http://127.0.0.1:1/gamma",
        authorization_url="http://127.0.0.1:1/gamma/authorize",
        public_keys=[causeway.banks[2].record.public_keys[0]],
    )
    causeway.hub.openbanking.banks.add(new)
    yield OTHER
    causeway.hub.openbanking.banks.remove(OTHER)


def request(causeway: Causeway, **changes: str | None) -> dict[str, str]:
    query = {
        "response_type": "code",
        "client_id": causeway.tpp.client_id,
        "redirect_uri": causeway.tpp.client.callback_url,
        "scope": "accounts",
        "state": "s",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
    } | changes
    return {name: value for name, value in query.items() if value is not None}


def open_page(causeway: Causeway, **changes: str | None) -> Answer:
    return causeway.call("GET", f"/oauth/authorize?{urlencode(request(causeway, **changes))}")


def is_page(answer: Answer) -> bool:
    return answer.status == 200 and "<h1>Choose your bank</h1>" in answer.text


def choices(answer: Answer) -> dict[str, str]:
    found = [html.unescape(each) for each in re.findall(r'<a class="choice" href="([^"]*)"', answer.text)]
    return {dict(parse_qsl(urlsplit(each).query))["chosen_bic"]: each for each in found}


def returned(answer: Answer) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(answer.headers["location"]).query))


def stored(causeway: Causeway) -> list[Any]:
    return [*causeway.hub.store.scan("authorizations")]


# -- what the page shows


def test_the_bank_page_shows_the_client_the_scopes_and_the_banks_that_offer_the_scopes(
    causeway: Causeway, other: str
) -> None:
    page = open_page(causeway)

    assert is_page(page)
    assert "Budget Friend" in page.text
    assert "account list and details" in page.text
    assert choices(page).keys() == {BIC[2], other}
    assert "Bank of version 1" not in page.text
    assert stored(causeway) == []


@pytest.mark.parametrize(
    ("scope", "meanings", "banks"),
    [
        ("accounts:read", "account list and details", {BIC[1], BIC[2], OTHER}),
        (
            "payments:write accounts:read",
            "account list and details, single payment initiation",
            {BIC[1], BIC[2], OTHER},
        ),
        ("bulk_payments:write", "bulk payment initiation", {BIC[1], BIC[2]}),
        ("balances:read accounts:read", "account list and details, balances", {BIC[1], BIC[2]}),
    ],
)
def test_bank_page_for_unified_scopes_shows_the_banks_of_all_versions_that_offer_them(
    causeway: Causeway, other: str, scope: str, meanings: str, banks: set[str]
) -> None:
    causeway.hub.openbanking.banks.change(OTHER, scopes=["accounts", "payments.single"])
    request_uri = pushed(causeway, scope=scope)

    for page in (open_page(causeway, scope=scope), open_pushed(causeway, request_uri)):
        assert is_page(page)
        assert f"at your bank: {meanings}." in page.text
        assert choices(page).keys() == banks


@pytest.mark.parametrize("scopes", [["account.list"], ["account.details", "account.balance"]])
def test_bank_page_leaves_out_a_bank_without_the_whole_translation_of_a_unified_scope(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch, scopes: list[str]
) -> None:
    incomplete = replace(causeway.banks[1].record, scope_names=tuple(scopes))
    monkeypatch.setattr(causeway.hub.openbanking.banks, "directory", lambda: [incomplete])

    assert "No bank offers this" in open_page(causeway, scope="accounts:read").text


def test_chosen_bank_gets_the_parameters_of_the_request(causeway: Causeway) -> None:
    chosen = causeway.call("GET", choices(open_page(causeway, consent_type="reusable"))[BIC[2]])

    assert chosen.status == 303
    assert chosen.headers["location"].startswith(causeway.banks[2].record.authorization_url)
    query = parse_qs(urlsplit(chosen.headers["location"]).query)
    assert (query["scope"], query["state"], query["code_challenge"]) == (["accounts"], ["s"], [CHALLENGE])
    saved = causeway.banks[2].call("/consent", causeway.banks[2].consent_body(chosen.headers["location"]))
    assert saved.status == 200


@pytest.mark.parametrize("empty", [{}, {"bic": ""}])
def test_a_request_with_an_empty_bic_returns_the_bank_page(causeway: Causeway, empty: dict[str, str]) -> None:
    assert is_page(open_page(causeway, **empty))


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ({"q": "beta"}, {"BETADEF1"}),
        ({"q": " söhne "}, {OTHER}),
        ({"country": "DE"}, {"BETADEF1", OTHER}),
        ({"country": "de", "q": "2L"}, {OTHER}),
        ({"country": "GB"}, set()),
        ({"q": "nobody"}, set()),
        ({"q": "  ", "country": "", "page": ""}, {"BETADEF1", OTHER}),
        ({"q": "x" * 64}, set()),
        ({"page": "99"}, {"BETADEF1", OTHER}),
    ],
)
def test_bank_page_search_filters_by_name_bic_and_country(
    causeway: Causeway, other: str, search: dict[str, str], found: set[str]
) -> None:
    page = open_page(causeway, **search)

    assert is_page(page)
    assert choices(page).keys() == found
    assert ("No bank matches your search" in page.text) == (not found)


COUNTRY, PAGE = "Must be a two-letter country code (ISO 3166-1).", "Must be a whole number from 1 to 1000000."
IMPOSSIBLE = [
    ({"country": "Germany"}, {"country": COUNTRY}),
    ({"country": "ß"}, {"country": COUNTRY}),
    ({"page": "abc"}, {"page": PAGE}),
    ({"page": "0"}, {"page": PAGE}),
    ({"q": "x" * 500}, {"q": "Must have at most 64 characters."}),
    ({"q": "a\u0007b"}, {"q": "Must be printable text."}),
    ({"q": "x" * 500, "country": "nowhere", "page": "-1"}, {"q": "", "country": "", "page": ""}),
]


@pytest.mark.parametrize(("search", "errors"), IMPOSSIBLE, ids=str)
def test_an_invalid_search_returns_400_with_an_error_at_the_search_field(
    causeway: Causeway, search: dict[str, str], errors: dict[str, str]
) -> None:
    page = open_page(causeway, **search)

    assert page.status == 400
    assert "<h1>Choose your bank</h1>" in page.text
    shown = dict(re.findall(r'id="(\w+)-error" role="alert">([^<]*)<', page.text))
    told = r'role="(alert)"><svg.+?</svg><p>The page number is not valid. ([^<]*)<'
    shown |= dict(re.findall(told, page.text, re.DOTALL))
    shown = {name.replace("alert", "page"): text for name, text in shown.items()}
    assert shown.keys() == errors.keys()
    assert all(errors[name] in text for name, text in shown.items())
    assert choices(page) == {}
    assert ('value="Germany" selected' in page.text) == (search.get("country") == "Germany")
    assert is_page(open_page(causeway)), "without the search"


def test_an_invalid_bank_search_does_not_extend_the_lifetime_of_a_pushed_request(causeway: Causeway) -> None:
    request_uri = pushed(causeway)
    query = urlencode({"client_id": causeway.tpp.client_id, "request_uri": request_uri, "page": "abc"})

    page = causeway.call("GET", f"/oauth/authorize?{query}")

    assert (page.status, choices(page)) == (400, {})
    (item,) = stored(causeway)
    assert "kept_until" not in item


def test_the_bank_page_lists_20_banks_at_a_time_ordered_by_name(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank = causeway.banks[2].record
    many = [replace(bank, bic=f"BANKDE{number:02}", name=f"Bank {99 - number}") for number in range(45)]
    monkeypatch.setattr(causeway.hub.openbanking.banks, "directory", lambda: many)

    pages = [open_page(causeway, page=str(number)) for number in (1, 2, 3)]

    shown = [bic for page in pages for bic in choices(page)]
    assert shown == [bank.bic for bank in reversed(many)]
    assert [len(choices(page)) for page in pages] == [20, 20, 5]
    assert "45 banks, page 2 of 3" in pages[1].text


def test_the_bank_page_contains_a_link_back_to_the_client_if_no_bank_offers_the_scopes(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(causeway.hub.openbanking.banks, "directory", lambda: [causeway.banks[1].record])

    page = open_page(causeway)

    assert is_page(page)
    assert "No bank offers this" in page.text
    assert choices(page) == {}
    (back,) = {html.unescape(each) for each in re.findall(r'class="button" href="([^"]*)"', page.text)}
    assert back.startswith(causeway.tpp.client.callback_url)
    query = dict(parse_qsl(urlsplit(back).query))
    assert (query["error"], query["state"], query["iss"]) == ("access_denied", "s", "http://127.0.0.1:8000")


def test_the_bank_page_marks_an_unavailable_bank_and_the_bank_can_still_be_chosen(causeway: Causeway) -> None:
    now = causeway.clock.time()
    row = Downtime(BIC[2], is_open=True, latest=now, computed_at=now, ends_at=now + 3600)
    causeway.hub.store.put(TABLE, row.to_item())

    page = open_page(causeway)

    assert "Not reachable at the moment" in page.text
    assert causeway.call("GET", choices(page)[BIC[2]]).status == 303


def test_a_head_request_for_the_bank_page_returns_200_and_stores_nothing(causeway: Causeway) -> None:
    page = causeway.call("HEAD", f"/oauth/authorize?{urlencode(request(causeway))}")

    assert (page.status, page.text) == (200, "")
    assert stored(causeway) == []


def test_the_bank_page_response_has_the_security_headers(causeway: Causeway) -> None:
    page = open_page(causeway)

    assert page.headers["cross-origin-opener-policy"] == "unsafe-none"
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "set-cookie" not in page.headers


def test_the_content_security_policy_allows_a_search_to_redirect_to_the_client(causeway: Causeway) -> None:
    """Browsers apply ``form-action`` to redirects too.

    After the authorization request has ended, a bank search redirects to the client.
    """
    callback = urlsplit(causeway.tpp.client.callback_url)

    for page in (open_page(causeway), open_pushed(causeway, pushed(causeway, state="p"))):
        policy = page.headers["content-security-policy"]
        assert f"form-action 'self' {callback.scheme}://{callback.netloc};" in policy


# -- errors come before the page


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"scope": None}, "invalid_scope"),
        ({"scope": "everything"}, "invalid_scope"),
        ({"scope": "accounts account.list"}, "invalid_scope"),
        ({"scope": "accounts accounts:read"}, "invalid_scope"),
        ({"scope": "accounts:read payments:write", "consent_type": "one_time"}, "invalid_scope"),
        ({"scope": "accounts accounts"}, "invalid_scope"),
        ({"consent_type": "one_time"}, "invalid_scope"),
        ({"consent_type": "twice"}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"request": "e30."}, "request_not_supported"),
        ({"state": "s" * 513}, "invalid_request"),
    ],
    ids=str,
)
def test_an_invalid_authorization_request_redirects_to_the_client_without_the_bank_page(
    causeway: Causeway, changes: dict[str, str | None], error: str
) -> None:
    answer = open_page(causeway, **changes)

    assert answer.status == 303
    assert answer.headers["location"].startswith(causeway.tpp.client.callback_url)
    assert returned(answer)["error"] == error


@pytest.mark.parametrize("changes", [{"client_id": "unknown"}, {"redirect_uri": "https://evil.example/"}])
def test_a_request_with_an_unknown_client_or_redirect_uri_returns_400_without_a_bank_list(
    causeway: Causeway, changes: dict[str, str | None]
) -> None:
    answer = open_page(causeway, **changes)

    assert answer.status == 400
    assert choices(answer) == {}


def test_a_request_that_a_par_only_client_has_not_pushed_returns_no_bank_page(causeway: Causeway) -> None:
    causeway.hub.openbanking.clients.update(
        causeway.tpp.client_id, security={"require_pushed_authorization_requests": True}
    )

    assert returned(open_page(causeway))["error_description"] == refusals.REQUEST_NOT_PUSHED().message


def test_a_used_state_is_rejected_before_the_bank_page(causeway: Causeway) -> None:
    chosen = causeway.call("GET", choices(open_page(causeway))[BIC[2]])
    assert is_page(open_page(causeway)), "it is still open"
    assert (
        returned(open_page(causeway, scope="accounts.balances"))["error_description"] == refusals.STATE_USED().message
    )

    causeway.banks[2].call("/consent", causeway.banks[2].consent_body(chosen.headers["location"]))

    assert returned(open_page(causeway))["error_description"] == refusals.AUTHORIZATION_ENDED().message


# -- choices, again and otherwise


def test_choosing_the_same_bank_again_redirects_to_the_same_url(causeway: Causeway) -> None:
    address = choices(open_page(causeway))[BIC[2]]

    first, again = causeway.call("GET", address), causeway.call("GET", address)

    assert first.headers["location"] == again.headers["location"]
    assert len(stored(causeway)) == 1


def test_choosing_another_bank_replaces_the_open_request(causeway: Causeway, other: str) -> None:
    page = choices(open_page(causeway))
    first = causeway.call("GET", page[BIC[2]]).headers["location"]

    with record_calls(causeway) as calls:
        second = causeway.call("GET", page[other]).headers["location"]

    assert second.startswith("http://127.0.0.1:1/gamma/authorize")
    assert calls == ["BatchGetItem", "BatchGetItem", "PutItem", "PutItem"]  # the bank is read for the first time
    (kept,) = stored(causeway)
    assert (kept["bic"], kept["request_url"]) == (other, second)
    refused = causeway.banks[2].call("/consent", causeway.banks[2].consent_body(first))
    assert (refused.status, refused.body["code"]) == (400, "FORMAT_ERROR")
    again = causeway.call("GET", page[BIC[2]]).headers["location"]
    assert causeway.banks[2].call("/consent", causeway.banks[2].consent_body(again)).status == 200


def test_choosing_a_bank_after_the_consent_is_rejected(causeway: Causeway, other: str) -> None:
    page = choices(open_page(causeway))
    first = causeway.call("GET", page[BIC[2]]).headers["location"]
    causeway.banks[2].call("/consent", causeway.banks[2].consent_body(first))

    assert returned(causeway.call("GET", page[other]))["error_description"] == refusals.AUTHORIZATION_ENDED().message
    assert [item["bic"] for item in stored(causeway)] == [BIC[2]]


def test_choosing_a_bank_after_the_cancellation_is_rejected(causeway: Causeway, other: str) -> None:
    page = choices(open_page(causeway))
    first = causeway.call("GET", page[BIC[2]]).headers["location"]
    assert causeway.call("GET", cancel_path(causeway, first)).status == 303

    assert returned(causeway.call("GET", page[other]))["error_description"] == refusals.AUTHORIZATION_ENDED().message


def cancel_path(causeway: Causeway, request_url: str) -> str:
    answer = causeway.banks[2].call("/init_authorization", {"requestUrl": request_url})
    return str(urlsplit(answer.body["cancelUrl"]).path)


def is_told_of_another_choice(causeway: Causeway, answer: Answer) -> bool:
    expected = {"error": "access_denied", "error_description": "The user has chosen another bank", "state": "s"}
    assert answer.headers["location"].startswith(f"{causeway.tpp.client.callback_url}?")
    return returned(answer) == expected | {"iss": causeway.hub.settings.public_url}


def test_the_cancel_url_of_a_replaced_request_redirects_and_does_not_cancel_the_new_request(
    causeway: Causeway, other: str
) -> None:
    page = choices(open_page(causeway))
    cancel = cancel_path(causeway, causeway.call("GET", page[BIC[2]]).headers["location"])
    causeway.call("GET", page[other])
    events = [*causeway.hub.store.scan("deliveries")]

    for _ in range(2):
        assert is_told_of_another_choice(causeway, causeway.call("GET", f"{cancel}?error=temporarily_unavailable"))
    (item,) = stored(causeway)
    assert (item["bic"], item["status"]) == (other, "open")
    assert [*causeway.hub.store.scan("deliveries")] == events


def test_a_replaced_cancel_url_returns_the_same_reason_after_the_new_request_is_cancelled(
    causeway: Causeway, other: str
) -> None:
    page = choices(open_page(causeway))
    first = cancel_path(causeway, causeway.call("GET", page[BIC[2]]).headers["location"])
    causeway.call("GET", page[other])
    again = cancel_path(causeway, causeway.call("GET", page[BIC[2]]).headers["location"])

    assert returned(causeway.call("GET", again))["error_description"] == "The authorization was cancelled at the bank"

    assert is_told_of_another_choice(causeway, causeway.call("GET", first))
    assert [item["status"] for item in stored(causeway)] == ["cancelled"]


def test_a_replaced_cancel_url_is_valid_only_for_its_version_and_secret(causeway: Causeway, other: str) -> None:
    page = choices(open_page(causeway))
    cancel = cancel_path(causeway, causeway.call("GET", page[BIC[2]]).headers["location"])
    causeway.call("GET", page[other])

    assert causeway.call("GET", cancel.replace("/v2/", "/")).status == 404
    assert causeway.call("GET", f"{cancel[:-1]}{'B' if cancel.endswith('A') else 'A'}").status == 404


def test_the_cancel_urls_of_the_last_five_replaced_requests_remain_valid(causeway: Causeway, other: str) -> None:
    page = choices(open_page(causeway))
    cancels = []
    for _ in range(4):
        cancels.append(cancel_path(causeway, causeway.call("GET", page[BIC[2]]).headers["location"]))
        causeway.call("GET", page[other])

    statuses = [causeway.call("GET", cancel).status for cancel in cancels]

    assert statuses == [404, 303, 303, 303], "of seven replaced requests, four were at the first bank"
    assert len(stored(causeway)[0]["replaced"]) == 5


def test_a_request_stored_without_replaced_urls_can_be_replaced_and_cancelled(causeway: Causeway, other: str) -> None:
    page = choices(open_page(causeway))
    first = causeway.call("GET", page[BIC[2]]).headers["location"]
    (item,) = stored(causeway)
    causeway.hub.store.put("authorizations", {name: value for name, value in item.items() if name != "replaced"})
    cancel = cancel_path(causeway, first)

    causeway.call("GET", page[other])

    assert is_told_of_another_choice(causeway, causeway.call("GET", cancel))


def test_a_consent_during_a_concurrent_choice_of_another_bank_is_not_saved(causeway: Causeway, other: str) -> None:
    page = choices(open_page(causeway))
    first = causeway.call("GET", page[BIC[2]]).headers["location"]

    with causeway.meanwhile("transact", lambda: causeway.call("GET", page[other])):
        saved = causeway.banks[2].call("/consent", causeway.banks[2].consent_body(first))

    assert saved.status == 400
    assert [(item["bic"], item["status"]) for item in stored(causeway)] == [(other, "open")]
    assert [*causeway.hub.store.scan("consents")] == []


def test_a_cancellation_does_not_end_the_request_of_a_concurrent_bank_choice(causeway: Causeway, other: str) -> None:
    page = choices(open_page(causeway))
    cancel = cancel_path(causeway, causeway.call("GET", page[BIC[2]]).headers["location"])

    with causeway.meanwhile("transact", lambda: causeway.call("GET", page[other])):
        answer = causeway.call("GET", cancel)

    assert is_told_of_another_choice(causeway, answer)
    assert [(item["bic"], item["status"]) for item in stored(causeway)] == [(other, "open")]


def test_two_concurrent_choices_of_one_bank_redirect_to_the_same_url(
    causeway: Causeway, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = choices(open_page(causeway))
    causeway.call("GET", page[BIC[2]])
    requests, seen = causeway.hub.openbanking.authorization_requests, list[str]()
    real = requests.put_request

    def put_late(new: Any, url: str, before: Any) -> Any:
        if before is not None:
            monkeypatch.undo()
            seen.append(causeway.call("GET", page[other]).headers["location"])
        return real(new, url, before)

    monkeypatch.setattr(requests, "put_request", put_late)
    location = causeway.call("GET", page[other]).headers["location"]

    assert seen == [location]
    assert [item["request_url"] for item in stored(causeway)] == [location]


@pytest.mark.parametrize("name", ["bic", "chosen_bic"])
def test_a_bank_choice_in_the_browser_cannot_replace_a_tpp_authorize_request(
    causeway: Causeway, other: str, name: str
) -> None:
    causeway.tpp.authorize(2, state="s", code_challenge=CHALLENGE, code_challenge_method="S256")

    answer = open_page(causeway, **{name: other})

    assert returned(answer)["error_description"] == refusals.STATE_USED().message
    assert [item["bic"] for item in stored(causeway)] == [BIC[2]]


def test_an_authorization_request_that_names_its_bank_cannot_be_replaced(causeway: Causeway, other: str) -> None:
    named = open_page(causeway, bic=BIC[2]).headers["location"]

    for changes in ({"bic": other}, {"chosen_bic": other}, {"bic": None}):
        answer = open_page(causeway, **changes)
        assert answer.headers["location"].startswith(causeway.tpp.client.callback_url)
        assert returned(answer)["error"] == "invalid_request"
        assert returned(answer)["error_description"] == refusals.STATE_USED().message
    assert open_page(causeway, bic=BIC[2]).headers["location"] == named
    assert [(item["bic"], item["request_url"]) for item in stored(causeway)] == [(BIC[2], named)]


def test_a_bank_named_by_the_client_does_not_replace_a_chosen_bank(causeway: Causeway, other: str) -> None:
    causeway.call("GET", choices(open_page(causeway))[BIC[2]])

    assert returned(open_page(causeway, bic=other))["error_description"] == refusals.STATE_USED().message
    assert [item["bic"] for item in stored(causeway)] == [BIC[2]]


def test_a_bic_chosen_by_the_psu_is_ignored_if_the_client_names_the_bank(causeway: Causeway, other: str) -> None:
    location = open_page(causeway, bic=BIC[2], chosen_bic=other).headers["location"]

    assert location.startswith(causeway.banks[2].record.authorization_url)


@pytest.mark.parametrize(
    ("bic", "error", "message"),
    [
        ("bank", "invalid_request", "chosen_bic is not a BIC of 8 or 11 characters"),
        ("NONEDE21", "invalid_request", refusals.BANK_UNKNOWN().message),
        (BIC[1], "invalid_scope", refusals.SCOPES_NOT_PROVIDED().message),
    ],
)
def test_an_invalid_bank_choice_redirects_to_the_client_with_the_reason(
    causeway: Causeway, bic: str, error: str, message: str
) -> None:
    answer = open_page(causeway, chosen_bic=bic)

    assert answer.headers["location"].startswith(causeway.tpp.client.callback_url)
    assert returned(answer)["error"] == error
    assert message in returned(answer)["error_description"]
    assert stored(causeway) == []


def test_a_head_request_for_a_bank_choice_stores_nothing(causeway: Causeway) -> None:
    answer = causeway.call("HEAD", f"/oauth/authorize?{urlencode(request(causeway, chosen_bic=BIC[2]))}")

    assert (answer.status, answer.text) == (303, "")
    assert stored(causeway) == []


def test_an_open_authorization_request_stored_without_chooses_bank_is_not_replaced(
    causeway: Causeway, other: str
) -> None:
    open_page(causeway, bic=BIC[2])
    (item,) = stored(causeway)
    causeway.hub.store.put("authorizations", {name: value for name, value in item.items() if name != "chooses_bank"})

    assert open_page(causeway, bic=BIC[2]).headers["location"] == item["request_url"]
    assert returned(open_page(causeway, bic=other))["error_description"] == refusals.STATE_USED().message


def test_a_request_that_names_its_bank_and_was_stored_with_chooses_bank_repeats_the_redirect(
    causeway: Causeway, other: str
) -> None:
    """An earlier release stored ``chooses_bank`` in every browser request."""
    open_page(causeway, bic=BIC[2])
    (item,) = stored(causeway)
    causeway.hub.store.put("authorizations", item | {"chooses_bank": True})

    assert open_page(causeway, bic=BIC[2]).headers["location"] == item["request_url"]
    assert returned(open_page(causeway, bic=other))["error_description"] == refusals.STATE_USED().message


# -- pushed requests


def pushed(causeway: Causeway, **members: str | None) -> str:
    form = {name: value for name, value in request(causeway, bic=None, **members).items() if name != "client_id"}
    answer = causeway.tpp.call("POST", "/oauth/par", form=form)
    assert answer.status == 201, answer
    return str(answer.body["request_uri"])


def choose(causeway: Causeway, request_uri: str, bic: str, client_id: str = "") -> Answer:
    query = {"client_id": client_id or causeway.tpp.client_id, "request_uri": request_uri, "chosen_bic": bic}
    return causeway.call("GET", f"/oauth/authorize?{urlencode(query)}")


def is_error(answer: Answer, row: refusals.RefusalRow = refusals.REQUEST_URI_INVALID) -> bool:
    message = row().message
    return answer.status == 400 and html.escape(message[0].upper() + message[1:], quote=False) in html.unescape(
        answer.text
    )


def test_a_pushed_request_without_a_bank_shows_the_bank_page(causeway: Causeway) -> None:
    request_uri = pushed(causeway)

    page = open_pushed(causeway, request_uri)

    assert is_page(page)
    (address,) = choices(page).values()
    assert dict(parse_qsl(urlsplit(address).query)) == {
        "client_id": causeway.tpp.client_id,
        "request_uri": request_uri,
        "chosen_bic": BIC[2],
    }
    chosen = causeway.call("GET", address)
    assert chosen.status == 303
    assert chosen.headers["location"].startswith(causeway.banks[2].record.authorization_url)
    assert causeway.banks[2].call("/consent", causeway.banks[2].consent_body(chosen.headers["location"])).status == 200


def test_an_unopened_pushed_request_expires_after_60_seconds(causeway: Causeway) -> None:
    early, late = pushed(causeway, state="a"), pushed(causeway, state="b")

    causeway.clock.advance(59)
    assert is_page(open_pushed(causeway, early))
    causeway.clock.advance(1)
    assert is_error(open_pushed(causeway, late))
    assert is_error(choose(causeway, late, BIC[2]))


def test_opened_pushed_request_lasts_30_minutes(causeway: Causeway) -> None:
    request_uri = pushed(causeway)
    assert is_page(open_pushed(causeway, request_uri))

    causeway.clock.advance(LIFETIME - 1)
    assert is_page(open_pushed(causeway, request_uri))
    assert choose(causeway, request_uri, BIC[2]).status == 303


def test_choosing_a_bank_after_30_minutes_returns_an_error_page(causeway: Causeway) -> None:
    request_uri = pushed(causeway)
    open_pushed(causeway, request_uri)

    causeway.clock.advance(LIFETIME)

    assert is_error(open_pushed(causeway, request_uri))
    assert is_error(choose(causeway, request_uri, BIC[2]))
    assert [item["authorization_id"].partition("/")[0] for item in stored(causeway)] == ["pushed"]


def test_reopening_a_pushed_request_does_not_extend_its_lifetime(causeway: Causeway) -> None:
    request_uri = pushed(causeway)
    for seconds in (0, LIFETIME - 1):
        causeway.clock.advance(seconds)
        assert is_page(open_pushed(causeway, request_uri))

    causeway.clock.advance(1)
    assert is_error(open_pushed(causeway, request_uri))


def test_choosing_the_same_bank_repeats_the_redirect_of_an_open_pushed_request(causeway: Causeway) -> None:
    request_uri = pushed(causeway)
    causeway.clock.advance(59)
    open_pushed(causeway, request_uri)
    causeway.clock.advance(LIFETIME - 1)
    first = choose(causeway, request_uri, BIC[2])

    for seconds in (1, LIFETIME - 2):
        causeway.clock.advance(seconds)
        again = choose(causeway, request_uri, BIC[2])
        assert (again.status, again.headers["location"]) == (303, first.headers["location"])
    causeway.clock.advance(1)
    assert is_error(choose(causeway, request_uri, BIC[2]))


def test_choosing_another_bank_for_a_pushed_request_replaces_the_first_choice(causeway: Causeway, other: str) -> None:
    request_uri = pushed(causeway)
    open_pushed(causeway, request_uri)
    first = choose(causeway, request_uri, BIC[2]).headers["location"]

    second = choose(causeway, request_uri, other)

    assert second.headers["location"].startswith("http://127.0.0.1:1/gamma/authorize")
    assert causeway.banks[2].call("/consent", causeway.banks[2].consent_body(first)).status == 400


def test_a_pushed_request_cannot_be_used_after_its_consent(causeway: Causeway, other: str) -> None:
    request_uri = pushed(causeway)
    open_pushed(causeway, request_uri)
    location = choose(causeway, request_uri, BIC[2]).headers["location"]
    assert causeway.banks[2].call("/consent", causeway.banks[2].consent_body(location)).status == 200

    assert is_error(open_pushed(causeway, request_uri), refusals.AUTHORIZATION_ENDED)
    assert is_error(choose(causeway, request_uri, BIC[2]), refusals.AUTHORIZATION_ENDED)
    assert is_error(choose(causeway, request_uri, other), refusals.AUTHORIZATION_ENDED)


def test_the_bank_of_a_pushed_request_can_be_chosen_without_opening_the_bank_page(causeway: Causeway) -> None:
    assert choose(causeway, pushed(causeway), BIC[2].lower()).status == 303


@pytest.mark.parametrize(
    ("bic", "row"), [("NONEGB21", refusals.BANK_UNKNOWN), ("ALPHGB21", refusals.SCOPES_NOT_PROVIDED)]
)
def test_after_an_invalid_bank_choice_a_pushed_request_accepts_a_valid_choice(
    causeway: Causeway, bic: str, row: refusals.RefusalRow
) -> None:
    request_uri = pushed(causeway)
    open_pushed(causeway, request_uri)

    assert is_error(choose(causeway, request_uri, bic), row)
    assert choose(causeway, request_uri, "not a bic").status == 400
    assert choose(causeway, request_uri, BIC[2]).status == 303


def test_an_inactive_bank_cannot_be_chosen(causeway: Causeway, other: str) -> None:
    request_uri = pushed(causeway)
    causeway.hub.openbanking.banks.change(other, active=False)

    assert choices(open_pushed(causeway, request_uri)).keys() == {BIC[2]}
    assert is_error(choose(causeway, request_uri, other), refusals.BANK_UNKNOWN)


def test_a_pushed_request_of_another_client_returns_an_error_page(causeway: Causeway) -> None:
    request_uri = pushed(causeway)
    thief = causeway.hub.openbanking.clients.create(owner="b@example.com", title="Other").client.client_id

    assert is_error(open_pushed(causeway, request_uri, thief))
    assert is_error(choose(causeway, request_uri, BIC[2], thief))
    assert is_page(open_pushed(causeway, request_uri))


def test_a_bank_choice_is_ignored_for_a_pushed_request_that_names_its_bank(causeway: Causeway, other: str) -> None:
    form = {name: value for name, value in request(causeway, bic=BIC[2]).items() if name != "client_id"}
    request_uri = causeway.tpp.call("POST", "/oauth/par", form=form).body["request_uri"]

    for bic in (other, "not a bic"):
        chosen = choose(causeway, request_uri, bic)
        assert chosen.headers["location"].startswith(causeway.banks[2].record.authorization_url)


def test_a_head_request_does_not_extend_the_lifetime_of_a_pushed_request(causeway: Causeway) -> None:
    query = urlencode({"client_id": causeway.tpp.client_id, "request_uri": pushed(causeway)})

    assert causeway.call("HEAD", f"/oauth/authorize?{query}").status == 200
    (item,) = stored(causeway)
    assert "kept_until" not in item
    causeway.clock.advance(60)
    assert causeway.call("HEAD", f"/oauth/authorize?{query}").status == 400


def test_a_pushed_request_opened_in_two_concurrent_windows_shows_the_bank_page_in_each(causeway: Causeway) -> None:
    request_uri = pushed(causeway)

    with causeway.meanwhile("update", lambda: open_pushed(causeway, request_uri)):
        page = open_pushed(causeway, request_uri)

    assert is_page(page)


def test_a_pushed_request_stored_without_chooses_bank_repeats_its_redirect(causeway: Causeway) -> None:
    form = {name: value for name, value in request(causeway, bic=BIC[2]).items() if name != "client_id"}
    request_uri = causeway.tpp.call("POST", "/oauth/par", form=form).body["request_uri"]
    (item,) = stored(causeway)
    old = {name: value for name, value in item["request"].items() if name != "chooses_bank"}
    causeway.hub.store.put("authorizations", item | {"request": old})

    first = open_pushed(causeway, request_uri)
    causeway.clock.advance(60)

    assert first.status == 303
    assert open_pushed(causeway, request_uri).headers["location"] == first.headers["location"]


def test_a_pushed_request_of_a_fapi2_client_without_a_bank_shows_the_bank_page(causeway: Causeway) -> None:
    holder = KeyHolder()
    secure(causeway, holder, security_profile="fapi2")
    answer = holder.push(causeway, bic=None)

    page = open_pushed(causeway, answer.body["request_uri"])

    assert is_page(page)
    assert causeway.call("GET", choices(page)[BIC[2]]).status == 303


def test_a_tpp_authorize_call_without_a_bic_returns_400(causeway: Causeway) -> None:
    answer = causeway.tpp.call("POST", "/tpp/authorize", {"scopes": ["accounts"]})

    assert (answer.status, answer.body["code"]) == (400, "FORMAT_ERROR")
    assert "bic is required" in answer.text


# -- attacks


NASTY = ['"><script>alert(1)</script>', "'\"<img src=x onerror=alert(1)>", "{{ 7919 * 7 }}", "javascript:alert(1)"]


@pytest.mark.parametrize("text", NASTY)
def test_a_search_text_is_escaped_on_the_bank_page(causeway: Causeway, text: str) -> None:
    page = open_page(causeway, q=text, country=text, page=text, state=text)

    assert (page.status, "<h1>Choose your bank</h1>" in page.text) == (400, True)
    assert text not in page.text.replace(html.escape(text), "")
    assert "55433" not in page.text


def test_a_bank_name_is_escaped_on_the_bank_page(causeway: Causeway, other: str) -> None:
    page = open_page(causeway)

    assert "<script>alert" not in page.text
    assert "&lt;script&gt;" in page.text


def test_a_client_title_is_escaped_on_the_bank_page(causeway: Causeway) -> None:
    causeway.hub.openbanking.clients.update(causeway.tpp.client_id, title="<b>Friend</b>")

    assert "<b>Friend</b>" not in open_page(causeway).text


# -- what it costs


def test_the_bank_page_makes_one_storage_read_and_a_second_read_if_the_request_has_a_state(causeway: Causeway) -> None:
    open_page(causeway)

    for state, wanted in ((None, ["BatchGetItem"]), ("s", ["BatchGetItem"] * 2)):
        with record_calls(causeway) as calls:
            assert is_page(open_page(causeway, state=state))
        assert calls == wanted


def test_opening_a_pushed_request_for_the_first_time_makes_two_reads_and_one_update(causeway: Causeway) -> None:
    open_page(causeway)
    request_uri = pushed(causeway)

    taken = []
    for _ in range(2):
        with record_calls(causeway) as calls:
            open_pushed(causeway, request_uri)
        taken.append(calls)
    with record_calls(causeway) as calls:
        choose(causeway, request_uri, BIC[2])

    assert taken == [["BatchGetItem", "BatchGetItem", "UpdateItem"], ["BatchGetItem", "BatchGetItem"]]
    assert calls[0] == "BatchGetItem"
    assert calls[-1] == "PutItem"
