"""The ledger commands verify the ledger of a running service, report each inconsistency, and list rows."""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import pytest

from chalicelib.cards.payments.payment_record import ExternalPayment
from chalicelib.cards.reconciliation import account_proof
from chalicelib.cards.reconciliation.account_proof import prove_account
from chalicelib.foundation.dynamodb.errors import AnswerLost
from chalicelib.foundation.dynamodb.store import SENDINGS, Item, Store
from infra import progress
from infra.admin import connection, ledger_verification
from tests.cards.contest import at_once, processes
from tests.cards.issuer import EUR, GBP, Issuer
from tests.causeway import Causeway
from tests.infra.admin.command_line import done, refused, run

ABROAD = {"destination_iban": "DE89370400440532013000", "destination_account_name": "Al"}
TURNS = 3
AT_HOME = "payment at home"
WITHOUT_BOOKS = "with a ledger: its ledger is created with its first address"
MANAGERS_AND_OWN = "its programme manager and its own id: MANAGER.ID"


@dataclass
class Money:
    """A payer in GBP and a payee in EUR, each with a SEPA address, and a special account."""

    issuer: Issuer
    payer: int
    payee: int
    address: dict[str, Any]
    home: dict[str, Any]
    special: dict[str, Any]

    def receive(self, address: int, amount: int) -> Any:
        members = {"epm_address_id": address, "amount": amount, "currency_ison": EUR}
        return self.issuer.data("simulateInboundPayment", **members, scheme="SCT", sender_name="Bob")

    def pay(self, amount: int, **members: Any) -> int:
        sent = {"epm_address_id": self.address["id"], "amount": amount, "currency_ison": EUR}
        return int(self.issuer.data("transferToExternalPayment", **sent | ABROAD | members)["id"])

    def settle(self, payment: int, result: str = "settled") -> None:
        self.issuer.data("simulateOutboundResult", epm_transaction_id=payment, result=result)


@pytest.fixture(autouse=True)
def connected(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Causeway:
    monkeypatch.setattr(connection, "connect", lambda: causeway.hub)
    return causeway


@pytest.fixture
def money(causeway: Causeway) -> Money:
    """Receive 1000.00 EUR, and pay 20.00 (settled), 30.00 (pending), 40.00 (internal), and 5.00 (special account)."""
    issuer = Issuer(causeway)
    payer, payee = issuer.account(currency_ison=GBP), issuer.account(currency_ison=EUR)
    opening = {"epm_method_id": 2, "currency_ison": EUR}
    (address,) = issuer.data("assignExternalPaymentAddress", account_id=payer, **opening)
    (home,) = issuer.data("assignExternalPaymentAddress", account_id=payee, **opening)
    (special,) = issuer.data("assignExternalPaymentAddressForSpecialAccount", special_account_id=802, **opening)
    money = Money(issuer, payer, payee, address, home, special)
    money.receive(address["id"], 100_000)
    money.settle(money.pay(2_000))
    money.pay(3_000)
    money.pay(4_000, destination_iban=home["iban"])
    money.pay(500, destination_iban=special["iban"])
    return money


def owner(number: int) -> str:
    return f"account#{number}"


def books(document: Any) -> dict[tuple[str, int], int]:
    return {(each["book"], each["currency"]): each["amount"] for each in document["books"]}


def test_ledger_verify_reports_the_number_of_accounts_and_rows_and_the_totals_of_the_books(money: Money) -> None:
    found = done("ledger", "verify")

    counted = {name: found[name] for name in ("good", "accounts", "special_accounts", "rows", "not_compared")}
    assert counted == {"good": True, "accounts": 2, "special_accounts": 1, "rows": 8, "not_compared": 0}
    assert found["transactions"] == 6
    stands = books(found)
    assert stands["external", EUR] == -98_000
    assert stands["account:settled", EUR] == 4_000
    assert stands["special_account:settled", EUR] == 500
    assert stands["pending", GBP] == -stands["account:held", GBP] < 0
    for currency in (GBP, EUR):
        assert sum(amount for (_, of), amount in stands.items() if of == currency) == 0


def test_ledger_verify_prints_amounts_in_major_units_and_omits_totals_of_zero(money: Money) -> None:
    text = run("ledger", "verify").stdout

    assert text.startswith("The ledger is consistent: accounts 2, special accounts 1, rows 8, transactions 6.\n\nbook ")
    assert re.search(r"^external +-980.00 EUR$", text, re.MULTILINE)
    assert re.search(r"^settled, special accounts +5.00 EUR$", text, re.MULTILINE)
    assert "reserved" not in text


def test_ledger_verify_accepts_an_empty_ledger() -> None:
    assert (
        run("ledger", "verify").stdout
        == "The ledger is consistent: accounts 0, special accounts 0, rows 0, transactions 0.\n"
    )


def test_page_and_batch_sizes_do_not_change_the_ledger_verification(
    money: Money, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = done("ledger", "verify")

    for module, name in (
        *((ledger_verification, "AT_ONCE"), (ledger_verification, "READS_AT_ONCE"), (account_proof, "PAGE")),
        *(
            (account_proof, "READ_TOGETHER"),
            (ledger_verification, "READ_TOGETHER"),
            (account_proof, "TRANSACTIONS_TOGETHER"),
        ),
    ):
        monkeypatch.setattr(module, name, 1)

    assert done("ledger", "verify") == whole


@pytest.mark.parametrize("lost", [1, 4, 5])
def test_ledger_verify_retries_reads_with_lost_responses(
    money: Money, monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    whole, real = done("ledger", "verify"), Store.call_once
    sent: Counter[str] = Counter()

    def lossy(store: Store, operation: str, request: Item) -> Item:
        name = f"{operation} {request!r}"
        sent[name] += 1
        if sent[name] <= lost:
            raise AnswerLost("no answer came in time")
        return real(store, operation, request)

    monkeypatch.setattr(Store, "call_once", lossy)

    assert done("ledger", "verify") == whole
    assert money.issuer.hub.store.read_sendings == SENDINGS
    sent.clear()
    with pytest.raises(AnswerLost) if lost >= SENDINGS else nullcontext():
        ledger_verification.prove_ledger(money.issuer.hub.store)


def test_ledger_verify_reports_a_lost_storage_response_as_a_one_line_error_message(
    money: Money, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object, **__: object) -> Any:
        raise AnswerLost("no answer came in time")

    monkeypatch.setattr(Store, "call_once", gone)

    assert refused("ledger", "verify") == "no answer came in time"


def test_ledger_verify_prints_progress_to_standard_error(money: Money, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0)

    result = run("ledger", "verify", "--json")

    proven = json.loads(result.stdout)
    lines = [line.partition("s  ")[2] for line in result.stderr.splitlines()]
    assert f"accounts {proven['accounts'] + proven['special_accounts']}, rows {proven['rows']}" in lines
    assert "movements shared by several accounts" in lines
    assert {re.sub(r" [\d,]+$", "", line) for line in lines} >= {
        "records of external payments",
        "transaction ids and card lists: records",
    }


def test_a_short_ledger_verification_prints_no_progress(money: Money) -> None:
    assert run("ledger", "verify").stderr == ""


def test_ledger_verify_verifies_a_single_account(money: Money) -> None:
    found = done("ledger", "verify", "--account", str(money.payee))
    special = done("ledger", "verify", "--special", "1.802")

    assert found == {
        "good": True,
        "account": owner(money.payee),
        "currency": EUR,
        "rows": 1,
        "transactions": 1,
        "settled": 4_000,
        "held": 0,
        "reserved": 0,
    }
    assert (special["account"], special["settled"]) == ("special_account#1.802", 500)
    assert (
        "account 2 is consistent: rows 1, transactions 1."
        in run("ledger", "verify", "--account", str(money.payee)).stdout
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("verify", "--account", "999"), "there is no account 999"),
        (("verify", "--special", "1.999"), f"there is no special account 1.999 {WITHOUT_BOOKS}"),
        (("verify", "--special", "17"), f"a special account is identified by {MANAGERS_AND_OWN}"),
        (("verify", "--special", "1.x"), "'1.x' is not an account: pass an id, or MANAGER.ID for a special account"),
        (("verify", "--account", "1", "--special", "1.802"), "pass an account or a special account, not both"),
        (("show", "999"), "there is no account 999"),
        (("show", "x"), "'x' is not an account: pass an id, or MANAGER.ID for a special account"),
    ],
)  # fmt: skip
def test_ledger_verify_rejects_an_unknown_or_invalid_account(arguments: tuple[str, ...], sentence: str) -> None:
    assert refused("ledger", *arguments) == sentence


# -- what is broken


Tamper = Callable[[Money], None]


def row_key(number: int, account: int) -> Item:
    return {"owner": owner(account), "part": f"movement#{number:012}"}


def changing(table: str, key: Callable[[Money], Item], **members: Any) -> Tamper:
    return lambda money: void(money.issuer.hub.store.update(table, key(money), set=members))


def removing(key: Callable[[Money], Item]) -> Tamper:
    return lambda money: money.issuer.hub.store.delete("ledger", key(money))


def void(_: object) -> None:
    """Discard the argument."""


def the_account(money: Money) -> Item:
    return {"owner": owner(money.payer), "part": "account"}


def first_row(money: Money) -> Item:
    return row_key(1, money.payer)


def the_transaction(money: Money) -> Item:
    (row,) = money.issuer.hub.store.rows("ledger", ("owner", owner(money.payee)), sort_prefix=("part", "transaction#"))
    return row


def its_key(money: Money) -> Item:
    row = the_transaction(money)
    return {"owner": row["owner"], "part": row["part"]}


def its_pointer(money: Money) -> Item:
    return {"owner": f"transaction#{the_transaction(money)['id']}", "part": "transaction"}


def pending(money: Money) -> ExternalPayment:
    payments = [item for item in money.issuer.hub.store.scan("external-payments") if item.get("held")]
    (payment,) = map(ExternalPayment.from_item, payments)
    return payment


def payment_key(money: Money) -> Item:
    return pending(money).key(pending(money).id)[1]


def forged_row(money: Money) -> None:
    """Change the book name in the payee's row of the internal movement. The row still balances."""
    store, key = money.issuer.hub.store, row_key(1, money.payee)
    row = store.get("ledger", key)
    assert row is not None
    renamed = [
        ["fees" if book == "conversion" else book, currency, amount] for book, currency, amount in row["entries"]
    ]
    store.update("ledger", key, set={"entries": renamed})


def disowned_row(money: Money) -> None:
    """Remove the payer from the payee's row of the internal movement."""
    store, key = money.issuer.hub.store, row_key(1, money.payee)
    row = store.get("ledger", key)
    assert row is not None
    entries = [
        ["fees", *entry] if book.startswith(owner(money.payer)) else [book, *entry] for book, *entry in row["entries"]
    ]
    store.update("ledger", key, set={"entries": entries})


def row_of_nobody(money: Money) -> None:
    store = money.issuer.hub.store
    row = store.get("ledger", first_row(money))
    assert row is not None
    store.put("ledger", {**row, "owner": "account#99"})


def pointer_to_nothing(money: Money) -> None:
    store = money.issuer.hub.store
    pointer = store.get("ledger", its_pointer(money))
    assert pointer is not None
    store.put("ledger", {**pointer, "owner": "transaction#77", "part_of_account": "transaction#0#77"})


def uncounted_row(money: Money) -> None:
    store = money.issuer.hub.store
    row = store.get("ledger", first_row(money))
    assert row is not None
    store.put("ledger", {**row, "part": "movement#000000000009", "at": row["at"] + 10_000})


def later_transaction(money: Money) -> None:
    store, row = money.issuer.hub.store, the_transaction(money)
    pointer = store.get("ledger", its_pointer(money))
    assert pointer is not None
    part = f"transaction#{row['at'] + 10_000:013}#00000000078"
    store.put("ledger", {**row, "part": part, "id": 78, "at": row["at"] + 10_000})
    store.put("ledger", {**pointer, "owner": "transaction#78", "part_of_account": part})


def held_otherwise(money: Money) -> None:
    money.issuer.hub.store.update("external-payments", payment_key(money), set={"held": 1})


def payment_of_nobody(money: Money) -> None:
    money.issuer.hub.store.update("external-payments", payment_key(money), set={"account_id": 99})


@pytest.mark.parametrize(
    ("tamper", "sentence"),
    [
        (
            changing("cards", the_account, settled=1),
            "account#1: its settled balance is 0.01 GBP, but its 6 rows add up to ",
        ),
        (changing("cards", the_account, movements=7), "account#1: its row count is 7, but it has 6 rows"),
        (removing(first_row), "account#1, row 2: row 1 before it is missing"),
        (
            changing("ledger", first_row, settled=1),
            "account#1, row 1: the settled balance after it is 0.01 GBP, but the rows add up to ",
        ),
        (
            removing(its_key),
            "account#2, row 1: the booked amount is 40.00 EUR, but its transactions add up to 0.00 EUR",
        ),
        (removing(its_pointer), "account#2: the lookup of its transaction [0-9]+ of .* by id finds nothing"),
        (
            changing("ledger", its_pointer, account="account#1"),
            "account#2: the lookup of its transaction [0-9]+ of .* by id finds a different",
        ),
        (pointer_to_nothing, "account#2: it has no transaction 77, but an id refers to it"),
        (later_transaction, "account#2: its transaction 78 belongs to no row"),
        (forged_row, "account#[12], row [15]: its entries differ from those of row [15] of account [12]"),
        (disowned_row, "account#[12], row [15]: its entries differ from those of row [15] of account [12]"),
        (row_of_nobody, "account#99: it has rows, but there is no such account"),
        (uncounted_row, "account#1: its row 9 is not included in its row count"),
        (held_otherwise, "account#1: its rows hold .* GBP for payment [0-9]+, whose record holds 0.01 GBP"),
        (payment_of_nobody, "account#99: there is no such account, but payment [0-9]+ holds money on it"),
    ],
)
def test_ledger_verify_reports_the_account_the_row_and_the_problem_of_each_inconsistency(
    money: Money, tamper: Tamper, sentence: str
) -> None:
    tamper(money)

    printed = run("ledger", "verify", "--json")

    assert printed.exit_code == 1
    found = json.loads(printed.stdout)
    place = f", row {found['broken']['row']}" if found["broken"]["row"] else ""
    assert found["good"] is False
    assert re.match(sentence, f"{found['broken']['account']}{place}: {found['broken']['problem']}"), found


def test_ledger_verify_prints_an_inconsistency_with_cause_and_time_of_the_row(money: Money) -> None:
    changing("ledger", first_row, settled=1)(money)

    told = run("ledger", "verify")

    place = "account 1, row 1 (payment in, 2026-03-02T09:00:00.000+00:00)"
    assert told.exit_code == 1
    assert told.stdout.startswith(
        f"The ledger is broken.\n{place}: the settled balance after it is 0.01 GBP, but the rows add up to "
    )


def test_ledger_verify_for_one_account_checks_all_accounts_of_each_movement(money: Money) -> None:
    forged_row(money)
    alone = str(money.payer)

    assert "its entries differ from those of row" in run("ledger", "verify", "--account", alone).stdout

    money.issuer.hub.store.delete("ledger", row_key(1, money.payee))
    told = run("ledger", "verify", "--account", alone)
    assert (told.exit_code, "it also moves account 2, which has no corresponding row" in told.stdout) == (1, True)


# -- while the service works


def test_ledger_verify_includes_a_movement_made_after_the_account_was_read(money: Money) -> None:
    """The verification reads the account before a payment is made, and the account's rows after the payment."""
    with money.issuer.causeway.meanwhile("query", lambda: money.pay(700)):
        found = done("ledger", "verify", "--account", str(money.payer))

    assert (found["good"], found["rows"]) == (True, 7)


def test_ledger_verify_accepts_a_payment_settled_before_the_payment_record_is_read(money: Money) -> None:
    """The verified ledger rows contain held money. The payment record, read after the settlement, contains none."""
    payment, store = pending(money).id, money.issuer.hub.store
    real = store.batch_get

    def read(keys: Sequence[tuple[str, Item]]) -> list[Item | None]:
        if any(key["owner"] == f"external_payment#{payment}" for _, key in keys):
            vars(store).pop("batch_get", None)
            money.settle(payment)
        return real(keys)

    vars(store)["batch_get"] = read
    found = done("ledger", "verify")

    assert books(found)["account:held", GBP] == 0
    assert "batch_get" not in vars(store)


def test_ledger_verify_reports_no_mismatch_for_a_transfer_during_the_verification(money: Money) -> None:
    """Money moves between two accounts after the first account is verified and before the second is verified."""
    proved: list[str] = []

    def look(store: Store, account: Item, *more: Any) -> Any:
        if len(proved) == 1:
            money.pay(100, destination_iban=money.home["iban"])
            money.pay(100, destination_iban=money.special["iban"])
        proved.append(account["owner"])
        return prove_account(store, account, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger_verification, "AT_ONCE", 1)
        patch.setattr(ledger_verification, "prove_account", look)
        found = done("ledger", "verify")

    assert found["good"] is True
    assert len(proved) == 3


# -- reading rows


def test_ledger_show_lists_rows_newest_first(money: Money) -> None:
    found = done("ledger", "show", str(money.payer), "--limit", "2")

    assert {name: found[name] for name in ("account", "currency", "movements")} == {
        "account": owner(money.payer),
        "currency": GBP,
        "movements": 6,
    }
    latest, before = found["rows"]
    assert [(row["row"], row["cause"]) for row in (latest, before)] == [(6, AT_HOME), (5, AT_HOME)]
    assert latest["at"] == "2026-03-02T09:00:00.005+00:00"
    taken = latest["settled"] - before["settled"]
    assert latest["entries"][0] == {"book": "account#1:settled", "currency": GBP, "amount": taken}
    assert {"book": "special_account#1.802:settled", "currency": EUR, "amount": 500} in latest["entries"]
    assert latest["settled"] == found["settled"]
    assert latest["payment"] is not None


def test_ledger_show_prints_the_entries_of_the_account_first(money: Money) -> None:
    text = run("ledger", "show", "1.802").stdout

    head, _, columns, row = text.splitlines()
    assert head == "Special account 1.802: settled 5.00 EUR, held 0.00 EUR, reserved 0.00 EUR; rows 1"
    assert columns.split() == ["row", "at", "cause", "about", "entries", "settled", "held", "reserved"]
    assert re.match(
        rf"1 +2026-03-02T09:00:00.000\+00:00 +{AT_HOME} +payment [0-9]+ +settled 5.00 EUR; account#1:settled -", row
    )


def test_ledger_verify_accepts_an_account_without_a_row_counter(causeway: Causeway) -> None:
    """The stored item of an account that is older than the ledger has no row counter, and the account has no ledger
    rows.
    """
    account = Issuer(causeway).account()
    key = {"owner": f"account#{account}", "part": "account"}
    causeway.hub.store.update("cards", key, remove=["movements", "last_at"])

    assert done("ledger", "verify", "--account", str(account))["rows"] == 0
    assert done("ledger", "show", str(account))["movements"] == 0
    assert done("ledger", "verify")["good"] is True


def test_ledger_show_prints_the_balances_of_an_account_without_rows(causeway: Causeway) -> None:
    number = Issuer(causeway).account(currency_ison=EUR)

    assert run("ledger", "show", str(number)).stdout.endswith("reserved 0.00 EUR; rows 0\n")


@pytest.mark.dynamodb
@pytest.mark.faults
def test_ledger_verify_succeeds_during_payments_of_several_processes(money: Money) -> None:
    before = ledger_verification.prove_ledger(money.issuer.hub.store).rows
    movers = [replace(money, issuer=each) for each in processes(money.issuer)[:3]]
    moving, proved_twice = threading.Event(), threading.Event()

    def move(mover: Money) -> int:
        for turn in range(10 * TURNS):
            if turn >= TURNS and proved_twice.is_set():
                return turn
            mover.receive(mover.address["id"], 5_000)
            mover.pay(100, destination_iban=mover.home["iban"])
            mover.pay(100, destination_iban=mover.special["iban"])
            sent = mover.pay(300)
            mover.settle(sent, "rejected" if turn % 2 else "settled")
        return 10 * TURNS

    def prove() -> int:
        proofs = 0
        while not moving.is_set():
            ledger_verification.prove_ledger(money.issuer.hub.store)
            proofs += 1
            if proofs == 2:
                proved_twice.set()
        return proofs

    def moved() -> int:
        try:
            with ThreadPoolExecutor(len(movers)) as pool:
                return sum(pool.map(move, movers))
        finally:
            moving.set()

    proofs, turns = at_once([prove, moved])

    proven = ledger_verification.prove_ledger(money.issuer.hub.store)
    assert proofs > 1
    assert proven.rows == before + turns * 7
