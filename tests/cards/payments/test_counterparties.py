"""Tests of the counterparties of external payments in events and in transaction rows of types 60 to 64."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from chalicelib.cards.payments.payment_record import ExternalPayment
from chalicelib.cards.payments.provider_completion import finish_due_payments
from chalicelib.delivery.delivery_record import BODY
from chalicelib.foundation import jsontext
from chalicelib.foundation.dynamodb.store import Put
from tests.cards.issuer import EUR, EXTERNAL_IBANS, SEPA, SPECIAL_EUR, UK, Issuer
from tests.cards.stored_money import transactions

Members = Mapping[str, Any]
ALWAYS = {"date_from": 0, "date_to": 99_999_999_999, "item_count": 100}
NAMES = ("counterparty_name", "counterparty_iban", "counterparty_sort_code", "counterparty_account_number", "scheme")
REMITTANCE = "description"
AMOUNT = 300


@pytest.fixture(scope="module")
def notified_issuer(issuer: Issuer) -> Iterator[Issuer]:
    with issuer.causeway.manager_wants_events():
        yield issuer


def rows(issuer: Issuer, account: int) -> list[Any]:
    found: list[Any] = issuer.data("getTransactions", **ALWAYS, account_id=account)
    return found


def row(issuer: Issuer, account: int, number: int) -> Any:
    return next(each for each in rows(issuer, account) if each["transaction_id"] == number)


def other_side(shown: Members) -> dict[str, Any]:
    return {name: shown[name] for name in (*NAMES, REMITTANCE) if name in shown}


def last_event(issuer: Issuer, number: int) -> Any:
    found = issuer.causeway.recorded("card_event")
    bodies = (
        jsontext.loads(issuer.hub.delivery.bodies.open(each.delivery_id, BODY, each.body_parts)) for each in found
    )
    states = [each["data"] for each in bodies if each["data"].get("epm_transaction_id") == number]
    return max(states, key=lambda each: "PSJR".index(each["state"]))


def both(issuer: Issuer, account: int, payment: int, transaction: int) -> dict[str, Any]:
    shown = other_side(row(issuer, account, transaction))
    assert other_side(last_event(issuer, payment)) == shown
    return shown


def sent_out(issuer: Issuer, method: int, **members: Any) -> tuple[int, int]:
    currency = {UK: 826, SEPA: EUR}[method]
    address = issuer.funded_address(10_000, currency)
    answer = issuer.transfer(address, AMOUNT, **{"destination_account_name": "Lantern Books"} | members)
    assert answer.status == "success", answer.raw
    return address["account_id"], answer.data["id"]


# -- each kind of payment


@pytest.mark.parametrize("scheme", ["FPS", "BACS", "SCT"])
def test_an_inbound_payment_has_its_sender_as_counterparty(notified_issuer: Issuer, scheme: str) -> None:
    address = notified_issuer.address(method=SEPA if scheme == "SCT" else UK)

    came = notified_issuer.inbound(address, AMOUNT, scheme=scheme, sender_name="Meadow Ltd", reference="Invoice 7")

    shown = both(notified_issuer, address["account_id"], came["epm_transaction_id"], came["transaction_id"])
    assert shown == {"counterparty_name": "Meadow Ltd", "scheme": scheme, "description": "Invoice 7"}
    assert row(notified_issuer, address["account_id"], came["transaction_id"])["reference_number"] == "Invoice 7"


@pytest.mark.parametrize(
    ("method", "destination", "account"),
    [
        (SEPA, {"destination_iban": EXTERNAL_IBANS[SEPA]}, {"counterparty_iban": EXTERNAL_IBANS[SEPA]}),
        (
            UK,
            {"destination_sort_code": "202015", "destination_account_number": "55555555"},
            {"counterparty_sort_code": "202015", "counterparty_account_number": "55555555"},
        ),
    ],
)
def test_the_counterparty_of_an_outbound_payment_is_the_payee_with_the_payees_account(
    notified_issuer: Issuer, method: int, destination: Members, account: Members
) -> None:
    words = {"description": "Rent of May", "reference_number": "FLAT 2"}
    number, payment = sent_out(notified_issuer, method, **destination, **words)

    settled = notified_issuer.result(payment, "settled")["transaction_id"]
    returned = notified_issuer.result(payment, "returned")["transaction_id"]

    expected = {"counterparty_name": "Lantern Books", **account, "description": "Rent of May"}
    scheme = {"scheme": "SCTINST" if method == SEPA else "FPS"}
    assert other_side(row(notified_issuer, number, settled)) == expected | scheme
    assert both(notified_issuer, number, payment, returned) == expected | scheme


def test_a_direct_debit_and_its_return_have_the_creditor_as_counterparty(notified_issuer: Issuer) -> None:
    address = notified_issuer.funded_address(10_000)
    account = address["account_id"]
    mandate = notified_issuer.mandate(address, creditor_name="Riverside Gym", reference="MEMBER-1042")
    collected = notified_issuer.debit(mandate, AMOUNT, passed=True)["epm_transaction_id"]
    debit = rows(notified_issuer, account)[-1]

    notified_issuer.data("directDebitReturn", returned_epm_transaction_id=collected, reason="MD06", reference="Refund")

    back = rows(notified_issuer, account)[-1]
    creditor = {"counterparty_name": "Riverside Gym", "description": "MEMBER-1042"}
    assert other_side(debit) == creditor
    scheme = {"scheme": "FPS"}  # by which the sandbox has sent it
    assert both(notified_issuer, account, back["epm_transaction_id"], back["transaction_id"]) == creditor | scheme
    assert (back["reference_number"], back["parent_transaction_id"]) == ("Refund", debit["transaction_id"])


def test_the_two_accounts_of_an_internal_transfer_are_counterparties_of_each_other(notified_issuer: Issuer) -> None:
    payer, payee = notified_issuer.funded_address(10_000), notified_issuer.address()
    words = {"description": "For May", "reference_number": "INVOICE 9"}
    paid = notified_issuer.transfer(payer, AMOUNT, destination_iban=payee["iban"], **words).data

    out, came = (
        row(notified_issuer, payer["account_id"], paid["transaction_id"]),
        rows(notified_issuer, payee["account_id"])[-1],
    )

    known = {
        "counterparty_name": payer["account_name"],
        "counterparty_iban": payer["iban"],
        "counterparty_sort_code": payer["sort_code"],
        "counterparty_account_number": payer["account_number"],
        "scheme": "FPS",
    }
    assert both(notified_issuer, payee["account_id"], came["epm_transaction_id"], came["transaction_id"]) == {
        **known,
        "description": "INVOICE 9",
    }
    to = {"counterparty_name": "Alice", "counterparty_iban": payee["iban"], "scheme": "FPS", "description": "For May"}
    assert other_side(out) == to
    back = notified_issuer.data("inboundReturn", epm_transaction_id=came["epm_transaction_id"], reason=1)[
        "transaction_id"
    ]
    assert other_side(row(notified_issuer, payee["account_id"], back)) == {**known, "description": "INVOICE 9"}
    assert other_side(rows(notified_issuer, payer["account_id"])[-1]) == to


def test_events_of_pending_and_bounced_payments_contain_the_counterparty(notified_issuer: Issuer) -> None:
    address = notified_issuer.funded_address(10_000)
    pending = notified_issuer.pending_payment(
        address, AMOUNT, destination_account_name="Lantern Books", description="Rent"
    )
    notified_issuer.data("changeExternalPaymentAddressStatus", epm_address_id=address["id"], status="S")
    bounced = notified_issuer.inbound(address, AMOUNT, sender_name="Meadow Ltd", reference="Invoice 8")[
        "epm_transaction_id"
    ]

    expected = {"counterparty_name": "Lantern Books", "counterparty_iban": EXTERNAL_IBANS[UK], "scheme": "FPS"}
    assert other_side(last_event(notified_issuer, pending)) == expected | {"description": "Rent"}
    assert other_side(last_event(notified_issuer, bounced)) == {
        "counterparty_name": "Meadow Ltd",
        "scheme": "FPS",
        "description": "Invoice 8",
    }


def test_rows_of_a_special_account_contain_the_counterparty(notified_issuer: Issuer) -> None:
    came = notified_issuer.inbound(
        notified_issuer.special_address(SPECIAL_EUR, SEPA), AMOUNT, sender_name="Meadow Ltd", scheme="SCT"
    )

    kept = [
        each["counterparty"]
        for each in _special(notified_issuer)
        if each["epm_transaction_id"] == came["epm_transaction_id"]
    ]

    assert kept == [{"counterparty_name": "Meadow Ltd", "scheme": "SCT"}]


def test_a_fee_of_a_payment_has_no_counterparty(notified_issuer: Issuer) -> None:
    account = notified_issuer.account(currency_ison=826, fee_group_id=304)
    notified_issuer.inbound(notified_issuer.address(account), 10_000)

    notified_issuer.result(notified_issuer.pending_payment(notified_issuer.address(account), AMOUNT), "settled")

    *_, main, fee = rows(notified_issuer, account)
    assert (main["transaction_type"], fee["transaction_type"]) == (61, 70)
    assert "counterparty_name" in other_side(main)
    assert other_side(fee).keys() == {"description"}


# -- returns


def test_a_returned_payment_shows_its_direction_and_its_original_transaction(notified_issuer: Issuer) -> None:
    address = notified_issuer.funded_address(10_000)
    account = address["account_id"]
    originals = {
        "in": notified_issuer.inbound(address, AMOUNT),
        "direct credit": notified_issuer.inbound(address, AMOUNT, scheme="BACS"),
    }
    for each, action in (("in", "inboundReturn"), ("direct credit", "directCreditReturn")):
        notified_issuer.data(action, epm_transaction_id=originals[each]["epm_transaction_id"])
    out = notified_issuer.pending_payment(address, AMOUNT)
    went = notified_issuer.result(out, "settled")
    notified_issuer.result(out, "returned")
    collected = notified_issuer.debit(notified_issuer.mandate(address), AMOUNT, passed=True)["epm_transaction_id"]
    debit = rows(notified_issuer, account)[-1]["transaction_id"]
    notified_issuer.data("directDebitReturn", returned_epm_transaction_id=collected, reason="0")

    returns = [each for each in rows(notified_issuer, account) if each["transaction_type"] in (63, 64)]

    assert [(each["transaction_type"], each["proc_code"], each["parent_transaction_id"]) for each in returns] == [
        (64, 640_000, originals["in"]["transaction_id"]),
        (64, 640_000, originals["direct credit"]["transaction_id"]),
        (63, 630_000, went["transaction_id"]),
        (63, 630_000, debit),
    ]


def test_a_sent_return_has_a_new_reference_and_a_received_return_has_the_payment_reference(
    notified_issuer: Issuer,
) -> None:
    payer, payee = notified_issuer.funded_address(10_000), notified_issuer.funded_address(10_000)
    number = notified_issuer.pending_payment(payer, AMOUNT, reference_number="Rent")
    notified_issuer.result(number, "settled")
    notified_issuer.result(number, "returned", reason="closed")
    destination = {f"destination_{name}": payee[name] for name in ("sort_code", "account_number")}
    notified_issuer.pending_payment(payer, AMOUNT, reference_number="Lunch", **destination)
    came = rows(notified_issuer, payee["account_id"])[-1]["epm_transaction_id"]
    notified_issuer.data("inboundReturn", epm_transaction_id=came, reference="Not ours", reason=1)

    came_back = [
        row["reference_number"] for row in rows(notified_issuer, payer["account_id"]) if row["transaction_type"] == 63
    ]
    sent_back = rows(notified_issuer, payee["account_id"])[-1]

    assert came_back == ["Rent", "Lunch"]
    assert (sent_back["transaction_type"], sent_back["reference_number"]) == (64, "Not ours")


def test_a_return_completed_by_the_scheduled_job_shows_the_original_transaction(notified_issuer: Issuer) -> None:
    issuer = notified_issuer.with_own_clock()
    address = issuer.address()
    came = issuer.inbound(address, AMOUNT, sender_name="Lost Bob", reference="Invoice 7")
    answer = issuer.do("inboundReturn", epm_transaction_id=came["epm_transaction_id"], reference="Not ours")
    assert answer.status_code == 8001

    issuer.clock.advance(60)
    issuer.hub.cards.call(finish_due_payments)

    back = rows(issuer, address["account_id"])[-1]
    assert (back["transaction_type"], back["parent_transaction_id"]) == (64, came["transaction_id"])
    assert (back["reference_number"], back["description"]) == ("Not ours", "Invoice 7")


def test_a_pending_return_in_an_older_form_is_booked_in_the_current_form(notified_issuer: Issuer) -> None:
    """Older returns have type 63 in both directions and no description of the original payment."""
    issuer = notified_issuer.with_own_clock()
    address = issuer.address()
    came = issuer.inbound(address, AMOUNT, sender_name="Lost Bob", reference="Invoice 7")
    issuer.do("inboundReturn", epm_transaction_id=came["epm_transaction_id"])
    table, place = ExternalPayment.key(came["epm_transaction_id"] + 1)
    item = issuer.hub.store.get(table, place)
    assert item is not None
    assert item["payment"] == "return"
    older = {name: value for name, value in item.items() if name != "details"} | {"transaction_type": 63}
    issuer.hub.store.transact([Put(table, older)])

    issuer.clock.advance(60)
    issuer.hub.cards.call(finish_due_payments)

    back = rows(issuer, address["account_id"])[-1]
    assert (back["transaction_type"], back["parent_transaction_id"]) == (64, came["transaction_id"])
    assert (back["counterparty_name"], "description" in back) == ("Lost Bob", False)


@pytest.mark.parametrize(
    ("direction", "kind", "blended", "holder_amount"),
    [("debit", 64, False, 780), ("credit", 63, False, 820), ("debit", 64, True, 800), ("credit", 63, True, 800)],
)
def test_a_return_row_in_an_older_form_shows_its_direction_and_correct_amounts(
    notified_issuer: Issuer, direction: str, kind: int, blended: bool, holder_amount: int
) -> None:
    """Older rows have type 63 in both directions and a separate conversion fee."""
    account = notified_issuer.account(currency_ison=826)
    notified_issuer.inbound(notified_issuer.address(account), AMOUNT)
    [booked] = transactions(notified_issuer, account)
    newer = {"counterparty", "parent_id", "description"}
    older = {name: value for name, value in booked.items() if name not in newer} | {
        "transaction_type": 63,
        "direction": direction,
        "amount": 1000,
        "currency": EUR,
        "holder_amount": 800,
        "conversion_fee": 20,
        "conversion_fee_blended": blended,
    }
    notified_issuer.hub.store.transact([Put("ledger", older)])

    [shown] = rows(notified_issuer, account)

    assert (shown["transaction_type"], shown["proc_code"]) == (kind, kind * 10_000)
    assert (shown["holder_amount"], shown["is_conversion_fee_blended"]) == (holder_amount, 1)
    assert shown["holder_billing_amount"] == (800 if not blended else 820 if direction == "debit" else 780)
    assert other_side(shown) == {}
    notified_issuer.hub.store.transact([Put("ledger", booked)])


def _special(issuer: Issuer) -> list[Any]:
    return [
        each
        for each in issuer.hub.store.scan("ledger")
        if each["owner"].startswith("special_account#") and each["part"].startswith("transaction#")
    ]
