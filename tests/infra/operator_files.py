"""Sample operator files: customers of the demonstration banks, and programme managers."""

from collections.abc import Sequence
from typing import Any

import pytest
import yaml

from chalicelib.cards.programs.catalogue import Catalogue
from infra.programme import file
from infra.programme.file import InvalidProgramme
from tests.cards.programmes import Content, manager, planned, written
from tests.causeway import Causeway

DEMO = file.read_programmes(file.DEMO.read_text(encoding="utf-8"), "local")[0].catalogue


def faults(**members: Any) -> tuple[str, ...]:
    """Return the validation errors of a small programme file that contains the given members. The errors do not include
    the path of the programme manager.
    """
    with pytest.raises(InvalidProgramme) as caught:
        file.read_programmes(written(manager(**members)), "local")
    return tuple(fault.removeprefix("programme_managers.0.") for fault in caught.value.faults)


def catalogue_of(**members: Any) -> Catalogue:
    return file.read_programmes(written(manager(**members)), "local")[0].catalogue


MARK = "mark_transaction_as_suspicious"


def rule(number: int = 1, **members: Any) -> Content:
    """Return a rule of a risk group that matches every transaction."""
    return {"id": number, "name": f"Rule {number}", "actions": [MARK]} | members


def with_entries(content: Content, fees: list[Content], limits: list[Content]) -> Content:
    first, *others = content["limit_groups"]
    fee_groups = [{"id": 1, "name": "Fees", "entries": fees}]
    return content | {"fee_groups": fee_groups, "limit_groups": [first | {"entries": limits}, *others]}


def changes(causeway: Causeway, content: Content) -> list[tuple[str, str]]:
    """Return the planned changes of a load. Each change has a verb and a title."""
    (plan,) = planned(causeway.hub, content)
    return [(change.what, change.title) for change in plan.changes]


def stored_rows(causeway: Causeway, content: Content) -> dict[str, Any]:
    rows = list(causeway.hub.store.scan("programmes"))
    own = [row for row in rows if row["owner"] == f"manager#{content['id']}" or row.get("manager_id") == content["id"]]
    return {f"{row['owner']} {row['part']}": row for row in own}


def mark_used(causeway: Causeway, content: Content, *references: tuple[str, int]) -> None:
    hub = causeway.another_process()
    hub.cards.programmes.mark_used(hub.cards.programmes.catalogue(content["id"]), references)


try:
    from yaml import CSafeDumper as SafeDumper
except ImportError:  # PyYAML was built without it
    from yaml import SafeDumper  # type: ignore[assignment]

BOTH = ("DEMOGB21", "DEMODEF1")


def customer(id_: str = "noor", accounts: Sequence[Content] = (), **members: Any) -> Content:
    """Return a customer of both banks with one account in a currency with three decimals."""
    person = {"id": id_, "banks": list(BOTH), "name": "Noor Haddad", "about": "Paid in dinars"}
    return {**person, "accounts": list(accounts or [account()]), **members}


def account(number: str = "61000001", **members: Any) -> Content:
    members_of_file = {"number": number, "name": "Current account", "currency": "KWD"}
    return {**members_of_file, "balance": "1250.750", "balance_on": "2026-01-01", **members}


def transaction(day: str = "2026-02-03", amount: str = "-12.345", **members: Any) -> Content:
    return {"date": day, "amount": amount, "counterparty": "Pearl Market", "text": "Card payment", **members}


def recurring_rule(every: str = "day", amount: str | None = "1.000", **members: Any) -> Content:
    """Return a recurring rule. If ``amount`` is ``None``, the rule has no fixed amount, as rules with an amount range
    require.
    """
    members_of_file = {"every": every, "counterparty": "Gulf Software", "text": "Salary", **members}
    return members_of_file if amount is None else members_of_file | {"amount": amount}


def customer_file(*customers: Content) -> str:
    return yaml.dump({"customers": list(customers)}, Dumper=SafeDumper, allow_unicode=True, sort_keys=False)
