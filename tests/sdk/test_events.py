"""Events are verified as Standard Webhooks, and parsed to the class of their event type."""

import base64
import datetime
import json

import pytest
from standardwebhooks.webhooks import Webhook

from causeway.errors import ConfigurationError, InvalidEvent
from causeway.tpp import (
    ConsentAuthorisedEvent,
    ConsentExpiringEvent,
    DeliveryTestEvent,
    EventVerifier,
    PaymentStatusChangedEvent,
    UnknownEvent,
    parse_event,
)
from causeway.tpp._generated.event_models import EVENTS
from causeway.tpp.events import sign
from infra.render.sdk import tpp as document
from tests.sdk.scripted_hub import START, Clock

pytestmark = pytest.mark.usefixtures("clock")
SECRET = "whsec_" + base64.b64encode(b"a secret of 24 bytes----").decode()
OTHER = "whsec_" + base64.b64encode(b"another secret----------").decode()
BODY = json.dumps(
    {"type": "test", "timestamp": "2026-11-21T09:30:00+00:00", "data": {"message": "Ün test"}}, ensure_ascii=False
)


def headers(body: str = BODY, secret: str = SECRET, moment: float = START) -> dict[str, str]:
    signature = Webhook(secret).sign("msg-1", datetime.datetime.fromtimestamp(moment, datetime.UTC), body)
    return {"Webhook-Id": "msg-1", "Webhook-Timestamp": str(int(moment)), "Webhook-Signature": signature}


def test_an_event_of_the_hub_is_verified_and_parsed() -> None:
    received = EventVerifier(SECRET).verify(headers(), BODY.encode())

    assert received.id == "msg-1"
    assert isinstance(received.event, DeliveryTestEvent)
    assert received.event.data.message == "Ün test"


def test_an_event_is_valid_if_one_of_its_signatures_matches_one_of_several_secrets() -> None:
    rotated = headers()
    rotated["Webhook-Signature"] = f"v1,AAAA v2,x {rotated['Webhook-Signature']}"

    assert EventVerifier([OTHER, SECRET]).verify(rotated, BODY).id == "msg-1"


@pytest.mark.parametrize(
    "wrong", ["body", "secret", "old", "early", "id", "no timestamp", "no signature", "no id", "text"]
)
def test_an_altered_outdated_or_incomplete_event_is_rejected(wrong: str) -> None:
    sent, body = headers(moment=START + {"old": -301, "early": 301}.get(wrong, 0)), BODY
    match wrong:
        case "body":
            body += " "
        case "secret":
            sent = headers(secret=OTHER)
        case "id":
            sent["Webhook-Id"] = "msg-2"
        case "no timestamp":
            sent["Webhook-Timestamp"] = "now"
        case "no signature":
            del sent["Webhook-Signature"]
        case "no id":
            del sent["Webhook-Id"]
        case "text":
            sent, body = headers("no event"), "no event"

    with pytest.raises(InvalidEvent):
        EventVerifier(SECRET).verify(sent, body)


def test_an_event_five_minutes_old_is_accepted(clock: Clock) -> None:
    EventVerifier(SECRET).verify(headers(moment=START - 299), BODY)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_%", "c2VjcmV0", []])
def test_an_invalid_event_secret_is_rejected(secret: str | list[str]) -> None:
    with pytest.raises(ConfigurationError):
        EventVerifier(secret)


def test_an_event_signature_equals_the_signature_of_other_implementations() -> None:
    assert sign(SECRET, "msg-1", int(START), BODY) == headers()["Webhook-Signature"]


@pytest.mark.parametrize("kind", list(EVENTS))
def test_documented_examples_of_every_event_type_are_parsed_and_serialized(kind: str) -> None:
    hook = document.document()["webhooks"][kind]["post"]
    for example in hook["requestBody"]["content"]["application/json"]["examples"].values():
        event = parse_event(json.dumps(example["value"]))
        assert isinstance(event, EVENTS[kind])
        assert event.to_json() == example["value"]
        assert event.extra == {}


def test_an_event_of_unknown_type_is_accepted() -> None:
    event = parse_event('{"type": "card.new", "timestamp": "2026-11-21T09:30:00+00:00", "data": {"n": 1.10}}')

    assert isinstance(event, UnknownEvent)
    assert str(event.data["n"]) == "1.10"


def test_an_unknown_member_of_an_event_is_preserved() -> None:
    event = parse_event('{"type": "test", "timestamp": "2026-11-21T09:30:00+00:00", "data": {"message": "m", "n": 1}}')

    assert isinstance(event, DeliveryTestEvent)
    assert event.data.extra == {"n": 1}


def test_an_event_can_be_matched_by_its_class_in_a_match_statement() -> None:
    def told(body: str) -> str:
        match parse_event(body):
            case ConsentAuthorisedEvent() as event:
                return event.data.consent_id
            case PaymentStatusChangedEvent() as event:
                return event.data.payment_id
            case ConsentExpiringEvent() as event:
                return str(event.data.valid_until.year)
            case other:
                return other.type

    ending = '{"consent_id": "c", "bic": "DEMODEF1", "valid_until": "2027-05-20T09:30:00+00:00"}'
    body = f'{{"type": "consent.expiring", "timestamp": "2026-11-21T09:30:00+00:00", "data": {ending}}}'
    assert told(body) == "2027"
    assert told(body.replace("expiring", "expired")) == "consent.expired"


@pytest.mark.parametrize("body", ["[" * 100_000, '{"type": 1E9999999999999999999}'])
def test_an_oversized_event_body_is_rejected(body: str) -> None:
    with pytest.raises(InvalidEvent):
        parse_event(body)


@pytest.mark.parametrize("moment", ["9" * 5000, "²", "-1", ""])
def test_an_invalid_event_timestamp_is_rejected(moment: str) -> None:
    with pytest.raises(InvalidEvent, match="old"):
        EventVerifier(SECRET).verify({**headers(), "Webhook-Timestamp": moment}, BODY)


def test_a_non_ascii_event_secret_raises_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="whsec_"):
        EventVerifier("whsec_é")
