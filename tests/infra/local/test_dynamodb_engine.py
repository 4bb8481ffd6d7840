"""DynamoDB engines that run as processes: readiness, persistent data, and startup errors."""

from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import boto3
import pytest

from infra.local.dynamodb_engine import DynamoDBEngine, EngineFailed, is_dynamodb
from infra.local.engines import DYNAMODB_ENGINES
from infra.local.resources import expire_items, make_tables
from tests.conftest import DYNAMODB_ENGINE
from tests.infra.deployment import for_stage

on_an_engine = pytest.mark.skipif(not DYNAMODB_ENGINE, reason="`make test-dynamodb` and `make test-dynoxide` have one")


@pytest.mark.parametrize(("header", "is_it"), [("x-amzn-RequestId", True), ("X-Request-Id", False)])
def test_is_dynamodb_recognises_dynamodb_by_its_response_header(header: str, is_it: bool) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(400)
            self.send_header(header, "952b8730")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Write no log."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.handle_request).start()
        assert is_dynamodb(f"http://127.0.0.1:{server.server_port}") is is_it


class Broken(DynamoDBEngine):
    title = "The engine"

    @staticmethod
    def program() -> list[str]:
        return ["/bin/sh", "-c", "echo first >&2; echo 'error: not a database.' >&2; exit 1"]

    @staticmethod
    def _options(port: int, data: Path | None) -> list[str]:
        return [str(port)]


def test_an_engine_that_fails_to_start_is_reported_with_the_reason() -> None:
    with Broken() as engine, pytest.raises(EngineFailed) as refused:
        engine.wait()

    assert str(refused.value) == "The engine did not start: not a database"
    assert engine.has_ended()


def test_unreadable_engine_data_is_not_deleted_and_its_path_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "data" / "tables"
    file.parent.mkdir()
    file.write_text("damaged")
    with (
        Broken(file.parent) as engine,
        pytest.raises(EngineFailed, match=r"as it was: .* `make run FRESH=1`") as refused,
    ):
        engine.wait()

    assert str(file.parent) in str(refused.value)
    assert file.read_text() == "damaged"


@pytest.mark.dynamodb
@on_an_engine
def test_tables_are_created_once_and_survive_a_restart(tmp_path: Path) -> None:
    local = for_stage("local")
    for turn in range(2):
        engine = DYNAMODB_ENGINES[DYNAMODB_ENGINE](tmp_path / "data")
        client = boto3.client("dynamodb", endpoint_url=engine.wait())
        make_tables(client, local)
        expire_items(client, local)
        key = {"email": {"S": "a@example.com"}}
        assert ("Item" in client.get_item(TableName="causeway-local-users", Key=key)) is bool(turn)
        client.put_item(TableName="causeway-local-users", Item=key)
        indexes = client.describe_table(TableName="causeway-local-deliveries")["Table"]["GlobalSecondaryIndexes"]
        assert {index["IndexName"] for index in indexes} == {
            "bank",
            "client",
            "client-failed",
            "due",
            "failed",
            "manager",
        }
        client.close()
        engine.stop()
