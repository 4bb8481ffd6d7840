"""The documents agree with the code on the web interface."""

import re

import pytest

from chalicelib.delivery import client_events, journal, recorded_exchange
from chalicelib.foundation.crypto import keyring, passwords
from chalicelib.foundation.http.cookies import Cookie
from chalicelib.foundation.http.web import BODY_BYTES
from chalicelib.openbanking.protocol.tpp_calls import ConsentsQuery
from chalicelib.openbanking.records import client_list
from chalicelib.openbanking.records.client_validation import TITLE_LENGTH
from chalicelib.openbanking.records.clients import REPEATED_SECONDS
from chalicelib.statistics import client_activity, current_day
from chalicelib.statistics.call_counts import PERCENTILES, STEPS
from chalicelib.website import pagination, start_views
from chalicelib.website.clients import activity_views
from chalicelib.website.events import event_inspection
from chalicelib.website.events.receiver_views import BEHAVIOURS
from chalicelib.website.openapi_documents import SCREENS
from chalicelib.website.page_links import CLOCK, PAGES
from chalicelib.website.pages import CLIENT_COOKIE, COOKIE, static_files
from chalicelib.website.performance import performance_views
from chalicelib.website.records import attempts, journeys, one_time_secrets, sessions
from chalicelib.website.site import FOR_USERS
from tests.causeway import Causeway
from tests.kit.documents import DATA, DOCUMENTS, OPERATIONS, blocks, rows, section, tables
from tests.website.web_user import WebUser, ensure_user

WEBSITE = DOCUMENTS["docs/web-interface.md"]
HOURS, DAYS = 3600, 24 * 3600


def table(heading: str, first: str) -> dict[str, list[str]]:
    """Map the first cell of each row to the others, in the first table below ``heading`` with the title ``first``."""
    found, *_ = [each[2:] for each in tables(section(WEBSITE, heading)) if each[0][0] == first]
    return {row[0]: row[1:] for row in found}


# -- Pages and accounts


def test_docs_list_exactly_the_website_pages_with_their_visitors() -> None:
    found = table("### For everybody", "Address")
    visitors = {place: kind for kind in ("everybody", "users") for place in table(f"### For {kind}", "Address")}

    assert visitors == {
        place: "users" if place == CLOCK or ("GET", place) in FOR_USERS else "everybody" for place in (*PAGES, CLOCK)
    }
    assert all(f"{screen.name}" in found["/specifications/{screen}"][0] for screen in SCREENS)


def test_docs_state_the_rules_of_passwords_and_sessions() -> None:
    shortest, longest = passwords.LENGTH
    said = table("### Sessions", "Subject")
    described = Cookie(COOKIE, "/", secure=True)
    flags = described.set(lambda _: "", "", 1)[0].split("; ")

    assert table("## Accounts", "Subject")["Password"][0].startswith(f"{shortest} to {longest} characters")
    assert {COOKIE, described.full_name, *flags[3:]} <= set(re.findall(r"[\w=-]+", said["Cookie"][0]))
    assert said["Lifetime"][0].startswith(f"{sessions.LIFETIME // HOURS} hours from signing in")
    assert f"a third key within {sessions.LIFETIME // HOURS} hours" in " ".join(OPERATIONS.split())
    assert keyring.KEYS_DERIVED_FROM == 3, "the words on rotations say so"


def test_docs_state_the_lifetime_of_the_browser_cookie() -> None:
    text = section(WEBSITE, "### Attempts")

    assert f"`{sessions.BROWSER_COOKIE}…`" in text
    assert f"{sessions.BROWSER_LIFETIME // DAYS} days from" in text


def test_docs_state_the_limits_of_website_attempts_per_period() -> None:
    found = list(table("### Attempts", "Counted").values())

    assert [(int(allowed), window) for allowed, window, _ in found] == [
        (limit.attempts, f"{limit.seconds // 60} min") for limit in attempts.LIMITS.values()
    ]
    assert [said.startswith("A success clears") for *_, said in found] == [
        limit.cleared_by_success for limit in attempts.LIMITS.values()
    ]


# -- Clients, journeys and deliveries


def test_docs_state_the_numbers_of_website_lists_and_journeys() -> None:
    clients, journey = table("## Clients", "Field"), table("### The journey", "Subject")
    deliveries = re.sub(r"\s+", " ", section(WEBSITE, "## Events"))

    assert f"{pagination.PAGE} a page" in section(WEBSITE, "## Clients")
    listed = re.sub(r"\s+", " ", section(WEBSITE, "## Clients"))
    assert f"newest {client_list.CHOICES} clients" in listed
    assert f"searches up to {client_list.EXAMINED:,} clients" in listed
    assert f"`{CLIENT_COOKIE}`" in listed
    assert clients["Title"][0].startswith(f"1 to {TITLE_LENGTH} characters")
    assert f"shows its secrets again for {REPEATED_SECONDS // 60} minutes" in clients["Client ID"][0]
    assert journey["An exchange that was interrupted"][0].startswith(f"After {journeys.EXCHANGE_SECONDS} s")
    kept = f"{journeys.RETENTION_SECONDS // DAYS} days; the Authorize page lists the latest {journeys.LIST_LIMIT}"
    assert journey["Retention"][0].startswith(kept)
    assert f"{ConsentsQuery().limit} a page" in section(WEBSITE, "## Consents")
    assert f"latest {journal.SEARCHED} events" in section(WEBSITE, "## Consents")
    assert f"{client_events.PAGE} a page" in deliveries
    assert f"searches the latest {client_events.LOOKED_THROUGH}" in deliveries
    assert f"the latest {client_events.FIRST} deliveries" in deliveries
    assert f"above {BODY_BYTES // 1024} KB 413" in deliveries
    assert f"`{recorded_exchange.MASK}` replaces" in deliveries
    assert f"the latest {event_inspection.DETAILED} attempts" in deliveries
    assert {row[0].strip("`"): row[1:] for row in tables(section(WEBSITE, "### The built-in receiver"))[0][2:]} == {
        name: [f"{each.status}" + (f" after {each.seconds} s" if each.seconds else "")]
        for name, each in BEHAVIOURS.items()
    }
    assert f"the first {event_inspection.SHOWN_CHARACTERS} characters" in deliveries


def test_docs_state_the_numbers_of_the_activity_page_and_the_start_page() -> None:
    activity = {subject: rule for subject, (rule,) in table("### Activity", "Subject").items()}
    start = re.sub(r"\s+", " ", section(WEBSITE, "### Start page"))
    words = {3: "three", 5: "five"}

    assert f"latest {client_activity.HOURS} clock hours" in activity["Errors by kind"]
    assert activity["Latest calls"].startswith(f"The latest {activity_views.SHOWN} of 24 hours")
    assert f"latest {client_activity.PER_MINUTE} calls" in activity["Delay"]
    assert f"newest {words[start_views.CLIENTS]} clients" in start
    assert f"latest {words[start_views.CALLS]} calls, the latest {words[start_views.CALLS]} failures" in start
    assert f"up to {words[start_views.RECEIVERS]} of these clients" in start
    assert f"latest {journal.SEARCHED} deliveries" in start
    assert f"{words[start_views.STEPS]} suggested next steps" in start
    (hours,) = (row for row in rows(DATA) if row[0] == "statistics, activity#…")
    (calls,) = (row for row in rows(DATA) if row[0] == "statistics, recent#…")
    assert hours[-1].startswith(f"{client_activity.HOUR_RETENTION // DAYS} days")
    assert calls[-1].startswith(f"{client_activity.CALL_RETENTION // HOURS} h")
    assert f"at most {client_activity.PER_MINUTE}:" in calls[1]


def test_docs_state_the_numbers_of_the_performance_page() -> None:
    found = {subject: rule for subject, (rule,) in table("## Performance", "Subject").items()}
    *first, last = (f"p{percentile}" for percentile in PERCENTILES)

    assert f"the last {performance_views.DAYS} complete days" in found["Query"]
    assert f"At most {performance_views.LONGEST} days;" in found["Query"]
    assert found["Latency"].startswith(f"{', '.join(first)} and {last} of each day")
    assert f"less than {100 * (2 ** (1 / STEPS) - 1):.1f} %" in found["Latency"]
    settled = (
        f"ended {current_day.SETTLED_SECONDS // 60} min ago or more, every {current_day.SETTLED_SECONDS // 60} min"
    )
    assert f"at most every {current_day.CACHED_SECONDS} s; an hour that {settled}" in found["Today so far"]
    assert f"For each hour, {current_day.PAGES} MB are read" in found["Today so far"]
    assert re.findall("format=([a-z]+)", found["Download"]) == list(performance_views.FORMATS)


def test_docs_list_the_items_of_the_website_table() -> None:
    found = {row[0]: row for row in rows(DATA) if row[0].startswith("website, ")}
    counters = "website, " + ", ".join(f"{name}#…" for name in attempts.LIMITS)

    secrets = "website, " + ", ".join(f"{purpose}#…" for purpose in one_time_secrets.LIFETIMES)
    assert list(found) == ["website, session#…", secrets, counters, "website, audit#…", "website, user#…"]
    assert found["website, session#…"][-1] == f"{sessions.LIFETIME // HOURS} h"
    assert found["website, user#…"][-1] == f"{journeys.RETENTION_SECONDS // DAYS} days"


# -- Response headers


def exceptions() -> dict[str, str]:
    return {where: said for where, (said,) in table("## Response headers", "Where").items()}


def test_docs_list_the_headers_sent_with_every_page(causeway: Causeway) -> None:
    (block,) = blocks(section(WEBSITE, "## Response headers"), "text")
    sent = causeway.call("GET", "/terms").headers

    for name, _, value in (line.partition(": ") for line in block.splitlines()):
        assert sent[name.lower()] == value


@pytest.mark.usefixtures("rendered")
def test_the_api_screens_have_the_same_content_security_policy_as_other_pages(causeway: Causeway) -> None:
    paths = ("/terms", *(f"/specifications/{screen.name}" for screen in SCREENS))
    policies = {causeway.call("GET", path).headers["content-security-policy"] for path in paths}

    assert len(policies) == 1
    assert not any("/specifications" in where and "-src" in instead for where, instead in exceptions().items())


@pytest.mark.usefixtures("rendered")
@pytest.mark.parametrize("place", PAGES)
def test_docs_list_the_pages_with_referrer_policy_no_referrer(causeway: Causeway, place: str) -> None:
    person = WebUser(
        causeway, {COOKIE: causeway.hub.website.sessions.begin(ensure_user(causeway.hub, "ada@example.com")).cookie}
    )
    answer = person.get(re.sub("{.*}", "account", place))
    (where,) = [where for where, said in exceptions().items() if "since codes and tokens pass" in said]

    assert "messages" in where
    expected = "no-referrer" if answer.status in (303, 404) or place in where.split(", ") else "same-origin"
    assert answer.headers["referrer-policy"] == expected


def test_the_csp_of_the_authorize_page_contains_the_callback_url(causeway: Causeway) -> None:
    person = WebUser(
        causeway, {COOKIE: causeway.hub.website.sessions.begin(ensure_user(causeway.hub, "ada@example.com")).cookie}
    )
    client = causeway.hub.openbanking.clients.create(
        owner="ada@example.com", title="A", callback_urls=["https://tpp.example.com/back"]
    )
    client_id = client.client.client_id
    policy = person.get(f"/authorize?client_id={client_id}&bic=ALPHGB21").headers["content-security-policy"]

    assert "https://tpp.example.com" in policy.partition("form-action ")[2].partition(";")[0]
    assert "origins of the bank and of the Callback URL that is used" in exceptions()["The request on /authorize"]


@pytest.mark.usefixtures("rendered")
def test_docs_state_the_cache_control_of_static_files(causeway: Causeway) -> None:
    files = causeway.call("GET", f"/static/{static_files().name('site.css')}").headers["cache-control"]
    documents = causeway.call("GET", "/openapi/tpp.json").headers["cache-control"]

    assert exceptions()["/static/…"].startswith(f"Cache-Control: {files}: ")
    assert exceptions()["/openapi/…"].startswith(f"Cache-Control: {documents} and an ETag")
