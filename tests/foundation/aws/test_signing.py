"""AWS signatures equal the signatures of botocore. Clock differences are corrected with the clock of AWS."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from unittest.mock import patch

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as Botocores
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.foundation.aws import signing
from chalicelib.foundation.aws.environment import Credentials

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
URL = "https://dynamodb.eu-west-1.amazonaws.com"
HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Target": "DynamoDB_20120810.GetItem",
    "User-Agent": "Causeway/1.0.0",
}


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signing, "skew_seconds", 0.0)
    monkeypatch.setattr("chalicelib.foundation.aws.signing.time.time", NOW.timestamp)


TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20)


@given(
    body=st.binary(max_size=50),
    token=st.none() | TEXT.filter(bool),
    secret=TEXT,
    region=st.from_regex("[a-z]{2}-[a-z]{4,9}-[0-9]", fullmatch=True),
    header=TEXT,
    trace=st.none() | TEXT,
)
@pytest.mark.parametrize(
    "url",
    [
        *("https://dynamodb.eu-west-1.amazonaws.com/", "http://127.0.0.1:4566/", "http://127.0.0.1:80/"),
        *(
            "https://host:443/",
            "https://Host:8443/a/b~c/",
            "http://[::1]:8000/",
            "https://host",
            "http://host/a b/%41/",
        ),
    ],
)
def test_an_aws_signature_equals_the_signature_of_botocore(
    url: str, body: bytes, token: str | None, secret: str, region: str, header: str, trace: str | None
) -> None:
    headers = HEADERS | {"X-Other": header} | ({} if trace is None else {"X-Amzn-Trace-Id": trace})
    theirs = AWSRequest("POST", url, headers, body)
    with patch("botocore.auth.get_current_datetime", lambda: NOW.replace(tzinfo=None)):
        SigV4Auth(Botocores("AKID", secret, token), "dynamodb", region).add_auth(theirs)

    ours = signing.sign("dynamodb", region, Credentials("AKID", secret, token), url, headers, body)

    assert ours == dict(theirs.headers.items())


@pytest.mark.parametrize(("ahead", "is_wrong"), [(0, False), (200, False), (-200, False), (300, True), (-7200, True)])
def test_an_aws_signature_expires_if_the_clocks_differ_by_minutes(ahead: int, is_wrong: bool) -> None:
    there = NOW + timedelta(seconds=ahead)
    refused, date = signed(), format_datetime(there, usegmt=True)

    assert signing.is_out_of_date(refused, date) == is_wrong
    assert signing.is_out_of_date(refused, date) == is_wrong, "for another thread, too"
    assert signed()["X-Amz-Date"] == f"{there if is_wrong else NOW:%Y%m%dT%H%M%SZ}"
    assert not signing.is_out_of_date(signed(), date)


@pytest.mark.parametrize("date", ["", "yesterday", "Mon, 99 Mar 2026 09:00:00 GMT"])
def test_a_missing_or_invalid_date_header_leaves_the_clock_correction_unchanged(date: str) -> None:
    assert not signing.is_out_of_date(signed(), date)


def test_a_date_header_with_an_unknown_time_zone_is_read_as_utc() -> None:
    assert signing.is_out_of_date(signed(), "Mon, 02 Mar 2026 09:10:00 -0000")
    assert signed()["X-Amz-Date"] == "20260302T091000Z"


def signed() -> dict[str, str]:
    return signing.sign("dynamodb", "eu-west-1", Credentials("AKID", "secret", None), URL, HEADERS, b"")
