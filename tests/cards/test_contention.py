"""Tests of concurrent requests: conditional writes create one card, select one winner and count every wrong attempt."""

import itertools
import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Any

import pytest

from chalicelib.cards.card_data.numbers import new_pan
from chalicelib.cards.protocol.status_codes import Status
from infra.programme import loading
from tests.cards import programmes
from tests.cards.cases import of_new_account, of_new_card
from tests.cards.contest import MANY, at_once, processes
from tests.cards.issuer import EUR, GBP, HOLDER_BLOCK, HOLDER_DETAILS, PIN, USD, Envelope, Issuer, NewCard
from tests.cards.stored_cards import StoredCards
from tests.causeway import Causeway

pytestmark = [pytest.mark.dynamodb, pytest.mark.faults]

ACCOUNTS = 100


@pytest.fixture
def issuers(new_issuer: Issuer) -> list[Issuer]:
    return processes(new_issuer)


def all_do(issuers: Sequence[Issuer], action: str, bodies: Sequence[dict[str, Any]]) -> list[Envelope]:

    def call(issuer: Issuer, members: dict[str, Any]) -> Callable[[], Envelope]:
        send = issuer.sim if action.startswith("simulate") else issuer.do
        return lambda: send(action, **members)

    return at_once([call(issuer, members) for issuer, members in zip(itertools.cycle(issuers), bodies, strict=False)])


def codes(answers: Sequence[Envelope]) -> Counter[int | None]:
    return Counter(answer.status_code for answer in answers)


def details(issuer: Issuer, card: NewCard) -> Any:
    return issuer.data("getCardDetails", card_id=card.card_id)


# -- references


@pytest.mark.parametrize("holder", ["new", "existing"])
def test_50_identical_card_requests_create_one_card_and_return_the_same_response(
    issuers: list[Issuer], holder: str
) -> None:
    issuer = issuers[0]
    of_holder = HOLDER_BLOCK if holder == "new" else {"holder_id": issuer.holder()}
    members = of_new_card(request_reference_id=issuer.reference(), **of_holder)

    answers = all_do(issuers, "createCard", [members] * MANY)

    assert codes(answers) == {None: MANY}
    assert sorted(answer.duplicated for answer in answers) == [0] + [1] * (MANY - 1)
    (made,) = {str(answer.data): answer.data for answer in answers}.values()
    assert [each["id"] for each in issuer.data("getHolderAccounts", holder_id=made["holder_id"])] == [
        made["account_id"]
    ]
    books = StoredCards(issuer.causeway, {made["holder_id"]})
    books.check()
    assert [*books.by_id("card")] == [made["card_id"]]


def test_only_one_of_two_requests_with_different_bodies_and_one_reference_is_executed(issuers: list[Issuer]) -> None:
    issuer = issuers[0]
    same = of_new_card(request_reference_id=issuer.reference(), holder_id=issuer.holder())
    bodies = [same | {"card_name_line_3": name} for name in ("ZOE ONEIL", "Z ONEIL")] * (MANY // 2)

    answers = all_do(issuers, "createCard", bodies)

    assert codes(answers) == {None: MANY // 2, Status.REFERENCE_REUSED: MANY // 2}
    first = next(body for body, answer in zip(bodies, answers, strict=True) if answer.duplicated == 0 and answer.data)
    won = [body == first for body in bodies]
    assert [answer.status_code is None for answer in answers] == won
    assert len({answer.data["card_id"] for answer in answers if answer.data}) == 1
    StoredCards(issuer.causeway, {same["holder_id"]}).check()


@pytest.mark.parametrize("action", ["createHolder", "getCvc2", "getCardStatus", "changeCardStatus"])
def test_parallel_identical_requests_are_executed_once(issuers: list[Issuer], action: str) -> None:
    issuer = issuers[0]
    card = issuer.card_in("A")
    members: dict[str, Any] = {"card_id": card.card_id} | ({"status": "T"} if action == "changeCardStatus" else {})
    if action == "createHolder":
        members = {**HOLDER_DETAILS}
    members |= {"request_reference_id": issuer.reference()}

    answers = all_do(issuers, action, [members] * 20)

    assert codes(answers) == {None: 20}
    assert sorted(answer.duplicated for answer in answers) == [0] + [1] * 19
    assert len({answer.raw.replace('"duplicated":0', '"duplicated":1') for answer in answers}) == 1


# -- card numbers


def test_50_cards_with_the_same_randomly_generated_number_receive_50_different_numbers(
    issuers: list[Issuer], monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer = issuers[0]
    numbers = sorted({new_pan("222300", 16) for _ in range(MANY + 10)})
    drawn = threading.local()

    def draw(bin: str, length: int) -> str:
        first, drawn.again = not getattr(drawn, "again", False), True
        return numbers[0] if first else random.choice(numbers)

    monkeypatch.setattr("chalicelib.cards.issuing.card_creation_flow.new_pan", draw)
    answers = all_do(issuers, "createCard", [of_new_card(**HOLDER_BLOCK)] * MANY)

    assert codes(answers) == {None: MANY}
    made = {answer.data["pan"]: answer.data["card_id"] for answer in answers}
    assert len(made) == MANY
    assert made.keys() <= set(numbers)
    for pan, card_id in made.items():
        assert issuer.data("getCardNumber", card_id=card_id) == {"pan": pan}
    StoredCards(issuer.causeway, {answer.data["holder_id"] for answer in answers}).check()


# -- accounts of a holder


def test_a_holder_never_has_more_than_100_accounts(issuers: list[Issuer]) -> None:
    issuer = issuers[0]
    holder = issuer.holder()
    for _ in range(ACCOUNTS // 4):
        issuer.card(holder_id=holder, card_currency_ison=[EUR, GBP, USD])
    left = ACCOUNTS - ACCOUNTS // 4 * 3

    answers = all_do(issuers, "createAccount", [of_new_account(holder_id=holder)] * MANY)

    assert codes(answers) == {None: left, Status.FIELD_LENGTH: MANY - left}
    assert len(issuer.data("getHolderAccounts", holder_id=holder)) == ACCOUNTS
    StoredCards(issuer.causeway, {holder}).check()


def test_a_card_is_linked_to_all_accounts_that_20_parallel_requests_create(issuers: list[Issuer]) -> None:
    issuer = issuers[0]
    card = issuer.card()
    members = of_new_account(holder_id=card.holder_id, cards=[card.card_id])

    answers = all_do(issuers, "createAccount", [members] * 20)

    assert codes(answers) == {None: 20}
    accounts = [each["id"] for each in issuer.data("getAccounts", card_id=card.card_id)]
    assert sorted(accounts) == sorted([card.account_id, *(answer.data["id"] for answer in answers)])
    StoredCards(issuer.causeway, {card.holder_id}).check()


# -- what is guessed


def test_50_parallel_wrong_pins_block_the_pin_after_3_tries(issuers: list[Issuer]) -> None:
    issuer = issuers[0]
    card = issuer.card_in("A", card_virtual=0, card_pin=PIN)
    (wrong,) = issuer.wrong_pins(card.card_id, 1)
    guess = {"card_id": card.card_id, "transaction_type": 39, "amount": 0, "currency_ison": EUR, "pin": wrong}

    answers = all_do(issuers, "simulateAuthorization", [guess] * MANY)

    assert Counter(answer.data["response_code"] for answer in answers) == {"55": 2, "75": MANY - 2}
    shown = details(issuer, card)
    assert (shown["invalid_pin_tries"], shown["pin_status"]) == (3, 1)


def test_50_parallel_guesses_including_the_correct_pin_block_the_pin(issuers: list[Issuer]) -> None:
    """Three consecutive wrong PINs block the PIN. A correct PIN before the third wrong PIN resets the count."""
    issuer = issuers[0]
    card = issuer.card_in("A", card_virtual=0, card_pin=PIN)
    least = {"card_id": card.card_id, "transaction_type": 39, "amount": 0, "currency_ison": EUR}
    guesses = [least | {"pin": f"{number:04}"} for number in (*range(MANY - 1), int(PIN))]

    answers = all_do(issuers, "simulateAuthorization", guesses)

    found = Counter(answer.data["response_code"] for answer in answers)
    assert found.keys() <= {"00", "55", "75"}
    assert 2 <= found["55"] <= (4 if found["00"] else 2)
    assert details(issuer, card)["pin_status"] == 1


def test_parallel_wrong_cvc2s_block_the_correct_cvc2_until_the_next_day(issuers: list[Issuer]) -> None:
    issuer = issuers[0]
    card = issuer.card_in("A")
    wrong = "000" if card.cvc2 != "000" else "111"
    guess = {"card_id": card.card_id, "transaction_type": 39, "amount": 0, "currency_ison": EUR}

    all_do(issuers, "simulateAuthorization", [guess | {"cvc2": wrong}] * 20)

    assert issuer.authorization(**guess, cvc2=card.cvc2)["response_code"] == "N7"
    issuer.clock.advance(24 * 3600)
    assert issuer.authorization(**guess, cvc2=card.cvc2)["response_code"] == "00"


def test_parallel_activations_check_wrong_card_data_5_times_a_day(issuers: list[Issuer]) -> None:
    issuer = issuers[0]
    card = issuer.card()
    guess = {"card_id": card.card_id, "card_cvc2": "000" if card.cvc2 != "000" else "111"}

    answers = all_do(issuers, "activateCard", [guess] * 20)

    assert codes(answers) == {Status.CARD_DATA_DIFFERS: 5, Status.TOO_MANY_ATTEMPTS: 15}


# -- states


def test_one_of_50_parallel_activations_succeeds(issuers: list[Issuer]) -> None:
    card = issuers[0].card()

    answers = all_do(issuers, "activateCard", [{"card_id": card.card_id}] * MANY)

    assert codes(answers) == {None: 1, Status.ALREADY_ACTIVE: MANY - 1}


def test_a_blocked_card_remains_blocked_despite_parallel_status_changes(issuers: list[Issuer]) -> None:
    issuer = issuers[0]
    card = issuer.card_in("A")
    bodies = [{"card_id": card.card_id, "status": status} for status in "TARTARTARTARBTARTARTARTART"]

    answers = all_do(issuers, "changeCardStatus", bodies)

    assert set(codes(answers)) <= {None, Status.FINAL}
    assert issuer.data("getCardStatus", card_id=card.card_id)["card_status"] == "B"
    (blocked,) = [answer for answer, body in zip(answers, bodies, strict=True) if body["status"] == "B"]
    assert blocked.status == "success"


def test_parallel_pin_changes_store_one_complete_pin(issuers: list[Issuer]) -> None:
    issuer = issuers[0]
    card = issuer.card_in("A", card_virtual=0)
    pins = [f"{number:04}" for number in range(2580, 2600)]

    answers = all_do(issuers, "setPin", [{"card_id": card.card_id, "pin": pin} for pin in pins])

    assert codes(answers) == {None: len(pins)}
    pin = issuer.data("getPin", card_id=card.card_id)["pin"]
    assert pin in pins
    assert issuer.authorization(card_id=card.card_id, pin=pin)["response_code"] == "00"


def test_an_authentication_accepts_one_of_20_parallel_confirmations(issuers: list[Issuer]) -> None:
    issuer = issuers[0]
    asked = issuer.authentication(issuer.card_in("A").card_id)["auth_request_id"]
    answer = {"auth_request_id": asked, "oob_auth_method": 1}
    bodies = [answer | {"confirmation_status": status} for status in "YN" * 10]

    assert codes(all_do(issuers, "authenticationConfirm", bodies)) == {None: 1, Status.WRONG_STATE: 19}


def test_a_rule_code_is_assigned_once_despite_parallel_requests(issuers: list[Issuer]) -> None:
    issuer = issuers[0]
    rule = {"rule_name": "Groceries", "mcc": "5411", "rule_code": issuer.reference()}
    cards = [issuer.card().card_id for _ in range(4)]

    answers = all_do(issuers, "createCardAcsMerchantWhitelistRule", [rule | {"card_id": card} for card in cards * 5])

    assert codes(answers) == {None: 1, Status.FIELD_VALUE: 19}


# -- the set-up


@pytest.mark.parametrize("which", ["the removal first", "the cards first"])
def test_only_one_of_two_parallel_requests_that_use_and_remove_a_design_succeeds(
    issuers: list[Issuer], causeway: Causeway, which: str
) -> None:
    before = programmes.manager(card_programmes=[programmes.card_programme(design_ids=[1, 2])])
    before["credentials"] = [programmes.credential("app", modes=programmes.PLAIN, allow_plain=True)]
    after = before | {"card_programmes": [programmes.card_programme()], "designs": before["designs"][:1]}
    callers = _callers(issuers, programmes.loaded(causeway.hub, before)[0])
    (plan,) = programmes.planned(causeway.hub, after)
    members = of_new_card(card_program_id=1, card_design_id=2, holder_limit_group_id=3, **HOLDER_BLOCK)

    def remove() -> bool:
        with suppress(loading.EntryInUse):
            loading.carry_out(causeway.hub, plan)
            return True
        return False

    makes = [partial(caller.do, "createCard", **members) for caller in callers * 2]
    calls: list[Callable[[], Any]] = [remove, *makes] if which == "the removal first" else [*makes, remove]
    answers = at_once(calls)
    (removed,) = [answer for answer in answers if isinstance(answer, bool)]
    found = codes([answer for answer in answers if not isinstance(answer, bool)])
    assert found == {Status.NO_CARD_DESIGN if removed else None: len(makes)}


def _callers(issuers: Sequence[Issuer], plan: loading.LoadPlan) -> list[Issuer]:
    made = []
    for issuer in issuers:
        issuer.secrets["app"] = asdict(plan.secrets["app"])
        made.append(issuer.as_caller("app"))
        made[-1].data("getDesign", program_id=1)
    return made
