"""What the emulator answers within this process is what it answers by way of HTTP."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests import lean_emulator
from tests.world import World

QUEUES = "https://sqs.eu-west-1.amazonaws.com/123456789012"
CALLS: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {
    ("kms", "Decrypt"): ("decrypt", {"EncryptionContext": {"of": "this"}}),
    ("secretsmanager", "GetSecretValue"): ("get_secret_value", {"SecretId": "answered"}),
    ("sqs", "GetQueueUrl"): ("get_queue_url", {"QueueName": "causeway-local-deliveries"}),
    ("sqs", "SendMessageBatch"): (
        "send_message_batch",
        {"QueueUrl": f"{QUEUES}/causeway-local-deliveries", "Entries": [{"Id": "a", "MessageBody": "x"}]},
    ),
}
WRONG: dict[tuple[str, str], dict[str, Any]] = {
    ("kms", "Decrypt"): {"EncryptionContext": {"of": "that"}},
    ("secretsmanager", "GetSecretValue"): {"SecretId": "unknown"},
    ("sqs", "GetQueueUrl"): {"QueueName": "unknown"},
    ("sqs", "SendMessageBatch"): {"QueueUrl": f"{QUEUES}/unknown"},
}


@pytest.fixture(scope="module")
def sealed(resources: None) -> bytes:
    """What a data key seals; the secret that is read is there, too."""
    boto3.client("secretsmanager").create_secret(Name="answered", SecretString='{"a": 1}')
    made = boto3.client("kms").encrypt(KeyId="alias/causeway-local", Plaintext=b"x", EncryptionContext={"of": "this"})
    return bytes(made["CiphertextBlob"])


def ask(call: tuple[str, str], sealed: bytes, **other: Any) -> Any:
    """The answer, or the error that stands for it."""
    method, arguments = CALLS[call]
    blob = {"CiphertextBlob": sealed} if call[0] == "kms" else {}
    try:
        answer = getattr(boto3.client(call[0]), method)(**(arguments | blob | other))
    except ClientError as error:
        answer = error.response
    for sent in answer.get("Successful", ()):
        assert sent.pop("MessageId")
    return answer | {"ResponseMetadata": answer["ResponseMetadata"]["HTTPStatusCode"]}


@pytest.mark.parametrize("call", CALLS, ids=".".join)
def test_a_call_that_is_answered_here_is_answered_as_by_http(
    call: tuple[str, str], sealed: bytes, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lean_emulator._ANSWERS.keys() == CALLS.keys()
    here, refused = ask(call, sealed), ask(call, sealed, **WRONG[call])

    monkeypatch.setattr(lean_emulator, "_ANSWERS", {})

    assert (ask(call, sealed), ask(call, sealed, **WRONG[call])) == (here, refused)
    assert (here["ResponseMetadata"], "Error" in refused) == (200, True)
