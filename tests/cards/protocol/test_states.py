"""Tests of the states of cards, accounts and PINs: every action from every state, compared with the documentation."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from chalicelib.cards.actions import ACTIONS
from chalicelib.cards.protocol.states import ACCOUNT_RULES, CARD_MOVES, CARD_RULES
from tests.cards import request_records, whole_requests
from tests.cards.action_checks import OK, state_table
from tests.cards.issuer import DELIVERY, EUR, PIN, Issuer
from tests.cards.whole_requests import EVERY_ACTION, Members

# -- the tables, typed in by hand from the documentation: what an action answers from each state

CARD = state_table(
    """
                                          N    A    T    R    L    S    E    B
    activateCard                         ok 4006 4008 4008 4008 4008 4008 4002
    setPin                               ok   ok   ok   ok 4008 4008 4008 4002
    unblockPin                         4007   ok   ok   ok 4008 4008 4008 4002
    authenticationConfirm              4008   ok 4008 4008 4008 4008 4008 4002
    reissueCard                          ok   ok   ok   ok   ok   ok   ok 4002
    assignCardToFeesGroup                ok   ok   ok   ok   ok   ok   ok 4002
    assignCardToLimitsGroup              ok   ok   ok   ok   ok   ok   ok 4002
    assignCardToUsageGroup               ok   ok   ok   ok   ok   ok   ok 4002
    assignCardToRiskRuleGroup            ok   ok   ok   ok   ok   ok   ok 4002
    changeCardSchemeAccountUpdatesStatus ok   ok   ok   ok   ok   ok   ok 4002
    changeCardAcsPassword                ok   ok   ok   ok   ok   ok   ok 4002
    createCardAcsMerchantWhitelistRule   ok   ok   ok   ok   ok   ok   ok 4002
    createAccount                        ok   ok   ok   ok   ok   ok   ok 4002
    """
)

READS = (
    *("getAccounts", "getCvc2", "getCardDetails", "getCardNumber", "getPin", "getCardStatus", "getCardAcsPassword"),
    *("getHolder", "getCardFees", "getCardsActivity", "getFinancialAuthorizes", "getTransactions"),
)

MENTIONING = ("assignExternalPaymentAddress", "assignExternalPaymentAddressForSpecialAccount", "createCustomFee")
"""Actions that refer to a card without changing the card. These actions are rejected only for state B."""
NAMED = {action: {state: 4002 if state == "B" else OK for state in "NATRLSEB"} for action in MENTIONING}

MOVES = state_table(
    """
         A    T    R    L    S    B
    N 4001 4001 4001 4001 4001 4001
    A   ok   ok   ok   ok   ok   ok
    T   ok   ok   ok   ok   ok   ok
    R   ok   ok   ok   ok   ok   ok
    L 4008 4008 4008   ok 4008   ok
    S 4008 4008 4008 4008   ok   ok
    E 4008 4008 4008 4008 4008   ok
    B 4002 4002 4002 4002 4002 4002
    """
)

ACCOUNT = state_table(
    """
                                    A    S    R    C
    changeAccountProgramId         ok   ok   ok 4003
    assignAccountToRiskRuleGroup   ok   ok   ok 4003
    assignAccountToLimitRuleGroup  ok   ok   ok 4003
    assignAccountToFeeRuleGroup    ok   ok   ok 4003
    createCard                     ok 4003   ok 4003
    getAccounts                    ok   ok   ok   ok
    getTransactions                ok   ok   ok   ok
    """
)

MONEY_ACCOUNT = state_table(
    """
                                          A    S    R    C
    assignExternalPaymentAddress         ok 4003   ok 4003
    createCustomFee                      ok 4003 4003 4003
    transferToExternalPayment            ok 4003 4003 4003
    inboundReturn                        ok 4003 4003 4003
    directCreditReturn                   ok 4003 4003 4003
    directDebitReturn                    ok   ok   ok   ok
    getAccountExternalPaymentAddresses   ok   ok   ok   ok
    """
)
"""The expected status code of actions that move money, by account state. Debits and fees require state A. A direct
debit can be returned in every state.
"""

ACCOUNT_MOVES = state_table(
    """
         A    S    R    C
    A   ok   ok   ok   ok
    S   ok   ok   ok   ok
    R   ok   ok   ok   ok
    C 4002 4002 4002 4002
    """
)
"""The expected status code of changeAccountStatus by current state and requested state, for accounts without money."""

FUNDS = 10_000
CARD_CASES = [(action, state) for action, row in CARD.items() for state in row]
MOVE_CASES = [(state, asked) for state, row in MOVES.items() for asked in row]


@dataclass(frozen=True)
class Placed:
    """A card in a given lifecycle state, and a card issuer whose clock matches the state. For example, the clock is set
    to a time after the card's expiry.
    """

    issuer: Issuer
    records: whole_requests.Records


@pytest.fixture(scope="module")
def ahead(issuer: Issuer) -> Issuer:
    """Return an issuer 62 days later, when a card valid for one month has expired."""
    return issuer.with_own_clock(days=62)


@pytest.fixture(scope="module")
def standing(issuer: Issuer, ahead: Issuer) -> Mapping[str, Placed]:
    """Return a card in each state, for actions that are rejected and change nothing."""
    return {state: placed(issuer, ahead, state) for state in MOVES}


def placed(issuer: Issuer, ahead: Issuer, state: str, action: str = "") -> Placed:
    """Create a card in a state, with a blocked PIN for unblockPin and a pending authenticationConfirm request."""
    validity = {"card_validity_period": 1} if state == "E" else {}
    card = issuer.card(card_virtual=0, card_pin=PIN, **validity)
    records = whole_requests.Records(card.holder_id, card.account_id, card.card_id, card.card_request_id)
    if state != "N" or action == "authenticationConfirm":
        issuer.data("activateCard", card_id=card.card_id)
    if action == "unblockPin" and state != "N":
        issuer.block_pin(card.card_id)
    if action == "authenticationConfirm":
        asked = issuer.authentication(card.card_id)
        values = (asked["auth_request_id"], card.pan, card.cvc2, 2029, 3, asked["validation_value"])
        records = whole_requests.Records(card.holder_id, card.account_id, card.card_id, card.card_request_id, *values)
        if state == "N":
            issuer.data("reissueCard", card_id=card.card_id, card_name_line_3="ZOE ONEIL", **DELIVERY)
    if state in "TRLSB":
        issuer.data("changeCardStatus", card_id=card.card_id, status=state)
    return Placed(ahead if state == "E" else issuer, records)


def request(action: str, records: whole_requests.Records) -> Members:
    if action == "activateCard":
        return {"card_id": records.card_id}
    return whole_requests.whole(action, records)[-1]


def page(action: str) -> Members:
    if EVERY_ACTION[action].is_continued:
        return {"date_from": 0, "date_to": 1, "item_count": 1}
    return {"paginator": {"item_count": 1, "offset": 0}} if EVERY_ACTION[action].is_paged else {}


def status_of(place: Placed) -> str:
    return str(place.issuer.data("getCardStatus", card_id=place.records.card_id)["card_status"])


# -- the tables


def test_the_implemented_state_rules_match_the_specified_state_tables() -> None:
    for action, row in CARD_RULES.items():
        change = {"changeCardStatus": dict.fromkeys("NATRLSEB", OK) | {"N": 4001, "B": 4002}}
        expected = (CARD | NAMED | change)[action]
        if action == "unblockPin":
            expected = expected | {"N": OK}  # its PIN is not blocked there
        assert {state: int(code or OK) for state, code in row.items()} == expected
    for state, allowed in CARD_MOVES.items():
        assert allowed == {asked for asked, code in MOVES[state].items() if code == OK}
    of_accounts = ACCOUNT | MONEY_ACCOUNT | {"changeAccountStatus": {"A": OK, "S": OK, "R": OK, "C": 4002}}
    for action, row in ACCOUNT_RULES.items():
        expected = of_accounts[action]
        assert {state: int(code or OK) for state, code in row.items()} == expected


def test_the_state_tables_cover_every_action_on_cards_and_accounts() -> None:
    of_cards = {name for name, each in ACTIONS.items() if {"card_id", "cards"} & each.request.model_fields.keys()}
    of_accounts = {name for name, each in ACTIONS.items() if "account_id" in each.request.model_fields}

    assert of_cards | {"authenticationConfirm"} == {*CARD, *READS, *MENTIONING, "changeCardStatus"}
    returns = {"transferToExternalPayment", "inboundReturn", "directCreditReturn", "directDebitReturn"}
    assert of_accounts | returns == {*ACCOUNT, *MONEY_ACCOUNT, "changeAccountStatus"}


# -- cards


@pytest.mark.parametrize(("action", "state"), CARD_CASES)
def test_an_action_on_a_card_returns_the_specified_code_in_each_card_state(
    issuer: Issuer, ahead: Issuer, standing: Mapping[str, Placed], action: str, state: str
) -> None:
    passes = CARD[action][state] == OK or action == "authenticationConfirm"
    place = placed(issuer, ahead, state, action) if passes else standing[state]
    before = place.issuer.data("getCardDetails", card_id=place.records.card_id)

    answer = place.issuer.do(action, **request(action, place.records))

    assert (answer.status_code or OK) == CARD[action][state], answer.raw
    after = place.issuer.data("getCardDetails", card_id=place.records.card_id)
    if answer.status_code is not None:
        assert after == before
    else:
        assert after["status"] == {"activateCard": "A", "reissueCard": "N"}.get(action, state)


@pytest.mark.parametrize("state", MOVES)
def test_read_actions_return_a_card_in_every_card_state(standing: Mapping[str, Placed], state: str) -> None:
    place = standing[state]

    for action in READS:
        assert place.issuer.do(action, card_id=place.records.card_id, **page(action)).status == "success"
    assert status_of(place) == state


@pytest.mark.parametrize("state", MOVES)
def test_an_action_that_refers_to_a_card_returns_the_specified_code_in_each_card_state(
    standing: Mapping[str, Placed], state: str
) -> None:
    place = standing[state]
    place.issuer.inbound(place.issuer.address(place.records.account_id), 1000)

    for action in MENTIONING:
        members = whole_requests.whole(action, place.records)[0]
        members = {name: value for name, value in members.items() if name != "transaction_id"}
        assert (place.issuer.do(action, **members).status_code or OK) == NAMED[action][state]
    assert status_of(place) == state


@pytest.mark.parametrize(("state", "asked"), MOVE_CASES)
def test_a_status_change_of_a_card_follows_the_state_table(
    issuer: Issuer, ahead: Issuer, standing: Mapping[str, Placed], state: str, asked: str
) -> None:
    place = placed(issuer, ahead, state) if MOVES[state][asked] == OK else standing[state]
    why = {"reason_code": 9, "note": f"to {asked}"}

    answer = place.issuer.do("changeCardStatus", card_id=place.records.card_id, status=asked, **why)

    assert (answer.status_code or OK) == MOVES[state][asked], answer.raw
    found = place.issuer.data("getCardStatus", card_id=place.records.card_id)
    moved = {"card_status": asked, **why}
    assert found == (moved if answer.status_code is None else {"card_status": state})


def test_a_status_change_without_a_reason_removes_the_previous_reason(issuer: Issuer) -> None:
    card = issuer.card_in("A").card_id
    issuer.data("changeCardStatus", card_id=card, status="T", reason_code=9, note="why")
    issuer.data("changeCardStatus", card_id=card, status="T")

    assert issuer.data("getCardStatus", card_id=card) == {"card_status": "T"}


def test_a_status_change_to_expired_or_not_activated_returns_code_2005(issuer: Issuer) -> None:
    card = issuer.card_in("A").card_id

    for status in ("E", "N", "a", "X"):
        assert issuer.do("changeCardStatus", card_id=card, status=status).status_code == 2005


def test_a_card_expires_at_the_end_of_its_expiry_month(issuer: Issuer) -> None:
    """A one-month card from 2 March expires at the end of April. Lost, stolen and blocked cards keep their status."""
    cards = {state: issuer.card_in(state, card_validity_period=1).card_id for state in "NATRLSB"}

    for days, expired in ((59.62, False), (59.63, True)):  # 9 o'clock in the morning is 0.375 of a day
        later = issuer.with_own_clock(days=days)
        found = {state: later.data("getCardStatus", card_id=card)["card_status"] for state, card in cards.items()}
        assert found == {state: "E" if expired and state in "NATR" else state for state in cards}


# -- accounts


@pytest.mark.parametrize("action", ACCOUNT)
def test_an_action_on_an_account_returns_the_specified_code_in_each_account_state(issuer: Issuer, action: str) -> None:
    for state, expected in ACCOUNT[action].items():
        account = issuer.account_in(state)
        [before] = issuer.data("getAccounts", account_id=account)
        records = whole_requests.Records(before["holder_id"], account)
        reads = EVERY_ACTION[action].effect == "read"
        members = {"account_id": account, **page(action)} if reads else whole_requests.whole(action, records)[-1]

        answer = issuer.do(action, **members)

        assert (answer.status_code or OK) == expected, (state, answer.raw)
        [after] = issuer.data("getAccounts", account_id=account)
        assert after["account_status"] == state
        assert (after == before) is (reads or action == "createCard" or expected != OK)


@pytest.mark.parametrize("state", ACCOUNT_MOVES)
def test_a_status_change_of_an_account_follows_the_state_table(issuer: Issuer, state: str) -> None:
    for asked, expected in ACCOUNT_MOVES[state].items():
        account = issuer.account_in(state)
        why = {"reason_code": 2, "note": f"to {asked}"}

        answer = issuer.do("changeAccountStatus", account_id=account, account_status=asked, **why)

        assert (answer.status_code or OK) == expected
        [found] = issuer.data("getAccounts", account_id=account)
        assert found["account_status"] == (asked if expected == OK else state)
        assert found.get("status_change_note") == (f"to {asked}" if expected == OK else None)


@pytest.mark.parametrize("balances", [{"settled": 1}, {"held": 1}, {"reserved": 1}, {"settled": 5, "held": 5}])
def test_closing_an_account_with_money_returns_code_4008(issuer: Issuer, balances: dict[str, int]) -> None:
    account = issuer.account()
    issuer.hub.store.update("cards", {"owner": f"account#{account}", "part": "account"}, set=balances)

    assert issuer.do("changeAccountStatus", account_id=account, account_status="C").status_code == 4008
    assert issuer.do("changeAccountStatus", account_id=account, account_status="S").status == "success"


def test_a_new_account_can_be_active_suspended_or_restricted_but_not_closed(issuer: Issuer) -> None:
    for status in "ASR":
        [found] = issuer.data("getAccounts", account_id=issuer.account(account_status=status))
        assert found["account_status"] == status
    opened = {"currency_ison": EUR, "program_id": 501, "skip_holder_validation": 0, "holder_id": issuer.holder()}
    assert issuer.do("createAccount", **opened, account_status="C").status_code == 2005


# -- money of an account


@pytest.mark.parametrize("action", MONEY_ACCOUNT)
def test_an_action_that_moves_money_returns_the_specified_code_in_each_account_state(
    issuer: Issuer, action: str
) -> None:
    for state, expected in MONEY_ACCOUNT[action].items():
        records = request_records.create_records(issuer, action)
        put_into(issuer, records.account_id, state)
        before = issuer.balances(records.account_id)

        answer = issuer.do(action, **whole_requests.whole(action, records)[0])

        assert (answer.status_code or OK) == expected, (state, answer.raw)
        assert expected == OK or issuer.balances(records.account_id) == before


def put_into(issuer: Issuer, account: int, state: str) -> None:
    """Set the stored state of an account. The state can be closed even if the balance is above zero."""
    issuer.hub.store.update("cards", {"owner": f"account#{account}", "part": "account"}, set={"status": state})


@pytest.mark.parametrize(("state", "arrives"), [("A", True), ("R", True), ("S", False), ("C", False)])
def test_an_inbound_payment_is_credited_only_to_active_and_restricted_accounts(
    issuer: Issuer, state: str, arrives: bool
) -> None:
    address = issuer.funded_address(FUNDS)
    put_into(issuer, address["account_id"], state)

    came = issuer.inbound(address, 50)

    assert (came["state"], "transaction_id" in came) == (("S", True) if arrives else ("J", False))
    assert issuer.balances(address["account_id"])[0] == FUNDS + 50 * arrives


@pytest.mark.parametrize(("state", "pays"), [("A", True), ("R", False), ("S", False), ("C", False)])
def test_a_direct_debit_is_collected_only_from_an_active_account(issuer: Issuer, state: str, pays: bool) -> None:
    address = issuer.funded_address(FUNDS)
    mandate = issuer.mandate(address)
    put_into(issuer, address["account_id"], state)

    collected = issuer.debit(mandate, 50, passed=True)

    assert collected["state"] == ("S" if pays else "J")
    assert issuer.balances(address["account_id"])[0] == FUNDS - 50 * pays


# -- PINs


def test_three_wrong_pins_block_the_pin_and_a_new_pin_resets_the_tries(issuer: Issuer) -> None:
    card = issuer.card_in("A", card_virtual=0, card_pin=PIN)

    def tried(pin: str) -> tuple[str, int, int]:
        code = issuer.authorization(card_id=card.card_id, pin=pin)["response_code"]
        details = issuer.data("getCardDetails", card_id=card.card_id)
        return code, details["invalid_pin_tries"], details["pin_status"]

    assert [tried("0000"), tried("1111"), tried(PIN)] == [("55", 1, 0), ("55", 2, 0), ("00", 0, 0)]
    assert [tried("0000"), tried("0000"), tried("0000")] == [("55", 1, 0), ("55", 2, 0), ("75", 3, 1)]
    assert tried(PIN) == ("75", 3, 1)
    assert issuer.do("setPin", card_id=card.card_id, pin="4826").status_code == 6003
    assert issuer.data("getCardDetails", card_id=card.card_id)["invalid_pin_tries_max_limit"] == 3
    issuer.data("unblockPin", card_id=card.card_id)
    assert issuer.do("unblockPin", card_id=card.card_id).status_code == 4007
    assert [tried("0000"), tried(PIN)] == [("55", 1, 0), ("00", 0, 0)]
    tried("0000")
    issuer.data("setPin", card_id=card.card_id, pin="4826")
    assert [tried("4826"), tried(PIN)] == [("00", 0, 0), ("55", 1, 0)]


@pytest.mark.parametrize("pin", ["0000", "7777", "0123", "6789", "9876", "3210"])
def test_every_action_that_sets_a_pin_rejects_a_simple_pin(issuer: Issuer, pin: str) -> None:
    card = issuer.card_in("A", card_virtual=0)
    records = whole_requests.Records(card.holder_id, card.account_id, card.card_id)

    assert issuer.do("setPin", card_id=card.card_id, pin=pin).status_code == 6002
    for action in ("createCard", "reissueCard"):
        assert issuer.do(action, **whole_requests.whole(action, records)[0] | {"card_pin": pin}).status_code == 6002
    for good in ("8901", "7989", "1122", "0012"):
        assert issuer.do("setPin", card_id=card.card_id, pin=good).status == "success"
        assert issuer.data("getPin", card_id=card.card_id) == {"pin": good}
