"""Patches that reduce moto's run time and memory use, and make its transactions idempotent.

Unpatched, moto copies whole tables, frees no memory, has no caches, and ignores the tokens of transactions.
"""

from __future__ import annotations

import base64
import copy
from collections import deque
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from infra.local.moto_indexes import Place, patch_queries, update_indexes
from infra.local.transaction_tokens import TokenRefused, tokens_of

_IN_USE = ("dynamodb", "sqs", "kms", "secretsmanager")
_LARGEST_ITEM = 405_000
"""Maximum size of an item in bytes, counted as moto does."""


@cache
def patch_moto() -> None:
    """Patch moto in this process, once."""
    _copy_changed_items_only()
    patch_queries()
    _remember_less()
    _look_up_less()
    _read_models_once()
    _read_expressions_once()
    _try_fewer_names()
    _measure_once()
    _honour_tokens()


def _copy_changed_items_only() -> None:
    """Patch moto so that a transaction backs up only the items that it may restore, instead of whole tables for each
    operation.

    An update works on a copy of its item, so the backed-up items remain unchanged.
    """
    tables: Any = import_module("moto.dynamodb.models")
    backends: Any = tables.DynamoDBBackend
    real_update, real_transact = backends.update_item, backends.transact_write_items

    class Copying:
        @staticmethod
        def deepcopy(value: Any) -> Any:
            """Copy a value, except for a table, which is returned without a copy because its items are restored
            separately.
            """
            return value if isinstance(value, tables.Table) else copy.deepcopy(value)

    def update_item(backend: Any, table_name: str, key: dict[str, Any], *arguments: Any, **options: Any) -> Any:
        table = backend.get_table(table_name)
        place = _place(table, key)
        item = table.get_item(*place)
        if item is not None:
            _set_item(table, place, copy.deepcopy(item))
        try:
            updated = real_update(backend, table_name, key, *arguments, **options)
        except Exception:
            _set_item(table, place, item)
            raise
        vars(updated).pop("measured_size", None)  # a new item is measured before its update
        update_indexes(table, place)
        return updated

    def transact_write_items(backend: Any, transact_items: list[dict[str, Any]]) -> Any:
        before = list(_stored_items(backend, transact_items))
        streams = {table.name: table.stream_shard.items for table, *_ in before if table.stream_shard is not None}
        lengths = {name: len(records) for name, records in streams.items()}
        try:
            return real_transact(backend, transact_items)
        except Exception:
            for each in before:
                _set_item(*each)
            for name, records in streams.items():
                del records[lengths[name] :]
            raise

    tables.copy = Copying
    backends.update_item = update_item
    backends.transact_write_items = transact_write_items


def _place(table: Any, key: dict[str, Any]) -> Place:
    value: Any = import_module("moto.dynamodb.models.dynamo_type").DynamoType
    return value(key[table.hash_key_attr]), value(key[table.range_key_attr]) if table.range_key_attr else None


def _stored_items(backend: Any, transact_items: list[dict[str, Any]]) -> Iterator[tuple[Any, Place, Any]]:
    for operation in (operation for each in transact_items for operation in each.values()):
        table, key = backend.tables.get(operation.get("TableName")), operation.get("Key") or operation.get("Item")
        if table is not None and key and set(table.table_key_attrs) <= key.keys():
            place = _place(table, key)
            yield table, place, table.get_item(*place)


def _set_item(table: Any, place: Place, item: Any) -> None:
    partition, sort = place
    items, key = (table.items, partition) if sort is None else (table.items[partition], sort)
    if item is None:
        items.pop(key, None)
    else:
        items[key] = item
    update_indexes(table, place)


def _remember_less() -> None:
    """Disable moto's list of all created objects, which includes copies of tables."""
    model: Any = import_module("moto.core.common_models").BaseModel
    model.__new__ = lambda cls, *_, **__: object.__new__(cls)


def _look_up_less() -> None:
    """Cache moto's lookups of methods and packages, and match requests first against services that are already used."""
    responses: Any = import_module("moto.core.responses")
    responses.method_names_from_class = cache(responses.method_names_from_class)
    backends: Any = import_module("moto.backends")
    packages = frozenset(backends.list_of_moto_modules())
    backends.list_of_moto_modules = lambda: packages
    import_module("moto.backend_index").backend_url_patterns.sort(key=lambda entry: entry[0] not in _IN_USE)


def _read_models_once() -> None:
    """Share botocore's parsed files among all sessions, because moto creates new sessions for the same regions."""
    session: Any = import_module("botocore.session")
    session.create_loader = cache(session.create_loader)


def _read_expressions_once() -> None:
    """Cache the tokens of conditions and the syntax trees of updates, which moto otherwise parses repeatedly."""
    updates: Any = import_module("moto.dynamodb.parsing.expressions").UpdateExpressionParser
    updates.make = cache(updates.make)
    parser: Any = import_module("moto.dynamodb.comparisons").ConditionExpressionParser
    real_words = parser._lex_condition_expression

    @cache
    def words(expression: str | None) -> tuple[Any, ...]:
        return tuple(real_words(parser(expression, None, None)))

    parser._lex_condition_expression = lambda asked: deque(words(asked.condition_expression))


def _try_fewer_names() -> None:
    """Patch moto to parse and serialise attribute values directly. Without the patch, moto searches each value for all
    ten types in many notations.
    """
    parsers: Any = import_module("moto.core.parse").BaseJSONParser
    serializers: Any = import_module("moto.core.serialize").BaseJSONSerializer
    real_parse, real_structure = parsers._parse_structure, serializers._serialize_type_structure

    def parse(parser: Any, shape: Any, value: Any) -> Any:
        if shape.name != "AttributeValue" or not isinstance(value, dict):
            return real_parse(parser, shape, value)
        kinds = shape.members
        return {
            kind: parser._parse_shape(kinds[kind], content)
            for kind, content in value.items()
            if kind in kinds and content is not None
        }

    def structure(serializer: Any, serialized: Any, value: Any, shape: Any, key: str) -> None:
        if shape.name == "AttributeValue" and isinstance(value, dict):
            serializer._default_serialize(serialized, attribute_value(value), shape, key)
        else:
            real_structure(serializer, serialized, value, shape, key)

    parsers._parse_structure, serializers._serialize_type_structure = parse, structure


def _measure_once() -> None:
    """Compute an item's size once, on creation, and copy the size on updates."""
    types: Any = import_module("moto.dynamodb.models.dynamo_type")
    errors: Any = import_module("moto.dynamodb.exceptions")
    item, attributes_of = types.Item, types.LimitedSizeDict
    real_size = item.size

    def make(made: Any, hash_key: Any, range_key: Any, attrs: dict[str, Any]) -> None:
        made.hash_key, made.range_key, made.attrs = hash_key, range_key, attributes_of()
        dict.update(made.attrs, {name: types.DynamoType(value) for name, value in attrs.items()})
        if made.size() > _LARGEST_ITEM:
            raise errors.ItemSizeTooLarge

    def size(measured: Any) -> int:
        if "measured_size" not in vars(measured):
            measured.measured_size = real_size(measured)
        size: int = measured.measured_size
        return size

    item.__init__, item.size = make, size


def _honour_tokens() -> None:
    """Execute a transaction once for each ``ClientRequestToken``."""
    responses: Any = import_module("moto.dynamodb.responses")
    errors: Any = import_module("moto.dynamodb.exceptions")
    real_transact = responses.DynamoHandler.transact_write_items

    def transact_write_items(handler: Any) -> Any:
        tokens, request = tokens_of(handler.dynamodb_backend), handler.body
        try:
            with tokens.transaction(request.get("ClientRequestToken"), request["TransactItems"]) as is_new:
                return real_transact(handler) if is_new else responses.ActionResult({})
        except TokenRefused as refused:
            raise errors.DynamodbException(errors.ERROR_TYPE_PREFIX + refused.code, str(refused)) from None

    responses.DynamoHandler.transact_write_items = transact_write_items


def attribute_value(value: Any) -> dict[str, Any]:
    """Return an attribute value in wire format. The given value may be an object of moto or already in wire format."""
    if not isinstance(value, dict):
        return attribute_value({value.type: value.value})
    ((kind, content),) = value.items()
    if kind == "M":
        return {kind: {name: attribute_value(inner) for name, inner in content.items()}}
    if kind == "L":
        return {kind: [attribute_value(inner) for inner in content]}
    if isinstance(content, bytes):
        return {kind: base64.b64encode(content).decode()}
    return value
