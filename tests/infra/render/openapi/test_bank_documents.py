"""The OpenAPI documents for banks: tokens in examples, error codes of the bank, and the sign and order of lists."""

from typing import Any

import pytest

from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.render.openapi import documents
from infra.render.openapi.bank_refusals import refusals
from infra.render.openapi.example_values import BANK_TOKEN

BY_VERSION = pytest.mark.parametrize("version", VERSIONS.values(), ids=str)


def usual_request(operation: Any) -> Any:
    return operation["requestBody"]["content"]["application/json"]["examples"]["usual"]["value"]


@BY_VERSION
def test_the_example_of_revoke_token_contains_a_token_of_the_bank(version: Version) -> None:
    document = documents.load(f"bank-v{version}")
    members = document["components"]["schemas"]["TokenRevoked"]["properties"]

    assert usual_request(document["webhooks"]["revoke_token"]["post"]) == {"access_token": BANK_TOKEN}
    assert "as issued to the bank" in members["access_token"]["description"]


@BY_VERSION
def test_examples_of_bank_documents_contain_no_tpp_tokens(version: Version) -> None:
    document = documents.load(f"bank-v{version}")
    assert "~" not in str(document["webhooks"]) + str(document["paths"])


@BY_VERSION
def test_docs_list_every_refusal_of_the_python_package(version: Version) -> None:
    text = documents.load(f"bank-v{version}")["info"]["description"]
    known = [(each.status, getattr(each, f"code_v{version}")) for each in refusals()]

    assert known
    for status, code in known:
        assert f"| `{code}` | {status} |" in text


@BY_VERSION
def test_the_history_webhook_documents_the_sign_of_amounts_and_the_order(version: Version) -> None:
    name = {1: "account_payments", 2: "v2_account_transactions"}[version.number]
    text = documents.load(f"bank-v{version}")["webhooks"][name]["post"]["description"]

    assert "newest first" in text
    assert "`amount` is negative when money left the account" in text
