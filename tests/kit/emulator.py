"""The emulator in this process, which answers AWS calls without HTTP.

An observer answers the service's calls with moto's backends. The module ``tables`` stores the items of DynamoDB, and
also answers the item calls of boto3's clients. The fakes replace the services that the keyring uses.
"""

import base64
import json
import secrets
import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any
from urllib.parse import urlparse

from botocore.client import BaseClient
from botocore.exceptions import ClientError
from botocore.validate import ParamValidationDecorator
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from chalicelib.foundation.aws import calls, environment, errors
from chalicelib.foundation.aws.errors import SecretChanged
from infra.local import moto_patches
from infra.local.transaction_tokens import TokenRefused, tokens_of
from tests.kit.tables import OPERATIONS, Refused, carried_out

Members = dict[str, Any]


ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_REGION": "eu-west-1",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "STAGE": "local",
}
"""The environment variables of a process that calls the emulator inside the process."""


@cache
def install() -> None:
    """Patch moto. Only the first call in a process has an effect."""
    moto_patches.patch_moto()


@cache
def answer_calls() -> None:
    calls.add_observer(_answer_call)
    real_call = BaseClient._make_api_call

    def make_api_call(client: Any, name: str, parameters: Members) -> Any:
        meta = client.meta
        is_item_call = meta.service_model.service_name == "dynamodb" and name in OPERATIONS
        if is_item_call and _is_here(meta.endpoint_url):
            return _answer_client(client, name, parameters)
        return real_call(client, name, parameters)

    BaseClient._make_api_call = make_api_call


def _is_here(endpoint: str) -> bool:
    core = sys.modules.get("moto.core.models")
    return endpoint.rstrip("/").endswith(".amazonaws.com") and core is not None and core.botocore_stubber.enabled


def _answer_call(call: calls.Call, proceed: calls.Proceed) -> Members:
    endpoint = environment.endpoint(call.service)
    return answered(call, endpoint.region) if _is_here(endpoint.url) else proceed(call)


def answered(call: calls.Call, region: str) -> Members:
    """Return the members of the emulator's response to a call of the service. Raises: AwsError."""
    try:
        return _response(call.service, call.operation, call.body, region)
    except (Refused, TokenRefused) as refusal:
        members = refusal.members if isinstance(refusal, Refused) else {}
        raise errors.ErrorResponse(call.operation, refusal.code, str(refusal), members=members) from None
    except Exception as error:
        if not type(error).__module__.startswith("moto."):
            raise
        code = str(getattr(error, "error_type", None) or getattr(error, "code", ""))
        raise errors.ErrorResponse(call.operation, code, str(getattr(error, "message", error))) from None


def _answer_client(client: Any, name: str, parameters: Members) -> Any:
    """Return the emulator's response to a call of a boto3 client, or raise boto3's error."""
    if isinstance(client._serializer, ParamValidationDecorator):
        client._serializer.serialize_to_request(parameters, client.meta.service_model.operation_model(name))
    request = json.loads(json.dumps(parameters, default=lambda value: base64.b64encode(value).decode()))
    status, answer = 200, {}
    try:
        answer = _response("dynamodb", name, request, client.meta.region_name)
    except (Refused, TokenRefused) as refusal:
        members = refusal.members if isinstance(refusal, Refused) else {}
        status, answer = 400, {"Error": {"Code": refusal.code, "Message": str(refusal)}, **members}
    answer = _with_bytes(answer) | {"ResponseMetadata": {"HTTPStatusCode": status, "RetryAttempts": 0}}
    if status == 200:
        return answer
    error: type[ClientError] = client.exceptions.from_code(answer["Error"]["Code"])
    raise error(answer, name)


def _with_bytes(value: Any) -> Any:
    """Return a response in which binary values have boto3's format."""
    match value:
        case {"B": str(text)}:
            return {"B": base64.b64decode(text)}
        case dict():
            return {name: _with_bytes(inner) for name, inner in value.items()}
        case list():
            return [_with_bytes(inner) for inner in value]
    return value


def _response(service: str, operation: str, request: Members, region: str) -> Members:
    from moto.backends import get_backend
    from moto.core.models import DEFAULT_ACCOUNT_ID

    if service == "dynamodb":
        return _carry_out(operation, request, region)
    backend: Any = get_backend(service)[DEFAULT_ACCOUNT_ID][region]  # type: ignore[call-overload]
    return ANSWERS[service, operation](backend, request)


def _carry_out(name: str, request: Members, region: str) -> Members:
    from moto.core.models import DEFAULT_ACCOUNT_ID
    from moto.dynamodb.models import dynamodb_backends

    backend = dynamodb_backends[DEFAULT_ACCOUNT_ID][region]
    with tokens_of(backend).transaction(request.get("ClientRequestToken"), request.get("TransactItems")) as is_new:
        return carried_out(name, request, backend.tables) if is_new else {}


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _generate_data_key(kms: Any, request: Mapping[str, Any]) -> Members:
    if kms.get_key_id_from_alias(request["KeyId"]) is None:
        raise Refused("NotFoundException", f"Alias {request['KeyId']} is not found.")
    plain, sealed, arn = kms.generate_data_key(request["KeyId"], request["EncryptionContext"], None, request["KeySpec"])
    return {"Plaintext": _base64(plain), "CiphertextBlob": _base64(sealed), "KeyId": arn}


def _decrypt(kms: Any, request: Mapping[str, Any]) -> Members:
    sealed = base64.b64decode(request["CiphertextBlob"])
    plain, key_id = kms.decrypt(sealed, request.get("EncryptionContext", {}), request.get("KeyId"))
    return {"Plaintext": _base64(plain), "KeyId": key_id}


def _get_secret_value(secrets: Any, request: Mapping[str, Any]) -> Members:
    found: Members = secrets.get_secret_value(
        request["SecretId"], request.get("VersionId"), request.get("VersionStage")
    )
    return found


def _put_secret_value(secrets: Any, request: Mapping[str, Any]) -> Members:
    put: Members = json.loads(
        secrets.put_secret_value(
            secret_id=request["SecretId"],
            secret_string=request["SecretString"],
            secret_binary=None,
            client_request_token=request["ClientRequestToken"],
            version_stages=["AWSCURRENT"],
        )
    )
    return put


def _queue_name(request: Mapping[str, Any]) -> str:
    return str(request["QueueUrl"]).rpartition("/")[2]


def _get_queue_url(queues: Any, request: Mapping[str, Any]) -> Members:
    queue = queues.get_queue_url(request["QueueName"])
    return {"QueueUrl": queue.url(urlparse(environment.endpoint("sqs").url))}


def _send_message(queues: Any, request: Mapping[str, Any]) -> Members:
    sent = queues.send_message(_queue_name(request), request["MessageBody"], delay_seconds=request["DelaySeconds"])
    return {"MessageId": sent.id, "MD5OfMessageBody": sent.body_md5}


def _send_message_batch(queues: Any, request: Mapping[str, Any]) -> Members:
    entries = {each["Id"]: {"MessageAttributes": {}, "DelaySeconds": None, **each} for each in request["Entries"]}
    sent, failed = queues.send_message_batch(_queue_name(request), entries)
    successful = [{"Id": each.user_id, "MessageId": each.id, "MD5OfMessageBody": each.body_md5} for each in sent]
    return {"Successful": successful, "Failed": failed}


def _get_queue_attributes(queues: Any, request: Mapping[str, Any]) -> Members:
    found = queues.get_queue_attributes(_queue_name(request), request["AttributeNames"])
    return {"Attributes": {name: str(value) for name, value in found.items()}}


ANSWERS: Mapping[tuple[str, str], Callable[[Any, Mapping[str, Any]], Members]] = {
    ("kms", "Decrypt"): _decrypt,
    ("kms", "GenerateDataKey"): _generate_data_key,
    ("secretsmanager", "GetSecretValue"): _get_secret_value,
    ("secretsmanager", "PutSecretValue"): _put_secret_value,
    ("sqs", "GetQueueAttributes"): _get_queue_attributes,
    ("sqs", "GetQueueUrl"): _get_queue_url,
    ("sqs", "SendMessage"): _send_message,
    ("sqs", "SendMessageBatch"): _send_message_batch,
}


class FakeKms:
    """A fake KMS that wraps keys by reversing their bytes."""

    def __init__(self) -> None:
        self.unwrapped: list[bytes] = []

    def generate_data_key(self) -> tuple[bytes, bytes]:
        plain = secrets.token_bytes(32)
        return plain, plain[::-1]

    def unwrap(self, wrapped: bytes) -> bytes:
        self.unwrapped.append(wrapped)
        return wrapped[::-1]


class NoDataKeys:
    """Fake data keys for a vault that never uses the keys. Every call raises an error."""

    def current_data_key(self) -> tuple[int, AESGCM]:
        raise NotImplementedError

    def data_key(self, number: int) -> AESGCM:
        raise NotImplementedError


class FakeSecrets:
    """A secret store in memory. ``before_put`` runs once, between the read and the write operation of a writer."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.reads = 0
        self.before_put: Callable[[], Any] | None = None

    def get(self, name: str) -> dict[str, Any]:
        self.reads += 1
        value: dict[str, Any] = json.loads(self.values.get(name, "{}"))
        return value

    def put(self, name: str, value: dict[str, Any], replacing: dict[str, Any] | None = None) -> None:
        intruder, self.before_put = self.before_put, None
        if intruder:
            intruder()
        if replacing is not None and self.get(name) != replacing:
            raise SecretChanged(name)
        self.values[name] = json.dumps(value)
