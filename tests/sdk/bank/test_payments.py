"""Payments of a bank: orders are accepted once, payments are booked once, and every status reaches the hub."""

import asyncio
import json
import uuid
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from causeway.bank import MemoryStorage, PaymentDeclined
from causeway.bank.storage import Values
from tests.sdk.bank.harness import CALLBACK, NOVEMBER, STATUSES, BankHarness, action_of, code_of, debtor, order
from tests.sdk.scripted_hub import Clock

USED = {1: 4001, 2: "HEADERS_ERROR"}
PENDING: dict[int, Any] = {1: 0, 2: "ACSP"}


def test_a_payment_that_the_psu_confirms_is_booked_reported_and_returned_to_the_tpp(harness: BankHarness) -> None:
    taken = harness.pay(token=harness.consent(accounts=("1001",)))
    page = harness.open(taken["confirmation_url"])
    assert "Pay 12.50 GBP to Oak Street Books?" in page.text
    assert "From Everyday account" in page.text

    back = harness.decide(taken["confirmation_url"], "yes")

    status = STATUSES[harness.version]["confirmed"]
    assert back.status_code == 303
    assert back.headers["location"].startswith(f"{CALLBACK}&")
    query = parse_qs(urlsplit(back.headers["location"]).query)
    assert query == {"order": ["7"], "status": [str(status)], "payment_id": [taken["payment_id"]]}
    assert [each.account_id for each in harness.full.booked] == ["1001"]
    reports = harness.hub.bodies("/payments/status")
    assert reports == [{"payment_id": taken["payment_id"], "payment_status": status}]


def test_a_refused_payment_is_cancelled_and_not_booked(harness: BankHarness) -> None:
    taken = harness.pay(token=harness.consent())

    back = harness.decide(taken["confirmation_url"], "no")

    query = parse_qs(urlsplit(back.headers["location"]).query)
    assert query["message"] == ["The customer refused."]
    assert harness.full.booked == []
    assert harness.hub.bodies("/payments/status")[0]["payment_status"] == STATUSES[harness.version]["cancelled"]


def test_a_payment_declined_by_the_booking_function_is_rejected(harness: BankHarness) -> None:
    def refuse(_: object) -> None:
        raise PaymentDeclined("not today")

    harness.full.before_booking = refuse
    taken = harness.pay(token=harness.consent())

    back = harness.decide(taken["confirmation_url"], "yes", account="1002")

    assert parse_qs(urlsplit(back.headers["location"]).query)["message"] == ["not today"]
    assert harness.hub.bodies("/payments/status")[0]["payment_status"] == STATUSES[harness.version]["rejected"]


def test_duplicate_confirmations_book_a_payment_once(harness: BankHarness) -> None:
    taken = harness.pay(token=harness.consent(accounts=("1001",)))

    page, other_tab = harness.open(taken["confirmation_url"]), harness.open(taken["confirmation_url"])

    first, second, third = harness.decide(page, "yes"), harness.decide(page, "no"), harness.decide(other_tab, "yes")

    assert first.headers["location"] == second.headers["location"] == third.headers["location"]
    assert len(harness.full.booked) == len(harness.hub.bodies("/payments/status")) == 1


def test_simultaneous_confirmations_book_a_payment_once(harness: BankHarness) -> None:
    taken = harness.pay(token=harness.consent(accounts=("1001",)))
    path = action_of(harness.open(taken["confirmation_url"]))

    async def five() -> list[httpx.Response]:
        confirmations = [harness.request("POST", path, data={"decision": "yes"}) for _ in range(5)]
        return list(await asyncio.gather(*confirmations))

    answers = harness.run(five())

    assert len(harness.full.booked) == 1
    assert {each.status_code for each in answers} <= {303, 409}


def test_a_confirmed_payment_is_undecided_after_a_booking_error_until_a_status_report(harness: BankHarness) -> None:
    def fail(_: object) -> None:
        raise OSError("the ledger is away")

    harness.full.before_booking = fail
    taken = harness.pay(token=harness.consent(accounts=("1001",)))

    page = harness.open(taken["confirmation_url"])

    assert harness.decide(page, "yes").status_code == 500
    assert harness.decide(page, "yes").status_code == 409
    assert len(harness.full.booked) == 1
    assert harness.hub.bodies("/payments/status") == []
    undecided = harness.run(harness.bank.undecided_payments())
    assert [(each.payment_id, each.account_id) for each in undecided] == [(taken["payment_id"], "1001")]
    harness.run(harness.bank.report_status(taken["payment_id"], STATUSES[harness.version]["confirmed"]))
    assert harness.run(harness.bank.undecided_payments()) == []
    assert len(harness.hub.bodies("/payments/status")) == 1
    assert harness.decide(page, "yes").status_code == 303
    assert len(harness.full.booked) == 1


def test_a_confirmation_during_an_interim_status_report_leaves_the_payment_undecided(
    version: int, clock: Clock
) -> None:
    """The PSU confirms the payment while the report of an interim status is in progress."""

    class SlowReport(MemoryStorage):
        async def replace(self, kind: str, key: str, old: Values, new: Values | None) -> bool:
            done = await super().replace(kind, key, old, new)
            if kind == "payment" and new is not None and new["status"] == pending:
                await super().add("undecided", key, {})
                assert await super().replace(kind, key, new, {**new, "state": "deciding"})
            return done

    pending = PENDING[version]
    clock.seconds = NOVEMBER
    harness = BankHarness(version, clock, storage=SlowReport())
    try:
        taken = harness.pay(token=harness.consent(accounts=("1001",)))
        harness.run(harness.bank.report_status(taken["payment_id"], pending))

        [listed] = harness.run(harness.bank.undecided_payments())
        assert listed.payment_id == taken["payment_id"]
    finally:
        harness.close()


def test_a_form_forged_by_the_tpp_does_not_confirm_a_payment(harness: BankHarness) -> None:
    """A TPP knows the ``confirmation_url`` and could submit a forged form with the PSU's session cookie."""
    taken = harness.pay(token=harness.consent(accounts=("1001",)))

    forged = harness.send(taken["confirmation_url"], "yes", account="1001")

    assert forged.status_code == 200
    assert "Pay 12.50 GBP" in forged.text
    assert harness.full.booked == []
    assert harness.decide(forged, "yes").status_code == 303


def test_a_payment_page_opened_by_one_psu_returns_404_for_another_psu(harness: BankHarness) -> None:
    taken = harness.pay("direct")
    page = harness.open(taken["confirmation_url"])
    harness.full.psu = "psu-2"

    assert harness.decide(page, "yes", account="1001").status_code == 404
    assert harness.full.booked == []


def test_a_payment_with_an_interim_status_can_be_confirmed(harness: BankHarness) -> None:
    taken = harness.pay(token=harness.consent(accounts=("1001",)))
    interim: Any = {1: 1, 2: "PDNG"}[harness.version]

    harness.run(harness.bank.report_status(taken["payment_id"], interim))
    assert harness.decide(taken["confirmation_url"], "yes").status_code == 303

    assert len(harness.full.booked) == 1
    statuses = [report["payment_status"] for report in harness.hub.bodies("/payments/status")]
    assert statuses == [interim, STATUSES[harness.version]["confirmed"]]


def test_a_payment_rejected_by_the_bank_cannot_be_confirmed(harness: BankHarness) -> None:
    taken = harness.pay(token=harness.consent(accounts=("1001",)))
    page = harness.open(taken["confirmation_url"])

    harness.run(harness.bank.report_status(taken["payment_id"], STATUSES[harness.version]["rejected"]))

    back = harness.decide(page, "yes")
    query = parse_qs(urlsplit(back.headers["location"]).query)
    assert query["status"] == [str(STATUSES[harness.version]["rejected"])]
    assert harness.full.booked == []


def test_an_order_above_the_balance_is_rejected(harness: BankHarness) -> None:
    refused = harness.webhook("single", order(harness.version, "250.01"), token=harness.consent())

    assert refused.status_code == 400
    assert code_of(refused) == {1: 5101, 2: "INSUFFICIENT_FUNDS"}[harness.version]


def test_a_duplicate_order_creates_no_second_payment(harness: BankHarness) -> None:
    token, request_id = harness.consent(), str(uuid.uuid4())

    first = harness.webhook("single", order(harness.version), token=token, request_id=request_id)
    again = harness.webhook("single", order(harness.version), token=token, request_id=request_id.upper())

    assert first.json() == again.json()
    assert len(harness.full.orders) == 1


def test_an_order_refusal_contains_the_request_id_in_lowercase(harness_2: BankHarness) -> None:
    request_id = str(uuid.uuid4())

    refused = harness_2.webhook("single", {}, token=harness_2.consent(), request_id=request_id.upper())

    assert refused.json()["requestId"] == request_id


def test_a_request_id_is_reserved_for_one_order_for_24_hours(harness: BankHarness) -> None:
    token, request_id = harness.consent(), str(uuid.uuid4())
    harness.webhook("single", order(harness.version), token=token, request_id=request_id)

    other = harness.webhook("single", order(harness.version, "12.51"), token=token, request_id=request_id)
    direct = harness.webhook("direct", order(harness.version), request_id=request_id)

    assert {code_of(other), code_of(direct)} == {USED[harness.version]}
    harness.clock.seconds += 86401
    later = harness.webhook("single", order(harness.version, "12.51"), token=token, request_id=request_id)
    assert later.status_code == 200


def test_a_rejected_order_is_checked_again(harness: BankHarness) -> None:
    token, request_id = harness.consent(), str(uuid.uuid4())
    harness.webhook("single", order(harness.version, "999"), token=token, request_id=request_id)

    assert harness.webhook("single", order(harness.version), token=token, request_id=request_id).status_code == 200


def test_simultaneous_orders_with_one_request_id_create_one_payment(harness: BankHarness) -> None:
    token, request_id = harness.consent(), str(uuid.uuid4())

    async def five() -> list[httpx.Response]:
        body = order(harness.version)
        return list(
            await asyncio.gather(
                *(harness.sending("single", body, token=token, request_id=request_id) for _ in range(5))
            )
        )

    answers = harness.run(five())

    assert len(harness.full.orders) == 1
    assert {each.status_code for each in answers} <= {200, 409}
    assert len({each.json()["payment_id"] for each in answers if each.status_code == 200}) == 1


def test_a_one_time_consent_allows_one_payment(harness: BankHarness) -> None:
    token = harness.consent("consent_type=one_time")

    async def three() -> list[httpx.Response]:
        return list(
            await asyncio.gather(*(harness.sending("single", order(harness.version), token=token) for _ in range(3)))
        )

    answers = harness.run(three())

    assert sorted(each.status_code for each in answers) == [200, 401, 401]
    assert harness.webhook("accounts", token=token).status_code == 401


def test_a_rejected_order_does_not_consume_a_one_time_consent(harness: BankHarness) -> None:
    token = harness.consent("consent_type=one_time")

    assert harness.webhook("single", order(harness.version, "999"), token=token).status_code == 400
    assert harness.webhook("single", order(harness.version), token=token).status_code == 200


def test_a_duplicate_order_of_a_one_time_consent_returns_its_payment(harness: BankHarness) -> None:
    token, request_id = harness.consent("consent_type=one_time"), str(uuid.uuid4())
    first = harness.webhook("single", order(harness.version), token=token, request_id=request_id)

    again = harness.webhook("single", order(harness.version), token=token, request_id=request_id)

    assert first.json() == again.json()


def test_a_direct_payment_belongs_to_the_confirming_psu_and_the_chosen_account(harness: BankHarness) -> None:
    taken = harness.pay("direct")
    page = harness.open(taken["confirmation_url"])
    assert page.text.count('type="radio"') == 2

    assert harness.decide(page, "yes", account="1003").status_code == 400
    assert harness.decide(page, "yes", account="1002").status_code == 303

    booked = harness.full.booked[0]
    assert (booked.psu, booked.account_id, booked.order.kind) == ("psu-1", "1002", "direct")


def test_an_order_with_a_debtor_account_is_paid_from_this_account(harness: BankHarness) -> None:
    taken = harness.pay(token=harness.consent(), **debtor(harness.version))

    harness.decide(taken["confirmation_url"], "yes")

    assert harness.full.booked[0].account_id == "1001"


def test_an_order_from_an_unapproved_account_is_rejected(harness: BankHarness) -> None:
    token = harness.consent(accounts=("1002",))

    refused = harness.webhook("single", order(harness.version, **debtor(harness.version)), token=token)

    assert refused.status_code == 404
    assert harness.full.orders == []


def test_a_payment_page_of_another_psu_returns_404(harness: BankHarness) -> None:
    taken = harness.pay(token=harness.consent())
    harness.full.psu = "psu-2"

    assert harness.open(taken["confirmation_url"]).status_code == 404
    assert harness.decide(taken["confirmation_url"], "yes").status_code == 404
    assert harness.full.booked == []


def test_a_status_query_returns_only_payments_of_its_consent_and_direct_payments(harness_2: BankHarness) -> None:
    token = harness_2.consent()
    payment, direct = harness_2.pay(token=token)["payment_id"], harness_2.pay("direct")["payment_id"]
    path = "/v2_payment_single_status"

    def ask(payment_id: str, token: str = "") -> int:
        return harness_2.webhook(path, {"payment_id": payment_id}, token=token).status_code

    assert [ask(payment, token), ask(direct)] == [200, 200]
    assert [ask(payment), ask(direct, token), ask("other"), ask(payment, "consent1.other")] == [404, 404, 404, 401]


def test_a_used_one_time_consent_can_query_the_status_of_its_payment(harness_2: BankHarness) -> None:
    token = harness_2.consent("consent_type=one_time")
    asked = {"payment_id": harness_2.pay(token=token)["payment_id"]}

    answer = harness_2.webhook("/v2_payment_single_status", asked, token=token)

    assert answer.json() == {"transaction_status": "RCVD"}


def test_find_payment_returns_the_payment_with_its_order(harness: BankHarness) -> None:
    taken = harness.pay(token=harness.consent(), **debtor(harness.version))

    found = harness.run(harness.bank.find_payment(taken["payment_id"]))

    assert found is not None
    assert (found.psu, found.order.text) == ("psu-1", "12.50 GBP to Oak Street Books")
    assert found.order == harness.full.orders[0]
    assert harness.run(harness.bank.find_payment("other")) is None


def test_a_payment_page_shows_amounts_without_an_exponent(harness_2: BankHarness) -> None:
    amount = b'{"amount": 1E+2, "currency": "GBP"}'
    body = json.dumps(order(2, "0")).encode().replace(b'{"amount": "0", "currency": "GBP"}', amount)
    taken = harness_2.webhook("single", body, token=harness_2.consent(accounts=("1001",))).json()

    assert harness_2.full.orders[0].text == "100 GBP to Oak Street Books"
    assert "Pay 100 GBP to" in harness_2.open(taken["confirmation_url"]).text
