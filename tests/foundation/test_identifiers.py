"""Identifiers and credentials are URL-safe and unique. Credentials are verified by a stored digest."""

import re

import pytest

from chalicelib.foundation.identifiers import (
    SECRET_LENGTH,
    OpaqueToken,
    digest,
    is_uuid,
    matches,
    new_credential,
    new_id,
    new_secret,
    new_uuid,
)

SECRET = "A" * SECRET_LENGTH


@pytest.mark.parametrize(("make", "length"), [(new_id, 22), (new_secret, SECRET_LENGTH), (new_uuid, 36)])
def test_identifiers_are_unique_url_safe_and_of_equal_length(make: object, length: int) -> None:
    assert callable(make)
    made = {make() for _ in range(1000)}

    assert len(made) == 1000
    assert all(re.fullmatch(rf"[A-Za-z0-9_-]{{{length}}}", text) for text in made)


@pytest.mark.parametrize("ids", [("one",), ("one", "two"), ("one", "two", "three")])
def test_a_credential_text_is_parsed_into_ids_and_a_secret(ids: tuple[str, ...]) -> None:
    text, stored = new_credential(*ids)
    credential = OpaqueToken.parse(text, len(ids))

    assert credential is not None
    assert credential.ids == ids
    assert credential.matches(stored)
    assert text.rpartition(".")[2] not in stored


def test_a_credential_with_a_wrong_secret_does_not_match() -> None:
    text, _ = new_credential("one")
    _, other = new_credential("one")
    credential = OpaqueToken.parse(text, 1)

    assert credential is not None
    assert not credential.matches(other)
    assert not credential.matches(None)
    assert not credential.matches(b"bytes")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "one",
        f".{SECRET}",
        f"one.{SECRET}x",
        f"one.{SECRET[:-1]}",
        f"one.two.{SECRET}",
        f"one~.{SECRET}",
        f"~one.{SECRET}",
        f"one~two.{SECRET}",
        f"one~two~three~four.{SECRET}",
        f"one {SECRET}",
        f"one.{SECRET}\n",
        f"ö.{SECRET}",
        f"{'a' * 65}.{SECRET}",
        "a" * 100_000,
    ],
)
def test_text_that_is_not_a_credential_is_parsed_as_none(text: str) -> None:
    assert OpaqueToken.parse(text, 1) is None


def test_a_secret_matches_only_the_digest_of_the_secret() -> None:
    secret = new_secret()

    assert matches(secret, digest(secret))
    assert not matches(new_secret(), digest(secret))
    assert digest("äpfel") == digest("äpfel".encode())
    assert digest("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("99391c7e-ad88-49ec-a2ad-99ddcb1f7721", True),
        ("99391C7E-AD88-49EC-A2AD-99DDCB1F7721", True),
        ("00000000-0000-0000-0000-000000000000", True),
        ("99391c7ead8849eca2ad99ddcb1f7721", False),
        ("{99391c7e-ad88-49ec-a2ad-99ddcb1f7721}", False),
        ("urn:uuid:99391c7e-ad88-49ec-a2ad-99dd", False),
        ("99391c7e-ad88-49ec-a2ad-99ddcb1f772g", False),
        ("99391c7e-ad88-49ec-a2ad-99ddcb1f7721 ", False),
        ("9939-1c7ead8849eca2ad99-ddcb1f7721----", False),
        ("", False),
    ],
)
def test_only_the_hyphenated_notation_of_a_uuid_is_accepted(text: str, good: bool) -> None:
    assert is_uuid(text) is good
