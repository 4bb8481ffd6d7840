"""Tests of payment initiation: idempotency keys, one-time consents, and the outcome after failures."""

import uuid
from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.http.outbound import (
    ConnectionDropped,
    NotReached,
    OutboundError,
    Reply,
    ResponseTooLarge,
    TimedOut,
)
from chalicelib.openbanking.records.consents import consent_key
from tests.causeway import Causeway
from tests.openbanking.kit import VERSIONS
from tests.openbanking.payments import KINDS, PATHS, REFUSAL, WEBHOOKS, Pisp, order, payment_answer

# -- the order and its answer


@VERSIONS
@KINDS
def test_a_payment_order_reaches_the_bank_and_returns_the_response_of_the_bank(
    causeway: Causeway, version: int, kind: str
) -> None:
    pisp = Pisp(causeway, version, kind)

    answer = pisp.pay()

    expected = (
        payment_answer(version) if version == 2 else {k: v for k, v in payment_answer(1).items() if k != "status"}
    )
    assert (answer.status, answer.body) == (200, expected)
    assert pisp.bank.received[0].path == WEBHOOKS[version, kind]
    assert ("X-Auth-Token" in pisp.bank.received[0].headers) == (kind != "direct")
    assert "bank;dur=" in answer.headers["server-timing"]


@VERSIONS
@KINDS
def test_a_reusable_consent_allows_several_payments(causeway: Causeway, version: int, kind: str) -> None:
    pisp = Pisp(causeway, version, kind)

    assert [pisp.pay().status, pisp.pay().status] == [200, 200]
    assert pisp.calls == 2


@VERSIONS
def test_a_one_time_consent_allows_one_payment(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version, consent_type="one_time")

    assert [pisp.pay().status, pisp.pay().status] == [200, 401]
    assert "one-time consent has been used" in pisp.pay().body["title"]
    assert pisp.calls == 1
    assert causeway.tpp.call("GET", "/tpp/consent", bearer=pisp.bearer).status == 401
    assert causeway.tpp.call("POST", "/tpp/token", {"refresh_token": pisp.refresh_token}).status == 400


@VERSIONS
def test_two_concurrent_payments_of_a_one_time_consent_reach_the_bank_once(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version, consent_type="one_time")
    inner = []

    with causeway.meanwhile("transact", lambda: inner.append(pisp.pay().status)):
        outer = pisp.pay().status

    assert inner == [200]
    assert outer == 401
    assert pisp.calls == 1


def test_an_order_that_the_hub_rejects_uses_neither_the_consent_nor_the_idempotency_key(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1, consent_type="one_time")

    refused = pisp.pay("key-1", amount="-1")

    assert refused.status == 400
    assert pisp.pay("key-1").status == 200
    assert pisp.calls == 1


def test_a_direct_payment_requires_a_known_bic(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1, "direct")

    assert pisp.pay(bic="NOSUCHXX").status == 404
    assert pisp.pay(bic="?").status == 400
    assert pisp.pay(bic=7).status == 400
    missing = causeway.tpp.call("POST", PATHS["direct"], {"amount": 1})
    assert (missing.status, missing.body["additionalErrors"][0]["details"]) == (400, "bic is required")
    assert causeway.tpp.call("POST", PATHS["direct"], [1]).status == 400
    assert pisp.calls == 0


def test_bulk_order_accepts_up_to_1000_payments(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1, "bulk")
    item = order(causeway, 1, "bulk")["payments"][0] | {"amount": "0.10", "message_for_receiver": "x" * 35}
    total = {"currency": "EUR", "amount": "100.00"}

    answer = pisp.pay(payments=[item] * 1000, totals=[total])

    assert answer.status == 200
    assert pisp.bank.received[0].body.count(b'"amount":"0.10"') == 1000
    assert pisp.pay(payments=[item] * 1001, totals=[total]).status == 400


# -- idempotency keys


@VERSIONS
@KINDS
@pytest.mark.parametrize("consent_type", ["reusable", "one_time"])
def test_a_retry_with_the_same_idempotency_key_returns_the_stored_response(
    causeway: Causeway, version: int, kind: str, consent_type: str
) -> None:
    pisp = Pisp(causeway, version, kind, consent_type)

    first, second = pisp.pay("key-1"), pisp.pay("key-1")

    assert first.status == second.status == 200
    assert first.text == second.text
    assert pisp.calls == 1


def test_a_payment_order_with_another_idempotency_key_makes_a_second_payment(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1)
    pisp.pay("key-1")
    pisp.bank_answers(payment_answer(1, "P-2"))

    assert pisp.pay("key-2").body["payment_id"] == "P-2"
    assert pisp.calls == 2


def test_an_idempotency_key_is_valid_only_for_the_path_and_the_client_that_used_the_key(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1)
    pisp.pay("key-1")
    direct = Pisp(causeway, 1, "direct")
    direct.bank_answers(payment_answer(1, "P-2"))

    assert direct.pay("key-1").status == 200
    other = causeway.hub.openbanking.clients.create(owner="x@example.com", title="Other").client
    causeway.tpp.client = other
    direct.bank_answers(payment_answer(1, "P-3"))
    assert direct.pay("key-1").body["payment_id"] == "P-3"


def test_the_bearer_token_of_a_used_one_time_consent_returns_only_its_own_stored_payment(causeway: Causeway) -> None:
    one, other = Pisp(causeway, 1), Pisp(causeway, 1)
    spent = Pisp(causeway, 1, consent_type="one_time")
    spent.bank_answers(payment_answer(1, "P-2"))
    spent.pay("key-2")
    one.bank_answers(payment_answer(1))
    one.pay("key-1")

    assert other.pay("key-1").body["payment_id"] == "P-1"  # a key is the client's, whichever PSU it is about
    assert one.calls == 2
    assert spent.pay("key-1").status == 401
    assert spent.pay("key-2").body["payment_id"] == "P-2"


def test_a_payment_retry_returns_the_stored_response_while_the_bank_is_inactive(causeway: Causeway) -> None:
    pisps = [Pisp(causeway, 1), Pisp(causeway, 1, "direct")]
    for number, pisp in enumerate(pisps):
        pisp.bank_answers(payment_answer(1, f"P-{number}"))
        pisp.pay("key-1")
    bic = pisps[0].bank.bic
    causeway.hub.openbanking.banks.change(bic, active=False)
    causeway.clock.advance(61)
    try:
        assert [pisp.pay("key-1").status for pisp in pisps] == [200, 200]
        assert [pisp.pay("key-2").status for pisp in pisps] == [404, 404]
    finally:
        causeway.hub.openbanking.banks.change(bic, active=True)


def test_a_reused_idempotency_key_with_another_body_returns_400(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1)
    pisp.pay("key-1")

    refused = pisp.pay("key-1", amount="13")

    assert (refused.status, refused.body["code"]) == (400, "HEADERS_ERROR")
    assert pisp.calls == 1


@pytest.mark.parametrize("key", ["", "k" * 256])
def test_an_idempotency_key_has_1_to_255_characters(causeway: Causeway, key: str) -> None:
    pisp = Pisp(causeway, 1)

    refused = pisp.pay(key)

    assert (refused.status, refused.body["code"]) == (400, "HEADERS_ERROR")
    assert pisp.calls == 0
    assert pisp.pay("k" * 255).status == 200


@pytest.mark.parametrize("consent_type", ["reusable", "one_time"])
def test_a_payment_retry_during_the_first_request_returns_409_with_retry_after(
    causeway: Causeway, consent_type: str
) -> None:
    pisp = Pisp(causeway, 2, consent_type=consent_type)
    others = []

    def slow(sent: object) -> Any:
        others.append(pisp.pay("key-1"))
        return payment_answer(2)

    pisp.bank.answers[WEBHOOKS[2, "single"]] = slow

    assert pisp.pay("key-1").status == 200
    assert (others[0].status, others[0].body["code"]) == (409, "HEADERS_ERROR")
    assert others[0].headers["retry-after"] == "1"
    assert pisp.pay("key-1").status == 200
    assert pisp.calls == 1


def test_two_concurrent_requests_with_one_key_reach_the_bank_once(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1)
    inner = []

    with causeway.meanwhile("transact", lambda: inner.append(pisp.pay("key-1"))):
        outer = pisp.pay("key-1")

    assert outer.text == inner[0].text
    assert pisp.calls == 1


def test_a_retry_of_a_payment_request_that_never_ended_returns_an_unknown_outcome(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1)
    pisp.bank_answers(ZeroDivisionError("a defect, or an instance that is gone"))
    assert pisp.pay("key-1").status == 500
    pisp.bank_answers(payment_answer(1))

    assert pisp.pay("key-1").status == 409
    causeway.clock.advance(31)
    lost = pisp.pay("key-1")
    assert (lost.status, lost.body["code"]) == (502, "ASPSP_UNKNOWN_ERROR")
    assert "unknown" in lost.body["title"]
    assert pisp.calls == 1


def test_an_idempotency_key_expires_after_a_day(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1, "direct")
    pisp.pay("key-1")
    pisp.bank_answers(payment_answer(1, "P-2"))
    causeway.clock.advance(24 * 3600 + 1)

    assert pisp.pay("key-1").body["payment_id"] == "P-2"


@VERSIONS
def test_a_retry_of_a_failed_payment_returns_the_stored_error(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version)
    pisp.bank_answers(REFUSAL[version])
    first = pisp.pay("key-1")
    pisp.bank_answers(payment_answer(version))

    second = pisp.pay("key-1")

    assert (first.status, first.body["code"]) == (502, "ASPSP_UNKNOWN_ERROR")
    assert "not enough money" in first.body["additionalErrors"][0]["details"]
    assert second.text == first.text
    assert pisp.calls == 1


def test_a_repeated_payment_error_has_the_timestamp_of_the_first_response(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    pisp = Pisp(causeway, 2)
    pisp.bank_answers(REFUSAL[2])
    keep = Store.transact

    def slowly(store: Store, operations: Any) -> None:
        keep(store, operations)
        causeway.clock.advance(1)

    monkeypatch.setattr(Store, "transact", slowly)
    first = pisp.pay("key-1")

    assert pisp.pay("key-1").text == first.text


# -- what is known when the bank failed


@VERSIONS
@KINDS
@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (NotReached("no connection"), "not sent"),
        (TimedOut("no answer came in time"), "unknown"),
        (ConnectionDropped("broke"), "unknown"),
        (ResponseTooLarge("too large"), "unknown"),
        (Reply(200, b"<html>", {}, 0), "unknown"),
        (Reply(500, b"", {}, 0), "unknown"),
        ("refusal", "refused"),
    ],
)
def test_a_payment_failure_has_one_of_the_outcomes_not_sent_unknown_or_refused(
    causeway: Causeway, version: int, kind: str, failure: Any, words: str
) -> None:
    pisp = Pisp(causeway, version, kind)
    pisp.bank_answers(REFUSAL[version] if failure == "refusal" else failure)

    answer = pisp.pay()

    assert (answer.status, answer.body["code"]) == (502, "ASPSP_UNKNOWN_ERROR")
    assert words in answer.body["title"]
    assert answer.headers["server-timing"].startswith("bank;dur=")
    assert ", hub;dur=" in answer.headers["server-timing"]
    assert pisp.calls == 1


@VERSIONS
def test_a_failed_connection_restores_a_one_time_consent(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version, consent_type="one_time")
    pisp.bank_answers(NotReached("no connection"))
    assert pisp.pay("key-1").status == 502
    pisp.bank_answers(payment_answer(version))

    assert pisp.pay("key-1").status == 502
    assert pisp.pay("key-2").status == 200
    assert pisp.pay("key-3").status == 401


@VERSIONS
@pytest.mark.parametrize("failure", [TimedOut("late"), ConnectionDropped("broke"), "refusal"])
def test_a_payment_that_may_have_reached_the_bank_uses_a_one_time_consent(
    causeway: Causeway, version: int, failure: OutboundError | str
) -> None:
    pisp = Pisp(causeway, version, consent_type="one_time")
    pisp.bank_answers(REFUSAL[version] if failure == "refusal" else failure)

    assert pisp.pay().status == 502
    assert pisp.pay().status == 401


def test_restoring_a_one_time_consent_does_not_extend_the_access_token_expiry(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1, consent_type="one_time")
    pisp.bank_answers(NotReached("no connection"))
    pisp.pay()
    causeway.clock.advance(3601)

    assert causeway.tpp.call("GET", "/tpp/consent", bearer=pisp.bearer).status == 401


def test_a_consent_revoked_during_a_failed_connection_is_not_restored(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1, consent_type="one_time")

    def revoked_on_the_way(sent: object) -> Any:
        causeway.tpp.call("POST", "/tpp/token/revoke", {"token": pisp.bearer})
        return NotReached("no connection")

    pisp.bank.answers[WEBHOOKS[1, "single"]] = revoked_on_the_way

    assert pisp.pay("key-1").status == 502
    assert pisp.pay("key-2").status == 401


@pytest.mark.parametrize(("length", "status"), [(300_000, 200), (300_001, 502)])
def test_a_payment_response_above_300_000_characters_returns_502(causeway: Causeway, length: int, status: int) -> None:
    pisp = Pisp(causeway, 1)
    answer = {"payment_id": "P-1", "confirmation_url": "https://bank.example/confirm", "extra": ""}
    answer["extra"] = "x" * (length - len(jsontext.dumps(answer)))
    pisp.bank_answers(answer | {"status": "success"})

    assert pisp.pay("key-1").status == status
    assert pisp.pay("key-1").status == status
    assert pisp.calls == 1


@pytest.mark.parametrize("part", ["bank_token", "prepare"])
def test_an_internal_error_before_the_bank_call_uses_neither_the_consent_nor_the_key(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    pisp = Pisp(causeway, 1, consent_type="one_time")
    with monkeypatch.context() as patch:
        owner = type(
            causeway.hub.openbanking.consents if part == "bank_token" else causeway.hub.openbanking.bank_client
        )
        patch.setattr(owner, part, lambda *_, **__: 1 / 0)
        assert pisp.pay("key-1").status == 500

    assert pisp.pay("key-1").status == 200


@VERSIONS
def test_a_payment_id_that_cannot_be_stored_returns_502(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version)
    pisp.bank_answers({"status": "success", "confirmation_url": "https://b.example", "\ud800": None})
    assert pisp.pay().status == 502
    for number, name in enumerate(("a\ud800", "a\nb", "p" * 1025)):
        pisp.bank_answers(payment_answer(version, name))
        assert pisp.pay(f"key-{number}").status == 502
        assert "unknown" in pisp.pay(f"key-{number}").body["title"]

    pisp.bank_answers(payment_answer(version, "p" * 1024))
    assert pisp.pay().status == 200


def test_a_version_1_consent_does_not_permit_swift_at_a_bank_that_now_uses_version_2(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1)
    bic = pisp.bank.bic
    causeway.hub.openbanking.banks.change(bic, api_version=2, signature_required=True, schemes=(), scopes=())
    causeway.clock.advance(61)
    try:
        assert pisp.pay(payment_scheme="SWIFT").body["code"] == "PAYMENT_SCHEME_INVALID"
        assert pisp.pay().status == 200
    finally:
        causeway.hub.openbanking.banks.change(bic, api_version=1, signature_required=False, schemes=(), scopes=())


@VERSIONS
@KINDS
def test_a_payment_response_without_a_payment_id_returns_502(causeway: Causeway, version: int, kind: str) -> None:
    pisp = Pisp(causeway, version, kind)
    pisp.bank_answers(payment_answer(version, ""))

    answer = pisp.pay()

    assert (answer.status, answer.body["code"]) == (502, "ASPSP_UNKNOWN_ERROR")
    assert "unknown" in answer.body["title"]


def test_a_bank_response_with_an_existing_payment_id_does_not_replace_the_payment_history(causeway: Causeway) -> None:
    pisp = Pisp.with_request_id(causeway, 2)
    pisp.pay()
    pisp.report("ACSC")

    assert [pisp.pay("key-1").status, pisp.pay("key-1").status] == [200, 200]

    (payment,) = causeway.hub.store.scan("payments")
    assert [entry["status"] for entry in payment["history"]] == ["RCVD", "ACSC"]


@pytest.mark.parametrize("key", [None, "key-1"])
@pytest.mark.parametrize("applied", [True, False])
def test_a_payment_is_sent_to_the_bank_only_if_its_idempotency_claim_was_stored(
    causeway: Causeway, key: str | None, applied: bool
) -> None:
    pisp = Pisp(causeway, 1, consent_type="one_time")

    with causeway.answer_lost("transact", applied=applied):
        first = pisp.pay(key)

    assert first.status == (200 if applied else 500)
    assert pisp.pay(key).status == (401 if applied and key is None else 200)
    assert pisp.calls == 1


@pytest.mark.parametrize("other", ["0", "~"])
def test_a_payment_is_not_sent_to_the_bank_if_a_concurrent_attempt_used_the_consent(
    causeway: Causeway, other: str
) -> None:
    """``other`` is the id of a different attempt. The id sorts before or after every generated id."""
    pisp = Pisp(causeway, 1, consent_type="one_time")
    key = consent_key(causeway.tpp.call("GET", "/tpp/consent", bearer=pisp.bearer).body["consent_id"])

    def spend() -> None:
        causeway.hub.store.update(*key, set={"status": "spent", "spent_by": other})

    with causeway.answer_lost("transact", applied=False), causeway.meanwhile("get", spend):
        assert pisp.pay().status == 500
    assert pisp.calls == 0


def test_a_payment_succeeds_if_its_outcome_cannot_be_encrypted(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    pisp = Pisp(causeway, 1)
    monkeypatch.setattr(type(causeway.hub.vault), "seal", lambda *_: 1 / 0)

    assert pisp.pay("key-1").status == 200
    assert pisp.status().status == 200


def test_a_failed_connection_restores_the_consent_if_the_error_cannot_be_encrypted(
    causeway: Causeway, monkeypatch: pytest.MonkeyPatch
) -> None:
    pisp = Pisp(causeway, 1, consent_type="one_time")
    pisp.bank_answers(NotReached("no connection"))
    with monkeypatch.context() as patch:
        patch.setattr(type(causeway.hub.vault), "seal", lambda *_: 1 / 0)
        assert "not sent" in pisp.pay("key-1").body["title"]
    pisp.bank_answers(payment_answer(1))

    assert pisp.pay("key-2").status == 200


def test_restoring_a_consent_after_a_concurrent_payment_does_not_extend_the_token_expiry(causeway: Causeway) -> None:
    """A batch read is not transactional, so the returned consent can be older than the returned token."""
    from chalicelib.openbanking.flows.tpp_authentication import TppAuthentication

    pisp = Pisp(causeway, 1, consent_type="one_time")
    pisp.bank_answers(NotReached("no connection"))
    real = TppAuthentication.authenticate_bearer

    def later_token(self: TppAuthentication, *arguments: Any, **options: Any) -> Any:
        caller = real(self, *arguments, **options)
        caller.token["expires_at"] = caller.consent.valid_until
        return caller

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TppAuthentication, "authenticate_bearer", later_token)
        assert pisp.pay().status == 502
    causeway.clock.advance(3601)

    assert causeway.tpp.call("GET", "/tpp/consent", bearer=pisp.bearer).status == 401


@pytest.mark.parametrize("status", [408, 409, 425, 500, 503])
@VERSIONS
def test_a_bank_error_with_an_ambiguous_status_leaves_the_outcome_unknown(
    causeway: Causeway, version: int, status: int
) -> None:
    pisp = Pisp(causeway, version)
    pisp.bank_answers(Reply(status, REFUSAL[version].body, {}, 0.01))

    assert "unknown" in pisp.pay().body["title"]


def test_a_version_2_response_with_a_payment_id_succeeds_despite_an_error_code(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2)
    pisp.bank_answers(payment_answer(2) | {"code": "W1", "title": "take care"})
    assert pisp.pay().status == 200

    pisp.bank_answers({"code": "FUNDS", "title": "not enough money"})
    assert "refused" in pisp.pay().body["title"]


@VERSIONS
def test_a_payment_response_without_a_confirmation_url_returns_502(causeway: Causeway, version: int) -> None:
    pisp = Pisp(causeway, version)
    pisp.bank_answers(payment_answer(version) | {"confirmation_url": ""})

    assert pisp.pay().status == 502


def test_a_payment_id_in_camel_case_and_snake_case_has_the_snake_case_value(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2)
    pisp.bank_answers(payment_answer(2) | {"paymentId": "P-2"})

    assert pisp.pay().body == payment_answer(2)


@pytest.mark.parametrize(("version", "kind"), [(1, "single"), (1, "bulk"), (1, "direct"), (2, "bulk"), (2, "direct")])
def test_the_scheme_swift_returns_400_for_calls_other_than_single_payments_of_version_2(
    causeway: Causeway, version: int, kind: str
) -> None:
    bank = {"name": "Bank", "country": "US"}

    refused = Pisp(causeway, version, kind).pay(payment_scheme="SWIFT", creditor_bank=bank)

    assert (refused.status, refused.body["code"]) == (400, "PAYMENT_SCHEME_INVALID")


def test_additional_errors_of_a_bank_reach_the_tpp(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2)
    more = [{"code": "ASPSP_ERROR_DESC", "title": "x", "details": "limit of the day reached"}, "odd"]
    body = {"code": "LIMIT", "title": "too much", "timestamp": "x", "additionalErrors": more}
    pisp.bank_answers(Reply(403, jsontext.dumps(body).encode(), {}, 0))

    details = pisp.pay().body["additionalErrors"][0]["details"]

    assert details == "LIMIT: too much; ASPSP_ERROR_DESC: limit of the day reached"


# -- what protects the PSU


@VERSIONS
@KINDS
@pytest.mark.parametrize(
    "url", ["https://evil.example/payments", "http://127.0.0.1:8001/payments", "https://127.0.0.1:8000/payments"]
)
def test_a_callback_url_outside_the_origins_of_the_client_returns_400(
    causeway: Causeway, version: int, kind: str, url: str
) -> None:
    pisp = Pisp(causeway, version, kind)

    refused = pisp.pay(callback_url=url)

    assert (refused.status, refused.body["code"]) == (400, "FORMAT_ERROR")
    assert "callback_url" in refused.body["title"]
    assert pisp.calls == 0


@VERSIONS
@KINDS
def test_a_callback_url_at_any_registered_origin_returns_200(causeway: Causeway, version: int, kind: str) -> None:
    urls = ["http://127.0.0.1:8000/authorize/callback", "https://two.example:8443/back"]
    causeway.hub.openbanking.clients.update(causeway.tpp.client_id, callback_urls=urls)
    pisp = Pisp(causeway, version, kind)

    assert pisp.pay(callback_url="https://two.example:8443/paid?x=1").status == 200
    assert pisp.pay(callback_url="https://two.example/paid").status == 400


def test_the_stored_response_of_an_idempotency_key_is_encrypted(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1)
    pisp.bank_answers(payment_answer(1) | {"confirmation_url": "https://bank.example/confirm?secret=tell-nobody"})
    pisp.pay("key-1")

    items = list(causeway.hub.store.scan("idempotency"))
    assert items
    assert "tell-nobody" not in repr(items)
    assert "key-1" not in repr(items)


def test_the_request_id_of_a_payment_is_sent_to_the_bank(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 1)
    request_id = str(uuid.uuid4())

    causeway.tpp.call(
        "POST", PATHS["single"], order(causeway, 1, "single"), bearer=pisp.bearer, headers={"x-request-id": request_id}
    )

    assert pisp.bank.received[0].headers["X-Request-Id"] == request_id


@pytest.mark.parametrize("kind", ["single", "direct"])
def test_a_deferred_payment_is_queued_immediately(causeway: Causeway, kind: str) -> None:
    request_id = Pisp(causeway, 1, kind, deferred=True).order()

    assert causeway.queued() == [request_id]
