"""The documents of the card API agree with the code on the card network and on reports."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.cards.authorization import group_rules
from chalicelib.cards.authorization.authorization_record import Authorization
from chalicelib.cards.protocol import states, values
from chalicelib.cards.protocol.message import Answer
from chalicelib.cards.protocol.report_messages import CardActivityRecord, FinancialAuthorizeRecord, TransactionRecord
from chalicelib.foundation.fields.registries import currency_numbers
from tests.cards.issuer import EUR, GBP, GERMANY, SEPA, USD, Issuer, NewCard
from tests.causeway import Causeway
from tests.kit.documents import CARDS, reference, section, tables

PAGE = CARDS
NUMBERS = {name: number for number, name in currency_numbers().items()}
AMERICA = 840
ALWAYS = {"date_from": 0, "date_to": 99999999999, "item_count": 100}


@pytest.fixture
def issuer(causeway: Causeway) -> Issuer:
    return Issuer(causeway)


def cells(heading: str, first: str, page: str = PAGE) -> list[list[str]]:
    found, *_ = [each[2:] for each in tables(section(page, heading)) if each[0][0] == first]
    return found


def cents(text: str) -> int:
    return int(Decimal(text) * 100)


def money(text: str) -> tuple[int, int]:
    """Convert ``61.35 EUR`` to minor units and the currency number."""
    amount, name = text.replace(",", "").split()[:2]
    return cents(amount), NUMBERS[name]


def funded(issuer: Issuer, amount: int, **members: Any) -> NewCard:
    card = issuer.card(card_currency_ison=[EUR], card_fee_group_id=302, **members)
    issuer.data("activateCard", card_id=card.card_id)
    issuer.inbound(issuer.address(card.account_id, SEPA), amount)
    return card


def pay(issuer: Issuer, card: NewCard, amount: int, currency: int = EUR, **members: Any) -> Any:
    least = {"card_id": card.card_id, "transaction_type": 0, "amount": amount, "currency_ison": currency}
    return issuer.data("simulateAuthorization", **least | members)


def collect(issuer: Issuer, amount: int, currency: int = EUR, **members: Any) -> Any:
    return issuer.data("simulateClearing", amount=amount, currency_ison=currency, **members)


def state_of(issuer: Issuer, trans_link: str) -> str:
    item = issuer.hub.store.get(*Authorization.key(int(trans_link)))
    assert item is not None
    return Authorization.from_item(item).state


# -- authorizations


def test_authorization_checks_run_and_decline_in_the_documented_order(issuer: Issuer) -> None:
    """All checks fail at first. Then the test removes the causes one by one."""
    card = issuer.card(card_currency_ison=[EUR], auto_conversion=0, card_limit_group_id=203, card_usage_group_id=602)
    number = card.card_id
    issuer.data("setPin", card_id=number, pin="7391")
    issuer.data("assignCardToRiskRuleGroup", card_id=number, risk_rules_group_id=404)
    issuer.data("changeAccountStatus", account_id=card.account_id, account_status="S")
    wrong: dict[str, Any] = {"expiry_month": card.expiration and card.expiration["month"] % 12 + 1}
    wrong |= {"pin": "1357", "cvc2": f"{(int(card.cvc2) + 1) % 1000:03}", "mcc": "7995"}
    wrong |= {"merchant_country_ison": AMERICA, "amount": 100_100, "currency_ison": USD}

    def answered(**right: Any) -> str:
        wrong.update(right)
        asked = {name: value for name, value in wrong.items() if value is not None}
        answer = issuer.data("simulateAuthorization", card_id=number, transaction_type=0, **asked)
        return str(answer["response_code"])

    def found() -> Iterator[str]:
        yield answered()
        issuer.data("activateCard", card_id=number)
        yield answered()
        yield answered(expiry_month=None)
        yield answered(pin="7391")
        yield answered(cvc2=None)
        yield answered(mcc="5411")
        yield answered(currency_ison=EUR)
        issuer.data("changeAccountStatus", account_id=card.account_id, account_status="A")
        yield answered()
        issuer.data("assignCardToRiskRuleGroup", card_id=number, risk_rules_group_id=403)
        yield answered()
        yield answered(amount=10_000)

    told = list(found())
    table = cells("## Authorizations", "Checked, in this order")
    rows = {row[0]: re.findall("[0-9A-Z]{2}", row[1]) for row in table}
    looked_at = [row for row in rows if not row.startswith(("The number", "The exchange rates"))]
    assert len(told) == len(looked_at)
    for code, what in zip(told, looked_at, strict=True):
        assert code in rows[what], what
    by_status = next(codes for what, codes in rows.items() if what.startswith("The card's status"))
    assert set(by_status) == set(states.DECLINED_BY_CARD.values())
    every = {code for codes in rows.values() for code in codes}
    assert every | {"91", "96", *values.APPROVALS} == values.RESPONSE_CODES.keys()


def test_docs_list_the_states_of_an_authorization() -> None:
    rows = cells("## Authorizations", "State")

    assert {tuple(row[0].split(" ", 1)) for row in rows} == {*states.AUTHORIZATION_STATES.items()}


def test_docs_state_the_hold_expiry_and_the_credit_types() -> None:
    rules = {row[0]: row[1] for row in cells("## Authorizations", "Subject")}
    days = values.HOLD_SECONDS // (24 * 3600)

    assert f"after {days} days" in rules["Expiry"]
    assert {int(each) for each in re.findall("[0-9]+", rules["Money to the holder"])} == (
        values.CREDIT_TYPES & values.CARD_TRANSACTION_TYPES.keys()
    )
    assert "Inquiries (30, 39)" in rules
    assert {30, 39} == values.INQUIRY_TYPES
    assert [
        {int(each) for each in row[0].split(", ")}
        for row in cells("### How rows add up", "transaction_type")
        if row[2] == "+"
    ] == [values.CREDIT_TYPES]


def test_docs_list_the_eci_values_of_authenticated_payments() -> None:
    (said,) = re.findall("`eci_indicator` has to be (.+?) \\|", section(PAGE, "## Usage groups and risk groups"))

    assert {int(each) for each in re.findall("[0-9]", said)} == group_rules.AUTHENTICATED


def test_docs_list_the_actions_of_card_risk_rules() -> None:
    assert [row[0] for row in cells("## Usage groups and risk groups", "Action of a risk rule")] == [
        *values.RISK_ACTIONS
    ]


# -- clearing and disputes


def test_clearings_book_and_release_the_documented_amounts_of_a_hold(issuer: Issuer) -> None:
    card, held = funded(issuer, 5000_00), dict[str, Any]()
    for name, approved, collected, final, booked, released, state in cells("## Clearing", "Clearing"):
        amount, currency = money(collected)
        if name == "without authorization":
            cleared = collect(issuer, amount, currency, card_id=card.card_id, final=int(final))
        else:
            if not approved.endswith("left"):
                held = pay(issuer, card, *money(approved))
            if approved.endswith("expired"):
                issuer.data("simulateExpiry", trans_link=held["trans_link"])
            cleared = collect(issuer, amount, currency, trans_link=held["trans_link"], final=int(final))
        assert (cleared["holder_amount"], cleared["released_amount"]) == (cents(booked), cents(released)), name
        assert state_of(issuer, cleared["trans_link"]) == state, name


@pytest.mark.parametrize("end", ["won", "lost"])
def test_disputes_change_balances_as_documented(issuer: Issuer, end: str) -> None:
    rows = {row[0].split()[-1]: [cents(each) for each in row[1:]] for row in cells("## Disputes", "Step")}
    card = funded(issuer, 500_00)
    cleared = collect(issuer, 60_00, card_id=card.card_id)

    def balances() -> list[int]:
        available, settled, reserved = issuer.balances(card.account_id)
        return [settled, reserved, available]

    assert balances() == rows["before"]
    for step in ("opened", end):
        issuer.data("simulateDispute", transaction_id=cleared["transaction_id"], step=step)
        assert balances() == rows[step]


@pytest.mark.usefixtures("rendered")
def test_docs_list_the_steps_of_a_dispute() -> None:
    found = [each[2:] for each in tables(section(PAGE, "## Disputes")) if "After" in each[0]]
    passes = {
        step: ["yes" if each is None else str(each.value) for each in rule.values()]
        for step, rule in states.DISPUTE_RULES.items()
    }

    assert [row[0] for row in found[0]] == list(states.DISPUTE_STEPS)
    assert {row[0]: row[1:] for row in cells("### Dispute", "Step", reference("card-values"))} == passes


# -- reports


def test_docs_list_the_report_fields_that_are_never_present(issuer: Issuer) -> None:
    card = lived(issuer)
    named = [re.sub("of transactions", "", row[0]) for row in cells("### Where fields come from", "Never present")]
    never = {name for cell in named for name in re.findall("[a-z_]+", cell)} - {"and"}
    number = {"card_id": card.card_id}
    reports: Mapping[str, tuple[type[Answer], Mapping[str, int]]] = {
        "getCardsActivity": (CardActivityRecord, number),
        "getFinancialAuthorizes": (FinancialAuthorizeRecord, number),
        "getTransactions": (TransactionRecord, {"account_id": card.account_id}),
    }

    for action, (model, of) in reports.items():
        seen = {name for row in issuer.data(action, **of, **ALWAYS) for name in row}
        elsewhere = set() if model is TransactionRecord else {"transaction_fee_amount"}
        members = model.__annotations__.keys()
        assert members - seen == (never - elsewhere) & members, action


def lived(issuer: Issuer) -> NewCard:
    """Create a card with every kind of event, so that its reports contain every field that can occur."""
    account = issuer.account(program_id=502, fee_group_id=303)  # conversions are not blended there
    [holder] = [each["holder_id"] for each in issuer.data("getAccounts", account_id=account)]
    card = issuer.card(holder_id=holder, account_id=[account], account_owner_id=[holder], risk_rules_group_id=402)
    issuer.data("activateCard", card_id=card.card_id)
    address = issuer.address(account, SEPA)
    issuer.inbound(address, 9_000_00, reference="Salary")
    issuer.data("inboundReturn", epm_transaction_id=issuer.inbound(address, 100_00)["epm_transaction_id"], reason=2)
    issuer.debit(issuer.mandate(address), 10_00, passed=True)
    issuer.pending_payment(issuer.funded_address(100_00, GBP), 50_00, destination_iban=issuer.address(account)["iban"])

    shop: dict[str, Any] = {"mcc": "5411", "merchant_name": "Shop", "merchant_id": "SHOP1", "terminal_id": "TERM1"}
    shop |= {"merchant_country_ison": GERMANY}
    bought = pay(issuer, card, 3000_00, USD, cashback_amount=10_00, eci_indicator=5, entry_mode_type=81, **shop)
    issuer.data("simulateExpiry", trans_link=bought["trans_link"])
    cleared = collect(issuer, 3010_00, USD, trans_link=bought["trans_link"])
    bet = pay(issuer, card, 50_00, transaction_type=11, mcc="7900")
    collect(issuer, 50_00, trans_link=bet["trans_link"])
    issuer.data("simulateDispute", transaction_id=cleared["transaction_id"], step="opened")
    return card
