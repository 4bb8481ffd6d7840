"""The one-machine stack, which ``make run`` starts.

The engines start in separate processes while this process imports the application. The command then creates resources
and seed data, and starts the server, consumers and schedules. When the command exits, the child processes also exit.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
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

from chalicelib.website import rendered_files
from infra import command
from infra.local import logfile, stackfile, terminal_log
from infra.local.dynamodb_engine import EngineFailed
from infra.local.engines import ENGINES, Engines, check_engine, choose_engine
from infra.local.failures import explain_failure, explain_port
from infra.local.process import ChildProcess, call_with_parents_end, python_command
from infra.local.summary import print_summary
from infra.repository import ROOT

if TYPE_CHECKING:
    from chalice.app import Chalice
    from chalice.config import Config

    from infra.local.event_runner import EventRunner
    from infra.local.first_data import CardMonth
    from infra.local.server import ApiServer
    from infra.local.tls import LocalTls

DEFAULT_PORT = 8000
DRAIN_SECONDS = 30.0
"""Maximum number of seconds to wait for requests in flight when the stack stops. API Gateway allows 29 s."""
STAGE = "local"

_FAILURE_SECONDS = 0.5
"""Maximum number of seconds between an engine's loss of connections and the end of its process."""
_SECOND = ".local/second/stack.json"
"""The suggested file for a second stack. A separate folder is necessary, because it contains the stack's data."""


class StopRequested(Exception):
    """The stack was stopped before it was ready."""


class StartFailed(Exception):
    """An error that prevents the stack from starting or running. The message is a single line for the user."""


@dataclass(frozen=True, slots=True)
class StackOptions:
    """Options for starting a stack.

    ``port`` 0 selects any free port. ``fresh`` removes existing data first. With ``tls``, the service uses https.
    """

    port: int
    engine: str
    file: Path
    quiet: bool = False
    fresh: bool = False
    tls: bool = False


class Stack:
    """A stack in this process. Call ``start``, then ``wait``, then ``stop``."""

    def __init__(self, options: StackOptions) -> None:
        self._options = options
        self._id = uuid.uuid4().hex
        self.ended = threading.Event()
        self._engines: Engines | None = None
        self._server: ApiServer | None = None
        self._runner: EventRunner | None = None
        self._card_month: CardMonth | None = None
        self._renderer: ChildProcess | None = None

    def start(self) -> dict[str, Any]:
        """Start everything. Returns the content of the stack's file.

        Raises: StartFailed, EngineFailed, StopRequested.
        """
        try:
            content = self.start_parts()
        except (StopRequested, EngineFailed):
            raise
        except Exception as error:
            engine_failure = self._engines and self._engines.failure(_FAILURE_SECONDS)
            if reason := engine_failure or explain_failure(error):
                raise StartFailed(reason) from None
            raise
        if self.ended.is_set():
            raise StopRequested
        return content

    def start_parts(self) -> dict[str, Any]:
        from infra.local.server import build_server, take_port

        check_engine(self._options.engine)
        is_for_people = _is_log_for_people(os.environ)
        self._refuse_a_second()
        try:
            taken = take_port(self._options.port)
        except OSError as error:
            raise StartFailed(explain_port(self._options.port, error)) from None
        port = taken.getsockname()[1]
        mails = self._options.file.parent / "mail"
        operator_key = secrets.token_urlsafe(24)
        os.environ |= {"STAGE": STAGE, "PORT": str(port), "MAIL_FOLDER": str(mails), "OPERATOR_KEY": operator_key}
        tls = self._set_up_tls(port)
        self._engines = engines = Engines(
            os.environ, self._options.engine, self._options.file.parent, fresh=self._options.fresh
        )
        import boto3  # noqa: F401 - if two threads begin to import it at once, one may find half of it

        laid = _run_in_thread(self._create_resources, engines)
        application, config = _load_application()
        from chalicelib.bootstrap import hub

        self._wait_for(laid)
        log = logfile.log_path(self._options.file)
        logfile.attach(log)
        if is_for_people:
            terminal_log.attach(engines.has_failed)
        content = {**self._content(port, engines), "log": str(log), "mails": str(mails), "operator_key": operator_key}
        content |= {"ca_file": str(tls.ca_file)} if tls else {}
        context, own_urls = tls.context if tls else None, hub().settings.own_urls
        self._server = build_server(application, config, taken, self._id, context, own_urls)
        threading.Thread(target=self._server.serve_forever, name="http", daemon=True).start()
        self._runner = _create_runner(application)
        self._runner.start()
        stackfile.write(self._options.file, content)
        self._play_card_month(content, engines.seed_file)
        return content

    def render_documents(self) -> None:
        """Render the content of ``/docs`` and ``/openapi`` in a separate process, unless it is up to date."""
        command = ["nice", *python_command("infra.render", "--end-with-stdin")]
        self._renderer = ChildProcess(command, folder=ROOT)

    def _report_failed_rendering(self) -> None:
        if self._renderer and self._renderer.exit_code and not rendered_files.rendering_failed.is_set():
            rendered_files.rendering_failed.set()
            print("causeway: the documents could not be rendered: `make docs` shows why.", file=sys.stderr)

    def _play_card_month(self, content: Mapping[str, Any], seed_file: Path) -> None:
        from chalicelib.bootstrap import hub
        from infra.local.first_data import CardMonth

        def report(state: dict[str, Any]) -> None:
            for file in (seed_file, self._options.file):
                stackfile.write(file, {**(stackfile.read(file) or {}), "first_data": state})

        if content["first_data"]:
            manager_id = content["programme"]["manager_id"]
            stopped = hub().sandbox_clock.advance.stopped
            self._card_month = CardMonth(hub(), manager_id, content["first_data"], report, stopped)
            self._card_month.start()

    def _set_up_tls(self, port: int) -> LocalTls | None:
        """Set up TLS for the service, if requested. Changes the environment. Raises: StartFailed."""
        if not self._options.tls:
            return None
        from infra.local import development_ca, tls

        try:
            return tls.set_up(os.environ, development_ca.folder(self._options.file), port)
        except tls.TlsFailed as error:
            raise StartFailed(str(error)) from None

    def _wait_for(self, laid: Future[None]) -> None:
        while not wait([laid], timeout=0.2).done:
            if self.ended.is_set():
                raise StopRequested
        laid.result()

    def wait(self) -> None:
        """Wait until a stop is requested. Raises: StartFailed, if an engine exits."""
        while not self.ended.wait(1):
            self._report_failed_rendering()
            if self._engines and (reason := self._engines.failure()):
                raise StartFailed(reason)

    def request_stop(self) -> None:
        """Request a stop from a signal handler or a thread. A second request exits immediately."""
        if self.ended.is_set():
            os._exit(130)
        self.ended.set()
        if not self._options.quiet:
            _say_at_once("ending…")

    def stop(self) -> None:
        """Wait for requests in flight, then stop all parts and remove the stack's file. Child processes stop last."""
        if self._card_month:
            self._card_month.stop()
        if self._renderer:
            self._renderer.stop()
        if self._runner:
            self._runner.stop()
        if self._server:
            self._close(self._server)
        if self._engines:
            self._engines.stop()
            stackfile.remove_own(self._options.file, self._id)
        if self.ended.is_set() and not self._options.quiet:
            data = self._engines.data if self._engines else None
            where = f", data kept in {stackfile.display_path(data)}/" if data else ""
            print(f"ended{where}", flush=True)

    def _close(self, server: ApiServer) -> None:
        deadline = time.monotonic() + DRAIN_SECONDS
        if not server.drain(0.5) and not self._options.quiet:
            _say_at_once(
                f"waiting for requests in flight: {server.count_in_flight()}; press Ctrl-C again to stop immediately"
            )
        server.drain(deadline - time.monotonic())
        server.shutdown()
        server.drain(max(0.0, deadline - time.monotonic()))
        server.server_close()

    def _refuse_a_second(self) -> None:
        file = self._options.file
        if other := stackfile.find_running(file):
            raise StartFailed(
                f"a stack is already running at {other.get('base_url')}, and the tour and the command line find it by "
                f"{stackfile.display_path(file)}; stop it first, or give the second one its own file: "
                f"{stackfile.VARIABLE}={_SECOND} make run PORT=8010"
            )

    @staticmethod
    def _create_resources(engines: Engines) -> None:
        from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError

        from infra import aws_errors
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
        except (StackFailed, *aws_errors.AWS_ERRORS) as error:
            raise StartFailed(f"the resources could not be created: {aws_errors.explain(error)}") from None

    def _content(self, port: int, engines: Engines) -> dict[str, Any]:
        from chalicelib.bootstrap import hub
        from infra.local import seed

        path = engines.seed_file
        seeded = seed.seed_stack(hub(), stackfile.read(path))
        stackfile.write(path, {name: seeded[name] for name in seed.REUSED})
        return {
            "id": self._id,
            "pid": os.getpid(),
            **({"data": str(engines.data)} if engines.data else {}),
            "engine": engines.kind,
            "dynamodb_engine": engines.dynamodb_engine,
            "base_url": hub().settings.public_url,
            **seeded,
            "environment": {"STAGE": STAGE, "PORT": str(port), **engines.environment()},
        }


def _run_in_thread(work: Callable[[Engines], None], engines: Engines) -> Future[None]:
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
    try:
        return terminal_log.wants_text(environ.get(terminal_log.VARIABLE, ""), is_terminal=sys.stdout.isatty())
    except ValueError as error:
        raise StartFailed(f"the environment cannot be used: {error}") from None


def _load_application() -> tuple[Chalice, Config]:
    from chalice.config import Config

    from chalicelib.foundation.settings import InvalidSetting

    try:
        from app import app
    except InvalidSetting as error:
        raise StartFailed(f"the environment cannot be used: {error}") from None
    from infra.local.template_cache import preload_pages

    preload_pages()
    on_disk = json.loads((ROOT / ".chalice" / "config.json").read_text(encoding="utf-8"))
    return app, Config(
        chalice_stage=STAGE,
        user_provided_params={"chalice_app": app, "project_dir": str(ROOT)},
        config_from_disk=on_disk,
    )


def _create_runner(application: Chalice) -> EventRunner:
    from chalicelib.bootstrap import hub
    from infra.deploy.functions import FUNCTIONS
    from infra.local.event_runner import EventRunner

    timeouts = {each.name: each.timeout for each in FUNCTIONS}
    clock, advance = hub().clock, hub().sandbox_clock.advance
    return EventRunner(
        application,
        timeouts=timeouts,
        region=os.environ["AWS_DEFAULT_REGION"],
        now=clock.real.now,
        business_now=clock.now,
        is_resting=lambda: advance.is_stopped,
    )


def _say_at_once(text: str) -> None:
    """Print a text immediately from a signal handler, which may have interrupted ``print``."""
    line = f"\n{text}\n" if sys.stdout.isatty() else f"{text}\n"
    with contextlib.suppress(OSError):
        os.write(sys.stdout.fileno(), line.encode(sys.stdout.encoding, "replace"))


def parse_options(arguments: list[str] | None) -> tuple[StackOptions, bool]:
    parser = command.parser("infra.local", __doc__)
    parser.add_argument("--port", default=os.environ.get("PORT") or str(DEFAULT_PORT), help="0 for any free one")
    parser.add_argument("--engine", default=os.environ.get("ENGINE"), help=f"one of {', '.join(ENGINES)}")
    parser.add_argument("--stack-file", type=Path, default=stackfile.location(), help="where to write the seeded data")
    parser.add_argument("--fresh", action="store_true", help="remove existing data first (FRESH=1)")
    parser.add_argument("--tls", action="store_true", help="https, with a certificate of a development CA (TLS=1)")
    parser.add_argument("--quiet", action="store_true", help="do not print credentials, only that the stack is ready")
    parser.add_argument("--end-with-stdin", action="store_true", help="stop when standard input closes")
    given = parser.parse_args(arguments)
    if not given.port.isascii() or not given.port.isdigit() or int(given.port) > 65535:
        raise StartFailed(f"PORT must be a port number, not {given.port!r}")
    file = given.stack_file.absolute()
    if file.exists() and not file.is_file():  # e.g. /dev/null, which would be replaced and later removed
        raise StartFailed(f"{file} is not a file that can be replaced")
    engine, remark = (given.engine, "") if given.engine else choose_engine(os.environ)
    if remark:
        print(f"causeway: {remark}.", file=sys.stderr)
    fresh, tls = (given.fresh or os.environ.get("FRESH") == "1"), (given.tls or os.environ.get("TLS") == "1")
    return StackOptions(int(given.port), engine, file, given.quiet, fresh, tls), given.end_with_stdin


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns its exit code."""
    started = time.monotonic()
    stack: Stack | None = None
    try:
        options, end_with_stdin = parse_options(arguments)
        stack = Stack(options)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stack.request_stop() if stack else None)
        if end_with_stdin:
            call_with_parents_end(stack.request_stop)
        content = stack.start()
        print_summary(content, options.file, time.monotonic() - started, quiet=options.quiet)
        stack.render_documents()
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
