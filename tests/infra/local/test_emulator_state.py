"""The emulator's state comes back as it was, whatever ended the emulator, or the file says what to do with it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from infra.local.emulator_state import VERSION, EmulatorState, StateUnusable
from infra.local.process import ChildProcess, python_command

KEYS = [{"AttributeName": "owner", "KeyType": "HASH"}, {"AttributeName": "part", "KeyType": "RANGE"}]
BINARY = bytes(range(256))


class Emulators:
    """Emulators one after another on the same file."""

    def __init__(self, path: Path) -> None:
        self.command = python_command("infra.local.emulator", "--state", str(path))
        self.child: ChildProcess | None = None
        self.url = ""

    def start(self) -> Emulators:
        self.child = ChildProcess(self.command, output=subprocess.PIPE)
        self.url = self.child.first_line()
        return self

    def kill(self) -> None:
        """As by ``kill -9``, in the middle of whatever it does."""
        assert self.child is not None
        os.kill(self.child.pid, signal.SIGKILL)
        self.child.stop()

    def client(self, service: str) -> Any:
        return boto3.client(service, endpoint_url=self.url)

    def make_table(self, keys: list[dict[str, str]] = KEYS) -> Any:
        dynamodb = self.client("dynamodb")
        definitions = [{"AttributeName": each["AttributeName"], "AttributeType": "S"} for each in keys]
        dynamodb.create_table(
            TableName="things", KeySchema=keys, AttributeDefinitions=definitions, BillingMode="PAY_PER_REQUEST"
        )
        return dynamodb


@pytest.fixture
def emulators(tmp_path: Path) -> Iterator[Emulators]:
    made = Emulators(tmp_path / "emulator.sqlite3")
    yield made
    if made.child:
        made.child.stop()


def key(part: str) -> dict[str, Any]:
    return {"owner": {"S": "o"}, "part": {"S": part}}


def put(part: str, **attributes: Any) -> dict[str, Any]:
    return {"TableName": "things", "Item": key(part) | attributes}


def test_key_material_and_secrets_are_kept(emulators: Emulators, tmp_path: Path) -> None:
    emulators.start()
    wanted = emulators.client("kms").create_key(Description="the key")["KeyMetadata"]["KeyId"]
    sealed = emulators.client("kms").encrypt(KeyId=wanted, Plaintext=b"kept")["CiphertextBlob"]
    secrets = emulators.client("secretsmanager")
    secrets.create_secret(Name="full")
    secrets.create_secret(Name="empty")
    secrets.put_secret_value(SecretId="full", SecretString="old")
    secrets.put_secret_value(SecretId="full", SecretString="new")
    emulators.kill()
    emulators.start()

    assert all(file.stat().st_mode & 0o077 == 0 for file in tmp_path.glob("emulator.sqlite3*"))
    assert emulators.client("kms").create_key(Description="the key")["KeyMetadata"]["KeyId"] == wanted
    assert emulators.client("kms").decrypt(CiphertextBlob=sealed)["Plaintext"] == b"kept"
    assert emulators.client("secretsmanager").get_secret_value(SecretId="full")["SecretString"] == "new"


def test_items_are_kept_as_every_kind_of_write_left_them(emulators: Emulators) -> None:
    dynamodb = emulators.start().make_table()
    every = {"n": {"N": "1.50"}, "b": {"B": BINARY}, "l": {"L": [{"NULL": True}, {"BOOL": False}]}, "ss": {"SS": ["a"]}}
    dynamodb.put_item(**put("put", m={"M": every}))
    dynamodb.put_item(**put("updated", n={"N": "1"}))
    dynamodb.put_item(**put("deleted"))
    dynamodb.put_item(**put("refused", n={"N": "1"}))
    dynamodb.update_item(
        TableName="things",
        Key=key("updated"),
        UpdateExpression="SET n = n + :n",
        ExpressionAttributeValues={":n": {"N": "1"}},
    )
    dynamodb.delete_item(TableName="things", Key=key("deleted"))
    dynamodb.batch_write_item(RequestItems={"things": [{"PutRequest": {"Item": key("batch")}}]})
    dynamodb.transact_write_items(
        TransactItems=[{"Put": put("together")}, {"Delete": {"TableName": "things", "Key": key("refused")}}]
    )
    with pytest.raises(ClientError):
        dynamodb.put_item(**put("put", n={"N": "9"}), ConditionExpression="attribute_not_exists(owner)")
    before = {item["part"]["S"]: item for item in dynamodb.scan(TableName="things")["Items"]}
    emulators.kill()
    after = emulators.start().make_table().scan(TableName="things")["Items"]

    assert before.keys() == {"put", "updated", "batch", "together"}
    assert before["updated"]["n"] == {"N": "2"}
    assert before["put"]["m"]["M"]["b"] == {"B": BINARY}
    assert {item["part"]["S"]: item for item in after} == before


def test_messages_are_kept_until_they_are_deleted(emulators: Emulators) -> None:
    sqs = emulators.start().client("sqs")
    url = sqs.create_queue(QueueName="work")["QueueUrl"]
    for body in ("done", "in progress", "waiting"):
        sqs.send_message(QueueUrl=url, MessageBody=body)
    for _ in range(2):
        (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
        if message["Body"] == "done":
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    emulators.kill()
    sqs = emulators.start().client("sqs")
    url = sqs.create_queue(QueueName="work")["QueueUrl"]
    sqs.create_queue(QueueName="work")
    found = [sqs.receive_message(QueueUrl=url).get("Messages", [{"Body": ""}])[0]["Body"] for _ in range(3)]

    assert sorted(found) == ["", "in progress", "waiting"]


def test_a_table_with_another_key_is_refused_and_says_what_to_do(emulators: Emulators) -> None:
    dynamodb = emulators.start().make_table()
    dynamodb.put_item(**put("kept"))
    emulators.kill()

    with pytest.raises(
        ClientError, match="the stored table things has another key: start anew with `make run FRESH=1`"
    ):
        emulators.start().make_table([{"AttributeName": "name", "KeyType": "HASH"}])


@pytest.mark.parametrize("damage", [b"this is no database", b"SQLite format 3\x00" + bytes(200)])
def test_a_damaged_file_is_left_alone_and_says_what_to_do(damage: bytes, tmp_path: Path) -> None:
    path = tmp_path / "emulator.sqlite3"
    path.write_bytes(damage)

    with pytest.raises(StateUnusable, match=r"is damaged: restore a copy of it, or start anew with `make run FRESH=1`"):
        EmulatorState(path)
    assert path.read_bytes() == damage


def test_a_file_of_a_later_release_is_left_alone_and_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "emulator.sqlite3"
    EmulatorState(path)
    with sqlite3.connect(path) as file:
        file.execute(f"PRAGMA user_version = {VERSION + 1}")

    with pytest.raises(StateUnusable, match="was written by a later release: use that release again, or start anew"):
        EmulatorState(path)


def test_the_emulator_says_that_it_cannot_use_its_file_and_ends(emulators: Emulators, tmp_path: Path) -> None:
    (tmp_path / "emulator.sqlite3").write_bytes(b"this is no database")
    emulators.start()

    assert emulators.url.endswith(
        "emulator.sqlite3 is damaged: restore a copy of it, or start anew with `make run FRESH=1`, which removes it"
    )
