"""What is said when DynamoDB Local cannot be had, and how it behaves when it can."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import boto3
import pytest

from infra.local import dynamodb_local
from infra.local.dynamodb_local import DynamoDBLocal, EngineFailed
from infra.local.resources import expire_items, make_tables
from tests.conftest import DYNAMODB_ENDPOINT
from tests.resources import for_stage


def test_a_machine_without_maven_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineFailed, match="no mvn on this machine"):
        dynamodb_local.fetch_engine(tmp_path / "engine")


def test_a_machine_without_java_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineFailed, match="needs Java 17 or later"):
        dynamodb_local.find_java()


def test_a_java_that_is_too_old_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "java"
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(EngineFailed, match=str(old)):
        dynamodb_local.find_java()


@pytest.mark.parametrize(("header", "is_it"), [("x-amzn-RequestId", True), ("X-Request-Id", False)])
def test_what_answers_at_the_engines_port_is_asked_whether_it_is_dynamodb(header: str, is_it: bool) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(400)
            self.send_header(header, "952b8730")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.handle_request).start()
        assert dynamodb_local._is_dynamodb(f"http://127.0.0.1:{server.server_port}") is is_it


@pytest.mark.dynamodb
@pytest.mark.skipif(not DYNAMODB_ENDPOINT, reason="DynamoDB Local takes part in `make test-dynamodb`")
def test_tables_are_made_once_and_outlive_a_restart(tmp_path: Path) -> None:
    local = for_stage("local")
    for turn in range(2):
        engine = DynamoDBLocal(tmp_path / "data")
        client = boto3.client("dynamodb", endpoint_url=engine.wait())
        make_tables(client, local)
        expire_items(client, local)
        key = {"email": {"S": "a@example.com"}}
        assert ("Item" in client.get_item(TableName="causeway-local-users", Key=key)) is bool(turn)
        client.put_item(TableName="causeway-local-users", Item=key)
        indexes = client.describe_table(TableName="causeway-local-deliveries")["Table"]["GlobalSecondaryIndexes"]
        assert {index["IndexName"] for index in indexes} == {"bank", "client", "due", "failed", "manager"}
        client.close()
        engine.stop()
