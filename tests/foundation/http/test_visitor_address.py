"""The address of a visitor is the address of the connection, unless a CloudFront secret authenticates a forwarded
address.
"""

import hashlib
from dataclasses import replace

import pytest

from chalicelib.foundation.http.web import Incoming
from chalicelib.foundation.settings import Settings

EDGE, VIEWER = "64.252.64.1", "203.0.113.7"
SECRET, OTHER = "a" * 64, "b" * 64
DIRECT = Settings.from_environment({})
BEHIND = replace(
    DIRECT, cloudfront_secrets=tuple(hashlib.sha256(each.encode()).hexdigest() for each in (SECRET, OTHER))
)


def request(**headers: str) -> Incoming:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Incoming("GET", "/", named, (), b"", {}, {"sourceIp": EDGE})


@pytest.mark.parametrize("secret", [SECRET, OTHER])
@pytest.mark.parametrize(
    ("named", "address"),
    [(f"{VIEWER}:46532", VIEWER), ("2001:db8::7:46532", "2001:db8::7"), ("[2001:db8::7]:46532", "2001:db8::7")],
)
def test_a_request_through_cloudfront_has_the_address_of_the_viewer(secret: str, named: str, address: str) -> None:
    sent = request(cloudfront_viewer_address=named, x_causeway_origin_secret=secret)

    assert sent.visitor_address(BEHIND.cloudfront_secrets) == address


@pytest.mark.parametrize(
    ("settings", "headers"),
    [
        (DIRECT, {"cloudfront_viewer_address": f"{VIEWER}:1", "x_causeway_origin_secret": ""}),
        (DIRECT, {"cloudfront_viewer_address": f"{VIEWER}:1", "x_causeway_origin_secret": SECRET}),
        (BEHIND, {"cloudfront_viewer_address": f"{VIEWER}:1"}),
        (BEHIND, {"cloudfront_viewer_address": f"{VIEWER}:1", "x_causeway_origin_secret": SECRET[1:]}),
        (
            BEHIND,
            {"cloudfront_viewer_address": f"{VIEWER}:1", "x_causeway_origin_secret": BEHIND.cloudfront_secrets[0]},
        ),
        (BEHIND, {"cloudfront_viewer_address": f"{VIEWER}:1", "x_causeway_origin_secret": f"{SECRET}\u00e9"}),
        (BEHIND, {"x_forwarded_for": VIEWER, "x_causeway_origin_secret": SECRET}),
        (BEHIND, {"cloudfront_viewer_address": "nonsense:1", "x_causeway_origin_secret": SECRET}),
        (BEHIND, {"cloudfront_viewer_address": VIEWER, "x_causeway_origin_secret": SECRET}),
    ],
)
def test_a_forwarded_address_is_not_trusted_without_the_cloudfront_secret(
    settings: Settings, headers: dict[str, str]
) -> None:
    assert request(**headers).visitor_address(settings.cloudfront_secrets) == EDGE


def test_the_digest_of_an_empty_cloudfront_secret_is_not_accepted() -> None:
    settings = replace(DIRECT, cloudfront_secrets=(hashlib.sha256(b"").hexdigest(),))

    assert request(cloudfront_viewer_address=f"{VIEWER}:1").visitor_address(settings.cloudfront_secrets) == EDGE
