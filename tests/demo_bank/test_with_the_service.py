"""Complete journeys between the banks and the service, with simulated HTTP connections in this process."""

import re
from collections.abc import Iterator
from urllib.parse import urlencode, urlsplit

import pytest

from chalicelib.demo_bank import clearing
from chalicelib.demo_bank.profiles import BY_NAME
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.records.payments import payment_key
from tests.causeway import Causeway
from tests.demo_bank.connected_banks import (
    BICS,
    CUSTOMERS,
    PAYMENT_SCOPES,
    Psu,
    authorize,
    connect_banks,
    payment,
    tokens,
)
from tests.demo_bank.parties import query_of

each_bank = pytest.mark.parametrize("bank", ["one", "two"])


@pytest.fixture
def connected(causeway: Causeway) -> Iterator[Causeway]:
    with connect_banks(causeway):
        yield causeway


@each_bank
def test_an_approval_permits_the_tpp_to_access_only_the_chosen_accounts(connected: Causeway, bank: str) -> None:
    bearer = tokens(connected, bank)["access_token"]
    accounts = connected.tpp.call("GET", "/tpp/accounts", bearer=bearer)
    assert accounts.status == 200, accounts
    assert len(accounts.body["accounts"]) == 2
    for account in accounts.body["accounts"]:
        account_id = account.get("id") or account["resource_id"]
        single = connected.tpp.call("GET", f"/tpp/account?account_id={account_id}", bearer=bearer)
        assert single.body["account"] == account


@each_bank
def test_the_consent_at_the_service_lists_the_approved_accounts(connected: Causeway, bank: str) -> None:
    consent = connected.tpp.call("GET", "/tpp/consent", bearer=tokens(connected, bank)["access_token"]).body
    assert "active" in str(consent) or "valid" in str(consent)
    assert ("GB63DEMO04000455200318" if bank == "one" else "DE26100999000006930021") in str(consent)


@each_bank
def test_a_psu_who_refuses_a_consent_is_redirected_to_the_tpp_with_the_reason(connected: Causeway, bank: str) -> None:
    asked = authorize(connected, bank)
    psu = Psu(connected, bank)
    psu.arrive(asked["redirect_url"])
    cancel = urlsplit(psu.post("/refuse").headers["location"])
    back = connected.call("GET", f"{cancel.path}?{cancel.query}")
    assert back.status == 303
    query = query_of(back.headers["location"])
    assert query["error"] == "access_denied"
    assert query["error_description"] == "The customer refused"
    assert query["state"] == asked["state"]


@each_bank
def test_an_altered_request_is_rejected_on_the_page_of_the_bank(connected: Causeway, bank: str) -> None:
    url = authorize(connected, bank)["redirect_url"] + "&scope=everything"
    page = Psu(connected, bank).arrive(url)
    assert page.status == 400
    assert ("4301" if bank == "one" else "AUTHORIZATION_REQUEST_URL_NOT_VALID") in page.text


@each_bank
def test_a_consent_revoked_at_the_bank_returns_401_to_the_tpp(connected: Causeway, bank: str) -> None:
    bearer = tokens(connected, bank)["access_token"]
    customer = CUSTOMERS[bank]
    psu = Psu(connected, bank)
    signed_in = psu.post("/consents", username=customer, password=f"sandbox-{customer}")
    cookie = {"cookie": signed_in.headers["set-cookie"].partition(";")[0]}
    page = connected.call("GET", f"/demo-bank/{bank}/consents", headers=cookie).text
    asked = re.findall(r'href="([^"]+/consents\?revoke=[^"]+)"', page)[0]
    page = connected.call("GET", asked, headers=cookie).text
    fields = dict(re.findall(r'name="(form_token|consent)" value="([^"]+)"', page.partition("</form>")[0]))
    revoked = connected.call("POST", f"/demo-bank/{bank}/consents/revoke", urlencode(fields).encode(), cookie)
    assert revoked.status == 303, revoked
    assert connected.tpp.call("GET", "/tpp/accounts", bearer=bearer).status == 401


@each_bank
def test_a_consent_revoked_by_the_tpp_is_revoked_at_the_bank(connected: Causeway, bank: str) -> None:
    given = tokens(connected, bank)
    assert connected.tpp.call("POST", "/tpp/token/revoke", {"token": given["access_token"]}).status == 200
    for delivery_id in connected.queued():
        connected.hub.delivery.worker.attempt(delivery_id)
    customer = CUSTOMERS[bank]
    signed_in = Psu(connected, bank).post("/consents", username=customer, password=f"sandbox-{customer}")
    cookie = {"cookie": signed_in.headers["set-cookie"].partition(";")[0]}
    page = connected.call("GET", f"/demo-bank/{bank}/consents", headers=cookie).text
    assert "Revoked" in page.partition("Ended")[2]


CONFIRMED = {"one": ("4", "payment_status", 4), "two": ("ACSP", "transaction_status", "ACSP")}
SETTLED = {"one": 4, "two": "ACSC"}


@each_bank
def test_the_tpp_reads_the_status_confirmed_and_later_settled_for_a_confirmed_payment(
    connected: Causeway, bank: str
) -> None:
    bearer = tokens(connected, bank, scopes=PAYMENT_SCOPES[bank], consent_type="one_time")["access_token"]
    started = connected.tpp.call("POST", "/tpp/payment_initiation", payment(connected, bank), bearer=bearer)
    assert started.status == 200, started
    status, member, expected = CONFIRMED[bank]
    back = Psu(connected, bank).pay(started.body["confirmation_url"])
    assert back == {"order": "7", "status": status, "payment_id": started.body["payment_id"]}
    place = f"/tpp/payment_status?payment_id={back['payment_id']}"
    assert connected.tpp.call("GET", place, bearer=bearer).body[member] == expected
    connected.clock.advance(20)
    clearing.run_due_work(connected.hub)
    assert connected.tpp.call("GET", place, bearer=bearer).body[member] == SETTLED[bank]
    kept = connected.hub.store.get(*payment_key(BICS[bank], back["payment_id"]))
    assert kept is not None
    assert kept["status"] == SETTLED[bank]


@each_bank
def test_a_direct_payment_requires_no_consent(connected: Causeway, bank: str) -> None:
    asked = payment(connected, bank, bic=BICS[bank])
    started = connected.tpp.call("POST", "/tpp/direct_payment_initiation", asked)
    assert started.status == 200, started
    back = Psu(connected, bank).pay(started.body["confirmation_url"])
    place = f"/tpp/payment_status?payment_id={back['payment_id']}&bic={BICS[bank]}"
    status, member, expected = CONFIRMED[bank]
    assert back["status"] == status
    assert connected.tpp.call("GET", place).body[member] == expected


@each_bank
def test_balances_transactions_and_funds_are_readable_through_the_service(connected: Causeway, bank: str) -> None:
    version = BY_NAME[bank].version
    scopes = list(VERSIONS[version].scopes)
    bearer = tokens(connected, bank, scopes=scopes)["access_token"]
    first = connected.tpp.call("GET", "/tpp/accounts", bearer=bearer).body["accounts"][0]
    named = f"account_id={first.get('id') or first['resource_id']}"
    lists = "account_payments" if version == 1 else "account_transactions"
    query = named if version == 1 else f"{named}&booking_status=both"
    for place in (f"account_balance?{named}", f"{lists}?{query}"):
        answer = connected.tpp.call("GET", f"/tpp/{place}", bearer=bearer)
        assert answer.status == 200, answer
    asked = {"account": {"iban": first["iban"]}, "instructed_amount": {"amount": "1.50", "currency": first["currency"]}}
    answer = connected.tpp.call("POST", "/tpp/funds_confirmations", asked, bearer=bearer)
    assert answer.body == {"funds_available": True}
