"""The guide to customer files lists every member and limit of the format."""

from typing import Any

import pytest
from pydantic import BaseModel

from chalicelib.demo_bank import books, directory, pages
from infra.customers import loading, models
from infra.customers.models import BANKS
from tests.kit.documents import CUSTOMERS_PAGE, section, tables

TABLES = tables(section(CUSTOMERS_PAGE, "## The file"))
CUSTOMER, ACCOUNT, TRANSACTION = ({row[0]: row for row in table[2:]} for table in TABLES)


def members(*parts: type[BaseModel]) -> dict[str, bool]:
    return {field.alias or name: field.is_required() for part in parts for name, field in part.model_fields.items()}


@pytest.mark.parametrize(
    ("table", "parts"),
    [(CUSTOMER, (models.CustomerPart,)), (ACCOUNT, (models.AccountPart,))],
    ids=["person", "account"],
)
def test_docs_list_the_members_of_customers_and_accounts(table: dict[str, list[str]], parts: Any) -> None:
    assert {name: row[1] == "yes" for name, row in table.items()} == members(*parts)


def test_docs_list_the_members_of_transactions_and_rules() -> None:
    assert TRANSACTION.keys() == members(models.TransactionPart, models.RulePart).keys()
    shared = members(models.ParticularsPart)
    assert {name: row[1] == "yes" for name, row in TRANSACTION.items() if name in shared} == shared
    only = {name: row[1] for name, row in TRANSACTION.items() if name not in shared}
    assert only == {
        "date": "yes, in a transaction",
        "amount": "yes",
        "between": "no; in a rule",
        "every": "yes, in a rule",
        "day": "yes, in a rule of every month",
        "weekday": "yes, in a rule of every week",
        "from": "no; in a rule",
        "until": "no; in a rule",
    }


def test_docs_state_the_limits_of_customer_files() -> None:
    assert f"1 to {models.MOST_ACCOUNTS} accounts" in CUSTOMER["accounts"][2]
    assert all(bic in CUSTOMER["banks"][2] for bic in BANKS)
    listed, rules = ACCOUNT["transactions"][2], ACCOUNT["rules"][2]
    assert listed == (
        f"At most {models.MOST_TRANSACTIONS:,} listed transactions, at most {books.MOST_LISTED_PER_DAY} on one day"
    )
    assert rules == f"At most {books.MOST_RULES} rules that make transactions"
    assert TRANSACTION["pending_days"][2].endswith(f"to {books.MOST_PENDING_DAYS}")
    assert f"The banks' pages list {pages.MOST_SHOWN} customers" in CUSTOMERS_PAGE
    text = " ".join(section(CUSTOMERS_PAGE, "## Loading again, and deleting").split())
    most = loading.TOGETHER
    assert f"at most {most} records" in text
    assert f"{most - 2} accounts at one bank or {(most - 2) // 2} at both" in text
    assert f"at most {directory.MOST_CUSTOMERS} loaded customers" in text
    assert directory.MOST_BYTES == 350_000
    assert loading.MOST_BYTES_TOGETHER == 3_200_000
    assert "3.2 MB of transactions, of which an account has at most 350 KB" in text
