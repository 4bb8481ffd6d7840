"""The pages of the web interface, and the way to each."""

from __future__ import annotations

import json
from urllib.parse import urlencode

from tests.browser import specification_pages, user
from tests.browser.visitor import Visitor
from tests.browser.walks import Step, Stops, Walk, follows, opens, presses

_REFUSED = {"error": "access_denied", "error_description": "The customer refused", "state": "a-state"}
_CODE = {"authorization_code": f"{'0' * 22}.{'A' * 43}", "state": "a-state"}
_FORGED = {"payment_id": "5f6c1f0e", "status": "4", "message": "Paid", "bic": "DEMOGB21"}
_WRONG = {"email": "nobody@example.com", "password": "not a password of anybody"}
_NEW = "snow on a tin roof"
_DEAF = "http://127.0.0.1:9/events"
"""An Events URL where nobody listens."""


def walks() -> tuple[Walk, ...]:
    """Every page of the web interface."""
    return (
        Walk("website-visitor", _visitor(), ("/", "/terms", "/register", "/sign-in", "/specifications/{screen}")),
        Walk("website-returned", _returned(), ("/authorize/callback", "/payments/callback")),
        Walk("website-newcomer", _newcomer(), ("/", "/clients", "/authorize", "/deliveries")),
        Walk("website-user", _user(), ("/clients/new", "/clients/{client_id}", "/clients", "/", "/sign-out")),
        Walk(
            "website-client",
            _client(),
            tuple(f"/clients/{{client_id}}/{page}" for page in ("settings", "security", "history")),
        ),
        Walk("website-account", _account(), ("/account", "/forgotten", "/reset/{secret}", "/confirm/{secret}")),
        Walk("website-journey", _journey(), ("/authorize", "/authorize/callback", "/specifications/{screen}")),
        Walk("website-journey-with-a-secret", _journey_with_a_secret(), ("/authorize/callback",)),
        Walk("website-activity", _activity(), ("/clients/{client_id}/activity", "/")),
        Walk("website-consents", _consents(), ("/consents", "/consents/{consent_id}")),
        Walk("website-deliveries", _deliveries(), ("/deliveries", "/deliveries/{delivery_id}")),
    )


def _visitor() -> Stops:
    return (
        ("home", opens("/")),
        ("versions", lambda visitor: visitor.page.get_by_text("What depends on a bank's version").click()),
        ("terms", opens("/terms")),
        ("register", opens("/register")),
        ("register-refused", _registers_badly),
        ("sign-in", opens("/sign-in?next=/clients")),
        ("sign-in-refused", presses("Sign in", **_WRONG)),
        ("not-found", opens("/nowhere")),
        ("form-out-of-date", _sends_an_old_form),
        ("specification-authorization", opens("/specifications/authorization")),
        ("specification-account", opens("/specifications/account")),
        ("specification-payments", opens("/specifications/payments")),
        ("specification-cards", opens("/specifications/cards")),
    )


def _returned() -> Stops:
    return (
        ("callback-empty", opens("/authorize/callback")),
        ("callback-refused", opens(f"/authorize/callback?{urlencode(_REFUSED)}")),
        ("callback-code", opens(f"/authorize/callback?{urlencode(_CODE)}")),
        ("payment-empty", opens("/payments/callback")),
        ("payment-forged", opens(f"/payments/callback?{urlencode(_FORGED)}")),
    )


def _newcomer() -> Stops:
    return (
        ("home", _registers),
        ("clients", _goes_to("Clients")),
        ("authorize", _goes_to("Authorize")),
        ("deliveries", _goes_to("Events")),
    )


def _user() -> Stops:
    return (
        ("client-form", _begins_a_client),
        ("client-form-refused", presses("Create", title="Refused", callback_urls="https://user:secret@tpp.example/")),
        ("client-secrets", _creates_a_client_with_secrets),
        ("client", lambda visitor: visitor.open(f"/clients/{visitor.page.locator('#client-id').inner_text()}")),
        ("clients", opens("/clients")),
        ("clients-none-fits", opens("/clients?title=nothing")),
        ("client-asked", _asks_to_deactivate),
        ("client-inactive", presses("Deactivate")),
        ("client-not-found", opens("/clients/nothing")),
        ("home", opens("/")),
        ("sign-out", opens("/sign-out")),
    )


def _client() -> Stops:
    return (
        ("history-empty", _opens_the_history_of_a_new_client),
        ("settings", follows("Settings")),
        ("settings-refused", _saves("general", title=" ")),
        ("events-refused", _chooses_events_without_an_address),
        ("events-secret", _saves("events", events_url=_DEAF)),
        ("security", follows("Security")),
        ("security-refused", _enters_no_key_set),
        ("tokens-refused", _demands_the_profile),
        ("new-secret", presses("New client secret")),
        ("history", follows("History")),
        ("archive-asked", _asks_to_archive),
        ("archived", presses("Archive")),
        ("archived-settings", follows("Settings")),
        ("archived-security", follows("Security")),
        ("clients-archived", opens("/clients?active=archived")),
        ("clients-all-archived", opens("/clients")),
        ("restored", _restores),
    )


def _account() -> Stops:
    return (
        ("account", _opens_the_account),
        ("code", presses("Create a code")),
        ("password-refused", presses("Change password", current_password="wrong", password="rain on a tin roof")),
        ("password-changed", presses("Change password", current_password=user.PASSWORD, password=_NEW)),
        ("forgotten", opens("/forgotten")),
        ("forgotten-refused", presses("Send the email", email="ada@example")),
        ("mail-on-its-way", _has_a_link_mailed),
        ("new-password", _opens_the_mailed_link),
        ("new-password-refused", presses("Set password", password="password123")),
        ("link-over", opens(f"/confirm/{'A' * 43}")),
    )


def _journey() -> Stops:
    return (
        ("authorize", _opens_authorize),
        ("no-bank", opens("/authorize?bank=nothing")),
        ("request", _chooses_a_bank),
        ("request-refused", _asks_for_nothing),
        ("refused", _is_refused),
        ("tokens", lambda visitor: user.authorize(visitor, 1)),
        ("specification", follows("Use in API screens")),
        ("specification-answer", lambda visitor: _executes(visitor, "accounts")),
        ("specification-balance", _asks_for_a_balance),
        ("specification-payment", _initiates_a_payment),
        ("payment-pending", _looks_at_the_payment),
        ("authorize-again", opens("/authorize")),
        ("end-asked", _asks_to_end_the_consent),
        ("ended", presses("End the consent")),
        ("journey-not-found", opens("/authorize/callback?state=")),
    )


def _journey_with_a_secret() -> Stops:
    return (
        ("under-way", _leaves_the_bank),
        ("code", _comes_back_with_a_code),
        ("code-refused", presses("Exchange the code", client_secret="not the secret")),
    )


def _activity() -> Stops:
    return (
        ("none", _opens_no_activity),
        ("calls", _calls_well_and_badly),
        ("table", lambda visitor: visitor.page.get_by_text("As a table").click()),
        ("failures", _shows_failures),
        ("home", opens("/")),
    )


def _consents() -> Stops:
    return (
        ("no-clients", _opens_no_consents),
        ("none", _creates_a_client_without_consents),
        ("list", _lists_a_consent),
        ("consent", _opens_the_consent),
        ("end-asked", follows("End this consent")),
        ("ended", presses("End the consent")),
        ("list-ended", opens("/consents?status=revoked")),
        ("none-fits", opens("/consents?status=spent")),
        ("not-found", opens("/consents/nothing")),
    )


def _deliveries() -> Stops:
    return (
        ("none", _opens_no_deliveries),
        ("event", _sends_a_test_event),
        ("list", opens("/deliveries")),
        ("filtered", opens("/deliveries?type=test&from=2026-01-01T00:00")),
        ("filter-refused", opens("/deliveries?from=yesterday")),
        ("built-in-receiver", _uses_the_built_in_receiver),
        ("delivered", _sees_an_event_arrive),
        ("not-found", opens("/deliveries/nothing")),
    )


def _executes(visitor: Visitor, operation: str) -> None:
    assert specification_pages.executed(visitor.page, operation).status == "200"


def _asks_for_a_balance(visitor: Visitor) -> None:
    visitor.page.get_by_role("button", name="Balance of ").first.click()
    specification_pages.answered(visitor.page)


def _initiates_a_payment(visitor: Visitor) -> None:
    specification_pages.go_to_screen(visitor, "Payments")
    _executes(visitor, "payment_initiation")


def _looks_at_the_payment(visitor: Visitor) -> None:
    answer = json.loads(str(visitor.page.locator(".x-raw").text_content()))
    query = {"bic": visitor.bank(1)["bic"], "payment_id": answer["payment_id"]}
    visitor.open(f"/payments/callback?{urlencode(query)}")


def _goes_to(entry: str) -> Step:
    return lambda visitor: user.go_to(visitor, entry)


def _registers(visitor: Visitor) -> None:
    user.register(visitor)


def _opens_the_account(visitor: Visitor) -> None:
    user.register(visitor)
    visitor.open("/account")


def _has_a_link_mailed(visitor: Visitor) -> None:
    email = _email(visitor)
    visitor.fill("Email", email)
    visitor.press("Send the email")


def _opens_the_mailed_link(visitor: Visitor) -> None:
    email = _email(visitor)
    visitor.open(user.mailed_link(visitor, email))


def _email(visitor: Visitor) -> str:
    """Of the user who is signed in, as the bar at the top names it."""
    return visitor.page.locator(".account .email").inner_text()


def _registers_badly(visitor: Visitor) -> None:
    visitor.fill("Email", "ada@example")
    visitor.fill("Password", "password123")
    visitor.page.get_by_label("I agree to the terms").check()
    visitor.press("Register")


def _sends_an_old_form(visitor: Visitor) -> None:
    visitor.open("/sign-in")
    visitor.page.context.clear_cookies()
    visitor.fill("Email", _WRONG["email"])
    visitor.fill("Password", _WRONG["password"])
    visitor.press("Sign in")


def _begins_a_client(visitor: Visitor) -> None:
    user.register(visitor)
    visitor.open("/clients/new")


def _creates_a_client_with_secrets(visitor: Visitor) -> None:
    visitor.open("/clients/new")
    visitor.fill("Title", "A client with a rather long title, which has to find its place on a small screen as well")
    visitor.page.get_by_label("With a client secret").check()
    visitor.fill("Events URL (optional)", _DEAF)
    visitor.press("Create")


def _asks_to_deactivate(visitor: Visitor) -> None:
    visitor.open("/clients")
    visitor.page.locator("tbody a").first.click()
    visitor.follow("Deactivate")


def _opens_the_history_of_a_new_client(visitor: Visitor) -> None:
    user.register(visitor)
    client_id = user.create_client(visitor, "A client with a rather long title, which has to find its place")
    visitor.open(f"/clients/{client_id}/history")


def _saves(action: str, **fields: str) -> Step:
    """The page behind the button of a form of a client, once the fields (by their ids) are filled in."""

    def step(visitor: Visitor) -> None:
        for name, value in fields.items():
            visitor.page.locator(f"#{name}").fill(value)
        with visitor.page.expect_navigation():
            visitor.page.locator(f'button[name=action][value="{action}"]').click()

    return step


def _chooses_events_without_an_address(visitor: Visitor) -> None:
    visitor.page.get_by_label("Sent to an Events URL").check()
    _saves("events", events_url="")(visitor)


def _enters_no_key_set(visitor: Visitor) -> None:
    visitor.page.get_by_label("Authentication method").select_option("private_key_jwt")
    _saves("authentication", jwks="{")(visitor)


def _demands_the_profile(visitor: Visitor) -> None:
    visitor.page.get_by_label("Profile").select_option("fapi2")
    _saves("tokens")(visitor)


def _asks_to_archive(visitor: Visitor) -> None:
    visitor.follow("Overview")
    visitor.follow("Archive")


def _restores(visitor: Visitor) -> None:
    visitor.open("/clients?active=archived")
    visitor.page.locator("tbody a").first.click()
    visitor.press("Restore")


def _opens_authorize(visitor: Visitor) -> None:
    user.register(visitor)
    user.create_client(visitor)
    user.go_to(visitor, "Authorize")


def _chooses_a_bank(visitor: Visitor) -> None:
    visitor.open("/authorize")
    visitor.press(f"Choose {visitor.bank(2)['name']}")


def _asks_for_nothing(visitor: Visitor) -> None:
    for box in visitor.page.locator('input[name="scope"]').all():
        box.uncheck()
    visitor.press("Run and go to the bank")


def _is_refused(visitor: Visitor) -> None:
    user.refuse(visitor, 2)


def _leaves_the_bank(visitor: Visitor) -> None:
    user.register(visitor)
    user.create_client(visitor, has_secret=True)
    user.choose_bank(visitor, 2)
    user.run_request(visitor)
    visitor.open("/authorize")
    with visitor.page.expect_navigation():
        visitor.page.locator("tbody a").first.click()


def _comes_back_with_a_code(visitor: Visitor) -> None:
    user.authorize(visitor, 2)


def _asks_to_end_the_consent(visitor: Visitor) -> None:
    visitor.page.locator("tbody a").first.click()
    visitor.follow("End the consent")


def _opens_no_activity(visitor: Visitor) -> None:
    user.register(visitor)
    user.create_client(visitor)
    visitor.follow("Activity")


def _calls_well_and_badly(visitor: Visitor) -> None:
    """Calls of the client whose activity is shown, as its application would make them."""
    client_id = visitor.page.url.split("/")[-2]
    for path in ("/tpp/banks", "/tpp/consents?after=nothing", "/tpp/scope?bic=DEMOGB21", "/tpp/consent"):
        visitor.page.request.get(f"{visitor.stack['base_url']}{path}", headers={"X-Api-Key": client_id})
    visitor.page.reload()


def _shows_failures(visitor: Visitor) -> None:
    visitor.page.get_by_label("Status").select_option("4")
    visitor.press("Filter")


def _opens_no_consents(visitor: Visitor) -> None:
    user.register(visitor)
    user.go_to(visitor, "Consents")


def _creates_a_client_without_consents(visitor: Visitor) -> None:
    user.create_client(visitor, events_url=_DEAF)
    user.go_to(visitor, "Consents")


def _lists_a_consent(visitor: Visitor) -> None:
    user.authorize(visitor, 1)
    user.go_to(visitor, "Consents")


def _opens_the_consent(visitor: Visitor) -> None:
    with visitor.page.expect_navigation():
        visitor.page.locator("tbody a").first.click()


def _opens_no_deliveries(visitor: Visitor) -> None:
    user.register(visitor)
    user.create_client(visitor, events_url=_DEAF)
    user.go_to(visitor, "Events")


def _uses_the_built_in_receiver(visitor: Visitor) -> None:
    visitor.open("/deliveries")
    visitor.press("Answers 500")


def _sees_an_event_arrive(visitor: Visitor) -> None:
    visitor.press("Answers 200")
    visitor.press("Send a test event")
    visitor.page.locator("article.attempt").get_by_text("status 200").wait_for()


def _sends_a_test_event(visitor: Visitor) -> None:
    visitor.press("Send a test event")
    user.reload_until(visitor, visitor.page.locator("article.attempt"))
