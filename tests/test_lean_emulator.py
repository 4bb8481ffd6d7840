"""The emulator in this process returns the same responses as a boto3 client."""

import base64
from typing import Any

import boto3
import pytest
from botocore import xform_name
from botocore.exceptions import ClientError

from chalicelib.foundation.aws.calls import send
from chalicelib.foundation.aws.errors import ErrorResponse
from tests.kit import emulator

QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/causeway-local-deliveries"
NOWHERE = {"QueueUrl": f"{QUEUE}-unknown"}
TOKEN = "b7f1c5d2-0a4e-4b7e-9d2c-3f5a6b7c8d9e"
CALLS: dict[tuple[str, str], dict[str, Any]] = {
    ("kms", "Decrypt"): {"EncryptionContext": {"of": "this"}},
    ("kms", "GenerateDataKey"): {
        "KeyId": "alias/causeway-local",
        "KeySpec": "AES_256",
        "EncryptionContext": {"a": "b"},
    },
    ("secretsmanager", "GetSecretValue"): {"SecretId": "answered"},
    ("secretsmanager", "PutSecretValue"): {"SecretId": "written", "SecretString": "{}", "ClientRequestToken": TOKEN},
    ("sqs", "GetQueueUrl"): {"QueueName": "causeway-local-deliveries"},
    ("sqs", "SendMessage"): {"QueueUrl": QUEUE, "MessageBody": "x", "DelaySeconds": 0},
    ("sqs", "SendMessageBatch"): {"QueueUrl": QUEUE, "Entries": [{"Id": "a", "MessageBody": "x"}]},
    ("sqs", "GetQueueAttributes"): {"QueueUrl": QUEUE, "AttributeNames": ["ApproximateNumberOfMessagesNotVisible"]},
}
WRONG: dict[tuple[str, str], dict[str, Any]] = {
    ("kms", "Decrypt"): {"EncryptionContext": {"of": "that"}},
    ("kms", "GenerateDataKey"): {"KeyId": "alias/unknown"},
    ("secretsmanager", "GetSecretValue"): {"SecretId": "unknown"},
    ("secretsmanager", "PutSecretValue"): {"SecretId": "unknown"},
    ("sqs", "GetQueueUrl"): {"QueueName": "unknown"},
    ("sqs", "SendMessage"): NOWHERE,
    ("sqs", "SendMessageBatch"): NOWHERE,
    ("sqs", "GetQueueAttributes"): NOWHERE,
}
NEW_EACH_TIME = ("MessageId", "Plaintext", "CiphertextBlob", "CreatedDate", "ResponseMetadata")


@pytest.fixture(scope="module")
def sealed(resources: None) -> bytes:
    boto3.client("secretsmanager").create_secret(Name="answered", SecretString='{"a": 1}')
    boto3.client("secretsmanager").create_secret(Name="written")
    made = boto3.client("kms").encrypt(KeyId="alias/causeway-local", Plaintext=b"x", EncryptionContext={"of": "this"})
    return bytes(made["CiphertextBlob"])


def ask_here(service: str, operation: str, members: dict[str, Any]) -> Any:
    """Return the comparable part of the response to a call, or the error code."""
    try:
        return compared(send(service, operation, members))
    except ErrorResponse as refusal:
        return refusal.code


def ask_boto3(service: str, operation: str, members: dict[str, Any]) -> Any:
    try:
        return compared(getattr(boto3.client(service), xform_name(operation))(**members))
    except ClientError as error:
        return error.response["Error"]["Code"]


def compared(answer: dict[str, Any]) -> dict[str, Any]:
    """Return a response without empty lists and without values that differ between calls."""
    for sent in answer.get("Successful", ()):
        assert sent.pop("MessageId")
    return {name: value for name, value in answer.items() if name not in NEW_EACH_TIME and value != []}


@pytest.mark.parametrize("call", CALLS, ids=".".join)
def test_the_emulator_answers_each_call_as_boto3_does(call: tuple[str, str], sealed: bytes) -> None:
    assert emulator.ANSWERS.keys() == CALLS.keys() == WRONG.keys()
    (service, operation), is_decrypted = call, call == ("kms", "Decrypt")
    blob = {"CiphertextBlob": sealed} if is_decrypted else {}
    text = {"CiphertextBlob": base64.b64encode(sealed).decode()} if is_decrypted else {}

    for members in (CALLS[call], CALLS[call] | WRONG[call]):
        assert ask_here(service, operation, members | text) == ask_boto3(service, operation, members | blob)
    assert isinstance(ask_here(service, operation, CALLS[call] | WRONG[call] | text), str), "refused"


def test_the_kms_decrypt_call_of_the_emulator_returns_the_plaintext(sealed: bytes) -> None:
    asked = {"CiphertextBlob": base64.b64encode(sealed).decode(), "EncryptionContext": {"of": "this"}}

    assert base64.b64decode(send("kms", "Decrypt", asked)["Plaintext"]) == b"x"
