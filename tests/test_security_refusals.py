"""Rejected requests that may be attacks are counted by kind and logged."""

import ast
import base64
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, get_args

import pytest

from chalicelib import bootstrap
from chalicelib.foundation import security_refusals
from chalicelib.foundation.security_refusals import METRIC, Kind
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.website.records.attempts import LIMITS, TooManyAttempts, count_attempt
from tests.cards.issuer import Issuer
from tests.causeway import Answer, Causeway
from tests.kit.documents import ALARMS_PAGE, rows, section
from tests.kit.logs import Lines, metric_values
from tests.kit.source_code import MODULES, nodes, within
from tests.openbanking.key_holder import KeyHolder, secure

Play = Callable[[Causeway], object]
"""A function that causes a refusal of one kind, and can continue with valid requests."""


def second_use_of_a_code(causeway: Causeway) -> Callable[[], Answer]:
    code = causeway.psu.approve(1).query["code"]
    redeem = partial(causeway.tpp.call, "POST", "/tpp/token", {"authorization_code": code})
    redeem()
    return redeem


def late_use_of_a_refresh_token(causeway: Causeway) -> Callable[[], object]:
    body = {"refresh_token": causeway.tpp.tokens(1)["refresh_token"]}
    causeway.tpp.call("POST", "/tpp/token", body)
    causeway.clock.advance(61)
    return lambda: causeway.tpp.call("POST", "/tpp/token", body)


def replayed_proof(causeway: Causeway) -> Callable[[], object]:
    holder = KeyHolder()
    secure(causeway, holder)
    token = holder.tokens(causeway)["access_token"]
    proof = holder.proof(causeway, "GET", "/tpp/consent", token)
    holder.read(causeway, token, proof=proof)
    return lambda: holder.read(causeway, token, proof=proof)


def proof_of_another_key(causeway: Causeway) -> Callable[[], object]:
    holder = KeyHolder()
    secure(causeway, holder)
    token = holder.tokens(causeway)["access_token"]
    return lambda: holder.read(causeway, token, proof=KeyHolder().proof(causeway, "GET", "/tpp/consent", token))


def missing_certificate(causeway: Causeway) -> Callable[[], object]:
    checks = causeway.hub.openbanking.tpp_authentication.credential_checks

    def present_none() -> None:
        with pytest.raises(Refusal):
            checks.check_certificate(causeway.tpp.client, None)

    return present_none


def wrong_client_secret(causeway: Causeway) -> Callable[[], object]:
    wrong = base64.b64encode(f"{causeway.tpp.client_id}:wrong".encode()).decode()
    return lambda: causeway.tpp.call("GET", "/tpp/banks", headers={"authorization": f"Basic {wrong}"})


def wrong_bank_key(causeway: Causeway) -> Callable[[], object]:
    return lambda: causeway.banks[1].call("/init_authorization", {"request_url": ""}, headers={"x-api-key": "wrong"})


def wrong_bank_signature(causeway: Causeway) -> Callable[[], object]:
    return lambda: causeway.banks[2].call(
        "/init_authorization", {"requestUrl": ""}, headers={"x-signature": "d3Jvbmc="}
    )


def wrong_card_credentials(causeway: Causeway) -> Callable[[], object]:
    wrong = {**causeway.card_credentials, "access_api_key": "0" * 64}
    return lambda: Issuer(causeway).do("getAccounts", **wrong)


def too_many_passwords(causeway: Causeway) -> Callable[[], object]:
    call, subjects = causeway.hub.website.call, [("password", "ada@example.com")]
    for _ in range(LIMITS["password"].attempts):
        call(count_attempt, subjects)

    def guess() -> None:
        with pytest.raises(TooManyAttempts):
            call(count_attempt, subjects)

    return guess


def too_many_activations(causeway: Causeway) -> Callable[[], object]:
    issuer = Issuer(causeway)
    card = issuer.card(card_virtual=0)
    wrong = partial(issuer.do, "activateCard", card_id=card.card_id, card_request_id=987)
    for _ in range(5):
        wrong()
    return wrong


PLAYS: list[tuple[Kind, Callable[[Causeway], Callable[[], object]]]] = [
    ("misused_token", second_use_of_a_code),
    ("misused_token", late_use_of_a_refresh_token),
    ("replayed_proof", replayed_proof),
    ("wrong_key", proof_of_another_key),
    ("refused_certificate", missing_certificate),
    ("wrong_client_credentials", wrong_client_secret),
    ("wrong_bank_credentials", wrong_bank_key),
    ("wrong_bank_credentials", wrong_bank_signature),
    ("wrong_card_credentials", wrong_card_credentials),
    ("too_many_attempts", too_many_passwords),
    ("too_many_attempts", too_many_activations),
]


@pytest.fixture(autouse=True)
def in_use(causeway: Causeway) -> Iterator[None]:
    security_refusals.count_with(causeway.hub.metrics)
    yield
    security_refusals.count_with(None)


@pytest.mark.parametrize(("kind", "play"), PLAYS, ids=[play.__name__ for _, play in PLAYS])
def test_a_suspicious_rejected_request_is_counted_once_and_logged(
    causeway: Causeway, lines: Lines, capsys: pytest.CaptureFixture[str], kind: Kind, play: Callable[[Causeway], Any]
) -> None:
    refuse = play(causeway)
    capsys.readouterr()
    before = len(lines.all())

    refuse()

    output = capsys.readouterr().out
    assert metric_values(output, METRIC, Stage="local") == [1]
    assert metric_values(output, METRIC, Stage="local", Kind=kind) == [1]
    assert [line["level"] for line in lines.all()[before:]].count("WARNING") == 1


def test_a_reused_authorization_code_is_counted_once_as_misused_token(
    causeway: Causeway, capsys: pytest.CaptureFixture[str]
) -> None:
    redeem = second_use_of_a_code(causeway)
    answers = [redeem() for _ in range(3)]

    assert len({str(answer.body["title"]) for answer in answers}) == 1
    assert metric_values(capsys.readouterr().out, METRIC, Stage="local", Kind="misused_token") == [1]


def test_a_wrong_api_key_of_a_bank_is_logged_with_the_bank(causeway: Causeway, lines: Lines) -> None:
    bank_id, _, secret = causeway.banks[1].api_key.partition(".")
    wrong = f"{bank_id}.{secret.swapcase()}"
    causeway.banks[1].call("/init_authorization", {"request_url": ""}, headers={"x-api-key": wrong})

    assert [line["bic"] for line in lines.all() if line["message"] == "credentials refused"] == ["ALPHGB21"]


def test_valid_credentials_are_not_counted_as_security_refusals(
    causeway: Causeway, capsys: pytest.CaptureFixture[str]
) -> None:
    causeway.tpp.tokens(1)
    Issuer(causeway).card()
    causeway.tpp.call("GET", "/tpp/banks")

    assert METRIC not in capsys.readouterr().out


def test_every_kind_of_security_refusal_is_tested_and_documented() -> None:
    documented = [row[0] for row in rows(section(ALARMS_PAGE, "## Refusals that may be attacks"))]

    assert {kind for kind, _ in PLAYS} == set(get_args(Kind))
    assert set(get_args(Kind)) <= set(documented)


def test_refusals_of_credentials_are_logged_only_by_security_refusals() -> None:
    past = [
        f"{module}: {event.value!r}"
        for module in MODULES
        if not within(module, "chalicelib.demo_bank")
        for node in nodes(module)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("log.warning", "log.info")
        for event in node.args[:1]
        if isinstance(event, ast.Constant) and str(event.value).endswith(" refused")
    ]

    assert past == ["chalicelib.openbanking.flows.consent.pushed_authorization: 'request_uri refused'"]


def test_security_refusals_are_counted_in_the_metrics_of_the_stage(
    causeway: Causeway, capsys: pytest.CaptureFixture[str]
) -> None:
    bootstrap.use(causeway.hub)
    try:
        security_refusals.record("wrong_key", "proof refused")
    finally:
        bootstrap.use(None)
    security_refusals.record("wrong_key", "proof refused")

    assert metric_values(capsys.readouterr().out, METRIC, Stage="local") == [1]
