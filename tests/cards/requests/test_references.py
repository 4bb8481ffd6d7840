"""Tests of ``request_reference_id``: a duplicate request is executed once and gets the stored response."""

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.cards.programs import credentials
from chalicelib.cards.requests.request_context import QueuePlace
from chalicelib.foundation import identifiers
from tests.cards import whole_requests
from tests.cards.action_checks import call, is_repeat, request
from tests.cards.issuer import ALL_PLAIN, DAY, EXTERNAL_IBANS, HOLDER_BLOCK, PIN, UK, Issuer
from tests.cards.whole_requests import BY_ACTION, EVERY_ACTION, Members
from tests.kit.logs import Lines

EVERY = pytest.mark.parametrize("action", BY_ACTION)
REVEALS = [name for name, action in EVERY_ACTION.items() if action.effect == "reveal"]
WITH_CARD_DATA = [name for name, action in EVERY_ACTION.items() if action.seals]


@EVERY
def test_a_retry_returns_the_first_response(issuer: Issuer, action: str) -> None:
    """The retry may use a different process, numbers as strings and a different order of members."""
    members = request(issuer, action)
    elsewhere = dict(reversed(members.items())) | {"access_level": str(members["access_level"])}

    first, second = (call(issuer, action, members) for _ in range(2))
    third = call(issuer.with_own_clock(), action, elsewhere)

    assert first.status == "success", first.raw
    assert is_repeat(first, second)
    assert is_repeat(first, third)


@EVERY
def test_a_reference_used_for_another_request_returns_code_8002(issuer: Issuer, action: str) -> None:
    """A request with a different access level or action is a different request."""
    members = request(issuer, action)
    first = call(issuer, action, members)

    other_body = call(issuer, action, members | {"access_level": members["access_level"] - 1})
    reference = {"request_reference_id": members["request_reference_id"]}
    other_action = issuer.do("getDesign", program_id=102, **reference)

    assert (other_body.status_code, other_body.duplicated) == (8002, 0)
    assert (other_action.status_code, other_action.duplicated) == (8002, 0)
    assert is_repeat(first, call(issuer, action, members))


def test_each_credential_has_a_separate_set_of_references(issuer: Issuer) -> None:
    members = {"program_id": 101, "request_reference_id": issuer.reference()}
    issuer.data("getDesign", **members)

    assert issuer.as_caller("encrypted").do("getDesign", **members).duplicated == 0
    assert issuer.as_caller("other").do("getDesign", **members | {"program_id": 1101}).duplicated == 0


def test_a_retry_with_different_ignored_fields_is_a_duplicate(issuer: Issuer) -> None:
    card = issuer.card()
    least = {"card_program_id": 101, "card_country_ison": "276", "card_virtual": 1, "card_name_line_3": "ZOE ONEIL"}
    members = {**least, "holder_id": card.holder_id, "request_reference_id": issuer.reference()}
    first = issuer.do("createCard", **members)

    ignored = {"holder_first_name": 7, "delivery_city": [], "card_pin": "1", "card_country_ison": 276}
    assert is_repeat(
        first, issuer.do("createCard", **members | ignored | {"card_currency_ison": "", "account_id": None})
    )
    assert issuer.do("createCard", **members | {"card_name_line_3": "ZOE O'NEIL"}).status_code == 8002


def test_an_update_with_null_differs_from_an_update_without_the_member(issuer: Issuer) -> None:
    holder = issuer.holder(title="Dr")
    [whole] = whole_requests.whole("updateHolder", whole_requests.Records(holder_id=holder))
    members = {**whole, "title": None, "request_reference_id": issuer.reference()}
    first = issuer.do("updateHolder", **members)

    assert is_repeat(first, issuer.do("updateHolder", **members))
    without = {name: value for name, value in members.items() if name != "title"}
    assert issuer.do("updateHolder", **without).status_code == 8002


# -- which answers are kept

Fault = Callable[[Issuer], tuple[str, Members, str, Members]]


def not_activated(issuer: Issuer) -> tuple[str, Members, str, Members]:
    card = {"card_id": issuer.card().card_id}
    return "changeCardStatus", {**card, "status": "T"}, "activateCard", card


def wrong_data(issuer: Issuer) -> tuple[str, Members, str, Members]:
    card = issuer.card()
    wrong = {"card_id": card.card_id, "card_cvc2": f"{(int(card.cvc2) + 1) % 1000:03}"}
    return "activateCard", wrong, "activateCard", {"card_id": card.card_id}


def not_blocked(issuer: Issuer) -> tuple[str, Members, str, Members]:
    card = {"card_id": issuer.card_in("A").card_id}
    return "unblockPin", card, "changeCardStatus", {**card, "status": "T"}


def no_account(issuer: Issuer) -> tuple[str, Members, str, Members]:
    return "getAccounts", {"account_id": 987654321}, "getDesign", {"program_id": 101}


def no_currency(issuer: Issuer) -> tuple[str, Members, str, Members]:
    account = issuer.account(currency_ison=826)
    to_prepaid = {"account_id": account, "account_program_id": 502}
    return "changeAccountProgramId", to_prepaid, "changeAccountStatus", {"account_id": account, "account_status": "R"}


def no_funds(issuer: Issuer) -> tuple[str, Members, str, Members]:
    address = issuer.funded_address(500)
    paid_in = {"epm_address_id": address["id"], "amount": 1, "currency_ison": 826, "scheme": "FPS"}
    return *of_transfer(address, 501), "simulateInboundPayment", paid_in | {"sender_name": "Bob"}


def refused_by_provider(issuer: Issuer) -> tuple[str, Members, str, Members]:
    transfer = of_transfer(issuer.funded_address(500), 500, destination_account_name="Refuse me")
    return *transfer, "getDesign", {"program_id": 101}


def of_transfer(address: Members, amount: int, **members: Any) -> tuple[str, Members]:
    order = {"epm_address_id": address["id"], "amount": amount, "currency_ison": 826}
    destination = {"destination_iban": EXTERNAL_IBANS[UK], "destination_account_name": "Alice"}
    return "transferToExternalPayment", order | destination | members


KEPT: dict[int, Fault] = {
    3001: no_account,
    4001: not_activated,
    4007: not_blocked,
    5001: no_funds,
    5003: no_currency,
    6001: wrong_data,
    7001: refused_by_provider,
}


@pytest.mark.parametrize("code", KEPT)
def test_a_retry_returns_the_stored_error_after_the_state_has_changed(issuer: Issuer, code: int) -> None:
    action, members, between, others = KEPT[code](issuer)
    members |= {"request_reference_id": issuer.reference()}

    first = issuer.do(action, **members)
    issuer.data(between, **others)

    assert first.status_code == code
    assert is_repeat(first, issuer.do(action, **members))
    assert issuer.do(action, **members | {"access_level": 1}).status_code == 8002


def test_a_retry_that_times_out_returns_the_response_of_a_concurrent_request(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = issuer.card()
    members = {"card_id": card.card_id, "request_reference_id": issuer.reference()}
    answers = []

    def answer_first() -> None:
        answers.append(issuer.do("activateCard", **members))
        monkeypatch.setattr(QueuePlace, "is_over", True)

    with issuer.causeway.meanwhile("transact", answer_first):
        answers.append(issuer.do("activateCard", **members))

    assert is_repeat(*answers)


def test_retries_of_a_request_with_wrong_data_count_as_one_wrong_attempt(issuer: Issuer) -> None:
    action, members, *_ = wrong_data(issuer)
    members |= {"request_reference_id": issuer.reference()}

    answers = [issuer.do(action, **members) for _ in range(7)]

    assert {answer.status_code for answer in answers} == {6001}


def test_a_corrected_request_can_reuse_the_reference_of_a_malformed_request(issuer: Issuer) -> None:
    """Responses with the error codes 1xxx, 2xxx and 8xxx are not stored under the request reference."""
    card, locked = issuer.card(), issuer.card()
    whole = {"card_program_id": 101, "card_country_ison": 276, "card_virtual": 1, "card_name_line_3": "ZOE ONEIL"}
    faults: list[tuple[int, str, Members, Members]] = [
        (1003, "getPin", {"api_version": "1.1"}, {"api_version": "1.2"}),
        (1101, "getPin", {"access_key": "x" * 20}, {"access_key": issuer.secrets["full"]["access_key"]}),
        (1102, "getPin", {"access_level": 1001}, {"access_level": 1000}),
        (2002, "setPin", {"pin": [PIN]}, {"pin": PIN}),
        (2005, "createCard", {**whole, **HOLDER_BLOCK, "card_design_id": 24}, {"card_design_id": 23}),
        (8004, "activateCard", {"card_id": locked.card_id, "card_request_id": 987}, {"card_id": card.card_id}),
    ]
    for _ in range(5):
        assert issuer.do("activateCard", card_id=locked.card_id, card_request_id=987).status_code == 6001

    for code, action, wrong, right in faults:
        own = {"card_id": card.card_id} if action != "createCard" else {}
        members = own | wrong | {"request_reference_id": issuer.reference()}
        for _ in range(2):
            assert (issuer.do(action, **members).status_code, code) == (code, code)
        mended = members | right | ({"card_request_id": card.card_request_id} if action == "activateCard" else {})
        answer = issuer.do(action, **mended)
        assert (answer.status, answer.duplicated) == ("success", 0), answer.raw


# -- for how long


def test_a_reference_is_stored_for_30_days(issuer: Issuer) -> None:
    members = request(issuer, "getHolder")
    first = issuer.do("getHolder", **members)

    assert is_repeat(first, issuer.with_own_clock(days=30 - 1 / DAY).do("getHolder", **members))
    anew = issuer.with_own_clock(days=30).do("getHolder", **members | {"access_level": 0})
    assert (anew.status, anew.duplicated) == ("success", 0)
    assert issuer.do("getHolder", **members).status_code == 8002


@pytest.mark.parametrize("action", WITH_CARD_DATA)
def test_a_retry_returns_card_data_for_one_day(issuer: Issuer, action: str, lines: Lines) -> None:
    members = request(issuer, action)
    before = len(audit(lines))
    first = issuer.do(action, **members)
    revealed = audit(lines)[before:]

    assert is_repeat(first, issuer.with_own_clock(days=1 - 1 / DAY).do(action, **members))
    assert audit(lines)[before:] == revealed * 2
    assert set(revealed) == {"pan", "pin", "cvc2", "acs_password", "expiry"}
    later = issuer.with_own_clock(days=1).do(action, **members)
    assert (later.status, later.duplicated) == ("success", 1)
    kept = {name: value for name, value in first.data.items() if name not in ("pan", "pin", "cvc2")}
    assert later.data == kept | {"acs_password": ""}
    assert later.data["expiration"]
    assert issuer.with_own_clock(days=29).do(action, **members).raw == later.raw


def audit(lines: Lines) -> list[Any]:
    return [line["field"] for line in lines.all() if line["message"] == "card data revealed"]


def test_a_reused_reference_after_30_days_never_returns_card_data_of_the_old_request(issuer: Issuer) -> None:
    members = request(issuer, "createCard")
    first = issuer.do("createCard", **members)
    anew = issuer.with_own_clock(days=30).do("createCard", **members)

    assert anew.duplicated == 0
    assert anew.data["card_id"] != first.data["card_id"]
    assert is_repeat(anew, issuer.with_own_clock(days=30.5).do("createCard", **members))
    later = issuer.with_own_clock(days=31).do("createCard", **members).data
    assert ("pan" in later, later["acs_password"]) == (False, "")


def test_a_retry_omits_card_data_that_the_credential_can_no_longer_access(issuer: Issuer) -> None:
    name = "once-plain"
    caller = issuer.with_credential(name)
    holder = caller.holder()
    [_, virtual] = whole_requests.whole("createCard", whole_requests.Records(holder, caller.account(holder_id=holder)))
    members = virtual | {"request_reference_id": caller.reference()}
    first = caller.do("createCard", **members)
    assert is_repeat(first, caller.do("createCard", **members))

    digest_of = identifiers.digest(issuer.secrets[name]["access_key"])
    rights = credentials.Rights(1000, None, dict.fromkeys(ALL_PLAIN, "absent"))
    issuer.hub.store.transact([credentials.update_credential(digest_of, rights)])
    again = caller.with_own_clock().do("createCard", **members)

    assert (again.status, again.duplicated) == ("success", 1)
    assert again.data["card_id"] == first.data["card_id"]
    assert not any(again.data.get(field) for field in ("pan", "pin", "cvc2", "expiration"))
    assert again.data["acs_password"] == ""


# -- reveals


@pytest.mark.parametrize("action", REVEALS)
def test_a_duplicate_reveal_is_executed_again(issuer: Issuer, action: str, lines: Lines) -> None:
    card = issuer.card_in("A", card_virtual=0)
    members = {"card_id": card.card_id, "request_reference_id": issuer.reference()}
    first = issuer.do(action, **members)

    issuer.data("setPin", card_id=card.card_id, pin="4826")
    issuer.data("changeCardAcsPassword", card_id=card.card_id, acs_password="loud-Heron 7?")
    again = issuer.do(action, **members)

    assert (first.duplicated, again.duplicated) == (0, 1)
    new = {"getPin": {"pin": "4826"}, "getCardAcsPassword": {"acs_password": "loud-Heron 7?"}}
    assert again.data == new.get(action, first.data)
    assert audit(lines)[-2:] == [EVERY_ACTION[action].field] * 2
    assert issuer.do(action, **members | {"access_level": 1}).status_code == 8002


def test_a_rejected_duplicate_reveal_is_marked_as_a_duplicate(issuer: Issuer) -> None:
    card, low = issuer.card(access_level=0), issuer.with_credential("low", access_level=0)
    members = {"card_id": card.card_id, "request_reference_id": issuer.reference()}
    low.data("getPin", **members)

    issuer.hub.store.update("cards", {"owner": f"card#{card.card_id}", "part": "card"}, set={"access_level": 1})
    again = low.do("getPin", **members)

    assert (again.status_code, again.duplicated) == (3002, 1)


@pytest.mark.parametrize("action", REVEALS)
def test_the_stored_claim_of_a_reveal_contains_no_response(issuer: Issuer, action: str) -> None:
    before = {item["claim"] for item in issuer.hub.store.scan("idempotency")}
    issuer.data(action, card_id=issuer.card(card_virtual=0).card_id, request_reference_id=issuer.reference())

    [claim] = [item for item in issuer.hub.store.scan("idempotency") if item["claim"] not in before]
    assert "answer" not in claim
