"""The AWS services: keys bound to their purpose, secrets that two writers cannot overwrite, one queue by its name."""

from __future__ import annotations

from unittest.mock import patch

import boto3
import pytest
from botocore.exceptions import ClientError

from chalicelib.foundation import aws
from chalicelib.foundation.crypto.secret_keys import SecretChanged
from chalicelib.foundation.identifiers import new_id
from tests.volume.round_trips import RoundTrips

pytestmark = pytest.mark.usefixtures("resources")
ALIAS = "alias/causeway-local"


@pytest.fixture
def name() -> str:
    """A secret without a value."""
    made: str = boto3.client("secretsmanager").create_secret(Name=f"test-{new_id()}")["Name"]
    return made


def test_a_data_key_has_256_bits_and_is_unwrapped_by_the_same_key() -> None:
    kms = aws.Kms(ALIAS)
    plain, wrapped = kms.generate_data_key()

    assert len(plain) == 32
    assert plain not in wrapped
    assert aws.Kms(ALIAS).unwrap(wrapped) == plain


def test_a_data_key_is_bound_to_its_purpose() -> None:
    _, wrapped = aws.Kms(ALIAS).generate_data_key()

    with pytest.raises(ClientError):
        boto3.client("kms").decrypt(CiphertextBlob=wrapped, EncryptionContext={"purpose": "another"})


def test_an_absent_secret_and_an_empty_one_have_no_members(name: str) -> None:
    assert aws.Secrets().get("no-such-secret") == {}
    assert aws.Secrets().get(name) == {}


@pytest.mark.parametrize("text", ["[]", '"text"', "5", "{}"])
def test_a_secret_that_is_no_object_has_no_members(name: str, text: str) -> None:
    boto3.client("secretsmanager").put_secret_value(SecretId=name, SecretString=text)

    assert aws.Secrets().get(name) == {}


def test_a_secret_is_read_as_it_was_written(name: str) -> None:
    aws.Secrets().put(name, {"api_key": "ä", "number": 5})

    assert aws.Secrets().get(name) == {"api_key": "ä", "number": 5}


def test_of_two_writers_that_replace_the_same_value_one_gets_through(name: str) -> None:
    first, second = aws.Secrets(), aws.Secrets()
    before = first.get(name)

    first.put(name, {"writer": "first"}, replacing=before)
    with pytest.raises(SecretChanged, match=name):
        second.put(name, {"writer": "second"}, replacing=before)
    assert second.get(name) == {"writer": "first"}
    second.put(name, {"writer": "second"}, replacing={"writer": "first"})
    assert first.get(name) == {"writer": "second"}


def test_another_failure_of_a_secret_is_reported() -> None:
    with pytest.raises(ClientError):
        aws.Secrets().put("no-such-secret", {"a": 1})


def test_a_message_goes_to_the_queue_of_that_name() -> None:
    sqs = boto3.client("sqs")
    url = sqs.create_queue(QueueName="test-queue")["QueueUrl"]
    queue = aws.Queue("test-queue")

    queue.send("one")
    queue.send("two")
    messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert sorted(message["Body"] for message in messages) == ["one", "two"]


def test_a_message_can_wait() -> None:
    sqs = boto3.client("sqs")
    url = sqs.create_queue(QueueName="test-slow-queue")["QueueUrl"]
    aws.Queue("test-slow-queue").send("later", delay=900)

    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessagesDelayed"])
    assert attributes["Attributes"] == {"ApproximateNumberOfMessagesDelayed": "1"}


def test_ten_messages_are_one_call() -> None:
    sqs = boto3.client("sqs")
    url = sqs.create_queue(QueueName="test-batch-queue")["QueueUrl"]
    queue = aws.Queue("test-batch-queue")
    bodies = [str(number) for number in range(aws.Queue.BATCH)]

    with RoundTrips().counted() as trips:
        queue.count_messages()
        found = trips.made
        assert queue.send_all(bodies) == []
    assert trips.made == found + 1
    assert queue.count_messages() == 10
    messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert sorted(message["Body"] for message in messages) == bodies


def test_messages_that_were_not_taken_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sqs:
        def send_message_batch(self, **request: object) -> dict[str, object]:
            return {"Successful": [{"Id": "0"}], "Failed": [{"Id": "2"}, {"Id": "1"}]}

    queue = aws.Queue("any")
    monkeypatch.setitem(vars(queue), "_client", Sqs())
    monkeypatch.setitem(vars(queue), "_url", "")

    assert queue.send_all(["a", "b", "c"]) == ["c", "b"]


def test_messages_that_wait_for_their_time_are_not_waiting_to_be_received() -> None:
    boto3.client("sqs").create_queue(QueueName="test-waiting-queue")
    queue = aws.Queue("test-waiting-queue")
    queue.send("now")
    queue.send("later", delay=900)

    assert queue.count_messages() == 1


def test_a_queue_that_does_not_exist_is_an_error_of_the_call() -> None:
    for call in (lambda: aws.Queue("no-such-queue").send("one"), lambda: aws.Queue("no-such-queue").count_messages()):
        with pytest.raises(ClientError):
            call()


def test_clients_give_up_within_a_request() -> None:
    config = aws.client("dynamodb").meta.config

    assert config.connect_timeout <= 2
    assert config.connect_timeout + config.read_timeout <= 10


@pytest.mark.parametrize("service", ["dynamodb", "kms", "s3", "secretsmanager", "sqs"])
def test_only_the_store_repeats_a_call_of_dynamodb(service: str) -> None:
    attempts = aws.client(service).meta.config.retries["total_max_attempts"]

    assert attempts == (1 if service == "dynamodb" else 2)


def test_a_client_computes_its_endpoint_once() -> None:
    client = aws.client("dynamodb")
    provider = client._ruleset_resolver._provider
    with patch.object(provider, "resolve_endpoint", wraps=provider.resolve_endpoint) as resolved:
        for _ in range(3):
            client.list_tables()

    resolved.assert_called_once()
    assert resolved.call_args.kwargs["AccountIdEndpointMode"] == "disabled"
