"""The emulator's state survives any kind of termination. If the state is not usable, the error states a remedy."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError

from infra.local.emulator_state import VERSION, EmulatorState, StateUnusable
from infra.local.process import ChildProcess, python_command

KEYS = [{"AttributeName": "owner", "KeyType": "HASH"}, {"AttributeName": "part", "KeyType": "RANGE"}]
BINARY = bytes(range(256))


class Emulators:
    def __init__(self, path: Path) -> None:
        self.command = python_command("infra.local.emulator", "--state", str(path))
        self.child: ChildProcess | None = None
        self.url = ""

    def start(self, largest_file: int = 0) -> Emulators:
        """Start the emulator. ``largest_file`` limits the file size in KiB, like a full disk. The value 0 means no
        limit.
        """
        limit = ["bash", "-c", 'ulimit -f "$0" && exec "$@"', str(largest_file)] if largest_file else []
        self.child = ChildProcess([*limit, *self.command], output=subprocess.PIPE)
        self.url = self.child.first_line()
        return self

    def kill(self) -> None:
        assert self.child is not None
        os.kill(self.child.pid, signal.SIGKILL)
        self.child.stop()

    def client(self, service: str) -> Any:
        once = Config(retries={"total_max_attempts": 1})
        return boto3.client(service, endpoint_url=self.url, config=once)

    def make_table(self, name: str = "things", keys: list[dict[str, str]] = KEYS) -> Any:
        dynamodb = self.client("dynamodb")
        definitions = [{"AttributeName": each["AttributeName"], "AttributeType": "S"} for each in keys]
        dynamodb.create_table(
            TableName=name, KeySchema=keys, AttributeDefinitions=definitions, BillingMode="PAY_PER_REQUEST"
        )
        return dynamodb

    def transact(self, token: str, part: str) -> None:
        members = [{"Put": {"TableName": "transactions", "Item": key(part)}}]
        self.client("dynamodb").transact_write_items(TransactItems=members, ClientRequestToken=token)


@contextmanager
def on_file(path: Path) -> Iterator[Emulators]:
    made = Emulators(path)
    try:
        yield made
    finally:
        if made.child:
            made.child.stop()


def key(part: str) -> dict[str, Any]:
    return {"owner": {"S": "o"}, "part": {"S": part}}


def put(part: str, **attributes: Any) -> dict[str, Any]:
    return {"TableName": "things", "Item": key(part) | attributes}


def token_rows(file: sqlite3.Connection) -> dict[str, tuple[str, float]]:
    found = file.execute("SELECT key, value FROM entries WHERE kind = 'token'").fetchall()
    return {token: tuple(json.loads(value)) for token, value in found}


def write_tokens(emulators: Emulators) -> None:
    emulators.make_table("transactions")
    for token in ("kept", "repeated", "expired"):
        emulators.transact(token, "first")


def age_tokens(path: Path) -> None:
    """Set the age of the transaction token ``kept`` to five minutes and of all other tokens to eleven minutes."""
    with sqlite3.connect(path) as file:
        for token, (digest, at) in token_rows(file).items():
            earlier = json.dumps([digest, at - (5 if token == "kept" else 11) * 60])
            file.execute("UPDATE entries SET value = ? WHERE kind = 'token' AND key = ?", (earlier, token))


def write_keys(emulators: Emulators) -> tuple[str, bytes]:
    wanted = emulators.client("kms").create_key(Description="the key")["KeyMetadata"]["KeyId"]
    sealed = emulators.client("kms").encrypt(KeyId=wanted, Plaintext=b"kept")["CiphertextBlob"]
    secrets = emulators.client("secretsmanager")
    secrets.create_secret(Name="full")
    secrets.create_secret(Name="empty")
    secrets.put_secret_value(SecretId="full", SecretString="old")
    secrets.put_secret_value(SecretId="full", SecretString="new")
    return wanted, sealed


def write_items(emulators: Emulators) -> dict[str, Any]:
    """Write items with every kind of write. Map the sort key of each resulting item to the item."""
    dynamodb = emulators.make_table()
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
    return {item["part"]["S"]: item for item in dynamodb.scan(TableName="things")["Items"]}


def write_messages(emulators: Emulators) -> None:
    sqs = emulators.client("sqs")
    url = sqs.create_queue(QueueName="work")["QueueUrl"]
    for body in ("done", "in progress", "waiting"):
        sqs.send_message(QueueUrl=url, MessageBody=body)
    for _ in range(2):
        (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
        if message["Body"] == "done":
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


@dataclass(frozen=True)
class Killed:
    again: Emulators
    folder: Path
    key_id: str
    sealed: bytes
    items: Mapping[str, Any]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killed]:
    folder = tmp_path_factory.mktemp("emulator")
    with on_file(folder / "emulator.sqlite3") as emulators:
        emulators.start()
        key_id, sealed = write_keys(emulators)
        items = write_items(emulators)
        write_messages(emulators)
        write_tokens(emulators)
        emulators.make_table("others").put_item(TableName="others", Item=key("kept"))
        emulators.make_table("binary").put_item(TableName="binary", Item={**key("kept"), "b": {"B": BINARY}})
        emulators.kill()
        age_tokens(folder / "emulator.sqlite3")
        yield Killed(emulators.start(), folder, key_id, sealed, items)


def test_keys_and_secrets_survive_a_restart(killed: Killed) -> None:
    kms, secrets = killed.again.client("kms"), killed.again.client("secretsmanager")

    assert all(file.stat().st_mode & 0o077 == 0 for file in killed.folder.glob("emulator.sqlite3*"))
    assert kms.create_key(Description="the key")["KeyMetadata"]["KeyId"] == killed.key_id
    assert kms.decrypt(CiphertextBlob=killed.sealed)["Plaintext"] == b"kept"
    assert secrets.get_secret_value(SecretId="full")["SecretString"] == "new"


def test_items_of_every_kind_of_write_survive_a_restart(killed: Killed) -> None:
    before, after = killed.items, killed.again.make_table().scan(TableName="things")["Items"]

    assert before.keys() == {"put", "updated", "batch", "together"}
    assert before["updated"]["n"] == {"N": "2"}
    assert before["put"]["m"]["M"]["b"] == {"B": BINARY}
    assert {item["part"]["S"]: item for item in after} == before


def test_conditions_on_binary_values_evaluate_equally_after_a_restart(killed: Killed) -> None:
    dynamodb = killed.again.make_table("binary")

    dynamodb.update_item(
        TableName="binary",
        Key=key("kept"),
        UpdateExpression="SET b = :new",
        ConditionExpression="b = :old",
        ExpressionAttributeValues={":old": {"B": BINARY}, ":new": {"B": b"new"}},
    )

    assert dynamodb.get_item(TableName="binary", Key=key("kept"))["Item"]["b"] == {"B": b"new"}


def test_messages_survive_a_restart_until_deleted(killed: Killed) -> None:
    sqs = killed.again.client("sqs")
    url = sqs.create_queue(QueueName="work")["QueueUrl"]
    sqs.create_queue(QueueName="work")
    found = [sqs.receive_message(QueueUrl=url).get("Messages", [{"Body": ""}])[0]["Body"] for _ in range(3)]

    assert sorted(found) == ["", "in progress", "waiting"]


def test_a_table_with_a_different_key_is_refused_with_a_remedy(killed: Killed) -> None:
    with pytest.raises(
        ClientError, match="the stored table others has another key: start anew with `make run FRESH=1`"
    ):
        killed.again.make_table("others", [{"AttributeName": "name", "KeyType": "HASH"}])


@pytest.mark.parametrize("damage", [b"this is no database", b"SQLite format 3\x00" + bytes(200)])
def test_a_damaged_state_file_is_rejected_with_a_remedy_and_not_deleted(damage: bytes, tmp_path: Path) -> None:
    path = tmp_path / "emulator.sqlite3"
    path.write_bytes(damage)

    with pytest.raises(StateUnusable, match=r"is damaged: restore a copy of it, or start anew with `make run FRESH=1`"):
        EmulatorState(path)
    assert path.read_bytes() == damage


def test_a_state_file_of_a_later_release_is_refused_with_a_remedy(tmp_path: Path) -> None:
    path = tmp_path / "emulator.sqlite3"
    EmulatorState(path)
    with sqlite3.connect(path) as file:
        file.execute(f"PRAGMA user_version = {VERSION + 1}")

    with pytest.raises(StateUnusable, match="was written by a later release: use that release again, or start anew"):
        EmulatorState(path)


def test_a_transaction_token_is_stored_for_ten_minutes(killed: Killed) -> None:
    with sqlite3.connect(killed.folder / "emulator.sqlite3") as file:
        before = token_rows(file)
    killed.again.make_table("transactions")
    with pytest.raises(ClientError, match="IdempotentParameterMismatch"):
        killed.again.transact("kept", "second")
    killed.again.transact("repeated", "second")

    with sqlite3.connect(killed.folder / "emulator.sqlite3") as file:
        after = token_rows(file)
    assert before.keys() >= {"kept", "repeated", "expired"}
    assert after.keys() == {"kept", "repeated"}
    assert after["kept"] == before["kept"]
    assert after["repeated"][1] > before["kept"][1], "it is kept for ten minutes more"


def test_a_rejected_emulator_call_returns_the_error(killed: Killed) -> None:
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        killed.again.client("dynamodb").put_item(TableName="missing", Item=key("refused"))


def confirmed_transactions(emulators: Emulators) -> Iterator[int]:
    dynamodb = emulators.make_table()
    with suppress(ConnectionClosedError):
        for number in range(1000):
            members = [{"Put": put(f"{number} {side}", text={"S": "x" * 2000})} for side in ("debit", "credit")]
            dynamodb.transact_write_items(TransactItems=members, ClientRequestToken=str(number))
            yield number


def test_the_emulator_stops_when_the_disk_is_full_and_loses_no_confirmed_transaction(tmp_path: Path) -> None:
    with on_file(tmp_path / "emulator.sqlite3") as emulators:
        confirmed = [*confirmed_transactions(emulators.start(largest_file=256))]
        assert emulators.child is not None
        said, code = emulators.child.last_line(), emulators.child.stop()
        emulators.start().make_table()
        found = emulators.client("dynamodb").get_paginator("scan").paginate(TableName="things")
        parts = {item["part"]["S"] for page in found for item in page["Items"]}

    assert len(confirmed) > 10
    assert parts == {f"{number} {side}" for number in confirmed for side in ("debit", "credit")}
    assert code == 1
    assert said.endswith("and keeps what was confirmed until now: make room on the disk, and start again")


def test_a_full_disk_at_emulator_start_is_reported_with_a_remedy(tmp_path: Path) -> None:
    with on_file(tmp_path / "emulator.sqlite3") as emulators:
        said = emulators.start(largest_file=1).url

    assert "emulator.sqlite3 cannot be written (" in said
    assert said.endswith("make room on the disk, and start again")


def test_the_emulator_reports_an_unusable_state_file_and_stops(tmp_path: Path) -> None:
    path = tmp_path / "emulator.sqlite3"
    path.write_bytes(b"this is no database")
    with on_file(path) as emulators:
        said = emulators.start().url

    assert said.endswith(
        "emulator.sqlite3 is damaged: restore a copy of it, or start anew with `make run FRESH=1`, which removes it"
    )
