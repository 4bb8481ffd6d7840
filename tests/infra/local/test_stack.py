"""Tests of the complete local stack that ``make run`` starts: its start, output, error messages and shutdown."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests

from chalicelib.website import rendered_files
from infra.local import stack, stackfile, summary
from infra.local.background import run_stack
from infra.local.server import take_port
from infra.repository import ROOT
from tests.conftest import DYNAMODB_ENGINE, ENDPOINT
from tests.kit.endpoint import of_a_stack
from tests.kit.http import stack_health
from tests.kit.time import PATIENCE_SECONDS, wait_for

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
Kept = tuple[dict[str, str], str, int, dict[str, Any], dict[str, Any]]
"""Data that survives a restart: the user, the public key, the status of a page, and two programmes."""


def run(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "infra.local", *options]
    return subprocess.run(
        command, cwd=ROOT, env=CLEAN, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )


def test_a_port_in_use_is_reported_as_a_one_line_error_message(tmp_path: Path) -> None:
    with take_port(0) as taken:
        port = taken.getsockname()[1]
        result = run("--port", str(port), "--stack-file", str(tmp_path / "stack.json"))

    assert result.returncode == 1
    assert (
        result.stderr == f"causeway: port {port} is taken; choose another one, for example PORT={port % 65535 + 1}.\n"
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--port", "eighty"), "PORT must be"),
        (("--engine", "x"), "ENGINE must be"),
        (("--stack-file", "infra"), f"{ROOT / 'infra'} is not a file that can be replaced"),
    ],
)
def test_an_invalid_setting_is_reported_as_a_one_line_error_message(
    tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    result = run("--port", "0", "--stack-file", str(tmp_path / "stack.json"), *options)

    assert result.returncode == 1
    assert result.stderr.startswith(f"causeway: {sentence}")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("engine", ["emulator", "dynamodb-local"])
def test_a_second_stack_is_rejected_and_does_not_overwrite_the_first_stack_file(tmp_path: Path, engine: str) -> None:
    file = tmp_path / "stack.json"
    with stack_health() as first:
        stackfile.write(file, {**first, "base_url": "http://127.0.0.1:8000"})
        before = file.read_text()
        result = run("--port", "0", "--stack-file", str(file), "--engine", engine)

    assert result.returncode == 1
    assert file.read_text() == before
    assert result.stderr == (
        "causeway: a stack is already running at http://127.0.0.1:8000, and the tour and the command line find it by "
        f"{file}; stop it first, or give the second one its own file: "
        "CAUSEWAY_STACK_FILE=.local/second/stack.json make run PORT=8010.\n"
    )


@dataclass(frozen=True)
class Killed:
    content: dict[str, Any]
    running: Any
    health: int
    file_mode: int
    service_log: str
    output: str
    kept: Kept


@dataclass(frozen=True)
class Returned:
    """The results of a test that kills and restarts a stack: the stored data after the restart, and the response and
    exit code when the restarted stack ends during a request.
    """

    killed: Killed
    content: dict[str, Any]
    kept: Kept
    answer: bytes
    exit_code: int
    file: Path


@pytest.fixture(scope="module")
def returned(tmp_path_factory: pytest.TempPathFactory) -> Returned:
    """Kill and restart a stack. The first start finds a stack file with a process id that another process now uses."""
    folder = tmp_path_factory.mktemp("stack")
    file, elsewhere = folder / "stack.json", of_a_stack(ENDPOINT)
    with stack_health("another-stack") as other, (folder / "output").open("wb") as output:
        stale = {**other, "id": "a-stack-that-was-killed", "pid": os.getpid(), "base_url": "http://127.0.0.1:8000"}
        stackfile.write(file, stale)
        with run_stack(CLEAN, output, folder=folder, elsewhere=elsewhere) as content:
            running, file_mode = stackfile.find_running(file), file.stat().st_mode & 0o777
            health = requests.get(f"{content['base_url']}/health", timeout=PATIENCE_SECONDS).status_code
            kept, service_log = _kept(content), Path(content["log"]).read_text()
            os.kill(content["pid"], signal.SIGKILL)
    killed = Killed(content, running, health, file_mode, service_log, (folder / "output").read_text(), kept)
    options = ["--port", "0", "--stack-file", str(file), "--engine", "emulator"]
    command = [sys.executable, "-m", "infra.local", *options]
    with subprocess.Popen(command, cwd=ROOT, env=CLEAN | elsewhere, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert any(line.startswith("ready at") for line in process.stdout)
            content = stackfile.read(file) or {}
            kept = _kept(content)

            def end() -> None:
                process.send_signal(signal.SIGTERM)
                assert any(line.startswith("waiting for requests in flight: 1") for line in process.stdout or ())

            answer = _answer_of_a_slow_caller(content, end)
            exit_code = process.wait(PATIENCE_SECONDS)
        finally:
            process.kill()
    return Returned(killed, content, kept, answer, exit_code, file)


@pytest.mark.e2e
def test_a_stack_serves_requests_and_when_it_stops_removes_the_stack_file_and_the_emulator(returned: Returned) -> None:
    killed = returned.killed
    assert killed.health == 200
    assert [bank["api_version"] for bank in killed.content["banks"]] == [1, 2]
    assert [bank["bic"] for bank in killed.content["fault_banks"]] == ["DEMOGB2F", "DEMODE2F"]
    assert killed.file_mode == 0o600
    assert '"route":"/health"' in killed.service_log
    assert "ready at" in killed.output
    assert killed.content["user"]["password"] not in killed.output

    assert not returned.file.exists()
    assert not _answers(returned.content["base_url"])
    endpoint = returned.content["environment"]["AWS_ENDPOINT_URL"]
    assert _answers(endpoint) is bool(ENDPOINT), "its own emulator ends with it, another one goes on"


@pytest.mark.e2e
def test_a_stack_file_with_a_reused_process_id_does_not_prevent_a_start(returned: Returned) -> None:
    assert returned.killed.running == returned.killed.content


@pytest.mark.e2e
def test_requests_in_progress_are_answered_before_a_stack_stops(returned: Returned) -> None:
    assert returned.answer.startswith(b"HTTP/1.1 200 ")
    assert b'"redirect_url"' in returned.answer
    assert returned.exit_code == 0
    assert not returned.file.exists()


@pytest.mark.e2e
def test_user_keys_and_credentials_survive_the_kill_of_a_stack(returned: Returned) -> None:
    assert returned.kept == returned.killed.kept
    if not ENDPOINT:
        assert (returned.file.parent / "emulator").stat().st_mode & 0o777 == 0o700


def test_a_start_at_an_endpoint_that_does_not_respond_can_be_stopped_with_sigint(tmp_path: Path) -> None:
    with take_port(0) as silent:
        environ = {**CLEAN, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{silent.getsockname()[1]}"}
        command = [sys.executable, "-m", "infra.local", "--port", "0", "--stack-file", str(tmp_path / "stack.json")]
        process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True)
        with process, silent.accept()[0]:  # it has asked, and would wait for a minute
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate(timeout=PATIENCE_SECONDS)

    assert (process.returncode, said) == (130, "ending…\nended\n")


def test_a_stack_that_is_stopped_in_the_last_step_of_its_start_prints_no_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def start(started: stack.Stack) -> dict[str, Any]:
        started.request_stop()
        return {}

    monkeypatch.setattr(stack.Stack, "start_parts", start)
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    assert stack.main(["--port", "0", "--engine", "emulator", "--stack-file", str(tmp_path / "stack.json")]) == 130
    assert capfd.readouterr().out == "ending…\nended\n"


def test_a_stack_with_the_option_end_with_stdin_stops_when_standard_input_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stack, "call_with_parents_end", lambda work: work())
    monkeypatch.setattr(stack.Stack, "start_parts", lambda _: {})
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    options = ["--port", "0", "--engine", "emulator", "--stack-file", str(tmp_path / "stack.json")]

    assert stack.main([*options, "--end-with-stdin"]) == 130
    assert capfd.readouterr().out == "ending…\nended\n"


def _answer_of_a_slow_caller(stack: dict[str, Any], meanwhile: Callable[[], None]) -> bytes:
    """Send the last byte of a request after calling ``meanwhile``. Return the response."""
    body = json.dumps({"bic": "DEMOGB21", "scopes": ["account.list"]}).encode()
    head = (
        "POST /tpp/authorize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
        "Expect: 100-continue\r\n"
        f"X-Api-Key: {stack['client']['client_id']}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", int(stack["environment"]["PORT"])), timeout=PATIENCE_SECONDS) as caller:
        caller.sendall(head.encode())
        interim = b"HTTP/1.1 100 Continue\r\n\r\n"
        assert caller.recv(len(interim), socket.MSG_WAITALL) == interim
        caller.sendall(body[:-1])
        meanwhile()
        caller.sendall(body[-1:])
        return b"".join(iter(lambda: caller.recv(65536), b""))


def test_an_invalid_engine_is_reported_even_if_another_stack_is_running(tmp_path: Path) -> None:
    file = tmp_path / "stack.json"
    with stack_health() as first:
        stackfile.write(file, first)

        assert run("--stack-file", str(file), "--engine", "x").stderr.startswith("causeway: ENGINE must be one of")


def test_an_unreachable_endpoint_is_reported_as_a_one_line_error_message(tmp_path: Path) -> None:
    with take_port(0) as taken:
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
    command = [sys.executable, "-m", "infra.local", "--port", "0", "--stack-file", str(tmp_path / "stack.json")]
    environ = {**CLEAN, "AWS_ENDPOINT_URL": address, "LOCALSTACK": "1"}
    result = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )

    assert result.returncode == 1
    assert result.stderr == f"causeway: nothing responds at {address} (LOCALSTACK=1): is LocalStack running?\n"


class Renderer:
    def __init__(self, happened: list[str]) -> None:
        self._happened = happened

    def __call__(self, command: list[str], **_: Any) -> Renderer:
        assert command[-2:] == ["infra.render", "--end-with-stdin"]
        self._happened.append("renders")
        return self

    def stop(self) -> None:
        self._happened.append("renderer stopped")


def test_documents_are_rendered_by_another_process_after_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: list[str] = []
    monkeypatch.setattr(stack, "ChildProcess", Renderer(happened))
    monkeypatch.setattr(stack, "print_summary", lambda *_, **__: happened.append("ready"))
    monkeypatch.setattr(stack.Stack, "start", lambda _: {})
    monkeypatch.setattr(stack.Stack, "wait", lambda _: happened.append("serves"))
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    assert stack.main(["--port", "0", "--engine", "emulator", "--stack-file", str(tmp_path / "stack.json")]) == 0

    assert happened == ["ready", "renders", "serves", "renderer stopped"]


@pytest.mark.parametrize(("code", "sentences"), [(1, 1), (0, 0), (None, 0)])
def test_a_failed_rendering_is_reported_once_and_explained_on_the_docs_page(
    code: int | None,
    sentences: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(rendered_files, "rendering_failed", threading.Event())
    monkeypatch.setattr(stack, "ChildProcess", lambda *_, **__: SimpleNamespace(exit_code=code))
    made = stack.Stack(stack.StackOptions(0, "emulator", tmp_path / "stack.json"))
    turns = iter([False, False, True])
    monkeypatch.setattr(made, "ended", SimpleNamespace(wait=lambda _: next(turns)))
    made.render_documents()
    made.wait()

    assert (
        capsys.readouterr().err == "causeway: the documents could not be rendered: `make docs` shows why.\n" * sentences
    )
    says_failed = "could not be rendered" in rendered_files.explain_missing(is_local=True)
    assert says_failed is bool(sentences)


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


@pytest.fixture(scope="module")
def stacks(
    tmp_path_factory: pytest.TempPathFactory, rendered: None
) -> Iterator[dict[int, tuple[subprocess.Popen[str], Path]]]:
    made = {}
    for number in SIGNALS:
        file = tmp_path_factory.mktemp("stack") / "stack.json"
        command = [sys.executable, "-m", "infra.local", "--port", "0", "--stack-file", str(file)]
        environ = CLEAN | of_a_stack(ENDPOINT)
        process = subprocess.Popen(
            command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        made[int(number)] = process, file
    yield made
    for process, _ in made.values():
        with process:  # closes its output and waits
            process.kill()


@pytest.mark.e2e
@pytest.mark.faults
@pytest.mark.parametrize("number", SIGNALS)
def test_every_signal_ends_all_child_processes(
    stacks: dict[int, tuple[subprocess.Popen[str], Path]], number: signal.Signals
) -> None:
    process, file = stacks[number]
    assert process.stdout is not None
    assert any(line.startswith("ready at http://127.0.0.1:") for line in process.stdout)
    content = stackfile.find_running(file)
    assert content is not None
    process.send_signal(number)
    code = process.wait(PATIENCE_SECONDS)
    assert code == (-number if number == signal.SIGKILL else 0)
    left = content["base_url"] if ENDPOINT else content["environment"]["AWS_ENDPOINT_URL"]
    wait_for(lambda: not _answers(left), "a child is left")
    if number != signal.SIGKILL:
        kept = "" if ENDPOINT else ", data kept in .*/(emulator|dynoxide)/"
        assert re.search(rf"ending…\nended{kept}\n$", process.stdout.read())


def _answers(address: str) -> bool:
    try:
        requests.get(address, timeout=PATIENCE_SECONDS)
    except requests.ConnectionError:
        return False
    return True


def test_the_summary_names_addresses_credentials_banks_and_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    content = {
        "base_url": "http://127.0.0.1:8000",
        "engine": "dynamodb-local",
        "dynamodb_engine": "dynamodb-local",
        "user": {"email": "tpp@example.com", "password": "pass-word"},
        "client": {"client_id": "the-id", "client_secret": "hush", "title": "Example TPP"},
        "banks": [{"bic": "DEMOGB21", "name": "Demo Bank One", "api_version": 1, "domain": "http://bank"}],
        "fault_banks": [
            {"bic": "DEMOGB2F", "name": "Demo Fault Bank One", "api_version": 1, "domain": "http://faults"}
        ],
        "programme": {"name": "Demo Programme", "credentials": {"full": {"access_key": "shown-once"}}},
        "data": "the-data-folder",
        "log": "stack.log.jsonl",
        "mails": "the-mail-folder",
        "environment": {"AWS_ENDPOINT_URL": "http://aws", "AWS_ENDPOINT_URL_DYNAMODB": "http://dynamodb"},
    }
    summary.print_summary(content, tmp_path / "stack.json", 2.5, quiet=False)
    said = capsys.readouterr().out
    assert "http://127.0.0.1:8000  in a browser: register, or sign in" in said.partition("tpp@example.com")[0]
    for part in (
        "tpp@example.com / pass-word",
        "the-id",
        "hush",
        "DEMOGB21",
        "DEMOGB2F  Demo Fault Bank One, version 1  http://faults",
        "the-data-folder/  kept; FRESH=1 starts anew",
        "stack.json",
        "stack.log.jsonl",
        "the-mail-folder",
        "ada / sandbox-ada, ",
        "http://127.0.0.1:8000/api  Demo Programme, credential full",
        "access_key shown-once",
    ):
        assert part in said
    assert "http://aws  emulator\n" in said
    assert "http://dynamodb  dynamodb-local\n" in said
    assert said.endswith("ready at http://127.0.0.1:8000 after 2.5 s\n")
    assert f"  Tour: CAUSEWAY_STACK_FILE={tmp_path / 'stack.json'} make tour    Stop: Ctrl-C\n" in said

    summary.print_summary(content, ROOT / ".local" / "stack.json", 2.5, quiet=False)
    assert "  Tour: make tour    Stop: Ctrl-C\n" in capsys.readouterr().out

    summary.print_summary(content, tmp_path / "stack.json", 2.5, quiet=True)
    quiet = capsys.readouterr().out
    assert "pass-word" not in quiet
    assert "shown-once" not in quiet


def test_the_summary_names_the_ca_file_of_a_stack_with_tls() -> None:
    content = {"base_url": "https://127.0.0.1:8000", "ca_file": str(ROOT / ".local/tls/ca.pem")}

    assert summary.tls_rows(content) == [
        ("TLS", ".local/tls/ca.pem  the CA to trust, in a browser too; client certificates are accepted"),
        ("", "curl --cacert .local/tls/ca.pem https://127.0.0.1:8000/health"),
    ]
    assert summary.tls_rows({"base_url": "http://127.0.0.1:8000"}) == []


@pytest.mark.parametrize(
    ("arguments", "environ", "speaks"), [([], {}, False), ([], {"TLS": "1"}, True), (["--tls"], {}, True)]
)
def test_tls_is_enabled_by_an_option_or_an_environment_variable(
    arguments: list[str], environ: dict[str, str], speaks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TLS", raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    options, _ = stack.parse_options([*arguments, "--port", "0", "--engine", "emulator"])

    assert options.tls is speaks


@pytest.mark.dynamodb
@pytest.mark.skipif(not DYNAMODB_ENGINE, reason="DynamoDB Local takes part in `make test-dynamodb`")
def test_a_restarted_stack_has_the_same_user_keys_and_credentials(tmp_path: Path) -> None:
    with run_stack(environ=CLEAN, engine="dynamodb-local", folder=tmp_path) as content:
        before = _kept(content)
    with run_stack(environ=CLEAN, folder=tmp_path) as between:
        assert between["user"] != before[0]
    with run_stack(environ=CLEAN, engine="dynamodb-local", folder=tmp_path) as content:
        after = _kept(content)

    assert before == after
    assert not (tmp_path / "stack.json").exists()
    assert (tmp_path / "dynamodb" / "seed.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("arguments", "environ", "fresh"), [([], {}, False), ([], {"FRESH": "1"}, True), (["--fresh"], {}, True)]
)
def test_fresh_data_is_enabled_by_an_option_or_an_environment_variable(
    arguments: list[str], environ: dict[str, str], fresh: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FRESH", raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    options, _ = stack.parse_options([*arguments, "--port", "0", "--engine", "emulator"])

    assert options.fresh is fresh


def _kept(content: dict[str, Any]) -> Kept:
    """Return the data of a running stack that must be unchanged after a restart. The calls decrypt stored values."""
    base = content["base_url"]
    public_key = requests.get(f"{base}/bank/public_key", timeout=PATIENCE_SECONDS).text
    authorize = {"bic": "DEMOGB21", "scopes": ["account.list"]}
    caller = {"X-Api-Key": content["client"]["client_id"]}
    answer = requests.post(f"{base}/tpp/authorize", json=authorize, headers=caller, timeout=PATIENCE_SECONDS)
    page = requests.get(answer.json()["redirect_url"], timeout=PATIENCE_SECONDS)
    return content["user"], public_key, page.status_code, content["programme"], content["other_programme"]
