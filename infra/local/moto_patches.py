"""Patches that make moto faster and smaller, and its transactions idempotent.

Unpatched, it copies whole tables, frees nothing, caches nothing, and ignores the tokens of transactions.
"""

from __future__ import annotations

import base64
import copy
import inspect
from collections import deque
from collections.abc import Iterable
from functools import cache, wraps
from importlib import import_module
from typing import Any

from infra.local.transaction_tokens import TokenRefused, tokens_of

_IN_USE = ("dynamodb", "sqs", "kms", "secretsmanager")


@cache
def patch_moto() -> None:
    """Patch moto in this process, once."""
    _copy_changed_items_only()
    _search_partition_only()
    _remember_less()
    _look_up_less()
    _read_models_once()
    _read_conditions_once()
    _try_fewer_names()
    _measure_once()
    _honour_tokens()


def _copy_changed_items_only() -> None:
    """Make transactions back up only the items that they may have to restore, not whole tables for each operation.

    An update works on a copy of its item, so backed-up items stay unchanged.
    """
    tables: Any = import_module("moto.dynamodb.models")
    value_of: Any = import_module("moto.dynamodb.models.dynamo_type").DynamoType
    backends: Any = tables.DynamoDBBackend
    real_update, real_transact = backends.update_item, backends.transact_write_items

    class Copying:
        @staticmethod
        def deepcopy(value: Any) -> Any:
            """A copy, of a table itself: moto puts it back after a failure, and its items are restored here."""
            return value if isinstance(value, tables.Table) else copy.deepcopy(value)

    def place_of(table: Any, key: dict[str, Any]) -> tuple[Any, Any]:
        return value_of(key[table.hash_key_attr]), value_of(key[table.range_key_attr]) if table.range_key_attr else None

    def update_item(backend: Any, table_name: str, key: dict[str, Any], *arguments: Any, **options: Any) -> Any:
        table = backend.get_table(table_name)
        place = place_of(table, key)
        item = table.get_item(*place)
        if item is not None:
            _set_item(table, *place, copy.deepcopy(item))
        return real_update(backend, table_name, key, *arguments, **options)

    def transact_write_items(backend: Any, transact_items: list[dict[str, Any]]) -> Any:
        before = []
        for operation in (operation for each in transact_items for operation in each.values()):
            table, key = backend.tables.get(operation.get("TableName")), operation.get("Key") or operation.get("Item")
            if table is not None and key and {table.hash_key_attr, table.range_key_attr} - {None} <= key.keys():
                place = place_of(table, key)
                before.append((table, *place, table.get_item(*place)))
        try:
            return real_transact(backend, transact_items)
        except Exception:
            for each in before:
                _set_item(*each)
            raise

    tables.copy = Copying
    backends.update_item = update_item
    backends.transact_write_items = transact_write_items


def _set_item(table: Any, partition: Any, sort: Any, item: Any) -> None:
    """Put an item in its place, or remove what is there for ``None``."""
    place, key = (table.items, partition) if sort is None else (table.items[partition], sort)
    if item is None:
        place.pop(key, None)
    else:
        place[key] = item


def _search_partition_only() -> None:
    """Make a query search a single partition, of the table or of an index, instead of sorting the whole table."""
    table: Any = import_module("moto.dynamodb.models.table").Table
    real_query = table.query
    signature = inspect.signature(real_query)

    @wraps(real_query)
    def query(*arguments: Any, **options: Any) -> Any:
        asked = signature.bind(*arguments, **options)
        whole, partition = asked.arguments["self"], asked.arguments["hash_key"]
        of_index = asked.arguments.get("index_name") is not None
        if of_index or whole.has_range_key:
            asked.arguments["self"] = searched = copy.copy(whole)
            if of_index:
                searched.items = _items_with(whole, asked.arguments.get("hash_key_conditions") or ())
            else:
                searched.items = {partition: whole.items.get(partition, {})}
        return real_query(*asked.args, **asked.kwargs)

    table.query = query


def _items_with(table: Any, conditions: Iterable[tuple[str, Any]]) -> dict[Any, Any]:
    """The items whose attributes have the given strings, in the form in which a table has its items."""
    wanted = [(name, value.value) for name, value in conditions if value.type == "S"]
    partitions = table.items.values() if table.has_range_key else [table.items]
    found = {
        number: item
        for number, item in enumerate(item for partition in partitions for item in partition.values())
        if all(name in item.attrs and item.attrs[name].value == text for name, text in wanted)
    }
    return {None: found} if table.has_range_key else found


def _remember_less() -> None:
    """Disable moto's list of all objects ever created, which includes copies of tables."""
    model: Any = import_module("moto.core.common_models").BaseModel
    model.__new__ = lambda cls, *_, **__: object.__new__(cls)


def _look_up_less() -> None:
    """Cache moto's lookup of its own methods and packages, and match requests against the services in use first."""
    responses: Any = import_module("moto.core.responses")
    responses.method_names_from_class = cache(responses.method_names_from_class)
    backends: Any = import_module("moto.backends")
    packages = frozenset(backends.list_of_moto_modules())
    backends.list_of_moto_modules = lambda: packages
    import_module("moto.backend_index").backend_url_patterns.sort(key=lambda entry: entry[0] not in _IN_USE)


def _read_models_once() -> None:
    """Have all sessions share what they read of botocore's files; moto asks new ones for the same regions."""
    session: Any = import_module("botocore.session")
    session.create_loader = cache(session.create_loader)


def _read_conditions_once() -> None:
    """Cache the tokens of condition expressions, which moto parses several times in each transaction."""
    parser: Any = import_module("moto.dynamodb.comparisons").ConditionExpressionParser
    real_words = parser._lex_condition_expression

    @cache
    def words(expression: str | None) -> tuple[Any, ...]:
        return tuple(real_words(parser(expression, None, None)))

    parser._lex_condition_expression = lambda asked: deque(words(asked.condition_expression))


def _try_fewer_names() -> None:
    """Serialise attribute values directly; moto searches each for all ten types, in a dozen spellings."""
    serializers: Any = import_module("moto.core.serialize").BaseJSONSerializer
    real_structure = serializers._serialize_type_structure

    def structure(serializer: Any, serialized: Any, value: Any, shape: Any, key: str) -> None:
        if shape.name == "AttributeValue" and isinstance(value, dict):
            serializer._default_serialize(serialized, attribute_value(value), shape, key)
        else:
            real_structure(serializer, serialized, value, shape, key)

    serializers._serialize_type_structure = structure


def _measure_once() -> None:
    """Keep the size of an item, which a query asks for all items of a partition; an update works on a copy."""
    item: Any = import_module("moto.dynamodb.models.dynamo_type").Item
    real_size = item.size

    def size(measured: Any) -> int:
        if "measured_size" not in vars(measured):
            measured.measured_size = real_size(measured)
        kept: int = measured.measured_size
        return kept

    item.size = size


def _honour_tokens() -> None:
    """Carry out a transaction once for each ``ClientRequestToken``."""
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
    """An attribute value in wire format, from moto's own type or from a value already in wire format."""
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
