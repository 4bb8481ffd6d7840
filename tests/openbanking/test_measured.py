"""Which request counts as what: at which bank, in which service, and whose fault a failure is."""

from __future__ import annotations

import threading
from typing import Any
from urllib.parse import urlencode

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.outbound import Dropped, NotReached, Reply, TimedOut, TooLarge
from chalicelib.openbanking.protocol.webhooks import PAYMENTS, RELAYED, REVOKE_TOKEN, STATUS
from chalicelib.statistics import current_call
from infra.admin.probe import probe
from tests.openbanking.examples import ROWS
from tests.openbanking.faults import Fault
from tests.openbanking.meter import Counts, counts, deliver, measured, slips
from tests.openbanking.stage import Stage
from tests.openbanking.test_call_counts import counted
from tests.openbanking.test_circuit import Reader, opened
from tests.openbanking.test_payments import Payer
from tests.world import World

VERSIONS = pytest.mark.parametrize("version", [1, 2])
KINDS = pytest.mark.parametrize("kind", ["single", "bulk", "direct"])
BIC = {1: "ALPHGB21", 2: "BETADEF1"}
LATER = {"prefer": "respond-async"}
SERVICES = {
    "accounts": "AISP",
    "account": "AISP",
    "account_balance": "AISP",
    "account_payments": "AISP",
    "account_payment": "AISP",
    "account_transactions": "AISP",
    "funds_confirmations": "CBPII",
}


def of(version: int, service: str, **counts: int) -> Counts:
    """What was counted of one bank and service, and nothing of any other."""
    return {f"{BIC[version]} {service}": counts}


def error(version: int, code: int | str, status: int) -> Reply:
    """A bank's error, of its version's form."""
    body = {"status": "error", "error_code": code, "message": "no"} if version == 1 else {"code": code, "title": "no"}
    return Reply(status, jsontext.dumps(body).encode(), {}, 0.01)


# -- the protocol's rows


def test_every_webhook_is_counted_under_the_service_of_its_call() -> None:
    assert {call.name: call.service for call in RELAYED} == SERVICES
    for call in RELAYED:
        assert {webhook.service for webhook in call.webhooks.values()} == {call.service}
    assert {webhook.service for call in PAYMENTS for webhook in call.webhooks.values()} == {"PISP"}
    assert {webhook.service for webhook in STATUS.values()} == {"PISP"}
    assert REVOKE_TOKEN.service == "authorization"


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_call_that_the_bank_answers_counts_once_in_its_service(world: World, row: Any) -> None:
    stage = Stage(world)
    stage.ask(row)

    service = "PISP" if "payment_" in row.call and not row.in_query else SERVICES.get(row.call[5:], "PISP")
    assert measured(world, lambda: stage.ask(row)) == of(row.version, service, calls=1, answered=1)


# -- whose fault

FAULTS: dict[str, tuple[Any, dict[str, int]]] = {
    "no connection": (NotReached("x"), {"unanswered": 1, "bank": 1}),
    "a time-out": (TimedOut("x"), {"unanswered": 1, "bank": 1}),
    "a broken connection": (Dropped("x"), {"unanswered": 1, "bank": 1}),
    "too large an answer": (TooLarge("x"), {"answered": 1, "bank": 1}),
    "no JSON": (Reply(200, b"<html>", {}, 0.01), {"answered": 1, "bank": 1}),
    "a success without its members": (Reply(200, b'{"status":"success"}', {}, 0.01), {"answered": 1, "bank": 1}),
    "a server error": (Reply(503, b"", {}, 0.01), {"answered": 1, "bank": 1}),
    "too many requests": (429, {"answered": 1, "bank": 1}),
    "a conflict": (409, {"answered": 1, "bank": 1}),
    "a server error of its form": (500, {"answered": 1, "bank": 1}),
    "a failure of its own, by its code": ("broken", {"answered": 1, "bank": 1}),
    "a plain no": (403, {"answered": 1, "caller": 1}),
    "a token that it does not accept": (401, {"answered": 1, "caller": 1}),
}


@VERSIONS
@pytest.mark.parametrize(("answer", "expected"), FAULTS.values(), ids=FAULTS)
def test_a_failure_at_the_bank_counts_once_by_whose_fault_it_is(
    world: World, version: int, answer: Any, expected: dict[str, int]
) -> None:
    reader = Reader(world, version)
    if answer == "broken":
        answer = error(version, 4002 if version == 1 else "ASPSP_UNKNOWN_ERROR", 200 if version == 1 else 400)
    elif isinstance(answer, int):
        answer = error(version, 4200 if version == 1 else "SERVICE_BLOCKED", answer)

    assert measured(world, lambda: reader.ask(answer)) == of(version, "AISP", calls=1, **expected)


@VERSIONS
def test_a_bank_that_is_left_alone_was_not_asked(world: World, version: int) -> None:
    reader = Reader(world, version)
    opened(world, version)

    assert measured(world, reader.ask) == of(version, "AISP", calls=1, not_asked=1)


@VERSIONS
def test_what_is_refused_here_is_the_callers_fault_once_the_bank_is_known(world: World, version: int) -> None:
    bearer = world.tokens(version)["access_token"]
    only_there = "/tpp/account_transactions" if version == 1 else "/tpp/account_payments"
    refused = {
        "/tpp/account?account_id=1&account_id=2": ("AISP", 400),
        "/tpp/account?nonsense=1": ("AISP", 400),
        "/tpp/account_balance?account_id=1": ("AISP", 403),
        "/tpp/account?iban=DE89370400440532013000": ("AISP", 403 if version == 1 else 400),
        only_there: ("AISP", 401),
        "/tpp/payment_status?payment_id=no-such": ("PISP", 404),
    }

    for path, (service, status) in refused.items():

        def ask(path: str = path, status: int = status) -> None:
            assert world.tpp("GET", path, bearer=bearer).status == status

        assert measured(world, ask) == of(version, service, calls=1, caller=1), path


def test_a_bank_that_was_switched_off_is_refused_like_anything_else_that_is_not_there(world: World) -> None:
    bearer = world.tokens(1)["access_token"]
    world.hub.banks.change("ALPHGB21", active=False)
    try:
        found = measured(world, lambda: world.tpp("GET", "/tpp/accounts", bearer=bearer))
    finally:
        world.hub.banks.change("ALPHGB21", active=True)

    assert found == of(1, "AISP", calls=1, caller=1)


def test_what_the_service_itself_fails_at_is_its_own_fault(world: World) -> None:
    bearer = world.tokens(1)["access_token"]

    def ask() -> None:
        with world.storage_gone("transact"):
            assert world.tpp("GET", "/tpp/accounts", bearer=bearer, headers=LATER).status == 500

    assert measured(world, ask) == of(1, "AISP", calls=1, hub=1)


def test_what_names_no_bank_that_is_known_counts_nowhere(world: World) -> None:
    bearer = world.tokens(1)["access_token"]

    def ask() -> None:
        world.tpp("GET", "/tpp/accounts", client_id="nobody", bearer=bearer)
        world.tpp("GET", "/tpp/accounts")
        world.tpp("GET", "/tpp/accounts", bearer="a~b~ALPHGB21." + "x" * 43)
        world.tpp("POST", "/tpp/authorize", {"bic": "NOSUCHXX", "scopes": ["account.list"]})
        world.tpp("POST", "/tpp/token", {"code": "a." + "x" * 43})
        world.tpp("POST", "/tpp/direct_payment_initiation", {"bic": "NOSUCHXX"})
        world.tpp("GET", "/tpp/payment_status?payment_id=1&bic=ALPHGB21")
        with world.storage_gone("batch_get"):
            world.tpp("GET", "/tpp/accounts", bearer=bearer)

    assert measured(world, ask) == {}


@pytest.mark.parametrize("path", ["/tpp/banks", "/tpp/scope?bic=ALPHGB21", "/tpp/consent", "/health", "/", "/tpp/no"])
def test_what_the_service_answers_by_itself_counts_at_no_bank(world: World, path: str) -> None:
    bearer = world.tokens(1)["access_token"]

    assert measured(world, lambda: world.tpp("GET", path, bearer=bearer)) == {}


# -- times


@VERSIONS
def test_the_banks_time_is_counted_at_the_second_of_sending_and_the_rest_is_the_services(
    world: World, version: int
) -> None:
    reader = Reader(world, version)
    world.clock.advance(3599.5)

    def answer(sent: object) -> Any:
        world.clock.advance(1.5)
        return {"accounts": [], "status": "success"} if version == 1 else {"accounts": []}

    def ask() -> None:
        reader.side.answers["/accounts" if version == 1 else "/v2_accounts"] = answer
        assert world.tpp("GET", "/tpp/accounts", bearer=reader.bearer).status == 200

    measured(world, ask)

    (slip,) = slips(world)
    assert slip.hour == world.clock.time() // 3600 * 3600 - 3600
    assert list(slip.replies()) == [(slip.hour + 3599, True, 0)]
    assert (slip.latency("AISP").bank.microseconds, slip.latency("AISP").hub.microseconds) == (1_500_000, 0)


# -- payments


@VERSIONS
@KINDS
def test_a_payment_and_the_question_what_became_of_it_count_as_payments(world: World, version: int, kind: str) -> None:
    payer = Payer(world, version, kind)
    for path in ("/v2_payment_single_status", "/v2_payment_bulk_status"):
        payer.side.answers[path] = lambda sent: {"transaction_status": "ACSC"}

    assert measured(world, payer.pay) == of(version, "PISP", calls=1, answered=1)
    asked = {"answered": 1} if version == 2 else {}  # a bank of version 1 reports, and is not asked
    assert measured(world, payer.status) == of(version, "PISP", calls=1, **asked)


@VERSIONS
@KINDS
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (NotReached("x"), {"unanswered": 1, "bank": 1}),
        (TimedOut("x"), {"unanswered": 1, "bank": 1}),
        (403, {"answered": 1, "caller": 1}),
        ({"status": "success", "payment_id": "", "confirmation_url": ""}, {"answered": 1, "bank": 1}),
    ],
    ids=["never sent", "unknown", "refused", "unusable"],
)
def test_a_payment_that_fails_counts_once_and_its_repeat_with_the_key_does_not(
    world: World, version: int, kind: str, answer: Any, expected: dict[str, int]
) -> None:
    payer = Payer(world, version, kind)
    payer.bank_does(error(version, 4200 if version == 1 else "WRONG_CREDENTIALS", 403) if answer == 403 else answer)

    def pay() -> None:
        assert payer.pay("key-1").status == 502

    assert measured(world, pay) == of(version, "PISP", calls=1, **expected)
    assert measured(world, pay) == {}
    assert payer.calls == 1


@VERSIONS
@KINDS
@pytest.mark.parametrize("headers", [{}, LATER], ids=["at once", "later"])
def test_the_repeat_of_a_payment_is_the_same_request_and_does_not_count(
    world: World, version: int, kind: str, headers: dict[str, str]
) -> None:
    payer = Payer(world, version, kind, "one_time")
    payer.headers = headers
    payer.pay("key-1")

    assert measured(world, lambda: payer.pay("key-1")) == {}


def test_a_key_that_was_used_for_something_else_is_the_callers_fault(world: World) -> None:
    payer = Payer(world, 1)
    payer.pay("key-1")

    assert measured(world, lambda: payer.pay("key-1", amount="7.00")) == of(1, "PISP", calls=1, caller=1)


def test_a_payment_that_never_ended_is_the_services_fault_and_who_comes_too_early_is_at_fault(world: World) -> None:
    payer = Payer(world, 1)

    def pay(status: int) -> None:
        assert payer.pay("key-1").status == status

    def pay_and_lose_the_answer() -> None:
        with Fault(world, "before", 3, lasting=True):
            pay(500)

    assert measured(world, pay_and_lose_the_answer) == of(1, "PISP", calls=1, answered=1, hub=1)
    assert measured(world, lambda: pay(409)) == of(1, "PISP", calls=1, caller=1)
    world.clock.advance(31)
    assert measured(world, lambda: pay(502)) == of(1, "PISP", calls=1, hub=1)


def test_a_one_time_consent_that_is_used_up_is_the_callers_fault(world: World) -> None:
    payer = Payer(world, 1, consent_type="one_time")
    payer.pay()

    assert measured(world, payer.pay) == of(1, "PISP", calls=1, caller=1)


@VERSIONS
@KINDS
def test_a_payment_to_a_bank_that_is_left_alone_was_not_asked_for(world: World, version: int, kind: str) -> None:
    payer = Payer(world, version, kind)
    opened(world, version)

    assert measured(world, payer.pay) == of(version, "PISP", calls=1, not_asked=1)


@VERSIONS
def test_a_payment_that_the_bank_took_and_nobody_could_record_is_the_services_fault(world: World, version: int) -> None:
    payer = Payer(world, version)

    def pay() -> None:
        with world.storage_gone("transact"):
            assert payer.pay().status == 500

    assert measured(world, pay) == of(version, "PISP", calls=1, answered=1, hub=1)


# -- what is carried out later


@VERSIONS
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, {"answered": 1}),
        (NotReached("x"), {"unanswered": 1, "bank": 1}),
        (403, {"answered": 1, "caller": 1}),
    ],
    ids=["answered", "not reached", "refused"],
)
def test_an_accepted_call_is_the_request_and_its_attempts_count_at_the_bank_only(
    world: World, version: int, answer: Any, expected: dict[str, int]
) -> None:
    bearer = world.tokens(version)["access_token"]
    answer = error(version, 4200 if version == 1 else "SERVICE_BLOCKED", 403) if answer == 403 else answer
    good = {"status": "success", "accounts": []} if version == 1 else {"accounts": []}
    path = "/accounts" if version == 1 else "/v2_accounts"
    world.banks[version].answers[path] = lambda sent: good if answer is None else answer
    accepted: list[str] = []

    def ask() -> None:
        answered = world.tpp("GET", "/tpp/accounts", bearer=bearer, headers=LATER)
        assert answered.status == 202
        accepted.append(answered.body["request_id"])

    assert measured(world, ask) == of(version, "AISP", calls=1)
    assert measured(world, lambda: deliver(*accepted)) == of(version, "AISP", **expected)
    assert measured(world, lambda: world.tpp("GET", f"/tpp/requests/{accepted[0]}", bearer=bearer)) == {}


@VERSIONS
@KINDS
def test_an_accepted_payment_is_the_request_and_its_attempt_counts_at_the_bank_only(
    world: World, version: int, kind: str
) -> None:
    payer = Payer(world, version, kind)
    payer.headers = LATER

    assert measured(world, payer.pay) == of(version, "PISP", calls=1)
    (delivery,) = world.recorded("payment")
    assert measured(world, lambda: deliver(delivery.delivery_id)) == of(version, "PISP", answered=1)


def test_a_delivery_that_waits_for_a_bank_that_is_left_alone_counts_nothing(world: World) -> None:
    bearer = world.tokens(1)["access_token"]
    request_id = world.tpp("GET", "/tpp/accounts", bearer=bearer, headers=LATER).body["request_id"]
    opened(world, 1)

    assert measured(world, lambda: deliver(request_id)) == {}


def test_deliveries_beside_each_other_count_each_for_itself(world: World) -> None:
    """A worker that takes several messages sends them at the same time."""
    both = threading.Barrier(2)

    class Worker:
        def attempt(self, bic: str) -> None:
            both.wait(10)
            current_call.asked(bic, "PISP", world.clock.time(), "answered", 0)
            both.wait(10)
            current_call.failed("bank" if bic == "ALPHGB21" else "caller")
            both.wait(10)

    world.hub.__dict__["worker"] = Worker()

    assert measured(world, lambda: deliver("ALPHGB21", "BETADEF1")) == {
        **of(1, "PISP", answered=1, bank=1),
        **of(2, "PISP", answered=1, caller=1),
    }


# -- authorization


@VERSIONS
def test_the_calls_that_give_and_end_a_consent_are_authorization(world: World, version: int) -> None:
    request = {"bic": BIC[version], "scopes": world.scopes(version)}
    codes, tokens = [], {}

    def redeem() -> None:
        tokens.update(world.tpp("POST", "/tpp/token", {"code": codes[0]}).body)

    def refresh() -> None:
        tokens.update(world.tpp("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]}).body)

    def revoke() -> None:
        assert world.tpp("POST", "/tpp/token/revoke", {"token": tokens["access_token"]}).status == 200

    one = of(version, "authorization", calls=1)
    assert measured(world, lambda: world.tpp("POST", "/tpp/authorize", request)) == one
    codes.append(world.approve(version).query["code"])
    assert [measured(world, redeem), measured(world, refresh), measured(world, revoke)] == [one] * 3


@VERSIONS
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"status": "success"}, {"answered": 1}),
        (NotReached("x"), {"unanswered": 1, "bank": 1}),
        (404, {"answered": 1, "caller": 1}),
    ],
    ids=["told", "not reached", "unknown there"],
)
def test_a_bank_that_is_told_of_an_end_counts_as_authorization(
    world: World, version: int, answer: Any, expected: dict[str, int]
) -> None:
    answer = error(1, 4202, 404) if answer == 404 else answer
    world.banks[version].answers["/revoke_token"] = lambda sent: answer
    token = world.tokens(version)["access_token"]
    world.tpp("POST", "/tpp/token/revoke", {"token": token})
    (delivery,) = world.recorded("revoke_token")

    assert measured(world, lambda: deliver(delivery.delivery_id)) == of(version, "authorization", **expected)


def test_what_a_tpp_does_wrong_with_what_a_consent_gave_it_is_its_own_fault(world: World) -> None:
    code = world.approve(1).query["code"]
    world.tpp("POST", "/tpp/token", {"code": code})
    tokens = world.tokens(2)
    wrong: list[tuple[int, dict[str, Any]]] = [
        (1, {"code": code}),  # a second time
        (2, {"code": world.approve(2).query["code"], "redirect_uri": "https://elsewhere.example"}),
        (2, {"code": world.approve(2).query["code"], "code_verifier": "v" * 43}),
    ]
    for version, body in wrong:

        def redeem(body: dict[str, Any] = body) -> None:
            assert world.tpp("POST", "/tpp/token", body).status == 400

        assert measured(world, redeem) == of(version, "authorization", calls=1, caller=1)
    world.tpp("POST", "/tpp/token/revoke", {"token": tokens["access_token"]})

    def refresh() -> None:
        assert world.tpp("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]}).status == 400

    assert measured(world, refresh) == of(2, "authorization", calls=1, caller=1)
    assert measured(world, lambda: world.tpp("POST", "/tpp/token/revoke", {"token": "unknown"})) == {}


def test_the_front_door_counts_what_its_redirects_do_not_tell(world: World) -> None:
    query = {"response_type": "code", "client_id": world.client.client_id, "bic": "ALPHGB21", "state": "s"}

    def knock(scope: str) -> None:
        assert world.call("GET", f"/oauth/authorize?{urlencode(query | {'scope': scope})}").status == 303

    def knock_while_the_storage_fails() -> None:
        with world.storage_gone("put"):
            knock("account.details")

    assert measured(world, lambda: knock("account.list")) == of(1, "authorization", calls=1)
    assert measured(world, lambda: knock("no.such")) == of(1, "authorization", calls=1, caller=1)
    assert measured(world, knock_while_the_storage_fails) == of(1, "authorization", calls=1, hub=1)


@VERSIONS
def test_what_banks_call_here_does_not_count(world: World, version: int) -> None:
    payer = Payer(world, version)
    payer.pay()
    consented, url = world.approve(version), world.authorize(version)["redirect_url"]
    url_name, token_name = ("request_url", "access_token") if version == 1 else ("requestUrl", "accessToken")

    def call() -> None:
        assert world.bank(version, "/init_authorization", {url_name: url}).status == 200
        assert world.bank(version, "/consent", world.consent_body(version, url)).status == 200
        assert world.bank(version, "/consent", world.consent_body(version, url)).status >= 400
        assert payer.report(4 if version == 1 else "ACSC").status == 200
        assert world.bank(version, "/token/revoke", {token_name: consented.bank_token}).status == 200

    assert measured(world, call) == {}


@VERSIONS
def test_the_operators_test_of_a_bank_does_not_count(world: World, version: int) -> None:
    side = world.banks[version]
    for path in ("/accounts", "/v2_accounts"):
        side.answers[path] = lambda sent: error(version, 4200, 401)

    assert measured(world, lambda: probe(world.hub, side.bank)) == {}
    assert side.received


# -- the storage, and the circuit


@VERSIONS
def test_a_relayed_read_takes_one_call_of_the_storage_and_once_a_minute_a_transaction_more(
    world: World, version: int
) -> None:
    reader = Reader(world, version)
    reader.ask()
    world.writes_measurements()
    taken = []

    for seconds in (0, 1, 58, 1, 30):
        world.clock.advance(seconds)
        world.hub.banks.find(BIC[version])
        with counted(world) as calls:
            assert reader.ask().status == 200
        taken.append(calls)

    assert taken == [
        ["BatchGetItem", "TransactWriteItems"],
        ["BatchGetItem"],
        ["BatchGetItem"],
        ["BatchGetItem", "TransactWriteItems"],
        ["BatchGetItem"],
    ]


def test_a_request_is_answered_as_ever_when_its_measurements_cannot_be_written(world: World) -> None:
    reader = Reader(world)
    world.writes_measurements()

    with world.storage_gone("transact"):
        assert reader.ask().status == 200
    world.hub.measurements.write()

    assert counts(slips(world))["ALPHGB21 AISP"] == {"calls": 1, "answered": 1}


def test_each_time_a_circuit_opens_is_told_once(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    reader = Reader(world)

    def openings() -> int:
        return capsys.readouterr().out.count('"Bank":"ALPHGB21","CircuitOpened":[1]}')

    reader.fail(4)
    assert openings() == 0
    reader.fail(1)
    assert openings() == 1
    for _ in range(3):
        reader.ask(NotReached("x"))
    assert openings() == 0
    world.clock.advance(30)
    reader.fail(1)  # the probe
    assert openings() == 1
    world.clock.advance(30)
    assert reader.ask().status == 200
    reader.fail(5)
    assert openings() == 1
