"""Tests of consents with the maximum number of identifiers."""

import re
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.fields.ibans import make_iban
from chalicelib.openbanking.protocol.bank_calls import (
    BODY_BYTES,
    CONSENT_BYTES,
    MOST_IDENTIFIER_BYTES,
    MOST_IDENTIFIERS,
)
from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_ID
from tests.causeway import Causeway
from tests.openbanking.kit import VERSIONS

DYNAMODB_ITEM_BYTES = 400 * 1024


def consent_body(causeway: Causeway, version: int, **members: Any) -> dict[str, Any]:
    url = causeway.tpp.authorize(version)["redirect_url"]
    return causeway.banks[version].consent_body(url, **members)


IBANS = [make_iban("DE", f"{number:018}") for number in range(MOST_IDENTIFIERS)]
NUMBERS = [f"{number:06} {number:08}" for number in range(MOST_IDENTIFIERS)]
IDS = [f"{number:04}" + "x" * (LONGEST_ID - 4) for number in range(MOST_IDENTIFIERS)]


@VERSIONS
def test_a_consent_accepts_1000_identifiers_of_maximum_length_of_each_kind(causeway: Causeway, version: int) -> None:
    lists = {"ibans": IBANS, "account_ids": IDS, "account_numbers": NUMBERS}
    body = jsontext.dumps(consent_body(causeway, version, **lists)).encode()
    assert len(body) > 3 * BODY_BYTES

    assert causeway.banks[version].call("/consent", raw=body).status == 200
    (item,) = (each for each in causeway.hub.store.scan("consents") if each["part"] == "consent")
    assert item["accounts"] == lists
    assert len(jsontext.dumps({**item, "bank_token_sealed": ""}).encode()) < DYNAMODB_ITEM_BYTES


@VERSIONS
def test_a_consent_accepts_1000_identifiers_in_unicode_escapes(causeway: Causeway, version: int) -> None:
    texts = {"ibans": [each.rjust(42) for each in IBANS], "account_ids": IDS, "account_numbers": NUMBERS}
    body = jsontext.dumps(consent_body(causeway, version, **texts))
    escaped = {
        f'"{text}"': '"' + "".join(f"\\u{ord(character):04x}" for character in text) + '"'
        for entries in texts.values()
        for text in entries
    }
    body = re.sub('"[^"]*"', lambda text: escaped.get(text[0], text[0]), body)
    assert len(body) > 1_800_000

    assert causeway.banks[version].call("/consent", raw=body.encode()).status == 200


@VERSIONS
@pytest.mark.parametrize("kind", ["ibans", "account_ids", "account_numbers"])
def test_a_consent_with_1001_identifiers_returns_400(causeway: Causeway, version: int, kind: str) -> None:
    entries = {"ibans": IBANS, "account_ids": IDS, "account_numbers": NUMBERS}[kind]
    body = consent_body(causeway, version, **{kind: [*entries, entries[0]]})

    answer = causeway.banks[version].call("/consent", body)

    assert answer.status == 400
    assert "must have at most 1000 entries" in answer.text


@VERSIONS
def test_identifiers_too_large_for_the_consent_record_return_400(causeway: Causeway, version: int) -> None:
    ids = [f"{number:04}" + "\U0001f600" * (LONGEST_ID - 4) for number in range(MOST_IDENTIFIERS)]
    body = consent_body(causeway, version, account_ids=ids)

    answer = causeway.banks[version].call("/consent", body)

    assert answer.status == 400
    assert f"the account identifiers must have at most {MOST_IDENTIFIER_BYTES} bytes together" in answer.text
    assert list(causeway.hub.store.scan("consents")) == []


def test_the_body_size_limit_of_the_consent_call_permits_lists_of_maximum_size() -> None:
    widest = "\\ud83d\\ude00"
    lists = [[widest * longest] * MOST_IDENTIFIERS for longest in (42, LONGEST_ID, 15)]

    assert sum(len(f'"{text}",') for texts in lists for text in texts) + BODY_BYTES == CONSENT_BYTES


@VERSIONS
def test_bank_calls_other_than_consent_have_the_default_body_limit(causeway: Causeway, version: int) -> None:
    token = "accessToken" if version == 2 else "access_token"
    answer = causeway.banks[version].call("/token/revoke", {token: "x" * BODY_BYTES})

    assert answer.status == 400
    assert f"larger than {BODY_BYTES} bytes" in answer.text
