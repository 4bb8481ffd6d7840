"""Storage that fails, at every call of every request: the caller is told or answered, a repeat completes, and nothing
doubles.
"""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from chalicelib.foundation.outbound import NotReached, TimedOut
from chalicelib.openbanking.protocol.payments import ACCEPTANCE_UNKNOWN
from tests.openbanking.call_sites import sites_of_requests
from tests.openbanking.faults import Fault, items
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
from tests.openbanking.spelling import TOKEN, URL
from tests.openbanking.test_payments import REFUSAL, WEBHOOKS, Payer, taken
from tests.world import IBAN, Answer, World

scene = Scenes()


@pytest.mark.parametrize(("version", "consent_type"), [(1, "one_time"), (2, "reusable")])
def test_a_payment_whose_answer_cannot_be_kept_has_an_unknown_outcome_and_is_not_made_again(
    world: World, version: int, consent_type: str
) -> None:
    payer = Payer(world, version, consent_type=consent_type)

    with Fault(world, "before", 3, lasting=True):
        first = payer.pay("key")
    soon = payer.pay("key")
    world.clock.advance(31)
    late = payer.pay("key")

    assert [first.status, soon.status, late.status] == [500, 409, 502]
    assert (first.body["code"], late.body["code"]) == ("INTERNAL_SERVER_ERROR", "ASPSP_UNKNOWN_ERROR")
    assert "unknown" in first.body["title"]
    assert "unknown" in late.body["title"]
    assert "retry-after" not in first.headers
    assert payer.calls == 1


# -- the authorization flow


@scene()
def authorize(world: World) -> Run:
    request = {"bic": "ALPHGB21", "scopes": ["account.list"]}

    def run(fault: Fault) -> None:
        answer = completed(fault, lambda: world.tpp("POST", "/tpp/authorize", request))
        urls = [item["request_url"] for item in items(world, "authorizations")]
        assert urls.count(answer.body["redirect_url"]) == 1
        assert len(urls) == 1 or fault.loses_what_was_applied()

    return run


@scene()
def authorize_with_a_state(world: World) -> Run:
    request = {"bic": "ALPHGB21", "scopes": ["account.list"], "state": "of-the-tpp"}

    def run(fault: Fault) -> None:
        if fault.loses_what_was_applied():
            return  # the TPP has to take a new state: this one was used
        answer = completed(fault, lambda: world.tpp("POST", "/tpp/authorize", request))
        assert answer.body["state"] == "of-the-tpp"
        assert len(items(world, "authorizations")) == 1

    return run


@scene()
def authorize_at_the_front_door(world: World) -> Run:
    query = {
        "response_type": "code",
        "client_id": world.client.client_id,
        "scope": "account.list",
        "state": "of-the-tpp",
        "bic": "ALPHGB21",
    }

    def go() -> Answer:
        return world.call("GET", f"/oauth/authorize?{urlencode(query)}")

    def run(fault: Fault) -> None:
        with fault:
            answer = go()
        if answer.status == 500:  # the client is not known yet: a page
            assert "storage did not answer" in answer.text
            answer = go()
        elif answer.headers["location"].startswith(world.client.callback_url):
            assert parse_qs(urlsplit(answer.headers["location"]).query)["error"] == ["server_error"]
            answer = go()
        (stored,) = items(world, "authorizations")
        assert (answer.status, answer.headers["location"]) == (303, stored["request_url"])

    return run


@scene(1, 2)
def init_authorization(world: World, version: int) -> Run:
    url, request_id = world.authorize(version)["redirect_url"], str(uuid.uuid4())

    def ask() -> Answer:
        return world.bank(version, "/init_authorization", {URL[version]: url}, headers={"x-request-id": request_id})

    def run(fault: Fault) -> None:
        answer = completed(fault, ask)
        assert ask().text == answer.text
        assert len(items(world, "idempotency")) == 1

    return run


@scene(1, 2)
def save_a_consent(world: World, version: int) -> Run:
    world.wants_events()
    url, request_id = world.authorize(version)["redirect_url"], str(uuid.uuid4())
    body = world.consent_body(version, url)

    def save() -> Answer:
        return world.bank(version, "/consent", body, headers={"x-request-id": request_id})

    def run(fault: Fault) -> None:
        answer = completed(fault, save)
        assert save().text == answer.text
        (consent,), (grant,) = parts(world, "consent"), parts(world, "grant")
        (authorization,) = items(world, "authorizations")
        assert consent["consent_id"] == grant["consent_id"] == authorization["consent_id"]
        assert (authorization["status"], consent["status"]) == ("approved", "authorised")
        assert told(world) == ["consent.authorised"]

    return run


@scene()
def cancel(world: World) -> Run:
    world.wants_events()
    url = world.authorize(1)["redirect_url"]
    address = world.bank(1, "/init_authorization", {"request_url": url}).body["cancel_url"]
    path = f"{urlsplit(address).path}?{urlencode({'error': 'login_required'})}"

    def run(fault: Fault) -> None:
        with fault:
            answer = world.call("GET", path)
        if answer.status == 500:
            assert "Load this page again" in answer.text
            answer = world.call("GET", path)
        assert answer.status == 303
        assert parse_qs(urlsplit(answer.headers["location"]).query)["error"] == ["login_required"]
        (authorization,) = items(world, "authorizations")
        assert (authorization["status"], authorization["error"]) == ("cancelled", "login_required")
        assert told(world) == ["consent.cancelled"]

    return run


# -- tokens


def has_pairs(world: World, count: int) -> bool:
    return len(parts(world, "access")) == len(parts(world, "refresh")) == count


def ended_once(world: World) -> bool:
    """The consent has ended, one delivery tells the bank, and one event the client."""
    (delivery,), (consent,) = records(world, "revoke_token"), parts(world, "consent")
    assert told(world) == ["consent.revoked"]
    return consent["status"] == "revoked" and delivery["consent_id"] == consent["consent_id"]


@scene()
def exchange_a_code(world: World) -> Run:
    code = world.approve(1).query["code"]

    def run(fault: Fault) -> None:
        tokens = completed(fault, lambda: world.tpp("POST", "/tpp/token", {"code": code})).body
        assert has_pairs(world, 1)
        assert items(world, "deliveries") == []
        assert world.tpp("GET", "/tpp/consent", bearer=tokens["access_token"]).status == 200

    return run


@scene()
def exchange_a_code_while_the_storage_never_says_that_it_has_written(world: World) -> Run:
    code = world.approve(1).query["code"]

    def run(fault: Fault) -> None:
        if fault.lasting:
            return  # nobody can find out then
        with never_says(world), fault:
            answer = world.tpp("POST", "/tpp/token", {"code": code})
        if refused(answer):
            answer = world.tpp("POST", "/tpp/token", {"code": code})
        assert answer.status == 200, answer
        assert has_pairs(world, 1)
        assert items(world, "deliveries") == []

    return run


@scene()
def use_a_code_twice(world: World) -> Run:
    code = world.approve(1).query["code"]
    world.tpp("POST", "/tpp/token", {"code": code})
    world.wants_events()

    def run(fault: Fault) -> None:
        answer = completed(fault, lambda: world.tpp("POST", "/tpp/token", {"code": code}), 400)
        assert answer.body["error"] == "invalid_grant"
        assert ended_once(world)

    return run


@scene()
def refresh(world: World) -> Run:
    request = {"refresh_token": world.tokens(2)["refresh_token"]}

    def run(fault: Fault) -> None:
        tokens = completed(fault, lambda: world.tpp("POST", "/tpp/token", request)).body
        assert has_pairs(world, 2)
        assert world.tpp("POST", "/tpp/token", request).body == tokens
        assert has_pairs(world, 2)
        assert items(world, "deliveries") == []
        assert world.tpp("GET", "/tpp/consent", bearer=tokens["access_token"]).status == 200

    return run


@scene()
def repeat_a_refresh(world: World) -> Run:
    request = {"refresh_token": world.tokens(1)["refresh_token"]}
    before = world.tpp("POST", "/tpp/token", request).body

    def run(fault: Fault) -> None:
        assert completed(fault, lambda: world.tpp("POST", "/tpp/token", request)).body == before
        assert has_pairs(world, 2)

    return run


@scene()
def use_a_refresh_token_after_its_successor(world: World) -> Run:
    request = {"refresh_token": world.tokens(1)["refresh_token"]}
    second = world.tpp("POST", "/tpp/token", request).body
    world.tpp("POST", "/tpp/token", {"refresh_token": second["refresh_token"]})
    world.wants_events()

    def run(fault: Fault) -> None:
        answer = completed(fault, lambda: world.tpp("POST", "/tpp/token", request), 400)
        assert answer.body["error"] == "invalid_grant"
        assert ended_once(world)

    return run


@scene()
def revoke_by_the_tpp(world: World) -> Run:
    token = world.tokens(1)["access_token"]
    world.wants_events()

    def run(fault: Fault) -> None:
        completed(fault, lambda: world.tpp("POST", "/tpp/token/revoke", {"token": token}))
        assert ended_once(world)

    return run


@scene((1, "for the first time"), (2, "for the first time"), (1, "again"))
def revoke_by_the_bank(world: World, version: int, which: str) -> Run:
    token, request_id = {TOKEN[version]: world.approve(version).bank_token}, str(uuid.uuid4())
    world.wants_events()
    if which == "again":
        world.bank(version, "/token/revoke", token)

    def revoke() -> Answer:
        return world.bank(version, "/token/revoke", token, headers={"x-request-id": request_id})

    def run(fault: Fault) -> None:
        assert completed(fault, revoke).text == revoke().text
        assert status_of_consent(world) == "revoked"
        assert told(world) == ["consent.revoked"]
        assert records(world, "revoke_token") == []

    return run


# -- questions


@scene("/tpp/consent", "/tpp/accounts")
def ask_with_a_bearer(world: World, path: str) -> Run:
    bearer = world.tokens(1)["access_token"]
    world.banks[1].answers["/accounts"] = lambda sent: {"status": "success", "accounts": []}

    def run(fault: Fault) -> None:
        completed(fault, lambda: world.tpp("GET", path, bearer=bearer))

    return run


@scene("/tpp/banks", "/tpp/scope?bic=ALPHGB21")
def ask_an_instance_that_has_just_started(world: World, path: str) -> Run:
    def run(fault: Fault) -> None:
        world.hub.banks._forget()
        completed(fault, lambda: world.tpp("GET", path))

    return run


@scene()
def ask_for_funds(world: World) -> Run:
    bearer = world.tokens(1, scopes=["card_based.funds_confirmations"])["access_token"]
    body = {"account": {"iban": IBAN}, "instructed_amount": {"amount": "10.00", "currency": "GBP"}}
    world.banks[1].answers["/funds_confirmations"] = lambda sent: {"status": "success", "funds_available": True}

    def run(fault: Fault) -> None:
        answer = completed(fault, lambda: world.tpp("POST", "/tpp/funds_confirmations", body, bearer=bearer))
        assert answer.body == {"funds_available": True}

    return run


@scene((1, "single"), (2, "single"), (1, "direct"))
def ask_for_a_payments_status(world: World, version: int, kind: str) -> Run:
    payer = Payer(world, version, kind)
    payer.pay()
    payer.side.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}

    def run(fault: Fault) -> None:
        answer = completed(fault, payer.status).body
        assert answer.get("payment_status", answer.get("transaction_status")) == (1 if version == 1 else "ACSC")

    return run


@scene()
def come_back_from_a_payment(world: World) -> Run:
    payer = Payer(world, 2)
    payer.pay()
    payer.side.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}

    def run(fault: Fault) -> None:
        with fault:
            answer = world.call("GET", "/payments/callback?bic=BETADEF1&payment_id=P-1")
        if answer.status == 500:
            assert "try again" in answer.text
            answer = world.call("GET", "/payments/callback?bic=BETADEF1&payment_id=P-1")
        assert answer.status == 200
        assert "ACSC" in answer.text

    return run


# -- payments


@scene(
    (1, "single", "reusable", None),
    (2, "single", "reusable", "key"),
    (1, "single", "one_time", None),
    (2, "single", "one_time", "key"),
    (1, "bulk", "one_time", "key"),
    (2, "direct", "reusable", None),
    (1, "direct", "reusable", "key"),
)
def pay(world: World, version: int, kind: str, consent_type: str, key: str | None) -> Run:
    payer = Payer(world, version, kind, consent_type)

    def run(fault: Fault) -> None:
        _taken(fault, payer, _paid(fault, payer, key), key)

    return run


@scene((1, "one_time", None), (2, "one_time", "key"))
def pay_while_the_storage_never_says_that_it_has_written(
    world: World, version: int, consent_type: str, key: str | None
) -> Run:
    payer = Payer(world, version, consent_type=consent_type)

    def run(fault: Fault) -> None:
        if fault.lasting:
            return  # nobody can find out then
        with never_says(world):
            first = _paid(fault, payer, key)
        _taken(fault, payer, first, key)

    return run


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
        (payment,) = items(payer.world, "payments")
        assert [entry["status"] for entry in payment["history"]] == [1 if payer.version == 1 else "RCVD"]
    else:
        assert fault.lasting, first
        assert (first.status, first.body["code"]) == (500, "INTERNAL_SERVER_ERROR")
        assert "unknown" in first.body["title"]
        assert "retry-after" not in first.headers
    if payer.kind != "direct":
        one_time = parts(payer.world, "consent")[0]["consent_type"] == "one_time"
        assert status_of_consent(payer.world) == ("spent" if one_time else "authorised")
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


def _never_ended(payer: Payer, key: str) -> None:
    """After half a minute a key whose request did not end says that the outcome is unknown."""
    payer.world.clock.advance(31)
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
)
def pay_at_a_bank_that(world: World, version: int, failure: str, consent_type: str, key: str | None) -> Run:
    payer = Payer(world, version, consent_type=consent_type)
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
                assert (again.status == 502) == (status_of_consent(world) == "authorised"), "both were written, or none"
        assert payer.calls == 1
        _given_back_or_spent(fault, payer, failure, consent_type)

    return run


def _given_back_or_spent(fault: Fault, payer: Payer, failure: str, consent_type: str) -> None:
    """A one-time consent is whole again only if the bank was never reached; and then it pays once."""
    status, whole = status_of_consent(payer.world), consent_type == "reusable" or failure == "is never reached"
    assert status == ("authorised" if whole else "spent") or (fault.lasting and status == "spent")
    payer.bank_does(taken(payer.version))
    assert payer.pay("another key").status == (200 if status == "authorised" else 401)
    if consent_type == "one_time":
        assert payer.pay("a third key").status == 401
        assert payer.calls == (2 if status == "authorised" else 1)


@scene()
def pay_with_a_consent_that_is_revoked_before_the_bank_is_not_reached(world: World) -> Run:
    payer = Payer(world, 1, consent_type="one_time")

    def run(fault: Fault) -> None:
        def revoked_on_the_way(sent: object) -> Any:
            with fault.resting():
                world.tpp("POST", "/tpp/token/revoke", {"token": payer.bearer})
            return NotReached("no connection")

        payer.side.answers[WEBHOOKS[1, "single"]] = revoked_on_the_way
        assert _paid(fault, payer, "key").status == 502
        assert status_of_consent(world) == "revoked"
        assert payer.pay("key").status == 401
        if not fault.lasting:
            (claim,) = [item for item in items(world, "idempotency") if "attempt" in item]
            assert "outcome" in claim

    return run


@scene()
def pay_at_a_bank_that_recognises_the_payment(world: World) -> Run:
    payer = Payer(world, 2)
    payer.request_id = str(uuid.uuid4())
    payer.pay()
    payer.report("ACSC")

    def run(fault: Fault) -> None:
        payer.side.received.clear()
        first = _paid(fault, payer, "key")
        assert first.status == 200 or fault.lasting
        (payment,) = items(world, "payments")
        assert [entry["status"] for entry in payment["history"]] == ["RCVD", "ACSC"]
        assert payer.pay("key").status == first.status or fault.lasting
        assert payer.calls == 1

    return run


# -- calls that are answered later


@scene(1, 2)
def have_a_question_asked_later(world: World, version: int) -> Run:
    bearer, path = world.tokens(version)["access_token"], "/tpp/accounts"
    webhook, answer = {1: ("/accounts", {"status": "success"}), 2: ("/v2_accounts", {})}[version]
    world.banks[version].answers[webhook] = lambda sent: answer | {"accounts": []}

    def run(fault: Fault) -> None:
        accepted = completed(fault, lambda: world.tpp("GET", path, bearer=bearer, headers=LATER), 202)
        assert len(records(world, "relay")) == 1 or fault.loses_what_was_applied()
        carry_on(world)
        assert outcome(world, accepted.body["request_id"], bearer)["state"] == "done"

    return run


@scene((2, "single"), (2, "direct"))
def have_a_payments_status_asked_for_later(world: World, version: int, kind: str) -> Run:
    payer = LaterPayer(world, version, kind)
    payer.pay()
    payer.side.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}
    bic = "&bic=BETADEF1" if kind == "direct" else ""
    path = f"/tpp/payment_status?payment_id=P-1{bic}"

    def run(fault: Fault) -> None:
        accepted = completed(fault, lambda: world.tpp("GET", path, bearer=payer.bearer, headers=LATER), 202)
        assert len(records(world, "relay")) == 1 or fault.loses_what_was_applied()
        carry_on(world)
        assert payer.outcome(accepted)["body"]["transaction_status"] == "ACSC"

    return run


@scene(
    (1, "single", "one_time", None),
    (2, "bulk", "one_time", "key"),
    (1, "bulk", "reusable", None),
    (2, "direct", "reusable", None),
    (1, "direct", "reusable", "key"),
)
def have_a_payment_made_later(world: World, version: int, kind: str, consent_type: str, key: str | None) -> Run:
    payer = LaterPayer(world, version, kind, consent_type)

    def run(fault: Fault) -> None:
        with fault:
            accepted = payer.pay_later(key)
        if accepted.status == 500:
            assert _says_acceptance_is_unknown(accepted) if "retry-after" not in accepted.headers else refused(accepted)
            assert records(world, "payment") == []
            accepted = payer.pay_later(key)
        assert accepted.status == 202, accepted
        assert len(records(world, "payment")) == 1
        if consent_type == "one_time":
            assert (status_of_consent(world), payer.pay().status) == ("spent", 401)
        if key:
            assert payer.pay_later(key).text == accepted.text
        carry_on(world)
        assert payer.outcome(accepted)["status"] == 200
        assert payer.calls == len(items(world, "payments")) == 1

    return run


@scene((1, "one_time", None), (2, "reusable", None), (2, "one_time", "key"))
def have_a_payment_made_later_while_the_storage_never_says_that_it_has_written(
    world: World, version: int, consent_type: str, key: str | None
) -> Run:
    payer = LaterPayer(world, version, consent_type=consent_type)

    def run(fault: Fault) -> None:
        with never_says(world), fault:
            accepted = payer.pay_later(key)
        if records(world, "payment") == []:
            assert refused(accepted)
            accepted = payer.pay_later(key)
        if accepted.status == 500 and key is None and consent_type == "reusable":
            assert _says_acceptance_is_unknown(accepted), "a repeat would be a second payment"
        elif accepted.status == 500:
            assert refused(accepted)
            assert payer.pay_later(key).status == (202 if key else 401)
        else:
            assert accepted.status == 202, accepted
        carry_on(world)
        assert len(records(world, "payment")) == payer.calls == 1

    return run


def _says_acceptance_is_unknown(answer: Answer) -> bool:
    assert "retry-after" not in answer.headers
    return bool(answer.body["title"] == ACCEPTANCE_UNKNOWN)


@scene("done", "failed", "queued")
def look_up_what_came_of_a_call(world: World, state: str) -> Run:
    payer = LaterPayer(world, 1)
    accepted = payer.pay_later()
    payer.bank_does(taken(1) if state == "done" else REFUSAL[1])
    if state != "queued":
        carry_on(world)

    def run(fault: Fault) -> None:
        path = f"/tpp/requests/{accepted.body['request_id']}"
        assert completed(fault, lambda: world.tpp("GET", path, bearer=payer.bearer)).body["state"] == state

    return run


# -- what banks report


@scene(1, 2)
def report_a_payments_status(world: World, version: int) -> Run:
    world.wants_events()
    payer, request_id = Payer(world, version, "direct"), str(uuid.uuid4())
    payer.pay()
    first, new, newer = (1, 0, 4) if version == 1 else ("RCVD", "ACSP", "ACSC")

    def report() -> Answer:
        return payer.report(new, **{"x-request-id": request_id})

    def run(fault: Fault) -> None:
        assert completed(fault, report).text == report().text
        assert payer.report(newer).status == 200
        assert report().status == 200
        (payment,) = items(world, "payments")
        assert [entry["status"] for entry in payment["history"]] == [first, new, newer]
        assert told(world) == ["payment.status_changed"] * 2

    return run


@scene()
def report_a_status_and_another_one_before_the_repeat(world: World) -> Run:
    world.wants_events()
    payer, request_id = Payer(world, 2, "direct"), str(uuid.uuid4())
    payer.pay()

    def run(fault: Fault) -> None:
        with fault:
            answer = payer.report("ACSP", **{"x-request-id": request_id})
        assert answer.status == 200 or refused(answer)
        assert payer.report("ACWC").status == 200
        assert payer.report("ACSP", **{"x-request-id": request_id}).status == 200
        (payment,) = items(world, "payments")
        later = sorted(entry["status"] for entry in payment["history"][1:])
        assert later == ["ACSP", "ACWC"], "each of them once"
        assert told(world) == ["payment.status_changed"] * 2

    return run


@scene()
def report_after_a_final_status(world: World) -> Run:
    payer, request_id = Payer(world, 1, "direct"), str(uuid.uuid4())
    payer.pay()
    payer.report(4)

    def report() -> Answer:
        return payer.report(2, **{"x-request-id": request_id})

    def run(fault: Fault) -> None:
        assert completed(fault, report).text == report().text
        (payment,) = items(world, "payments")
        assert [entry["status"] for entry in payment["history"]] == [1, 4]

    return run


@scene(1, 2)
def report_before_the_payment_is_known(world: World, version: int) -> Run:
    payer, request_id = Payer(world, version, "direct"), str(uuid.uuid4())
    new = 4 if version == 1 else "ACSC"

    def run(fault: Fault) -> None:
        completed(fault, lambda: payer.report(new, **{"x-request-id": request_id}), 400)
        assert payer.pay().status == 200
        (payment,) = items(world, "payments")
        assert [entry["status"] for entry in payment["history"]] == [1 if version == 1 else "RCVD", new]

    return run


@scene((1, None), (2, "key"))
def pay_after_the_bank_has_reported(world: World, version: int, key: str | None) -> Run:
    world.wants_events()
    payer = Payer(world, version, "direct")
    new = 4 if version == 1 else "ACSC"
    payer.report(new)

    def run(fault: Fault) -> None:
        first = _paid(fault, payer, key)
        assert first.status == 200 or fault.lasting
        (payment,) = items(world, "payments")
        kept = payment.get("history", payment.get("early"))
        assert [entry["status"] for entry in kept][-1:] == [new]
        assert first.status != 200 or len(kept) == 2
        assert told(world) == (["payment.status_changed"] if "history" in payment else [])

    return run


@scene()
def report_a_days_performance(world: World) -> Run:
    request_id, body = str(uuid.uuid4()), {"date": "2026-03-01", "consentDuration": "1200"}

    def report() -> Answer:
        return world.bank(2, "/daily_performance", body, headers={"x-request-id": request_id})

    def run(fault: Fault) -> None:
        assert completed(fault, report).text == report().text
        (kept,) = items(world, "statistics")
        assert (kept["day"], kept["consent_duration"]) == ("2026-03-01", 1200)

    return run


# -- the scenes, played


@pytest.mark.parametrize("name", scene.all)
def test_a_fault_of_storage_loses_and_doubles_nothing(world: World, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.play(world, name, monkeypatch)


def test_every_call_of_the_storage_by_a_request_was_hit_by_every_fault() -> None:
    missed = scene.missed(sites_of_requests())
    assert missed == [], "\n".join(missed)
