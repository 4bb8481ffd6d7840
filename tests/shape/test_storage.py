"""Tests that the source code check finds store writes in flows, handlers of store errors and uses of the idempotency
table.
"""

import pytest

from tests.shape.modules import Module
from tests.shape.storage import idempotency_modules, idempotency_tables, store_error_handlers, store_writes

FLOW = "chalicelib/openbanking/flows/consent/tokens.py"
ERRORS = Module(
    "chalicelib/foundation/dynamodb/errors.py",
    "class StoreError(Exception): ...\nclass ConditionFailed(StoreError): ...\nclass Busy(StoreError): ...",
)
STORE = Module(
    "chalicelib/foundation/dynamodb/store.py",
    "from chalicelib.foundation.dynamodb.errors import Busy, ConditionFailed, StoreError\nclass Store: ...",
)
OF_STORE = "from chalicelib.foundation.dynamodb.store import"


@pytest.mark.parametrize(
    "source",
    [
        "store.transact(operations)",
        "self._store.put(table, item)",
        "self.shared.store.update(table, key)",
        "partial(store.delete, table)",
        f"{OF_STORE} Store\ndef write(db: Store): db.put(table, item)",
        f"{OF_STORE} Store as Items\nclass Flow:\n    rows: Items | None\n    def write(self): self.rows.put(1)",
    ],
)
def test_a_store_write_in_a_flow_is_counted(source: str) -> None:
    found = store_writes([STORE, Module(FLOW, source)])

    assert [place.partition(":")[0] for place in found] == [FLOW]


@pytest.mark.parametrize(
    "source", ["store.get(table, key)", "queue.put(message)", "self.users.update(user)", "put(store)"]
)
def test_calls_that_do_not_write_to_the_store_are_not_counted(source: str) -> None:
    assert store_writes([STORE, Module(FLOW, source)]) == []


def test_store_writes_are_counted_only_in_flow_modules() -> None:
    paths = ("chalicelib/cards/issuing/fee_flow.py", "chalicelib/cards/ledger/fees.py")

    found = store_writes([Module(path, "\nstore.put(table, item)") for path in paths])

    assert found == ["chalicelib/cards/issuing/fee_flow.py:2 store.put"]


@pytest.mark.parametrize(
    "source",
    [
        f"{OF_STORE} StoreError\ntry: ...\nexcept StoreError: ...",
        f"{OF_STORE} ConditionFailed as Refused\ntry: ...\nexcept Refused: ...",
        f"{OF_STORE} Busy\ntry: ...\nexcept (KeyError, Busy): ...",
        f"{OF_STORE} Busy\n_OTHERS = (KeyError,)\n_ALL = (*_OTHERS, Busy)\ntry: ...\nexcept _ALL: ...",
        f"{OF_STORE} Busy\n_ALL = (KeyError,) + tuple([Busy])\ntry: ...\nexcept _ALL: ...",
        f"{OF_STORE} Busy\nclass Late(Busy): ...\ntry: ...\nexcept Late: ...",
        f"{OF_STORE} Busy\ntry: ...\nexcept* Busy: ...",
        "from chalicelib.foundation.dynamodb import errors\ntry: ...\nexcept errors.Busy: ...",
        "import chalicelib.foundation.dynamodb.errors as them\ntry: ...\nexcept them.Busy: ...",
        "import chalicelib.bootstrap\ntry: ...\nexcept chalicelib.foundation.dynamodb.errors.Busy: ...",
        f"{OF_STORE} Busy\nfrom contextlib import suppress\nwith suppress(KeyError, Busy): ...",
        f"{OF_STORE} Busy\nimport contextlib as c\nwith c.suppress(Busy): ...",
        f"def act():\n    {OF_STORE} Busy\n    try: ...\n    except Busy: ...",
    ],
)
def test_a_handler_of_a_store_error_is_counted(source: str) -> None:
    found = store_error_handlers([ERRORS, STORE, Module("chalicelib/website/users.py", source)])

    assert [place.partition(":")[0] for place in found] == ["chalicelib/website/users.py"]


@pytest.mark.parametrize(
    "source",
    [
        "try: ...\nexcept KeyError: ...",
        "try: ...\nexcept Exception: ...",
        "class Busy(Exception): ...\ntry: ...\nexcept Busy: ...",
        f"{OF_STORE} Busy\nraise Busy",
        f"{OF_STORE} Busy\nfrom contextlib import closing\nwith closing(Busy): ...",
    ],
)
def test_a_handler_of_errors_other_than_store_errors_is_not_counted(source: str) -> None:
    assert store_error_handlers([ERRORS, STORE, Module("chalicelib/website/users.py", source)]) == []


def test_a_store_error_handler_is_listed_with_file_line_and_errors() -> None:
    source = f"{OF_STORE} Busy, ConditionFailed\ntry: ...\nexcept (ConditionFailed, Busy): ..."

    assert store_error_handlers([ERRORS, STORE, Module("app.py", source)]) == ["app.py:3 Busy, ConditionFailed"]


@pytest.mark.parametrize("package", ["foundation", "delivery", "demo_bank"])
def test_store_error_handlers_in_foundation_delivery_and_demo_bank_modules_are_not_counted(package: str) -> None:
    module = Module(f"chalicelib/{package}/worker.py", f"{OF_STORE} Busy\ntry: ...\nexcept Busy: ...")

    assert store_error_handlers([ERRORS, STORE, module]) == []


def test_a_module_is_identified_as_an_idempotency_module_by_its_name() -> None:
    paths = ["chalicelib/cards/idempotency_keys.py", "chalicelib/idempotency/keys.py"]

    assert idempotency_modules([Module(path, "") for path in paths]) == paths[:1]


def test_a_module_with_the_idempotency_table_name_as_a_string_is_found() -> None:
    sources = {
        "one.py": 'TABLE = "idempotency"',
        "two.py": 'put("idempotency", item)',
        "three.py": '"""On idempotency."""',
    }

    assert idempotency_tables([Module(path, text) for path, text in sources.items()]) == ["one.py", "two.py"]
