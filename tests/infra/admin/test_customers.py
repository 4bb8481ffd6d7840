"""The commands that load, list and delete customers of the demonstration banks."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import responses

from chalicelib.demo_bank import directory
from infra.admin import connection
from infra.customers import loading
from infra.customers.loading import CustomersChanged
from tests.demo_bank.single_bank import SingleBank
from tests.infra.admin.command_line import done, refused, run
from tests.infra.operator_files import account, customer, customer_file

EXAMPLE = "docs/guides/customers.yaml"


@pytest.fixture(autouse=True)
def bank(resources: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[SingleBank]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        found = SingleBank("one", mock)
        monkeypatch.setattr(connection, "connect", lambda: found)
        yield found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "customers.yaml"


def test_the_documented_customer_file_is_loaded_listed_and_deleted() -> None:
    loaded = done("customers", "load", EXAMPLE)
    at = {(each["bank"], each["id"]) for each in loaded["loaded"]}
    assert at == {("DEMOGB21", "noor"), ("DEMOGB21", "imogen"), ("DEMODEF1", "noor"), ("DEMODEF1", "piotr")}
    assert loaded["removed"] == []
    listed = done("customers", "list")["customers"]
    assert sorted(listed, key=str) == sorted(loaded["loaded"], key=str)
    piotr = next(each for each in listed if each["id"] == "piotr")
    assert piotr["password"] == "sandbox-piotr"
    assert [(each["number"], each["currency"], each["iban"]) for each in piotr["accounts"]] == [
        ("0061000011", "EUR", "DE48100999007100000111"),
        ("0061000012", "PLN", "DE48100999007100000111"),
    ]
    assert done("customers", "delete", "noor", "piotr") == {
        "deleted": [
            {"bank": "DEMOGB21", "id": "noor"},
            {"bank": "DEMODEF1", "id": "noor"},
            {"bank": "DEMODEF1", "id": "piotr"},
        ]
    }
    assert [each["id"] for each in done("customers", "list")["customers"]] == ["imogen"]


def test_customer_commands_print_tables_and_messages(path: Path) -> None:
    assert run("customers", "list").stdout == "There are no loaded customers: load some with `customers load`.\n"
    path.write_text(customer_file(customer()))
    told = run("customers", "load", str(path)).stdout
    assert told.splitlines() == [
        "Loaded:",
        "bank      id    name         password      accounts",
        "DEMOGB21  noor  Noor Haddad  sandbox-noor  61000001 KWD",
        "DEMODEF1  noor  Noor Haddad  sandbox-noor  0061000001 KWD",
    ]
    path.write_text(customer_file(customer(banks=["DEMODEF1"])))
    assert run("customers", "load", str(path)).stdout.splitlines()[-1] == "noor is no longer at DEMOGB21."
    assert run("customers", "delete", "noor").stdout == "noor was deleted at DEMODEF1.\n"


def test_customers_load_reports_all_errors_of_a_file_and_loads_nothing(path: Path) -> None:
    path.write_text(customer_file(customer(), customer("ada", [account("61000002", balance="1.2345")])))
    assert refused("customers", "load", str(path)) == (
        "customers.1.id is the name of a built-in customer; "
        "customers.1.accounts.0.balance must have at most 3 decimal places in this currency"
    )
    assert done("customers", "list") == {"customers": []}


def test_an_unreadable_customer_file_is_refused(path: Path) -> None:
    assert refused("customers", "load", str(path)) == f"{path} cannot be read: No such file or directory"
    path.write_bytes(b"\xff")
    assert refused("customers", "load", str(path)) == f"{path} cannot be read: it is not a text file"


def test_customers_delete_with_an_unknown_id_deletes_no_customer(path: Path) -> None:
    path.write_text(customer_file(customer()))
    done("customers", "load", str(path))
    assert refused("customers", "delete", "noor", "ada") == "there are no loaded customers with these ids: ada"
    assert done("customers", "delete", "noor", "noor")["deleted"][0] == {"bank": "DEMOGB21", "id": "noor"}


def test_customers_load_refuses_too_many_customers_and_concurrent_loads(
    bank: SingleBank, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text(customer_file(customer()))
    monkeypatch.setattr(directory, "MOST_CUSTOMERS", 0)
    assert refused("customers", "load", str(path)) == "DEMOGB21 would have more than 0 loaded customers: delete some"

    def change(*_: object) -> None:
        raise CustomersChanged("the customers were changed concurrently: try again")

    monkeypatch.setattr(loading, "load", change)
    assert refused("customers", "load", str(path)) == "the customers were changed concurrently: try again"


@pytest.mark.parametrize("arguments", [("load", EXAMPLE), ("list",), ("delete", "noor")])
def test_customer_commands_are_refused_in_production(bank: SingleBank, arguments: tuple[str, ...]) -> None:
    bank.settings = replace(bank.settings, stage="prod")
    assert refused("customers", *arguments) == "prod has no demonstration banks, so it has no customers"
    assert list(bank.store.scan("demo-banks")) == []
