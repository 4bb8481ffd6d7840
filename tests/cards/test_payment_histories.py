"""Random payment histories from hypothesis, compared with a small model and the ledger rows."""

import itertools
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from chalicelib.cards.payments.provider_completion import finish_due_payments
from chalicelib.cards.storage.due_index import AT_ONCE
from chalicelib.foundation.parallel import pieces
from tests.cards import programmes
from tests.cards.issuer import EXTERNAL_IBANS, HOLDER_BLOCK, Envelope, Issuer
from tests.cards.money_model import (
    ACCOUNTS,
    ASKING,
    CUT_OFF,
    DAY,
    DEBIT,
    GBP,
    IN,
    LIMIT,
    NO_FUNDS,
    OUT,
    REFUSED,
    RETURN,
    RETURNED_ALREADY,
    SET,
    WAITS,
    WRONG_STATE,
    Account,
    Limits,
    Payment,
    programme,
)
from tests.cards.stored_money import StoredMoney
from tests.causeway import Causeway
from tests.kit.inputs import run_state_machines

OK = None
AMOUNTS = st.sampled_from([1, 99, 333, 12_345, 100_001, 250_000, 290_000, 300_001])
NAMES = st.sampled_from(["Alice", "Alice", "Alice", "REFUSE", "SILENT", "LOST"])
KEPT = 30 * DAY
"""So long an answer can be asked for again."""
PLACES = st.integers(0, len(ACCOUNTS) - 1)
_numbers = itertools.count()


def as_handled(due: list[Payment]) -> list[Payment]:
    """Return due payments in processing order: batches of the earliest ``AT_ONCE``, grouped by account."""
    ordered = []
    for piece in pieces(sorted(due, key=lambda payment: payment.awaits or payment.cut_off), AT_ONCE):
        accounts = dict.fromkeys(payment.account.id for payment in piece)
        ordered += sorted(piece, key=lambda payment: list(accounts).index(payment.account.id))
    return ordered


class PaymentHistory(RuleBasedStateMachine):
    """A history of a holder's accounts. Every request has a reference and advances the clock by one second."""

    def __init__(self, issuer: Issuer) -> None:
        super().__init__()
        issuer.causeway.forget_journeys()  # another history's payments would be finished by this one's schedule
        self.issuer = issuer.with_own_clock()
        self.accounts: list[Account] = []
        self.payments: list[Payment] = []
        self.sent: list[tuple[str, dict[str, Any], str, int]] = []
        self.limits = Limits()

    @initialize()
    def create_records(self) -> None:
        (plan,) = programmes.loaded(self.issuer.hub, programme())
        name = f"money-{next(_numbers)}"
        self.issuer.secrets[name] = asdict(plan.secrets["app"])
        self.issuer = self.issuer.as_caller(name)
        members: dict[str, Any] = {**HOLDER_BLOCK}
        for currency, number, method in ACCOUNTS:
            account = self.issuer.account(**members, program_id=number, currency_ison=currency)
            [record] = self.issuer.data("getAccounts", account_id=account)
            members = {"holder_id": record["holder_id"]}
            address = self.issuer.address(account, method)
            made = Account(account, address["id"], currency, address["currency_ison"], number == 2, address["iban"])
            made.mandate_id = self.issuer.mandate(address)
            self.accounts.append(made)
        self.holder_id = members["holder_id"]
        for number in range(len(self.accounts)):
            self.come_in(number, 290_000, "FPS", "Bob")

    # -- what the model needs

    @property
    def now(self) -> int:
        return self.issuer.clock.time()

    def of(self, kind: str) -> list[Payment]:
        return [payment for payment in self.payments if payment.kind == kind]

    def do(self, action: str, expected: int | None, **members: Any) -> Envelope:
        """Send a request with a new reference, check the code, and record the answer for a retry."""
        self.issuer.clock.advance(1)
        members |= {"request_reference_id": self.issuer.reference()}
        call = self.issuer.sim if action.startswith("simulate") else self.issuer.do
        answer = call(action, **members)
        assert answer.status_code == expected, f"{action} {members}: {answer.raw}"
        assert answer.duplicated == 0
        if expected is OK or 3000 <= expected < 8000:
            self.sent.append((action, members, answer.raw, self.now))
        return answer

    # -- what happens

    @rule(
        place=PLACES,
        amount=AMOUNTS,
        scheme=st.sampled_from(["FPS", "BACS"]),
        name=st.sampled_from(["Bob", "REFUSE", "SILENT"]),
    )
    def come_in(self, place: int, amount: int, scheme: str, name: str) -> None:
        account = self.accounts[place]
        scheme = scheme if account.other == GBP else "SCT"
        paying = {"epm_address_id": account.address_id, "amount": amount, "currency_ison": account.other}
        answer = self.do("simulateInboundPayment", OK, **paying, scheme=scheme, sender_name=name)
        payment = Payment(answer.data["epm_transaction_id"], IN, account, amount, "S", scheme=scheme, sender=name)
        if self.limits.fits(account, amount, self.now, debit=False):
            payment.counted = self.limits.count(account, amount, self.now, debit=False)
            account.settled += account.given(amount)
        else:
            payment.state = "J"
        assert answer.data["state"] == payment.state
        self.payments.append(payment)

    def transfer(self, account: Account, amount: int, name: str, iban: str, expected: int | None) -> Envelope:
        members = {"epm_address_id": account.address_id, "amount": amount, "currency_ison": account.other}
        to = {"destination_account_name": name, "destination_iban": iban}
        return self.do("transferToExternalPayment", expected, **members, **to)

    def obstacle(self, account: Account, kind: str, amount: int) -> int | None:
        """Return the code with which an outbound payment or a direct debit is rejected, or ``OK``."""
        if not self.limits.fits(account, amount, self.now + 1, debit=True):
            return LIMIT
        return NO_FUNDS if account.taken(kind, amount) > account.available else OK

    @rule(place=PLACES, amount=AMOUNTS, name=NAMES)
    def go_out(self, place: int, amount: int, name: str) -> None:
        account = self.accounts[place]
        expected = self.obstacle(account, OUT, amount)
        if expected is OK:
            expected = {"REFUSE": REFUSED, "SILENT": WAITS, "LOST": WAITS}.get(name, OK)
        iban = EXTERNAL_IBANS[1 if account.other == GBP else 2]
        answer = self.transfer(account, amount, name, iban, expected)
        if expected not in (OK, WAITS):
            return
        payment = Payment(0, OUT, account, amount, "P", held=account.taken(OUT, amount))
        payment.counted = self.limits.count(account, amount, self.now, debit=True)
        account.held += payment.held
        if expected is OK:
            payment.id = answer.data["id"]
            self.payments.append(payment)
        else:
            self.wait_for(payment)

    def wait_for(self, payment: Payment) -> None:
        """Find the number of a payment after a provider timeout and record the payment."""
        payment.id = max(StoredMoney(self.issuer.causeway).payments)
        payment.awaits = self.now + ASKING
        self.payments.append(payment)

    @rule(place=st.sampled_from([0, 1]), amount=AMOUNTS)
    def go_to_another_account(self, place: int, amount: int) -> None:
        payer, payee = self.accounts[place], self.accounts[1 - place]
        expected = self.obstacle(payer, OUT, amount)
        if expected is OK and not self.limits.fits(payee, amount, self.now + 1, debit=False):
            expected = REFUSED
        answer = self.transfer(payer, amount, "Zoe", payee.number, expected)
        if expected is not OK:
            return
        went = Payment(answer.data["id"], OUT, payer, amount, "S")
        came = Payment(0, IN, payee, amount, "S", counterpart=went)
        came.id = StoredMoney(self.issuer.causeway).payments[went.id]["counterpart"]
        went.counterpart = came
        self.limits.count(payer, amount, self.now, debit=True)
        self.limits.count(payee, amount, self.now, debit=False)
        payer.settled -= payer.taken(OUT, amount)
        payee.settled += payee.given(amount)
        self.payments += [went, came]

    @precondition(lambda self: self.of(OUT))
    @rule(data=st.data(), result=st.sampled_from(["settled", "settled", "rejected", "returned"]))
    def hear_of_a_payment(self, data: Any, result: str) -> None:
        payment: Payment = data.draw(st.sampled_from(self.of(OUT)))
        to = {"settled": "S", "rejected": "J", "returned": "R"}[result]
        expected = OK
        if payment.state != to and (payment.state, to) not in (("P", "S"), ("P", "J")):
            expected = RETURNED_ALREADY if payment.state == "R" else WRONG_STATE
            if (payment.state, to) == ("S", "R") and payment.counterpart is None:
                expected = OK
        self.do("simulateOutboundResult", expected, epm_transaction_id=payment.id, result=result)
        if expected is OK and payment.state != to:
            self.move(payment, to)

    def move(self, payment: Payment, to: str) -> None:
        account = payment.account
        if to == "R":
            account.settled += account.reversed(OUT, payment.amount)
        if payment.state == "P":
            account.held -= payment.held
            account.settled -= payment.held if to == "S" else 0
            payment.held = 0
        if to == "J":
            self.limits.give_back(payment.counted)
        payment.state = to

    @precondition(lambda self: self.of(IN))
    @rule(data=st.data(), by_the_wrong_action=st.sampled_from([False, False, False, True]))
    def send_back(self, data: Any, by_the_wrong_action: bool) -> None:
        original: Payment = data.draw(st.sampled_from(self.of(IN)))
        account, amount = original.account, original.amount
        is_direct_credit = (original.scheme == "BACS") is not by_the_wrong_action
        action = "directCreditReturn" if is_direct_credit else "inboundReturn"
        back = account.reversed(IN, amount)
        expected = {"REFUSE": REFUSED, "SILENT": WAITS}.get(original.sender, OK)
        if back > account.available:
            expected = NO_FUNDS
        if by_the_wrong_action:
            expected = WRONG_STATE
        if original.returned:
            expected = RETURNED_ALREADY
        if original.state == "J":
            expected = WRONG_STATE
        reason = "return_reason_id" if is_direct_credit else "reason"
        self.do(action, expected, **{"epm_transaction_id": original.id, reason: 1})
        if expected is OK and original.counterpart is not None:
            account.settled -= back
            payer = original.counterpart.account
            payer.settled += payer.reversed(OUT, amount)
            original.state = original.counterpart.state = "R"
            original.returned = True
        elif expected is OK:
            account.settled -= back
            original.state, original.returned = "R", True
        elif expected == WAITS:
            account.held += back
            original.returned = True
            self.wait_for(Payment(0, RETURN, account, amount, "P", held=back, returns=original))

    # -- collections

    @rule(place=PLACES, amount=AMOUNTS)
    def announce(self, place: int, amount: int) -> None:
        account = self.accounts[place]
        answer = self.do("simulateDirectDebit", OK, epm_mandate_id=account.mandate_id, amount=amount)
        assert (answer.data["state"], answer.data["cut_off"]) == ("P", self.now + CUT_OFF)
        payment = Payment(answer.data["epm_transaction_id"], DEBIT, account, amount, "P", cut_off=self.now + CUT_OFF)
        self.payments.append(payment)

    @precondition(lambda self: self.of(DEBIT))
    @rule(data=st.data(), should_pay=st.sampled_from([0, 0, 1]))
    def decide(self, data: Any, should_pay: int) -> None:
        payment: Payment = data.draw(st.sampled_from(self.of(DEBIT)))
        expected = OK if payment.state == "P" and self.now + 1 < payment.cut_off else WRONG_STATE
        if payment.state == "R":
            expected = RETURNED_ALREADY
        members = {"epm_transaction_id": payment.id, "should_pay": should_pay, "reason": 1}
        self.do("changeDDExternalPaymentStatus", expected, **members)
        if expected is OK:
            payment.should_pay = bool(should_pay)

    @precondition(lambda self: self.of(DEBIT))
    @rule(data=st.data())
    def collect_at_once(self, data: Any) -> None:
        payment: Payment = data.draw(st.sampled_from(self.of(DEBIT)))
        expected = {"P": OK, "R": RETURNED_ALREADY}.get(payment.state, WRONG_STATE)
        self.do("simulateDirectDebit", expected, epm_transaction_id=payment.id)
        if expected is OK:
            self.collect(payment)

    def collect(self, payment: Payment) -> None:
        account, amount = payment.account, payment.amount
        fits = self.limits.fits(account, amount, self.now, debit=True)
        if payment.should_pay and fits and account.taken(DEBIT, amount) <= account.available:
            payment.state = "S"
            self.limits.count(account, amount, self.now, debit=True)
            account.settled -= account.taken(DEBIT, amount)
        else:
            payment.state = "J"

    @precondition(lambda self: self.of(DEBIT))
    @rule(data=st.data())
    def take_back(self, data: Any) -> None:
        original: Payment = data.draw(st.sampled_from(self.of(DEBIT)))
        expected = {"S": OK, "R": RETURNED_ALREADY}.get(original.state, WRONG_STATE)
        reason = "0" if original.account.other == GBP else "MD06"
        self.do("directDebitReturn", expected, returned_epm_transaction_id=original.id, reason=reason)
        if expected is OK:
            original.account.settled += original.account.reversed(DEBIT, original.amount)
            original.state, original.returned = "R", True

    # -- fees, time, and repeats

    @rule(place=st.sampled_from([0, 1]), amount=AMOUNTS)
    def charge(self, place: int, amount: int) -> None:
        account = self.accounts[place]
        expected = NO_FUNDS if amount > account.available else OK
        fee = {"fee_group_id": 2, "fee_code": "LETTER", "description": "A letter", "amount": amount}
        self.do("createCustomFee", expected, account_id=account.id, currency_ison=GBP, **fee)
        account.settled -= amount if expected is OK else 0

    @rule(seconds=st.sampled_from([1, ASKING, ASKING, DAY, 8 * DAY]))
    def time_passes_and_the_schedule_runs(self, seconds: int) -> None:
        self.issuer.clock.advance(seconds)
        self.sent = [each for each in self.sent if self.now - each[3] < KEPT]
        moved = self.issuer.hub.cards.call(finish_due_payments)
        due = [payment for payment in self.payments if payment.awaits is not None and payment.awaits <= self.now]
        debits = [payment for payment in self.of(DEBIT) if payment.state == "P" and payment.cut_off <= self.now]
        assert moved == len(due) + len(debits)
        for payment in as_handled([*due, *debits]):
            if payment.kind == DEBIT:
                self.collect(payment)
        for payment in due:
            payment.awaits = None
            if payment.returns is not None:
                payment.account.held -= payment.held
                payment.account.settled -= payment.held
                payment.held, payment.state, payment.returns.state = 0, "S", "R"

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def ask_for_an_answer_again(self, data: Any) -> None:
        action, members, raw, _ = data.draw(st.sampled_from(self.sent))
        call = self.issuer.sim if action.startswith("simulate") else self.issuer.do
        assert call(action, **members).raw == raw.replace('"duplicated":0', '"duplicated":1', 1)

    # -- what is seen

    @invariant()
    def the_money_is_where_it_should_be(self) -> None:
        if not self.accounts:
            return
        books = StoredMoney(self.issuer.causeway)
        books.check()
        for account in self.accounts:
            row = books.accounts[f"account#{account.id}"]
            assert row["settled"] == account.settled
            assert row["held"] == account.held
            assert row["reserved"] == 0
        for payment in self.payments:
            assert (books.payments[payment.id]["state"], books.payments[payment.id]["held"]) == (
                payment.state,
                payment.held,
            )

    @rule(place=PLACES)
    def look_at_what_is_left(self, place: int) -> None:
        account = self.accounts[place]
        available, settled, _ = self.issuer.balances(account.id)
        assert (available, settled) == (account.available, account.settled)
        for limit_type, record, owner in ((2, account.id, f"account#{account.id}"), (3, self.holder_id, "holder")):
            shown = self.issuer.data(
                "getLimitsStatus", record_id=record, limit_type=limit_type, paginator={"item_count": 9, "offset": 0}
            )
            for left in shown:
                key = f"{left['limits_group_id']}.{1 if limit_type == 3 else {0: 1, 1: 2, 30: 3}[left['duration']]}"
                if key not in SET:
                    continue
                count, used = self.limits.at(owner, key, self.now)
                most, bound = SET[key]
                assert left["amount"] + used == left["original_amount"] == bound
                assert most is None or left["count"] + count == left["original_count"] == most


def run_histories(issuer: Issuer, how: settings) -> None:
    run_state_machines(lambda: PaymentHistory(issuer), how)
    StoredMoney(issuer.causeway).check()


@pytest.fixture
def issuer(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Issuer:
    monkeypatch.setattr("chalicelib.foundation.parallel.WIDTH", 1)  # the emulator is not made for threads
    return Issuer(causeway)


def test_random_payment_histories_match_the_model(issuer: Issuer) -> None:
    """Every run uses the same few histories. The slow test runs many more histories."""
    run_histories(issuer, settings(max_examples=5, stateful_step_count=30, derandomize=True))


@pytest.mark.faults
def test_long_random_payment_histories_match_the_model(issuer: Issuer) -> None:
    """Every run uses different histories."""
    run_histories(issuer, settings(max_examples=25, stateful_step_count=50))
