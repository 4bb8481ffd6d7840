"""Event signatures follow Standard Webhooks. The standard's libraries accept valid signatures and reject forged
signatures.
"""

import base64
import hashlib
import time

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from chalicelib.foundation.crypto import event_signing

BODY = '{"type": "consent.authorised", "data": {"name": "Zoë", "amount": 12.10}}'.encode()


def secret(name: str) -> str:
    return f"whsec_{base64.b64encode(hashlib.sha256(name.encode()).digest()).decode()}"


def headers(*names: str, age: int = 0, body: bytes = BODY) -> dict[str, str]:
    """Return the signed headers of a delivery attempt made ``age`` seconds ago. The verifying library uses the system
    clock.
    """
    return event_signing.headers([secret(name) for name in names], "a-delivery", int(time.time()) - age, body)


def refused(name: str, signed: dict[str, str], body: bytes = BODY) -> str:
    with pytest.raises(WebhookVerificationError) as refusal:
        Webhook(secret(name)).verify(body, signed)
    return str(refusal.value)


def test_signing_the_standard_webhooks_example_returns_the_documented_signature() -> None:
    signed = event_signing.headers(
        ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
    )

    assert signed == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_the_receiver_verifies_an_event_signature_with_the_events_secret() -> None:
    assert Webhook(secret("new")).verify(BODY, headers("new"))["type"] == "consent.authorised"


@pytest.mark.parametrize("known", ["new", "old"])
def test_a_receiver_can_verify_an_event_with_the_old_or_the_new_secret_during_an_overlap(known: str) -> None:
    assert Webhook(secret(known)).verify(BODY, headers("new", "old"))


def test_the_newest_event_secret_creates_the_first_signature() -> None:
    both, new, old = (headers(*names)["webhook-signature"] for names in (("new", "old"), ("new",), ("old",)))

    assert both == f"{new} {old}"


def test_an_event_signature_with_a_wrong_secret_is_rejected() -> None:
    assert refused("another", headers("new", "old")) == "No matching signature found"


@pytest.mark.parametrize("body", [BODY[:-1], BODY + b" ", BODY.replace(b"12.10", b"12.1"), b""])
def test_an_event_with_an_altered_body_is_rejected(body: bytes) -> None:
    assert refused("new", headers("new"), body) == "No matching signature found"


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp"])
def test_an_event_with_an_altered_header_is_rejected(name: str) -> None:
    value = {"webhook-id": "another", "webhook-timestamp": str(int(time.time()) + 9)}[name]

    assert refused("new", headers("new") | {name: value}) == "No matching signature found"


def test_an_event_with_an_old_timestamp_is_rejected() -> None:
    assert refused("new", headers("new", age=600)) == "Message timestamp too old"


@pytest.mark.parametrize("known", [("new",), ("old",), ("another", "old")])
def test_an_event_signature_is_verified_with_any_of_several_secrets(known: tuple[str, ...]) -> None:
    keys = [secret(name) for name in known]

    assert event_signing.is_signed(keys, headers("new", "old"), BODY, int(time.time()))


@pytest.mark.parametrize(
    ("changes", "body", "age"),
    [
        ({"webhook-id": "another"}, BODY, 0),
        ({"webhook-timestamp": "1"}, BODY, 0),
        ({"webhook-timestamp": "\u0661\u0662"}, BODY, 0),
        ({"webhook-timestamp": "9" * 5000}, BODY, 0),
        ({"webhook-signature": ""}, BODY, 0),
        ({"webhook-signature": "v1,AAAA v1a,\u00e9"}, BODY, 0),
        ({}, BODY + b" ", 0),
        ({}, BODY, event_signing.TOLERANCE_SECONDS + 1),
        ({}, BODY, -event_signing.TOLERANCE_SECONDS - 1),
    ],
)
def test_an_altered_or_old_event_message_is_rejected(changes: dict[str, str], body: bytes, age: int) -> None:
    signed = headers("new")
    now = int(signed["webhook-timestamp"]) + age

    assert not event_signing.is_signed([secret("new")], signed | changes, body, now)
    assert not event_signing.is_signed([secret("another")], signed, BODY, now)
    assert not event_signing.is_signed([], signed, BODY, now)
    assert not event_signing.is_signed([secret("new")], {}, BODY, now)


def test_signing_an_event_without_a_secret_raises_an_error() -> None:
    with pytest.raises(ValueError, match="requires at least one secret"):
        headers()
