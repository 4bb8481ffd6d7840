"""Tests of stored headers, which contain no secrets and have a limited size."""

import json

import pytest
from urllib3 import HTTPHeaderDict

from chalicelib.delivery.delivery_record import HISTORY
from chalicelib.delivery.recorded_exchange import HARMLESS, MASK, MOST, NAME_LENGTH, VALUE_LENGTH, record_headers
from chalicelib.foundation.context import CapturedHeaders
from chalicelib.foundation.crypto import event_signing
from chalicelib.foundation.version import USER_AGENT

API_KEY = "d24c7a9be0513f86a1c45d.Zm9yLXRoZS1iYW5r"
KEYS = [event_signing.secret_of(bytes([number]) * 32) for number in (1, 2)]
SIGNED = event_signing.headers(KEYS, "an-id", 1_772_442_000, b"{}")
SENT = {
    "Host": "bank.example.com",
    "Content-Type": "application/json",
    "User-Agent": USER_AGENT,
    "X-Api-Key": API_KEY,
    "X-Auth-Token": "a.bank's token",
    "PSU-IP-Address": "192.0.2.7",
    "X-Signature": "c2lnbmF0dXJl",
    "X-Request-Id": "8c1d4a52-60d5-4d5e-9f3c-0b5d9b6c2f11",
    **SIGNED,
}


def received(**headers: str) -> dict[str, str]:
    """Return the headers that are stored for a response to ``SENT``.

    Underscores in argument names represent hyphens.
    """
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return record_headers(CapturedHeaders(SENT, given))["received"]


def test_harmless_headers_are_recorded_and_the_values_of_other_headers_are_masked() -> None:
    assert record_headers(
        CapturedHeaders(SENT, {"Content-Length": "2", "Set-Cookie": "session=1", "X-Debug": "user 7"})
    ) == {
        "sent": {
            "host": MASK,
            "content-type": "application/json",
            "user-agent": USER_AGENT,
            "x-api-key": MASK,
            "x-auth-token": MASK,
            "psu-ip-address": MASK,
            "x-signature": MASK,
            "x-request-id": SENT["X-Request-Id"],
            "webhook-id": "an-id",
            "webhook-timestamp": "1772442000",
            "webhook-signature": MASK,
        },
        "received": {"content-length": "2", "set-cookie": MASK, "x-debug": MASK},
    }


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "Proxy-Authorization",
        "WWW-Authenticate",
        "Cookie",
        "Set-Cookie",
        "Location",
        "Link",
        "Refresh",
        "ETag",
        "X-Api-Key",
        "X-Auth-Token",
        "X-Signature",
        "X-Client-Certificate",
        "PSU-IP-Address",
        "X-Forwarded-For",
        "Webhook-Signature",
    ],
)
def test_headers_with_credentials_or_personal_data_are_masked(name: str) -> None:
    assert name.lower() not in HARMLESS
    assert received(**{name: "a value"}) == {name.lower(): MASK}


@pytest.mark.parametrize(
    "secret",
    [
        API_KEY,
        API_KEY.upper(),
        API_KEY.partition(".")[2],
        "a.bank's token",
        "192.0.2.7",
        "c2lnbmF0dXJl",
        SIGNED["webhook-signature"],
        SIGNED["webhook-signature"].split()[1],
        SIGNED["webhook-signature"].split()[0].removeprefix("v1,"),
    ],
)
def test_a_secret_repeated_in_a_received_header_is_masked(secret: str) -> None:
    found = received(Server=f"bank/1 ({secret})", Content_Type=f"text/plain; key={secret}", Date="today")

    assert found == {"server": MASK, "content-type": MASK, "date": "today"}


def test_a_short_masked_value_masks_no_other_header() -> None:
    psu = {"PSU-Http-Method": "GET", "PSU-IP-Port": "80", "PSU-Accept": "*/*"}
    answer = {"Content-Length": "1803", "Allow": "GET, POST", "X-Target": "1"}

    found = record_headers(CapturedHeaders(SENT | psu, answer))

    assert {found["sent"][name.lower()] for name in psu} == {MASK}
    assert found["received"] == {"content-length": "1803", "allow": "GET, POST", "x-target": MASK}


def test_a_received_header_with_a_secret_in_its_name_is_omitted() -> None:
    assert received(**{f"X-{API_KEY}": "1", "Server": "bank"}) == {"server": "bank"}


@pytest.mark.parametrize("value", ["a\x1b[2J", "a\nb", "\xfcber", "a\x00"])
def test_a_header_value_with_control_or_non_ascii_characters_is_masked(value: str) -> None:
    assert received(Server=value) == {"server": MASK}


@pytest.mark.parametrize("name", ["", "a name", "näme", "a\x1b[2J", "a(b)"])
def test_a_header_with_an_invalid_name_is_omitted(name: str) -> None:
    assert received(**{name: "1", "Server": "bank"}) == {"server": "bank"}


def test_a_duplicate_header_is_recorded_with_both_values() -> None:
    answer = HTTPHeaderDict()
    for value in ("no-store", "private"):
        answer.add("Cache-Control", value)

    assert record_headers(CapturedHeaders({}, answer))["received"] == {"cache-control": "no-store, private"}


def test_an_unsent_call_records_no_headers_and_an_unanswered_call_only_the_sent_headers() -> None:
    assert record_headers(CapturedHeaders()) == {}
    assert record_headers(CapturedHeaders({"Accept": "application/json"})) == {"sent": {"accept": "application/json"}}


def test_the_recorded_headers_of_all_attempts_have_less_than_200_kb() -> None:
    harmless = dict.fromkeys(HARMLESS, "v" * 60000)
    others = {f"{number:03}{'n' * 60_000}": "a secret" for number in range(100)}
    attempts = [record_headers(CapturedHeaders(harmless | others, harmless | others)) for _ in range(HISTORY)]

    assert {len(message) for attempt in attempts for message in attempt.values()} == {MOST}
    assert {len(name) for name in attempts[0]["received"]} == {NAME_LENGTH, *map(len, HARMLESS)}
    assert {len(value) for value in attempts[0]["received"].values()} == {VALUE_LENGTH, len(MASK)}
    assert len(json.dumps(attempts)) < 200_000
