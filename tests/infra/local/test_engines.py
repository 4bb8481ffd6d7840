"""The environment variables select the engines of a local stack."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from infra.local import dynoxide, engines
from infra.local.dynamodb_engine import EngineFailed
from infra.local.engines import Engines


class NoChild:
    commands: ClassVar[list[list[str]]] = []

    def __init__(self, command: list[str], **options: Any) -> None:
        self.commands.append(command)

    def first_line(self) -> str:
        return "http://127.0.0.1:5555"

    def has_ended(self) -> bool:
        return False

    def stop(self) -> None:
        pass


class NoDynamoDB(NoChild):
    def __init__(self, data: Path) -> None:
        super().__init__(["dynamodb", str(data)])

    @staticmethod
    def program() -> list[str]:
        return ["dynamodb"]

    def wait(self) -> str:
        return "http://127.0.0.1:6666"


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB"])
def test_an_endpoint_without_a_scheme_is_refused(variable: str, tmp_path: Path) -> None:
    with pytest.raises(EngineFailed, match=rf"^{variable} must begin with http:// or https://$"):
        Engines({variable: "127.0.0.1:4566"}, "emulator", tmp_path)


@pytest.fixture(autouse=True)
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    NoChild.commands = []
    monkeypatch.setattr(engines, "ChildProcess", NoChild)
    monkeypatch.setattr(engines, "DYNAMODB_ENGINES", dict.fromkeys(engines.DYNAMODB_ENGINES, NoDynamoDB))
    return NoChild.commands


@contextmanager
def started_on(environ: dict[str, str], engine: str, folder: Path, *, fresh: bool = False) -> Iterator[Engines]:
    started = Engines(environ, engine, folder, fresh=fresh)
    try:
        yield started
    finally:
        started.stop()


def test_a_stack_without_settings_uses_the_emulator_with_local_credentials(
    tmp_path: Path, commands: list[list[str]]
) -> None:
    environ = {"AWS_PROFILE": "real", "AWS_SESSION_TOKEN": "real", "AWS_ACCESS_KEY_ID": "real"}
    with started_on(environ, "emulator", tmp_path) as started:
        started.wait()

        assert environ["AWS_ENDPOINT_URL"] == "http://127.0.0.1:5555"
        assert environ["AWS_ACCESS_KEY_ID"] == "local"
        assert "AWS_PROFILE" not in environ
        assert "AWS_SESSION_TOKEN" not in environ
        assert environ["AWS_DEFAULT_REGION"] == environ["AWS_REGION"] == "eu-west-1"
        assert started.kind == "emulator"
        assert started.dynamodb_engine is None
        assert started.environment()["AWS_ACCESS_KEY_ID"] == "local"
    assert len(commands) == 1


def test_a_configured_endpoint_is_used_with_the_configured_credentials(
    tmp_path: Path, commands: list[list[str]]
) -> None:
    own = {"AWS_ACCESS_KEY_ID": "own", "AWS_SECRET_ACCESS_KEY": "own", "RESOURCE_PREFIX": "causeway-local-4711"}
    environ = {"AWS_ENDPOINT_URL": "http://elsewhere:4566", **own}
    with started_on(environ, "emulator", tmp_path) as started:
        started.wait()

        assert commands == []
        assert environ["AWS_ENDPOINT_URL"] == "http://elsewhere:4566"
        assert started.kind == "endpoint"
        assert started.is_emulated is False
        assert started.dynamodb_engine is None
        assert (started.data, started.seed_file) == (None, tmp_path / "seed-http-elsewhere-4566.json")
        assert "AWS_ACCESS_KEY_ID" not in started.environment(), "credentials of others are not written down"
        assert started.prefix == started.environment()["RESOURCE_PREFIX"] == "causeway-local-4711"


def test_the_localstack_setting_selects_the_localstack_endpoint(tmp_path: Path, commands: list[list[str]]) -> None:
    environ = {"LOCALSTACK": "1"}
    with started_on(environ, "emulator", tmp_path) as started:
        assert commands == []
        assert environ["AWS_ENDPOINT_URL"].endswith(":4566")
        assert started.kind == "localstack"


@pytest.mark.parametrize(
    ("engine", "environ", "folder"),
    [
        ("emulator", {}, "emulator"),
        ("dynamodb-local", {}, "dynamodb"),
        ("dynoxide", {}, "dynoxide"),
        ("emulator", {"AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:8001"}, "http-127-0-0-1-8001"),
    ],
)
def test_every_database_engine_stores_data_in_a_separate_folder(
    engine: str, environ: dict[str, str], folder: str, tmp_path: Path, commands: list[list[str]]
) -> None:
    with started_on(environ, engine, tmp_path) as started:
        assert (started.data, started.seed_file) == (tmp_path / folder, tmp_path / folder / "seed.json")
        assert commands[0][-2:] == ["--state", str(tmp_path / folder / "emulator.sqlite3")]
        assert [each[1:] for each in commands[1:]] == [[str(tmp_path / folder)]] * (engine != "emulator")
        assert started.has_own_dynamodb is (folder != "emulator")
    assert (tmp_path / folder).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("engine", engines.ENGINES)
def test_a_second_stack_on_the_same_data_is_refused(engine: str, tmp_path: Path) -> None:
    with started_on({}, engine, tmp_path), pytest.raises(EngineFailed, match="another stack uses the data in"):
        Engines({}, engine, tmp_path, fresh=True)
    Engines({}, engine, tmp_path).stop()


def test_the_fresh_option_removes_only_the_data_of_the_selected_engine(tmp_path: Path) -> None:
    for folder in ("emulator", "dynamodb"):
        (tmp_path / folder).mkdir()
        for name in ("emulator.sqlite3", "emulator.sqlite3-wal", "seed.json"):
            (tmp_path / folder / name).write_text("kept")
    Engines({}, "emulator", tmp_path, fresh=True).stop()

    assert [file.name for file in (tmp_path / "emulator").iterdir()] == ["lock"]
    assert len([*(tmp_path / "dynamodb").iterdir()]) == 3


def test_the_fresh_option_is_rejected_at_an_external_endpoint(tmp_path: Path) -> None:
    with pytest.raises(EngineFailed, match="FRESH=1 removes the data of this stack's own engines"):
        Engines({"AWS_ENDPOINT_URL": "http://elsewhere"}, "emulator", tmp_path, fresh=True)


def test_tables_of_an_earlier_version_without_keys_are_rejected_and_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "dynamodb").mkdir()
    (tmp_path / "dynamodb" / "shared-local-instance.db").write_text("tables of an earlier version")

    with pytest.raises(EngineFailed, match="was created by an earlier version: start anew with `make run FRESH=1`"):
        Engines({}, "dynamodb-local", tmp_path)
    assert (tmp_path / "dynamodb" / "shared-local-instance.db").exists()
    Engines({}, "dynamodb-local", tmp_path, fresh=True).stop()


def test_an_emulator_with_unusable_data_reports_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NoChild, "first_line", lambda self: "emulator.sqlite3 is damaged: restore a copy of it")
    with (
        started_on({}, "emulator", tmp_path) as started,
        pytest.raises(EngineFailed, match=r"^emulator.sqlite3 is damaged: restore a copy of it$"),
    ):
        started.wait()


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
def test_the_error_for_an_unresponsive_engine_names_the_engine_and_the_variable(
    tmp_path: Path, environ: dict[str, str], sentence: str
) -> None:
    with started_on(environ, "emulator", tmp_path) as started:
        assert started.explain_silence("http://x") == f"nothing responds at {sentence}"


def test_an_unknown_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineFailed, match="ENGINE must be one of emulator, dynoxide, dynamodb-local, not 'oracle'"):
        Engines({}, "oracle", tmp_path)


def test_calls_to_localhost_bypass_proxies(tmp_path: Path) -> None:
    environ = {"NO_PROXY": "example.com"}
    with started_on(environ, "emulator", tmp_path):
        assert environ["NO_PROXY"] == "example.com,127.0.0.1,localhost"
        assert environ["no_proxy"] == "127.0.0.1,localhost"


def installed(monkeypatch: pytest.MonkeyPatch, version: str | None) -> None:
    monkeypatch.setattr(dynoxide, "installed_version", lambda: version)


def test_an_installed_dynoxide_of_the_tested_version_is_selected(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, dynoxide.VERSION)

    assert engines.choose_engine({}) == ("dynoxide", "")


@pytest.mark.parametrize(
    "environ",
    [{"LOCALSTACK": "1"}, {"AWS_ENDPOINT_URL": "http://elsewhere"}, {"AWS_ENDPOINT_URL_DYNAMODB": "http://elsewhere"}],
)
def test_a_configured_engine_or_endpoint_takes_precedence_over_dynoxide(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]
) -> None:
    installed(monkeypatch, dynoxide.VERSION)

    assert engines.choose_engine(environ) == ("emulator", "")


def test_the_emulator_is_selected_without_a_message_if_dynoxide_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, None)

    assert engines.choose_engine({}) == ("emulator", "")


def test_an_untested_dynoxide_version_is_not_used_and_causes_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "9.9.9")
    engine, remark = engines.choose_engine({})

    assert engine == "emulator"
    assert remark == (
        f"the dynoxide on the PATH is version 9.9.9, not {dynoxide.VERSION}, so the built-in engine is used; "
        "`make install-dynoxide` installs the tested version"
    )


def test_a_missing_engine_is_reported_before_the_fresh_option_removes_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> list[str]:
        raise EngineFailed("there is no such program")

    monkeypatch.setattr(NoDynamoDB, "program", staticmethod(missing))
    (tmp_path / "dynoxide").mkdir()
    (tmp_path / "dynoxide" / "dynoxide.sqlite3").write_text("kept")
    with pytest.raises(EngineFailed, match="no such program"):
        Engines({}, "dynoxide", tmp_path, fresh=True)

    assert (tmp_path / "dynoxide" / "dynoxide.sqlite3").read_text() == "kept"
