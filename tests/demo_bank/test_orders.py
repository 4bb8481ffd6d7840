"""Payment records fit into one storage transaction, and contain the callback URL of the payment request."""

from collections.abc import Sequence

import pytest

from chalicelib.foundation.dynamodb.store import Operation, Put
from chalicelib.openbanking.protocol.v1_payment_messages import BULK_ITEMS
from tests.demo_bank.parties import query_of
from tests.demo_bank.single_bank import BULK, SingleBank

RECORD_BYTES = 400_000
TRANSACTION_BYTES = 4_000_000
TRANSACTION_RECORDS = 100


def test_the_longest_bulk_payment_fits_into_one_storage_transaction(
    two: SingleBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    body, written = two.bulk(["0.01"] * BULK_ITEMS), list[Operation]()
    for item in body["payments"]:
        item["creditor_name"] = "\N{GRINNING FACE}" * 70
        item["remittance_information_unstructured"] = "\N{GRINNING FACE}" * 140
        item["remittance_information_structured"] = {"reference": "\N{GRINNING FACE}" * 35, "reference_type": "A" * 35}
    real = two.store.transact

    def transact(operations: Sequence[Operation]) -> None:
        written.extend(operations)
        real(operations)

    given = two.token()
    monkeypatch.setattr(two.store, "transact", transact)
    assert two.webhook(BULK["two"], body, token=given).status == 200
    sizes = [len(repr(put.item).encode("ascii", "backslashreplace")) for put in written if isinstance(put, Put)]
    assert max(sizes) < RECORD_BYTES
    assert sum(sizes) < TRANSACTION_BYTES
    assert len(written) <= TRANSACTION_RECORDS


@pytest.mark.parametrize("callback", ["", "?", "?order=7", "?order=7&"])
def test_the_payment_outcome_is_added_to_the_query_of_the_callback_url(one: SingleBank, callback: str) -> None:
    answer = one.initiate(callback_url=f"https://tpp.example/cb{callback}")
    location = one.at_confirmation(answer).refuse_to_pay().location
    assert location.startswith("https://tpp.example/cb?")
    assert query_of(location) == {
        **({"order": "7"} if "order" in callback else {}),
        "status": "3",
        "payment_id": answer["payment_id"],
        "message": "The customer refused",
    }
    assert "&&" not in location
