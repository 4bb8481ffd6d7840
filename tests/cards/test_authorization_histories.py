"""Random authorization histories from hypothesis, compared with a small model."""

import contextlib
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from chalicelib.cards.authorization.hold_release import expire_holds
from infra.admin.ledger_verification import prove_ledger
from tests.cards import programmes
from tests.cards.issuer import Envelope, Issuer
from tests.cards.network_model import (
    ACCOUNT_STATUS,
    APPROVED,
    DAY,
    ENTRIES,
    EUR,
    FINAL,
    GBP,
    GIVEN,
    IN_PART,
    NO_FUNDS,
    OTHER_AMOUNT,
    OTHER_CURRENCY,
    OVER_AMOUNT,
    PURCHASE,
    REFUND,
    RESTRICTED,
    TOO_MUCH,
    WEEK,
    WRONG_STATE,
    Account,
    Authorization,
    Card,
    Collected,
    Counted,
    Limits,
    Price,
    Transaction,
    programme,
    share,
    worth,
)
from tests.causeway import Causeway
from tests.kit.inputs import run_state_machines
from tests.openbanking.faults import items

OK = None
AUTHORIZED, ADVISED, INCREASED, REVERSED, EXPIRED = 1, 2, 3, 4, 5
AMOUNTS = st.sampled_from([0, 1, 99, 333, 12_345, 60_000, 100_001, 150_001, 290_000])
SOME = AMOUNTS.filter(bool)
CURRENCIES = st.sampled_from([EUR, GBP])
COUNTRIES = st.sampled_from([276, 826, 840])
CARDS = st.integers(0, 2)
PARTIAL = st.sampled_from([0, 0, 1])
OBSTACLES = st.sampled_from(["", "", "", "", "card", "account"])
PARTS = st.sampled_from([0.0, 0.33, 0.5, 1.0, 1.1])
"""The part of an amount that a message is about."""
SIGNS = {0: -1, 2: 1, 19: -1, 20: 1, 60: 1, 70: -1}
"""The sign of each type of transaction."""
_numbers = itertools.count()


class AuthorizationHistory(RuleBasedStateMachine):
    """A history of a holder's cards. Every request has a reference and advances the clock by one second."""

    def __init__(self, issuer: Issuer) -> None:
        super().__init__()
        issuer.causeway.forget_journeys()  # another history's holds would be released by this one's schedule
        self.issuer = issuer.with_own_clock()
        self.cards: list[Card] = []
        self.authorizations: list[Authorization] = []
        self.transactions: list[Transaction] = []
        self.sent: list[tuple[int, str, dict[str, Any], str]] = []

    @initialize()
    def create_records(self) -> None:
        (plan,) = programmes.loaded(self.issuer.hub, programme())
        name = f"network-{next(_numbers)}"
        self.issuer.secrets[name] = asdict(plan.secrets["app"])
        self.issuer = self.issuer.as_caller(name)
        holder = self.issuer.holder(holder_limit_group_id=3, country_ison=276)
        self.limits = Limits(holder)
        of_both = self.made_card(holder, 1, [EUR, GBP])
        with_fees = self.made_card(holder, 2, [GBP])
        shared = with_fees.accounts[0].id
        beside = self.made_card(holder, 2, [], account_id=[shared], account_owner_id=[holder])
        beside.accounts = with_fees.accounts
        self.cards = [of_both, with_fees, beside]
        for account in self.accounts:
            self.issuer.give(account.id, GIVEN)

    def made_card(self, holder: int, program: int, currencies: Sequence[int], **members: Any) -> Card:
        if currencies:
            members["card_currency_ison"] = [*currencies]
        made = self.issuer.card_in("A", holder_id=holder, card_program_id=program, **members)
        shown = self.issuer.data("getAccounts", card_id=made.card_id)
        accounts = [Account(each["id"], each["currency_ison"], program == 1) for each in shown]
        return Card(made.card_id, accounts, has_fees=program == 2, has_limits=program == 1)

    # -- what the model needs

    @property
    def now(self) -> int:
        return self.issuer.clock.time()

    @property
    def accounts(self) -> list[Account]:
        return [*self.cards[0].accounts, *self.cards[1].accounts] if self.cards else []

    def do(self, action: str, expected: int | None, **members: Any) -> Envelope:
        """Send a request with a new reference, check the code, and record the answer for a retry."""
        members |= {"request_reference_id": self.issuer.reference()}
        answer = self.issuer.sim(action, **members)
        assert answer.status_code == expected, f"{action} {members}: {answer.raw}"
        assert answer.duplicated == 0
        if expected is OK or 3000 <= expected < 8000:
            self.sent.append((self.now, action, members, answer.raw))
        return answer

    def answered(self, answer: Envelope, of: Authorization, kind: int, code: str) -> int:
        """Compare an answer of the network with the model and return the message's number."""
        data = answer.data
        if code:
            assert (data["trans_link"], data["response_code"]) == (of.link, code), answer.raw
        self.is_told(data, of.account)
        of.card.messages.append((data["authorize_id"], kind, code or APPROVED))
        return int(data["authorize_id"])

    def is_told(self, data: Any, account: Account) -> None:
        assert (data["available_balance"], data["settled_balance"]) == (account.available, account.settled)

    def any_authorization(self, data: Any) -> Authorization:
        """Draw a requested authorization, usually an authorization with a hold."""
        held = [each for each in self.authorizations if each.state == "H"]
        is_any = not held or data.draw(st.sampled_from([False, False, False, True]))
        authorization: Authorization = data.draw(st.sampled_from(self.authorizations if is_any else held))
        return authorization

    @contextlib.contextmanager
    def in_the_way(self, what: str, card: Card, account: Account) -> Iterator[None]:
        """Within the context, block the card, suspend the account or change nothing."""
        change = {
            "card": partial(self.issuer.data, "changeCardStatus", card_id=card.id),
            "account": partial(self.issuer.data, "changeAccountStatus", account_id=account.id),
        }.get(what)
        name = {"card": "status", "account": "account_status"}.get(what, "")
        if change is not None:
            change(**{name: "T" if what == "card" else "S"})
        yield
        if change is not None:
            change(**{name: "A"})

    # -- the network asks

    @rule(asked=st.lists(st.tuples(CARDS, AMOUNTS, CURRENCIES, COUNTRIES, PARTIAL, OBSTACLES), min_size=1, max_size=4))
    def authorize(self, asked: list[tuple[int, int, int, int, int, str]]) -> None:
        for place, amount, currency, country, in_part, obstacle in asked:
            self.issuer.clock.advance(1)
            card = self.cards[place]
            account = card.account_for(currency)
            with self.in_the_way(obstacle, card, account):
                code = RESTRICTED if obstacle else APPROVED
                if not obstacle:
                    code = self.limits.obstacle(card, account, (amount, currency), country, self.now) or code
                approved = amount
                if code == APPROVED and self.price(card, account, amount, currency) > account.available:
                    approved = self.affordable(card, account, amount, currency) if in_part else 0
                    code = IN_PART if approved else NO_FUNDS
                members = {"merchant_country_ison": country, "partial_approval": in_part}
                self.ask("simulateAuthorization", card, (approved, amount), currency, code, **members)

    @rule(place=CARDS, amount=SOME, currency=CURRENCIES, code=st.sampled_from([APPROVED, APPROVED, NO_FUNDS]))
    def advise(self, place: int, amount: int, currency: int, code: str) -> None:
        self.issuer.clock.advance(1)
        card, members = self.cards[place], {"merchant_country_ison": 276, "response_code": code}
        self.ask("simulateAdvice", card, (amount, amount), currency, code, **members)

    def price(self, card: Card, account: Account, amount: int, currency: int) -> int:
        return Price.of(card, account, PURCHASE, amount, currency).total

    def affordable(self, card: Card, account: Account, amount: int, currency: int) -> int:
        low, high = 0, amount
        while low < high:
            middle = (low + high + 1) // 2
            fits = self.price(card, account, middle, currency) <= account.available
            low, high = (middle, high) if fits else (low, middle - 1)
        return low

    def ask(self, action: str, card: Card, amounts: tuple[int, int], currency: int, code: str, **members: Any) -> None:
        """Request an authorization and compare it with the model.

        ``amounts`` are the approved and the requested amount.
        """
        approved, amount = amounts
        use = {"card_id": card.id, "transaction_type": PURCHASE, "amount": amount, "currency_ison": currency}
        answer = self.do(action, OK, **use, **members)
        of = Authorization(
            answer.data["authorize_id"], card, card.account_for(currency), currency, members["merchant_country_ison"]
        )
        if code in (APPROVED, IN_PART):
            of.state, of.left, of.until = "H", approved, self.now + WEEK
            of.held = self.price(card, of.account, approved, currency)
            of.account.held += of.held
            of.counted = self.limits.count(of, PURCHASE, (approved, currency), self.now)
            assert answer.data["approved_amount"] == approved
        self.answered(answer, of, AUTHORIZED if action == "simulateAuthorization" else ADVISED, code)
        self.authorizations.append(of)

    @precondition(lambda self: self.authorizations)
    @rule(data=st.data(), amount=SOME, obstacle=OBSTACLES)
    def increase(self, data: Any, amount: int, obstacle: str) -> None:
        self.issuer.clock.advance(1)
        of = self.any_authorization(data)
        with self.in_the_way(obstacle, of.card, of.account):
            self.increased(of, amount, obstacle)

    def increased(self, of: Authorization, amount: int, obstacle: str) -> None:
        if of.state != "H":
            self.do("simulateIncrement", WRONG_STATE, trans_link=of.link, amount=amount)
            return
        whole = self.price(of.card, of.account, of.left + amount, of.currency)
        code = RESTRICTED if obstacle else ""
        if not code and self.limits.is_over(of, amount, self.now):
            code = OVER_AMOUNT
        if not code:
            code = APPROVED if whole - of.held <= of.account.available else NO_FUNDS
        answer = self.do("simulateIncrement", OK, trans_link=of.link, amount=amount)
        if code == APPROVED:
            of.left, of.until = of.left + amount, self.now + WEEK
            of.account.held += whole - of.held
            of.held = whole
            more = self.limits.count(of, PURCHASE, (amount, of.currency), self.now, further=True)
            of.counted = of.counted.joined(more)
        self.answered(answer, of, INCREASED, code)

    @precondition(lambda self: self.authorizations)
    @rule(data=st.data(), part=st.none() | PARTS)
    def reverse(self, data: Any, part: float | None) -> None:
        self.issuer.clock.advance(1)
        of = self.any_authorization(data)
        amount = of.left if part is None else max(1, round(of.left * part))
        members = {} if part is None else {"amount": amount}
        expected = OK if of.state == "H" else WRONG_STATE
        if expected is OK and amount > of.left:
            expected = TOO_MUCH
        answer = self.do("simulateReversal", expected, trans_link=of.link, **members)
        if expected is OK:
            released = self.release(of, amount, "R")
            assert answer.data["released_amount"] == released
            self.answered(answer, of, REVERSED, "")

    @precondition(lambda self: self.authorizations)
    @rule(data=st.data())
    def expire(self, data: Any) -> None:
        self.issuer.clock.advance(1)
        of = self.any_authorization(data)
        expected = OK if of.state == "H" else WRONG_STATE
        answer = self.do("simulateExpiry", expected, trans_link=of.link)
        if expected is OK:
            assert answer.data["released_amount"] == self.release(of, of.left, "X")
            self.answered(answer, of, EXPIRED, "")

    def release(self, of: Authorization, amount: int, state: Any) -> int:
        released = share(of.held, amount, of.left)
        is_all = amount == of.left
        back, rest = of.counted.divided(amount, of.left, counts=is_all and not of.is_cleared)
        self.limits.give_back(of, back)
        of.counted = Counted() if is_all else rest
        of.account.held -= released
        of.held, of.left = of.held - released, of.left - amount
        of.state = state if is_all else "H"
        return released

    # -- shops collect, and give back

    @precondition(lambda self: self.authorizations)
    @rule(data=st.data(), part=PARTS, elsewhere=st.sampled_from([False, False, True]), final=st.sampled_from([0, 1, 1]))
    def clear(self, data: Any, part: float, elsewhere: bool, final: int) -> None:
        self.issuer.clock.advance(1)
        of = self.any_authorization(data)
        currency = EUR + GBP - of.currency if elsewhere else of.currency
        amount = max(1, round((of.left or 2_000) * part))
        members = {"trans_link": of.link, "amount": amount, "currency_ison": currency}
        if of.state == "D":
            of.account = of.card.account_for(currency)
        answer = self.do("simulateClearing", OK, **members, **({} if final else {"final": 0}))
        counted, currency_of_excess = (worth(amount, currency, of.currency), of.currency) if of.left else (0, 0)
        taken = min(counted, of.left)
        excess = (counted - taken, currency_of_excess) if of.left else (amount, currency)
        was_held = of.state == "H"
        _, rest = of.counted.divided(taken, max(of.left, 1), counts=True)
        if not final and taken < of.left:
            released = share(of.held, taken, of.left)
            of.left, of.counted = of.left - taken, rest
        else:
            released = of.held
            self.limits.give_back(of, rest)
            of.left, of.counted, of.state = 0, Counted(), "C"
        if excess[0]:
            self.limits.count(of, of.kind, excess, self.now, further=was_held or of.is_cleared)
        of.held -= released
        of.account.held -= released
        assert answer.data["released_amount"] == released
        self.collect(answer, of, amount, currency)

    @rule(place=CARDS, amount=SOME, currency=CURRENCIES)
    def clear_what_was_not_authorized(self, place: int, amount: int, currency: int) -> None:
        self.issuer.clock.advance(1)
        card = self.cards[place]
        members = {"card_id": card.id, "amount": amount, "currency_ison": currency, "merchant_country_ison": 276}
        answer = self.do("simulateClearing", OK, **members)
        of = Authorization(int(answer.data["trans_link"]), card, card.account_for(currency), currency, 276, state="C")
        self.limits.count(of, PURCHASE, (amount, currency), self.now)
        self.authorizations.append(of)
        self.collect(answer, of, amount, currency)

    def collect(self, answer: Envelope, of: Authorization, amount: int, currency: int) -> None:
        price = self.book(answer, of, amount, currency)
        of.collected[currency].amount += amount
        of.collected[currency].debited += price.bare

    def give_back(self, answer: Envelope, of: Authorization, amount: int, currency: int) -> None:
        price = self.book(answer, of, amount, currency, of.collected[currency])
        of.collected[currency].given_back += amount
        of.collected[currency].credited += price.bare

    def book(
        self, answer: Envelope, of: Authorization, amount: int, currency: int, back: Collected | None = None
    ) -> Price:
        kind = of.kind if back is None else REFUND
        price = Price.of(of.card, of.account, kind, amount, currency, back)
        of.account.settled += price.total * (-1 if kind == PURCHASE else 1)
        assert (answer.data["trans_link"], answer.data["holder_amount"]) == (of.link, price.shown)
        self.is_told(answer.data, of.account)
        number = answer.data["transaction_id"]
        made = Transaction(number, of, amount, currency, price.shown, kind == PURCHASE, blended=price.blended)
        self.transactions.append(made)
        return price

    @precondition(lambda self: self.authorizations)
    @rule(data=st.data(), part=PARTS, elsewhere=st.sampled_from([False, False, True]), obstacle=OBSTACLES)
    def refund(self, data: Any, part: float, elsewhere: bool, obstacle: str) -> None:
        self.issuer.clock.advance(1)
        of = self.any_authorization(data)
        currency = EUR + GBP - of.currency if elsewhere else of.currency
        account = of.card.account_for(currency) if of.state == "D" else of.account
        with self.in_the_way(obstacle, of.card, account):
            self.refunded(of, part, currency, obstacle)

    def refunded(self, of: Authorization, part: float, currency: int, obstacle: str) -> None:
        left = of.collected[currency].amount - of.collected[currency].given_back
        amount = max(1, round((left or 500) * part))
        expected = ACCOUNT_STATUS if obstacle == "account" else OK
        if expected is OK and not (of.is_cleared and of.kind == PURCHASE):
            expected = WRONG_STATE
        elif expected is OK and not of.collected[currency].amount:
            expected = OTHER_CURRENCY
        elif expected is OK and amount > left:
            expected = TOO_MUCH
        members = {"trans_link": of.link, "amount": amount, "currency_ison": currency}
        answer = self.do("simulateRefund", expected, **members)
        if expected is OK:
            self.limits.count(of, REFUND, (amount, currency), self.now)
            self.give_back(answer, of, amount, currency)

    @rule(place=CARDS, amount=SOME, currency=CURRENCIES)
    def refund_what_was_not_bought_here(self, place: int, amount: int, currency: int) -> None:
        self.issuer.clock.advance(1)
        card = self.cards[place]
        account = card.account_for(currency)
        members = {"card_id": card.id, "amount": amount, "currency_ison": currency, "merchant_country_ison": 276}
        answer = self.do("simulateRefund", OK, **members)
        of = Authorization(int(answer.data["trans_link"]), card, account, currency, 276, kind=REFUND, state="C")
        self.limits.count(of, REFUND, (amount, currency), self.now)
        self.authorizations.append(of)
        self.book(answer, of, amount, currency)

    # -- holders dispute

    @precondition(lambda self: self.transactions)
    @rule(data=st.data(), step=st.sampled_from(["opened", "opened", "won", "lost"]), part=st.none() | PARTS)
    def dispute(self, data: Any, step: str, part: float | None) -> None:
        self.issuer.clock.advance(1)
        about: Transaction = data.draw(st.sampled_from(self.transactions))
        whole = about.shown if step == "opened" else about.disputed
        amount = whole if part is None else max(1, round(whole * part))
        of, expected = about.of, OK
        value = share(about.amount, amount, about.shown)
        collected = of.collected[about.currency]
        if not about.is_purchase or (about.step is None) != (step == "opened"):
            expected = WRONG_STATE
            if about.is_purchase and about.step in ("won", "lost"):
                expected = FINAL
        elif about.step in ("won", "lost"):
            expected = FINAL
        elif step != "opened" and amount != about.disputed:
            expected = OTHER_AMOUNT
        elif step == "opened" and (
            amount > about.shown
            or value > collected.amount - collected.given_back
            or collected.credited + about.bare(amount) > collected.debited
        ):
            expected = TOO_MUCH
        members = {} if part is None else {"amount": amount}
        answer = self.do("simulateDispute", expected, transaction_id=about.id, step=step, **members)
        if expected is OK:
            self.disputed(about, step, amount, value)
            self.is_told(answer.data, of.account)
            assert answer.data["reserved_balance"] == of.account.reserved

    def disputed(self, about: Transaction, step: str, amount: int, value: int) -> None:
        account, of = about.of.account, about.of
        about.step = step
        if step == "opened":
            about.disputed, about.worth = amount, value
            account.settled += amount
            account.reserved += amount
            of.collected[about.currency].given_back += value
            of.collected[about.currency].credited += about.bare(amount)
            return
        account.reserved -= about.disputed
        if step == "lost":
            account.settled -= about.disputed
            of.collected[about.currency].given_back -= about.worth
            of.collected[about.currency].credited -= about.bare(about.disputed)

    # -- time, states and repeats

    @rule(seconds=st.sampled_from([60, DAY, 3 * DAY, 8 * DAY]))
    def time_passes_and_the_schedule_runs(self, seconds: int) -> None:
        self.issuer.clock.advance(seconds)
        over = [each for each in self.authorizations if each.state == "H" and each.until <= self.now]
        assert self.issuer.hub.cards.call(expire_holds) == len(over)
        for of in over:
            self.release(of, of.left, "X")
            of.card.messages.append((0, EXPIRED, APPROVED))

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def ask_for_an_answer_again(self, data: Any) -> None:
        at, action, members, raw = data.draw(st.sampled_from(self.sent))
        if self.now < at + 30 * DAY:
            assert self.issuer.sim(action, **members).raw == raw.replace('"duplicated":0', '"duplicated":1', 1)

    # -- what is seen

    @invariant()
    def everything_is_where_it_should_be(self) -> None:
        records = {row["owner"]: row for table in ("cards", "card-activity") for row in self.rows(table)}
        for account in self.accounts:
            row = records[f"account#{account.id}"]
            assert [row[name] for name in ("settled", "held", "reserved")] == [
                *(account.settled, account.held, account.reserved)
            ]
        for of in self.authorizations:
            row = records[f"authorization#{of.id}"]
            assert row["state"] == of.state
            assert row["left"] == of.left
            assert row["held"] == of.held
            assert row.get("due_at") == (of.until if of.state == "H" else None)

    def rows(self, table: str) -> list[Any]:
        kinds = ("account", "authorization")
        return [row for row in items(self.issuer.causeway, table) if row["part"] in kinds and "of" not in row]

    @invariant()
    def limits_know_what_was_used(self) -> None:
        if not self.cards:
            return
        counters = {row["owner"]: row for row in items(self.issuer.causeway, "ledger") if row["part"] == "limits"}
        for owner, row in counters.items():
            expected = self.limits.shown(owner, self.now)
            starts = {entry.key: entry.start(self.now) for entry in ENTRIES if entry.duration}
            for key, window in row["windows"].items():
                if window["start"] == starts[key]:
                    assert (window["count"], window["amount"]) == expected[key], f"limit {key} of {owner}"

    @rule(place=CARDS)
    def look_at_the_limits(self, place: int) -> None:
        card = self.cards[place]
        asked = [(1, card.id, f"card#{card.id}"), (3, self.limits.holder, f"holder#{self.limits.holder}")]
        asked += [(2, account.id, f"account#{account.id}") for account in card.accounts]
        keys = {(1, 1): "1.2", (2, 7): "2.1", (2, 30): "2.2", (3, 30): "3.1"}
        for kind, record, owner in asked:
            used = self.limits.shown(owner, self.now)
            page = {"record_id": record, "limit_type": kind, "paginator": {"item_count": 9, "offset": 0}}
            for left in self.issuer.data("getLimitsStatus", **page):
                if (key := keys.get((kind, left["duration"]))) is None:
                    continue
                count, amount = used[key]
                assert left["amount"] == max(0, left["original_amount"] - amount)
                assert "original_count" not in left or left["count"] == max(0, left["original_count"] - count)

    @rule(place=CARDS)
    def look_at_the_reports(self, place: int) -> None:
        self.issuer.clock.advance(2)
        card, dates = self.cards[place], {"date_from": 0, "date_to": self.now, "item_count": 100}
        rows = self.issuer.data("getCardsActivity", card_id=card.id, **dates)
        assert Counter((row["authorize_type"], row["response_code"]) for row in rows) == Counter(
            (kind, code) for _, kind, code in card.messages
        )
        numbers = [number for number, _, _ in card.messages if number]
        assert [row["authorize_id"] for row in rows if row["authorize_id"] in numbers] == numbers
        approved = [row for row in rows if row["actual"] and not row["reversal"]]
        effective = self.issuer.data("getFinancialAuthorizes", card_id=card.id, **dates)
        assert [row["authorize_id"] for row in effective] == [row["authorize_id"] for row in approved]
        for account in card.accounts:
            booked = self.issuer.data("getTransactions", account_id=account.id, **dates)
            assert sum(map(_effect, booked)) == account.settled

    def teardown(self) -> None:
        if self.cards:
            prove_ledger(self.issuer.hub.store)


def _effect(row: Any) -> int:
    """Return the effect of a transaction on the balance, including a separate conversion fee."""
    beside = 0 if row["is_conversion_fee_blended"] else row.get("currency_conversion_fee", 0)
    return int(SIGNS[row["transaction_type"]] * row["holder_amount"] - beside)


def run_histories(issuer: Issuer, how: settings) -> None:
    run_state_machines(lambda: AuthorizationHistory(issuer), how)


@pytest.fixture
def issuer(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Issuer:
    monkeypatch.setattr("chalicelib.foundation.parallel.WIDTH", 1)  # the emulator is not made for threads
    return Issuer(causeway)


def test_random_authorization_histories_match_the_model(issuer: Issuer) -> None:
    """Every run uses the same few histories. The slow test runs many more histories."""
    run_histories(issuer, settings(max_examples=4, stateful_step_count=30, derandomize=True))


@pytest.mark.faults
def test_long_random_authorization_histories_match_the_model(issuer: Issuer) -> None:
    """Every run uses different histories."""
    run_histories(issuer, settings(max_examples=40, stateful_step_count=50))
