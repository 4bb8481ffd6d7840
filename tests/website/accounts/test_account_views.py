"""Registration and sign-in do not disclose registered email addresses."""

import re
from typing import Any

import argon2
import pytest

from tests.causeway import Causeway
from tests.website.web_user import PASSWORD, WebUser

pytestmark = pytest.mark.usefixtures("quick_hashes")


def test_a_user_is_signed_in_after_the_registration(visitor: WebUser, email: str) -> None:
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
def test_an_incomplete_registration_returns_400_and_shows_the_error(
    causeway: Causeway, visitor: WebUser, email: str, fields: dict[str, Any], said: str
) -> None:
    answer = visitor.register(**{"email": email, **fields})

    assert answer.status == 400
    assert said in visitor.text
    assert causeway.hub.website.users.find(email) is None
    assert "password123" not in answer.text


def test_registration_shows_each_validation_error_at_its_field(visitor: WebUser) -> None:
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
def test_the_first_invalid_field_of_a_form_has_the_focus(
    visitor: WebUser, email: str, fields: dict[str, Any], first: str
) -> None:
    answer = visitor.register(**{"email": email, **fields})

    (focused,) = re.findall(r"<input [^>]*\bautofocus\b[^>]*>", answer.text)
    assert f'name="{first}"' in focused


def test_a_registration_with_the_email_address_as_password_is_rejected(visitor: WebUser, email: str) -> None:
    visitor.register(email, password=email.upper())

    assert "Password must not be the email" in visitor.text


@pytest.mark.parametrize("password", ["password123", "1234567890"])
def test_a_common_password_in_fullwidth_letters_is_rejected(visitor: WebUser, email: str, password: str) -> None:
    visitor.register(email, "".join(chr(ord(letter) + 0xFEE0) for letter in password))  # full width

    assert "Password is too easy to guess" in visitor.text


def test_a_password_matches_in_any_unicode_normalisation_form(visitor: WebUser, email: str) -> None:
    visitor.register(email, "gr\u00fcne Wiese 44")

    assert visitor.sign_in(email, "gru\u0308ne Wiese 44").status == 303


def test_a_user_can_sign_in_with_a_password_that_normalisation_lengthens(visitor: WebUser, email: str) -> None:
    password = "".join(f"u\u0308{number * 7919 % 97}" for number in range(80))  # 316 characters as they are typed
    assert visitor.register(email, password).status == 303

    assert WebUser(visitor.causeway).sign_in(email, password).status == 303


def test_registering_an_existing_email_address_returns_409_without_a_password_change(
    visitor: WebUser, registered: str
) -> None:
    answer = visitor.register(registered, password="another good password")

    assert answer.status == 409
    assert "already registered" in visitor.text
    assert visitor.sign_in(registered).status == 303


def test_sign_in_redirects_to_the_requested_page(visitor: WebUser, registered: str) -> None:
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
def test_sign_in_does_not_redirect_to_another_site(visitor: WebUser, registered: str, destination: str) -> None:
    answer = visitor.sign_in(registered, next=destination)

    assert (answer.status, answer.headers["location"]) == (303, "/")


def test_an_unknown_email_and_a_wrong_password_get_the_same_response(visitor: WebUser, registered: str) -> None:
    wrong = visitor.sign_in(registered, "another good password")
    said = visitor.text
    unknown = visitor.sign_in(f"x{registered}")

    assert (wrong.status, unknown.status) == (401, 401)
    assert visitor.text == said
    assert "do not match" in said


def test_sign_in_with_an_unknown_email_also_verifies_a_password_hash(
    causeway: Causeway, registered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []
    real = argon2.PasswordHasher.verify

    def verify(self: argon2.PasswordHasher, known: str, given: str) -> bool:
        compared.append(known)
        return bool(real(self, known, given))

    monkeypatch.setattr(argon2.PasswordHasher, "verify", verify)
    for email in (registered, f"x{registered}", "no email at all"):
        causeway.hub.website.users.authenticate(email, "another good password")

    assert len(compared) == 3
    assert {known.split("$")[3] for known in compared} == {compared[0].split("$")[3]}
