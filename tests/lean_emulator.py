"""The emulator within this process: the lean one, with the most frequent calls answered here and not by way of HTTP.

Those are DynamoDB's, and what each test has to read anew: data keys, secrets, and the address of a queue.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any
from urllib.parse import urlparse

from botocore.awsrequest import AWSResponse
from botocore.client import BaseClient
from botocore.validate import ParamValidationDecorator

from infra.local import moto_patches
from infra.local.transaction_tokens import TokenRefused, tokens_of
from tests.tables import OPERATIONS, Refused, carried_out


@cache
def install() -> None:
    """Change the emulator of this process, once."""
    moto_patches.patch_moto()


def answer_calls() -> None:
    """Have every client answer known calls here while the emulator is in force, once."""
    real_call = BaseClient._make_api_call

    def make_api_call(client: Any, name: str, parameters: dict[str, Any]) -> Any:
        service = client.meta.service_model.service_name
        is_known = name in OPERATIONS if service == "dynamodb" else (service, name) in _ANSWERS
        if is_known and client.meta.endpoint_url.endswith(".amazonaws.com") and _is_emulated():
            return _Call(client, name, parameters).answer(real_call)
        return real_call(client, name, parameters)

    BaseClient._make_api_call = make_api_call


def _is_emulated() -> bool:
    core = sys.modules.get("moto.core.models")
    return core is not None and core.botocore_stubber.enabled


class _Call:
    """A call of a client: the events and errors are botocore's, the answer is made here."""

    def __init__(self, client: Any, name: str, parameters: dict[str, Any]) -> None:
        self._client = client
        self._service = client.meta.service_model.service_id.hyphenize()
        self._model = client.meta.service_model.operation_model(name)
        self._given = parameters
        self._context = {"client_region": client.meta.region_name, "client_config": client.meta.config}

    def answer(self, real_call: Callable[..., Any]) -> Any:
        parameters = self._build_parameters()
        request: dict[str, Any] = {
            "body": json.dumps(parameters, default=_base64).encode(),
            "headers": {},
            "context": self._context,
        }
        before = self._client.meta.events.emit_until_response(
            self._event("before-call"),
            model=self._model,
            params=request,
            request_signer=self._client._request_signer,
            context=self._context,
        )[1]
        try:
            response, answer = before or self._respond(json.loads(request["body"]))
        except Exception as error:
            if type(error).__module__.startswith("moto."):
                return real_call(self._client, self._model.name, self._given)  # which words the error
            self._emit("after-call-error", exception=error)
            raise
        self._emit("after-call", http_response=response, parsed=answer, model=self._model)
        if response.status_code >= 300:
            raise self._client.exceptions.from_code(answer["Error"]["Code"])(answer, self._model.name)
        return answer

    def _build_parameters(self) -> dict[str, Any]:
        provided = self._emit("provide-client-params", params=self._given, model=self._model)
        parameters = next((given for _, given in provided if given is not None), self._given)
        self._emit("before-parameter-build", params=parameters, model=self._model)
        if isinstance(self._client._serializer, ParamValidationDecorator):
            self._client._serializer.serialize_to_request(parameters, self._model)
        return parameters

    def _emit(self, event: str, **members: Any) -> list[tuple[Any, Any]]:
        found: list[tuple[Any, Any]] = self._client.meta.events.emit(
            self._event(event), context=self._context, **members
        )
        return found

    def _event(self, event: str) -> str:
        return f"{event}.{self._service}.{self._model.name}"

    def _respond(self, asked: dict[str, Any]) -> tuple[AWSResponse, dict[str, Any]]:
        meta, status = self._client.meta, 200
        try:
            if read := _ANSWERS.get((meta.service_model.service_name, self._model.name)):
                answer = read(asked, meta.region_name, meta.endpoint_url)
            else:
                answer = _carry_out(self._model.name, asked, meta.region_name)
        except (Refused, TokenRefused) as refusal:
            members = refusal.members if isinstance(refusal, Refused) else {}
            status, answer = 400, {"Error": {"Code": refusal.code, "Message": str(refusal)}, **members}
        metadata = {"HTTPStatusCode": status, "HTTPHeaders": {}, "RetryAttempts": 0}
        return AWSResponse(meta.endpoint_url, status, {}, None), answer | {"ResponseMetadata": metadata}


def _carry_out(name: str, asked: dict[str, Any], region: str) -> dict[str, Any]:
    from moto.core.models import DEFAULT_ACCOUNT_ID
    from moto.dynamodb.models import dynamodb_backends

    backend = dynamodb_backends[DEFAULT_ACCOUNT_ID][region]
    with tokens_of(backend).transaction(asked.get("ClientRequestToken"), asked.get("TransactItems")) as is_new:
        return carried_out(name, asked, backend.tables) if is_new else {}


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


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


def _send_message_batch(asked: Mapping[str, Any], region: str, host: str) -> dict[str, Any]:
    from moto.core.models import DEFAULT_ACCOUNT_ID
    from moto.sqs.models import sqs_backends

    entries = {each["Id"]: {"MessageAttributes": {}, "DelaySeconds": None, **each} for each in asked["Entries"]}
    name = asked["QueueUrl"].rpartition("/")[2]
    queues: Any = sqs_backends[DEFAULT_ACCOUNT_ID][region]
    sent, failed = queues.send_message_batch(name, entries)
    successful = [{"Id": each.user_id, "MessageId": each.id, "MD5OfMessageBody": each.body_md5} for each in sent]
    return {"Successful": successful, "Failed": failed}


_ANSWERS: Mapping[tuple[str, str], Callable[[Mapping[str, Any], str, str], dict[str, Any]]] = {
    ("kms", "Decrypt"): _decrypt,
    ("secretsmanager", "GetSecretValue"): _get_secret_value,
    ("sqs", "GetQueueUrl"): _get_queue_url,
    ("sqs", "SendMessageBatch"): _send_message_batch,
}
