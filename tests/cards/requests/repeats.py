"""Requests that are sent twice with one ``request_reference_id``."""

from __future__ import annotations

from tests.cards import whole_requests
from tests.cards.issuer import Envelope, Issuer
from tests.cards.whole_requests import Members


def is_repeat(first: Envelope, second: Envelope) -> bool:
    """Whether the second answer is the first one, byte for byte, but for ``duplicated``."""
    assert first.raw.count('"duplicated":0') == 1
    return second.raw == first.raw.replace('"duplicated":0', '"duplicated":1')


def request(issuer: Issuer, action: str) -> Members:
    made = whole_requests.cast(issuer, action)
    return whole_requests.whole(action, made)[0] | {"request_reference_id": issuer.reference()}
