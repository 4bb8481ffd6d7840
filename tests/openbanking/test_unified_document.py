"""Responses of unified calls have the schemas of the OpenAPI document."""

from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from infra.render.openapi.documents import load
from tests.openbanking.relay import Relay
from tests.openbanking.unified_reads import EVERY_LIST, EVERY_READ, bank_list
from tests.openbanking.unified_reads import read as read_unified


@cache
def document() -> Any:
    return load("tpp")


def check(path: str, method: str, body: Any) -> None:
    """Compare a successful response with the schema of its call."""
    schema = document()["paths"][path][method]["responses"]["200"]["content"]["application/json"]["schema"]
    whole = {**schema, "components": document()["components"]}
    Draft202012Validator(whole, format_checker=Draft202012Validator.FORMAT_CHECKER).validate(body)


@EVERY_READ
@pytest.mark.parametrize("query", [{}, {"native": "1"}], ids=["", "native"])
def test_a_unified_read_returns_the_documented_members(
    relay: Relay, version: int, read: str, query: dict[str, str]
) -> None:
    check(f"/tpp/unified/{read}", "get", read_unified(relay, version, read, **query))


@EVERY_LIST
@pytest.mark.parametrize("entries", [None, [], [None, 17, {}]], ids=["missing", "empty", "unusable"])
def test_a_unified_list_with_problems_returns_the_documented_members(
    relay: Relay, version: int, read: str, entries: Any
) -> None:
    body = read_unified(relay, version, read, bank_list(version, read, entries))

    check(f"/tpp/unified/{read}", "get", body)
    assert bool(body["problems"]) == (entries != [])
