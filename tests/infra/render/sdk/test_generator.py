"""The SDK generator creates member types, names, and the synchronous client."""

from typing import Any

import pytest

from infra.render.openapi import documents
from infra.render.sdk import modules, source, tpp
from infra.render.sdk.members import Types, meaning, snake_case

OBJECT = {"type": "object", "description": "A thing", "required": ["id"]}


def members(owner: str = "Answer", **properties: Any) -> dict[str, str]:
    types = Types({("A", "B"): "Choice"}, {"Order"})
    return {one.name: one.annotation for one in types.members(owner, {**OBJECT, "properties": properties})}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "str | None"),
        ({"type": ["string", "null"]}, "str | None"),
        ({"type": "string", "format": "date-time"}, "datetime.datetime | None"),
        ({"type": "string", "format": "date"}, "datetime.date | None"),
        ({"type": "integer"}, "int | None"),
        ({"type": "boolean"}, "bool | None"),
        ({"type": "object", "additionalProperties": True}, "Mapping[str, Any] | None"),
        ({"type": "string", "enum": ["A", "B"]}, "Choice | None"),
        ({"type": ["string", "null"], "enum": ["A", "B", None]}, "Choice | None"),
        ({"type": "string", "enum": ["A", "C"]}, "Literal['A', 'C'] | None"),
        ({"const": "A"}, "Literal['A'] | None"),
        ({"$ref": "#/components/schemas/AccountV1"}, "AccountV1 | None"),
        ({"anyOf": [{"$ref": "#/components/schemas/AccountV1"}, {"type": "null"}]}, "AccountV1 | None"),
        ({"anyOf": [{"type": "array", "items": {}}, {"type": "object"}]}, "Any"),
        ({"type": "array", "items": {"type": "string"}}, "tuple[str, ...] | None"),
    ],
)
def test_a_generated_member_has_the_type_of_the_schema(schema: Any, expected: str) -> None:
    assert members(member=schema) == {"member": expected}


def test_mandatory_members_are_not_optional_unless_nullable() -> None:
    assert members(id={"type": "string"}) == {"id": "str"}
    assert members(id={"type": ["string", "null"]}) == {"id": "str | None"}


def test_a_string_with_an_amount_is_a_decimal() -> None:
    assert members(value={"type": "string"}) == {"value": "Decimal | None"}


def test_a_member_that_hubs_of_version_1_0_do_not_send_is_optional() -> None:
    scopes, status = {"type": "array", "items": {"type": "string"}}, {"type": "string"}
    schema = {**OBJECT, "required": ["status", "unified_scopes"], "properties": {"status": status}}

    assert members(unified_scopes=scopes) == {"unified_scopes": "tuple[str, ...] | None"}
    assert [one.optional for one in Types({}, set()).members("PaymentStatusChanged", schema)] == [True]
    assert [one.optional for one in Types({}, set()).members("PaymentStatus", schema)] == [False]


def test_a_list_in_a_request_accepts_any_sequence() -> None:
    assert members("Order", id={"type": "array", "items": {"type": "integer"}}) == {"id": "Sequence[int]"}


@pytest.mark.parametrize(("name", "expected"), [("amount", "Decimal"), ("limit", "int"), ("id", "str")])
def test_a_member_that_is_a_number_or_a_string_has_the_type_that_its_description_states(
    name: str, expected: str
) -> None:
    schema: Any = {name: {"type": ["number", "string"]}}
    assert members(**schema)[name].startswith(expected)


def test_a_member_that_is_a_number_or_a_string_and_has_no_known_type_is_reported() -> None:
    with pytest.raises(KeyError, match=r"members\.py"):
        members(rate={"type": ["number", "string"]})


def test_the_limits_of_a_member_are_documented_only_in_request_classes() -> None:
    schema = {"type": "string", "maxLength": 18, "description": "The reference"}

    assert meaning(schema, limits=True) == "The reference; at most 18 characters"
    assert meaning(schema, limits=False) == "The reference"


@pytest.mark.parametrize(
    ("name", "expected"), [("requestId", "request_id"), ("additionalErrors", "additional_errors"), ("bic", "bic")]
)
def test_names_are_converted_to_snake_case(name: str, expected: str) -> None:
    assert snake_case(name) == expected


def test_a_docstring_is_a_sentence_with_lines_of_at_most_120_characters() -> None:
    assert source.docstring("The account") == '"""The account."""'
    assert source.docstring(r"The pattern \d") == 'r"""The pattern \\d."""'
    assert max(map(len, source.docstring("word " * 60, "    ").splitlines())) <= 120


def test_the_type_of_a_member_called_date_is_not_the_member() -> None:
    day = {"type": "string", "format": "date"}
    members = Types({}, set()).members("Entry", {**OBJECT, "properties": {"date": day, "booked": day}})
    text = source.module("Entries.", [source.dataclass_source("Entry", "An entry", members)], {})

    assert "import datetime\n" in text
    assert "    date: datetime.date | None = None\n" in text


def test_the_synchronous_client_has_no_await_and_unchanged_strings() -> None:
    asynchronous = (
        "from causeway import _waiting\n\n\n"
        "class AsyncTpp:\n"
        '    """The client: \u00abrun\u00bb calls the hub."""\n\n'
        "    async def run(self) -> None:\n"
        "        async with self.lock:\n"
        "            await _waiting.async_sleep((await self.wait()).seconds)\n"
    )

    assert modules.to_synchronous(asynchronous) == (
        f"{modules.SYNC_NOTICE}\n\n"
        "from causeway import _waiting\n\n\n"
        "class Tpp:\n"
        '    """The client: \u00abrun\u00bb calls the hub."""\n\n'
        "    def run(self) -> None:\n"
        "        with self.lock:\n"
        "            _waiting.sleep((self.wait()).seconds)\n"
    )


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("class AsyncCaller:\n    pass\n", ""),
        ("class AsyncOther:\n    pass\n", "AsyncOther"),
        ("class Tpp(AsyncBase):\n    pass\n", "AsyncBase"),
        ('"""Await the call."""\n', "Await"),
        ("def run():\n    # awaited elsewhere\n    pass\n", "awaited"),
        ("import asyncio\n", "asyncio"),
        ("def __aiter_(): ...\n\n\nstream.aiter()\n", "aiter"),
        ("def pay(*, prefer_async=False): ...\n", ""),
    ],
)
def test_an_asynchronous_name_in_the_synchronous_client_is_reported(text: str, left: str) -> None:
    if not left:
        modules.to_synchronous(text, "caller.py")
        return
    with pytest.raises(modules.AsynchronousNameLeft, match=rf"^caller\.py keeps {left}: "):
        modules.to_synchronous(text, "caller.py")


def test_the_synchronous_client_and_consent_classes_have_a_synchronous_base() -> None:
    texts = {path.name: text for path, text in modules.texts().items() if path.parent == modules.SYNC}

    assert "class Caller:" in texts["caller.py"]
    assert "class Tpp(Directory, Payer):" in texts["client.py"]
    assert "class Consent(Payer):" in texts["consent.py"]
    assert "class NativeConsent(NativePayer):" in texts["native.py"]


def test_every_scope_belongs_to_one_protocol_version() -> None:
    first, second = tpp.scopes_of_versions().values()

    assert not set(first) & set(second)
    assert "account.list" in first
    assert "accounts" in second


def test_a_scope_without_a_call_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tpp, "operations", lambda: iter([]))

    with pytest.raises(ValueError, match="scopes"):
        tpp.scopes_of_versions()


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ("UnifiedAccount", "Account"),
        ("AccountV1", "AccountV1"),
        ("FundsConfirmation", "NativeFundsConfirmation"),
        ("UnifiedFundsConfirmation", "FundsConfirmation"),
        ("PaidAmount", "Amount"),
        ("DirectPayment", "Payment"),
    ],
)
def test_classes_of_unified_schemas_have_the_short_names(schema: str, name: str) -> None:
    assert tpp.class_name(schema) == name
    assert name in tpp.schemas()


def test_each_schema_has_its_own_class_or_shares_one_by_name() -> None:
    schemas = documents.load("tpp")["components"]["schemas"]
    names = [tpp.class_name(schema) for schema in schemas if schema not in tpp.SHARED]

    assert sorted(set(names)) == sorted(names)
    assert schemas.keys() >= {*tpp.SHARED, *tpp.RENAMED}


def test_a_shared_class_accepts_all_values_of_its_schemas() -> None:
    assert "null" in str(tpp.schemas()["Amount"]["properties"]["currency"])


def test_only_schemas_of_requests_accept_sequences() -> None:
    assert {"BulkPaymentV2", "TransferV2", "PaymentAccountV2"} <= tpp.request_schemas()
    assert not {"AccountsAnswerV2", "TransactionsV2", "BanksAnswer"} & tpp.request_schemas()
