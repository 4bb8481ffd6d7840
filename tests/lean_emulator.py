"""The emulator within this process: the lean one, without HTTP on the way to it."""

from __future__ import annotations

from functools import cache
from typing import Any

from infra.local import lean_emulator

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


@cache
def install() -> None:
    """Change the emulator of this process, once."""
    lean_emulator.install()
    _speak_no_http()


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
