"""Tests of the log rules: each rule reports an invalid log sequence and accepts a similar valid log sequence."""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from chalicelib.cards.card_data import numbers
from chalicelib.cards.programs import credentials
from chalicelib.foundation import log
from chalicelib.foundation.crypto import event_signing, signatures
from chalicelib.foundation.identifiers import digest, new_credential, new_id, new_uuid
from tests.kit.logs import Lines
from tests.log_traces import (
    TRACE,
    Line,
    Rule,
    Trace,
    check_log,
    deliveries_end_once,
    ended_consents_are_not_used,
    no_secrets,
    payments_have_orders,
)


def line(message: str, begun: int = 0, **members: Any) -> Line:
    return Line(message, members, begun)


_of_bank = partial(line, bic="ALPHGB21", sent_as="1", consent_id="C")
RECORDED = _of_bank("order recorded")
PAID, UNSENT = (
    _of_bank("bank called", webhook="/payment_initiation", **outcome)
    for outcome in ({"status": 200}, {"failure": "NotReached"})
)
OTHER = line("order recorded", bic="ALPHGB21", sent_as="2")
DELIVERED, FAILED, RESENT = (
    line(message, delivery_id="D") for message in ("delivered", "delivery failed", "delivery resent")
)
ENDED = line("consent ended", consent_id="C", by="tpp")
READ_LATER, READ_BEFORE = (_of_bank("bank called", begun, webhook="/accounts", status=200) for begun in (2, 0))
REVOKED = _of_bank("bank called", 2, webhook="/revoke_token", status=200)


@pytest.mark.parametrize(
    ("rule", "trace", "broken"),
    [
        (payments_have_orders, [OTHER, PAID], 1),
        (payments_have_orders, [PAID, RECORDED], 1),
        (payments_have_orders, [RECORDED, PAID, PAID], 1),
        (payments_have_orders, [RECORDED, UNSENT, PAID, RECORDED, PAID], 0),
        (deliveries_end_once, [DELIVERED, DELIVERED], 1),
        (deliveries_end_once, [DELIVERED, RESENT, DELIVERED, FAILED], 1),
        (deliveries_end_once, [FAILED, RESENT, DELIVERED, line("delivered", delivery_id="E")], 0),
        (ended_consents_are_not_used, [ENDED, DELIVERED, READ_LATER], 1),
        (ended_consents_are_not_used, [ENDED, DELIVERED, READ_BEFORE, REVOKED], 0),
        (ended_consents_are_not_used, [READ_BEFORE, ENDED], 0),
    ],
)
def test_each_log_rule_reports_invalid_logs_and_accepts_valid_logs(
    rule: Rule, trace: Sequence[Line], broken: int
) -> None:
    assert len([*rule(trace)]) == broken


_OF_CARD_API = credentials.new_secret(with_access_key=True)
SECRETS = {
    "token": new_credential(new_id(), new_id())[0],
    "client secret": new_credential("a")[0].partition(".")[2],
    "events secret": event_signing.new_secret(),
    "API id": _OF_CARD_API.access_api_id,
    "API key": _OF_CARD_API.access_api_key,
    "private key": signatures.generate_private_pem(),
    "assertion": "eyJhbGciOiJQUzI1NiJ9.eyJpc3MiOiJhIn0.c2ln",
    "header": "Basic dHBwOnNlY3JldA==",
    "address": "https://tpp.example/cb?code=abc",
    "card number": numbers.new_pan("411111", 16),
    "PIN": "wrong PIN: 7305",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_a_logged_secret_is_detected_by_its_format(secret: str) -> None:
    text = log.Formatter().format(logging.makeLogRecord({"msg": "refused", "members": {"reason": secret}}))

    assert [*no_secrets([text])]
    with pytest.raises(AssertionError, match="was logged"):
        check_log([text])
    TRACE.end()


def test_identifiers_are_not_reported_as_secrets() -> None:
    ids = f'"{new_uuid()} {new_id()} 411111******5914 1772442000000000","authorization_id":"{digest("a")}"'

    assert [*no_secrets([ids])] == []


def test_log_lines_are_checked_before_the_recorded_trace_is_reset() -> None:
    trace = Trace()
    for each in (DELIVERED, RECORDED, PAID, PAID):
        trace.add(each.message, each.members, "")
    trace.set_back(2)
    trace.add(PAID.message, PAID.members, "")

    assert len(trace.end()) == 1
    assert trace.end() == [], "another test begins"


def test_every_log_line_is_traced_with_the_members_of_its_request(lines: Lines) -> None:
    log.bind(delivery_id="D")
    log.info("delivered")
    log.info("delivered")

    assert len(lines.all()) == 2
    assert len(TRACE.end()) == 1
