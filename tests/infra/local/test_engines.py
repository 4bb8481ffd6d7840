"""Which engines a stack runs on, by its environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from infra.local import engines
from infra.local.dynamodb_local import EngineFailed
from infra.local.engines import Engines


class NoChild:
    """Stands for a process that is not started."""

    commands: ClassVar[list[list[str]]] = []

    def __init__(self, command: list[str], **options: Any) -> None:
        self.commands.append(command)

    def first_line(self) -> str:
        return "http://127.0.0.1:5555"


@pytest.fixture(autouse=True)
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    NoChild.commands = []
    monkeypatch.setattr(engines, "ChildProcess", NoChild)
    return NoChild.commands


def test_without_settings_the_own_emulator_is_used_with_made_up_credentials(
    tmp_path: Path, commands: list[list[str]]
) -> None:
    environ = {"AWS_PROFILE": "real", "AWS_SESSION_TOKEN": "real", "AWS_ACCESS_KEY_ID": "real"}
    started = Engines(environ, "emulator", tmp_path)
    started.wait()

    assert len(commands) == 1
    assert "--state" not in commands[0]
    assert environ["AWS_ENDPOINT_URL"] == "http://127.0.0.1:5555"
    assert environ["AWS_ACCESS_KEY_ID"] == "local"
    assert "AWS_PROFILE" not in environ
    assert "AWS_SESSION_TOKEN" not in environ
    assert environ["AWS_DEFAULT_REGION"] == environ["AWS_REGION"] == "eu-west-1"
    assert started.kind == "emulator"
    assert started.dynamodb_engine is None
    assert started.seed_file is None
    assert started.environment()["AWS_ACCESS_KEY_ID"] == "local"


def test_another_endpoint_is_used_as_it_is(tmp_path: Path, commands: list[list[str]]) -> None:
    own = {"AWS_ACCESS_KEY_ID": "own", "AWS_SECRET_ACCESS_KEY": "own", "RESOURCE_PREFIX": "causeway-local-4711"}
    environ = {"AWS_ENDPOINT_URL": "http://elsewhere:4566", **own}
    started = Engines(environ, "emulator", tmp_path)
    started.wait()

    assert commands == []
    assert environ["AWS_ENDPOINT_URL"] == "http://elsewhere:4566"
    assert started.kind == "endpoint"
    assert started.is_emulated is False
    assert started.dynamodb_engine is None
    assert started.seed_file == tmp_path / "seed-http-elsewhere-4566.json"
    assert "AWS_ACCESS_KEY_ID" not in started.environment(), "credentials of others are not written down"
    assert started.prefix == started.environment()["RESOURCE_PREFIX"] == "causeway-local-4711"


def test_localstack_is_found_by_its_client(tmp_path: Path, commands: list[list[str]]) -> None:
    environ = {"LOCALSTACK": "1"}
    started = Engines(environ, "emulator", tmp_path)

    assert commands == []
    assert environ["AWS_ENDPOINT_URL"].endswith(":4566")
    assert started.kind == "localstack"


def test_with_dynamodb_elsewhere_the_emulator_keeps_its_keys(tmp_path: Path, commands: list[list[str]]) -> None:
    started = Engines({"AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:8001"}, "emulator", tmp_path)

    assert commands[0][-2:] == ["--state", str(tmp_path / "emulator.json")]
    assert started.has_own_dynamodb


def test_two_stacks_do_not_work_on_the_same_files(
    tmp_path: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "DynamoDBLocal", lambda data: NoChild([]))
    monkeypatch.setattr(NoChild, "stop", lambda self: None, raising=False)
    first = Engines({}, "dynamodb-local", tmp_path)

    assert (first.dynamodb_engine, first.seed_file) == ("dynamodb-local", tmp_path / "dynamodb" / "seed.json")
    with pytest.raises(EngineFailed, match="another stack works on the data in"):
        Engines({}, "dynamodb-local", tmp_path)
    first.stop()
    Engines({}, "dynamodb-local", tmp_path).stop()


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"AWS_ENDPOINT_URL": "http://x"}, "http://x (AWS_ENDPOINT_URL): is the engine running there?"),
        (
            {"AWS_ENDPOINT_URL_DYNAMODB": "http://x/"},
            "http://x (AWS_ENDPOINT_URL_DYNAMODB): is DynamoDB running there?",
        ),
    ],
)
def test_an_engine_that_does_not_answer_is_named(tmp_path: Path, environ: dict[str, str], sentence: str) -> None:
    assert Engines(environ, "emulator", tmp_path).explain_silence("http://x") == f"nothing answers at {sentence}"


def test_an_unknown_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineFailed, match="ENGINE must be one of emulator, dynamodb-local, not 'oracle'"):
        Engines({}, "oracle", tmp_path)


def test_calls_to_this_machine_go_through_no_proxy(tmp_path: Path) -> None:
    environ = {"NO_PROXY": "example.com"}
    Engines(environ, "emulator", tmp_path)

    assert environ["NO_PROXY"] == "example.com,127.0.0.1,localhost"
    assert environ["no_proxy"] == "127.0.0.1,localhost"
