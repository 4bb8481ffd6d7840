"""The emulator within this process: the lean one, with calls of DynamoDB answered here and not by way of HTTP."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from infra.local import moto_patches
from tests.tables import OPERATIONS, Refused, carried_out


@cache
def install() -> None:
    """Change the emulator of this process, once."""
    moto_patches.patch_moto()
    _answer_here()


def _answer_here() -> None:
    from botocore.awsrequest import AWSResponse
    from botocore.endpoint import Endpoint
    from moto.core.models import DEFAULT_ACCOUNT_ID, botocore_stubber
    from moto.dynamodb.models import dynamodb_backends

    real_request = Endpoint.make_request

    def make_request(endpoint: Any, model: Any, request: dict[str, Any]) -> Any:
        known = model.service_model.service_name == "dynamodb" and model.name in OPERATIONS
        if not known or not botocore_stubber.enabled or not endpoint.host.endswith(".amazonaws.com"):
            return real_request(endpoint, model, request)
        tables = dynamodb_backends[DEFAULT_ACCOUNT_ID][request["context"]["client_region"]].tables
        try:
            status, answer = 200, carried_out(model.name, json.loads(request["body"]), tables)
        except Refused as refusal:
            status, answer = 400, {"Error": {"Code": refusal.code, "Message": str(refusal)}, **refusal.members}
        metadata = {"HTTPStatusCode": status, "HTTPHeaders": {}, "RetryAttempts": 0}
        return AWSResponse(endpoint.host, status, {}, None), answer | {"ResponseMetadata": metadata}

    Endpoint.make_request = make_request
