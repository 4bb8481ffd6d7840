"""The ``causeway`` command: its options, its output, and its exit codes."""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from causeway import __version__, cli
from causeway.listen import Listener
from causeway.tpp import PrivateKeyJwt
from tests.kit.http import serving
from tests.kit.processes import SDK_SOURCE
from tests.kit.time import PATIENCE_SECONDS
from tests.sdk.event_log import event

VARIABLES = ("BASE_URL", "CLIENT_ID", "CLIENT_SECRET", "CLIENT_SECRET_FILE", "CLIENT_KEY", "CLIENT_KEY_ID")
CLIENT = ["--client-id", "client-1", "--forward-to", "http://127.0.0.1:9701"]
AT = [*CLIENT, "--base-url", "http://127.0.0.1:1"]


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Remove all settings from the environment, set a folder for state files, and restore signal handlers later."""
    for name in VARIABLES:
        monkeypatch.delenv(f"CAUSEWAY_{name}", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "states"))
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Hub(ThreadingHTTPServer):
    """A hub that returns one event once to an authenticated client. ``seen`` contains the headers of all requests."""

    daemon_threads = True

    def __init__(self, status: int = 200) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = status
        self.seen: list[tuple[str, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, path: str) -> tuple[int, object]:
        if path.startswith("/.well-known"):
            return 200, {"issuer": self.url}
        if self.status != 200:
            body = {"code": "WRONG_CREDENTIALS", "title": "the client secret\x1b[2J is wrong", "requestId": "r-1"}
            return self.status, body
        events = [] if "after" in path else [event(1)]
        return 200, {"events": events, "next": "place-1", "has_more": False}


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        self._answer(*self.server.answer(self.path))

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200, {})

    def _answer(self, status: int, body: object) -> None:
        self.server.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Suppress the request log."""


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serving(Hub()) as server:
        yield server


def options(hub: Hub, *more: str) -> list[str]:
    return ["listen", "--base-url", hub.url, "--client-id", "client-1", "--forward-to", f"{hub.url}/events", *more]


def test_the_version_option_prints_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])

    assert (ended.value.code, capsys.readouterr().out) == (0, f"{__version__}\n")


@pytest.mark.parametrize("arguments", [[], ["listen"], ["listen", "--forward-to"], ["speak"]])
def test_a_command_with_invalid_options_exits_with_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)

    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: causeway")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (CLIENT, "--base-url or CAUSEWAY_BASE_URL is missing"),
        (AT[2:], "--client-id or CAUSEWAY_CLIENT_ID is missing"),
        ([*AT, "--base-url", "http://h:99999"], "--base-url must be an http or https address, not 'http://h:99999'"),
        (AT, "CAUSEWAY_CLIENT_SECRET, --client-secret-file or --client-key is missing"),
        ([*AT, "--client-secret-file", "none"], "the file 'none' cannot be read"),
        ([*AT, "--client-key", "none"], "the key's file 'none' cannot be read: No such file or directory"),
    ],
)
def test_a_missing_setting_is_reported_in_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cli.main(["listen", *arguments]) == 1

    assert capsys.readouterr().err == f"causeway: {message}\n"
    assert not (tmp_path / "states").exists()


def test_an_invalid_receiver_address_is_reported(
    hub: Hub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAUSEWAY_CLIENT_SECRET", "secret-1")

    assert cli.main(["listen", "--base-url", hub.url, "--client-id", "c", "--forward-to", "9701"]) == 1

    assert capsys.readouterr().err == "causeway: --forward-to must be an http or https address, not '9701'\n"


def test_the_command_prints_one_line_and_exits_with_code_1_if_credentials_are_rejected(
    hub: Hub, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    hub.status = 401
    (tmp_path / "secret").write_text("secret-1\n")

    assert cli.main(options(hub, "--client-secret-file", str(tmp_path / "secret"))) == 1

    shown = capsys.readouterr()
    assert shown.err == (
        "causeway: 401 WRONG_CREDENTIALS: the client secret?[2J is wrong (request r-1)."
        " Check client_id and the client's secret, key or certificate.\n"
    )
    assert "secret-1" not in shown.out + shown.err


def test_the_resend_command_authenticates_by_assertion_and_forwards_a_stored_event(
    hub: Hub, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    key = PrivateKeyJwt.generate()
    key.save(tmp_path / "client.json")

    assert cli.main(options(hub, "--client-key", str(tmp_path / "client.json"), "--resend", "event-1")) == 0
    assert cli.main(options(hub, "--client-key", str(tmp_path / "client.json"), "--resend", "event-2")) == 1

    first, second = capsys.readouterr().out.splitlines()
    assert "test  event-1  200 in" in first
    assert second.endswith("event-2  the hub does not keep such an event")
    asked = [headers for path, headers in hub.seen if path.startswith("/tpp/events")]
    assert len({headers["x-client-assertion"] for headers in asked}) == len(asked) == 2
    (state,) = (tmp_path / "states" / "causeway").glob("*.json")
    assert state.name == f"listen-127.0.0.1_{hub.server_port}-client-1.json"
    assert stat.S_IMODE(state.stat().st_mode) == 0o600


def test_an_interrupted_resend_command_exits_with_code_1(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setenv("CAUSEWAY_CLIENT_SECRET", "secret-1")
    monkeypatch.setattr(Listener, "resend", interrupted)

    assert cli.main(options(hub, "--resend", "event-1")) == 1
    assert cli.STOPPED not in capsys.readouterr().out


def test_an_empty_secret_file_is_reported(hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "secret").write_text("\n")

    assert cli.main(options(hub, "--client-secret-file", str(tmp_path / "secret"))) == 1
    assert "secret' is empty" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_listen_command_prints_one_line_and_exits_with_code_0(
    hub: Hub, tmp_path: Path, number: signal.Signals
) -> None:
    receiver = ["--forward-to", f"{hub.url}/events", "--types", "t*,consent.authorized"]
    environ = {
        **os.environ,
        "PYTHONPATH": str(SDK_SOURCE),
        "CAUSEWAY_BASE_URL": hub.url,
        "CAUSEWAY_CLIENT_ID": "client-1",
        "CAUSEWAY_CLIENT_SECRET": "secret-1",
        "CAUSEWAY_LISTEN_STATE": str(tmp_path / "state.json"),
    }
    command = [sys.executable, "-m", "causeway", "listen", *receiver]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        lines = [running.stdout.readline().strip() for _ in range(4)]
        running.send_signal(number)
        rest, complaint = running.communicate(timeout=PATIENCE_SECONDS)

    secret = json.loads((tmp_path / "state.json").read_text())["secret"]
    assert lines[:3] == [
        f"Signing secret: {secret}",
        f"Forwarding events of the client client-1 to {hub.url}/events. Ctrl-C ends it.",
        "No event type that this version knows is consent.authorized.",
    ]
    assert "test  event-1  200 in" in lines[3]
    assert (running.returncode, rest, complaint) == (0, f"{cli.STOPPED}\n", "")


def test_control_characters_in_printed_lines_are_replaced() -> None:
    assert cli.printable("a\x1b[2Jb\r\nc\x9bd ü") == "a?[2Jb??c?d ü"


def test_a_command_whose_output_is_closed_exits_with_code_1_without_a_stack_trace(hub: Hub, tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(SDK_SOURCE), "CAUSEWAY_CLIENT_SECRET": "secret-1"}
    command = [sys.executable, "-m", "causeway", *options(hub, "--state", str(tmp_path / "state.json"))]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        complaint = running.stderr.read()
        assert running.wait(PATIENCE_SECONDS) == 1

    assert complaint == ""
