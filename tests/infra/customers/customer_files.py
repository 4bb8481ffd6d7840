"""Customer files as an operator writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

try:
    from yaml import CSafeDumper as SafeDumper
except ImportError:  # PyYAML was built without it
    from yaml import SafeDumper  # type: ignore[assignment]

Content = dict[str, Any]
BOTH = ("DEMOGB21", "DEMODEF1")


def customer(id_: str = "noor", accounts: Sequence[Content] = (), **members: Any) -> Content:
    """A customer of both banks with one account, in a currency with three decimals."""
    person = {"id": id_, "banks": list(BOTH), "name": "Noor Haddad", "about": "Paid in dinars"}
    return {**person, "accounts": list(accounts or [account()]), **members}


def account(number: str = "61000001", **members: Any) -> Content:
    """An account without transactions."""
    made = {"number": number, "name": "Current account", "currency": "KWD"}
    return {**made, "balance": "1250.750", "balance_on": "2026-01-01", **members}


def transaction(day: str = "2026-02-03", amount: str = "-12.345", **members: Any) -> Content:
    return {"date": day, "amount": amount, "counterparty": "Pearl Market", "text": "Card payment", **members}


def rule(every: str = "day", amount: str | None = "1.000", **members: Any) -> Content:
    """A rule; ``amount`` is ``None`` for one with an amount between two others."""
    made = {"every": every, "counterparty": "Gulf Software", "text": "Salary", **members}
    return made if amount is None else made | {"amount": amount}


def written(*customers: Content) -> str:
    return yaml.dump({"customers": list(customers)}, Dumper=SafeDumper, allow_unicode=True, sort_keys=False)
