"""Converts ``card_month.yaml``, which describes a month of card use, to steps of the simulation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import time
from decimal import Decimal
from pathlib import Path
from typing import Any

from infra.local.card_player import Step
from infra.yaml_file import parse_yaml

DAYS = 28
"""Number of whole days in the simulated period; the last day is yesterday."""
_FILE = Path(__file__).with_suffix(".yaml")
_SUBJECTS = {
    "do": {},
    "card": {"card_id": "${}.card_id"},
    "account": {"account_id": "${}.account_id"},
    "address": {"epm_address_id": "${} address.0.id"},
}
"""The keys that name an action, with the members that each key adds for the card's name."""
_ABOUT_STEPS = ("on", "as", "code", *_SUBJECTS)
_DELIVERED = ("first_name", "last_name", "address_line_1", "zipcode", "city", "country_ison")

Members = dict[str, Any]


def steps() -> list[Step]:
    """Return all steps of the month, unsorted. The simulation sorts the steps."""
    story = parse_yaml(_FILE.read_text(encoding="utf-8"))
    return [step for card, entries in story["cards"].items() for each in entries for step in _read(story, card, each)]


def _read(story: Mapping[str, Any], card: str, entry: Mapping[str, Any]) -> Iterator[Step]:
    entries = _purchase(story, card, entry) if "pay" in entry else [entry]
    for each in entries:
        day, at = each["on"].split()
        key = next(key for key in _SUBJECTS if key in each)
        subject = {member: value.format(card) for member, value in _SUBJECTS[key].items()}
        name = each.get("as", f"{card} {each['on']} {each[key]}")
        members = subject | _members(story, each)
        yield Step(int(day), time.fromisoformat(at), name, each[key], members, each.get("code"))


def _purchase(story: Mapping[str, Any], card: str, entry: Mapping[str, Any]) -> Iterator[Members]:
    """Return the entries of a purchase: the authorization and, unless it is declined or left open, the clearing."""
    others, day = dict(entry), int(entry["on"].split()[0])
    merchant, cleared, after = others.pop("pay"), others.pop("cleared", entry["amount"]), others.pop("after", 1)
    currency, reading = (story["merchants"][merchant][name] for name in ("currency", "read"))
    name = entry.get("as", f"{card} {entry['on']} {merchant}")
    use = {"as": name, "transaction_type": 0, "currency_ison": currency, "entry_mode_type": reading, "code": "00"}
    authorization = {"card": "simulateAuthorization", "at": merchant, **use, **others}
    yield authorization
    if cleared and authorization["code"] == "00":
        morning = f"{day + after} 04:{entry['on'][-2:]}"
        clearing = {"amount": cleared, "currency_ison": currency, "trans_link": f"${name}.trans_link", "final": 1}
        yield {"on": morning, "do": "simulateClearing", "as": f"{name} cleared", **clearing}


def _members(story: Mapping[str, Any], entry: Mapping[str, Any]) -> Members:
    members = {name: value for name, value in entry.items() if name not in _ABOUT_STEPS}
    if "person" in members:
        members |= {f"holder_{name}": value for name, value in story["people"][members.pop("person")].items()}
    if "deliver_to" in members:
        person = story["people"][members.pop("deliver_to")]
        members |= {"order_shipping_method": 701, **{f"delivery_{name}": person[name] for name in _DELIVERED}}
    if "at" in members:
        members |= _merchant(members.pop("at"), story["merchants"])
    return members | ({"amount": _minor(members["amount"])} if "amount" in members else {})


def _merchant(name: str, merchants: Mapping[str, Any]) -> Members:
    mcc, country = merchants[name]["mcc"], merchants[name]["country"]
    place = {"merchant_id": f"M{mcc}{country:03}", "terminal_id": f"T{mcc}{country:03}"}
    return {"merchant_name": name, "mcc": mcc, "merchant_country_ison": country, **place}


def _minor(amount: str) -> int:
    return int(Decimal(amount) * 100)
