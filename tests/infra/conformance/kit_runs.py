"""Runs the conformance kit in the test process against a small test bank. A simulated PSU approves or refuses each
consent
and payment immediately.

The kit and the bank exchange messages by function calls, except within ``connected``, which uses network connections.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import TextIO
from urllib.parse import unquote, urljoin, urlsplit

import requests

from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.http.outbound import ConnectionDropped, Outbound, Reply
from infra.conformance import bank_file, kit
from infra.conformance.bank_file import BankUnderTest
from infra.conformance.check import Check, Level, Outcome, Result
from infra.conformance.checks import checks_of
from infra.conformance.evidence import Evidence
from infra.conformance.hub import Hub
from infra.conformance.psu import PsuOutcome, Task
from infra.conformance.runner import Run
from infra.conformance.selection import select
from infra.conformance.session import Limits, Session
from tests.infra.conformance.bank_reads import SORT_CODE
from tests.infra.conformance.small_bank import (
    ACCOUNT_ID,
    API_KEY,
    CURRENCY,
    IBAN,
    KEY,
    NUMBER,
    OTHER_KEY,
    Answer,
    SmallBank,
)
from tests.kit.http import free_port, serving
from tests.kit.time import PATIENCE_SECONDS

HUB_KEY = signatures.load_private_key(signatures.generate_private_pem())
LIMITS = Limits(answer=PATIENCE_SECONDS, report=0.15, arrival=0.15)
"""The time limits of the conformance kit, in seconds. The limits for status reports and browser arrivals are short,
because the test bank responds immediately or never.
"""


class InstantPsu:
    def __init__(self, bank: SmallBank) -> None:
        self._bank = bank

    def act(self, task: Task) -> PsuOutcome:
        if task.action == "revoke":
            self._bank.fetch("POST", f"{self._bank.own}/end", {}, b"")
            return PsuOutcome("done")
        form = task.url
        if task.action == "consent":
            page = self._bank.fetch("GET", task.url, {}, b"")
            if page.status != 200:
                return PsuOutcome("failed", f"the bank's page has status {page.status}")
            form = urljoin(task.url, page.body.decode())
        ended = self._bank.fetch("POST", form, {}, b"decision=no" if task.decision == "refuse" else b"decision=yes")
        while ended.status == 303:
            ended = self._bank.fetch("GET", ended.headers["Location"], {}, b"")
        return PsuOutcome("done" if ended.status == 200 else "failed", f"status {ended.status}")


class Direct(Outbound):
    """A replacement for HTTP that passes calls of the kit to the bank, and calls of the bank and the browser to the hub
    or the bank.
    """

    hub: Hub

    def __init__(self, bank: SmallBank) -> None:
        super().__init__(public_only=False, total_seconds=LIMITS.answer)
        self._bank = bank

    def post(
        self, url: str, body: bytes, headers: Mapping[str, str], *, repeat: bool, fresh: bool = False, **_: object
    ) -> Reply:
        assert (repeat, fresh) == (False, True)
        try:
            answer = self.fetch("POST", url, headers, body)
        except Exception as error:
            raise ConnectionDropped("the bank failed") from error
        return Reply(answer.status, answer.body, answer.headers, answer.seconds)

    def fetch(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        named = {name.lower(): value for name, value in headers.items()}
        if url.startswith(f"{self._bank.own}/"):
            return self._bank.respond(method, url.removeprefix(self._bank.own), named, body)
        if not url.startswith(f"{self._bank.hub}/"):
            raise ConnectionDropped(f"nobody is at {url}")
        parts = urlsplit(url)
        answer = self.hub.handle(method, unquote(parts.path), parts.query, named, body)
        return Answer(answer.status, answer.body.encode(), {"Location": answer.location})


def fetch(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
    """Send an HTTP request without following redirects. Return the response."""
    with requests.Session() as client:
        client.trust_env = False
        answer = client.request(
            method, url, headers=headers, data=body, timeout=PATIENCE_SECONDS, allow_redirects=False
        )
    return Answer(answer.status_code, answer.content, answer.headers)


class _Server(ThreadingHTTPServer):
    request_queue_size = 64
    bank: SmallBank


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.bank.respond(self.command, self.path, headers, body)
        self.send_response(answer.status)
        for name, value in {**answer.headers, "Content-Length": str(len(answer.body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)

    do_GET = do_POST = _answer  # noqa: N815 - http.server's names

    def log_message(self, format: str, *args: object) -> None:
        """Write no log."""


@contextmanager
def running(bank: SmallBank) -> Iterator[SmallBank]:
    server = _Server(("127.0.0.1", 0), _Handler)
    server.bank = bank
    bank.fetch, bank.own = fetch, f"http://127.0.0.1:{server.server_port}"
    with serving(server):
        yield bank


def text_of(bank: SmallBank, port: int, more: str = "") -> str:
    pem = signatures.public_pem(KEY.public_key()).strip().replace("\n", "\n  ")
    return f"""\
version: {bank.version}
bic: SMALLGB2
base_url: {bank.own}
api_key: {API_KEY}
hub:
  listen: 127.0.0.1:{port}
bank_public_key: |
  {pem}
authorization_url: {bank.own}/consent
customer:
  accounts:
    - account_id: "{ACCOUNT_ID}"
      iban: {IBAN}
      account_number: "{NUMBER}"
      sort_code: "{SORT_CODE}"
      currency: {CURRENCY}
{more}"""


def file_of(bank: SmallBank) -> BankUnderTest:
    return bank_file.parse(text_of(bank, free_port()), Path())


@contextmanager
def connected(bank: SmallBank) -> Iterator[Session]:
    """Open a session of the kit with a bank over HTTP connections."""
    with running(bank):
        described = file_of(bank)
        bank.hub = described.public_url
        with kit.open_session(described, HUB_KEY, StringIO(), psu=InstantPsu(bank), limits=LIMITS) as session:
            session.other_key = OTHER_KEY  # making one takes time
            yield session


def session_with(bank: SmallBank, output: TextIO | None = None, limits: Limits = LIMITS) -> Session:
    described = file_of(bank)
    bank.hub = described.public_url
    direct = Direct(bank)
    session = kit.make_session(described, HUB_KEY, output or StringIO(), direct, InstantPsu(bank), limits)
    session.other_key = OTHER_KEY
    direct.hub, bank.fetch = session.hub, direct.fetch
    return session


def run_kit(bank: SmallBank, only: str = "") -> Run:
    return run_checks(session_with(bank), select(checks_of(bank.version), only))


def run_mandatory(bank: SmallBank, check_id: str) -> Run:
    chosen = [each for each in checks_of(bank.version) if each.level == "mandatory" or each.check_id == check_id]
    return run_checks(session_with(bank), chosen)


def run_checks(session: Session, chosen: Sequence[Check]) -> Run:
    return kit.run(session, chosen, lambda _: None)


def failed_checks(run: Run) -> dict[str, str]:
    return {each.check.check_id: each.problem for each in run.results if each.fails_run}


def result_of(run: Run, check_id: str) -> Result:
    return next(each for each in run.results if each.check.check_id == check_id)


def example_result(check_id: str, outcome: Outcome, level: Level = "mandatory", problem: str = "") -> Result:
    check = Check(check_id, "A <title>", "Specification, 1", level, "Something & more", lambda _: Evidence())
    return Result(check, outcome, 0.0123, "POST /accounts", '{"a": "\x00é"}', problem)


EXAMPLE_RUN = Run(
    "SMALLGB2",
    2,
    "http://127.0.0.1:1",
    "2026-11-25T10:00:00+00:00",
    1.5,
    (
        example_result("a.one", "passed"),
        example_result("a.two", "failed", problem="it is <wrong>"),
        example_result("b.one", "failed", "advice", "it could be better"),
        example_result("b.two", "skipped", problem="not offered"),
    ),
)


def named_checks(reason: str) -> list[str]:
    return [name for part in re.findall(r"\bsee (.+)", reason) for name in re.split(r", | and ", part)]


def dead_ends(run: Run, known: set[str]) -> list[tuple[str, str]]:
    """Return the skipped checks with a reason that names an unknown check or a check that passed."""
    outcomes = {each.check.check_id: each.outcome for each in run.results}
    return [
        (each.check.check_id, each.problem)
        for each in run.results
        if each.outcome == "skipped"
        and any(name not in known or outcomes.get(name) == "passed" for name in named_checks(each.problem))
    ]
