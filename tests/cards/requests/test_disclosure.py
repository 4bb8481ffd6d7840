"""Tests of disclosure: each credential has card data modes, and each reveal writes an audit line without the value."""

import base64
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from chalicelib.cards.programs.credentials import Credential
from chalicelib.cards.protocol.card_records import CARD_FIELDS, LONGEST_BYTES, CardField
from chalicelib.cards.requests import disclosure
from chalicelib.foundation import log
from chalicelib.foundation.crypto import signatures
from tests.kit.logs import Lines

PAN = "4111110000004823"
CLEAR: dict[CardField, str] = {"pan": PAN, "pin": "4823", "cvc2": "417", "acs_password": "Kx9!quiet-Otter"}
KEY = rsa.generate_private_key(public_exponent=65537, key_size=3072)
PEM = signatures.public_pem(KEY.public_key())


def credential(mode: str, **modes: str) -> Credential:
    return Credential(
        manager_id=1,
        name="web-shop",
        access_level=100,
        actions=None,
        modes=dict.fromkeys(CARD_FIELDS, mode) | modes,
        encryption_key=PEM,
        keys=(),
    )


def opened(text: str, label: str) -> str:
    sha = hashes.SHA256()
    return KEY.decrypt(
        base64.b64decode(text, validate=True), padding.OAEP(padding.MGF1(sha), sha, label.encode())
    ).decode()


def audited(lines: Lines) -> list[tuple[Any, ...]]:
    return [tuple(line[name] for name in ("message", "credential", "card_id", "field", "mode")) for line in lines.all()]


@pytest.mark.parametrize("field", CLEAR)
def test_the_disclosure_mode_plain_returns_the_value(field: CardField) -> None:
    assert disclosure.disclose(credential("plain"), 1001, field, CLEAR[field]) == CLEAR[field]


def test_the_disclosure_mode_masked_returns_the_card_number_without_its_middle_digits() -> None:
    assert disclosure.disclose(credential("plain", pan="masked"), 1001, "pan", PAN) == "411111******4823"


@pytest.mark.parametrize("field", CLEAR)
def test_the_disclosure_mode_absent_returns_no_value(field: CardField) -> None:
    assert disclosure.is_absent(credential("absent"), field)
    assert disclosure.disclose(credential("absent"), 1001, field, CLEAR[field]) is None
    assert disclosure.disclose_expiry(credential("absent"), 1001, 2029, 7) is None


@pytest.mark.parametrize("field", CLEAR)
def test_an_encrypted_value_decrypts_only_with_the_label_of_its_card_and_field(field: CardField) -> None:
    text = disclosure.disclose(credential("encrypted"), 1001, field, CLEAR[field])
    assert text is not None

    assert opened(text, f"1001|{field}") == CLEAR[field]
    for label in (f"1002|{field}", "1001|expiry", ""):
        with pytest.raises(ValueError, match=r"(?i)decrypt"):
            opened(text, label)


def test_encrypting_a_value_twice_produces_different_ciphertexts() -> None:
    assert len({disclosure.disclose(credential("encrypted"), 1001, "pin", "4823") for _ in range(5)}) == 5


def test_the_shortest_key_encrypts_the_longest_password() -> None:
    longest = "ä" * (LONGEST_BYTES // 2)
    text = disclosure.disclose(credential("encrypted"), 1001, "acs_password", longest)

    assert text is not None
    assert opened(text, "1001|acs_password") == longest


def test_an_expiry_is_returned_as_plain_or_separately_encrypted_year_and_month() -> None:
    assert disclosure.disclose_expiry(credential("plain"), 1001, 2029, 7) == (2029, 7)
    sealed = disclosure.disclose_expiry(credential("encrypted"), 1001, 2029, 7)

    assert sealed is not None
    assert [opened(str(part), "1001|expiry") for part in sealed] == ["2029", "7"]


@pytest.mark.parametrize("field", CARD_FIELDS)
@pytest.mark.parametrize("mode", ["plain", "masked", "encrypted"])
def test_a_reveal_writes_an_audit_line_with_the_credential_the_card_the_field_and_the_mode(
    field: CardField, mode: str, lines: Lines
) -> None:
    disclosure.audit_reveal(credential(mode), 1001, field)

    assert audited(lines) == [("card data revealed", "1.web-shop", 1001, field, mode)]


def test_the_audit_line_of_a_reveal_is_written_at_every_log_level(lines: Lines) -> None:
    log.set_level("CRITICAL")
    try:
        disclosure.audit_reveal(credential("plain"), 1001, "pin")
    finally:
        log.set_level("INFO")

    assert audited(lines) == [("card data revealed", "1.web-shop", 1001, "pin", "plain")]


@pytest.mark.parametrize("field", ["pin", "cvc2", "acs_password", "expiry"])
def test_the_disclosure_mode_masked_is_rejected_for_every_field_except_the_card_number(field: CardField) -> None:
    with pytest.raises(ValueError, match=f"{field} cannot be revealed to 1.web-shop in the mode masked"):
        disclosure.disclose(credential("masked"), 1001, field, "4823")


def test_the_disclosure_mode_encrypted_without_a_key_raises_an_error() -> None:
    with pytest.raises(ValueError, match="in the mode encrypted"):
        disclosure.disclose(replace(credential("encrypted"), encryption_key=None), 1001, "pan", PAN)


def test_an_encryption_key_of_3072_bits_is_accepted_and_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    disclosure.public_key(PEM)
    monkeypatch.setattr(signatures, "load_public_key", lambda pem: pytest.fail("parsed again"))
    disclosure.disclose(credential("encrypted"), 1001, "pan", PAN)


SHORT = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CURVE = ec.generate_private_key(ec.SECP256R1()).public_key()


@pytest.mark.parametrize(
    ("pem", "reason"),
    [
        (signatures.public_pem(SHORT.public_key()), "has 2048 bits; at least 3072 are required"),
        (
            CURVE.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode(),
            "RSA",
        ),
        ("-----BEGIN PUBLIC KEY-----\nnothing\n-----END PUBLIC KEY-----\n", "not a PEM public key"),
        ("", "not a PEM public key"),
    ],
    ids=["too short", "of another kind", "damaged", "empty"],
)
def test_an_invalid_or_short_encryption_key_is_rejected(pem: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        disclosure.public_key(pem)
