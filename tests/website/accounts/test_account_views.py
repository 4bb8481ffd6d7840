"""Accounts: who registers and signs in, what a session is worth, and what nobody learns or takes over."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import argon2
import pytest

from chalicelib import website
from chalicelib.foundation.crypto import passwords
from chalicelib.website.pages import COOKIE
from chalicelib.website.records import sessions
from chalicelib.website.records.attempts import LIMITS, RateLimit
from chalicelib.website.records.sessions import LIFETIME
from chalicelib.website.records.users import user_key
from tests.website.person import PASSWORD, Person, known
from tests.world import World

TEMPLATES = Path(str(website.__file__)).parent / "templates"


pytestmark = pytest.mark.usefixtures("quick_hashes")


@pytest.fixture
def registered(world: World, email: str) -> str:
    """The email of a user with a password, who may be there already."""
    user = known(world.hub, email)
    table, key = user_key(user.email)
    world.hub.store.update(table, key, set={"password_hash": passwords.hash_password(PASSWORD)})
    return email


def test_who_registers_is_signed_in(visitor: Person, email: str) -> None:
    answer = visitor.register(email)

    assert (answer.status, answer.headers["location"]) == (303, "/")
    visitor.follow()
    assert email in visitor.text
    assert visitor.get("/clients").status == 200


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"email": ""}, "Email must be an email address"),
        ({"email": "ada"}, "Email must be an email address"),
        ({"password": ""}, "Password must have 10 to 256 characters"),
        ({"password": "too short"}, "Password must have 10 to 256 characters"),
        ({"password": "password123"}, "Password is too easy to guess"),
        ({"password": "1234567890"}, "Password is too easy to guess"),
        ({"terms": None}, "The terms must be accepted"),
        ({"terms": "no"}, "The terms must be accepted"),
    ],
)
def test_a_registration_that_is_not_complete_says_what_is_missing(
    world: World, visitor: Person, email: str, fields: dict[str, Any], said: str
) -> None:
    answer = visitor.register(**{"email": email, **fields})

    assert answer.status == 400
    assert said in visitor.text
    assert world.hub.website.users.find(email) is None
    assert "password123" not in answer.text


def test_everything_that_is_wrong_is_said_at_once_each_at_its_field(visitor: Person) -> None:
    answer = visitor.register("ada", "short", terms=None)
    wrong = re.findall(r"<input [^>]*aria-invalid=\"true\"[^>]*>", answer.text)

    assert answer.status == 400
    assert [re.findall(r' name="(\w+)"', field) for field in wrong] == [["email"], ["password"], ["terms"]]
    for field in wrong:
        (described,) = re.findall(r'aria-describedby="([\w-]+)', field)
        assert f'<span class="error" id="{described}"' in answer.text
    assert [" autofocus" in field for field in wrong] == [True, False, False]


@pytest.mark.parametrize(
    ("fields", "first"),
    [({"password": "short", "terms": None}, "password"), ({"terms": None}, "terms"), ({"email": "ada"}, "email")],
)
def test_the_first_field_that_is_wrong_has_the_focus(
    visitor: Person, email: str, fields: dict[str, Any], first: str
) -> None:
    answer = visitor.register(**{"email": email, **fields})

    (focused,) = re.findall(r"<input [^>]*\bautofocus\b[^>]*>", answer.text)
    assert f'name="{first}"' in focused


def test_the_email_is_no_password(visitor: Person, email: str) -> None:
    visitor.register(email, password=email.upper())

    assert "Password must not be the email" in visitor.text


@pytest.mark.parametrize("password", ["password123", "1234567890"])
def test_a_common_password_in_other_letters_is_common(visitor: Person, email: str, password: str) -> None:
    visitor.register(email, "".join(chr(ord(letter) + 0xFEE0) for letter in password))  # full width

    assert "Password is too easy to guess" in visitor.text


def test_a_password_is_the_same_however_a_keyboard_composes_it(visitor: Person, email: str) -> None:
    visitor.register(email, "gr\u00fcne Wiese 44")

    assert visitor.sign_in(email, "gru\u0308ne Wiese 44").status == 303


def test_a_password_that_is_composed_to_its_length_signs_in(visitor: Person, email: str) -> None:
    password = "".join(f"u\u0308{number * 7919 % 97}" for number in range(80))  # 316 characters as they are typed
    assert visitor.register(email, password).status == 303

    assert Person(visitor.world).sign_in(email, password).status == 303


def test_an_email_that_is_taken_keeps_its_password(visitor: Person, registered: str) -> None:
    answer = visitor.register(registered, password="another good password")

    assert answer.status == 409
    assert "already registered" in visitor.text
    assert visitor.sign_in(registered).status == 303


def test_who_signs_in_gets_to_the_page_that_was_asked_for(visitor: Person, registered: str) -> None:
    asked = visitor.get("/clients?title=a%20b&active=yes")
    visitor.follow()
    visitor.post("/sign-in", email=f" {registered.upper()}", password=PASSWORD, next=visitor.hidden("next"))

    assert asked.status == 303
    assert visitor.last.headers["location"] == "/clients?title=a+b&active=yes"
    assert visitor.follow().status == 200


@pytest.mark.parametrize(
    "destination",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "/clients/../../evil",
        "/clients\r\nSet-Cookie: a=b",
        "/clients?x=\r\nSet-Cookie: a=b",
        "javascript:alert(1)",
        "/nowhere",
        "",
    ],
)
def test_nobody_is_sent_to_another_site_after_signing_in(visitor: Person, registered: str, destination: str) -> None:
    answer = visitor.sign_in(registered, next=destination)

    assert (answer.status, answer.headers["location"]) == (303, "/")


def test_an_unknown_email_and_a_wrong_password_are_answered_alike(visitor: Person, registered: str) -> None:
    wrong = visitor.sign_in(registered, "another good password")
    said = visitor.text
    unknown = visitor.sign_in(f"x{registered}")

    assert (wrong.status, unknown.status) == (401, 401)
    assert visitor.text == said
    assert "do not match" in said


def test_an_unknown_email_costs_a_hash_as_well(world: World, registered: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    real = argon2.PasswordHasher.verify

    def verify(self: argon2.PasswordHasher, known: str, given: str) -> bool:
        compared.append(known)
        return bool(real(self, known, given))

    monkeypatch.setattr(argon2.PasswordHasher, "verify", verify)
    for email in (registered, f"x{registered}", "no email at all"):
        world.hub.website.users.authenticate(email, "another good password")

    assert len(compared) == 3
    assert {known.split("$")[3] for known in compared} == {compared[0].split("$")[3]}


def test_an_account_allows_a_few_wrong_passwords_in_a_row(world: World, visitor: Person, registered: str) -> None:
    allowed = LIMITS["account_at_address"].attempts
    answers = [visitor.sign_in(registered, "another good password").status for _ in range(allowed)]
    stopped = visitor.sign_in(registered)

    assert answers == [401] * allowed
    assert (stopped.status, "wait 15 minutes" in visitor.text) == (429, True)
    assert int(stopped.headers["retry-after"]) <= 15 * 60
    world.clock.advance(int(stopped.headers["retry-after"]))
    assert visitor.sign_in(registered).status == 303


def test_an_unknown_account_is_throttled_like_a_known_one(visitor: Person, email: str) -> None:
    answers = [
        visitor.sign_in(email, "another good password").status for _ in range(LIMITS["account_at_address"].attempts + 1)
    ]

    assert answers[-2:] == [401, 429]


def test_who_signs_in_in_the_end_begins_anew(visitor: Person, registered: str) -> None:
    for _ in range(3):
        for _ in range(4):
            visitor.sign_in(registered, "another good password")
        assert visitor.sign_in(registered).status == 303
        visitor.cookies = {}


def guess(person: Person, email: str, times: int) -> list[int]:
    """The statuses of so many wrong passwords."""
    return [person.sign_in(email, "another good password").status for _ in range(times)]


def test_a_stranger_who_guesses_does_not_lock_the_owner_out(world: World, registered: str) -> None:
    stranger, owner = Person(world, address="203.0.113.7"), Person(world, address="203.0.113.8")
    allowed = LIMITS["account_at_address"].attempts

    assert guess(stranger, registered, allowed + 1)[-2:] == [401, 429]
    assert owner.sign_in(registered).status == 303
    assert stranger.sign_in(registered).status == 429, "a success elsewhere does not help who guesses"


def test_a_browser_that_signed_in_before_is_not_locked_out_by_anybody(
    world: World, visitor: Person, registered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither from its own address, nor from so many addresses that nobody else may try."""
    for name in ("account_at_address", "address", "account"):
        monkeypatch.setitem(cast(dict[str, RateLimit], LIMITS), name, RateLimit(2, 3600))
    assert visitor.sign_in(registered).status == 303
    visitor.get("/sign-out")
    visitor.post("/sign-out")
    guess(Person(world), registered, 2)
    guess(Person(world, address="203.0.113.7"), registered, 2)

    assert Person(world).sign_in(registered).status == 429
    assert Person(world, address="203.0.113.8").sign_in(registered).status == 429
    assert guess(visitor, registered, 3) == [401, 401, 401]
    assert visitor.sign_in(registered).status == 303


def test_guesses_from_many_addresses_stay_limited_until_the_hour_is_over(
    world: World, registered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(cast(dict[str, RateLimit], LIMITS), "account", RateLimit(3, 3600))
    strangers = [Person(world, address=f"203.0.113.{number}") for number in range(4)]

    assert [guess(stranger, registered, 1) for stranger in strangers] == [[401], [401], [401], [429]]
    world.clock.advance(int(strangers[-1].last.headers["retry-after"]))
    assert guess(strangers[-1], registered, 1) == [401]


def test_a_browser_that_signed_in_before_is_stopped_by_its_own_guesses_for_a_while(
    world: World, visitor: Person, registered: str
) -> None:
    visitor.sign_in(registered)
    visitor.cookies.pop(COOKIE)
    allowed = LIMITS["known_browser"].attempts

    assert guess(visitor, registered, allowed + 1)[-2:] == [401, 429]
    assert Person(world).sign_in(registered).status == 303, "others have attempts of their own"
    world.clock.advance(int(visitor.last.headers["retry-after"]))
    assert visitor.sign_in(registered).status == 303


def test_who_once_had_the_password_gains_no_guesses_by_signing_in_with_many_browsers(
    world: World, registered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(cast(dict[str, RateLimit], LIMITS), "known_browsers", RateLimit(3, 3600))
    browsers = [Person(world) for _ in range(4)]
    for browser in browsers:
        browser.sign_in(registered)
        browser.cookies.pop(COOKIE)

    assert [guess(browser, registered, 1) for browser in browsers] == [[401], [401], [401], [429]]
    assert Person(world).sign_in(registered).status == 303, "others have attempts of their own"


def test_a_new_password_by_a_link_is_a_way_in_while_strangers_guess(
    world: World, visitor: Person, registered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(cast(dict[str, RateLimit], LIMITS), "account", RateLimit(1, 3600))
    guess(Person(world, address="203.0.113.7"), registered, 1)
    assert visitor.sign_in(registered).status == 429
    place = world.hub.website.account_flow.issue_operator_link(known(world.hub, registered)).rpartition("8000")[2]
    visitor.get(place)
    assert visitor.post(place, password="rain on a tin roof").status == 303
    visitor.get("/sign-out")
    visitor.post("/sign-out")

    assert visitor.sign_in(registered, "rain on a tin roof").status == 303


def known_cookie(person: Person) -> tuple[str, str]:
    ((name, value),) = [each for each in person.cookies.items() if each[0].startswith(sessions.BROWSER_COOKIE)]
    return name, value


@pytest.mark.parametrize("forged", ["", "x", "0" * 22 + "-1.AAAA", "of another account", "altered", "too old"])
def test_only_a_browser_that_signed_in_to_this_account_is_known(
    world: World, visitor: Person, registered: str, forged: str
) -> None:
    browsers = world.hub.website.attempts.browsers
    visitor.sign_in(registered)
    name, value = known_cookie(visitor)
    assert browsers.find(registered, value) is not None
    if forged == "of another account":
        value = browsers.cookie_value(f"x{registered}")
    elif forged == "altered":
        value = f"{'1' if value[0] == '0' else '0'}{value[1:]}"
    elif forged == "too old":
        world.clock.advance(sessions.BROWSER_LIFETIME)
    else:
        value = forged

    assert name == sessions.cookie_name(registered)
    assert browsers.find(registered, value) is None


def test_the_cookie_of_a_known_browser_signs_nobody_in_and_names_nobody(
    world: World, visitor: Person, registered: str
) -> None:
    visitor.sign_in(registered)
    name, value = known_cookie(visitor)
    (sent,) = [each for each in visitor.set_cookies if each.startswith(name)]

    assert sent.endswith(f"; Path=/sign-in; Max-Age={sessions.BROWSER_LIFETIME}; HttpOnly; SameSite=Lax")
    assert registered not in sent
    assert Person(world, {name: value}).get("/clients").status == 303
    world.hub.settings = replace(world.hub.settings, stage="dev", public_url="https://api.example.com/stage")
    visitor.sign_in(registered)
    renewed = [each for each in visitor.set_cookies if each.startswith(name)][-1]
    assert renewed.endswith("; HttpOnly; SameSite=Lax; Secure")
    assert "; Path=/stage/sign-in; " in renewed
    assert renewed.partition("=")[2][:22] == value[:22], "the browser keeps its id"


def test_an_address_that_tries_many_accounts_is_stopped(
    world: World, visitor: Person, registered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(world.hub.website.users), "authenticate", lambda *_: None)
    answers = [visitor.sign_in(f"{number}{registered}").status for number in range(LIMITS["address"].attempts + 1)]

    assert answers[-2:] == [401, 429]


def test_an_address_that_registers_many_users_is_stopped(
    world: World, visitor: Person, email: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(cast(dict[str, RateLimit], LIMITS), "registrations", RateLimit(1, 3600))
    assert visitor.register(f"first-{email}").status == 303
    another = Person(world)
    stopped = another.register(email)

    assert (stopped.status, "Too many attempts" in another.text) == (429, True)
    assert 0 < int(stopped.headers["retry-after"]) <= 3600
    assert world.hub.website.users.find(email) is None


# -- sessions


def test_the_cookie_is_kept_from_scripts_and_other_sites(world: World, visitor: Person, registered: str) -> None:
    visitor.sign_in(registered)
    assert visitor.set_cookie(COOKIE).endswith(f"; Path=/; Max-Age={LIFETIME}; HttpOnly; SameSite=Lax")

    world.hub.settings = replace(world.hub.settings, stage="dev", public_url="https://api.example.com/stage")
    visitor.cookies = {}
    visitor.sign_in(registered)
    assert visitor.set_cookie(COOKIE).endswith(f"; Path=/stage; Max-Age={LIFETIME}; HttpOnly; SameSite=Lax; Secure")


def test_a_session_put_into_the_browser_before_is_worth_nothing_afterwards(visitor: Person, registered: str) -> None:
    visitor.get("/sign-in")
    planted = dict(visitor.cookies)
    visitor.sign_in(registered)
    thief = Person(visitor.world, planted)

    assert visitor.cookies[COOKIE] != planted[COOKIE]
    assert thief.get("/clients").status == 303


def test_signing_in_again_ends_the_session_before(user: Person, registered: str) -> None:
    before = Person(user.world, dict(user.cookies))
    user.post("/sign-in", email=registered, password=PASSWORD)

    assert user.get("/clients").status == 200
    assert before.get("/clients").status == 303


def test_a_session_ends_on_the_server(world: World, user: Person) -> None:
    world.clock.advance(LIFETIME - 1)
    assert user.get("/clients").status == 200
    world.clock.advance(1)
    assert user.get("/clients").status == 303


def test_after_signing_out_the_cookie_is_worth_nothing_wherever_it_is(user: Person) -> None:
    copied = Person(user.world, dict(user.cookies))
    menu = user.get("/clients").text.partition('<form method="post" action="/sign-out" data-forget>')[2]
    assert 'name="form_token"' in menu.partition("</form>")[0]
    answer = user.post("/sign-out")

    assert (answer.status, COOKIE in user.cookies) == (303, False)
    assert "Max-Age=0" in user.set_cookie(COOKIE)
    assert copied.get("/clients").status == 303


def test_a_mere_link_signs_nobody_out(user: Person) -> None:
    user.get("/sign-out")

    assert user.get("/clients").status == 200


@pytest.mark.parametrize("cookie", ["", "x", "x.y", "uAAAA.AAAA", "a=b", "\u00ff", '"', "u" * 5000])
def test_a_cookie_that_is_not_ours_is_nobody(visitor: Person, cookie: str) -> None:
    visitor.cookies = {COOKIE: cookie}

    assert visitor.get("/clients").status == 303


def test_a_cookie_whose_signature_was_altered_is_nobody(user: Person) -> None:
    secret, _, signature = user.cookies[COOKIE].partition(".")
    user.cookies = {COOKIE: f"{secret}.{'B' if signature[0] == 'A' else 'A'}{signature[1:]}"}

    assert user.get("/clients").status == 303


def test_sessions_outlive_one_rotation_of_the_keys(world: World, user: Person) -> None:
    world.hub.keyring.rotate_data_key()
    assert user.get("/clients").status == 200


def test_a_rotation_signs_nobody_out_where_it_is_not_known_yet(world: World, user: Person) -> None:
    """Two processes, one of which has seen the new key: a cookie and a form of one are taken by the other."""
    fresh, stale = world.another_process(), world.another_process()
    cookie = user.cookies[COOKIE]
    for hub in (fresh, stale):
        assert hub.website.sessions.find(cookie) is not None
    fresh.keyring.rotate_data_key()
    found = fresh.website.sessions.find(cookie)

    assert found is not None
    there = stale.website.sessions.find(found.cookie)
    assert there is not None
    assert stale.website.sessions.accepts(there, found.form_token)


def test_what_is_stored_signs_nobody_in(world: World, user: Person, registered: str, email: str) -> None:
    user.get("/clients/new")
    stored = json.dumps([*world.hub.store.scan("website"), *world.hub.store.scan("users")], default=str)

    secret = user.cookies[COOKIE].partition(".")[0]
    assert email in stored
    for credential in (secret, secret[1:], user.token, PASSWORD):
        assert credential not in stored


# -- forms

FORMS = [
    ("/register", {"email": "new@example.com", "password": PASSWORD, "terms": "yes"}),
    ("/sign-in", {"email": "new@example.com", "password": PASSWORD}),
    ("/sign-out", {}),
    ("/account", {"action": "code"}),
    ("/forgotten", {"email": "new@example.com"}),
    ("/confirm/x", {"password": PASSWORD}),
    ("/reset/x", {"password": PASSWORD}),
    ("/clients/new", {"title": "Forged"}),
    ("/clients/x", {"action": "deactivate"}),
    ("/authorize", {"bic": "ALPHGB21"}),
    ("/authorize/callback", {"action": "exchange", "state": "x"}),
    ("/deliveries/x", {}),
]


@pytest.mark.parametrize(("path", "fields"), FORMS)
@pytest.mark.parametrize("token", ["", "x", "of another session"])
def test_no_form_is_taken_without_the_token_of_its_session(
    world: World, user: Person, path: str, fields: dict[str, str], token: str
) -> None:
    given = Person(world).token if token == "of another session" else token
    answer = user.post(path, token=given, form=fields)

    assert answer.status == 403
    assert "out of date" in user.text
    assert world.recorded("mail") == []
    assert world.hub.website.users.find("new@example.com") is None
    assert user.get("/clients").status == 200
    assert "Forged" not in user.text


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_no_form_is_taken_that_another_sites_page_sent(user: Person, site: str) -> None:
    user.get("/clients/new")
    answer = user.post("/clients/new", headers={"sec-fetch-site": site}, title="Forged")

    assert answer.status == 403


@pytest.mark.parametrize("template", sorted(TEMPLATES.glob("*.html")), ids=lambda template: template.stem)
def test_every_form_of_a_page_carries_the_token(template: Path) -> None:
    text = template.read_text(encoding="utf-8")

    forms = [form for form in text.split("<form")[1:] if 'method="post"' in form.partition("</form>")[0]]
    assert [form[:80] for form in forms if "token(visit)" not in form and 'name="form_token"' not in form] == []
