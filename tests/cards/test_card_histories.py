"""Random histories of card, PIN and account states from hypothesis, compared with models of the rules."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.cards.cases import of_new_card
from tests.cards.issuer import DELIVERY, EUR, EVERYDAY, GBP, PIN, Envelope, Issuer
from tests.cards.stored_cards import StoredCards
from tests.kit.inputs import run_state_machines

OK = None
FINAL, NOT_ACTIVATED, ALREADY_ACTIVE, NOT_BLOCKED, WRONG_STATE, ACCOUNT_STATUS = 4002, 4001, 4006, 4007, 4008, 4003
DIFFERS, TOO_SIMPLE, PIN_BLOCKED, WRONG_VALUE, TOO_MANY, BAD_VALUE = 6001, 6002, 6003, 6004, 8004, 2005
DECLINES = {"N": "78", "T": "62", "R": "59", "L": "41", "S": "43", "E": "54", "B": "46"}
DAY = 24 * 3600

PINS = st.sampled_from([PIN, "2580", "8901", "1111", "1234", "4321", "0000"])
SIMPLE = ("1111", "1234", "4321", "0000")
TIMES = st.sampled_from([1, 2, 6])
flags = st.booleans()


class CardHistory(RuleBasedStateMachine):
    """A history of a physical card from an initial state. The card may become virtual and physical again."""

    def __init__(self, issuer: Issuer, state: str) -> None:
        super().__init__()
        self.issuer = issuer
        self.first_state = state

    # -- the model

    @initialize()
    def create_records(self) -> None:
        state = self.first_state
        months = 1 if state == "E" else 36
        members = of_new_card(card_virtual=0, card_pin=PIN, card_validity_period=months, **DELIVERY)
        card = self.issuer.data("createCard", **members, holder_id=self.issuer.holder())
        self.card_id: int = card["card_id"]
        self.pin = PIN
        self.virtual = False
        self.old: dict[str, str] = {}
        self._new_body(card)
        if state != "N":
            self.activate("none")
        if state in "TRLSB":
            self.change_status(state)
        if state == "E":
            self.issuer.clock.advance(62 * DAY)

    def _new_body(self, card: dict[str, Any]) -> None:
        """Set the initial state of a card after createCard and reissueCard."""
        self.stored = "N"
        self.pan, self.cvc2 = card["pan"], card["cvc2"]
        self.expiry = card["expiration"]["year"], card["expiration"]["month"]
        self.misses = 0
        self.pin_blocked = False
        self.mismatches: dict[str, tuple[int, int]] = {}

    @property
    def status(self) -> str:
        now = datetime.fromtimestamp(self.issuer.clock.time(), UTC)
        return "E" if self.stored in "NATR" and self.expiry < (now.year, now.month) else self.stored

    def _only_in(self, states: str, otherwise: int | None = OK) -> int | None:
        """Return the expected code of a write that is permitted only in some states."""
        return FINAL if self.status == "B" else otherwise if self.status in states else WRONG_STATE

    def _wrong_today(self, kind: str) -> int:
        day, count = self.mismatches.get(kind, (0, 0))
        return count if day == self.issuer.clock.time() // DAY else 0

    def _one_more_wrong(self, kind: str) -> None:
        self.mismatches[kind] = self.issuer.clock.time() // DAY, self._wrong_today(kind) + 1

    def _do(self, action: str, expected: int | None, **members: Any) -> Envelope:
        answer = self.issuer.do(action, **{"card_id": self.card_id} | members)
        assert answer.status_code == expected, f"{self.status}: {action} {members}: {answer.raw}"
        return answer

    # -- what happens

    @rule(hours=st.sampled_from([1, 24, 31 * 24]))
    def time_passes(self, hours: int) -> None:
        self.issuer.clock.advance(hours * 3600)

    @rule(data=st.sampled_from(["none", "right", "wrong"]), times=TIMES)
    def activate_so_often(self, data: str, times: int) -> None:
        for _ in range(times):
            self.activate(data)

    def activate(self, data: str) -> None:
        expected = self._only_in("N")
        if self.status == "A":
            expected = ALREADY_ACTIVE
        if expected is OK and data != "none":
            expected = TOO_MANY if self._wrong_today("data") >= 5 else DIFFERS if data == "wrong" else OK
        given = {
            "none": {},
            "right": {"card_pan": self.pan, "card_cvc2": self.cvc2, "card_expiration_year": self.expiry[0]},
            "wrong": {"card_pan": self.pan, "card_expiration_month": self.expiry[1] % 12 + 1},
        }
        self._do("activateCard", expected, **given[data])
        if expected == DIFFERS:
            self._one_more_wrong("data")
        if expected is OK:
            self.stored = "A"

    @rule(to=st.sampled_from("AAAATRLSB"))
    def change_status(self, to: str) -> None:
        before = self.status
        expected = {"N": NOT_ACTIVATED, "B": FINAL}.get(before, OK)
        if before in "LSE" and to not in (before, "B"):
            expected = WRONG_STATE
        self._do("changeCardStatus", expected, status=to, note="note")
        if expected is OK:
            self.stored = to

    @rule(pin=PINS)
    def set_pin(self, pin: str) -> None:
        otherwise = PIN_BLOCKED if self.pin_blocked else TOO_SIMPLE if pin in SIMPLE else OK
        expected = self._only_in("NATR", otherwise)
        self._do("setPin", expected, pin=pin)
        if expected is OK:
            self.misses = 0
            self.pin = pin

    @rule()
    def unblock_pin(self) -> None:
        expected = self._only_in("NATR", OK if self.pin_blocked else NOT_BLOCKED)
        self._do("unblockPin", expected)
        if expected is OK:
            self.misses, self.pin_blocked = 0, False

    @rule(
        pin=st.sampled_from(["none", "right", "wrong", "wrong"]),
        cvc2=st.sampled_from(["none", "right", "wrong"]),
        by_number=flags,
        times=TIMES,
    )
    def authorize_so_often(self, pin: str, cvc2: str, by_number: bool, times: int) -> None:
        for _ in range(times):
            self.authorize(pin, cvc2, by_number)

    def authorize(self, pin: str, cvc2: str, by_number: bool) -> None:
        pin = "none" if self.virtual else pin
        members: dict[str, Any] = {"pan": self.pan} if by_number else {"card_id": self.card_id}
        members |= {} if pin == "none" else {"pin": self.pin if pin == "right" else "9999"}
        members |= {} if cvc2 == "none" else {"cvc2": self.cvc2 if cvc2 == "right" else _other(self.cvc2)}
        assert self.issuer.authorization(**members)["response_code"] == self._decided(pin, cvc2)

    def _decided(self, pin: str, cvc2: str) -> str:
        if self.status in DECLINES:
            return DECLINES[self.status]
        if pin != "none" and self.pin_blocked:
            return "75"
        if pin == "wrong":
            self.misses += 1
            self.pin_blocked = self.misses == 3
            return "75" if self.pin_blocked else "55"
        if pin == "right":
            self.misses = 0
        if cvc2 != "none" and self._wrong_today("cvc2") >= 5:
            return "N7"
        if cvc2 == "wrong":
            self._one_more_wrong("cvc2")
            return "N7"
        return "00"

    @precondition(lambda self: self.old)
    @rule(data=st.data())
    def authorize_by_an_old_number(self, data: Any) -> None:
        pan = data.draw(st.sampled_from(sorted(self.old)))
        expected = DECLINES[self.old[pan]] if self.old[pan] in "LS" else "14"
        assert self.issuer.authorization(pan=pan)["response_code"] == expected

    @rule(new_pan=flags, new_pin=flags, turns=st.sampled_from([False, False, True]))
    def reissue(self, new_pan: bool, new_pin: bool, turns: bool) -> None:
        virtual = self.virtual is not turns
        members = {} if virtual else {**DELIVERY}
        members |= {"virtual": int(virtual), "card_program_id": EVERYDAY} if turns else {}
        expected = FINAL if self.status == "B" else OK
        if expected is OK and ((self.stored in "LS" and not new_pan) or (turns and not virtual and not new_pin)):
            expected = BAD_VALUE
        flag = {"generate_new_pan": int(new_pan), "generate_new_pin": int(new_pin)}
        before = self.expiry
        answer = self._do("reissueCard", expected, card_name_line_3="ZOE ONEIL", **flag, **members)
        if expected is not OK:
            return
        assert (answer.data["pan"] != self.pan) is new_pan
        if new_pan:
            self.old[self.pan] = self.status
        self._new_body(answer.data)
        assert new_pan or self.expiry > before
        self.virtual = virtual
        if not virtual:
            assert new_pin or answer.data["pin"] == self.pin
            self.pin = answer.data["pin"]

    @rule(
        change=st.sampled_from(
            [
                ("assignCardToFeesGroup", {"fees_group_id": 302}),
                ("assignCardToLimitsGroup", {"limits_group_id": 202}),
                ("assignCardToUsageGroup", {"usages_group_id": 602}),
                ("assignCardToRiskRuleGroup", {"risk_rules_group_id": 402}),
                ("changeCardSchemeAccountUpdatesStatus", {"participating": 1}),
                ("changeCardAcsPassword", {"acs_password": "correct horse"}),
                ("createCardAcsMerchantWhitelistRule", {"rule_name": "Played", "mcc": "5812"}),
            ]
        )
    )
    def change_what_a_blocked_card_keeps(self, change: tuple[str, dict[str, Any]]) -> None:
        self._do(change[0], self._only_in("NATRLSE"), **change[1])

    @rule(
        meanwhile=st.sampled_from(["", "", "T", "B"]),
        waits=st.sampled_from([0, 299, 300]),
        answers=st.lists(st.tuples(st.sampled_from("YN"), st.sampled_from(["none", "right", "wrong"])), max_size=7),
    )
    def authenticate(self, meanwhile: str, waits: int, answers: list[tuple[str, str]]) -> None:
        asked = self.issuer.authentication(self.card_id, mcc="5411")
        assert asked["outcome"] == ("challenge" if self.status == "A" else "rejected")
        if self.status != "A":
            return
        if meanwhile:
            self.change_status(meanwhile)
        self.issuer.clock.advance(waits)
        waiting, misses = waits < 300, 0
        for answer, value in answers:
            otherwise = WRONG_STATE if not waiting else WRONG_VALUE if value == "wrong" else OK
            expected = self._only_in("A", otherwise)
            self._confirm(asked, answer, value, expected)
            misses += expected == WRONG_VALUE
            waiting = waiting and expected is not OK and misses < 5

    def _confirm(self, asked: Any, answer: str, value: str, expected: int | None) -> None:
        right = str(asked["validation_value"])
        members = {} if value == "none" else {"validation_value": right if value == "right" else _other(right)}
        members |= {"auth_request_id": asked["auth_request_id"], "confirmation_status": answer}
        said = self.issuer.do("authenticationConfirm", oob_auth_method=1, **members)
        assert said.status_code == expected, f"{self.status}: {members}: {said.raw}"

    # -- what is seen

    @invariant()
    def the_card_is_as_expected(self) -> None:
        shown = self._do("getCardDetails", OK).data
        seen = shown["status"], shown["invalid_pin_tries"], shown["pin_status"], shown["virtual"]
        assert seen == (self.status, self.misses, int(self.pin_blocked), int(self.virtual))
        assert (shown["expiry_year"], shown["expiry_month"]) == self.expiry

    @rule()
    def reveal(self) -> None:
        assert self._do("getCardStatus", OK).data["card_status"] == self.status
        assert self._do("getCardNumber", OK).data == {"pan": self.pan}
        assert self._do("getCvc2", OK).data == {"cvc2": self.cvc2}
        assert self._do("getPin", OK).data == {"pin": "" if self.virtual else self.pin}


class AccountHistory(RuleBasedStateMachine):
    """A history of an account without money from an initial state."""

    def __init__(self, issuer: Issuer, state: str) -> None:
        super().__init__()
        self.issuer = issuer
        self.first_state = state

    @initialize(currency=st.sampled_from([EUR, GBP]))
    def create_records(self, currency: int) -> None:
        self.holder_id, status = self.issuer.holder(), self.first_state
        members = {"holder_id": self.holder_id, "account_status": status, "currency_ison": currency}
        self.account_id = self.issuer.account(**members)
        self.status, self.currency, self.program = status, currency, 501
        self.why: tuple[int | None, str | None] = (None, None)
        self.cards: list[int] = []

    def _do(self, action: str, expected: int | None, **members: Any) -> Envelope:
        answer = self.issuer.do(action, **members)
        assert answer.status_code == expected, f"{self.status}: {action} {members}: {answer.raw}"
        return answer

    @rule(to=st.sampled_from("AASSRRC"), reason=st.sampled_from([None, 2]), note=st.sampled_from([None, "note"]))
    def change_status(self, to: str, reason: int | None, note: str | None) -> None:
        expected = FINAL if self.status == "C" else OK
        members = {"reason_code": reason, "note": note}
        given = {name: value for name, value in members.items() if value is not None}
        self._do("changeAccountStatus", expected, account_id=self.account_id, account_status=to, **given)
        if expected is OK:
            self.status, self.why = to, (reason, note)

    @rule(program=st.sampled_from([501, 502]))
    def change_programme(self, program: int) -> None:
        expected = ACCOUNT_STATUS if self.status == "C" else 5003 if (self.currency, program) == (GBP, 502) else OK
        self._do("changeAccountProgramId", expected, account_id=self.account_id, account_program_id=program)
        if expected is OK:
            self.program = program

    @rule(group=st.sampled_from([401, 402]))
    def assign_group(self, group: int) -> None:
        expected = ACCOUNT_STATUS if self.status == "C" else OK
        members = {"account_id": self.account_id, "risk_rule_group_id": group}
        self._do("assignAccountToRiskRuleGroup", expected, **members)

    @rule()
    def put_a_card_on_it(self) -> None:
        expected = OK if self.status in "AR" else ACCOUNT_STATUS
        members = {"holder_id": self.holder_id, "account_id": [self.account_id], "account_owner_id": [self.holder_id]}
        made = self._do("createCard", expected, **of_new_card(**members))
        if expected is OK:
            assert made.data["account_id"] == self.account_id
            self.cards.append(made.data["card_id"])

    @invariant()
    def the_account_is_as_expected(self) -> None:
        (shown,) = self._do("getAccounts", OK, account_id=self.account_id).data
        seen = shown["account_status"], shown["program_id"], shown["currency_ison"], shown["holder_id"]
        assert seen == (self.status, self.program, self.currency, self.holder_id)
        assert (shown.get("status_change_reason_code"), shown.get("status_change_note")) == self.why
        assert [shown[name] for name in ("available_balance", "settled_balance", "reserved_balance")] == [0, 0, 0]

    @rule()
    def look_at_it_from_its_cards(self) -> None:
        for card in self.cards:
            assert [each["id"] for each in self._do("getAccounts", OK, card_id=card).data] == [self.account_id]


def _other(digits: str) -> str:
    """Return digits that differ from the given digits."""
    return "".join(str((int(digit) + 1) % 10) for digit in digits)


History = Callable[[Issuer, str], RuleBasedStateMachine]

BEGINNINGS = [*((CardHistory, state) for state in "NATRLSEB"), *((AccountHistory, state) for state in "ASR")]
EACH = pytest.mark.parametrize(
    ("history", "state"), BEGINNINGS, ids=[f"{history.__name__} from {state}" for history, state in BEGINNINGS]
)


def run_histories(issuer: Issuer, history: History, state: str, how: settings) -> None:
    """Run the number of histories that ``how`` specifies. Check afterwards that all records are consistent."""
    run_state_machines(lambda: history(issuer, state), how)
    StoredCards(issuer.causeway).check()


@EACH
def test_random_card_and_account_histories_match_the_model(new_issuer: Issuer, history: History, state: str) -> None:
    """Every run uses the same few histories. The slow test runs many more histories."""
    run_histories(new_issuer, history, state, settings(max_examples=3, stateful_step_count=10, derandomize=True))


@pytest.mark.faults
@EACH
def test_long_random_card_and_account_histories_match_the_model(
    new_issuer: Issuer, history: History, state: str
) -> None:
    """Every run uses different histories."""
    run_histories(new_issuer, history, state, settings(max_examples=10, stateful_step_count=40))
