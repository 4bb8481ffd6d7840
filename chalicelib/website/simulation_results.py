"""What came of a simulation, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.cards.protocol.payment_states import PAYMENT_STATES
from chalicelib.cards.protocol.states import DISPUTE_STEPS
from chalicelib.cards.protocol.values import CHALLENGE, FRICTIONLESS
from chalicelib.website.card_text import bank_details, is_approved, money, response_meaning, risk_summary

Members = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """What the page says; ``good`` where whoever asked got what was asked for."""

    title: str
    told: str
    good: bool = True


def describe_result(action: str, members: Members, data: Any, shown: Members) -> SimulationResult:
    """What came of an action with these members, which answered ``data``; ``shown`` is the card's page afterwards."""
    match action:
        case "simulateAuthorization" | "simulateAdvice" | "simulateIncrement":
            return _authorization_result(action, data, shown)
        case "simulateReversal" | "simulateExpiry":
            currency = _currency_of_authorization(members["trans_link"], shown)
            told = f"{_amount(data['released_amount'], currency)} is not held any more."
            return SimulationResult("Released", f"{told} {_balances(data, currency)}")
        case "simulateClearing" | "simulateRefund":
            return _booking_result(action, data, _currency_of_authorization(data["trans_link"], shown))
        case "simulateDispute":
            step, currency = members["step"], _currency_of_transaction(int(members["transaction_id"]), shown)
            return SimulationResult(
                f"Dispute {step}", f"{DISPUTE_STEPS[step].capitalize()}. {_balances(data, currency)}"
            )
        case "simulateInboundPayment":
            told = data.get("reason") or f"It is transaction {data['transaction_id']}."
            return SimulationResult(f"The payment is {PAYMENT_STATES[data['state']]}", told, "reason" not in data)
        case "simulateAuthentication":
            return _authentication_result(data)
        case "assignExternalPaymentAddress":
            (address,) = data
            told = f"Money that is sent to {bank_details(address)} comes to account {address['account_id']}."
            return SimulationResult("Bank details are open", told)
    return SimulationResult("Activated", "The card may be used now.")


def _authorization_result(action: str, data: Members, shown: Members) -> SimulationResult:
    """What the network was answered, with the code and its meaning; what it told is answered as well."""
    code, currency = data["response_code"], data["holder_currency_ison"]
    approved, fired = is_approved(code), risk_summary(data["risk_actions"])
    parts = [f"{code}, {response_meaning(code)}."]
    if approved:
        parts.append(_approval_text(action, data, shown))
    parts += [f"Risk rules: {fired}."] if fired else []
    parts.append(_balances(data, currency))
    return SimulationResult("Approved" if approved else "Declined", " ".join(parts), approved)


def _approval_text(action: str, data: Members, shown: Members) -> str:
    """What an approval comes to.

    The card says what is held for it; the answer alone does not say whether its amount has the fees in it.
    """
    currency = data["holder_currency_ison"]
    fees = money(data["fee_amount"], currency) if data["fee_amount"] else ""
    found = (each["held_amount"] for each in shown["authorizations"] if each["trans_link"] == data["trans_link"])
    held = next(found, 0)
    if held:
        kind = "new fees" if action == "simulateIncrement" else "fees"
        part = f", {fees} of it {kind}" if fees else ""
        return f"{money(held, currency)} is held for it in all{part}."
    beside = f", and {fees} of fees" if fees else ""
    return f"It comes to {money(data['holder_amount'], currency)} on the account{beside}."


def _booking_result(action: str, data: Members, currency: int | None) -> SimulationResult:
    told = f"{_amount(data['holder_amount'], currency)} is booked as transaction {data['transaction_id']}."
    if data["released_amount"]:
        told += f" {_amount(data['released_amount'], currency)} is not held any more."
    return SimulationResult(
        "Collected" if action == "simulateClearing" else "Given back", f"{told} {_balances(data, currency)}"
    )


def _authentication_result(data: Members) -> SimulationResult:
    outcome = str(data["outcome"])
    told = {
        FRICTIONLESS: "The cardholder is asked nothing.",
        CHALLENGE: "The cardholder is asked: {validation_value} would have been sent, for request {auth_request_id}.",
    }.get(outcome, "The card may not be used.")
    return SimulationResult(f"3-D Secure: {outcome}", told.format_map(data), outcome in (FRICTIONLESS, CHALLENGE))


def _amount(amount: int, currency: int | None) -> str:
    return f"{amount} in minor units" if currency is None else money(amount, currency)


def _balances(data: Members, currency: int | None) -> str:
    available, settled = (_amount(data[f"{name}_balance"], currency) for name in ("available", "settled"))
    return f"Available now: {available}, settled: {settled}."


def _currency_of_authorization(trans_link: str, shown: Members) -> int | None:
    """The currency of the account that an authorization is about; ``None`` for one that the page does not show."""
    accounts = {account["id"]: account["currency_ison"] for account in shown["accounts"]}
    found = (each["account_id"] for each in shown["authorizations"] if each["trans_link"] == trans_link)
    return accounts.get(next(found, None))


def _currency_of_transaction(number: int, shown: Members) -> int | None:
    """The currency of the account that a transaction stands on; ``None`` for one that the page does not show."""
    booked = ((account, row) for account in shown["accounts"] for row in account["transactions"])
    return next((account["currency_ison"] for account, row in booked if row["transaction_id"] == number), None)
