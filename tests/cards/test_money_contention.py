"""Tests of concurrent payments: no payment is duplicated or exceeds the balance, and accounts equal the sum of their
rows.
"""

import itertools
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from chalicelib.cards.payments.provider import ProviderOrder, Receipt
from chalicelib.cards.payments.provider_completion import finish_due_payments
from chalicelib.cards.protocol.status_codes import Status
from infra.admin.ledger_verification import prove_ledger
from tests.cards.contest import CLIENTS, at_once, codes, decided, processes, race
from tests.cards.issuer import BRITAIN, EUR, GBP, Envelope, Issuer
from tests.cards.stored_money import StoredMoney
from tests.conftest import DYNAMODB_ENGINE

pytestmark = [pytest.mark.dynamodb, pytest.mark.faults]

_WAIT_FOR_THE_SCHEDULE = 61


@pytest.fixture
def issuers(new_issuer: Issuer) -> list[Issuer]:
    return processes(new_issuer)


def paying(
    issuers: Sequence[Issuer], number: int, address: Any, amount: int, **members: Any
) -> list[Callable[[], Envelope]]:
    calls: list[Callable[[], Envelope]] = []
    for issuer, _ in zip(itertools.cycle(issuers), range(number), strict=False):
        reference = {"request_reference_id": issuer.reference()}
        calls.append(partial(issuer.transfer, address, amount, **reference | members))
    return calls


def settle_down(issuers: Sequence[Issuer]) -> None:
    issuers[0].clock.advance(_WAIT_FOR_THE_SCHEDULE)
    for issuer in issuers[1:]:
        issuer.clock.advance(_WAIT_FOR_THE_SCHEDULE)
    while at_once([lambda: issuers[0].hub.cards.call(finish_due_payments)]) != [0]:
        pass


def check(issuer: Issuer, *accounts: int) -> StoredMoney:
    books = StoredMoney(issuer.causeway, accounts)
    books.check(at_rest=True)
    if DYNAMODB_ENGINE:  # the emulator is not made for the threads of the proof
        prove_ledger(issuer.hub.store)
    return books


def out(books: StoredMoney) -> list[int]:
    return [payment["id"] for payment in books.payments.values() if payment["payment"] == "out"]


def split(answers: list[Any], size: int) -> tuple[list[Any], list[Any], list[Any]]:
    return answers[:size], answers[size : 2 * size], answers[2 * size :]


@pytest.mark.parametrize(("amount", "balance"), [(100, 100 * CLIENTS // 2 + 99), (7, 7 * CLIENTS + 7), (500, 499)])
def test_parallel_transfers_succeed_until_the_balance_is_used_up(
    issuers: list[Issuer], amount: int, balance: int
) -> None:
    address = issuers[0].funded_address(balance)
    account, winners = address["account_id"], min(CLIENTS, balance // amount)

    answers = race(paying(issuers, CLIENTS, address, amount))

    expected = {None: winners, int(Status.NO_FUNDS): CLIENTS - winners}
    assert codes(answers) == {code: times for code, times in expected.items() if times}
    assert issuers[0].balances(account) == (balance - winners * amount, balance, 0)
    books = check(issuers[0], account)
    assert len(books.orders) == winners


def test_parallel_internal_transfers_do_not_change_the_sum_of_all_balances(issuers: list[Issuer]) -> None:
    issuer = issuers[0]
    addresses = [issuer.funded_address(10_000) for _ in range(4)]
    calls = []
    for number, (payer, payee) in enumerate(
        itertools.islice(itertools.cycle(itertools.permutations(addresses, 2)), CLIENTS)
    ):
        calls += paying(issuers[number % len(issuers) :], 1, payer, 1_500, destination_iban=payee["iban"])

    answers = race(calls)

    assert set(codes(answers)) <= {None, Status.NO_FUNDS}
    accounts = [address["account_id"] for address in addresses]
    assert sum(issuer.balances(account)[1] for account in accounts) == 40_000
    check(issuer, *accounts)


def test_only_one_of_many_parallel_returns_of_a_payment_succeeds(issuers: list[Issuer]) -> None:
    issuer = issuers[0]
    address = issuer.funded_address(5_000)
    came = issuer.inbound(address, 2_000)["epm_transaction_id"]
    calls = [partial(each.do, "inboundReturn", epm_transaction_id=came, reason=1) for each in issuers * 4]

    answers = race(calls)

    assert codes(answers) == {None: 1, Status.ALREADY_RETURNED: len(calls) - 1}
    books = check(issuer, address["account_id"])
    assert len(books.orders) == 1
    assert issuer.balances(address["account_id"])[1] == 5_000


def test_parallel_identical_transfers_create_one_payment_and_one_order(issuers: list[Issuer]) -> None:
    issuer = issuers[0]
    address = issuer.funded_address(100_000)
    members = {"request_reference_id": issuer.reference()}
    calls = [
        partial(each.transfer, address, 100, **members)
        for each, _ in zip(itertools.cycle(issuers), range(CLIENTS), strict=False)
    ]

    answers = race(calls)

    assert codes(answers) == {None: CLIENTS}
    assert sorted(answer.duplicated for answer in answers) == [0] + [1] * (CLIENTS - 1)
    assert len({answer.raw.replace('"duplicated":0', '"duplicated":1') for answer in answers}) == 1
    books = check(issuer, address["account_id"])
    assert out(books) == list(books.orders) == [answers[0].data["id"]]


@pytest.mark.parametrize(("name", "settled"), [("Silent Partner", True), ("Silent Partner", False), ("Lost", False)])
def test_a_scheduled_job_a_retry_and_a_provider_report_in_parallel_complete_a_payment_once(
    issuers: list[Issuer], name: str, settled: bool
) -> None:
    issuer = issuers[0]
    address = issuer.funded_address(10_000)
    members = {"request_reference_id": issuer.reference(), "destination_account_name": name}
    assert issuer.transfer(address, 4_000, **members).status_code == Status.IN_PROGRESS
    (payment,) = out(StoredMoney(issuer.causeway, [address["account_id"]]))
    for each in issuers:
        each.clock.advance(_WAIT_FOR_THE_SCHEDULE)
    runs: list[Callable[[], Any]] = [partial(each.hub.cards.call, finish_due_payments) for each in issuers]
    repeats = [partial(decided, partial(each.transfer, address, 4_000, **members)) for each in issuers]
    reported = {"epm_transaction_id": payment, "result": "settled"}
    reports = [partial(decided, partial(each.sim, "simulateOutboundResult", **reported)) for each in issuers]

    _, repeated, heard = split(at_once([*runs, *repeats, *(reports if settled else ())]), len(issuers))

    assert codes(repeated + heard) == {None: len(repeated) + len(heard)}
    assert len({answer.raw for answer in repeated}) == 1
    assert issuer.balances(address["account_id"]) == (6_000, 6_000 if settled else 10_000, 0)
    assert list(check(issuer, address["account_id"]).orders) == [payment]


def test_a_scheduled_job_that_completes_a_payment_first_stores_the_response(
    new_issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider call takes more than a minute. The request then returns the response stored by the scheduled job."""
    address, other = new_issuer.funded_address(10_000), new_issuer.with_own_clock()
    provider = new_issuer.hub.cards.payment_provider
    submit: Callable[[ProviderOrder], Receipt] = provider.submit

    def slowly(order: ProviderOrder) -> Receipt:
        receipt = submit(order)
        other.clock.advance(_WAIT_FOR_THE_SCHEDULE)
        assert at_once([lambda: other.hub.cards.call(finish_due_payments)]) == [1]
        return receipt

    monkeypatch.setattr(provider, "submit", slowly)
    members = {"request_reference_id": new_issuer.reference()}
    answer, again = (new_issuer.transfer(address, 4_000, **members) for _ in range(2))

    assert answer.status == "success"
    assert answer.duplicated == 0
    assert again.duplicated == 1
    assert answer.data == again.data
    books = check(new_issuer, address["account_id"])
    assert list(books.orders) == [answer.data["id"]]


def test_balances_equal_the_sums_of_their_ledger_rows_after_mixed_parallel_payments(issuers: list[Issuer]) -> None:
    issuer, dice = issuers[0], random.Random(7)
    holder = issuer.holder(country_ison=BRITAIN)
    addresses = [issuer.funded_address(20_000, GBP, holder_id=holder) for _ in range(3)] + [
        issuer.funded_address(20_000, EUR)
    ]
    came = [issuer.inbound(address, 700)["epm_transaction_id"] for address in addresses for _ in range(4)]
    debits = [
        issuer.debit(issuer.mandate(address), 900)["epm_transaction_id"] for address in addresses for _ in range(3)
    ]
    paid = [issuer.pending_payment(address, 300) for address in addresses for _ in range(4)]

    def one(each: Issuer, number: int) -> Callable[[], Envelope]:
        address, reference = dice.choice(addresses), {"request_reference_id": issuer.reference()}
        home = {"destination_iban": dice.choice([a for a in addresses[:3] if a is not address])["iban"]}
        name = {"destination_account_name": dice.choice(["Alice", "Refuse", "Silent", "Lost"])}
        incoming = {"epm_address_id": address["id"], "amount": 450, "currency_ison": address["currency_ison"]}
        incoming |= {"scheme": "FPS" if address["currency_ison"] == GBP else "SCT", "sender_name": "Bob"}
        fee = {"account_id": address["account_id"], "fee_group_id": 301, "fee_code": "CARDREPL", "description": "Card"}
        ways: list[Callable[[], Envelope]] = [
            partial(each.transfer, address, 1_100, **reference, **name),
            partial(each.transfer, dice.choice(addresses[:3]), 800, **reference, **home),
            partial(each.sim, "simulateInboundPayment", **incoming, **reference),
            partial(each.do, "inboundReturn", epm_transaction_id=dice.choice(came), reason=1, **reference),
            partial(each.sim, "simulateDirectDebit", epm_transaction_id=dice.choice(debits), **reference),
            partial(
                each.do, "directDebitReturn", returned_epm_transaction_id=dice.choice(debits), reason="0", **reference
            ),
            partial(each.do, "createCustomFee", **fee, **reference),
            partial(
                each.sim,
                "simulateOutboundResult",
                epm_transaction_id=dice.choice(paid),
                result=dice.choice(["settled", "rejected", "returned"]),
                **reference,
            ),
        ]
        return ways[number % len(ways)]

    def patient(call: Callable[[], Envelope]) -> Envelope:
        """Retry a call only after conflicts. The scheduled job completes pending payments."""
        answers = (call() for _ in itertools.count())
        return next(answer for answer in answers if answer.status_code != Status.CONFLICT)

    calls = [
        partial(patient, one(each, number))
        for each, number in zip(itertools.cycle(issuers), range(4 * CLIENTS), strict=False)
    ]
    answers = [answer for start in range(0, len(calls), CLIENTS) for answer in at_once(calls[start : start + CLIENTS])]

    settle_down(issuers)
    assert Status.INTERNAL not in codes(answers)
    assert codes(answers)[None] > CLIENTS
    check(issuer, *(address["account_id"] for address in addresses))
