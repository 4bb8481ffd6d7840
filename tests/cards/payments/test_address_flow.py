"""Tests of external payment addresses: creation, displayed members and status changes."""

from typing import Any

import pytest

from chalicelib.cards.payments import address_flow
from chalicelib.cards.payments.provider import AddressRequest, ProviderSilent
from chalicelib.cards.payments.provider_completion import finish_due_payments
from chalicelib.cards.protocol.payment_states import ADDRESS_STATES
from chalicelib.foundation.fields.ibans import is_iban
from tests.cards.issuer import BRITAIN, EUR, GBP, GERMANY, SEPA, SPECIAL_EUR, SPECIAL_GBP, UK, USD, Issuer
from tests.cards.programmes import HIDDEN, HIDDEN_SPECIAL, SPECIAL, YEN, with_tariff
from tests.cards.stored_money import prove

FRANCE, BRAZIL = 250, 76
ASSIGN, ASSIGN_SPECIAL = "assignExternalPaymentAddress", "assignExternalPaymentAddressForSpecialAccount"
CHANGE = "changeExternalPaymentAddressStatus"


@pytest.fixture(scope="module")
def tariff(issuer: Issuer) -> Issuer:
    return with_tariff(issuer)


def paying(address: Any) -> dict[str, Any]:
    least = {"epm_address_id": address["id"], "amount": 100, "currency_ison": GBP}
    return least | {"scheme": "FPS", "sender_name": "Bob"}


# -- opening


def test_a_uk_address_has_a_sort_code_an_account_number_and_an_iban(issuer: Issuer) -> None:
    account = issuer.account(currency_ison=GBP)
    [holder] = [row["holder_id"] for row in issuer.data("getAccounts", account_id=account)]

    [address] = issuer.data(ASSIGN, account_id=account, epm_method_id=UK, currency_ison=GBP, risk_score=12)

    number = address["account_number"]
    assert address["iban"].endswith(f"{address['sort_code']}{number}")
    assert is_iban(address["iban"])
    assert address == {
        "id": address["id"],
        "access_level": 0,
        "active": 1,
        "account_number": number,
        "iban": address["iban"],
        "sort_code": "089999",
        "account_name": "Zoë O'Neil-Smith",
        "direct_credit_enabled": 1,
        "direct_debit_enabled": 1,
        "inbound_enabled": 1,
        "outbound_enabled": 1,
        "epm_method_id": UK,
        "epm_type_id": 1,
        "account_id": account,
        "account_type": 1,
        "holder_id": holder,
        "currency_ison": GBP,
        "country_ison": BRITAIN,
        "assignment_state": 1,
    }


def test_a_sepa_address_has_an_iban_and_bic_of_the_requested_country(issuer: Issuer) -> None:
    address = issuer.address(method=SEPA, country_ison=FRANCE, account_name="Rent only")

    assert address["iban"][:2] == "FR"
    assert address["bic"][4:6] == "FR"
    assert address["country_ison"] == FRANCE
    assert address["account_name"] == "Rent only"
    assert address["epm_type_id"] == 2
    assert address["direct_credit_enabled"] == 0
    assert address.keys().isdisjoint({"sort_code", "account_number", "card_id"})


def test_an_address_country_defaults_to_the_country_of_the_holder(issuer: Issuer) -> None:
    account = issuer.account(holder_country_ison=FRANCE)

    assert issuer.address(account, SEPA)["country_ison"] == FRANCE
    assert issuer.address(account, SEPA, country_ison=GERMANY)["country_ison"] == GERMANY


def test_an_address_for_a_country_outside_sepa_is_opened_at_a_bank_in_germany(issuer: Issuer) -> None:
    assert issuer.address(method=SEPA, country_ison=BRAZIL)["country_ison"] == GERMANY


def test_an_address_without_any_country_returns_2006(issuer: Issuer) -> None:
    account = issuer.account(holder_id=issuer.holder())
    members = {"account_id": account, "epm_method_id": SEPA, "currency_ison": EUR}

    answer = issuer.do(ASSIGN, **members)

    assert (answer.status_code, "country_ison" in answer.message) == (2006, True)
    assert issuer.data(ASSIGN, **members, country_ison=FRANCE)[0]["country_ison"] == FRANCE


def test_an_address_has_the_business_name_of_its_holder(issuer: Issuer) -> None:
    account = issuer.account(holder_type=1, holder_business_name="Neil & Daughters Ltd")

    assert issuer.address(account, SEPA)["account_name"] == "Neil & Daughters Ltd"


def test_an_address_truncates_the_holder_name_to_70_characters(issuer: Issuer) -> None:
    account = issuer.account(holder_first_name="A" * 50, holder_last_name="B" * 50)

    assert issuer.address(account, SEPA)["account_name"] == f"{'A' * 50} {'B' * 19}"


@pytest.mark.parametrize(("method", "currency"), [(UK, EUR), (SEPA, GBP), (UK, USD)])
def test_an_address_in_a_currency_that_the_payment_method_does_not_support_returns_5003(
    issuer: Issuer, method: int, currency: int
) -> None:
    account = issuer.account(currency_ison=GBP)

    answer = issuer.do(ASSIGN, account_id=account, epm_method_id=method, currency_ison=currency)

    assert answer.status_code == 5003


def test_an_account_in_another_currency_needs_exchange_rates_for_an_address(tariff: Issuer) -> None:
    account = tariff.account(currency_ison=YEN)

    assert tariff.do(ASSIGN, account_id=account, epm_method_id=UK, currency_ison=GBP).status_code == 5003
    assert tariff.address(account, SEPA)["currency_ison"] == EUR


@pytest.mark.parametrize(("status", "refusal"), [("A", None), ("R", None), ("S", 4003), ("C", 4003)])
def test_an_address_can_be_opened_only_for_an_active_or_restricted_account(
    issuer: Issuer, status: str, refusal: int | None
) -> None:
    account = issuer.account_in(status, currency_ison=GBP)

    answer = issuer.do(ASSIGN, account_id=account, epm_method_id=UK, currency_ison=GBP)

    assert answer.status_code == refusal


def test_an_address_accepts_only_a_card_of_its_account(issuer: Issuer) -> None:
    card, another = issuer.card(), issuer.card()

    address = issuer.address(card.account_id, SEPA, card_id=card.card_id)

    assert address["card_id"] == card.card_id
    members = {"account_id": card.account_id, "epm_method_id": SEPA, "currency_ison": EUR}
    assert issuer.do(ASSIGN, **members, card_id=another.card_id).status_code == 3002
    assert issuer.do(ASSIGN, **members, card_id=999_999_999).status_code == 3002


def test_an_account_name_rejected_by_the_provider_returns_7001(issuer: Issuer) -> None:
    account = issuer.account(currency_ison=GBP)
    members = {"account_id": account, "epm_method_id": UK, "currency_ison": GBP}

    answer = issuer.do(ASSIGN, **members, account_name="Refuse this")

    assert (answer.status_code, "Refuse this" in answer.message) == (7001, False)
    assert issuer.data("getAccountExternalPaymentAddresses", account_id=account) == []


def test_a_pending_address_rejects_payments_until_the_scheduled_job_opens_the_address(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, reference = issuer.account(currency_ison=GBP), issuer.reference()
    members = {"account_id": account, "epm_method_id": UK, "currency_ison": GBP, "request_reference_id": reference}
    asked: list[AddressRequest] = []

    def silent(opening: AddressRequest) -> object:
        asked.append(opening)
        raise ProviderSilent("no answer")

    with monkeypatch.context() as patched:
        patched.setattr(issuer.hub.cards.payment_provider, "open_address", silent)
        assert issuer.do(ASSIGN, **members).status_code == 8001
    pending = issuer.data("getExternalPaymentAddress", epm_address_id=asked[0].address_id)
    assert pending["assignment_state"] == 2
    assert pending["active"] == 0
    assert "iban" not in pending
    assert issuer.transfer(pending, 100, destination_iban="GB29NWBK60161331926819").status_code == 4008
    assert issuer.do(CHANGE, epm_address_id=pending["id"], status="S").status_code == 4008
    assert issuer.data("simulateInboundPayment", **paying(pending))["state"] == "J"
    assert issuer.data("getAccountExternalPaymentAddresses", account_id=account) == []

    issuer.clock.advance(60)
    assert issuer.hub.cards.call(finish_due_payments) == 1

    [address] = issuer.data("getAccountExternalPaymentAddresses", account_id=account)
    repeat = issuer.do(ASSIGN, **members)
    assert (repeat.duplicated, repeat.data) == (1, [address])
    assert address["id"] == pending["id"]
    assert address["assignment_state"] == 1
    assert address["active"] == 1
    assert issuer.inbound(address, 100)["state"] == "S"


def test_a_duplicate_assignment_opens_one_address(issuer: Issuer) -> None:
    account = issuer.account(currency_ison=GBP)
    members: dict[str, Any] = {"account_id": account, "epm_method_id": UK, "currency_ison": GBP}
    members["request_reference_id"] = issuer.reference()

    first, repeat = issuer.do(ASSIGN, **members), issuer.do(ASSIGN, **members)

    assert (repeat.duplicated, repeat.data) == (1, first.data)
    assert len(issuer.data("getAccountExternalPaymentAddresses", account_id=account)) == 1


def test_an_address_that_exceeds_the_maximum_number_for_an_account_returns_2003(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(address_flow, "MOST_ADDRESSES", 2)
    account = issuer.account(currency_ison=GBP)
    numbers = [issuer.address(account)["id"], issuer.address(account, SEPA)["id"]]

    answer = issuer.do(ASSIGN, account_id=account, epm_method_id=UK, currency_ison=GBP)

    assert (answer.status_code, "account_id" in answer.message) == (2003, True)
    shown = issuer.data("getAccountExternalPaymentAddresses", account_id=account)
    assert [address["id"] for address in shown] == numbers


# -- special accounts


def test_the_addresses_of_a_special_account_have_no_holder(issuer: Issuer) -> None:
    first = issuer.special_address()
    second = issuer.special_address(account_name="Second")

    assert first["account_id"] == SPECIAL_GBP
    assert first["account_type"] == 2
    assert first["account_name"] == "Programme Settlement GBP"
    assert "holder_id" not in first
    assert (second["account_name"], second["country_ison"]) == ("Second", BRITAIN)
    assert first["account_number"] != second["account_number"]
    assert issuer.special_address(SPECIAL_EUR, SEPA)["iban"].startswith("DE")
    assert issuer.special_address(SPECIAL_EUR, SEPA, country_ison=FRANCE)["iban"].startswith("FR")


def test_a_special_account_of_another_programme_manager_returns_3013(issuer: Issuer) -> None:
    members = {"epm_method_id": UK, "currency_ison": GBP}

    assert issuer.as_caller("other").do(ASSIGN_SPECIAL, special_account_id=SPECIAL_GBP, **members).status_code == 3013
    assert issuer.do(ASSIGN_SPECIAL, special_account_id=1801, **members).status_code == 3013
    assert (
        issuer.do(ASSIGN_SPECIAL, special_account_id=SPECIAL_GBP, **members | {"currency_ison": EUR}).status_code
        == 5003
    )


def test_special_accounts_with_the_same_number_of_two_programme_managers_are_separate(
    issuer: Issuer, tariff: Issuer
) -> None:
    theirs, ours = issuer.special_address(), tariff.special_address(SPECIAL)
    tariff.inbound(ours, 700)

    assert issuer.do("getExternalPaymentAddress", epm_address_id=ours["id"]).status_code == 3010
    assert issuer.inbound(theirs, 100)["settled_balance"] == 100
    assert tariff.inbound(ours, 1)["settled_balance"] == 701
    prove(issuer)


@pytest.mark.parametrize(("level", "refusal"), [(HIDDEN, None), (HIDDEN - 1, 3013)])
def test_a_special_account_above_the_access_level_returns_3013(tariff: Issuer, level: int, refusal: int | None) -> None:
    members = {"special_account_id": HIDDEN_SPECIAL, "epm_method_id": SEPA, "currency_ison": EUR}

    credential = tariff.hub.cards.credentials.check(*tariff.secrets[tariff.caller].values())
    assert credential is not None
    answer = tariff.with_credential(f"level-{level}", manager=credential.manager_id, access_level=level).do(
        ASSIGN_SPECIAL, **members
    )

    assert answer.status_code == refusal
    if refusal is None:
        assert answer.data[0]["access_level"] == HIDDEN


def test_a_special_address_accepts_a_card_of_the_programme_manager(issuer: Issuer) -> None:
    card = issuer.card()

    assert issuer.special_address(card_id=card.card_id)["card_id"] == card.card_id
    members = {"special_account_id": SPECIAL_GBP, "epm_method_id": UK, "currency_ison": GBP}
    assert issuer.do(ASSIGN_SPECIAL, **members, card_id=999_999_999).status_code == 3002


# -- showing


def test_an_address_returns_its_status_with_reason_and_note(issuer: Issuer) -> None:
    address = issuer.address()

    def shown() -> dict[str, object]:
        return dict(issuer.data("getExternalPaymentAddress", epm_address_id=address["id"]))

    assert shown() == address | {"status": "A"}
    issuer.data(CHANGE, epm_address_id=address["id"], status="S", reason_code=9, note="asked for")
    off = dict.fromkeys(("direct_credit", "direct_debit", "inbound", "outbound"), 0)
    suspended = {f"{name}_enabled": value for name, value in off.items()} | {"active": 0}
    reasons = {"status_change_reason_code": 9, "status_change_note": "asked for"}
    assert shown() == address | suspended | {"status": "S"} | reasons
    issuer.data(CHANGE, epm_address_id=address["id"], status="A")
    assert shown() == address | {"status": "A"}


@pytest.mark.parametrize(("level", "refusal"), [(500, None), (499, 3010)])
def test_an_address_above_the_access_level_returns_3010(issuer: Issuer, level: int, refusal: int | None) -> None:
    address = issuer.address(issuer.account(access_level=500, currency_ison=GBP))

    answer = issuer.do("getExternalPaymentAddress", epm_address_id=address["id"], access_level=level)

    assert (address["access_level"], answer.status_code) == (500, refusal)


def test_addresses_of_another_programme_manager_return_3010(issuer: Issuer) -> None:
    address, other = issuer.address(), issuer.as_caller("other")

    assert other.do("getExternalPaymentAddress", epm_address_id=address["id"]).status_code == 3010
    assert other.do(CHANGE, epm_address_id=address["id"], status="S").status_code == 3010
    assert other.transfer(address, 100).status_code == 3010
    listed = other.do("getAccountExternalPaymentAddresses", account_id=address["account_id"])
    assert listed.status_code == 3001
    assert issuer.do("getExternalPaymentAddress", epm_address_id=999_999_999).status_code == 3010


# -- status


@pytest.mark.parametrize("before", "AS")
def test_an_unblocked_address_can_be_suspended_and_reactivated(issuer: Issuer, before: str) -> None:
    number = issuer.address()["id"]
    codes = [change(issuer, number, status) for status in (before, before, "A", "S", "S", before, "B")]

    assert codes == [None] * 7
    assert [change(issuer, number, status) for status in ADDRESS_STATES] == [4002, 4002, 4002]
    assert issuer.data("getExternalPaymentAddress", epm_address_id=number)["status"] == "B"


def change(issuer: Issuer, number: int, status: str) -> int | None:
    code = issuer.do(CHANGE, epm_address_id=number, status=status).status_code
    shown = issuer.data("getExternalPaymentAddress", epm_address_id=number)["status"]
    assert shown == status or code is not None
    return code


@pytest.mark.parametrize(("asked", "level"), [({}, 300), ({"access_level": 500}, 500), ({"access_level": 0}, 0)])
def test_the_access_level_of_an_address_defaults_to_the_level_of_the_account(
    issuer: Issuer, asked: dict[str, int], level: int
) -> None:
    address = issuer.address(issuer.account(access_level=300, currency_ison=GBP), **asked)

    assert address["access_level"] == level
    shown = [
        issuer.do("getExternalPaymentAddress", epm_address_id=address["id"], access_level=n) for n in (level, 1000)
    ]
    assert [answer.status_code for answer in shown] == [None, None]
    if level:
        hidden = issuer.do("getExternalPaymentAddress", epm_address_id=address["id"], access_level=level - 1)
        assert hidden.status_code == 3010
