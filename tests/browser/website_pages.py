"""Browser scenarios for the web interface, the Cards area and the documentation."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch
from urllib.parse import urlencode

from chalicelib.bootstrap import Hub
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.parallel import pieces
from chalicelib.foundation.settings import Settings
from chalicelib.statistics import day_overviews
from chalicelib.statistics.days import hours_of
from tests.browser import user
from tests.browser.page_checks import Walk
from tests.browser.window import Window
from tests.openbanking import conformance_reports
from tests.statistics import bank_days

_REFUSED = {"error": "access_denied", "error_description": "The customer refused", "state": "a-state"}
_CODE = {"authorization_code": f"{'0' * 22}.{'A' * 43}", "state": "a-state"}
_FORGED = {"payment_id": "5f6c1f0e", "status": "4", "message": "Paid", "bic": "DEMOGB21"}
_RETURNED = {
    "callback-empty": "/authorize/callback",
    "callback-refused": f"/authorize/callback?{urlencode(_REFUSED)}",
    "callback-code": f"/authorize/callback?{urlencode(_CODE)}",
    "payment-empty": "/payments/callback",
    "payment-forged": f"/payments/callback?{urlencode(_FORGED)}",
}
_DOCS = {
    "overview": "/docs",
    "guide": "/docs/guides/tpp",
    "faults": "/docs/guides/tpp-faults",
    "reference": "/docs/reference/tpp-api",
    "reference-part": "/docs/reference/card-actions/fees",
    "package": "/docs/sdk",
    "package-reference": "/docs/reference/sdk-tpp",
    "page": "/docs/operations",
    "search": "/docs?q=payment",
    "nothing-found": "/docs?q=zebra",
    "no-such-page": "/docs/nowhere",
}
_WRONG = {"email": "nobody@example.com", "password": "not a password of anybody"}
_UNREACHABLE = "http://127.0.0.1:9/events"
_LONG_TITLE = "A client with a rather long title, which has to find its place on a small screen as well"


def _visitor(window: Window) -> Iterator[str]:
    window.open("/")
    yield "home"
    window.page.get_by_text("What depends on a bank's version").click()
    yield "versions"
    window.open("/terms")
    yield "terms"
    window.open("/register")
    yield "register"
    window.page.get_by_label("I agree to the terms").check()
    window.submit("Register", email="ada@example", password="password123")
    yield "register-refused"
    window.open("/sign-in?next=/clients")
    yield "sign-in"
    window.submit("Sign in", **_WRONG)
    yield "sign-in-refused"
    window.open("/nowhere")
    yield "not-found"
    window.open("/sign-in")
    window.page.context.clear_cookies()
    window.submit("Sign in", **_WRONG)
    yield "form-out-of-date"
    window.open("/specifications/unified")
    yield "specification-unified"
    window.open("/specifications/authorization")
    yield "specification-authorization"
    window.open("/specifications/account")
    yield "specification-account"
    window.open("/specifications/payments")
    yield "specification-payments"
    window.open("/specifications/cards")
    yield "specification-cards"


def _newcomer(window: Window) -> Iterator[str]:
    user.register(window)
    yield "home"
    user.go_to(window, "Clients")
    yield "clients"
    user.go_to(window, "Authorize")
    yield "authorize"
    user.go_to(window, "Events")
    yield "deliveries"


def _user(window: Window) -> Iterator[str]:
    user.register(window)
    window.open("/clients/new")
    yield "client-form"
    window.submit("Create", title="Refused", callback_urls="https://user:secret@tpp.example/")
    yield "client-form-refused"
    client_id = user.create_client(window, _LONG_TITLE, _UNREACHABLE, has_secret=True)
    yield "client-secrets"
    window.open(f"/clients/{client_id}")
    yield "client"
    window.open("/clients")
    yield "clients"
    window.open("/clients?title=nothing")
    yield "clients-none-fits"
    window.open("/clients")
    window.page.locator("tbody a").first.click()
    window.follow("Deactivate")
    yield "client-asked"
    window.press("Deactivate")
    yield "client-inactive"
    window.open("/clients/nothing")
    yield "client-not-found"
    window.open("/")
    yield "home"
    window.open("/sign-out")
    yield "sign-out"


def _client(window: Window) -> Iterator[str]:
    user.register(window)
    window.open(f"/clients/{user.create_client(window, _LONG_TITLE)}/history")
    yield "history-empty"
    window.follow("Settings")
    yield "settings"
    user.save(window, "general", title=" ")
    yield "settings-refused"
    window.page.get_by_label("Sent to an Events URL").check()
    user.save(window, "events", events_url="")
    yield "events-refused"
    user.save(window, "events", events_url=_UNREACHABLE)
    yield "events-secret"
    window.follow("Security")
    yield "security"
    window.page.get_by_label("Authentication method").select_option("private_key_jwt")
    user.save(window, "authentication", jwks="{")
    yield "security-refused"
    window.page.get_by_label("Profile").select_option("fapi2")
    user.save(window, "tokens")
    yield "tokens-refused"
    window.press("New client secret")
    yield "new-secret"
    window.follow("History")
    yield "history"
    window.follow("Overview")
    window.follow("Archive")
    yield "archive-asked"
    window.press("Archive")
    yield "archived"
    window.follow("Settings")
    yield "archived-settings"
    window.follow("Security")
    yield "archived-security"
    window.open("/clients?active=archived")
    yield "clients-archived"
    window.open("/clients")
    yield "clients-all-archived"
    window.open("/clients?active=archived")
    window.page.locator("tbody a").first.click()
    window.press("Restore")
    yield "restored"


def _account(window: Window) -> Iterator[str]:
    email = user.register(window)
    window.open("/account")
    yield "account"
    window.press("Create a code")
    yield "code"
    window.submit("Change password", current_password="wrong", password="rain on a tin roof")
    yield "password-refused"
    window.submit("Change password", current_password=user.PASSWORD, password="snow on a tin roof")
    yield "password-changed"
    window.open("/forgotten")
    yield "forgotten"
    window.submit("Send the email", email="ada@example")
    yield "forgotten-refused"
    window.submit("Send the email", email=email)
    yield "mail-on-its-way"
    window.open(user.mailed_link(window, email))
    yield "new-password"
    window.submit("Set password", password="password123")
    yield "new-password-refused"
    window.open(f"/confirm/{'A' * 43}")
    yield "link-over"


def _activity(window: Window) -> Iterator[str]:
    user.register(window)
    client_id = user.create_client(window)
    window.follow("Activity")
    yield "none"
    for path in ("/tpp/banks", "/tpp/consents?after=nothing", "/tpp/scope?bic=DEMOGB21", "/tpp/consent"):
        window.page.request.get(f"{window.stack['base_url']}{path}", headers={"X-Api-Key": client_id})
    window.page.reload()
    yield "calls"
    window.page.get_by_text("As a table").click()
    yield "table"
    window.page.get_by_label("Status").select_option("4")
    window.press("Filter")
    yield "failures"
    window.open("/")
    yield "home"


def _consents(window: Window) -> Iterator[str]:
    user.register(window)
    user.go_to(window, "Consents")
    yield "no-clients"
    user.create_client(window, events_url=_UNREACHABLE)
    user.go_to(window, "Consents")
    yield "none"
    user.authorize(window, 1)
    user.go_to(window, "Consents")
    yield "list"
    window.open_first_row()
    yield "consent"
    window.follow("End this consent")
    yield "end-asked"
    window.press("End the consent")
    yield "ended"
    window.open("/consents?status=revoked")
    yield "list-ended"
    window.open("/consents?status=spent")
    yield "none-fits"
    window.open("/consents/nothing")
    yield "not-found"


def _deliveries(window: Window) -> Iterator[str]:
    user.register(window)
    user.create_client(window, events_url=_UNREACHABLE)
    user.go_to(window, "Events")
    yield "none"
    window.press("Send a test event")
    user.reload_until(window, window.page.locator("article.attempt"))
    yield "event"
    window.open("/deliveries")
    yield "list"
    window.open("/deliveries?type=test&from=2026-01-01T00:00")
    yield "filtered"
    window.open("/deliveries?from=yesterday")
    yield "filter-refused"
    window.open("/deliveries")
    window.press("Answers 500")
    yield "built-in-receiver"
    window.press("Answers 200")
    window.press("Send a test event")
    window.page.locator("article.attempt").get_by_text("status 200").wait_for()
    yield "delivered"
    window.open("/deliveries/nothing")
    yield "not-found"


def _cards(window: Window) -> Iterator[str]:
    user.register(window)
    user.go_to(window, "Cards")
    yield "not-linked"
    window.page.context.clear_cookies()
    user.sign_in_as_issuer(window)
    user.go_to(window, "Cards")
    yield "begin"
    user.new_card(window)
    place = f"/cards/{user.new_card(window, card_currency_ison=[978, 840])}"
    window.open(place)
    yield "new"
    window.open("/cards/new")
    yield "issue"
    window.open(place)
    yield "new-again"
    user.simulate(window, "Activate the card", "Activate")
    yield "activated"
    user.simulate(window, "Bank details", "Open")
    yield "bank-details"
    user.simulate(window, "Inbound payment", "Send")
    yield "money-in"
    user.simulate(window, "Authorization", "Request", amount="120.00")
    yield "approved"
    user.simulate(window, "Authorization", "Request", amount="1200.00")
    yield "declined"
    user.simulate(window, "Authorization", "Request", amount="a lot", pin="73")
    yield "not-an-amount"
    user.simulate(window, "Reversal", "Cancel", amount="5000.00")
    yield "refused"
    user.simulate(window, "Clearing", "Collect", amount="110.00")
    yield "collected"
    window.page.locator("summary", has_text="Authorization").click()
    yield "forms"
    form = window.page.locator("details", has=window.page.locator("summary", has_text="Block, unblock")).first
    form.locator("summary").click()
    form.locator('[name="status"]').select_option("B")
    with window.page.expect_navigation():
        form.get_by_role("button", name="Change the status").click()
    yield "block-question"
    window.page.get_by_role("link", name="Keep it as it is").click()
    window.page.locator('a[href*="/statement"]').first.click()
    yield "statement"
    window.open("/cards")
    yield "list"
    window.open("/cards?status=A")
    yield "found"
    window.open("/cards?digits=12")
    yield "nothing-found"
    window.open("/cards/activity")
    yield "activity"
    window.open("/cards?before=1")
    yield "before-all"
    window.open("/cards/999999999")
    yield "not-found"


def _clock(window: Window) -> Iterator[str]:
    """Visit the clock page without advancing the clock, because all scenarios share one stack."""
    user.register(window)
    window.follow("Clock")
    yield "form"
    window.submit("Move time", number="401")
    yield "refused"


def _performance(window: Window) -> Iterator[str]:
    window.open("/performance")
    yield "banks"
    bic = window.bank(1)["bic"]
    _measure(window, bic)
    window.open(f"/performance?bic={bic}")
    yield "month"
    window.follow("90 days")
    yield "quarter"
    window.follow("365 days")
    yield "year"
    window.follow("All banks")
    yield "banks-by-week"
    window.open(f"/performance?bic={window.bank(2)['bic']}")
    yield "made-up"
    window.open("/performance?from=2020-01-01&to=2020-01-31")
    yield "no-figures"
    window.open("/performance?bic=NOBKGB2L")
    yield "no-such-bank"
    window.open("/performance?from=tomorrow&to=2020-02-30")
    yield "not-these-days"


def _banks(window: Window) -> Iterator[str]:
    first, second = (window.bank(version)["bic"] for version in (2, 1))
    with _hub(window) as hub:
        published = [first, second] if hub.openbanking.banks.get(first).conformance else []
        for bic in published:
            hub.openbanking.banks.unpublish_report(bic)
    _measure(window, second)
    window.open(f"/banks/{first}")
    yield "no-requests"
    with _hub(window) as hub:
        _publish(hub, first, conformance_reports.check(), outcome="conforms")
        _publish(hub, second, *_CHECKS, outcome="fails")
    window.open(f"/banks/{second}")
    yield "bank"
    window.follow("Conformance report")
    window.page.locator("summary", has_text="accounts.signature-wrong").click()
    yield "conformance"
    window.open(f"/banks/{second}/conformance?outcome=advice&group=consent")
    yield "conformance-none-fits"
    window.open(f"/banks/{second}")
    window.follow("Verify a signature")
    yield "signature"
    window.submit("Verify", body="{}\n", signature=_SIGNATURE, key=signatures.public_pem(_KEY.public_key()))
    yield "signature-wrong"
    window.submit("Verify", body="{}")
    yield "signature-right"
    window.submit("Verify", body="", signature="", key="-----BEGIN PRIVATE KEY-----")
    yield "signature-refused"
    window.open("/banks/NOBKGB2L")
    yield "no-such-bank"


_CHECKS = (
    conformance_reports.failed(),
    conformance_reports.failed("accounts.order", level="advice", problem="the oldest transaction is first"),
    *(conformance_reports.check(f"accounts.rule-{number}") for number in range(20)),
    conformance_reports.check("consent.initiated", "skipped", problem="the bank does not offer it"),
)
_KEY = signatures.load_private_key(signatures.generate_private_pem())
_SIGNATURE = signatures.sign(_KEY, b"{}")


def _publish(hub: Hub, bic: str, *checks: dict[str, Any], outcome: str) -> None:
    bank = hub.openbanking.banks.get(bic)
    version = bank.api_version
    verdict = f"{bic} {'conforms' if outcome == 'conforms' else 'does not conform'} to version {version}"
    described = {"bank": bic, "version": version, "result": outcome, "verdict": verdict}
    report = conformance_reports.report(*checks, **described)
    hub.openbanking.banks.publish_report(bic, conformance_reports.written(report))


@contextmanager
def _hub(window: Window) -> Iterator[Hub]:
    with patch.dict(os.environ, window.stack["environment"]):
        yield Hub(Settings.from_environment(window.stack["environment"]))


def _measure(window: Window, bic: str) -> None:
    """Store a bank's statistics for the last 370 days and for the current morning."""
    with _hub(window) as hub:
        today = hub.clock.now().date()
        records = list(bank_days.past_records(bic, today, 370))
        for batch in pieces([record.put() for record in records], 90):
            hub.store.transact(batch)
        days = [record.day for record in records]
        day_overviews.build_overviews(hub.store, days, [bank.bic for bank in hub.statistics.expected_banks()])
        morning = bank_days.hourly(bic, hours_of(today)[0], answered=400, unanswered=6)
        hub.store.transact([bank_days.put_counters(morning)])


_BANK = "/banks/{bic}"
_CLIENT, _CARD = "/clients/{client_id}", "/cards/{card_id}"
WALKS = (
    Walk("website-visitor", _visitor, ("/", "/terms", "/register", "/sign-in", "/specifications/{screen}")),
    Walk("website-returned", _RETURNED, ("/authorize/callback", "/payments/callback")),
    Walk("website-newcomer", _newcomer, ("/", "/clients", "/authorize", "/deliveries")),
    Walk("website-user", _user, ("/clients/new", _CLIENT, "/clients", "/", "/sign-out")),
    Walk("website-client", _client, (f"{_CLIENT}/settings", f"{_CLIENT}/security", f"{_CLIENT}/history")),
    Walk("website-account", _account, ("/account", "/forgotten", "/reset/{secret}", "/confirm/{secret}")),
    Walk("website-activity", _activity, (f"{_CLIENT}/activity", "/")),
    Walk("website-consents", _consents, ("/consents", "/consents/{consent_id}")),
    Walk("website-deliveries", _deliveries, ("/deliveries", "/deliveries/{delivery_id}")),
    Walk("website-banks", _banks, (_BANK, f"{_BANK}/conformance", "/verify-signature")),
    Walk("performance", _performance, ("/performance",)),
    Walk("docs", _DOCS, ("/docs", "/docs/{page}", "/docs/{page}/{subpage}", "/docs/{page}/{subpage}/{part}")),
    Walk("cards", _cards, ("/cards", "/cards/new", _CARD, f"{_CARD}/statement", "/cards/activity")),
    Walk("clock", _clock),
)
