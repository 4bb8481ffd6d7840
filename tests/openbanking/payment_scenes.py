"""Scenes of payments, made at once or later, and of what banks report on them."""

from __future__ import annotations

import uuid
from typing import Any

from chalicelib.foundation.http.outbound import NotReached, TimedOut
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.records.orders import order_key
from tests.causeway import Answer, Causeway
from tests.openbanking.faults import Fault, items
from tests.openbanking.payer import REFUSAL, WEBHOOKS, Payer, taken
from tests.openbanking.scenes import (
    LATER,
    LaterPayer,
    Run,
    Scenes,
    carry_on,
    completed,
    never_says,
    outcome,
    parts,
    records,
    refused,
    status_of_consent,
    told,
)

scene = Scenes()


# -- payments


@scene(
    (1, "single", "reusable", None),
    (2, "single", "reusable", "key"),
    (1, "single", "one_time", None),
    (2, "single", "one_time", "key"),
    (1, "bulk", "one_time", "key"),
    (2, "direct", "reusable", None),
    (1, "direct", "reusable", "key"),
    (1, "single", "reusable", None, "with an id"),
    (2, "direct", "reusable", None, "with an id"),
    (2, "single", "one_time", "key", "with an id"),
)
def pay(causeway: Causeway, version: int, kind: str, consent_type: str, key: str | None, request_id: str = "") -> Run:
    payer = _payer(causeway, version, kind, consent_type, request_id)

    def run(fault: Fault) -> None:
        _taken(fault, payer, _paid(fault, payer, key), key)

    return run


@scene((1, "one_time", None), (2, "one_time", "key"), (1, "reusable", None, "with an id"))
def pay_while_the_storage_never_says_that_it_has_written(
    causeway: Causeway, version: int, consent_type: str, key: str | None, request_id: str = ""
) -> Run:
    payer = _payer(causeway, version, "single", consent_type, request_id)

    def run(fault: Fault) -> None:
        if fault.lasting:
            return  # nobody can find out then
        with never_says(causeway):
            first = _paid(fault, payer, key)
        _taken(fault, payer, first, key)

    return run


def _payer(causeway: Causeway, version: int, kind: str, consent_type: str, request_id: str) -> Payer:
    """A payer, perhaps one whose order has an X-Request-Id of its own."""
    payer = Payer(causeway, version, kind, consent_type)
    payer.request_id = str(uuid.uuid4()) if request_id else None
    return payer


def _paid(fault: Fault, payer: Payer, key: str | None) -> Answer:
    """The answer to a payment that met the fault, or to its repeat when it was refused before the bank was called."""
    with fault:
        first = payer.pay(key)
    if payer.calls == 0:
        assert refused(first)
        first = payer.pay(key)
    assert payer.calls == 1
    return first


def _taken(fault: Fault, payer: Payer, first: Answer, key: str | None) -> None:
    """A payment that the bank has taken: it is there once, and the bank is not called again."""
    if first.status == 200:
        (payment,) = items(payer.causeway, "payments")
        assert [entry["status"] for entry in payment["history"]] == [1 if payer.version == 1 else "RCVD"]
    else:
        assert fault.lasting, first
        assert (first.status, first.body["code"]) == (500, "INTERNAL_SERVER_ERROR")
        assert "unknown" in first.body["title"]
        assert "retry-after" not in first.headers
    if payer.kind != "direct":
        one_time = parts(payer.causeway, "consent")[0]["consent_type"] == "one_time"
        assert status_of_consent(payer.causeway) == ("spent" if one_time else "authorised")
        if one_time:
            assert payer.pay("another key").status == 401
    if key and (first.status == 200 or fault.loses_what_was_applied()):
        again = payer.pay(key)
        assert (again.status, again.body["payment_id"]) == (200, "P-1")
        assert first.status != 200 or again.text == first.text
    elif key:
        assert payer.pay(key).status == 409
        _never_ended(payer, key)
    assert payer.calls == 1
    _is_refused_to_others(payer)


def _is_refused_to_others(payer: Payer) -> None:
    """No other order with the same X-Request-Id reaches the bank."""
    other, calls = Payer(payer.causeway, payer.version, "direct"), payer.calls
    other.request_id = payer.request_id
    refused = other.pay(callback_url="http://127.0.0.1:8000/payments/callback?other") if other.request_id else None
    assert refused is None or (refused.status, refused.body["code"]) == (400, "HEADERS_ERROR")
    assert payer.calls == calls


def _never_ended(payer: Payer, key: str) -> None:
    """After half a minute a key whose request did not end says that the outcome is unknown."""
    payer.causeway.clock.advance(31)
    late = payer.pay(key)
    assert (late.status, late.body["code"]) == (502, "ASPSP_UNKNOWN_ERROR")
    assert "unknown" in late.body["title"]


FAILURES: dict[str, tuple[Any, str]] = {
    "refuses": (REFUSAL, "refused"),
    "is never reached": (NotReached("no connection"), "not sent"),
    "is late": (TimedOut("no answer came in time"), "unknown"),
}


@scene(
    (1, "refuses", "one_time", "key"),
    (2, "is late", "one_time", "key"),
    (2, "is never reached", "one_time", "key"),
    (1, "is never reached", "one_time", None),
    (2, "is late", "reusable", None, "with an id"),
    (1, "is never reached", "reusable", None, "with an id"),
    (2, "is never reached", "one_time", "key", "with an id"),
)
def pay_at_a_bank_that(
    causeway: Causeway, version: int, failure: str, consent_type: str, key: str | None, request_id: str = ""
) -> Run:
    payer = _payer(causeway, version, "single", consent_type, request_id)
    answer, words = FAILURES[failure]

    def run(fault: Fault) -> None:
        payer.bank_does(answer[version] if failure == "refuses" else answer)
        first = _paid(fault, payer, key)
        assert first.status == 502
        assert words in first.body["title"]
        if key:
            again = payer.pay(key)
            assert again.text == first.text if again.status == 502 else (again.status == 409 and fault.lasting)
            if failure == "is never reached":
                assert (again.status == 502) == (status_of_consent(causeway) == "authorised"), (
                    "both were written, or none"
                )
        assert payer.calls == 1
        if failure != "is never reached":
            _is_refused_to_others(payer)
        elif payer.request_id:
            _is_free_for_others(fault, payer)
            return
        _given_back_or_spent(fault, payer, failure, consent_type)

    return run


def _is_free_for_others(fault: Fault, payer: Payer) -> None:
    """An id whose order was never sent is free, and the consent is whole, unless that could not be written."""
    other = Payer(payer.causeway, payer.version, "direct")
    other.request_id = payer.request_id
    answer = other.pay()
    assert answer.status == 200 or (answer.status == 400 and fault.lasting)
    one_time = parts(payer.causeway, "consent")[0]["consent_type"] == "one_time"
    spent = one_time and answer.status == 400
    assert status_of_consent(payer.causeway) == ("spent" if spent else "authorised"), "both were written, or none"


def _given_back_or_spent(fault: Fault, payer: Payer, failure: str, consent_type: str) -> None:
    """A one-time consent is whole again only if the bank was never reached; and then it pays once."""
    status, whole = status_of_consent(payer.causeway), consent_type == "reusable" or failure == "is never reached"
    assert status == ("authorised" if whole else "spent") or (fault.lasting and status == "spent")
    payer.bank_does(taken(payer.version))
    assert payer.pay("another key").status == (200 if status == "authorised" else 401)
    if consent_type == "one_time":
        assert payer.pay("a third key").status == 401
        assert payer.calls == (2 if status == "authorised" else 1)


@scene()
def pay_with_a_consent_that_is_revoked_before_the_bank_is_not_reached(causeway: Causeway) -> Run:
    payer = Payer(causeway, 1, consent_type="one_time")

    def run(fault: Fault) -> None:
        def revoked_on_the_way(sent: object) -> Any:
            with fault.resting():
                causeway.tpp.call("POST", "/tpp/token/revoke", {"token": payer.bearer})
            return NotReached("no connection")

        payer.side.answers[WEBHOOKS[1, "single"]] = revoked_on_the_way
        assert _paid(fault, payer, "key").status == 502
        assert status_of_consent(causeway) == "revoked"
        assert payer.pay("key").status == 401
        if not fault.lasting:
            (claim,) = [item for item in items(causeway, "idempotency") if item["claim"].startswith("tpp#")]
            assert "outcome" in claim

    return run


@scene()
def pay_at_a_bank_that_recognises_the_payment(causeway: Causeway) -> Run:
    payer = Payer(causeway, 2)
    payer.request_id = str(uuid.uuid4())
    payer.pay()
    payer.report("ACSC")

    def run(fault: Fault) -> None:
        payer.side.received.clear()
        first = _paid(fault, payer, "key")
        assert first.status == 200 or fault.lasting
        (payment,) = items(causeway, "payments")
        assert [entry["status"] for entry in payment["history"]] == ["RCVD", "ACSC"]
        assert payer.pay("key").status == first.status or fault.lasting
        assert payer.calls == 1

    return run


@scene((1, "reusable", None), (2, "one_time", "key"))
def pay_at_a_bank_that_gives_a_payment_id_out_again(
    causeway: Causeway, version: int, consent_type: str, key: str | None
) -> Run:
    first = Payer(causeway, version, "direct")
    first.pay()
    (before,) = items(causeway, "payments")
    payer = Payer(causeway, version, consent_type=consent_type)
    payer.request_id = str(uuid.uuid4())

    def run(fault: Fault) -> None:
        payer.side.received.clear()
        payer.bank_does(taken(version))
        refused = _paid(fault, payer, key)
        assert refused.status == 502 or (fault.lasting and refused.status == 500)
        assert "unknown" in refused.body["title"]
        assert items(causeway, "payments") == [before]
        if key:
            assert payer.pay(key).text == refused.text or fault.lasting
        assert status_of_consent(causeway) == ("spent" if consent_type == "one_time" else "authorised")
        _is_refused_to_others(payer)

    return run


UNUSABLE = {"confirmation_url": "javascript:1"}


def _unknown(causeway: Causeway, kind: str = "single") -> Payer:
    """A TPP whose payment at a version 2 bank, P-1, has an unknown outcome."""
    payer = Payer(causeway, 2, kind)
    payer.request_id = str(uuid.uuid4())
    payer.bank_does(taken(2) | UNUSABLE)
    assert payer.pay().status == 502
    return payer


@scene("single", "direct")
def look_for_a_payment_by_the_id_of_its_order(causeway: Causeway, kind: str) -> Run:
    payer = Payer(causeway, 1, kind)
    payer.request_id = str(uuid.uuid4())
    payer.pay()

    def run(fault: Fault) -> None:
        answer = completed(fault, payer.status_of_order)
        assert (answer.body["payment_id"], answer.body["payment_status"]) == ("P-1", 1)

    return run


@scene("single", "direct")
def ask_a_bank_about_a_payment_with_an_unknown_outcome(causeway: Causeway, kind: str) -> Run:
    payer = _unknown(causeway, kind)
    payer.side.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}

    def run(fault: Fault) -> None:
        answer = completed(fault, payer.status)
        assert answer.body == {"payment_id": "P-1", "transaction_status": "ACSC"}
        assert payer.status().status == 200
        (payment,) = items(causeway, "payments")
        assert (payment["status"], "outcome" in payment) == ("ACSC", False)

    return run


@scene()
def report_on_a_payment_whose_order_id_is_another_orders_by_now(causeway: Causeway) -> Run:
    payer, other = Payer(causeway, 1), Payer(causeway, 1, "direct")
    payer.request_id = other.request_id = str(uuid.uuid4())
    payer.bank_does(taken(1) | UNUSABLE)
    assert payer.pay().status == 502
    key = order_key(payer.side.bic, payer.request_id)
    causeway.hub.store.delete(*key)
    other.side.answers[WEBHOOKS[1, "direct"]] = lambda sent: taken(1, "P-2")
    assert other.pay().status == 200

    def run(fault: Fault) -> None:
        request_id = str(uuid.uuid4())
        completed(fault, lambda: payer.report(4, **{"x-request-id": request_id}))
        assert payer.status().body["payment_status"] == 4
        assert other.status_of_order().body["payment_id"] == "P-2"

    return run


# -- calls that are answered later


@scene(1, 2)
def have_a_question_asked_later(causeway: Causeway, version: int) -> Run:
    bearer, path = causeway.tpp.tokens(version)["access_token"], "/tpp/accounts"
    webhook, answer = {1: ("/accounts", {"status": "success"}), 2: ("/v2_accounts", {})}[version]
    causeway.banks[version].answers[webhook] = lambda sent: answer | {"accounts": []}

    def run(fault: Fault) -> None:
        accepted = completed(fault, lambda: causeway.tpp.call("GET", path, bearer=bearer, headers=LATER), 202)
        assert len(records(causeway, "relay")) == 1 or fault.loses_what_was_applied()
        carry_on(causeway)
        assert outcome(causeway, accepted.body["request_id"], bearer)["state"] == "done"

    return run


@scene((2, "single"), (2, "direct"))
def have_a_payments_status_asked_for_later(causeway: Causeway, version: int, kind: str) -> Run:
    payer = LaterPayer(causeway, version, kind)
    payer.pay()
    payer.side.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}
    bic = "&bic=BETADEF1" if kind == "direct" else ""
    path = f"/tpp/payment_status?payment_id=P-1{bic}"

    def run(fault: Fault) -> None:
        accepted = completed(fault, lambda: causeway.tpp.call("GET", path, bearer=payer.bearer, headers=LATER), 202)
        assert len(records(causeway, "relay")) == 1 or fault.loses_what_was_applied()
        carry_on(causeway)
        assert payer.outcome(accepted)["body"]["transaction_status"] == "ACSC"

    return run


@scene(
    (1, "single", "one_time", None),
    (2, "bulk", "one_time", "key"),
    (1, "bulk", "reusable", None),
    (2, "direct", "reusable", None),
    (1, "direct", "reusable", "key"),
    (1, "single", "reusable", "key", "with an id"),
)
def have_a_payment_made_later(
    causeway: Causeway, version: int, kind: str, consent_type: str, key: str | None, request_id: str = ""
) -> Run:
    payer = LaterPayer(causeway, version, kind, consent_type)
    payer.request_id = str(uuid.uuid4()) if request_id else None

    def run(fault: Fault) -> None:
        with fault:
            accepted = payer.pay_later(key)
        if accepted.status == 500:
            assert _was_not_accepted(accepted)
            assert records(causeway, "payment") == []
            accepted = payer.pay_later(key)
        assert accepted.status == 202, accepted
        assert len(records(causeway, "payment")) == 1
        if consent_type == "one_time":
            assert (status_of_consent(causeway), payer.pay().status) == ("spent", 401)
        if key:
            assert payer.pay_later(key).text == accepted.text
        _is_refused_to_others(payer)
        carry_on(causeway)
        assert payer.outcome(accepted)["status"] == 200
        assert payer.calls == len(items(causeway, "payments")) == 1

    return run


@scene((1, "one_time", None), (2, "reusable", None), (2, "one_time", "key"))
def have_a_payment_made_later_while_the_storage_never_says_that_it_has_written(
    causeway: Causeway, version: int, consent_type: str, key: str | None
) -> Run:
    payer = LaterPayer(causeway, version, consent_type=consent_type)

    def run(fault: Fault) -> None:
        with never_says(causeway), fault:
            accepted = payer.pay_later(key)
        if records(causeway, "payment") == []:
            assert _was_not_accepted(accepted)
            accepted = payer.pay_later(key)
        assert accepted.status == 202 or fault.lasting
        if accepted.status == 500 and key is None and consent_type == "reusable":
            assert accepted.body["title"] == refusals.ACCEPTANCE_UNKNOWN.sentence, "a repeat would be a second payment"
        elif accepted.status == 500:
            assert refused(accepted)
            assert payer.pay_later(key).status == (202 if key else 401)
        else:
            assert accepted.status == 202, accepted
        carry_on(causeway)
        assert len(records(causeway, "payment")) == payer.calls == 1

    return run


def _was_not_accepted(answer: Answer) -> bool:
    """Whether an order was refused, which says so unless a repeat might be a second payment."""
    if "retry-after" in answer.headers:
        return refused(answer)
    return bool(answer.status == 500 and answer.body["title"] == refusals.ACCEPTANCE_UNKNOWN.sentence)


@scene("done", "failed", "queued")
def look_up_what_came_of_a_call(causeway: Causeway, state: str) -> Run:
    payer = LaterPayer(causeway, 1)
    accepted = payer.pay_later()
    payer.bank_does(taken(1) if state == "done" else REFUSAL[1])
    if state != "queued":
        carry_on(causeway)

    def run(fault: Fault) -> None:
        path = f"/tpp/requests/{accepted.body['request_id']}"
        assert completed(fault, lambda: causeway.tpp.call("GET", path, bearer=payer.bearer)).body["state"] == state

    return run


# -- what banks report


@scene(1, 2)
def report_a_payments_status(causeway: Causeway, version: int) -> Run:
    causeway.tpp.set_events_url()
    payer, request_id = Payer(causeway, version, "direct"), str(uuid.uuid4())
    payer.pay()
    first, new, newer = (1, 0, 4) if version == 1 else ("RCVD", "ACSP", "ACSC")

    def report() -> Answer:
        return payer.report(new, **{"x-request-id": request_id})

    def run(fault: Fault) -> None:
        assert completed(fault, report).text == report().text
        assert payer.report(newer).status == 200
        assert report().status == 200
        (payment,) = items(causeway, "payments")
        assert [entry["status"] for entry in payment["history"]] == [first, new, newer]
        assert told(causeway) == ["payment.status_changed"] * 2

    return run


@scene()
def report_a_status_and_another_one_before_the_repeat(causeway: Causeway) -> Run:
    causeway.tpp.set_events_url()
    payer, request_id = Payer(causeway, 2, "direct"), str(uuid.uuid4())
    payer.pay()

    def run(fault: Fault) -> None:
        with fault:
            answer = payer.report("ACSP", **{"x-request-id": request_id})
        assert answer.status == 200 or refused(answer)
        assert payer.report("ACWC").status == 200
        assert payer.report("ACSP", **{"x-request-id": request_id}).status == 200
        (payment,) = items(causeway, "payments")
        later = sorted(entry["status"] for entry in payment["history"][1:])
        assert later == ["ACSP", "ACWC"], "each of them once"
        assert told(causeway) == ["payment.status_changed"] * 2

    return run


@scene()
def report_after_a_final_status(causeway: Causeway) -> Run:
    payer, request_id = Payer(causeway, 1, "direct"), str(uuid.uuid4())
    payer.pay()
    payer.report(4)

    def report() -> Answer:
        return payer.report(2, **{"x-request-id": request_id})

    def run(fault: Fault) -> None:
        assert completed(fault, report).text == report().text
        (payment,) = items(causeway, "payments")
        assert [entry["status"] for entry in payment["history"]] == [1, 4]

    return run


@scene(1, 2)
def report_before_the_payment_is_known(causeway: Causeway, version: int) -> Run:
    payer, request_id = Payer(causeway, version, "direct"), str(uuid.uuid4())
    new = 4 if version == 1 else "ACSC"

    def run(fault: Fault) -> None:
        completed(fault, lambda: payer.report(new, **{"x-request-id": request_id}), 400)
        assert payer.pay().status == 200
        (payment,) = items(causeway, "payments")
        assert [entry["status"] for entry in payment["history"]] == [1 if version == 1 else "RCVD", new]

    return run


@scene((1, None), (2, "key"))
def pay_after_the_bank_has_reported(causeway: Causeway, version: int, key: str | None) -> Run:
    causeway.tpp.set_events_url()
    payer = Payer(causeway, version, "direct")
    new = 4 if version == 1 else "ACSC"
    payer.report(new)

    def run(fault: Fault) -> None:
        first = _paid(fault, payer, key)
        assert first.status == 200 or fault.lasting
        (payment,) = items(causeway, "payments")
        kept: Any = payment.get("history", payment.get("early"))
        assert [entry["status"] for entry in kept][-1:] == [new]
        assert first.status != 200 or len(kept) == 2
        assert told(causeway) == (["payment.status_changed"] if "history" in payment else [])

    return run
