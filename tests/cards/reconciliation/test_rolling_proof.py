"""Tests of the rolling ledger check: each round checks every account, and mismatches are tracked until repaired."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from app import app
from chalicelib.cards import jobs
from chalicelib.cards.payments.payment_record import ExternalPayment
from chalicelib.cards.reconciliation import account_proof, rolling_proof
from chalicelib.cards.reconciliation.account_proof import LOOKS
from chalicelib.cards.reconciliation.progress_record import MOST_BROKEN, ROUND_SECONDS, Progress
from chalicelib.foundation.dynamodb.store import Item, Store, StoreUnavailable
from infra.deploy.functions import BY_NAME
from tests.cards.issuer import DAY, EUR, SPECIAL_EUR
from tests.cards.reconciliation.conftest import Ledger
from tests.cards.stored_money import movements
from tests.kit.documents import OPERATIONS, rows, section
from tests.kit.logs import Lines, metric_values
from tests.kit.time import run_schedule

SPECIAL = f"special_account#1.{SPECIAL_EUR}"
Tamper = Callable[[Ledger], object]


# -- rounds


def test_a_ledger_check_round_checks_every_account_and_special_account_once(ledger: Ledger, lines: Lines) -> None:
    progress = ledger.go_on()

    assert progress.is_over is True
    assert progress.proved == 3
    assert progress.broken == ()
    [line] = [line for line in lines.all() if line["message"] == "ledger proved"]
    assert (line["accounts"], line["broken"]) == (3, [])


def test_a_ledger_check_round_checks_a_special_account_with_several_addresses_once(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several addresses of one special account can be part of different steps of the check."""
    opening = {"epm_method_id": 2, "currency_ison": EUR, "special_account_id": SPECIAL_EUR}
    for _ in range(2):
        ledger.issuer.data("assignExternalPaymentAddressForSpecialAccount", **opening)
    assert ledger.go_on().proved == 3

    monkeypatch.setattr(rolling_proof, "LOOKED_UP", 1)
    assert ledger.next_round().proved == 3


def test_a_ledger_check_round_starts_a_day_after_the_start_of_the_previous_round(ledger: Ledger) -> None:
    began = ledger.go_on().began_at
    ledger.issuer.clock.advance(ROUND_SECONDS - 1)
    assert ledger.go_on().began_at == began

    ledger.issuer.clock.advance(1)
    progress = ledger.go_on()
    assert progress.began_at == began + ROUND_SECONDS
    assert progress.before_began_at == began
    assert progress.proved == 3


def test_an_account_created_during_a_ledger_check_round_is_checked_in_that_round(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rolling_proof, "LOOKED_UP", 1)
    ledger.go_on(ledger.issuer.clock.monotonic() - 1)
    made = ledger.issuer.account()
    ledger.account(made, settled=1)

    assert ledger.go_on().broken == (f"account#{made}",)


def test_the_reported_progress_includes_the_longest_time_since_an_account_was_checked(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ledger.issuer.clock
    ledger.go_on()
    clock.advance(3600)
    assert ledger.progress.age(clock.time()) == 3600

    monkeypatch.setattr(rolling_proof, "LOOKED_UP", 1)
    clock.advance(ROUND_SECONDS)
    cut_off = stopped_after(ledger, 1)
    assert (cut_off.is_over, cut_off.age(clock.time())) == (False, ROUND_SECONDS + 3601)


# -- what is broken


@pytest.mark.parametrize(
    ("tamper", "problem"),
    [
        (lambda ledger: ledger.account(ledger.first, settled=1), "its settled balance is 0.01 EUR"),
        (
            lambda ledger: ledger.row(f"account#{ledger.first}", 1, settled=1),
            "the settled balance after it is 0.01 EUR",
        ),
        (
            lambda ledger: ledger.row(SPECIAL, 1, at=1),
            "the booked amount is 5.00 EUR, but its transactions add up to 0.00 EUR",
        ),
        (
            lambda ledger: ledger.store.update(*ExternalPayment.key(ledger.payment), set={"held": 1}),
            "its rows hold 30.00 EUR for payment",
        ),
        (lambda ledger: ledger.store.update("cards", cards_key(ledger.first), remove=["currency"]), "cannot be read"),
    ],
)
def test_a_mismatch_is_logged_and_counted_and_all_accounts_are_checked(
    ledger: Ledger, tamper: Tamper, problem: str, lines: Lines, capsys: pytest.CaptureFixture[str]
) -> None:
    tamper(ledger)
    progress = ledger.go_on()

    assert (len(progress.broken), progress.proved) == (1, 3)
    [line] = [line for line in lines.all() if line["message"] == "ledger broken"]
    assert (line["level"], line["account"]) == ("ERROR", progress.broken[0])
    assert re.search(problem, line["problem"]), line
    written = capsys.readouterr().out
    assert metric_values(written, "LedgerBreaks", Stage="local") == [1]
    assert metric_values(written, "ProvedAccounts", Stage="local") == [3]


def cards_key(number: int) -> Item:
    return {"owner": f"account#{number}", "part": "account"}


def test_an_inconsistent_account_is_checked_in_every_run_until_the_repair(
    ledger: Ledger, lines: Lines, capsys: pytest.CaptureFixture[str]
) -> None:
    settled = ledger.account(ledger.first, settled=1)["settled"]
    for _ in range(3):
        assert ledger.go_on().broken == (f"account#{ledger.first}",)
        ledger.issuer.clock.advance(3600)
    ledger.account(ledger.first, settled=settled)
    assert ledger.go_on().broken == ledger.progress.broken == ()

    assert metric_values(capsys.readouterr().out, "LedgerBreaks", Stage="local") == [1, 1, 1, 0]
    told = [line["message"] for line in lines.all() if line["message"].startswith("ledger ")]
    assert told == ["ledger broken", "ledger proved", "ledger broken", "ledger broken", "ledger consistent again"]


def test_a_deleted_account_with_ledger_rows_remains_a_mismatch(ledger: Ledger) -> None:
    ledger.account(ledger.second, settled=1)
    ledger.go_on()
    ledger.store.delete("cards", cards_key(ledger.second))

    assert ledger.go_on().broken == (f"account#{ledger.second}",)


def test_a_movement_row_missing_in_another_account_is_a_mismatch(ledger: Ledger) -> None:
    ledger.forget_payments_to(ledger.second)

    assert ledger.go_on().broken == (f"account#{ledger.first}",)


def forge(ledger: Ledger) -> None:
    """Rename a book in the row of the second account. The entries of the row still sum to zero."""
    renamed = [
        ["fees" if book.startswith(f"account#{ledger.first}:") else book, currency, amount]
        for book, currency, amount in ledger.row(f"account#{ledger.second}", 1)["entries"]
    ]
    ledger.row(f"account#{ledger.second}", 1, entries=renamed)


def test_different_rows_of_one_movement_are_found_in_any_read_order(ledger: Ledger) -> None:
    forge(ledger)
    broken = ledger.go_on().broken

    assert broken
    assert set(broken) <= {f"account#{ledger.first}", f"account#{ledger.second}"}
    assert f"account#{ledger.first}" in ledger.go_on().broken


def test_an_account_with_too_many_rows_is_logged_and_not_checked(
    ledger: Ledger, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rolling_proof, "MOST_ROWS", 3)

    assert ledger.go_on().proved == 2
    [line] = [line for line in lines.all() if line["message"] == "account not proved"]
    assert (line["account"], line["rows"]) == (f"account#{ledger.first}", len(movements(ledger.issuer, ledger.first)))


@pytest.mark.parametrize(("most", "at_once"), [(4, 16), (5, 16), (50_000, 1), (50_000, 2)])
def test_a_ledger_check_round_checks_all_accounts_in_small_steps(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, most: int, at_once: int
) -> None:
    """The three accounts have 4, 1 and 1 rows."""
    monkeypatch.setattr(rolling_proof, "MOST_ROWS", most)
    monkeypatch.setattr(rolling_proof, "AT_ONCE", at_once)

    assert ledger.go_on().proved == 3


# -- runs


def stopped_after(ledger: Ledger, steps: int) -> Progress:
    """Run the check with a time limit that ends the run after ``steps`` steps of one second each."""
    clock, real = ledger.issuer.clock, rolling_proof.prove_next

    def step(*arguments: Any) -> Progress:
        clock.advance(1)
        return real(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rolling_proof, "prove_next", step)
        return ledger.go_on(clock.monotonic() + steps)


def test_a_ledger_check_run_continues_a_previous_run_that_reached_its_time_limit(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rolling_proof, "LOOKED_UP", 1)
    proved = []
    while not (progress := stopped_after(ledger, 1)).is_over:
        proved.append(progress.proved)

    assert (proved[:2], progress.proved) == ([1, 2], 3)


def test_a_ledger_check_run_continues_a_failed_run_from_the_saved_progress(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rolling_proof, "LOOKED_UP", 1)
    ledger.account(ledger.first, settled=1)
    real = account_proof.prove_account

    def dies(store: Store, account: Item, *more: Any) -> object:
        if account["owner"] == f"account#{ledger.second}":
            raise StoreUnavailable("DynamoDB cannot be reached")
        return real(store, account, *more)

    with monkeypatch.context() as patch:
        patch.setattr(rolling_proof, "prove_account", dies)
        with pytest.raises(StoreUnavailable):
            ledger.go_on()

    assert (ledger.progress.proved, ledger.progress.broken) == (1, (f"account#{ledger.first}",))
    assert ledger.go_on().proved == 3


def test_one_of_two_concurrent_ledger_check_runs_stops(ledger: Ledger, lines: Lines) -> None:
    with ledger.issuer.causeway.meanwhile("put", ledger.go_on):
        given_way = ledger.go_on()

    assert given_way.is_over is False
    assert ledger.progress.is_over is True
    assert ledger.progress.proved == 3
    assert [line["message"] for line in lines.all()].count("ledger proved") == 1


def test_concurrent_payments_cause_no_mismatch_in_the_ledger_check(ledger: Ledger) -> None:
    """Payments run between the queries, reads and writes of the ledger check."""
    issuer, moved = ledger.issuer, 0
    addresses = {
        item["account_id"]: item
        for item in issuer.hub.store.scan("external-payments")
        if item["part"] == "external_address"
    }
    for call in ("query", "batch_get", "put"):
        issuer.clock.advance(ROUND_SECONDS)

        def pay() -> None:
            sent = {"epm_address_id": addresses[ledger.first]["id"], "amount": 100, "currency_ison": EUR}
            for to in (addresses[ledger.second], addresses[SPECIAL_EUR]):
                issuer.data(
                    "transferToExternalPayment", **sent, destination_iban=to["iban"], destination_account_name="Al"
                )

        with issuer.causeway.meanwhile(call, pay):
            progress = ledger.go_on()
        moved += 2
        assert (progress.is_over, progress.broken) == (True, ())

    assert len(movements(issuer, ledger.first)) == 4 + moved


def test_the_scheduled_job_runs_the_rolling_ledger_check(ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    run_schedule(app.handler_map["prove"])

    assert metric_values(capsys.readouterr().out, "ProvedAccounts", Stage="local") == [3]
    assert ledger.progress.is_over


def test_a_ledger_check_run_ends_before_the_timeout_of_its_function() -> None:
    """The test assumes that the last step finds inconsistent accounts and reads them again at 450 rows per second."""
    longest = max(rolling_proof.COMPARING_SECONDS, LOOKS * rolling_proof.MOST_ROWS / 450)

    assert jobs.PROVING_SECONDS + longest < BY_NAME["prove"].timeout


def test_the_documentation_contains_the_limits_of_the_rolling_ledger_check() -> None:
    told = {row[0]: row[1] for row in rows(section(OPERATIONS, "### The rolling ledger check"))}

    assert f"{jobs.PROVING_SECONDS // 60} minutes" in told["Run"]
    assert f"{rolling_proof.AT_ONCE} accounts" in told["Run"]
    assert f"after every {rolling_proof.AT_ONCE} accounts" in told["Progress"]
    assert f"Up to {MOST_BROKEN} broken accounts" in told["Mismatch"]
    assert f"Beyond {rolling_proof.MOST_SHARED} in a run" in told["Movements of several accounts"]
    assert f"Accounts with more than {rolling_proof.MOST_ROWS} rows" in told
    assert ROUND_SECONDS == DAY
