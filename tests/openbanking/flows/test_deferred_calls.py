"""Tests of deferred calls: acceptance, retries within the time limit, and access to the outcome."""

import uuid
from typing import Any

import pytest

from chalicelib.bootstrap import PLANS
from chalicelib.foundation.http.outbound import Reply, TimedOut
from chalicelib.foundation.jsontext import Number
from tests.causeway import Answer, Causeway
from tests.kit.logs import Lines
from tests.openbanking.accounts import ACCOUNTS, DeferredRead
from tests.openbanking.examples import BY_WEBHOOK, OTHER_IBAN, ROWS, Row, spelled
from tests.openbanking.kit import IBAN, LATER, UNREACHABLE, ReceivedRequest, WorkerKilled, accepted_id, kill_worker
from tests.openbanking.payments import Pisp
from tests.openbanking.relay import Relay, error_of

ALL_ROWS = pytest.mark.parametrize("row", ROWS, ids=str)
DAY = 24 * 3600
RELAY = PLANS["relay"]


@pytest.fixture
def deferred(causeway: Causeway) -> DeferredRead:
    return DeferredRead(causeway)


# -- every call


@ALL_ROWS
def test_a_deferred_call_is_queued_executed_and_returns_the_response_of_an_immediate_call(
    causeway: Causeway, row: Row
) -> None:
    relay, request_id = Relay(causeway), str(uuid.uuid4())
    waited = relay.call(row, headers={"x-request-id": str(uuid.uuid4())})
    assert waited.status == 200
    (sent_at_once,) = relay.received(row)

    accepting = relay.call(row, headers=LATER | {"x-request-id": request_id, "psu-ip-address": "192.0.2.7"})
    deferred_id, bearer = accepted_id(accepting), relay.bearer(row.version) if row.token else None
    assert accepting.headers["x-request-id"] == request_id
    assert relay.received(row) == []

    def fetched() -> Answer:
        return causeway.tpp.look_up(deferred_id, bearer)

    seen = [fetched().body]

    def answer(sent: ReceivedRequest) -> Any:
        seen.append(fetched().body)
        return row.answer

    relay.bank(row).answers[row.webhook] = answer
    causeway.hub.delivery.worker.attempt(deferred_id)

    assert seen == [{"state": state, "status": None, "body": None} for state in ("queued", "running")]
    assert spelled(fetched().text) == {"state": "done", "status": ("200",), "body": spelled(waited.text)}
    (sent,) = relay.received(row)
    assert sent.body == sent_at_once.body
    assert (sent.headers["X-Request-Id"], sent.headers["PSU-IP-Address"]) == (request_id, "192.0.2.7")
    assert ("X-Auth-Token" in sent.headers) == row.token


@pytest.mark.parametrize("version", [1, 2])
def test_a_deferred_account_list_withholds_unapproved_accounts(causeway: Causeway, version: int) -> None:
    row, bearer = ACCOUNTS[version], Relay(causeway).bearer_for(version, ibans=[IBAN])
    mine = row.answer["accounts"][0]
    answer = row.answer | {"accounts": [mine, mine | {"iban": OTHER_IBAN}]}
    causeway.banks[version].answers[row.webhook] = lambda sent: answer

    request_id = accepted_id(causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer, headers=LATER))
    causeway.hub.delivery.worker.attempt(request_id)

    found = causeway.tpp.look_up(request_id, bearer).body["body"]["accounts"]
    assert [account["iban"] for account in found] == [IBAN]


REFUSED = ["/accounts", "/funds_confirmations", "/v2_accounts", "/v2_account_transactions", "/v2_payment_bulk_status"]


@pytest.mark.parametrize("row", [BY_WEBHOOK[webhook] for webhook in REFUSED], ids=str)
def test_a_deferred_call_returns_a_bank_refusal_like_an_immediate_call(causeway: Causeway, row: Row) -> None:
    relay, headers = Relay(causeway), {"x-request-id": str(uuid.uuid4())}
    said = b'{"status":"error","error_code":77,"message":"no"}' if row.version == 1 else b'{"code":"NO","title":"no"}'
    refusal = Reply(400, said, {}, 0.01)
    waited = relay.call(row, answer=refusal, headers=headers)

    request_id = accepted_id(relay.call(row, answer=refusal, headers=headers | LATER))
    causeway.hub.delivery.worker.attempt(request_id)
    causeway.hub.delivery.worker.attempt(request_id)

    assert error_of(waited)[:2] == (502, "ASPSP_UNKNOWN_ERROR")
    fetched = causeway.tpp.look_up(request_id, relay.bearer(row.version)).body
    assert fetched == {"state": "failed", "status": 502, "body": waited.body}
    assert len(relay.received(row)) == 1


@pytest.mark.parametrize("kind", ["single", "direct"])
def test_a_reported_version_1_payment_status_is_returned_immediately(causeway: Causeway, kind: str) -> None:
    pisp = Pisp(causeway, 1, kind)
    pisp.pay()
    bic = f"&bic={pisp.bank.bic}" if kind == "direct" else ""

    answer = causeway.tpp.call("GET", f"/tpp/payment_status?payment_id=P-1{bic}", bearer=pisp.bearer, headers=LATER)

    assert (answer.status, answer.body["payment_status"]) == (200, 1)
    assert "preference-applied" not in answer.headers
    assert causeway.recorded() == []


@pytest.mark.parametrize("kind", ["single", "direct"])
def test_a_deferred_status_can_be_fetched_with_a_used_consent_and_for_a_direct_payment(
    causeway: Causeway, kind: str
) -> None:
    pisp = Pisp(causeway, 2, kind, "one_time")
    pisp.pay()
    pisp.bank.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}
    bic = f"&bic={pisp.bank.bic}" if kind == "direct" else ""

    path = f"/tpp/payment_status?payment_id=P-1{bic}"
    request_id = accepted_id(causeway.tpp.call("GET", path, bearer=pisp.bearer, headers=LATER))
    causeway.hub.delivery.worker.attempt(request_id)

    fetched = causeway.tpp.look_up(request_id, pisp.bearer).body
    assert fetched["body"] == {"payment_id": "P-1", "transaction_status": "ACSC"}


# -- the preference


def test_the_preference_respond_async_is_recognised_in_any_letter_case_and_among_others(deferred: DeferredRead) -> None:
    for preference in (
        "Respond-Async",
        "wait=5, Respond-Async",
        "respond-async;x=1",
        " return=minimal ,respond-async",
        "respond-async,",
    ):
        accepted_id(deferred.defer(prefer=preference))


def test_preferences_other_than_respond_async_are_ignored(deferred: DeferredRead) -> None:
    for preference in ("", "wait=10", "return=minimal", "respond-asynchronously", "x=respond-async", "async"):
        answer = deferred.read(headers={"prefer": preference})
        assert (answer.status, "preference-applied" in answer.headers) == (200, False), preference

    assert len(deferred.causeway.recorded()) == 1


def test_calls_that_send_no_bank_request_ignore_respond_async(deferred: DeferredRead) -> None:
    for path in ("/tpp/consent", "/tpp/banks", "/tpp/scope?bic=ALPHGB21"):
        answer = deferred.causeway.tpp.call("GET", path, bearer=deferred.bearer, headers=LATER)
        assert (answer.status, "preference-applied" in answer.headers) == (200, False), path


# -- what is refused at once


WRONG_CALLS: dict[str, tuple[int, str, dict[str, Any]]] = {
    "no client": (401, "AUTHENTICATION_REQUIRED", {"client_id": ""}),
    "an unknown client": (401, "WRONG_CREDENTIALS", {"client_id": "nobody"}),
    "a request id that is none": (401, "REQUEST_ID_NOT_UUID", {"headers": {"x-request-id": "x"}}),
    "no bearer": (401, "AUTHENTICATION_REQUIRED", {"bearer": None}),
    "an unknown bearer": (401, "AUTHENTICATION_REQUIRED", {"bearer": f"{'0' * 22}.{'0' * 22}.ALPHGB21.{'A' * 43}"}),
    "a call of the other version": (401, "API_ACTION_DOES_NOT_EXIST", {"path": "/tpp/account_transactions"}),
    "a scope that was not approved": (403, "SERVICE_BLOCKED", {"path": "/tpp/account_payments?iban=" + IBAN}),
    "a missing parameter": (400, "PARAMETER_NOT_CONSISTENT", {"path": "/tpp/account"}),
    "an unknown parameter": (400, "PARAMETER_NOT_CONSISTENT", {"path": "/tpp/accounts?x=1"}),
    "an account that was not approved": (403, "SERVICE_BLOCKED", {"path": "/tpp/account?iban=DE89370400440532013000"}),
    "no address": (400, "HEADERS_ERROR", {"headers": {"psu-ip-address": "here"}}),
    "an unknown payment": (404, "RESOURCE_UNKNOWN", {"path": "/tpp/payment_status?payment_id=P-9"}),
}


@pytest.mark.parametrize(("status", "code", "wrong"), WRONG_CALLS.values(), ids=WRONG_CALLS)
def test_an_invalid_deferred_call_is_rejected_immediately_and_not_recorded(
    causeway: Causeway, status: int, code: str, wrong: dict[str, Any]
) -> None:
    members = {"path": "/tpp/accounts", "bearer": causeway.tpp.tokens(1)["access_token"], **wrong}
    headers = LATER | members.pop("headers", {})

    answer = causeway.tpp.call("GET", members.pop("path"), headers=headers, **members)

    assert error_of(answer)[:2] == (status, code)
    assert (causeway.recorded(), causeway.banks[1].received) == ([], [])


# -- who may fetch it


def test_every_bearer_token_of_the_consent_can_fetch_the_outcome_of_a_deferred_call(deferred: DeferredRead) -> None:
    deferred.attempt()

    for bearer in (deferred.bearer, deferred.refresh()):
        assert deferred.causeway.tpp.look_up(deferred.request_id, bearer).body["state"] == "done"


def test_fetching_the_outcome_with_the_bearer_token_of_another_consent_returns_404(deferred: DeferredRead) -> None:
    other = deferred.causeway.tpp.tokens(1)["access_token"]

    assert error_of(deferred.causeway.tpp.look_up(deferred.request_id, other))[:2] == (404, "RESOURCE_UNKNOWN")


def test_another_client_cannot_fetch_the_outcome_of_a_deferred_call(deferred: DeferredRead) -> None:
    causeway = deferred.causeway
    causeway.tpp.client = causeway.hub.openbanking.clients.create(owner="x@example.com", title="Other").client
    other = causeway.tpp.tokens(1)["access_token"]

    for bearer in (other, None):
        assert error_of(causeway.tpp.look_up(deferred.request_id, bearer))[:2] == (404, "RESOURCE_UNKNOWN")
    stolen = causeway.tpp.look_up(deferred.request_id, deferred.bearer)
    assert error_of(stolen)[:2] == (401, "AUTHENTICATION_REQUIRED")


def test_fetching_the_outcome_of_a_bearer_token_call_without_a_bearer_token_returns_401(deferred: DeferredRead) -> None:
    answer = deferred.causeway.tpp.look_up(deferred.request_id)

    assert error_of(answer)[:2] == (401, "AUTHENTICATION_REQUIRED")
    assert "www-authenticate" in answer.headers


def test_fetching_the_outcome_with_the_bearer_token_of_a_revoked_consent_returns_401(deferred: DeferredRead) -> None:
    deferred.attempt()
    deferred.causeway.tpp.call("POST", "/tpp/token/revoke", {"token": deferred.bearer})

    assert deferred.causeway.tpp.look_up(deferred.request_id, deferred.bearer).status == 401


def test_only_the_client_of_a_direct_payment_can_fetch_the_outcome(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2, "direct")
    request_id = accepted_id(Relay(causeway).call(BY_WEBHOOK["/v2_payment_direct_single"], headers=LATER))
    pisp.bank_answers(BY_WEBHOOK["/v2_payment_direct_single"].answer)
    causeway.hub.delivery.worker.attempt(request_id)
    bearer = causeway.tpp.tokens(1)["access_token"]

    assert [causeway.tpp.look_up(request_id, each).body["state"] for each in (None, bearer)] == ["done", "done"]
    assert causeway.tpp.look_up(request_id, client_id="").status == 401
    causeway.tpp.client = causeway.hub.openbanking.clients.create(owner="x@example.com", title="Other").client
    assert error_of(causeway.tpp.look_up(request_id))[:2] == (404, "RESOURCE_UNKNOWN")


def test_an_unknown_request_id_returns_404(deferred: DeferredRead) -> None:
    for request_id in ("nonsense", "x" * 65, "receiver%23bank%23ALPHGB21", "%00"):
        answer = deferred.causeway.tpp.look_up(request_id, deferred.bearer)
        assert error_of(answer)[:2] == (404, "RESOURCE_UNKNOWN"), request_id


def test_fetching_the_outcome_with_the_id_of_an_event_or_of_a_notice_returns_404(deferred: DeferredRead) -> None:
    causeway = deferred.causeway
    causeway.tpp.set_events_url()
    event = causeway.hub.openbanking.tpp_events.send_test(causeway.tpp.client)
    causeway.tpp.call("POST", "/tpp/token/revoke", {"token": causeway.tpp.tokens(1)["access_token"]})

    (notice,) = causeway.recorded("revoke_token")
    for delivery_id in (event, notice.delivery_id):
        for bearer in (deferred.bearer, None):
            assert error_of(causeway.tpp.look_up(delivery_id, bearer))[:2] == (404, "RESOURCE_UNKNOWN")


def test_a_request_query_with_parameters_returns_400(deferred: DeferredRead) -> None:
    answer = deferred.causeway.tpp.call("GET", f"/tpp/requests/{deferred.request_id}?x=1", bearer=deferred.bearer)

    assert error_of(answer)[:2] == (400, "PARAMETER_NOT_CONSISTENT")


def test_the_outcome_of_a_deferred_call_expires_after_a_day(deferred: DeferredRead) -> None:
    deferred.attempt()
    deferred.causeway.clock.advance(DAY - 1)
    bearer = deferred.refresh()
    assert deferred.causeway.tpp.look_up(deferred.request_id, bearer).body["state"] == "done"

    deferred.causeway.clock.advance(1)

    assert error_of(deferred.causeway.tpp.look_up(deferred.request_id, bearer))[:2] == (404, "RESOURCE_UNKNOWN")


# -- a bank that does not answer


def asked(deferred: DeferredRead) -> list[int]:
    """Return the age of the call, in seconds, at each attempt that reached the bank."""
    ages, began = [], deferred.causeway.clock.time()
    while (delivery := deferred.causeway.delivery(deferred.request_id)).state == "due":
        deferred.causeway.clock.advance(max((delivery.due_at or 0) - deferred.causeway.clock.time(), 0))
        before = len(deferred.bank.received)
        deferred.attempt()
        ages += [deferred.causeway.clock.time() - began] * (len(deferred.bank.received) - before)
    return ages


@pytest.mark.parametrize("version", [1, 2])
def test_a_failed_bank_call_is_retried_until_a_retry_succeeds(causeway: Causeway, version: int) -> None:
    deferred = DeferredRead(causeway, version)
    for failure in (UNREACHABLE, TimedOut("no answer came in time"), Reply(503, b"", {}, 0)):
        deferred.bank_answers(failure)
        deferred.attempt()
        delivery = causeway.delivery(deferred.request_id)
        assert deferred.outcome() == {"state": "queued", "status": None, "body": None}
        causeway.clock.advance((delivery.due_at or 0) - causeway.clock.time())
    deferred.bank_answers(deferred.row.answer)
    deferred.attempt()

    assert (deferred.outcome()["state"], len(deferred.bank.received)) == ("done", 4)
    assert len({sent.headers["X-Request-Id"] for sent in deferred.bank.received}) == 1


def test_a_bank_call_is_retried_for_at_most_5_minutes(deferred: DeferredRead) -> None:
    deferred.bank_answers(UNREACHABLE)
    waited = deferred.read().body

    ages = asked(deferred)

    assert len(ages) >= 4
    assert ages[-1] <= RELAY.lifetime == 300
    outcome = deferred.outcome()
    assert (outcome["state"], outcome["status"]) == ("failed", 502)
    assert outcome["body"]["code"] == waited["code"]
    deferred.causeway.clock.advance(3600)
    deferred.attempt()
    assert len(deferred.bank.received) == 1 + len(ages)


def test_a_call_without_an_attempt_in_5_minutes_fails_and_is_not_sent(deferred: DeferredRead) -> None:
    deferred.causeway.clock.advance(RELAY.lifetime + 1)
    deferred.attempt()

    outcome = deferred.outcome()
    assert outcome["state"] == "failed"
    assert outcome["status"] == 502
    assert outcome["body"]["code"] == "ASPSP_UNKNOWN_ERROR"
    assert deferred.bank.received == []


def test_an_open_circuit_postpones_a_call_without_counting_an_attempt(deferred: DeferredRead) -> None:
    bic = deferred.bank.bic
    for _ in range(5):
        deferred.causeway.hub.openbanking.bank_client.breaker.record_failure(bic)

    deferred.attempt()

    delivery = deferred.causeway.delivery(deferred.request_id)
    assert delivery.state == "due"
    assert delivery.attempts == 0
    assert deferred.bank.received == []
    assert asked(deferred)[-1] <= 60
    assert deferred.outcome()["state"] == "done"


def test_a_deferred_call_of_a_crashed_worker_is_retried_by_another_worker(deferred: DeferredRead) -> None:
    deferred.bank.answers[deferred.row.webhook] = kill_worker
    with pytest.raises(WorkerKilled):
        deferred.attempt()
    assert deferred.outcome()["state"] == "running"
    deferred.bank_answers(deferred.row.answer)

    deferred.causeway.clock.advance(59)
    deferred.attempt()
    assert len(deferred.bank.received) == 1
    deferred.causeway.clock.advance(1)
    assert deferred.outcome()["state"] == "queued"
    deferred.attempt()
    assert deferred.outcome()["state"] == "done"


# -- what has changed in the meantime


def test_a_call_of_a_revoked_consent_is_not_sent(deferred: DeferredRead) -> None:
    deferred.causeway.tpp.call("POST", "/tpp/token/revoke", {"token": deferred.bearer})

    deferred.attempt()

    assert (deferred.state, deferred.bank.received) == ("failed", [])


def test_a_call_of_an_inactive_client_is_not_sent(deferred: DeferredRead) -> None:
    clients, client_id = deferred.causeway.hub.openbanking.clients, deferred.causeway.tpp.client_id
    clients.deactivate(client_id)
    deferred.attempt()
    clients.activate(client_id)

    outcome = deferred.outcome()
    assert outcome["state"] == "failed"
    assert outcome["status"] == 401
    assert outcome["body"]["code"] == "WRONG_CREDENTIALS"
    assert deferred.bank.received == []


def test_a_call_to_an_inactive_bank_is_not_sent(deferred: DeferredRead) -> None:
    banks, bic = deferred.causeway.hub.openbanking.banks, deferred.bank.bic
    banks.change(bic, active=False)
    banks.forget()
    try:
        deferred.attempt()
        waited = deferred.read()
    finally:
        banks.change(bic, active=True)

    outcome = deferred.outcome()
    assert outcome["state"] == "failed"
    assert outcome["status"] == 404
    assert outcome["body"]["title"] == waited.body["title"]
    assert (waited.status, deferred.bank.received) == (404, [])


# -- what is kept


def test_the_request_and_the_response_of_a_deferred_call_are_encrypted_and_not_logged(
    causeway: Causeway, lines: Lines
) -> None:
    relay, row = Relay(causeway), BY_WEBHOOK["/funds_confirmations"]
    request_id = accepted_id(relay.call(row, headers=LATER | {"psu-ip-address": "192.0.2.7"}))
    deferred = DeferredRead(causeway)
    deferred.bank_answers({"status": "success", "accounts": [ACCOUNTS[1].answer["accounts"][0] | {"name": "nobody's"}]})
    for delivery_id in (request_id, deferred.request_id):
        causeway.hub.delivery.worker.attempt(delivery_id)

    assert deferred.outcome()["body"]["accounts"][0]["name"] == "nobody's"
    stored = repr(list(causeway.hub.store.scan("deliveries")))
    for hidden in (IBAN, "12.50", "192.0.2.7", "nobody's", "funds_available"):
        assert hidden not in stored
        assert hidden not in lines.text


def test_a_response_of_4_9_mb_to_a_deferred_call_is_stored_completely(deferred: DeferredRead) -> None:
    account = ACCOUNTS[1].answer["accounts"][0] | {"note": "x" * 4_900_000, "balance": Number("0.10")}
    deferred.bank_answers({"status": "success", "accounts": [account]})

    deferred.attempt()

    (kept,) = deferred.outcome()["body"]["accounts"]
    assert (len(kept["note"]), str(kept["balance"])) == (4_900_000, "0.10")
    delivery = deferred.causeway.delivery(deferred.request_id)
    assert delivery.answer is not None
    assert delivery.answer["parts"] > 10
