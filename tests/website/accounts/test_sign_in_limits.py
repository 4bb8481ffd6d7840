"""Sign-in and registration attempts are limited. Wrong passwords from third parties do not lock out the owner."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import pytest

from chalicelib.website.accounts import account_flow
from chalicelib.website.pages import COOKIE
from chalicelib.website.records import sessions
from chalicelib.website.records.attempts import LIMITS, RateLimit
from tests.causeway import Causeway
from tests.website.web_user import WebUser, ensure_user

pytestmark = pytest.mark.usefixtures("quick_hashes")


def test_wrong_passwords_for_one_account_are_limited(causeway: Causeway, visitor: WebUser, registered: str) -> None:
    allowed = LIMITS["account_at_address"].attempts
    answers = [visitor.sign_in(registered, "another good password").status for _ in range(allowed)]
    stopped = visitor.sign_in(registered)

    assert answers == [401] * allowed
    assert (stopped.status, "wait 15 minutes" in visitor.text) == (429, True)
    assert int(stopped.headers["retry-after"]) <= 15 * 60
    causeway.clock.advance(int(stopped.headers["retry-after"]))
    assert visitor.sign_in(registered).status == 303


def test_sign_in_attempts_for_an_unknown_account_are_limited(visitor: WebUser, email: str) -> None:
    answers = [
        visitor.sign_in(email, "another good password").status for _ in range(LIMITS["account_at_address"].attempts + 1)
    ]

    assert answers[-2:] == [401, 429]


def test_a_successful_sign_in_resets_the_attempt_count(visitor: WebUser, registered: str) -> None:
    for _ in range(3):
        for _ in range(4):
            visitor.sign_in(registered, "another good password")
        assert visitor.sign_in(registered).status == 303
        visitor.cookies = {}


def guess(person: WebUser, email: str, times: int) -> list[int]:
    return [person.sign_in(email, "another good password").status for _ in range(times)]


def test_wrong_passwords_from_another_address_do_not_lock_out_the_owner(causeway: Causeway, registered: str) -> None:
    stranger, owner = WebUser(causeway, address="203.0.113.7"), WebUser(causeway, address="203.0.113.8")
    allowed = LIMITS["account_at_address"].attempts

    assert guess(stranger, registered, allowed + 1)[-2:] == [401, 429]
    assert owner.sign_in(registered).status == 303
    assert stranger.sign_in(registered).status == 429, "a success elsewhere does not help who guesses"


def test_a_known_browser_can_sign_in_while_other_clients_exceed_the_limits(
    causeway: Causeway, visitor: WebUser, registered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wrong passwords from the browser's own address and from other addresses do not lock out the known browser."""
    for name in ("account_at_address", "address", "account"):
        monkeypatch.setitem(cast(dict[str, RateLimit], LIMITS), name, RateLimit(2, 3600))
    assert visitor.sign_in(registered).status == 303
    visitor.get("/sign-out")
    visitor.post("/sign-out")
    guess(WebUser(causeway), registered, 2)
    guess(WebUser(causeway, address="203.0.113.7"), registered, 2)

    assert WebUser(causeway).sign_in(registered).status == 429
    assert WebUser(causeway, address="203.0.113.8").sign_in(registered).status == 429
    assert guess(visitor, registered, 3) == [401, 401, 401]
    assert visitor.sign_in(registered).status == 303


def test_wrong_passwords_from_many_addresses_are_limited_until_the_end_of_the_hour(
    causeway: Causeway, registered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(cast(dict[str, RateLimit], LIMITS), "account", RateLimit(3, 3600))
    strangers = [WebUser(causeway, address=f"203.0.113.{number}") for number in range(4)]

    assert [guess(stranger, registered, 1) for stranger in strangers] == [[401], [401], [401], [429]]
    causeway.clock.advance(int(strangers[-1].last.headers["retry-after"]))
    assert guess(strangers[-1], registered, 1) == [401]


def test_a_known_browser_is_limited_by_wrong_passwords(causeway: Causeway, visitor: WebUser, registered: str) -> None:
    visitor.sign_in(registered)
    visitor.cookies.pop(COOKIE)
    allowed = LIMITS["known_browser"].attempts

    assert guess(visitor, registered, allowed + 1)[-2:] == [401, 429]
    assert WebUser(causeway).sign_in(registered).status == 303, "others have attempts of their own"
    causeway.clock.advance(int(visitor.last.headers["retry-after"]))
    assert visitor.sign_in(registered).status == 303


def test_many_known_browsers_share_one_limit_of_wrong_passwords(
    causeway: Causeway, registered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(cast(dict[str, RateLimit], LIMITS), "known_browsers", RateLimit(3, 3600))
    browsers = [WebUser(causeway) for _ in range(4)]
    for browser in browsers:
        browser.sign_in(registered)
        browser.cookies.pop(COOKIE)

    assert [guess(browser, registered, 1) for browser in browsers] == [[401], [401], [401], [429]]
    assert WebUser(causeway).sign_in(registered).status == 303, "others have attempts of their own"


def test_a_password_link_signs_in_while_other_clients_exceed_the_limit(
    causeway: Causeway, visitor: WebUser, registered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(cast(dict[str, RateLimit], LIMITS), "account", RateLimit(1, 3600))
    guess(WebUser(causeway, address="203.0.113.7"), registered, 1)
    assert visitor.sign_in(registered).status == 429
    place = causeway.hub.website.call(
        account_flow.issue_operator_link, ensure_user(causeway.hub, registered)
    ).rpartition("8000")[2]
    visitor.get(place)
    assert visitor.post(place, password="rain on a tin roof").status == 303
    visitor.get("/sign-out")
    visitor.post("/sign-out")

    assert visitor.sign_in(registered, "rain on a tin roof").status == 303


def known_cookie(person: WebUser) -> tuple[str, str]:
    ((name, value),) = [each for each in person.cookies.items() if each[0].startswith(sessions.BROWSER_COOKIE)]
    return name, value


@pytest.mark.parametrize("forged", ["", "x", "0" * 22 + "-1.AAAA", "of another account", "altered", "too old"])
def test_a_browser_is_known_only_with_an_unexpired_cookie_of_the_account(
    causeway: Causeway, visitor: WebUser, registered: str, forged: str
) -> None:
    call = causeway.hub.website.call
    visitor.sign_in(registered)
    name, value = known_cookie(visitor)
    assert call(sessions.find_browser, registered, value) is not None
    if forged == "of another account":
        value = call(sessions.sign_browser, f"x{registered}")
    elif forged == "altered":
        value = f"{'1' if value[0] == '0' else '0'}{value[1:]}"
    elif forged == "too old":
        causeway.clock.advance(sessions.BROWSER_LIFETIME)
    else:
        value = forged

    assert name == sessions.cookie_name(registered)
    assert call(sessions.find_browser, registered, value) is None


def test_the_known_browser_cookie_contains_no_email_and_does_not_sign_in(
    causeway: Causeway, visitor: WebUser, registered: str
) -> None:
    visitor.sign_in(registered)
    name, value = known_cookie(visitor)
    (sent,) = [each for each in visitor.set_cookies if each.startswith(name)]

    assert sent.endswith(f"; Path=/sign-in; Max-Age={sessions.BROWSER_LIFETIME}; HttpOnly; SameSite=Lax")
    assert registered not in sent
    assert WebUser(causeway, {name: value}).get("/clients").status == 303
    causeway.hub.settings = replace(causeway.hub.settings, stage="dev", public_url="https://api.example.com/stage")
    visitor.sign_in(registered)
    renewed = visitor.set_cookie(f"__Secure-{name}")
    assert renewed.endswith("; HttpOnly; SameSite=Lax; Secure")
    assert "; Path=/stage/sign-in; " in renewed
    assert renewed.partition("=")[2][:22] == value[:22], "the browser keeps its id"


def test_sign_in_attempts_of_one_ip_address_are_limited(
    causeway: Causeway, visitor: WebUser, registered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(causeway.hub.website.users), "authenticate", lambda *_: None)
    answers = [visitor.sign_in(f"{number}{registered}").status for number in range(LIMITS["address"].attempts + 1)]

    assert answers[-2:] == [401, 429]


def test_visitors_behind_cloudfront_have_separate_limits(
    causeway: Causeway, registered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(causeway.hub.website.users), "authenticate", lambda *_: None)
    causeway.hub.settings = replace(causeway.hub.settings, cloudfront_secrets=(hashlib.sha256(b"secret").hexdigest(),))
    proof = {"x-causeway-origin-secret": "secret"}

    def sign_in(number: int, address: str, headers: Mapping[str, str]) -> int:
        visitor = WebUser(causeway)
        visitor.get("/sign-in")
        sent = {"cloudfront-viewer-address": f"{address}:443", **headers}
        return visitor.post("/sign-in", headers=sent, email=f"{number}{registered}", password="wrong").status

    most = LIMITS["address"].attempts
    assert {sign_in(number, f"203.0.113.{number}", proof) for number in range(most + 2)} == {401}
    assert [sign_in(number, f"203.0.113.{number}", {}) for number in range(most + 1)][-2:] == [401, 429]


def test_registrations_of_one_ip_address_are_limited(
    causeway: Causeway, visitor: WebUser, email: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(cast(dict[str, RateLimit], LIMITS), "registrations", RateLimit(1, 3600))
    assert visitor.register(f"first-{email}").status == 303
    another = WebUser(causeway)
    stopped = another.register(email)

    assert (stopped.status, "Too many attempts" in another.text) == (429, True)
    assert 0 < int(stopped.headers["retry-after"]) <= 3600
    assert causeway.hub.website.users.find(email) is None
