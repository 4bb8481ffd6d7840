"""The simulator's forms on the page of a card: choices, parsing, and results.

The value of an offer consists of an id and the currency of its amounts, for example ``000000000012.978``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from chalicelib.cards.protocol.payment_states import PAYMENT_STATES
from chalicelib.cards.protocol.schemes import DEFAULT_SCHEMES, METHOD_CURRENCIES
from chalicelib.cards.protocol.states import CLEARED, DECLINED, DISPUTE_STEPS, HELD, OVER, REVERSED
from chalicelib.cards.protocol.values import CHALLENGE, FRICTIONLESS, PRESENTMENT
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.website.cards.card_text import (
    InvalidAmount,
    amount_text,
    bank_details,
    currency_code,
    is_approved,
    money,
    parse_amount,
    response_meaning,
    risk_summary,
)
from chalicelib.website.cards.simulations import Choices, FormField, Offer, Simulation
from chalicelib.website.display_text import sentence
from chalicelib.website.form_fields import FieldReader

_OFFERED = re.compile(r"([0-9]{1,20})\.([0-9]{1,3})")
_MEMBER = re.compile("[a-z0-9]+(?:_[a-z0-9]+)+")
_REQUIRED_WHEN = re.compile("^is required when .*")
_SCHEMES = {currency: DEFAULT_SCHEMES[method][-1] for method, currency in METHOD_CURRENCIES.items()}
"""The payment scheme for incoming payments, by currency."""
_AUTHENTICATED: Mapping[str, ResultKind] = {FRICTIONLESS: "good", CHALLENGE: "plain"}
_DEBIT = "debit"
_LIKELY = (HELD, OVER, CLEARED, DECLINED, REVERSED)
"""The states of authorizations, sorted by the likelihood that the next clearing is for them, highest first."""

ResultKind = Literal["good", "bad", "plain"]
"""The kinds of results: positive or negative for the cardholder, or neutral."""


class InvalidForm(ValueError):
    """Fields are invalid. ``errors`` has a sentence for each invalid field, by name in the order of the form."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        self.errors = errors
        super().__init__(" ".join(errors.values()))


def build_offers(shown: Mapping[str, Any]) -> Mapping[Offer, Choices]:
    """Return the offers on the page of a card, from the response of ``showCard``."""
    booked = [row for account in shown["accounts"] for row in account["transactions"]]
    collected = [row for row in booked if _is_collected(row, shown["card"]["card_id"])]
    known = _known_authorizations(shown)
    return {
        "currencies": {str(currency): currency_code(currency) for currency in shown["currencies"]},
        "accounts": dict(_account_offer(each) for each in shown["accounts"]),
        "held": dict(_authorization_offer(each) for each in known if each["state"] == HELD),
        "known": dict(_authorization_offer(each) for each in known),
        "cleared": dict(_authorization_offer(each) for each in known if each["cleared"]),
        "collected": dict(_transaction_offer(row) for row in collected),
        "addresses": dict(_address_offer(each) for each in shown["addresses"]),
    }


def build_defaults(shown: Mapping[str, Any]) -> Mapping[str, Mapping[str, str]]:
    """Return default values by action and field for the card. The values match the first offered authorization."""
    known = _known_authorizations(shown)
    held = next((each for each in known if each["state"] == HELD), None)
    cleared = next((each for each in known if each["cleared"]), None)
    collected = (
        {"amount": amount_text(held["left_amount"], held["currency_ison"]), **_currency_member(held)} if held else None
    )
    return {
        "simulateClearing": collected or {"trans_link": ""},
        "simulateRefund": _currency_member(cleared) if cleared else {},
    }


def read_members(simulation: Simulation, card_id: int, written: FieldReader) -> dict[str, Any]:
    """Read the request members from a submitted form. Raises: InvalidForm, with every invalid field."""
    given = {field.name: written(field.name).strip() for field in simulation.fields}
    errors = {field.name: _field_problem(field, given[field.name]) for field in simulation.fields}
    found: dict[str, Any] = {}
    currency = 0
    for field in simulation.fields:
        text = given[field.name]
        if errors[field.name] or field.kind == "amount":
            continue
        if field.kind == "check":
            found[field.name] = int(text == "yes")
        elif text and _is_number_offer(field):
            found[field.name], currency = _split_offer(text)
        elif text:
            found[field.name] = text
    found |= _implied_members(simulation, found, currency)
    amounts = [field for field in simulation.fields if field.kind == "amount" and given[field.name]]
    for field in amounts:
        try:
            found[field.name] = parse_amount(given[field.name], _to_int(found.get("currency_ison", currency)))
        except InvalidAmount as error:
            errors[field.name] = f"{field.label}: {error}"
    if any(errors.values()):
        raise InvalidForm({name: error for name, error in errors.items() if error})
    return found if not simulation.is_of_card or "trans_link" in found else {**found, "card_id": card_id}


def refusals_by_field(labels: Mapping[str, str], message: str) -> dict[str, str]:
    """Return the errors in a refusal by member, or no errors if any error concerns a member without a label.

    Labels replace the names of members. The condition for a required member is omitted.
    """
    parts = [part.partition(" ") for part in message.split("; ")]
    if not all(name in labels for name, *_ in parts):
        return {}
    reasons = {name: _REQUIRED_WHEN.sub("is required", reason) for name, _, reason in parts}
    return {name: sentence(f"{labels[name]} {_with_labels(reason, labels)}") for name, reason in reasons.items()}


def _with_labels(reason: str, labels: Mapping[str, str]) -> str:
    return _MEMBER.sub(lambda found: labels.get(found[0], found[0]), reason)


def _field_problem(field: FormField, text: str) -> str:
    """Return the error in a single field, or an empty text if the field is valid."""
    if not text:
        return "" if field.optional or field.kind == "check" else f"{field.label} is missing."
    if field.digits and not re.fullmatch(f"[0-9]{{{field.digits}}}", text):
        return f"{field.label} must have {field.digits} digits."
    if _is_number_offer(field) and not _OFFERED.fullmatch(text):
        return f"{field.label} is not one of the choices."
    return ""


def _implied_members(simulation: Simulation, found: Mapping[str, Any], currency: int) -> dict[str, Any]:
    """Return the request members that are derived from the submitted choices. ``currency`` is the currency of the
    chosen record.
    """
    if simulation.needs == "addresses":
        return {"currency_ison": currency, "scheme": _SCHEMES.get(currency, "")}
    if simulation.action == "assignExternalPaymentAddress":
        return {"currency_ison": METHOD_CURRENCIES.get(_to_int(found.get("epm_method_id")), 0)}
    return {}


def _is_number_offer(field: FormField) -> bool:
    """Whether the field's choices are existing records. Each value then consists of an id and a currency."""
    return field.offer not in (None, "currencies")


def _split_offer(text: str) -> tuple[str, int]:
    number, _, currency = text.partition(".")
    return number, int(currency)


def _to_int(text: Any) -> int:
    """Convert a submitted number, or return 0 if it is invalid."""
    return int(text) if re.fullmatch("[0-9]{1,9}", str(text)) else 0


def _known_authorizations(shown: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the approved or cleared authorizations of a card. Authorizations that are most likely to be cleared next
    come first.
    """
    known = [each for each in shown["authorizations"] if each["state"] != DECLINED or each["cleared"]]
    return sorted(known, key=lambda each: _LIKELY.index(each["state"]))


def _currency_member(authorization: Mapping[str, Any]) -> dict[str, str]:
    return {"currency_ison": str(authorization["currency_ison"])}


def _is_collected(row: Mapping[str, Any], card_id: int) -> bool:
    """Whether a transaction is a payment that a merchant collected with this card."""
    return row["mti"] == PRESENTMENT and row["direction"] == _DEBIT and row.get("card_id") == card_id


def _account_offer(account: Mapping[str, Any]) -> tuple[str, str]:
    currency = account["currency_ison"]
    return f"{account['id']}.{currency}", f"{currency_code(currency)}, account {account['id']}"


def _authorization_offer(each: Mapping[str, Any]) -> tuple[str, str]:
    currency = each["currency_ison"]
    left = f"{money(each['left_amount'], currency)} left" if each["state"] == HELD else f"in {currency_code(currency)}"
    return (
        f"{each['trans_link']}.{currency}",
        f"{str(each['trans_link']).lstrip('0')}, {each.get('merchant_name') or 'no name'}, {left}",
    )


def _transaction_offer(row: Mapping[str, Any]) -> tuple[str, str]:
    number, currency = row["transaction_id"], row["holder_currency_ison"]
    words = f"{number}, {row.get('merchant_name') or 'no name'}, {money(row['holder_amount'], currency)}"
    return f"{number}.{currency}", words


def _address_offer(each: Mapping[str, Any]) -> tuple[str, str]:
    currency = each["currency_ison"]
    return f"{each['id']}.{currency}", f"{bank_details(each)}, {currency_code(currency)}"


Members = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """The text and colour of a result."""

    title: str
    text: str
    kind: ResultKind = "good"


def describe_result(action: str, members: Members, data: Any, shown: Members) -> SimulationResult:
    """Describe the result of an action from its request and response. ``shown`` contains the card's data after the
    action.
    """
    match action:
        case "simulateAuthorization" | "simulateAdvice" | "simulateIncrement":
            return _authorization_result(action, data, shown)
        case "simulateReversal" | "simulateExpiry":
            currency = _currency_of_authorization(members["trans_link"], shown)
            text = f"{_amount(data['released_amount'], currency)} is no longer held."
            return SimulationResult("Released", f"{text} {_balances(data, currency)}", "plain")
        case "simulateClearing" | "simulateRefund":
            return _booking_result(action, data, _currency_of_authorization(data["trans_link"], shown))
        case "simulateDispute":
            step, currency = members["step"], _currency_of_transaction(int(members["transaction_id"]), shown)
            text = f"{DISPUTE_STEPS[step].capitalize()}. {_balances(data, currency)}"
            return SimulationResult(f"Dispute {step}", text, "plain")
        case "simulateInboundPayment":
            text = data.get("reason") or f"It is transaction {data['transaction_id']}."
            return SimulationResult(
                f"The payment is {PAYMENT_STATES[data['state']]}", text, "bad" if "reason" in data else "good"
            )
        case "simulateAuthentication":
            return _authentication_result(data)
        case "assignExternalPaymentAddress":
            (address,) = data
            text = f"Money sent to {bank_details(address)} is credited to account {address['account_id']}."
            return SimulationResult("Bank details opened", text)
    raise LookupError(action)


def _authorization_result(action: str, data: Members, shown: Members) -> SimulationResult:
    """Describe the result of an authorization: response code and meaning, amounts, and triggered risk rules."""
    code, currency = data["response_code"], data["holder_currency_ison"]
    approved, fired = is_approved(code), risk_summary(data["risk_actions"])
    parts = [f"{code}, {response_meaning(code)}."]
    if approved:
        parts.append(_approval_text(action, data, shown))
    parts += [f"Risk rules: {fired}."] if fired else []
    parts.append(_balances(data, currency))
    return SimulationResult("Approved" if approved else "Declined", " ".join(parts), "good" if approved else "bad")


def _approval_text(action: str, data: Members, shown: Members) -> str:
    """Return the approved amount as text.

    The hold on the card supplies the amount, because the response does not show whether its amount includes fees.
    """
    currency = data["holder_currency_ison"]
    fees = money(data["fee_amount"], currency) if data["fee_amount"] else ""
    found = (each["held_amount"] for each in shown["authorizations"] if each["trans_link"] == data["trans_link"])
    held = next(found, 0)
    if held:
        kind = "new fees" if action == "simulateIncrement" else "fees"
        part = f", {fees} of it {kind}" if fees else ""
        return f"{money(held, currency)} is held in total{part}."
    beside = f", and {fees} of fees" if fees else ""
    return f"It comes to {money(data['holder_amount'], currency)} on the account{beside}."


def _booking_result(action: str, data: Members, currency: int | None) -> SimulationResult:
    text = f"{_amount(data['holder_amount'], currency)} is booked as transaction {data['transaction_id']}."
    if data["released_amount"]:
        text += f" {_amount(data['released_amount'], currency)} is no longer held."
    return SimulationResult(
        "Collected" if action == "simulateClearing" else "Refunded", f"{text} {_balances(data, currency)}"
    )


def _authentication_result(data: Members) -> SimulationResult:
    outcome = str(data["outcome"])
    text = {
        FRICTIONLESS: "The cardholder is not challenged.",
        CHALLENGE: "The cardholder is challenged: {validation_value} would be sent, for request {auth_request_id}.",
    }.get(outcome, "The card cannot be used.")
    return SimulationResult(f"3-D Secure: {outcome}", text.format_map(data), _AUTHENTICATED.get(outcome, "bad"))


def _amount(amount: int, currency: int | None) -> str:
    return f"{amount} in minor units" if currency is None else money(amount, currency)


def _balances(data: Members, currency: int | None) -> str:
    available, settled = (_amount(data[f"{name}_balance"], currency) for name in ("available", "settled"))
    return f"Available now: {available}, settled: {settled}."


def _currency_of_authorization(trans_link: str, shown: Members) -> int | None:
    """The currency of an authorization's account, or ``None`` if the page does not show the authorization."""
    accounts = {account["id"]: account["currency_ison"] for account in shown["accounts"]}
    found = (each["account_id"] for each in shown["authorizations"] if each["trans_link"] == trans_link)
    return accounts.get(next(found, None))


def _currency_of_transaction(number: int, shown: Members) -> int | None:
    """The currency of a transaction's account, or ``None`` if the page does not show the transaction."""
    booked = ((account, row) for account in shown["accounts"] for row in account["transactions"])
    return next((account["currency_ison"] for account, row in booked if row["transaction_id"] == number), None)
