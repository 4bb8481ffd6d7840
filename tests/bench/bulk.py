"""A bulk order of 1000 different payments, and how long its validation takes against reading its bytes as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from chalicelib.foundation import jsontext
from chalicelib.openbanking.protocol.versions import VERSIONS
from tests.bench.measures import processor_time, times_as_much

ITEMS = 1000
GOAL = 8
_CALLBACK = "http://127.0.0.1:8000/payments/callback"
_NAMES = ("Ada Lovelace", "Grace Hopper", "Émilie du Châtelet", "Søren Kierkegaard", "Nguyễn Thị Minh")
_BBANS = ("DE", "10099900{:010d}"), ("GB", "DEMO040004{:08d}"), ("NL", "ABNA{:010d}"), ("AT", "19043{:011d}")


def order(version: int, count: int = ITEMS) -> bytes:
    """The body of a bulk order with every member that a payment usually has."""
    amounts = [f"{number}.{number % 100:02d}" for number in range(1, count + 1)]
    total = {"currency": "EUR", "amount": str(sum(int(amount.replace(".", "")) for amount in amounts) / 100)}
    items = [_item(version, number, amount) for number, amount in enumerate(amounts)]
    if version == 1:
        body: dict[str, Any] = {"sender_iban": iban("GB", "DEMO04000431926801"), "totals": [total]}
    else:
        body = {"debtor_account": {"iban": iban("GB", "DEMO04000431926801")}, "instructed_totals": total}
    return json.dumps(body | {"callback_url": _CALLBACK, "payments": items}).encode()


def _item(version: int, number: int, amount: str) -> dict[str, Any]:
    country, pattern = _BBANS[number % len(_BBANS)]
    name, account = _NAMES[number % len(_NAMES)], iban(country, pattern.format(number * 7919))
    street = {"street_name": "Chestnut Street", "building_number": str(number), "town_name": "Köln", "country": "DE"}
    if version == 1:
        return {
            "amount": amount,
            "currency": "EUR",
            "reference": f"INV-{number:06d}",
            "receiver_name": name,
            "receiver_iban": account,
            "message_for_receiver": f"Invoice {number}",
            "payment_scheme": "SCT",
            "receiver_address": {**street, "post_code": "50667"},
        }
    return {
        "creditor_account": {"iban": account},
        "creditor_name": name,
        "remittance_information_unstructured": f"Invoice {number}, thank you",
        "creditor_address": {**street, "postal_code": "50667"},
        "instructed_amount": {"amount": amount, "currency": "EUR"},
    }


def iban(country: str, bban: str) -> str:
    """An IBAN with its check digits (ISO 13616)."""
    digits = "".join(str(int(character, 36)) for character in f"{bban}{country}00")
    return f"{country}{98 - int(digits) % 97:02d}{bban}"


def reading(version: int, count: int = ITEMS) -> Callable[[], object]:
    """Read and validate an order of ``count`` payments; its model has been used before."""
    body, model = order(version, count), VERSIONS[version].payments["bulk"].request

    def read() -> object:
        return model.read(jsontext.loads(body))

    read()
    return read


def ratio(version: int) -> float:
    """Reading and validating the order against ``json.loads`` of the same bytes."""
    import app  # noqa: F401 - the function's own settings of the garbage collector

    body, validate = order(version), reading(version)

    def read() -> None:
        json.loads(body)

    return times_as_much(lambda: (processor_time(read, 3), processor_time(validate, 1)), GOAL, rounds=20)
