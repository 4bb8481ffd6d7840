"""The simulator's forms on a card's page: what they offer, and what one that was sent means.

An offer's value is a number and the currency that its amounts are in: ``000000000012.978``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from chalicelib.cards.protocol.network_states import CLEARED, DECLINED, HELD, OVER, REVERSED
from chalicelib.cards.protocol.schemes import DEFAULT_SCHEMES, METHOD_CURRENCIES
from chalicelib.cards.protocol.values import PRESENTMENT
from chalicelib.website.amounts import InvalidAmount, code, minor, money, number
from chalicelib.website.card_words import bank_details
from chalicelib.website.simulations import Choices, Field, Offer, Simulation

_OFFERED = re.compile(r"([0-9]{1,20})\.([0-9]{1,3})")
_SCHEMES = {currency: DEFAULT_SCHEMES[method][-1] for method, currency in METHOD_CURRENCIES.items()}
"""What money in a currency comes by."""
_DEBIT = "debit"
_LIKELY = (HELD, OVER, CLEARED, DECLINED, REVERSED)
"""The states of authorizations, those first that a shop is the likeliest to collect of."""

Written = Callable[[str], str]
"""Gives what somebody wrote into a field."""


class InvalidForm(ValueError):
    """A field cannot be what it is; the message is a sentence."""


def offers(shown: Mapping[str, Any]) -> Mapping[Offer, Choices]:
    """What there is to choose from on the page of a card, as ``showCard`` shows it."""
    booked = [row for account in shown["accounts"] for row in account["transactions"]]
    collected = [row for row in booked if _is_collected(row, shown["card"]["card_id"])]
    known = _known(shown)
    return {
        "currencies": {str(currency): code(currency) for currency in shown["currencies"]},
        "accounts": dict(_account(each) for each in shown["accounts"]),
        "held": dict(_authorization(each) for each in known if each["state"] == HELD),
        "known": dict(_authorization(each) for each in known),
        "cleared": dict(_authorization(each) for each in known if each["cleared"]),
        "collected": dict(_transaction(row) for row in collected),
        "addresses": dict(_address(each) for each in shown["addresses"]),
    }


def defaults(shown: Mapping[str, Any]) -> Mapping[str, Mapping[str, str]]:
    """What fields begin with where that depends on the card, by action and name: what their first authorization has."""
    known = _known(shown)
    held = next((each for each in known if each["state"] == HELD), None)
    cleared = next((each for each in known if each["cleared"]), None)
    collected = {"amount": number(held["left_amount"], held["currency_ison"]), **_currency(held)} if held else None
    return {
        "simulateClearing": collected or {"trans_link": ""},
        "simulateRefund": _currency(cleared) if cleared else {},
    }


def members(simulation: Simulation, card_id: int, written: Written) -> dict[str, Any]:
    """The members of the request that a form means. Raises: InvalidForm."""
    found: dict[str, Any] = {}
    amounts: list[tuple[Field, str]] = []
    currency = 0
    for field, text in _given(simulation, written):
        if field.kind == "amount":
            amounts.append((field, text))
        elif field.kind == "check":
            found[field.name] = int(text == "yes")
        elif field.kind == "offer" and field.offer != "currencies":
            found[field.name], currency = _offered(field, text)
        else:
            found[field.name] = text
    if simulation.needs == "addresses":
        found |= {"currency_ison": currency, "scheme": _SCHEMES.get(currency, "")}
    if simulation.action == "assignExternalPaymentAddress":
        found["currency_ison"] = METHOD_CURRENCIES.get(_whole(found["epm_method_id"]), 0)
    amount_currency = _whole(found.get("currency_ison", currency))
    found |= {field.name: _amount(field, text, amount_currency) for field, text in amounts}
    if simulation.is_of_card and "trans_link" not in found:
        found["card_id"] = card_id
    return found


def _given(simulation: Simulation, written: Written) -> Iterator[tuple[Field, str]]:
    """The fields that say something. Raises: InvalidForm."""
    for field in simulation.fields:
        text = written(field.name).strip()
        if text and field.digits and not re.fullmatch(f"[0-9]{{{field.digits}}}", text):
            raise InvalidForm(f"{field.label} must have {field.digits} digits.")
        if text or field.kind == "check":
            yield field, text
        elif not field.optional:
            raise InvalidForm(f"{field.label} is missing.")


def _offered(field: Field, text: str) -> tuple[str, int]:
    parts = _OFFERED.fullmatch(text)
    if parts is None:
        raise InvalidForm(f"{field.label} is none of those to choose from.")
    return parts[1], int(parts[2])


def _amount(field: Field, text: str, currency: int) -> int:
    try:
        return minor(text, currency)
    except InvalidAmount as error:
        raise InvalidForm(f"{field.label}: {error}") from None


def _whole(text: Any) -> int:
    """A number that somebody may have written otherwise; 0 then, which nothing has."""
    return int(text) if re.fullmatch("[0-9]{1,9}", str(text)) else 0


def _known(shown: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The authorizations that something was approved or collected for, those first that more is likely to come for."""
    known = [each for each in shown["authorizations"] if each["state"] != DECLINED or each["cleared"]]
    return sorted(known, key=lambda each: _LIKELY.index(each["state"]))


def _currency(authorization: Mapping[str, Any]) -> dict[str, str]:
    return {"currency_ison": str(authorization["currency_ison"])}


def _is_collected(row: Mapping[str, Any], card_id: int) -> bool:
    """Whether a transaction is one that a shop has collected by the card."""
    return row["mti"] == PRESENTMENT and row["direction"] == _DEBIT and row.get("card_id") == card_id


def _account(account: Mapping[str, Any]) -> tuple[str, str]:
    currency = account["currency_ison"]
    return f"{account['id']}.{currency}", f"{code(currency)}, account {account['id']}"


def _authorization(each: Mapping[str, Any]) -> tuple[str, str]:
    currency = each["currency_ison"]
    left = f"{money(each['left_amount'], currency)} left" if each["state"] == HELD else f"in {code(currency)}"
    return f"{each['trans_link']}.{currency}", f"{_link(each)}, {each.get('merchant_name') or 'no name'}, {left}"


def _link(each: Mapping[str, Any]) -> str:
    return str(each["trans_link"]).lstrip("0")


def _transaction(row: Mapping[str, Any]) -> tuple[str, str]:
    number, currency = row["transaction_id"], row["holder_currency_ison"]
    words = f"{number}, {row.get('merchant_name') or 'no name'}, {money(row['holder_amount'], currency)}"
    return f"{number}.{currency}", words


def _address(each: Mapping[str, Any]) -> tuple[str, str]:
    currency = each["currency_ison"]
    return f"{each['id']}.{currency}", f"{bank_details(each)}, {code(currency)}"
