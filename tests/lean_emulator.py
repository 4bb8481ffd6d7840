"""The emulator within this process: the lean one, with the most frequent calls answered here and not by way of HTTP.

Those are DynamoDB's, and what each test has to read anew: data keys, secrets, and the address of a queue.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any
from urllib.parse import urlparse

from infra.local import moto_patches
from infra.local.transaction_tokens import TokenRefused, tokens_of
from tests.tables import OPERATIONS, Refused, carried_out


@cache
def install() -> None:
    """Change the emulator of this process, once."""
    moto_patches.patch_moto()
    _answer_here()


def _answer_here() -> None:
    from botocore.awsrequest import AWSResponse
    from botocore.endpoint import Endpoint
    from moto.core.exceptions import JsonRESTError, ServiceException
    from moto.core.models import DEFAULT_ACCOUNT_ID, botocore_stubber
    from moto.dynamodb.models import dynamodb_backends

    real_request = Endpoint.make_request

    def make_request(endpoint: Any, model: Any, request: dict[str, Any]) -> Any:
        service, name, status = model.service_model.service_name, model.name, 200
        read = _READS.get((service, name))
        known = read or (service == "dynamodb" and name in OPERATIONS)
        if not known or not botocore_stubber.enabled or not endpoint.host.endswith(".amazonaws.com"):
            return real_request(endpoint, model, request)
        region, asked = request["context"]["client_region"], json.loads(request["body"])
        try:
            if read:
                answer = read(asked, region, endpoint.host)
            else:
                backend = dynamodb_backends[DEFAULT_ACCOUNT_ID][region]
                with tokens_of(backend).transaction(
                    asked.get("ClientRequestToken"), asked.get("TransactItems")
                ) as is_new:
                    answer = carried_out(name, asked, backend.tables) if is_new else {}
        except (Refused, TokenRefused) as refusal:
            members = refusal.members if isinstance(refusal, Refused) else {}
            status, answer = 400, {"Error": {"Code": refusal.code, "Message": str(refusal)}, **members}
        except (JsonRESTError, ServiceException):
            return real_request(endpoint, model, request)  # which words the error
        metadata = {"HTTPStatusCode": status, "HTTPHeaders": {}, "RetryAttempts": 0}
        return AWSResponse(endpoint.host, status, {}, None), answer | {"ResponseMetadata": metadata}

    Endpoint.make_request = make_request


def _decrypt(asked: Mapping[str, Any], region: str, host: str) -> dict[str, Any]:
    from moto.core.models import DEFAULT_ACCOUNT_ID
    from moto.kms.models import kms_backends

    kms, sealed = kms_backends[DEFAULT_ACCOUNT_ID][region], base64.b64decode(asked["CiphertextBlob"])
    plain, key_id = kms.decrypt(sealed, asked.get("EncryptionContext", {}), asked.get("KeyId"))
    return {"Plaintext": plain, "KeyId": key_id}


def _get_secret_value(asked: Mapping[str, Any], region: str, host: str) -> dict[str, Any]:
    from moto.core.models import DEFAULT_ACCOUNT_ID
    from moto.secretsmanager.models import secretsmanager_backends

    secrets: Any = secretsmanager_backends[DEFAULT_ACCOUNT_ID][region]
    found: dict[str, Any] = secrets.get_secret_value(
        asked["SecretId"], asked.get("VersionId"), asked.get("VersionStage")
    )
    return found | {"CreatedDate": datetime.fromtimestamp(found["CreatedDate"], UTC)}


def _get_queue_url(asked: Mapping[str, Any], region: str, host: str) -> dict[str, Any]:
    from moto.core.models import DEFAULT_ACCOUNT_ID
    from moto.sqs.models import sqs_backends

    queue = sqs_backends[DEFAULT_ACCOUNT_ID][region].get_queue_url(asked["QueueName"])
    return {"QueueUrl": queue.url(urlparse(host))}


_READS: Mapping[tuple[str, str], Callable[[Mapping[str, Any], str, str], dict[str, Any]]] = {
    ("kms", "Decrypt"): _decrypt,
    ("secretsmanager", "GetSecretValue"): _get_secret_value,
    ("sqs", "GetQueueUrl"): _get_queue_url,
}
