"""Tests of stored response excerpts: readable text of limited length without secrets of the request."""

import pytest

from chalicelib.delivery.recorded_exchange import MASK, MAX_RECORDED_BYTES, record_answer
from chalicelib.foundation.context import CapturedHeaders

SIGNATURE = "v1,c2lnbmF0dXJlIG9mIHRoZSBldmVudA=="
SENT = {"Content-Type": "application/json", "webhook-id": "an-id", "webhook-signature": SIGNATURE}


def kept(body: bytes) -> str:
    return record_answer(CapturedHeaders(SENT, {}, body))


def test_a_short_response_is_recorded_in_full() -> None:
    assert kept(b'{"error": "queue full"}\n') == '{"error": "queue full"}\n'
    assert record_answer(CapturedHeaders()) == ""


@pytest.mark.parametrize("letter", ["a", "ä", "€", "\U0001f600"])
def test_a_long_response_is_truncated_after_2_kb_between_characters(letter: str) -> None:
    text = kept(f"x{letter * 5000}".encode())

    assert MAX_RECORDED_BYTES - 4 < len(text.encode()) <= MAX_RECORDED_BYTES == 2048
    assert set(text) == {"x", letter}


def test_control_characters_and_invalid_bytes_are_replaced() -> None:
    assert kept(b"a\x00b\xff\x1b[31mc\td\r\ne") == "a\ufffdb\ufffd\ufffd[31mc\td\r\ne"


@pytest.mark.parametrize("repeated", [SIGNATURE, SIGNATURE.upper(), SIGNATURE.partition(",")[2]])
def test_a_signature_repeated_in_a_response_is_masked(repeated: str) -> None:
    text = kept(f"you sent an-id with {repeated}.".encode())

    assert text.startswith("you sent an-id with ")
    assert text.endswith(f"{MASK}.")
    assert SIGNATURE.partition(",")[2].lower() not in text.lower()


def test_a_secret_at_the_limit_is_masked_before_truncation() -> None:
    assert kept(b"x" * (MAX_RECORDED_BYTES - 10) + SIGNATURE.encode()).endswith(f"x{MASK}")
