"""The number of DynamoDB round trips of each request in the table of the README."""

import uuid
from typing import Any
from urllib.parse import urlencode

import pytest

from chalicelib.delivery.event_log import SHARDS
from chalicelib.foundation.http.outbound import NotReached, OutboundError, TimedOut
from tests.causeway import Causeway
from tests.kit.storage import record_calls, record_transactions
from tests.openbanking.accounts import ATTENDED, Aisp, limit_reads, open_circuit
from tests.openbanking.examples import BY_WEBHOOK, ROWS, Row
from tests.openbanking.key_holder import KeyHolder, open_pushed, secure
from tests.openbanking.kit import IBAN, TOKENS, VERSIONS
from tests.openbanking.payments import Pisp, UnifiedPisp
from tests.openbanking.relay import Relay
from tests.openbanking.unified_reads import EVERY_READ as EVERY_UNIFIED_READ
from tests.openbanking.unified_reads import UNIFIED, bank_list, query_of

LATER = {"prefer": "respond-async"}


@pytest.fixture
def warm(causeway: Causeway) -> Causeway:
    for side in causeway.banks.values():
        causeway.hub.openbanking.banks.find(side.bic)
    assert causeway.tpp.call("GET", "/tpp/banks").status == 200
    return causeway


@pytest.mark.parametrize("row", [row for row in ROWS if row.scope and not row.is_payment], ids=str)
def test_a_relayed_read_makes_one_batch_get_item_call(warm: Causeway, row: Row) -> None:
    relay = Relay(warm)
    relay.bearer(row.version)

    with record_calls(warm) as calls:
        assert relay.call(row).status == 200

    assert calls == ["BatchGetItem"]


@EVERY_UNIFIED_READ
def test_a_unified_read_takes_the_round_trips_of_the_native_call(warm: Causeway, version: int, read: str) -> None:
    limit_reads(warm, version, 4)
    aisp, path, query = Aisp(warm, version), f"unified/{read}", query_of(read)
    for headers, expected, status in (
        ({}, ["BatchGetItem", "UpdateItem"], 200),
        (ATTENDED, ["BatchGetItem"], 200),
        (LATER, ["BatchGetItem", "TransactWriteItems"], 202),
        (ATTENDED | {"x-request-id": "1"}, ["BatchGetItem"], 401),
    ):
        with record_calls(warm) as calls:
            assert aisp.read(path, headers, **query).status == status
        assert calls == expected
    assert aisp.calls == 2


@VERSIONS
def test_a_unified_read_with_a_cursor_takes_one_batch_get_item(warm: Causeway, version: int) -> None:
    aisp, row = Aisp(warm, version), UNIFIED[version, "transactions"]
    query = query_of("transactions", limit=1)
    cursor = aisp.read("unified/transactions", **query).body["next_cursor"]
    aisp.bank_answers(bank_list(version, "transactions", []), row.webhook)

    with record_calls(warm) as calls:
        assert aisp.read("unified/transactions", **query, cursor=cursor).status == 200

    assert (calls, aisp.calls) == (["BatchGetItem"], 2)


@VERSIONS
def test_a_unified_confirmation_of_funds_takes_one_batch_get_item(warm: Causeway, version: int) -> None:
    row = next(row for row in ROWS if row.version == version and row.call == "/tpp/funds_confirmations")
    bearer = warm.tpp.tokens(version, scopes=[row.scope])["access_token"]
    warm.banks[version].answers[row.webhook] = lambda sent: row.answer
    body = {"account": {"iban": IBAN}, "amount": {"value": "12.50", "currency": "GBP"}}

    with record_calls(warm) as calls:
        assert warm.tpp.call("POST", "/tpp/unified/funds_confirmations", body, bearer=bearer).status == 200

    assert calls == ["BatchGetItem"]


@VERSIONS
def test_authorize_takes_two_round_trips(warm: Causeway, version: int) -> None:
    with record_calls(warm) as calls:
        warm.tpp.authorize(version)

    assert calls == ["BatchGetItem", "PutItem"]


def test_the_oauth_authorize_endpoint_makes_two_storage_round_trips(warm: Causeway) -> None:
    query = {
        "response_type": "code",
        "client_id": warm.tpp.client_id,
        "scope": "account.list",
        "state": "s",
        "bic": "ALPHGB21",
    }

    for _ in range(2):  # the second is a reload
        with record_calls(warm) as calls:
            assert warm.call("GET", f"/oauth/authorize?{urlencode(query)}").status == 303

        assert calls == ["BatchGetItem", "PutItem"]


@VERSIONS
def test_init_authorization_makes_two_storage_round_trips(warm: Causeway, version: int) -> None:
    url = warm.tpp.authorize(version)["redirect_url"]

    with record_calls(warm) as calls:
        name = "request_url" if version == 1 else "requestUrl"
        assert warm.banks[version].call("/init_authorization", {name: url}).status == 200

    assert calls == ["BatchGetItem", "PutItem"]


@VERSIONS
def test_saving_a_consent_makes_two_storage_round_trips(warm: Causeway, version: int) -> None:
    url = warm.tpp.authorize(version)["redirect_url"]

    with record_calls(warm) as calls:
        assert warm.banks[version].call("/consent", warm.banks[version].consent_body(url)).status == 200

    assert calls == ["BatchGetItem", "TransactWriteItems"]


@VERSIONS
def test_exchanging_a_code_makes_two_storage_round_trips(warm: Causeway, version: int) -> None:
    code = warm.psu.approve(version).query["code"]

    with record_calls(warm) as calls:
        assert warm.tpp.call("POST", "/tpp/token", {"code": code}).status == 200

    assert calls == ["BatchGetItem", "TransactWriteItems"]


def test_a_refresh_makes_two_round_trips_and_a_retried_refresh_makes_one_round_trip(warm: Causeway) -> None:
    refresh = {"refresh_token": warm.tpp.tokens(1)["refresh_token"]}

    with record_calls(warm) as calls:
        assert warm.tpp.call("POST", "/tpp/token", refresh).status == 200
    assert calls == ["BatchGetItem", "TransactWriteItems"]

    with record_calls(warm) as calls:
        assert warm.tpp.call("POST", "/tpp/token", refresh).status == 200
    assert calls == ["BatchGetItem"]


@VERSIONS
def test_a_revocation_makes_two_storage_round_trips_for_a_tpp_and_three_for_a_bank(
    warm: Causeway, version: int
) -> None:
    token = warm.tpp.tokens(version)["access_token"]
    consented = warm.psu.approve(version)
    name = "access_token" if version == 1 else "accessToken"

    with record_calls(warm) as calls:
        assert warm.tpp.call("POST", "/tpp/token/revoke", {"token": token}).status == 200
    assert calls == ["BatchGetItem", "TransactWriteItems"]

    with record_calls(warm) as calls:
        assert warm.banks[version].call("/token/revoke", {name: consented.bank_token}).status == 200
    assert calls == ["BatchGetItem", "BatchGetItem", "TransactWriteItems"]


@pytest.mark.parametrize("path", ["/tpp/consent", "/tpp/banks", "/tpp/banks/ALPHGB21", "/tpp/scope?bic=ALPHGB21"])
def test_a_tpp_call_without_a_bank_request_makes_one_read(warm: Causeway, path: str) -> None:
    bearer = warm.tpp.tokens(1)["access_token"]

    with record_calls(warm) as calls:
        assert warm.tpp.call("GET", path, bearer=bearer).status == 200

    assert calls == ["BatchGetItem"]


@pytest.mark.parametrize("query", ["", "?status=authorised", "?bic=ALPHGB21&limit=1"])
def test_a_page_of_consents_makes_three_storage_round_trips_and_an_empty_page_makes_two(
    warm: Causeway, query: str
) -> None:
    with record_calls(warm) as calls:
        assert warm.tpp.call("GET", f"/tpp/consents{query}").body["consents"] == []
    assert calls == ["BatchGetItem", "Query"]

    for _ in range(2):
        warm.tpp.tokens(1)
    with record_calls(warm) as calls:
        assert warm.tpp.call("GET", f"/tpp/consents{query}").body["consents"] != []
    assert calls == ["BatchGetItem", "Query", "BatchGetItem"]


def test_a_page_of_events_makes_one_read_and_one_query_per_shard(warm: Causeway) -> None:
    poller = warm.tpp.poll_events()
    for _ in range(3):
        with record_calls(warm) as calls:
            poller.page()
        assert calls == ["BatchGetItem", *["Query"] * SHARDS]
        warm.tpp.send_test_event()


def test_recording_an_event_for_polling_adds_one_operation_to_the_transaction(warm: Causeway) -> None:
    def revoke() -> list[str]:
        token = warm.tpp.tokens(1)["access_token"]
        with record_transactions(warm) as seen:
            assert warm.tpp.call("POST", "/tpp/token/revoke", {"token": token}).status == 200
        (operations,) = seen
        return operations

    before = revoke()
    warm.tpp.poll_events()

    assert revoke()[: len(before)] == before
    assert len(revoke()) == len(before) + 1


@VERSIONS
def test_a_consent_status_query_makes_one_storage_read(warm: Causeway, version: int) -> None:
    consented = warm.psu.approve(version)

    with record_calls(warm) as calls:
        assert warm.banks[version].call("/consents/status", {TOKENS[version]: [consented.bank_token]}).status == 200

    assert calls == ["BatchGetItem"]


def test_recording_the_last_use_adds_no_operation_to_the_transaction(warm: Causeway) -> None:
    tokens, code = warm.tpp.tokens(1), warm.psu.approve(1).query["code"]

    with record_transactions(warm) as seen:
        warm.tpp.call("POST", "/tpp/token", {"code": code})
        warm.tpp.call("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]})

    assert seen == [["Update consent", "Update grant", "Put access", "Put refresh"]] * 2


def test_a_cached_bank_is_read_again_after_60_seconds(warm: Causeway) -> None:
    bearer = warm.tpp.tokens(1)["access_token"]
    warm.banks[1].answers["/accounts"] = lambda sent: {"status": "success", "accounts": []}
    seen = []

    for seconds in (59, 1, 1):
        warm.clock.advance(seconds=seconds)
        with record_calls(warm) as calls:
            warm.tpp.call("GET", "/tpp/accounts", bearer=bearer)
        seen.append(len(calls))

    assert seen == [1, 2, 1]


READS = {
    1: [("accounts", {}), ("account", {"iban": IBAN}), ("account", {"iban": IBAN, "account_id": "77"})],
    2: [("accounts", {}), ("account_transactions", {"account_id": "r1", "booking_status": "both"})],
}
EVERY_READ = pytest.mark.parametrize(
    ("version", "call", "query"), [(version, *read) for version, reads in READS.items() for read in reads]
)


@EVERY_READ
def test_an_unattended_read_at_a_bank_with_a_limit_makes_one_additional_storage_round_trip(
    warm: Causeway, version: int, call: str, query: dict[str, Any]
) -> None:
    limit_reads(warm, version, 2)
    aisp, write = Aisp(warm, version), "TransactWriteItems" if len(query) > 1 and version == 1 else "UpdateItem"
    for headers, expected, status in (
        ({}, ["BatchGetItem", write], 200),
        (ATTENDED, ["BatchGetItem"], 200),
        (LATER, ["BatchGetItem", "TransactWriteItems"], 202),
        ({}, ["BatchGetItem", write], 429),
        (LATER, ["BatchGetItem", "TransactWriteItems"], 429),
    ):
        with record_calls(warm) as calls:
            assert aisp.read(call, headers, **query).status == status
        assert calls == expected


def test_the_next_page_of_a_limited_read_makes_no_further_storage_round_trip(warm: Causeway) -> None:
    limit_reads(warm)
    aisp = Aisp(warm, 2)

    with record_calls(warm) as calls:
        aisp.use_up("account_transactions", 1, account_id="r1", booking_status="both", page_key="next")

    assert calls == ["BatchGetItem"]


def test_a_failed_limited_read_makes_three_round_trips_or_one_if_the_circuit_is_open(warm: Causeway) -> None:
    limit_reads(warm)
    aisp = Aisp(warm, 2)
    aisp.bank_answers(NotReached("no connection"), "/v2_accounts")

    with record_calls(warm) as calls:
        assert aisp.read().status == 502
    assert calls == ["BatchGetItem", "UpdateItem", "TransactWriteItems"]

    open_circuit(warm, 2)
    with record_calls(warm) as calls:
        assert aisp.read().status == 502
    assert calls == ["BatchGetItem"]


# -- payments and reports

IDS = pytest.mark.parametrize("request_id", [str(uuid.uuid4()), None], ids=["with an id", "without"])
FORMS = pytest.mark.parametrize("make", [Pisp, UnifiedPisp], ids=["native", "unified"])
BEGIN_AND_END = ["BatchGetItem", "TransactWriteItems", "TransactWriteItems"]


@FORMS
@VERSIONS
@pytest.mark.parametrize("kind", ["single", "bulk"])
@pytest.mark.parametrize("key", ["key-1", None])
@pytest.mark.parametrize("consent_type", ["reusable", "one_time"])
@IDS
def test_a_payment_takes_three_round_trips(
    warm: Causeway,
    make: type[Pisp],
    version: int,
    kind: str,
    key: str | None,
    consent_type: str,
    request_id: str | None,
) -> None:
    pisp = make(warm, version, kind, consent_type)
    pisp.request_id = request_id

    with record_calls(warm) as calls:
        assert pisp.pay(key).status == 200

    assert calls == BEGIN_AND_END


@FORMS
@VERSIONS
@pytest.mark.parametrize("key", ["key-1", None])
@IDS
def test_a_direct_payment_takes_three_round_trips(
    warm: Causeway, make: type[Pisp], version: int, key: str | None, request_id: str | None
) -> None:
    pisp = make(warm, version, "direct")
    pisp.request_id = request_id

    with record_calls(warm) as calls:
        assert pisp.pay(key).status == 200

    assert calls == BEGIN_AND_END


@FORMS
@VERSIONS
def test_a_retry_with_the_same_request_id_takes_two_further_round_trips(
    warm: Causeway, make: type[Pisp], version: int
) -> None:
    pisp = make.with_request_id(warm, version)
    pisp.pay()

    with record_calls(warm) as calls:
        assert pisp.pay().status == 200

    assert calls == [*BEGIN_AND_END, "TransactWriteItems", "TransactWriteItems"]


@VERSIONS
@pytest.mark.parametrize("key", ["key-1", None])
def test_an_order_with_the_request_id_of_another_order_makes_two_storage_round_trips(
    warm: Causeway, version: int, key: str | None
) -> None:
    pisp, other = Pisp(warm, version, consent_type="one_time"), Pisp(warm, version, "direct")
    pisp.request_id = other.request_id = str(uuid.uuid4())
    other.pay()

    with record_calls(warm) as calls:
        assert pisp.pay(key).status == 400

    assert calls == BEGIN_AND_END[:2]


@FORMS
@VERSIONS
@pytest.mark.parametrize("consent_type", ["reusable", "one_time"])
def test_a_payment_retry_with_its_idempotency_key_takes_one_read(
    warm: Causeway, make: type[Pisp], version: int, consent_type: str
) -> None:
    pisp = make(warm, version, consent_type=consent_type)
    pisp.pay("key-1")

    with record_calls(warm) as calls:
        assert pisp.pay("key-1").status == 200

    assert calls == ["BatchGetItem"]


@FORMS
@VERSIONS
@pytest.mark.parametrize("failure", [NotReached("no connection"), TimedOut("late")], ids=["never reached", "late"])
@IDS
def test_a_failed_payment_takes_three_round_trips_including_the_release_of_its_claim(
    warm: Causeway, make: type[Pisp], version: int, failure: OutboundError, request_id: str | None
) -> None:
    pisp = make(warm, version, consent_type="one_time")
    pisp.request_id = request_id
    pisp.bank_answers(failure)

    with record_calls(warm) as calls:
        assert pisp.pay("key-1").status == 502

    assert calls == BEGIN_AND_END


@FORMS
@VERSIONS
@pytest.mark.parametrize("kind", ["single", "bulk", "direct"])
def test_payment_status_takes_one_read(warm: Causeway, make: type[Pisp], version: int, kind: str) -> None:
    pisp = make(warm, version, kind)
    pisp.pay()
    for path in ("/v2_payment_single_status", "/v2_payment_bulk_status"):
        pisp.bank.answers[path] = lambda sent: {"transaction_status": "ACSC"}

    with record_calls(warm) as calls:
        assert pisp.status().status == 200

    assert calls == ["BatchGetItem"]


@FORMS
@pytest.mark.parametrize("kind", ["single", "direct"])
def test_payment_status_by_request_id_takes_two_reads(warm: Causeway, make: type[Pisp], kind: str) -> None:
    pisp = make(warm, 1, kind)
    pisp.request_id = pisp.pay().headers["x-request-id"]

    with record_calls(warm) as calls:
        assert pisp.status_of_order().status == 200

    assert calls == ["BatchGetItem", "BatchGetItem"]


@VERSIONS
def test_a_status_report_makes_three_storage_round_trips_or_two_without_a_status_change(
    warm: Causeway, version: int
) -> None:
    pisp, request_id = Pisp(warm, version, "direct"), str(uuid.uuid4())
    final, other = (4, 2) if version == 1 else ("ACSC", "RJCT")
    seen = []

    def report(status: object, payment_id: str = "P-1", **headers: str) -> int:
        with record_calls(warm) as calls:
            answer = pisp.report(status, payment_id, **headers)
        seen.append(calls)
        return answer.status

    pisp.pay()
    assert report(final, **{"x-request-id": request_id}) == 200
    assert report(other) == 200  # after a final status
    assert report(final, "P-2") == 400  # before the payment is known
    assert report(final, **{"x-request-id": request_id}) == 200

    assert seen[:3] == [
        ["BatchGetItem", "BatchGetItem", "TransactWriteItems"],
        ["BatchGetItem", "PutItem"],
        ["BatchGetItem", "PutItem"],
    ]
    assert seen[3] == ["BatchGetItem"]


def test_a_daily_performance_report_makes_two_storage_round_trips(warm: Causeway) -> None:
    with record_calls(warm) as calls:
        assert warm.banks[2].call("/daily_performance", {"date": "2026-03-01", "consentDuration": "1200"}).status == 200

    assert calls == ["BatchGetItem", "TransactWriteItems"]


# -- what is told and what is answered later

ACCEPTED = ["BatchGetItem", "TransactWriteItems"]
ATTEMPT = ["BatchGetItem", "TransactWriteItems", "BatchGetItem", "TransactWriteItems"]
"""The storage operations of a delivery attempt.

They read the record with its body, write the claim, read the data that the sender needs, and write the outcome.
"""


def test_recording_an_event_makes_no_further_storage_round_trip(warm: Causeway) -> None:
    warm.tpp.set_events_url()
    url = warm.tpp.authorize(1)["redirect_url"]
    seen = []

    with record_calls(warm) as calls:
        assert warm.banks[1].call("/consent", warm.banks[1].consent_body(url)).status == 200
    seen.append(calls)
    token = warm.tpp.tokens(1)["access_token"]
    with record_calls(warm) as calls:
        assert warm.tpp.call("POST", "/tpp/token/revoke", {"token": token}).status == 200
    seen.append(calls)

    assert seen == [["BatchGetItem", "TransactWriteItems"]] * 2


@pytest.mark.parametrize("row", [row for row in ROWS if not row.is_payment], ids=str)
def test_a_deferred_read_is_accepted_in_two_round_trips(warm: Causeway, row: Row) -> None:
    relay = Relay(warm)
    relay.call(row)

    with record_calls(warm) as calls:
        assert relay.call(row, headers=LATER).status == 202

    assert calls == ACCEPTED


@FORMS
@VERSIONS
@pytest.mark.parametrize("kind", ["single", "bulk", "direct"])
@pytest.mark.parametrize("key", ["key-1", None])
def test_a_deferred_payment_takes_two_round_trips_and_a_retry_takes_one_round_trip(
    warm: Causeway, make: type[Pisp], version: int, kind: str, key: str | None
) -> None:
    pisp = make(warm, version, kind, "one_time")
    pisp.headers = LATER

    with record_calls(warm) as calls:
        assert pisp.pay(key).status == 202
    assert calls == ACCEPTED

    if key:
        with record_calls(warm) as calls:
            assert pisp.pay(key).status == 202
        assert calls == ["BatchGetItem"]


def test_polling_a_deferred_request_makes_one_read_and_a_second_read_if_a_response_exists(warm: Causeway) -> None:
    row, relay = BY_WEBHOOK["/accounts"], Relay(warm)
    bearer = relay.bearer(1)
    request_id = relay.call(row, headers=LATER).body["request_id"]
    seen = []

    for _ in range(2):
        with record_calls(warm) as calls:
            assert warm.tpp.call("GET", f"/tpp/requests/{request_id}", bearer=bearer).status == 200
        seen.append(calls)
        warm.hub.delivery.worker.attempt(request_id)

    assert seen == [["BatchGetItem"], ["BatchGetItem"] * 2]


@pytest.mark.parametrize("kind", ["revoke_token", "event", "relay", "payment"])
def test_a_delivery_attempt_makes_three_storage_round_trips_plus_the_reads_of_its_sender(
    warm: Causeway, kind: str
) -> None:
    pisp, row = Pisp(warm, 1, consent_type="one_time"), BY_WEBHOOK["/accounts"]
    pisp.headers = LATER
    pisp.bank.answers |= {"/accounts": lambda sent: row.answer, "/revoke_token": lambda sent: {"status": "success"}}
    if kind == "payment":
        pisp.pay("key-1")
    elif kind == "event":
        warm.tpp.set_events_url()
        warm.hub.openbanking.tpp_events.send_test(warm.tpp.client)
    elif kind == "relay":
        Relay(warm).call(row, headers=LATER)
    else:
        warm.tpp.call("POST", "/tpp/token/revoke", {"token": pisp.bearer})
    (delivery,) = warm.recorded()

    with record_calls(warm) as calls:
        warm.hub.delivery.worker.attempt(delivery.delivery_id)

    assert (delivery.kind, warm.delivery(delivery.delivery_id).state) == (kind, "delivered")
    assert calls == ATTEMPT


def test_a_repeated_queue_message_makes_one_read(warm: Causeway) -> None:
    warm.tpp.set_events_url()
    delivery_id = warm.hub.openbanking.tpp_events.send_test(warm.tpp.client)
    warm.hub.delivery.worker.attempt(delivery_id)

    with record_calls(warm) as calls:
        warm.hub.delivery.worker.attempt(delivery_id)

    assert calls == ["BatchGetItem"]


# -- clients that prove who they are


@pytest.fixture
def holder(warm: Causeway) -> KeyHolder:
    made = KeyHolder()
    secure(warm, made, security_profile="fapi2")
    return made


def test_a_call_with_a_bound_token_makes_one_additional_storage_round_trip(warm: Causeway, holder: KeyHolder) -> None:
    token = holder.tokens(warm)["access_token"]

    with record_calls(warm) as calls:
        assert holder.read(warm, token).status == 200

    assert calls == ["BatchGetItem", "PutItem"]


def test_pushing_an_authorization_request_makes_three_storage_round_trips(warm: Causeway, holder: KeyHolder) -> None:
    with record_calls(warm) as calls:
        request_uri = holder.push(warm).body["request_uri"]
    assert calls == ["BatchGetItem", "PutItem", "PutItem"]

    with record_calls(warm) as calls:
        assert open_pushed(warm, request_uri).status == 303
    assert calls == ["BatchGetItem", "PutItem"]

    warm.clock.advance(60)
    with record_calls(warm) as calls:
        assert open_pushed(warm, request_uri).status == 303
    assert calls == ["BatchGetItem", "BatchGetItem"]


def test_an_assertion_and_a_proof_are_recorded_as_used_in_one_transaction(warm: Causeway, holder: KeyHolder) -> None:
    code = holder.code(warm)

    with record_calls(warm) as calls:
        tokens = holder.redeem(warm, code).body
    assert calls == ["BatchGetItem", "TransactWriteItems", "TransactWriteItems"]

    with record_calls(warm) as calls:
        assert holder.refresh(warm, tokens["refresh_token"]).status == 200
    assert calls == ["BatchGetItem", "TransactWriteItems", "TransactWriteItems"]


def test_introspection_makes_one_storage_round_trip(warm: Causeway) -> None:
    token = warm.tpp.tokens(2)["access_token"]

    with record_calls(warm) as calls:
        assert warm.tpp.call("POST", "/oauth/introspect", form={"token": token}).status == 200

    assert calls == ["BatchGetItem"]
