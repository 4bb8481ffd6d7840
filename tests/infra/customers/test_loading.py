"""Loading a customer file is atomic, replaces customers with the same ids, and does not change other customers."""

from typing import Any

import pytest

from chalicelib.demo_bank import directory
from chalicelib.foundation.dynamodb.store import StoreUnavailable
from infra.customers import loading
from infra.customers.loading import CustomersChanged, TooManyCustomers, UnknownCustomers
from tests.demo_bank.single_bank import SingleBank
from tests.infra.operator_files import Content, account, customer, customer_file, transaction


def there(bank: SingleBank) -> dict[str, list[str]]:
    return {bic: list(found.customers) for bic, found in loading.read_all(bank).items()}


def rows(bank: SingleBank) -> list[Any]:
    return sorted(bank.store.scan("demo-banks"), key=lambda row: (row["bank"], row["id"]))


def test_loading_customers_replaces_customers_with_equal_ids_only(one: SingleBank) -> None:
    loading.load(one, customer_file(customer("noor"), customer("kenji", [account("61000002")])))
    loading.load(one, customer_file(customer("noor", name="Noor H.", accounts=[account("61000003")])))
    assert there(one) == {"DEMOGB21": ["kenji", "noor"], "DEMODEF1": ["kenji", "noor"]}
    noor = directory.read_loaded(one.runtime).customers["noor"]
    assert (noor.full_name, [each.number for each in noor.accounts]) == ("Noor H.", ["61000003"])


def test_a_repeated_customer_load_does_not_change_the_customers(one: SingleBank) -> None:
    text = customer_file(customer("noor", [account(transactions=[transaction()])]))
    loading.load(one, text)
    before = rows(one)
    loading.load(one, text)
    assert [row | {"revision": 0} for row in rows(one)] == [row | {"revision": 0} for row in before]


def test_a_customer_load_removes_a_customer_from_banks_that_the_file_does_not_list(one: SingleBank) -> None:
    loading.load(one, customer_file(customer("noor")))
    changes = loading.load(one, customer_file(customer("noor", banks=["DEMODEF1"])))
    assert there(one) == {"DEMOGB21": [], "DEMODEF1": ["noor"]}
    assert [list(change.removed) for change in changes] == [["noor"], []]


def test_a_customer_load_writes_only_to_the_banks_in_the_file(one: SingleBank) -> None:
    loading.load(one, customer_file(customer("noor", banks=["DEMODEF1"])))
    assert {row["bank"] for row in rows(one)} == {"two"}


def test_a_customer_deletion_deletes_either_all_listed_customers_or_none(one: SingleBank) -> None:
    loading.load(one, customer_file(customer("noor"), customer("kenji", [account("61000002")], banks=["DEMODEF1"])))
    with pytest.raises(UnknownCustomers, match=r"^there are no loaded customers with these ids: ada, nobody$"):
        loading.delete(one, ["noor", "ada", "nobody"])
    assert there(one) == {"DEMOGB21": ["noor"], "DEMODEF1": ["kenji", "noor"]}
    loading.delete(one, ["noor", "kenji"])
    assert there(one) == {"DEMOGB21": [], "DEMODEF1": []}
    assert [row["id"] for row in rows(one)] == ["customers", "customers"]


def test_a_customer_load_or_deletion_based_on_stale_data_is_rejected(
    one: SingleBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading.load(one, customer_file(customer("noor")))
    stale = loading.read_all(one)
    loading.load(one, customer_file(customer("kenji", [account("61000002")])))
    before = rows(one)
    monkeypatch.setattr(loading, "read_all", lambda _: stale)
    with pytest.raises(CustomersChanged):
        loading.load(one, customer_file(customer("mei", [account("61000004")])))
    with pytest.raises(CustomersChanged):
        loading.delete(one, ["noor"])
    assert rows(one) == before


def test_a_concurrent_load_of_one_customer_at_another_bank_is_refused(
    one: SingleBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = loading.read_all(one)
    loading.load(one, customer_file(customer("noor", banks=["DEMODEF1"])))
    monkeypatch.setattr(loading, "read_all", lambda _: stale)
    with pytest.raises(CustomersChanged):
        loading.load(one, customer_file(customer("noor", banks=["DEMOGB21"])))
    assert {row["bank"] for row in rows(one)} == {"two"}


@pytest.mark.parametrize("call", ["transact", "batch_get"])
def test_a_storage_failure_leaves_the_customers_unchanged(
    one: SingleBank, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    loading.load(one, customer_file(customer("noor")))
    before = rows(one)

    def fail(*_: Any) -> None:
        raise StoreUnavailable("down")

    monkeypatch.setattr(one.store, call, fail)
    with pytest.raises(StoreUnavailable):
        loading.load(one, customer_file(customer("kenji", [account("61000002")])))
    with pytest.raises(StoreUnavailable):
        loading.delete(one, ["noor"])
    assert rows(one) == before


def test_one_customer_load_accepts_49_customers_of_both_banks_and_refuses_50(one: SingleBank) -> None:
    people = [customer(f"p{n}", [account(f"{62_000_000 + n}")]) for n in range(50)]
    with pytest.raises(TooManyCustomers, match=r"^102 records would change at once, .* at most 100 are possible"):
        loading.load(one, customer_file(*people))
    assert rows(one) == []
    loading.load(one, customer_file(*people[:49]))
    assert {bic: len(ids) for bic, ids in there(one).items()} == {"DEMOGB21": 49, "DEMODEF1": 49}


def test_a_customer_load_of_more_than_3_2_mb_is_rejected(one: SingleBank) -> None:
    days = [f"2026-01-{day:02}" for day in range(1, 29)]
    long = [transaction(days[n % 28], text="\N{SNOWMAN}" * 140, counterparty="\N{SNOWMAN}" * 50) for n in range(480)]
    people = [customer(f"p{n}", [account(f"{62_000_000 + n}", transactions=long)]) for n in range(6)]
    with pytest.raises(TooManyCustomers, match=r"more than 3.2 MB"):
        loading.load(one, customer_file(*people))
    assert rows(one) == []
    loading.load(one, customer_file(*people[:5]))


def test_the_largest_customer_load_fits_into_one_dynamodb_transaction() -> None:
    members = 200  # of a record: its key, and the names of its members
    assert loading.MOST_BYTES_TOGETHER + 2 * directory.MOST_BYTES + loading.TOGETHER * members < 4_000_000


@pytest.mark.parametrize(
    ("limit", "said"), [("MOST_CUSTOMERS", "more than 2"), ("MOST_BYTES", "take more than 350 KB")]
)
def test_a_customer_load_that_exceeds_the_limits_of_a_bank_is_refused(
    one: SingleBank, monkeypatch: pytest.MonkeyPatch, limit: str, said: str
) -> None:
    loading.load(one, customer_file(customer("noor"), customer("kenji", [account("61000002")])))
    before = rows(one)
    monkeypatch.setattr(directory, limit, {"MOST_CUSTOMERS": 2, "MOST_BYTES": 400}[limit])
    with pytest.raises(TooManyCustomers, match=said):
        loading.load(one, customer_file(customer("mei", [account("61000004")])))
    assert rows(one) == before


def test_a_bank_can_store_500_customers_with_three_accounts_each(one: SingleBank) -> None:
    people: dict[str, Content] = {}
    for start in range(0, 500, 32):
        some = [
            customer(f"person-{n:03}", [account(f"{62_000_000 + 3 * n + k}") for k in range(3)], banks=["DEMOGB21"])
            for n in range(start, min(start + 32, 500))
        ]
        people |= {each["id"]: each for each in some}
        loading.load(one, customer_file(*some))
    assert list(directory.read_loaded(one.runtime).customers) == sorted(people)
    with pytest.raises(TooManyCustomers, match="DEMOGB21 would have more than 500 loaded customers: delete some"):
        loading.load(one, customer_file(customer("mei")))
