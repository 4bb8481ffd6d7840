"""The emulator, made to do and to keep less: it copies whole tables, frees nothing, and looks up everything anew."""

from __future__ import annotations

import base64
import copy
from functools import cache
from typing import Any


@cache
def install() -> None:
    """Change the emulator of this process, once."""
    _copy_less()
    _remember_less()
    _look_up_less()
    _read_conditions_once()
    _try_fewer_names()
    _speak_no_http()


def _copy_less() -> None:
    """Have the emulator keep the items that a transaction may have to restore, instead of copies of whole tables.

    So that the kept ones stay as they are, an update works on a copy of its item.
    """
    import moto.dynamodb.models as tables
    from moto.dynamodb.models.dynamo_type import DynamoType

    real_update = tables.DynamoDBBackend.update_item

    class Copying:
        @staticmethod
        def deepcopy(value: Any) -> Any:
            if not isinstance(value, tables.Table):
                return copy.deepcopy(value)
            kept = copy.copy(value)
            kept.items = copy.copy(value.items)
            if value.has_range_key:
                kept.items.update({partition: dict(items) for partition, items in value.items.items()})
            return kept

    def update_item(backend: Any, table_name: str, key: dict[str, Any], *arguments: Any, **options: Any) -> Any:
        table = backend.get_table(table_name)
        hash_value = DynamoType(key[table.hash_key_attr])
        range_value = DynamoType(key[table.range_key_attr]) if table.range_key_attr else None
        item = table.get_item(hash_value, range_value)
        if item is not None and range_value is not None:
            table.items[hash_value][range_value] = copy.deepcopy(item)
        elif item is not None:
            table.items[hash_value] = copy.deepcopy(item)
        return real_update(backend, table_name, key, *arguments, **options)

    tables.copy = Copying
    tables.DynamoDBBackend.update_item = update_item


def _remember_less() -> None:
    """Have the emulator forget what it made: it keeps a list of all its objects, every table's copies included."""
    from moto.core.common_models import BaseModel

    BaseModel.__new__ = lambda cls, *arguments, **options: object.__new__(cls)  # type: ignore[method-assign]


def _look_up_less() -> None:
    """Have the emulator find its own methods once, and the services that are in use before all others."""
    from moto import backend_index
    from moto.core import responses, utils

    responses.method_names_from_class = cache(utils.method_names_from_class)
    backend_index.backend_url_patterns.sort(key=lambda entry: entry[0] not in _IN_USE)


_IN_USE = ("dynamodb", "sqs", "kms", "secretsmanager")


def _read_conditions_once() -> None:
    """Have the emulator remember the words of conditions: each is read several times in every transaction."""
    from collections import deque

    from moto.dynamodb.comparisons import ConditionExpressionParser

    real_words = ConditionExpressionParser._lex_condition_expression

    @cache
    def words(expression: str | None) -> tuple[Any, ...]:
        return tuple(real_words(ConditionExpressionParser(expression, None, None)))

    ConditionExpressionParser._lex_condition_expression = lambda parser: deque(words(parser.condition_expression))


def _try_fewer_names() -> None:
    """Have attribute values leave as they are: the emulator looks in each for all ten types, by a dozen spellings."""
    from moto.core.serialize import BaseJSONSerializer

    real_structure = BaseJSONSerializer._serialize_type_structure

    def structure(serializer: Any, serialized: Any, value: Any, shape: Any, key: str) -> None:
        if shape.name == "AttributeValue" and isinstance(value, dict):
            serializer._default_serialize(serialized, _attribute_value(value), shape, key)
        else:
            real_structure(serializer, serialized, value, shape, key)

    BaseJSONSerializer._serialize_type_structure = structure


def _attribute_value(value: Any) -> dict[str, Any]:
    """An attribute value in the form of the wire, from the emulator's own or from one that has that form already."""
    if not isinstance(value, dict):
        return _attribute_value({value.type: value.value})
    ((kind, content),) = value.items()
    if kind == "M":
        return {kind: {name: _attribute_value(inner) for name, inner in content.items()}}
    if kind == "L":
        return {kind: [_attribute_value(inner) for inner in content]}
    if isinstance(content, bytes):
        return {kind: base64.b64encode(content).decode()}
    return value


def _speak_no_http() -> None:
    """Have calls of DynamoDB reach the emulator's own methods; one that is refused goes the long way."""
    from botocore.awsrequest import AWSResponse
    from botocore.endpoint import Endpoint
    from moto.core import DEFAULT_ACCOUNT_ID
    from moto.core.exceptions import HTTPException, ServiceException
    from moto.core.models import botocore_stubber
    from moto.core.parse import JSONParser
    from moto.core.responses import ActionContext
    from moto.core.serialize import get_serializer_class
    from moto.core.utils import camelcase_to_underscores, get_service_model
    from moto.dynamodb.responses import DynamoHandler

    real_request = Endpoint.make_request
    service, serializer = get_service_model("dynamodb"), get_serializer_class("dynamodb", "json")
    operations = {name: service.operation_model(name) for name in _OPERATIONS}

    def answer(operation: Any, request: dict[str, Any]) -> tuple[int, dict[str, str], str]:
        handler = DynamoHandler()
        handler.current_account, handler.region = DEFAULT_ACCOUNT_ID, request["context"]["client_region"]
        handler.params = handler.body = JSONParser(operation, map_type=dict).parse(request)
        result = getattr(handler, camelcase_to_underscores(operation.name))()
        return result.execute_result(ActionContext(service, operation, serializer, handler))

    def make_request(endpoint: Any, model: Any, request: dict[str, Any]) -> Any:
        operation = operations.get(model.name)
        if operation is None or not botocore_stubber.enabled or not endpoint.host.endswith(".amazonaws.com"):
            return real_request(endpoint, model, request)
        try:
            status, headers, body = answer(operation, request)
        except (HTTPException, ServiceException):
            return real_request(endpoint, model, request)
        parser = endpoint._response_parser_factory.create_parser(model.service_model.resolved_protocol)
        response = {"status_code": status, "headers": headers, "body": body.encode(), "context": {}}
        return AWSResponse(endpoint.host, status, headers, None), parser.parse(response, model.output_shape)

    Endpoint.make_request = make_request


_OPERATIONS = (
    "BatchGetItem",
    "DeleteItem",
    "GetItem",
    "PutItem",
    "Query",
    "Scan",
    "TransactWriteItems",
    "UpdateItem",
)
