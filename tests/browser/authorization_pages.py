"""Browser scenarios for authorizations and payments: the web interface, the bank choice and the bank pages."""

import os
from collections.abc import Iterator
from functools import partial
from unittest.mock import patch
from urllib.parse import urlencode

from chalicelib.bootstrap import Hub
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.flows.bank.choice import BankChoice, BankSearch, OfferedBank
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.records.bank_logos import logo_path
from tests.browser import explorer, psu, user
from tests.browser.page_checks import Walk
from tests.browser.window import Window

_NAMES = {1: "one", 2: "two"}
_WRONG = {"username": "nobody", "password": "wrong"}
_COUNTRIES = ("AT", "DE", "FR", "NL", "GB", "CZ")
_LONG_NAME = "Genossenschaftliche Zentral- und Handelsbank für Landwirtschaft, Handwerk und Gewerbe"


def _journey(window: Window) -> Iterator[str]:
    user.register(window)
    user.create_client(window)
    user.go_to(window, "Authorize")
    yield "authorize"
    window.open("/authorize?bank=nothing")
    yield "no-bank"
    window.open("/authorize")
    window.press(f"Choose {window.bank(2)['name']}")
    yield "request"
    for box in window.page.locator('input[name="scope"]').all():
        box.uncheck()
    window.press("Run and go to the bank")
    yield "request-refused"
    user.refuse(window, 2)
    yield "refused"
    user.authorize(window, 1)
    yield "tokens"
    window.follow("Use in API screens")
    yield "specification"
    assert explorer.executed(window.page, "unified_accounts").status == "200"
    yield "specification-answer"
    window.page.get_by_role("button", name="Balance of ").first.click()
    explorer.answered(window.page)
    yield "specification-balance"
    payment = explorer.executed(window.page, "unified_payments")
    assert payment.status == "200"
    yield "specification-payment"
    query = {"bic": window.bank(1)["bic"], "payment_id": payment.body["payment_id"]}
    window.open(f"/payments/callback?{urlencode(query)}")
    yield "payment-pending"
    window.open("/authorize")
    yield "authorize-again"
    window.page.locator("tbody a").first.click()
    window.follow("End the consent")
    yield "end-asked"
    window.press("End the consent")
    yield "ended"
    window.open("/authorize/callback?state=")
    yield "journey-not-found"


def _journey_with_a_secret(window: Window) -> Iterator[str]:
    user.register(window)
    user.create_client(window, has_secret=True)
    user.choose_bank(window, 2)
    user.run_request(window)
    window.open("/authorize")
    window.open_first_row()
    yield "under-way"
    user.authorize(window, 2)
    yield "code"
    window.submit("Exchange the code", client_secret="not the secret")
    yield "code-refused"


def _bank_choice(window: Window) -> Iterator[str]:
    window.open(psu.request_without_bank(window))
    yield "plain"
    window.open(psu.request_without_bank(window, q="nothing"))
    yield "no-result"
    window.open(psu.request_without_bank(window, q="x" * 65, country="Germany", page="0"))
    yield "impossible"
    window.open(psu.request_without_bank(window, q="demo", country="DE"))
    yield "found"
    window.open(psu.pushed_request_without_bank(window))
    yield "pushed"
    window.open(psu.request_without_bank(window, scope="payments.single", consent_type="one_time"))
    yield "one-payment"
    _show_choice(window, 45)
    yield "many"
    _show_choice(window, 45, page="2")
    yield "second-page"
    _show_choice(window, 3, q="bank", country="FR")
    yield "few"
    _show_choice(window, 0)
    yield "none-offers"


def _show_choice(window: Window, count: int, **search: str) -> None:
    """Render the bank choice page with ``count`` banks.

    Some banks have a logo, some are unavailable, and one bank has a long name.
    """
    with patch.dict(os.environ, window.stack["environment"]):
        hub = Hub(Settings.from_environment(window.stack["environment"]))
        bank = hub.openbanking.banks.get(window.bank(2)["bic"])
        logo = logo_path(bank.bic, bank.logo_digest)
        banks = [
            OfferedBank(
                f"BANK{_COUNTRIES[number % 6]}{number:02}",
                _LONG_NAME if number == 1 else f"Bank {number + 1}",
                _COUNTRIES[number % 6],
                logo if number % 3 else None,
                number % 7 != 1,
            )
            for number in range(count)
        ]
        scopes = [VERSIONS[2].scopes[name] for name in ("accounts", "accounts.balances", "accounts.transactions")]
        choice = BankChoice(
            client_title="Budget Friend",
            scopes=scopes,
            is_one_time=False,
            parameters={"client_id": "made-up", "scope": " ".join(scope.name for scope in scopes)},
            cancel_url="/",
            search=BankSearch.read(search),
            countries=sorted({bank.country for bank in banks}),
            banks=banks,
        )
        answer = hub.openbanking.bank_choice_page(choice)
    path = f"/oauth/authorize?made-up={count}"
    window.answer(path, answer.body, {name: str(value) for name, value in answer.headers.items()})
    window.open(path)


# -- the demonstration banks


def _front(window: Window, version: int) -> Iterator[str]:
    domain = window.bank(version)["domain"]
    window.open(domain)
    yield "welcome"
    window.open(f"{domain}/nowhere")
    yield "not-found"
    window.open(f"{domain}/authorize")
    yield "nothing-to-authorize"
    window.open(f"{domain}/confirm?journey=unknown")
    yield "session-over"
    window.open(f"{domain}/payment/unknown")
    yield "unknown-payment"


def _authorization(window: Window, version: int) -> Iterator[str]:
    window.open(psu.authorization(window, version))
    yield "sign-in"
    window.submit("Sign in", **_WRONG)
    yield "wrong-password"
    psu.sign_in(window, version)
    yield "accounts"
    window.press("Continue")
    yield "no-account"
    psu.tick_accounts(window)
    window.press("Continue")
    yield "confirm"
    window.submit("Approve", key_code="000000")
    yield "wrong-key-code"
    psu.enter_key_code(window, "Approve")
    yield "callback"
    window.page.go_back()
    yield "finished"


def _refusal(window: Window, version: int) -> Iterator[str]:
    psu.refuse(window, psu.authorization(window, version))
    yield "callback"
    window.page.go_back()
    yield "finished"
    psu.refuse(window, psu.direct_payment(window, version))
    yield "payment-callback"
    window.page.go_back()
    yield "payment-finished"


def _payment(window: Window, version: int) -> Iterator[str]:
    window.open(psu.direct_payment(window, version))
    yield "sign-in"
    window.submit("Sign in", **_WRONG)
    yield "wrong-password"
    psu.sign_in(window, version)
    yield "account"
    window.press("Continue")
    yield "confirm"
    window.submit("Confirm", key_code="000000")
    yield "wrong-key-code"
    psu.enter_key_code(window, "Confirm")
    yield "callback"
    window.page.go_back()
    yield "outcome"


def _bulk_payment(window: Window, version: int) -> Iterator[str]:
    window.open(psu.bulk_payment(window, version))
    yield "sign-in"
    psu.sign_in(window, version)
    yield "confirm"
    window.page.locator("summary").click()
    yield "all-payments"


def _customer(window: Window, version: int) -> Iterator[str]:
    domain = window.bank(version)["domain"]
    window.open(f"{domain}/my-accounts")
    yield "sign-in"
    window.submit("Sign in", **_WRONG)
    yield "wrong-password"
    psu.sign_in(window, version)
    yield "accounts"
    window.follow(window.page.locator("li.account a").first.inner_text())
    yield "account"
    window.follow("Earlier")
    yield "earlier"
    window.open(f"{domain}/consents")
    yield "consents"
    psu.ask_to_revoke(window)
    yield "revoke-asked"
    window.press("Revoke the consent")
    yield "revoked"
    window.press("Sign out")
    yield "consents-sign-in"
    window.press(f"Sign in as {psu.WITHOUT_CONSENT[version]}")
    yield "no-consents"


def _faults(window: Window, version: int) -> Iterator[str]:
    """Open the pages that only the fault-simulating banks have, or that differ at these banks."""
    domain = window.bank(version, faults=True)["domain"]
    window.open(domain)
    yield "welcome"
    window.open(psu.authorization(window, version, faults=True))
    yield "sign-in"
    window.submit("Sign in", **_WRONG)
    yield "wrong-password"
    window.press("Sign in as Many")
    yield "many-accounts"
    window.press("Continue")
    yield "confirm"
    window.open(f"{domain}/consents")
    yield "area-sign-in"
    window.press("Sign in as No accounts")
    yield "area"
    window.open(f"{domain}/my-accounts")
    yield "accounts"
    window.open(psu.direct_payment(window, version, faults=True))
    yield "payment-sign-in"
    window.press("Sign in as Many")
    yield "payment-of-many"


_BANK_WALKS = {
    "front": _front,
    "authorization": _authorization,
    "refusal": _refusal,
    "payment": _payment,
    "bulk-payment": _bulk_payment,
    "customer": _customer,
}
WALKS = (
    Walk("website-journey", _journey, ("/authorize", "/authorize/callback", "/specifications/{screen}")),
    Walk("website-journey-with-a-secret", _journey_with_a_secret, ("/authorize/callback",)),
    *(
        Walk(f"bank-{name}-{subject}", partial(steps, version=version))
        for version, name in _NAMES.items()
        for subject, steps in _BANK_WALKS.items()
    ),
    *(Walk(f"faults-{name}", partial(_faults, version=version)) for version, name in _NAMES.items()),
    Walk("bank-choice", _bank_choice),
)
