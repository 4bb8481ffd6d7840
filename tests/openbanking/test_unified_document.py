"""Requests and responses of unified calls have the schemas of the OpenAPI document."""

from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from chalicelib.foundation.http.outbound import TimedOut
from infra.render.openapi.documents import load
from tests.causeway import Answer, Causeway
from tests.openbanking.accounts import Aisp
from tests.openbanking.kit import IBAN, VERSIONS
from tests.openbanking.payments import KINDS, UnifiedPisp
from tests.openbanking.unified.bodies import funds_body
from tests.openbanking.unified_reads import EVERY_LIST, EVERY_READ, UNIFIED, bank_list, query_of

FUNDS_PATH = "/tpp/unified/funds_confirmations"


@cache
def document() -> Any:
    return load("tpp")


def check(schema: Any, value: Any) -> None:
    """Compare a value with a schema of the document."""
    whole = {**schema, "components": document()["components"]}
    Draft202012Validator(whole, format_checker=Draft202012Validator.FORMAT_CHECKER).validate(value)


def check_request(path: str, body: Any) -> None:
    check(document()["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"], body)


def check_response(path: str, method: str, answer: Answer) -> None:
    """Compare a response with the schema of its call and status."""
    response = document()["paths"][path][method]["responses"][str(answer.status)]
    check(response["content"]["application/json"]["schema"], answer.body)


@EVERY_READ
@pytest.mark.parametrize("query", [{}, {"native": "1"}], ids=["", "native"])
def test_a_unified_read_returns_the_documented_members(
    causeway: Causeway, version: int, read: str, query: dict[str, str]
) -> None:
    answer = Aisp(causeway, version).read(f"unified/{read}", **query_of(read, **query))

    assert answer.status == 200, answer
    check_response(f"/tpp/unified/{read}", "get", answer)


@EVERY_LIST
@pytest.mark.parametrize("entries", [None, [], [None, 17, {}]], ids=["missing", "empty", "unusable"])
def test_a_unified_list_with_problems_returns_the_documented_members(
    causeway: Causeway, version: int, read: str, entries: Any
) -> None:
    aisp = Aisp(causeway, version)
    aisp.bank_answers(bank_list(version, read, entries), UNIFIED[version, read].webhook)

    answer = aisp.read(f"unified/{read}", **query_of(read))

    check_response(f"/tpp/unified/{read}", "get", answer)
    assert bool(answer.body["problems"]) == (entries != [])


@KINDS
@VERSIONS
def test_a_unified_payment_and_its_status_have_the_documented_members(
    causeway: Causeway, version: int, kind: str
) -> None:
    pisp = UnifiedPisp(causeway, version, kind)
    path = pisp.paths[kind]

    check_request(path, pisp.body())
    check_response(path, "post", pisp.pay())
    check_response(pisp.status_path, "get", pisp.status())


@VERSIONS
def test_the_status_of_an_order_without_a_payment_has_the_documented_members(causeway: Causeway, version: int) -> None:
    pisp = UnifiedPisp.with_request_id(causeway, version)
    pisp.bank_answers(TimedOut("no answer came in time"))

    paid = pisp.pay()
    status = pisp.status_of_order()

    check_response(pisp.paths["single"], "post", paid)
    assert status.body["payment_id"] is None
    check_response(pisp.status_path, "get", status)


@VERSIONS
def test_a_unified_confirmation_of_funds_returns_the_documented_members(causeway: Causeway, version: int) -> None:
    aisp = Aisp(causeway, version)
    body = funds_body({"account": {"iban": IBAN}})

    answer = causeway.tpp.call("POST", FUNDS_PATH, body, bearer=aisp.bearer)

    assert answer.status == 200, answer
    check_request(FUNDS_PATH, body)
    check_response(FUNDS_PATH, "post", answer)
