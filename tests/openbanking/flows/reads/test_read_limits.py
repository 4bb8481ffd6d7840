"""Tests of the daily limit of unattended reads for each consent, call and account, and of uncounted reads."""

from collections.abc import Mapping
from typing import Any

import pytest

from chalicelib.bootstrap import PLANS
from chalicelib.foundation.http.outbound import ConnectionDropped, NotReached, Reply, TimedOut
from tests.causeway import Answer, Causeway
from tests.kit.logs import Lines
from tests.openbanking.accounts import ATTENDED, LIMIT, Aisp, limit_reads, open_circuit
from tests.openbanking.kit import IBAN, LATER, VERSIONS, WorkerKilled, accepted_id, kill_worker

READS: dict[int, dict[str, dict[str, Any]]] = {
    1: {
        "accounts": {},
        "account": {"iban": IBAN},
        "account_balance": {"account_id": "77"},
        "account_payments": {"iban": IBAN},
        "account_payment": {"payment_id": "P-7"},
    },
    2: {
        "accounts": {},
        "account": {"account_id": "r1"},
        "account_balance": {"account_id": "r1"},
        "account_transactions": {"account_id": "r1", "booking_status": "both"},
    },
}
EVERY_READ = pytest.mark.parametrize(
    ("version", "call"), [(version, call) for version, calls in READS.items() for call in calls]
)
FUNDS = {"account": {"iban": IBAN}, "instructed_amount": {"amount": "10.00", "currency": "EUR"}}
GONE = NotReached("no connection could be made")
DAY = 24 * 3600


@pytest.fixture
def aisp(causeway: Causeway) -> Aisp:
    limit_reads(causeway)
    return Aisp(causeway, 2)


def exceeded(answer: Answer) -> bool:
    return answer.status == 429 and answer.body["code"] == "ACCESS_EXCEEDED"


# -- what counts


@EVERY_READ
def test_the_fifth_unattended_read_of_a_day_returns_429_until_midnight_utc(
    causeway: Causeway, version: int, call: str
) -> None:
    limit_reads(causeway, version)
    aisp, query = Aisp(causeway, version), READS[version][call]
    aisp.use_up(call, **query)

    answer = aisp.read(call, **query)

    assert exceeded(answer)
    assert answer.headers["retry-after"] == str(15 * 3600)
    assert "PSU-IP-Address" in answer.body["title"]
    assert "midnight UTC" in answer.body["title"]
    assert (aisp.calls, aisp.counted()) == (LIMIT, LIMIT)


@EVERY_READ
def test_a_bank_without_a_read_limit_counts_no_reads(causeway: Causeway, version: int, call: str) -> None:
    aisp, query = Aisp(causeway, version), READS[version][call]

    aisp.use_up(call, LIMIT + 2, **query)

    assert (aisp.calls, aisp.items()) == (LIMIT + 2, [])


@EVERY_READ
def test_attended_reads_are_never_counted(causeway: Causeway, version: int, call: str) -> None:
    limit_reads(causeway, version, 1)
    aisp, query = Aisp(causeway, version), READS[version][call]
    for _ in range(3):
        assert aisp.read(call, ATTENDED, **query).status == 200
    assert aisp.items() == []

    aisp.use_up(call, 1, **query)

    assert exceeded(aisp.read(call, **query))
    assert aisp.read(call, ATTENDED, **query).status == 200


def test_a_read_with_psu_headers_but_no_psu_ip_address_is_unattended(aisp: Aisp) -> None:
    aisp.use_up()

    assert exceeded(aisp.read(headers={"psu-user-agent": "a browser", "psu-ip-port": "80"}))


def test_unattended_reads_are_counted_separately_for_each_call_and_each_account(aisp: Aisp) -> None:
    aisp.use_up()
    aisp.use_up("account", account_id="r1")
    aisp.use_up("account", account_id="r2")
    aisp.use_up("account_balance", account_id="r1")

    assert exceeded(aisp.read("account", account_id="r1"))
    assert exceeded(aisp.read("account", account_id="r2"))
    assert aisp.read("account", account_id="r3").status == 200


def test_unattended_reads_are_counted_separately_for_each_consent(causeway: Causeway, aisp: Aisp) -> None:
    aisp.use_up()
    other = Aisp(causeway, 2)

    assert other.read().status == 200
    assert exceeded(aisp.read())


def test_read_counts_restart_at_midnight_utc(causeway: Causeway, aisp: Aisp) -> None:
    aisp.use_up()
    causeway.clock.advance(15 * 3600 - 1)
    aisp.refresh()

    answer = aisp.read()
    assert exceeded(answer)
    assert answer.headers["retry-after"] == "1"

    causeway.clock.advance(1)
    aisp.use_up()
    answer = aisp.read()
    assert exceeded(answer)
    assert answer.headers["retry-after"] == str(DAY)


def test_read_counts_expire_after_two_days(causeway: Causeway, aisp: Aisp) -> None:
    aisp.use_up(times=1)

    (item,) = aisp.items()
    assert item["part"].startswith("reads#2026-03-02#accounts#")
    assert item["expires_at"] == causeway.clock.time() + 2 * DAY


def test_a_read_by_iban_and_account_id_is_counted_for_the_iban_and_for_the_account_id(causeway: Causeway) -> None:
    limit_reads(causeway, 1)
    aisp = Aisp(causeway, 1)
    aisp.use_up("account", 2, iban=IBAN, account_id="77")
    aisp.use_up("account", 2, iban=IBAN)
    assert exceeded(aisp.read("account", iban=IBAN))

    assert exceeded(aisp.read("account", iban=IBAN, account_id="77"))
    assert aisp.counted() == 6
    aisp.use_up("account", 2, account_id="77")
    assert exceeded(aisp.read("account", account_id="77"))


def test_reads_with_the_same_iban_in_different_case_are_counted_together(causeway: Causeway) -> None:
    limit_reads(causeway, 1)
    aisp = Aisp(causeway, 1)
    aisp.use_up("account", iban=IBAN)

    assert exceeded(aisp.read("account", iban=IBAN.lower()))


@pytest.mark.parametrize(
    ("version", "call", "first", "later"),
    [
        (1, "account_payments", {"current_page": "1"}, {"current_page": "2"}),
        (2, "account_transactions", {}, {"page_key": "next"}),
    ],
)
def test_reads_of_the_second_and_later_pages_are_not_counted(
    causeway: Causeway, version: int, call: str, first: Mapping[str, Any], later: Mapping[str, Any]
) -> None:
    limit_reads(causeway, version, 1)
    aisp, query = Aisp(causeway, version), READS[version][call]
    aisp.use_up(call, 1, **query, **first)

    aisp.use_up(call, 3, **query, **later)

    assert aisp.counted() == 1
    assert exceeded(aisp.read(call, **query, **first))
    assert aisp.read(call, LATER, **query, **later).status == 202
    assert aisp.counted() == 1


@VERSIONS
def test_funds_confirmations_are_not_counted(causeway: Causeway, version: int) -> None:
    limit_reads(causeway, version, 1)
    aisp = Aisp(causeway, version)

    for _ in range(3):
        assert causeway.tpp.call("POST", "/tpp/funds_confirmations", FUNDS, bearer=aisp.bearer).status == 200

    assert aisp.items() == []


@pytest.mark.parametrize(
    ("query", "headers", "status"),
    [
        ({"colour": "red"}, {}, 400),
        ({"account_id": "r1"}, {"psu-ip-port": "x"}, 400),
        ({"account_id": "r1"}, {"x-api-key": "x"}, 401),
        ({"account_id": "r1", "iban": IBAN}, {}, 400),
    ],
)
def test_a_read_refused_for_a_reason_other_than_the_limit_is_not_counted(
    aisp: Aisp, query: dict[str, str], headers: dict[str, str], status: int
) -> None:
    assert aisp.read("account", headers, **query).status == status

    assert aisp.items() == []


# -- the operator


def test_a_change_of_the_read_limit_by_the_operator_is_effective_within_a_minute(causeway: Causeway) -> None:
    aisp, bic = Aisp(causeway, 2), causeway.banks[2].bic
    banks = causeway.another_process().openbanking.banks
    aisp.use_up()
    try:
        for limit, passes in ((2, 2), (4, 2), (3, 0), (5, 1), (0, 6)):
            banks.change(bic, unattended_reads=limit)
            causeway.clock.advance(60)
            aisp.use_up(times=passes)
            assert limit == 0 or exceeded(aisp.read())
    finally:
        banks.change(bic, unattended_reads=0)


# -- banks that fail


@pytest.mark.parametrize("failure", [GONE, NotReached("no trusted TLS connection could be made")])
def test_a_read_that_never_reached_the_bank_is_not_counted(aisp: Aisp, failure: NotReached) -> None:
    aisp.bank_answers(failure, "/v2_accounts")
    for _ in range(LIMIT + 1):
        aisp.causeway.hub.openbanking.bank_client.breaker.record_success("BETADEF1")
        assert aisp.read().status == 502

    assert aisp.counted() == 0
    aisp.bank_answers({"accounts": []}, "/v2_accounts")
    aisp.use_up()
    assert exceeded(aisp.read())


@pytest.mark.parametrize(
    "failure",
    [
        TimedOut("no answer came in time"),
        ConnectionDropped("the connection broke before the response was complete"),
        Reply(500, b"{}", {}, 0.01),
        Reply(400, b'{"code":"NO","title":"no"}', {}, 0.01),
        Reply(200, b"nonsense", {}, 0.01),
    ],
)
def test_a_read_that_may_have_reached_its_bank_remains_counted(aisp: Aisp, failure: Any) -> None:
    aisp.bank_answers(failure, "/v2_accounts")
    assert aisp.read().status == 502

    assert aisp.counted() == 1


def test_a_read_at_a_paused_bank_is_not_counted(causeway: Causeway, aisp: Aisp) -> None:
    open_circuit(causeway, 2)

    answer = aisp.read()

    assert (answer.status, answer.body["code"]) == (502, "ASPSP_UNKNOWN_ERROR")
    assert aisp.items() == []
    assert aisp.calls == 0


def test_a_read_at_a_bank_paused_during_the_request_is_not_counted(causeway: Causeway, aisp: Aisp) -> None:
    with causeway.meanwhile("update", lambda: open_circuit(causeway, 2)):
        assert aisp.read().status == 502

    assert (aisp.counted(), aisp.calls) == (0, 0)


def test_a_failure_to_release_a_read_count_is_logged_and_the_read_remains_counted(aisp: Aisp, lines: Lines) -> None:
    aisp.bank_answers(GONE, "/v2_accounts")

    with aisp.causeway.storage_gone("transact"):
        answer = aisp.read()

    assert (answer.status, answer.body["code"]) == (502, "ASPSP_UNKNOWN_ERROR")
    assert aisp.counted() == 1
    (line,) = [line for line in lines.all() if line["message"] == "read not released"]
    assert line["consent_id"] == aisp.consent_id


# -- storage that fails


def test_a_read_with_a_lost_storage_response_is_counted_once(causeway: Causeway, aisp: Aisp) -> None:
    with causeway.answer_lost("update", applied=True):
        assert aisp.read().status == 200

    assert (aisp.counted(), aisp.calls) == (1, 1)


def test_the_last_read_within_the_limit_returns_200_after_a_lost_storage_response(
    causeway: Causeway, aisp: Aisp
) -> None:
    aisp.use_up(times=LIMIT - 1)

    with causeway.answer_lost("update", applied=True):
        assert aisp.read().status == 200

    assert exceeded(aisp.read())
    assert (aisp.counted(), aisp.calls) == (LIMIT, LIMIT)


def test_a_read_that_cannot_be_counted_returns_500_and_is_not_sent(causeway: Causeway, aisp: Aisp) -> None:
    with causeway.storage_gone("update"), causeway.storage_gone("transact"):
        answer = aisp.read()

    assert (answer.status, answer.body["code"]) == (500, "INTERNAL_SERVER_ERROR")
    assert answer.headers["retry-after"] == "1"
    assert (aisp.counted(), aisp.calls) == (0, 0)


def test_a_read_whose_count_storage_did_not_confirm_returns_500_and_is_not_counted(
    causeway: Causeway, aisp: Aisp
) -> None:
    with causeway.answer_lost("update", applied=True), causeway.answer_lost("transact", applied=True):
        assert aisp.read().status == 500

    assert (aisp.counted(), aisp.calls) == (0, 0)


# -- calls that are answered later


def finish(causeway: Causeway, request_id: str) -> None:
    while (due_at := causeway.delivery(request_id).due_at) is not None:
        causeway.clock.advance(max(0, due_at - causeway.clock.time()))
        causeway.hub.delivery.worker.attempt(request_id)


@EVERY_READ
def test_a_deferred_read_is_counted_when_accepted_and_the_fifth_deferred_read_returns_429(
    causeway: Causeway, version: int, call: str
) -> None:
    limit_reads(causeway, version)
    aisp, query = Aisp(causeway, version), READS[version][call]
    ids = [accepted_id(aisp.read(call, LATER, **query)) for _ in range(LIMIT)]

    answer = aisp.read(call, LATER, **query)

    assert exceeded(answer)
    assert answer.headers["retry-after"] == str(15 * 3600)
    assert len(causeway.recorded("relay")) == LIMIT
    for request_id in ids:
        causeway.hub.delivery.worker.attempt(request_id)
        assert causeway.tpp.look_up(request_id, aisp.bearer).body["state"] == "done"
    assert (aisp.counted(), aisp.calls) == (LIMIT, LIMIT)


def test_a_deferred_read_with_a_lost_storage_response_is_accepted_and_counted_once(
    causeway: Causeway, aisp: Aisp
) -> None:
    with causeway.answer_lost("transact", applied=True):
        accepted_id(aisp.read(headers=LATER))

    assert aisp.counted() == len(causeway.recorded("relay")) == 1


def test_a_deferred_read_that_was_not_written_returns_500_and_is_not_counted(causeway: Causeway, aisp: Aisp) -> None:
    with causeway.answer_lost("transact", applied=False):
        assert aisp.read(headers=LATER).status == 500

    assert aisp.counted() == len(causeway.recorded("relay")) == 0


def test_immediate_and_deferred_reads_are_counted_together_toward_one_limit(aisp: Aisp) -> None:
    aisp.use_up(times=2)
    for _ in range(2):
        accepted_id(aisp.read(headers=LATER))

    assert exceeded(aisp.read())
    assert exceeded(aisp.read(headers=LATER))


def test_an_attended_deferred_read_is_not_counted(aisp: Aisp) -> None:
    accepted_id(aisp.read(headers=LATER | ATTENDED))

    assert aisp.items() == []


def test_a_retried_deferred_read_is_counted_once(causeway: Causeway, aisp: Aisp) -> None:
    aisp.bank_answers(Reply(503, b"", {}, 0.01), "/v2_accounts")
    request_id = accepted_id(aisp.read(headers=LATER))

    finish(causeway, request_id)

    assert aisp.calls > 5
    assert aisp.counted() == 1
    assert causeway.delivery(request_id).state == "failed"


def test_a_deferred_read_is_not_counted_if_no_attempt_reached_the_bank(causeway: Causeway, aisp: Aisp) -> None:
    aisp.bank_answers(GONE, "/v2_accounts")
    request_id = accepted_id(aisp.read(headers=LATER))
    causeway.hub.delivery.worker.attempt(request_id)
    assert aisp.counted() == 1

    finish(causeway, request_id)

    assert causeway.delivery(request_id).state == "failed"
    assert aisp.counted() == 0


def test_a_deferred_read_remains_counted_if_one_attempt_may_have_reached_the_bank(
    causeway: Causeway, aisp: Aisp
) -> None:
    aisp.bank_answers(TimedOut("no answer came in time"), "/v2_accounts")
    request_id = accepted_id(aisp.read(headers=LATER))
    causeway.hub.delivery.worker.attempt(request_id)
    aisp.bank_answers(GONE, "/v2_accounts")

    finish(causeway, request_id)

    assert causeway.delivery(request_id).state == "failed"
    assert aisp.counted() == 1


def test_a_deferred_read_that_expires_without_an_attempt_is_not_counted(causeway: Causeway, aisp: Aisp) -> None:
    request_id = accepted_id(aisp.read(headers=LATER))
    causeway.clock.advance(PLANS["relay"].lifetime + 1)

    causeway.hub.delivery.worker.attempt(request_id)

    assert causeway.delivery(request_id).state == "failed"
    assert (aisp.counted(), aisp.calls) == (0, 0)


def test_a_deferred_read_of_a_crashed_worker_remains_counted(causeway: Causeway, aisp: Aisp) -> None:
    request_id = accepted_id(aisp.read(headers=LATER))
    aisp.bank.answers["/v2_accounts"] = kill_worker
    with pytest.raises(WorkerKilled):
        causeway.hub.delivery.worker.attempt(request_id)
    causeway.clock.advance(PLANS["relay"].lifetime + 1)

    finish(causeway, request_id)

    assert causeway.delivery(request_id).state == "failed"
    assert aisp.counted() == 1


def test_a_deferred_read_that_fails_with_an_internal_error_remains_counted(
    causeway: Causeway, aisp: Aisp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> Any:
        raise RuntimeError("a defect")

    request_id = accepted_id(aisp.read(headers=LATER))
    monkeypatch.setattr("chalicelib.openbanking.flows.reads.forms.withhold_unapproved", broken)

    finish(causeway, request_id)

    assert causeway.delivery(request_id).state == "failed"
    assert aisp.counted() == 1


def test_a_deferred_read_that_is_not_sent_because_of_a_revoked_consent_is_not_counted(
    causeway: Causeway, aisp: Aisp
) -> None:
    request_id = accepted_id(aisp.read(headers=LATER))
    causeway.tpp.call("POST", "/tpp/token/revoke", {"token": aisp.bearer})

    causeway.hub.delivery.worker.attempt(request_id)

    assert causeway.delivery(request_id).state == "failed"
    assert (aisp.counted(), aisp.calls) == (0, 0)


def test_a_read_count_released_after_midnight_does_not_change_the_counts_of_the_new_day(
    causeway: Causeway, aisp: Aisp
) -> None:
    causeway.clock.advance(15 * 3600 - 10)
    aisp.refresh()
    aisp.bank_answers(GONE, "/v2_accounts")
    request_id = accepted_id(aisp.read(headers=LATER))
    causeway.clock.advance(10)
    aisp.bank_answers({"accounts": []}, "/v2_accounts")
    aisp.use_up()
    aisp.bank_answers(GONE, "/v2_accounts")

    finish(causeway, request_id)

    assert aisp.counted() == LIMIT
    causeway.hub.openbanking.bank_client.breaker.record_success("BETADEF1")
    assert exceeded(aisp.read())
