"""Simulated faults, which are selected by name: the effect of each fault on a TPP at both fault-simulating banks."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from chalicelib.demo_bank import clearing, faults
from chalicelib.demo_bank.banks import get_bank
from chalicelib.demo_bank.customers import CUSTOMERS, CustomerAccount
from chalicelib.demo_bank.directory import authenticate
from chalicelib.demo_bank.faults import FAULTS, FAULTS_BY_NAME, MANY_ACCOUNTS, MANY_TRANSACTIONS
from chalicelib.demo_bank.profiles import BY_NAME, PROFILES, BankName
from chalicelib.demo_bank.runtime import TABLE
from chalicelib.foundation import jsontext
from chalicelib.foundation.http.outbound import Reply
from chalicelib.foundation.identifiers import new_uuid
from chalicelib.openbanking.protocol.versions import VERSIONS
from tests.causeway import Answer, Causeway
from tests.demo_bank.connected_banks import BICS, Psu, Wires, authorize, connect_banks, payment, tokens
from tests.demo_bank.parties import query_of
from tests.kit.time import count_statements
from tests.payment_orders import payment_orders

each_bank = pytest.mark.parametrize("bank", ["faults-one", "faults-two"])
CODES = {
    "down": ("5103: This bank is out of service", "OUT_OF_SERVICE: This bank is out of service"),
    "rate-limited": ("5104: This bank got too many requests", "TOO_MANY_REQUESTS: This bank got too many requests"),
    "refuses-payments": ("5102: This bank declined the payment", "PAYMENT_REFUSED: This bank declined the payment"),
}
NOT_JSON = "the bank responded with status 200 and invalid JSON: Expecting value at line 1 column 1"
NO_ANSWER = "no answer came in time"
ALWAYS_FAIL = {"silent": NO_ANSWER, "nonsense": NOT_JSON, "down": "", "rate-limited": ""}


@pytest.fixture
def connected(causeway: Causeway) -> Iterator[Causeway]:
    with connect_banks(causeway):
        yield causeway


def either(bank: str, first: Any, second: Any) -> Any:
    return first if BY_NAME[bank].version == 1 else second


def expected(bank: str, fault: str) -> str:
    return ALWAYS_FAIL.get(fault) or str(either(bank, *CODES[fault]))


def bearer_of(causeway: Causeway, bank: str, fault: str, count: int = 2) -> str:
    return str(tokens_of(causeway, bank, fault, count)["access_token"])


def tokens_of(causeway: Causeway, bank: str, fault: str, count: int = 2) -> Any:
    scopes = list(VERSIONS[BY_NAME[bank].version].scopes)
    url = authorize(causeway, bank, scopes=scopes, state=new_uuid())["redirect_url"]
    callback = Psu(causeway, bank, fault).approve(url, count)
    answer = causeway.tpp.call("POST", "/tpp/token", {"authorization_code": query_of(callback)["code"]})
    assert answer.status == 200, answer
    return answer.body


def account_of(bank: str, fault: str) -> CustomerAccount:
    return CUSTOMERS[BY_NAME[bank].name][fault].accounts[0]


def data_calls(causeway: Causeway, bank: str, fault: str, bearer: str) -> dict[str, Answer]:
    """Make every data call for the customer's first account at intervals of 31 seconds. Return the responses."""
    account = account_of(bank, fault)
    named = f"account_id={account.account_id}"
    lists = either(bank, f"account_payments?{named}", f"account_transactions?{named}&booking_status=both")
    places = ["accounts", f"account?{named}", f"account_balance?{named}", lists]
    answers = {}
    for place in places:
        answers[place.partition("?")[0]] = causeway.tpp.call("GET", f"/tpp/{place}", bearer=bearer)
        causeway.clock.advance(31)
    amount = {"amount": "1.50", "currency": account.currency}
    asked = {"account": {"iban": account.iban}, "instructed_amount": amount}
    answers["funds_confirmations"] = causeway.tpp.call("POST", "/tpp/funds_confirmations", asked, bearer=bearer)
    causeway.clock.advance(31)
    return answers


def initiate(causeway: Causeway, bank: str, bearer: str) -> Answer:
    return causeway.tpp.call("POST", "/tpp/payment_initiation", payment(causeway, bank), bearer=bearer)


def details(answer: Answer) -> str:
    return str(answer.body["additionalErrors"][0]["details"])


def status_of(causeway: Causeway, bank: str, payment_id: str, bearer: str) -> Any:
    answer = causeway.tpp.call("GET", f"/tpp/payment_status?payment_id={payment_id}", bearer=bearer)
    assert answer.status == 200, answer
    return answer.body[either(bank, "payment_status", "transaction_status")]


def orders_at(causeway: Causeway, bank: str) -> int:
    return sum(item["bank"] == bank and item["id"].startswith("payment#") for item in causeway.hub.store.scan(TABLE))


def wires(causeway: Causeway) -> Wires:
    found = causeway.hub.outbound
    assert isinstance(found, Wires)
    return found


# -- the table


def test_only_banks_that_simulate_faults_have_one_customer_per_fault() -> None:
    for profile in PROFILES:
        names = set(CUSTOMERS[profile.name])
        assert names & set(FAULTS_BY_NAME) == (set(FAULTS_BY_NAME) if profile.plays_faults else set())
        assert not profile.plays_faults or names == set(FAULTS_BY_NAME)
    assert len(FAULTS_BY_NAME) == len(FAULTS) == 12


@pytest.mark.parametrize("bank", ["faults-one", "faults-two"])
def test_account_identifiers_of_a_bank_that_simulates_faults_are_unique(bank: BankName) -> None:
    found = [account for customer in CUSTOMERS[bank].values() for account in customer.accounts]
    for member in ("account_id", "number", "iban"):
        assert len({getattr(account, member) for account in found}) == len(found)


@each_bank
def test_the_sign_in_page_and_the_front_page_explain_every_fault(connected: Causeway, bank: str) -> None:
    psu = Psu(connected, bank, "slow")
    sign_in = psu.look(psu.arrive(authorize(connected, bank)["redirect_url"]))
    front = connected.call("GET", f"/demo-bank/{bank}").text
    for page in (sign_in, front):
        text = page.replace("&#39;", "'")
        assert all(fault.what.replace("`", "") in text and fault.name in text for fault in FAULTS)
        assert "Faults on purpose" in text
    assert all(fault.advice.replace("`", "") in front.replace("&#39;", "'") for fault in FAULTS)


@each_bank
@pytest.mark.parametrize("name", ["slowly", "ada", ""])
def test_an_unknown_fault_name_is_rejected_without_a_consent(connected: Causeway, bank: str, name: str) -> None:
    assert authenticate(get_bank(BY_NAME[bank].name, connected.hub), name, f"sandbox-{name}") is None
    psu = Psu(connected, bank, "slow")
    psu.arrive(authorize(connected, bank)["redirect_url"])
    page = psu.look(psu.post("/sign-in", username=name, password=f"sandbox-{name}"))
    assert "This bank has no fault with this name and password" in page
    assert all(fault.name in page for fault in FAULTS)
    assert not [item for item in connected.hub.store.scan(TABLE) if item["id"].startswith(("token#", "given#"))]


# -- faults of every call


@each_bank
def test_a_slow_bank_responds_to_every_call_after_3_seconds(connected: Causeway, bank: str) -> None:
    bearer = bearer_of(connected, bank, "slow")
    answers = data_calls(connected, bank, "slow", bearer)
    assert {answer.status for answer in answers.values()} == {200}
    started = initiate(connected, bank, bearer)
    assert started.status == 200
    assert status_of(connected, bank, started.body["payment_id"], bearer) is not None
    assert wires(connected).pauses == [3] * either(bank, 6, 7)  # version 1 banks are not asked for a status


@each_bank
@pytest.mark.parametrize("fault", list(ALWAYS_FAIL))
def test_a_permanent_fault_makes_every_read_fail(connected: Causeway, bank: str, fault: str) -> None:
    answers = data_calls(connected, bank, fault, bearer_of(connected, bank, fault))
    for place, answer in answers.items():
        assert (answer.status, answer.body["code"]) == (502, "ASPSP_UNKNOWN_ERROR"), place
        assert expected(bank, fault) in details(answer), place
    assert wires(connected).pauses == ([24] * 5 if fault == "silent" else [])


@each_bank
@pytest.mark.parametrize("fault", list(ALWAYS_FAIL))
def test_a_permanent_fault_fails_an_initiation_without_a_payment(connected: Causeway, bank: str, fault: str) -> None:
    answer = initiate(connected, bank, bearer_of(connected, bank, fault))
    assert answer.status == 502
    assert expected(bank, fault) in details(answer)
    is_unknown = "unknown whether" in answer.body["title"]
    assert is_unknown == (fault != "rate-limited")
    assert orders_at(connected, bank) == 0


@each_bank
def test_a_rate_limited_tpp_receives_a_retry_after_header(connected: Causeway, bank: str) -> None:
    bearer = bearer_of(connected, bank, "rate-limited")
    assert connected.tpp.call("GET", "/tpp/accounts", bearer=bearer).headers["retry-after"] == "30"


@each_bank
@pytest.mark.parametrize("fault", ["down", "silent"])
def test_calls_to_a_failing_bank_are_paused_without_affecting_other_banks(
    connected: Causeway, bank: str, fault: str
) -> None:
    bearer = bearer_of(connected, bank, fault)
    slow = bearer_of(connected, bank, "slow")
    others = [tokens(connected, other, state=other)["access_token"] for other in ("one", "two")]
    others += [bearer_of(connected, either(bank, "faults-two", "faults-one"), "slow")]

    answers = [connected.tpp.call("GET", "/tpp/accounts", bearer=bearer) for _ in range(6)]

    assert "is not asked again for" in details(answers[-1])
    assert int(answers[-1].headers["retry-after"]) <= 30
    assert "is not asked again for" in details(connected.tpp.call("GET", "/tpp/accounts", bearer=slow))
    assert {connected.tpp.call("GET", "/tpp/accounts", bearer=other).status for other in others} == {200}
    connected.clock.advance(31)
    assert connected.tpp.call("GET", "/tpp/accounts", bearer=slow).status == 200


@each_bank
def test_a_rejected_token_returns_502_with_advice_to_authorize_again(connected: Causeway, bank: str) -> None:
    bearer = bearer_of(connected, bank, "token-refused")
    answers = [*data_calls(connected, bank, "token-refused", bearer).values(), initiate(connected, bank, bearer)]
    for answer in answers:
        assert answer.status == 502
        assert "authorize again" in answer.body["title"]
    assert orders_at(connected, bank) == 0


@each_bank
@pytest.mark.parametrize("fault", [fault.name for fault in FAULTS])
def test_a_consent_can_be_revoked_despite_any_fault(connected: Causeway, bank: str, fault: str) -> None:
    bearer = bearer_of(connected, bank, fault)
    assert connected.tpp.call("POST", "/tpp/token/revoke", {"token": bearer}).status == 200
    for delivery_id in connected.queued():
        connected.hub.delivery.worker.attempt(delivery_id)
    kept = [item for item in connected.hub.store.scan(TABLE) if item["id"].startswith("token#")]
    assert [item["status"] for item in kept] == ["revoked"]


# -- faults of accounts


@each_bank
def test_the_no_accounts_fault_returns_an_empty_account_list_and_404_for_an_approved_account(
    connected: Causeway, bank: str
) -> None:
    bearer = bearer_of(connected, bank, "no-accounts")
    answers = data_calls(connected, bank, "no-accounts", bearer)
    accounts = answers.pop("accounts")
    assert (accounts.status, accounts.body["accounts"]) == (200, [])
    for place, answer in answers.items():
        assert answer.status == (502 if place == "funds_confirmations" else 404), place
        assert "approved no such account" in details(answer), place
    started = initiate(connected, bank, bearer)
    assert started.status == 502
    assert "no account in this currency" in details(started)
    assert orders_at(connected, bank) == 0


@each_bank
def test_many_accounts_and_transactions_are_returned_in_pages(connected: Causeway, bank: str) -> None:
    bearer = bearer_of(connected, bank, "many", MANY_ACCOUNTS)
    accounts = connected.tpp.call("GET", "/tpp/accounts", bearer=bearer)
    assert len(accounts.body["accounts"]) == MANY_ACCOUNTS
    named = f"account_id={account_of(bank, 'many').account_id}"
    connected.tpp.call("GET", f"/tpp/account_balance?{named}", bearer=bearer)  # the transactions are made once a day
    ids: list[str] = []
    page, key = 1, ""
    while True:
        place = either(
            bank,
            f"/tpp/account_payments?{named}&record_count=100&current_page={page}",
            f"/tpp/account_transactions?{named}&booking_status=both{key}",
        )
        read = partial(connected.tpp.call, "GET", place, bearer=bearer)
        answer = read()
        assert answer.status == 200, answer
        assert page != 50 or count_statements(read) <= 250_000, "a page costs much"
        assert len(answer.text) < 500_000
        found = either(bank, answer.body.get("payments"), (answer.body.get("transactions") or {}).get("booked"))
        ids += [row["id"] if "id" in row else row["transaction_id"] for row in found]
        page, key = page + 1, f"&page_key={answer.body.get('page_key')}"
        if len(found) < 100 or (BY_NAME[bank].version > 1 and "page_key" not in answer.body):
            break
    assert len(ids) == len(set(ids)) == MANY_TRANSACTIONS


@each_bank
def test_all_accounts_of_a_long_list_are_preselected_without_balances(connected: Causeway, bank: str) -> None:
    psu = Psu(connected, bank, "many")
    psu.arrive(authorize(connected, bank)["redirect_url"])
    looks: list[str] = []

    def sign_in() -> None:
        looks.append(psu.look(psu.post("/sign-in", username="many", password="sandbox-many")))

    assert count_statements(sign_in) <= 80_000
    (page,) = looks
    assert page.count(" checked>") == page.count('type="checkbox"') == MANY_ACCOUNTS
    assert 'class="sum"' not in page


def test_a_transaction_of_a_long_list_is_found_by_its_id(connected: Causeway) -> None:
    bank = "faults-one"  # version 2 has no such call
    bearer = bearer_of(connected, bank, "many", MANY_ACCOUNTS)
    named = f"account_id={account_of(bank, 'many').account_id}"
    listed = connected.tpp.call("GET", f"/tpp/account_payments?{named}&current_page=100", bearer=bearer).body[
        "payments"
    ]
    answer = connected.tpp.call("GET", f"/tpp/account_payment?payment_id={listed[-1]['id']}", bearer=bearer)
    assert answer.body["payment"] == listed[-1]


# -- a consent that the bank ends


@each_bank
def test_the_bank_revokes_a_consent_after_a_day_and_the_tpp_receives_an_event(connected: Causeway, bank: str) -> None:
    connected.tpp.set_events_url()
    ending = tokens_of(connected, bank, "revokes-after-a-day")
    kept = tokens_of(connected, bank, "slow")
    connected.clock.advance(faults.CONSENT_SECONDS - 60)
    clearing.run_due_work(connected.hub)
    assert due_ends(connected) == 1
    connected.clock.advance(60)

    clearing.run_due_work(connected.hub)
    clearing.run_due_work(connected.hub)

    assert due_ends(connected) == 0
    refreshed = [
        connected.tpp.call("POST", "/tpp/token", {"refresh_token": t["refresh_token"]}) for t in (ending, kept)
    ]
    assert [answer.status for answer in refreshed] == [400, 200]
    events = [event for event in deliver_events(connected) if event["type"] == "consent.revoked"]
    assert [(event["data"]["consent_id"], event["data"]["revoked_by"]) for event in events] == [
        (ending["consent_id"], "bank")
    ]
    ended = [item for item in connected.hub.store.scan(TABLE) if item.get("status") == "revoked"]
    assert [(item["customer_id"], item["told"]) for item in ended] == [("revokes-after-a-day", True)]


def deliver_events(causeway: Causeway) -> list[Any]:
    received: list[Any] = []
    bank_wires = wires(causeway)

    class Listening(Wires):
        def post(self, url: str, body: bytes, headers: Any, *, repeat: bool, fresh: bool = False, **_: object) -> Reply:
            if url == causeway.receiver.url:
                received.append(jsontext.loads(body))
                return Reply(204, b"", {}, 0.01)
            return bank_wires.post(url, body, headers, repeat=repeat, fresh=fresh)

    causeway.hub.__dict__["outbound"] = Listening(causeway)
    causeway.hub.__dict__.pop("delivery", None)
    for delivery_id in causeway.queued():
        causeway.hub.delivery.worker.attempt(delivery_id)
    return received


def due_ends(causeway: Causeway) -> int:
    return sum(item["id"].startswith("ends#") for item in causeway.hub.store.scan(TABLE))


# -- faults of payments


@each_bank
def test_payments_are_rejected_with_the_error_code_of_the_bank(connected: Causeway, bank: str) -> None:
    bearer = bearer_of(connected, bank, "refuses-payments")
    assert {a.status for a in data_calls(connected, bank, "refuses-payments", bearer).values()} == {200}
    answer = initiate(connected, bank, bearer)
    assert answer.status == 502
    assert expected(bank, "refuses-payments") in details(answer)
    assert orders_at(connected, bank) == 0


@each_bank
@pytest.mark.parametrize("fault", ["down", "nonsense", "rate-limited", "refuses-payments"])
def test_a_bulk_payment_triggers_the_fault_of_its_payer(connected: Causeway, bank: str, fault: str) -> None:
    bearer = bearer_of(connected, bank, fault)
    account = account_of(bank, fault)
    back = f"{connected.hub.settings.public_url}/payments/callback"
    assert account.iban is not None
    orders = payment_orders(BY_NAME[bank].version, BICS[bank], account.iban, account.currency, back)
    answer = connected.tpp.call("POST", "/tpp/bulk_payment_initiation", orders.bulk.to_json(), bearer=bearer)
    assert answer.status == 502
    assert expected(bank, fault) in details(answer)
    assert orders_at(connected, bank) == 0


@each_bank
def test_a_payment_with_the_pending_fault_remains_pending(connected: Causeway, bank: str) -> None:
    bearer = bearer_of(connected, bank, "payment-stays-pending")
    started = initiate(connected, bank, bearer)
    back = Psu(connected, bank, "payment-stays-pending").pay(started.body["confirmation_url"])
    pending = either(bank, 1, "PDNG")
    assert back["status"] == str(pending)
    for seconds in (20, 700, 2000):
        connected.clock.advance(seconds)
        clearing.run_due_work(connected.hub)
        if seconds < 2000:
            assert status_of(connected, bank, back["payment_id"], bearer) == pending
    (order,) = [item for item in connected.hub.store.scan(TABLE) if item["id"] == f"payment#{back['payment_id']}"]
    assert (order["state"], order["status"]) == ("confirmed", pending)


@each_bank
def test_a_payment_with_the_late_rejection_fault_is_rejected_after_its_confirmation(
    connected: Causeway, bank: str
) -> None:
    bearer = bearer_of(connected, bank, "payment-rejected-later")
    started = initiate(connected, bank, bearer)
    back = Psu(connected, bank, "payment-rejected-later").pay(started.body["confirmation_url"])
    assert back["status"] == either(bank, "1", "ACSP")
    connected.clock.advance(20)
    clearing.run_due_work(connected.hub)
    assert status_of(connected, bank, back["payment_id"], bearer) == either(bank, 2, "RJCT")


FIRST_STATUS = {
    "refuses-payments": ("2", "RJCT"),
    "payment-stays-pending": ("1", "PDNG"),
    "payment-rejected-later": ("1", "ACSP"),
}


@each_bank
@pytest.mark.parametrize("fault", list(FIRST_STATUS))
def test_a_direct_payment_triggers_the_fault_of_the_signed_in_customer(
    connected: Causeway, bank: str, fault: str
) -> None:
    asked = payment(connected, bank, bic=BICS[bank])
    started = connected.tpp.call("POST", "/tpp/direct_payment_initiation", asked)
    assert started.status == 200, started
    back = Psu(connected, bank, fault).pay(started.body["confirmation_url"])
    assert back["status"] == either(bank, *FIRST_STATUS[fault])


@each_bank
@pytest.mark.parametrize("fault", ["slow", "silent", "down", "rate-limited", "nonsense", "token-refused"])
def test_the_status_request_of_a_direct_payment_triggers_the_fault_of_its_payer(
    connected: Causeway, bank: str, fault: str
) -> None:
    """The service requests no payment status from version 1 banks."""
    is_asked = bool(BY_NAME[bank].protocol.payment_status)
    asked = payment(connected, bank, bic=BICS[bank])
    started = connected.tpp.call("POST", "/tpp/direct_payment_initiation", asked)
    place = f"/tpp/payment_status?payment_id={started.body['payment_id']}&bic={BICS[bank]}"
    assert connected.tpp.call("GET", place).status == 200
    Psu(connected, bank, fault).pay(started.body["confirmation_url"])

    answer = connected.tpp.call("GET", place)

    if is_asked and fault in ALWAYS_FAIL:
        assert answer.status == 502
        assert expected(bank, fault) in details(answer)
    else:
        assert answer.status == 200
        assert wires(connected).pauses == ([3] if is_asked and fault == "slow" else [])
