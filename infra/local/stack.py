"""The one-machine stack, which ``make run`` starts.

The engines boot in processes of their own while this one imports the application; then the resources and the seed data
are made, and the server, the consumers and the schedules start. The children end with this process.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra import command
from infra.local import logfile, stackfile, terminal_log
from infra.local.dynamodb_local import EngineFailed
from infra.local.engines import ENGINES, Engines, check_engine
from infra.local.process import call_with_parents_end

if TYPE_CHECKING:
    from chalice.app import Chalice
    from chalice.config import Config

    from infra.local.event_runner import EventRunner
    from infra.local.server import ApiServer

DEFAULT_PORT = 8000
DRAIN_SECONDS = 30.0
"""Seconds that an ending stack waits for requests in flight: API Gateway's limit is 29 s."""
STAGE = "local"

_BOLD, _DIM, _GREEN, _RESET = "\033[1m", "\033[2m", "\033[32m", "\033[0m"
_SECOND = {"emulator": ".local/second.json", "dynamodb-local": ".local/second/stack.json"}
"""Files for a second stack; where engines keep data beside the file, in a folder of its own."""


class StopRequested(Exception):
    """The stack was stopped before it was ready."""


class StartFailed(Exception):
    """The stack cannot start; the message is one sentence for the person who started it."""


@dataclass(frozen=True, slots=True)
class StackOptions:
    """How a stack is started. ``port`` 0 is any free one."""

    port: int
    engine: str
    file: Path
    quiet: bool = False


class Stack:
    """A running stack. ``start`` it, ``wait`` for its end, ``stop`` it."""

    def __init__(self, options: StackOptions) -> None:
        self._options = options
        self._id = uuid.uuid4().hex
        self._ended = threading.Event()
        self._engines: Engines | None = None
        self._server: ApiServer | None = None
        self._runner: EventRunner | None = None

    def start(self) -> dict[str, Any]:
        """Start everything; answers the content of the stack's file. Raises: StartFailed, EngineFailed."""
        from infra.local.server import build_server, take_port

        check_engine(self._options.engine)
        is_for_people = _is_log_for_people(os.environ)
        self._refuse_a_second()
        try:
            taken = take_port(self._options.port)
        except OSError as error:
            raise StartFailed(_explain_port(self._options.port, error)) from None
        port = taken.getsockname()[1]
        mails = self._options.file.parent / "mail"
        os.environ |= {"STAGE": STAGE, "PORT": str(port), "MAIL_FOLDER": str(mails)}
        self._engines = engines = Engines(os.environ, self._options.engine, self._options.file.parent)
        laid = _run_in_thread(self._create_resources, engines)
        application, config = _load_application()
        self._wait_for(laid)
        log = logfile.log_path(self._options.file)
        logfile.attach(log)
        if is_for_people:
            terminal_log.attach()
        content = {**self._content(port, engines), "log": str(log), "mails": str(mails)}
        self._server = build_server(application, config, taken, self._id)
        threading.Thread(target=self._server.serve_forever, name="http", daemon=True).start()
        self._runner = _create_runner(application)
        self._runner.start()
        stackfile.write(self._options.file, content)
        return content

    def _wait_for(self, laid: Future[None]) -> None:
        """Wait until the resources are laid. Raises: StopRequested, if that comes first, and what laying raises."""
        while not wait([laid], timeout=0.2).done:
            if self._ended.is_set():
                raise StopRequested
        laid.result()

    def wait(self) -> None:
        """Wait for a request to stop. Raises: StartFailed, if an engine ended by itself."""
        while not self._ended.wait(1):
            if self._engines and self._engines.has_failed():
                raise StartFailed("an engine has ended by itself, so the stack ends too")

    def request_stop(self) -> None:
        """Request the end, from a signal handler or another thread; a second request ends at once."""
        if self._ended.is_set():
            os._exit(130)
        self._ended.set()
        if not self._options.quiet:
            _say_at_once("ending…")

    def stop(self) -> None:
        """End everything after the requests in flight, the children last, and remove the file."""
        if self._runner:
            self._runner.stop()
        if self._server:
            self._close(self._server)
        if self._engines:
            self._engines.stop()
            stackfile.remove_own(self._options.file, self._id)
        if self._ended.is_set() and not self._options.quiet:
            kept = self._options.engine == "dynamodb-local"
            print(
                f"ended, data kept in {stackfile.display_path(self._options.file.parent)}/" if kept else "ended",
                flush=True,
            )

    def _close(self, server: ApiServer) -> None:
        """Wait for the requests in flight, at most ``DRAIN_SECONDS``."""
        deadline = time.monotonic() + DRAIN_SECONDS
        if not server.drain(0.5) and not self._options.quiet:
            _say_at_once(f"waiting for requests in flight: {server.count_in_flight()}; ask again to end at once")
        server.drain(deadline - time.monotonic())
        server.shutdown()
        server.drain(max(0.0, deadline - time.monotonic()))
        server.server_close()

    def _refuse_a_second(self) -> None:
        """A second stack would take the file away from the first, and everything that finds it by this file."""
        file = self._options.file
        if other := stackfile.find_running(file):
            raise StartFailed(
                f"a stack is running already at {other.get('base_url')}, and the tour and the command line find it by "
                f"{stackfile.display_path(file)}; end it first, or give the second one its own file: "
                f"{stackfile.VARIABLE}={_SECOND[self._options.engine]} make run PORT=8080"
            )

    @staticmethod
    def _create_resources(engines: Engines) -> None:
        from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, EndpointConnectionError

        from infra.deploy.stacks import StackFailed
        from infra.local import resources

        engines.wait()
        try:
            resources.create_resources(
                emulated=engines.is_emulated,
                dynamodb_apart=engines.has_own_dynamodb,
                prefix=engines.prefix or resources.STACK,
            )
        except (EndpointConnectionError, ConnectTimeoutError) as error:
            raise StartFailed(engines.explain_silence(str(error.kwargs["endpoint_url"]).rstrip("/"))) from None
        except (StackFailed, BotoCoreError, ClientError) as error:
            raise StartFailed(f"the resources could not be made: {error}") from None

    def _content(self, port: int, engines: Engines) -> dict[str, Any]:
        from chalicelib.bootstrap import hub
        from infra.local import seed

        kept = engines.seed_file
        seeded = seed.seed_stack(hub(), stackfile.read(kept) if kept else None)
        if kept:
            stackfile.write(kept, {name: seeded[name] for name in seed.KEPT})
        return {
            "id": self._id,
            "pid": os.getpid(),
            "engine": engines.kind,
            "dynamodb_engine": engines.dynamodb_engine,
            "base_url": hub().settings.public_url,
            **seeded,
            "environment": {"STAGE": STAGE, "PORT": str(port), **engines.environment()},
        }


def _run_in_thread(work: Callable[[Engines], None], engines: Engines) -> Future[None]:
    """Do ``work`` beside this thread, in one that keeps no process from ending."""
    future: Future[None] = Future()

    def run() -> None:
        try:
            work(engines)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(None)

    threading.Thread(target=run, name="resources", daemon=True).start()
    return future


def _is_log_for_people(environ: Mapping[str, str]) -> bool:
    """Whether standard output has lines for people instead of JSON. Raises: StartFailed."""
    try:
        return terminal_log.wants_text(environ.get(terminal_log.VARIABLE, ""), is_terminal=sys.stdout.isatty())
    except ValueError as error:
        raise StartFailed(f"the environment cannot be used: {error}") from None


def _load_application() -> tuple[Chalice, Config]:
    """The application and its configuration of the local stage. Raises: StartFailed."""
    from chalice.config import Config

    from chalicelib.foundation.settings import InvalidSetting

    try:
        from app import app
    except InvalidSetting as error:
        raise StartFailed(f"the environment cannot be used: {error}") from None
    from chalicelib.website import pages, site  # noqa: F401 - the first page is to come as quickly as the others

    pages.preload()
    on_disk = json.loads((stackfile.ROOT / ".chalice" / "config.json").read_text(encoding="utf-8"))
    return app, Config(
        chalice_stage=STAGE,
        user_provided_params={"chalice_app": app, "project_dir": str(stackfile.ROOT)},
        config_from_disk=on_disk,
    )


def _create_runner(application: Chalice) -> EventRunner:
    from infra.deploy.functions import FUNCTIONS
    from infra.local.event_runner import EventRunner

    timeouts = {each.name: each.timeout for each in FUNCTIONS}
    return EventRunner(application, timeouts=timeouts, region=os.environ["AWS_DEFAULT_REGION"])


def _say_at_once(text: str) -> None:
    """Print from a signal handler, where ``print`` may already be running."""
    line = f"\n{text}\n" if sys.stdout.isatty() else f"{text}\n"
    with contextlib.suppress(OSError):
        os.write(sys.stdout.fileno(), line.encode(sys.stdout.encoding, "replace"))


def _explain_port(port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is taken; choose another one, for example PORT={port % 65535 + 1}"
    return f"port {port} cannot be used: {os.strerror(error.errno or 0)}"


def _parse_options(arguments: list[str] | None) -> tuple[StackOptions, bool]:
    parser = command.parser("infra.local", __doc__)
    parser.add_argument("--port", default=os.environ.get("PORT") or str(DEFAULT_PORT), help="0 for any free one")
    parser.add_argument("--engine", default=os.environ.get("ENGINE") or ENGINES[0], help=f"one of {', '.join(ENGINES)}")
    parser.add_argument("--stack-file", type=Path, default=stackfile.location(), help="where to write what was seeded")
    parser.add_argument("--quiet", action="store_true", help="print no credentials, only when it is ready")
    parser.add_argument("--end-with-stdin", action="store_true", help="end when standard input closes")
    given = parser.parse_args(arguments)
    if not given.port.isascii() or not given.port.isdigit() or int(given.port) > 65535:
        raise StartFailed(f"PORT must be a port number, not {given.port!r}")
    file = given.stack_file.absolute()
    if file.exists() and not file.is_file():  # as /dev/null is, which would be replaced, and removed in the end
        raise StartFailed(f"{file} is no file that could be replaced")
    options = StackOptions(int(given.port), given.engine, file, given.quiet)
    return options, given.end_with_stdin


def summary_rows(content: Mapping[str, Any], file: Path) -> list[tuple[str, str]]:
    """Labels and values, in the order of reading."""
    user, client = content["user"], content["client"]
    rows = [
        ("Open", f"{content['base_url']}  in a browser: register, or sign in as the user below"),
        ("User", f"{user['email']} / {user['password']}  (owns the client)"),
        ("Client", f"{client['client_id']}  {client['title']}"),
    ]
    if client["client_secret"]:
        rows.append(("", f"secret {client['client_secret']}"))
    rows += [
        ("Bank", f"{bank['bic']}  {bank['name']}, version {bank['api_version']}  {bank['domain']}")
        for bank in content["banks"]
    ]
    rows += _customers(content)
    full = content["programme"]["credentials"]["full"]
    rows.append(("Cards", f"{content['base_url']}/api  {content['programme']['name']}, credential full"))
    rows += [("", f"{part} {value}") for part, value in full.items()]
    environment = content["environment"]
    aws = ENGINES[0] if content["engine"] in ENGINES else content["engine"]
    rows.append(("AWS", f"{environment.get('AWS_ENDPOINT_URL', '')}  {aws}"))
    if "AWS_ENDPOINT_URL_DYNAMODB" in environment:
        rows.append(("DynamoDB", f"{environment['AWS_ENDPOINT_URL_DYNAMODB']}  {content['dynamodb_engine']}"))
    rows += [("Log", str(content["log"])), ("Mails", str(content["mails"])), ("Written to", str(file))]
    return rows


def _customers(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Who can sign in at the demonstration banks; the passwords are public, the banks' own pages show them."""
    from chalicelib.demo_bank.customers import customers_by_id
    from chalicelib.demo_bank.profiles import PROFILES

    there = {bank["bic"] for bank in content["banks"]}
    return [
        ("Customers", f"{profile.bic}  {', '.join(f'{one.customer_id} / {one.password}' for one in people.values())}")
        for profile in PROFILES
        if profile.bic in there and (people := customers_by_id(profile.name))
    ]


def print_summary(content: Mapping[str, Any], file: Path, seconds: float, *, quiet: bool) -> None:
    """Print it; with colour on a terminal only, and without any credential when ``quiet``."""
    colour = sys.stdout.isatty()
    bold, dim, green, reset = (_BOLD, _DIM, _GREEN, _RESET) if colour else ("", "", "", "")
    if not quiet:
        print(f"\n{bold}Causeway{reset}\n")
        for label, value in summary_rows(content, file):
            print(f"  {dim}{label:<11}{reset}{value}")
        print("\n  The tour: make tour    The end: Ctrl-C\n")
    print(f"{green}ready{reset} at {content['base_url']} after {seconds:.1f} s", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """The command; answers its exit code."""
    started = time.monotonic()
    stack: Stack | None = None
    try:
        options, end_with_stdin = _parse_options(arguments)
        stack = Stack(options)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stack.request_stop() if stack else None)
        if end_with_stdin:
            call_with_parents_end(stack.request_stop)
        content = stack.start()
        print_summary(content, options.file, time.monotonic() - started, quiet=options.quiet)
        stack.wait()
    except StopRequested:
        return command.INTERRUPTED
    except (StartFailed, EngineFailed) as error:
        print(f"causeway: {error}" + ("" if str(error).endswith("?") else "."), file=sys.stderr)
        return 1
    finally:
        if stack:
            stack.stop()
    return 0
