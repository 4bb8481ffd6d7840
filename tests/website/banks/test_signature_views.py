"""The public page that verifies signatures, and that stores and logs nothing of what is pasted."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from chalicelib.foundation.aws.calls import Call
from chalicelib.foundation.crypto import signatures
from chalicelib.website.records.attempts import LIMITS
from tests.causeway import Answer, Causeway
from tests.infra.conformance.small_bank import KEY, OTHER_KEY
from tests.kit.logs import Lines
from tests.kit.storage import observe_calls
from tests.website.statistics_data import BIC
from tests.website.web_user import PAGE_BYTES, WebUser

PATH = "/verify-signature"
BODY = '{"status": "success", "secret": "Zoë"}'
SIGNATURE = signatures.sign(KEY, BODY.encode())
PUBLIC = signatures.public_pem(KEY.public_key())
FIELDS = {"body": BODY, "signature": SIGNATURE, "key": PUBLIC}


def verify(visitor: WebUser, body: str = BODY, signature: str = SIGNATURE, key: str = PUBLIC, **more: Any) -> Answer:
    visitor.get(PATH)
    return visitor.post(PATH, body=body, signature=signature, key=key, **more)


@pytest.fixture
def registered_key(causeway: Causeway) -> Iterator[None]:
    banks = causeway.hub.openbanking.banks
    banks.add_public_key(BIC, PUBLIC)
    yield
    banks.remove_public_key(BIC, signatures.key_id(KEY.public_key()))


def test_the_page_is_public_and_names_the_bank_of_the_link(visitor: WebUser) -> None:
    assert visitor.get(PATH).status == 200
    assert "Nothing is stored or logged" in visitor.text
    assert visitor.get(f"{PATH}?bic={BIC.lower()}").status == 200
    assert visitor.hidden("bic") == BIC
    assert visitor.get(f"{PATH}?bic=NOBKGB2L").status == 200
    assert 'name="bic"' not in visitor.last.text


@pytest.mark.parametrize("notation", ["pem", "jwk"])
def test_a_valid_signature_is_right(visitor: WebUser, notation: str) -> None:
    key = PUBLIC if notation == "pem" else json.dumps(signatures.jwk(KEY.public_key()))

    assert verify(visitor, key=key).status == 200
    assert "The signature is right" in visitor.text
    assert signatures.key_id(KEY.public_key()) in visitor.text
    assert f"{len(BODY.encode())} bytes" in visitor.text


@pytest.mark.parametrize("written", ["{}", "  {}\n", "X-Signature: {}", "x-signature:{}"])
def test_the_signature_may_have_the_name_of_its_header(visitor: WebUser, written: str) -> None:
    verify(visitor, signature=written.format(SIGNATURE))

    assert "The signature is right" in visitor.text


@pytest.mark.parametrize(("ends", "line_end"), [("LF", "\n"), ("CRLF", "\r\n")])
@pytest.mark.parametrize("sent", ["\n", "\r\n"])
def test_a_body_with_several_lines_is_verified_with_both_line_ends(
    visitor: WebUser, ends: str, line_end: str, sent: str
) -> None:
    lines = ["{", '"a": 1', "}"]
    verify(visitor, body=sent.join(lines), signature=signatures.sign(KEY, line_end.join(lines).encode()))

    assert "The signature is right" in visitor.text
    assert f"lines end with {ends}" in visitor.text


def test_a_webhook_of_the_hub_is_verified_without_a_key(causeway: Causeway, visitor: WebUser) -> None:
    signature = signatures.sign(causeway.hub.keyring.signing_key(), BODY.encode())
    verify(visitor, signature=signature, key="")

    assert "The signature is right" in visitor.text
    assert "The key belongs to the hub" in visitor.text


@pytest.mark.usefixtures("registered_key")
def test_a_call_of_a_bank_is_verified_with_its_registered_keys(causeway: Causeway, visitor: WebUser) -> None:
    name = causeway.hub.openbanking.banks.get(BIC).name
    verify(visitor, key="", bic=BIC)
    assert f"The key belongs to {name}" in visitor.text

    verify(visitor, key="")
    assert "The signature is wrong" in visitor.text


def test_a_valid_signature_by_a_key_that_is_not_registered_says_so(causeway: Causeway, visitor: WebUser) -> None:
    name = causeway.hub.openbanking.banks.get(BIC).name
    verify(visitor, bic=BIC)

    assert f"The key is not registered for {name}: the hub refuses calls that it signs" in visitor.text


def test_a_signature_by_a_known_key_that_was_not_pasted_names_this_key(causeway: Causeway, visitor: WebUser) -> None:
    own = causeway.hub.keyring.signing_key()
    key_id = signatures.key_id(own.public_key())
    for body in (BODY, "{\r\n}"):
        verify(visitor, body=body, signature=signatures.sign(own, body.encode()))

        assert f"It is by another key, {key_id}, which the hub uses: verify with this one." in visitor.text


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"body": BODY + "\n"}, "The body ends with a line break or spaces that the signature does not cover."),
        ({"body": BODY.replace('": "', '":"')}, "written again, with spaces after commas and colons, with \\u escapes"),
        ({"signature": SIGNATURE[:-4]}, "It has 255 bytes; a signature by this key has 256."),
        ({"signature": "a.b.c"}, "It is a JWS, three parts with dots between them"),
        ({"key": signatures.public_pem(OTHER_KEY.public_key())}, "It is by another private key, or was damaged"),
    ],
    ids=["line-break", "spelling", "length", "jws", "key"],
)
def test_an_invalid_signature_is_explained(visitor: WebUser, fields: dict[str, str], reason: str) -> None:
    signature = (
        signatures.sign(KEY, json.dumps(json.loads(BODY)).encode()) if reason.startswith("written") else SIGNATURE
    )
    verify(visitor, **({"signature": signature} | fields))

    assert "The signature is wrong" in visitor.text
    assert reason in visitor.text


def test_the_fields_are_shown_again_escaped(visitor: WebUser) -> None:
    body = '\n{"a": "</textarea><script>alert(1)</script>"}'
    verify(visitor, body=body)

    assert "<script>alert" not in visitor.last.text
    assert "&lt;/textarea&gt;&lt;script&gt;" in visitor.last.text
    assert "<textarea" in visitor.last.text


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"body": ""}, "Paste the body of the request."),
        ({"signature": " "}, "A request without this header is not signed."),
        ({"key": "key"}, "This is not a public key or certificate in PEM, or a JWK."),
        ({"key": "-----BEGIN PRIVATE KEY-----"}, "This is a private key, which must not leave its owner"),
    ],
    ids=["body", "signature", "key", "private"],
)
def test_a_missing_or_unusable_field_is_an_error_of_the_field(
    visitor: WebUser, fields: dict[str, str], error: str
) -> None:
    assert verify(visitor, **fields).status == 400
    assert error in visitor.text
    assert 'aria-invalid="true"' in visitor.last.text


def test_a_form_of_another_site_is_refused(visitor: WebUser) -> None:
    visitor.get(PATH)

    assert visitor.post(PATH, token="forged", form=FIELDS).status == 403
    assert visitor.post(PATH, headers={"sec-fetch-site": "cross-site"}, form=FIELDS).status == 403


def test_a_form_above_the_size_limit_is_refused_with_413(visitor: WebUser) -> None:
    assert verify(visitor, body="a" * 70_000).status == 413
    assert "A form may have at most 64 KB" in visitor.text


def test_verifications_are_limited_by_address(visitor: WebUser) -> None:
    visitor.get(PATH)
    visitor.address = "192.0.2.7"
    answers = [visitor.post(PATH, form=FIELDS).status for _ in range(LIMITS["signatures"].attempts)]
    stopped = visitor.post(PATH, form=FIELDS)

    assert set(answers) == {200}
    assert (stopped.status, "Too many attempts" in visitor.text) == (429, True)
    assert int(stopped.headers["retry-after"]) <= LIMITS["signatures"].seconds
    visitor.address = "192.0.2.8"
    assert visitor.post(PATH, form=FIELDS).status == 200


@pytest.mark.parametrize("signature", [SIGNATURE, SIGNATURE[::-1]], ids=["right", "wrong"])
def test_nothing_that_was_pasted_is_stored_or_logged(visitor: WebUser, lines: Lines, signature: str) -> None:
    sent: list[Call] = []

    with observe_calls(sent.append):
        verify(visitor, signature=signature)

    assert [call.operation for call in sent if call.service == "dynamodb"] == ["TransactWriteItems"]
    for secret in ("success", signature[:20], signature[-20:], PUBLIC.splitlines()[1]):
        assert secret not in repr(sent)
        assert secret not in lines.text


def test_a_failure_logs_nothing_that_was_pasted(
    visitor: WebUser, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError(BODY, SIGNATURE, PUBLIC)

    monkeypatch.setattr("chalicelib.website.banks.signature_views.check_signature", fail)

    assert verify(visitor).status == 500
    assert "page failed" in lines.text
    assert not any(secret in lines.text for secret in ("success", SIGNATURE[:20], PUBLIC.splitlines()[1]))


def test_a_private_key_is_not_shown_again(visitor: WebUser) -> None:
    private = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    verify(visitor, key=private)

    assert private.splitlines()[1] not in visitor.last.text

    visitor.address = "192.0.2.9"
    for _ in range(LIMITS["signatures"].attempts):
        visitor.post(PATH, form=FIELDS)
    assert verify(visitor, key=private).status == 429
    assert private.splitlines()[1] not in visitor.last.text


def test_the_page_has_no_inline_code_and_fits_its_size_budget(visitor: WebUser) -> None:
    text = verify(visitor).text

    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?! src=)", text)
    assert len(text.encode()) <= PAGE_BYTES
    assert visitor.last.headers["cache-control"] == "no-store"
