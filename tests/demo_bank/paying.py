"""Payments at the demonstration banks, as a TPP sends them and a PSU confirms them: bodies, calls and answers."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from chalicelib.demo_bank.customers import CUSTOMERS, CustomerAccount
from chalicelib.demo_bank.profiles import BankName
from tests.demo_bank.stage import Browser, Reply, Stage, query_of

CUSTOMER: Mapping[BankName, str] = {"one": "ada", "two": "lena"}
OTHER: Mapping[BankName, str] = {"one": "bilal", "two": "mateusz"}
AWAY: Mapping[BankName, str] = {"one": "GB33BUKB20201555555555", "two": "FR1420041010050500013M02606"}
BACK = "https://tpp.example/payments?order=7"
INSTANT = {"one": "FPS", "two": "SCTI"}
SLOW = {"one": "BACS", "two": "SCT"}
CURRENCY = {"one": "GBP", "two": "EUR"}
PAID = Decimal("12.50")
"""What a single payment comes to unless a test says otherwise."""
SINGLE = {"one": "/payment_initiation", "two": "/v2_payment_single"}
BULK = {"one": "/bulk_payment_initiation", "two": "/v2_payment_bulk"}
DIRECT = {"one": "/direct_payment_initiation", "two": "/v2_payment_direct_single"}


def account(stage: Stage, customer: str = "", position: int = 0) -> CustomerAccount:
    name = stage.profile.name
    return CUSTOMERS[name][customer or CUSTOMER[name]].accounts[position]


def token(stage: Stage, customer: str = "", **options: Any) -> str:
    """A consent for everything."""
    return stage.approve(
        customer or CUSTOMER[stage.profile.name], scopes=list(stage.profile.protocol.scopes), **options
    )


def single(stage: Stage, amount: Any = "12.50", *, sender: bool = True, **members: Any) -> dict[str, Any]:
    """A single payment from the customer's first account; ``scheme``, ``to`` and ``reference`` in either version."""
    name = stage.profile.name
    scheme, to = members.pop("scheme", INSTANT[name]), members.pop("to", AWAY[name])
    reference = members.pop("reference", "Invoice 17")
    if stage.profile.version == 1:
        body = {
            "amount": amount,
            "currency": CURRENCY[name],
            "reference": reference,
            "receiver_name": "Zoë O'Brien",
            "receiver_iban": to,
            "callback_url": BACK,
            "payment_scheme": scheme,
        }
        return body | ({"sender_iban": account(stage).iban} if sender else {}) | members
    body = {
        "payment_scheme": scheme,
        "creditor_account": {"iban": to},
        "creditor_name": "Zoë O'Brien",
        "remittance_information_unstructured": reference,
        "instructed_amount": {"amount": amount, "currency": CURRENCY[name]},
        "callback_url": BACK,
    }
    return body | ({"debtor_account": {"iban": account(stage).iban}} if sender else {}) | members


def bulk(stage: Stage, amounts: list[str], **members: Any) -> dict[str, Any]:
    """Payments to one receiver."""
    items = [single(stage, amount, sender=False, **members) for amount in amounts]
    total = sum(map(Decimal, amounts))
    dropped = ("callback_url",) if stage.profile.version == 1 else ("callback_url", "payment_scheme")
    scheme = items[0]["payment_scheme"]
    items = [{name: value for name, value in item.items() if name not in dropped} for item in items]
    currency = CURRENCY[stage.profile.name]
    if stage.profile.version == 1:
        totals = [{"currency": currency, "amount": total}]
        return {"sender_iban": account(stage).iban, "callback_url": BACK, "totals": totals, "payments": items}
    return {
        "payment_scheme": scheme,
        "debtor_account": {"iban": account(stage).iban},
        "callback_url": BACK,
        "instructed_totals": {"currency": currency, "amount": total},
        "payments": items,
    }


def ask(stage: Stage, path: str, members: Any, given: str | None, **headers: Any) -> Any:
    """The answer to a webhook, held against the protocol's model; answers its members."""
    reply = stage.webhook(path, members, token=given, **headers)
    assert reply.status == 200, reply
    webhook = next(row for row in stage.profile.protocol.webhooks if row.path == path)
    body = dict(reply.body)
    if stage.profile.version == 1:
        assert body.pop("status") == "success"
    webhook.answer.read(webhook.shape(body))
    return body


def initiate(stage: Stage, given: str | None = None, **options: Any) -> Any:
    return ask(stage, SINGLE[stage.profile.name], single(stage, **options), given or token(stage))


def at_confirmation(stage: Stage, answer: Any, customer: str = "") -> Browser:
    """A browser at the page with the key code."""
    browser = stage.browser()
    browser.open(answer["confirmation_url"])
    browser.pay_as(customer or CUSTOMER[stage.profile.name])
    assert 'id="sent"' in browser.page.text, browser.page.text
    return browser


def pay(stage: Stage, given: str | None = None, **options: Any) -> dict[str, str]:
    """A single payment from beginning to end; answers the query that the browser takes back."""
    return outcome(at_confirmation(stage, initiate(stage, given, **options)).pay())


def outcome(reply: Reply) -> dict[str, str]:
    assert reply.status == 303, reply
    assert reply.location.startswith(f"{BACK}&status="), reply.location
    return query_of(reply.location)


def either(stage: Stage, first: Any, second: Any) -> Any:
    """What holds at the bank of version 1, or at that of version 2."""
    return first if stage.profile.version == 1 else second


def status(stage: Stage, payment_id: str, given: str) -> Any:
    """A payment's status, as the bank says when asked."""
    if stage.profile.version == 1:
        return ask(stage, "/account_payment", {"payment_id": payment_id}, given)["payment"]["status"]
    return ask(stage, "/v2_payment_single_status", {"payment_id": payment_id}, given)["transaction_status"]


def code(reply: Reply) -> tuple[int, Any]:
    """HTTP status and code of an error."""
    return reply.status, reply.body.get("error_code", reply.body.get("code"))


def reported(stage: Stage) -> list[Any]:
    """The statuses that the service was told, in order."""
    member = "payment_status" if stage.profile.version == 1 else "paymentStatus"
    return [body[member] for _, body, _ in stage.hub.named("/payments/status")]


def balances(stage: Stage, given: str, whose: CustomerAccount | None = None) -> tuple[Decimal, Decimal]:
    """Booked and available balance, as the webhooks say."""
    whose = whose or account(stage)
    if stage.profile.version == 1:
        (row,) = ask(stage, "/account_balance", {"account_id": whose.account_id}, given)["accounts"]
        amount = {"amount": "1", "currency": whose.currency}
        asked = {"account": {"account_id": whose.account_id}, "instructed_amount": amount}
        return row["balance"], ask(stage, "/funds_confirmations", asked, given)["balance"]
    rows = ask(stage, "/v2_account_balances", {"account_id": whose.account_id}, given)["balances"]
    found = {row["balance_type"]: row["balance_amount"]["amount"] for row in rows}
    return found["interimBooked"], found["interimAvailable"]


def history(stage: Stage, given: str, whose: CustomerAccount | None = None) -> list[tuple[str, bool, Decimal]]:
    """Every transaction that is listed, over every page: its id, whether it is booked, and its amount."""
    whose = whose or account(stage)
    if stage.profile.version == 1:
        rows: list[Any] = []
        for page in range(1, 99):
            asked = {"account_id": whose.account_id, "current_page": page}
            found = ask(stage, "/account_payments", asked, given)["payments"]
            rows += found
            if len(found) < 100:
                break
        return [(row["id"], row["status"] == 4, row["amount"]) for row in rows]
    asked, found = {"account_id": whose.account_id, "booking_status": "both"}, []
    while True:
        answer = ask(stage, "/v2_account_transactions", asked, given)
        for state, listed in answer["transactions"].items():
            found += [(row["transaction_id"], state == "booked", row["transaction_amount"]["amount"]) for row in listed]
        if "page_key" not in answer:
            return found
        asked["page_key"] = answer["page_key"]


def sums(stage: Stage, given: str, whose: CustomerAccount | None = None) -> tuple[Decimal, Decimal]:
    """The sum of the booked transactions, and of all."""
    rows = history(stage, given, whose)
    booked = (amount for _, is_booked, amount in rows if is_booked)
    return sum(booked, Decimal()), sum((amount for _, _, amount in rows), Decimal())
