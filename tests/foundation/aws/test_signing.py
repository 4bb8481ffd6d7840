"""Signatures are those of botocore's signer, at AWS's time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from unittest.mock import patch

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as Botocores

from chalicelib.foundation.aws import signing
from chalicelib.foundation.aws.environment import Credentials

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
URL = "https://dynamodb.eu-west-1.amazonaws.com"
HEADERS = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "DynamoDB_20120810.GetItem"}


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signing, "_skew_seconds", 0.0)
    monkeypatch.setattr("chalicelib.foundation.aws.signing.time.time", NOW.timestamp)


@pytest.mark.parametrize("token", [None, "a token"])
@pytest.mark.parametrize("body", [b"", b'{"Key":"\xc3\xa4"}'])
def test_a_request_is_signed_as_botocore_signs_it(body: bytes, token: str | None) -> None:
    theirs = AWSRequest("POST", URL, HEADERS, body)
    with patch("botocore.auth.get_current_datetime", lambda: NOW.replace(tzinfo=None)):
        SigV4Auth(Botocores("AKID", "secret", token), "dynamodb", "eu-west-1").add_auth(theirs)

    ours = signing.sign("dynamodb", "eu-west-1", Credentials("AKID", "secret", token), URL, HEADERS, body)

    assert ours == dict(theirs.headers.items())


@pytest.mark.parametrize(("ahead", "is_wrong"), [(0, False), (200, False), (-200, False), (300, True), (-7200, True)])
def test_a_signature_is_out_of_date_if_aws_refuses_it_for_that(ahead: int, is_wrong: bool) -> None:
    there = NOW + timedelta(seconds=ahead)
    refused, date = signed(), format_datetime(there, usegmt=True)

    assert signing.is_out_of_date(refused, date) == is_wrong
    assert signing.is_out_of_date(refused, date) == is_wrong, "for another thread, too"
    assert signed()["X-Amz-Date"] == f"{there if is_wrong else NOW:%Y%m%dT%H%M%SZ}"
    assert not signing.is_out_of_date(signed(), date)


@pytest.mark.parametrize("date", ["", "yesterday", "Mon, 99 Mar 2026 09:00:00 GMT"])
def test_without_a_date_nothing_is_known_of_the_clock(date: str) -> None:
    assert not signing.is_out_of_date(signed(), date)


def signed() -> dict[str, str]:
    return signing.sign("dynamodb", "eu-west-1", Credentials("AKID", "secret", None), URL, HEADERS, b"")
