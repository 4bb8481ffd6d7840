"""Parallel payments: one payment reaches the bank, a one-time consent is used once, and no report is lost."""

import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any

import pytest
import requests

from chalicelib import bootstrap
from chalicelib.openbanking.records.consents import consent_key
from chalicelib.openbanking.records.payments import payment_key
from tests.e2e.parties import Initiated, PayingBank, Tpp, at_once
from tests.kit.time import PATIENCE_SECONDS

pytestmark = [pytest.mark.e2e, pytest.mark.faults]

SCOPES = {1: ["payment.init"], 2: ["payments.single"]}
MANY = 50
BY_THEN = 40
"""The number of parallel calls that have returned before a slow bank responds. The remaining calls return at any time.
"""


class Payer:
    def __init__(self, tpp: Tpp, bank: PayingBank, consent_type: str) -> None:
        self._tpp = tpp
        self._version = bank.version
        request = {"bic": bank.bic, "scopes": SCOPES[bank.version], "consent_type": consent_type}
        asked = tpp.call("POST", "/tpp/authorize", request).json()
        saved = bank.consent(asked["redirect_url"], scopes=SCOPES[bank.version]).json()
        self.bank_token = saved.get("access_token") or saved["accessToken"]
        callback = saved.get("callback_url") or saved["callbackUrl"]
        tokens = tpp.redeem(callback.partition("code=")[2].partition("&")[0]).json()
        self.bearer, self.consent_id = tokens["access_token"], tokens["consent_id"]

    def pay(self, key: str | None = None) -> requests.Response:
        headers = {"X-Api-Key": self._tpp.client_id, "Authorization": f"Bearer {self.bearer}"}
        headers |= {"Idempotency-Key": key} if key else {}
        with requests.Session() as session:
            session.trust_env = False
            url = f"{self._tpp.base}/tpp/payment_initiation"
            return session.post(url, json=self._order(), headers=headers, timeout=PATIENCE_SECONDS)

    def status(self, payment_id: str) -> requests.Response:
        return self._tpp.call("GET", f"/tpp/payment_status?payment_id={payment_id}", bearer=self.bearer)

    def revoke(self) -> requests.Response:
        return self._tpp.call("POST", "/tpp/token/revoke", {"token": self.bearer})

    def _order(self) -> dict[str, Any]:
        amount, iban = {"amount": "12.30", "currency": "EUR"}, "DE89370400440532013000"
        if self._version == 1:
            who: dict[str, Any] = {"receiver_name": "Ada", "receiver_iban": iban, **amount}
        else:
            who = {"creditor_name": "Ada", "creditor_account": {"iban": iban}, "instructed_amount": amount}
        return who | {"callback_url": self._tpp.callback}


@pytest.fixture(params=[1, 2], ids=["version 1", "version 2"])
def closed_bank(request: pytest.FixtureRequest, operator: bootstrap.Hub, stack: dict[str, Any]) -> Iterator[PayingBank]:
    bank = PayingBank(operator, stack["base_url"], request.param)
    try:
        yield bank
    finally:
        bank.close()


@pytest.fixture
def bank(closed_bank: PayingBank) -> PayingBank:
    closed_bank.open()
    return closed_bank


def status_of(operator: bootstrap.Hub, payer: Payer) -> str:
    item = operator.store.get(*consent_key(payer.consent_id))
    assert item is not None
    return str(item["status"])


def history(operator: bootstrap.Hub, bank: PayingBank, payment_id: str = "P-1") -> list[Any]:
    item = operator.store.get(*payment_key(bank.bic, payment_id))
    assert item is not None
    statuses = [entry["status"] for entry in item["history"]]
    assert statuses[-1] == item["status"]
    return statuses


def overlapping(bank: PayingBank, call: Callable[[], requests.Response], early: int) -> list[requests.Response]:
    """Make many parallel calls and return the responses. The bank responds only after ``early`` calls have returned."""
    enough = threading.Event()

    def patient(payment: Initiated) -> Any:
        assert enough.wait(PATIENCE_SECONDS)
        return bank.taken(payment)

    bank.answer = patient
    with ThreadPoolExecutor(MANY) as pool:
        futures: list[Future[requests.Response]] = [pool.submit(call) for _ in range(MANY)]
        for count, _ in enumerate(as_completed(futures), start=1):
            if count == early:
                enough.set()
    return [future.result() for future in futures]


@pytest.mark.parametrize("consent_type", ["reusable", "one_time"])
def test_one_of_50_equal_payments_with_one_idempotency_key_is_sent_to_the_bank(
    tpp: Tpp, bank: PayingBank, consent_type: str
) -> None:
    payer, key = Payer(tpp, bank, consent_type), uuid.uuid4().hex

    answers = overlapping(bank, lambda: payer.pay(key), early=BY_THEN)

    assert len(bank.received) == 1
    good, others = [each for each in answers if each.ok], [each for each in answers if not each.ok]
    assert len(others) >= BY_THEN
    assert len({answer.text for answer in good}) == 1
    assert {answer.status_code for answer in others} == {409}
    assert {(answer.json()["code"], answer.headers["Retry-After"]) for answer in others} == {("HEADERS_ERROR", "1")}
    repeats = at_once(len(others), lambda: payer.pay(key))
    assert {(answer.status_code, answer.text) for answer in repeats} == {(200, good[0].text)}
    assert len(bank.received) == 1


def test_50_payments_with_different_idempotency_keys_use_a_one_time_consent_once(
    tpp: Tpp, bank: PayingBank, operator: bootstrap.Hub
) -> None:
    payer = Payer(tpp, bank, "one_time")

    answers = overlapping(bank, lambda: payer.pay(uuid.uuid4().hex), early=MANY - 1)

    assert sorted(answer.status_code for answer in answers) == [200] + [401] * (MANY - 1)
    assert len(bank.received) == 1
    assert status_of(operator, payer) == "spent"
    assert payer.pay().status_code == 401


def test_a_one_time_consent_is_still_valid_after_a_payment_at_an_unreachable_bank(
    tpp: Tpp, closed_bank: PayingBank, operator: bootstrap.Hub
) -> None:
    payer, key = Payer(tpp, closed_bank, "one_time"), uuid.uuid4().hex

    failed = payer.pay(key)

    assert (failed.status_code, failed.json()["code"]) == (502, "ASPSP_UNKNOWN_ERROR")
    assert "not sent" in failed.json()["title"]
    assert status_of(operator, payer) == "authorised"
    closed_bank.open()
    assert payer.pay(key).text == failed.text
    answers = at_once(10, lambda: payer.pay(uuid.uuid4().hex))
    assert sorted(answer.status_code for answer in answers) == [200] + [401] * 9
    assert len(closed_bank.received) == 1


def test_a_one_time_consent_is_still_valid_after_parallel_payments_at_an_unreachable_bank(
    tpp: Tpp, closed_bank: PayingBank, operator: bootstrap.Hub
) -> None:
    payer = Payer(tpp, closed_bank, "one_time")

    answers = at_once(4, lambda: payer.pay(uuid.uuid4().hex))

    assert {answer.status_code for answer in answers} <= {401, 502}
    assert status_of(operator, payer) == "authorised"
    closed_bank.open()
    assert payer.pay().status_code == 200


def test_a_one_time_consent_is_used_up_after_a_payment_without_a_bank_response(
    tpp: Tpp, bank: PayingBank, operator: bootstrap.Hub
) -> None:
    payer = Payer(tpp, bank, "one_time")
    bank.answer = lambda payment: None

    failed = payer.pay()

    assert (failed.status_code, failed.json()["code"]) == (502, "ASPSP_UNKNOWN_ERROR")
    assert "unknown" in failed.json()["title"]
    assert status_of(operator, payer) == "spent"
    bank.answer = bank.taken
    assert payer.pay().status_code == 401
    assert len(bank.received) == 1


STATUSES = ("RCVD", "PDNG", "ACCP", "ACSP", "ACTC", "ACWC", "ACWP", "ACFC", "PATC", "PART")


@pytest.mark.parametrize("closed_bank", [2], indirect=True, ids=["version 2"])
def test_50_parallel_status_reports_are_each_recorded_once(tpp: Tpp, bank: PayingBank, operator: bootstrap.Hub) -> None:
    """Ten different statuses are sent five times each, with one request id per status. A 500 response is retried."""
    assert Payer(tpp, bank, "reusable").pay().status_code == 200
    reports = [(status, str(uuid.uuid4())) for status in STATUSES] * (MANY // len(STATUSES))

    def report(status: str, request_id: str) -> list[int]:
        answers = [bank.report("P-1", status, request_id).status_code]
        while answers[-1] == 500 and len(answers) < 20:
            answers.append(bank.report("P-1", status, request_id).status_code)
        return answers

    with ThreadPoolExecutor(MANY) as pool:
        answers = list(pool.map(lambda each: report(*each), reports))

    assert {each[-1] for each in answers} == {200}
    kept = history(operator, bank)
    assert kept[0] == "RCVD"
    assert sorted(set(kept)) == sorted(STATUSES)
    assert all(kept.count(status) == 1 for status in STATUSES[1:])
    assert kept.count("RCVD") <= 2


def test_50_parallel_reports_of_a_final_status_record_one_status(
    tpp: Tpp, bank: PayingBank, operator: bootstrap.Hub
) -> None:
    assert Payer(tpp, bank, "reusable").pay().status_code == 200
    first, finals = (1, [2, 3, 4]) if bank.version == 1 else ("RCVD", ["RJCT", "CANC", "ACCC"])
    reports = iter(finals * MANY)

    answers = at_once(MANY, lambda: bank.report("P-1", next(reports)))

    assert {answer.status_code for answer in answers} <= {200, 500}
    assert 200 in {answer.status_code for answer in answers}
    kept = history(operator, bank)
    assert (kept[0], len(kept)) == (first, 2)
    assert kept[1] in finals


def test_a_status_report_that_arrives_before_the_payment_response_is_recorded(
    tpp: Tpp, bank: PayingBank, operator: bootstrap.Hub
) -> None:
    payer, overtaking = Payer(tpp, bank, "reusable"), []
    first, final = (1, 4) if bank.version == 1 else ("RCVD", "ACSC")

    def hasty(payment: Initiated) -> Any:
        overtaking.append(bank.report("P-1", final).status_code)
        return bank.taken(payment)

    bank.answer = hasty

    assert payer.pay().status_code == 200
    assert overtaking == [400]
    assert history(operator, bank) == [first, final]
    if bank.version == 1:
        assert payer.status("P-1").json()["payment_status"] == final


@pytest.mark.parametrize("by", ["the TPP", "the bank"])
def test_a_parallel_payment_does_not_start_after_the_consent_is_revoked(
    tpp: Tpp, bank: PayingBank, operator: bootstrap.Hub, by: str
) -> None:
    payer = Payer(tpp, bank, "reusable")

    def revoking(payment: Initiated) -> Any:
        if payment.number == 5:
            answer = payer.revoke() if by == "the TPP" else bank.revoke(payer.bank_token)
            assert answer.status_code == 200
        return bank.taken(payment)

    bank.answer = revoking
    answers = at_once(MANY, lambda: payer.pay(uuid.uuid4().hex))

    statuses = [answer.status_code for answer in answers]
    assert set(statuses) <= {200, 401}
    assert statuses.count(200) == len(bank.received) >= 5
    assert payer.pay().status_code == 401
    assert status_of(operator, payer) == "revoked"


def test_a_payment_in_progress_continues_after_the_revocation_of_a_one_time_consent(
    tpp: Tpp, bank: PayingBank, operator: bootstrap.Hub
) -> None:
    payer = Payer(tpp, bank, "one_time")

    def revoking(payment: Initiated) -> Any:
        assert payer.revoke().status_code == 200
        return bank.taken(payment)

    bank.answer = revoking

    assert payer.pay().status_code == 200
    assert status_of(operator, payer) == "revoked"
    assert payer.pay().status_code == 401
    assert len(bank.received) == 1
