"""Send requests that Schemathesis generates from every OpenAPI document to a stack, and check the responses."""

import argparse
import os
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from requests.auth import AuthBase
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.result import Ok

from chalicelib.website.openapi_documents import DOCUMENTS
from infra import command
from infra.local import stackfile
from infra.local.background import run_stack
from tests.fuzzing.openapi_callers import BankCredentials, Callers, NoCredentials, TppCredentials, prepare_callers
from tests.kit.time import PATIENCE_SECONDS

_PARTS = {"tpp": 3, "bank-v1": 1, "bank-v2": 1}
_PROCESSES = 2
_LOG = Path("build") / "fuzzing.log"
_CHECKS = (
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
_REJECTION_CHECK = "negative_data_rejection"
_REDIRECTING = ("/oauth/authorize",)  # errors in a browser's request are returned by a redirect
_FORM = "application/x-www-form-urlencoded"  # its members without a value count as absent
_BANK_REFUSED = "ASPSP_UNKNOWN_ERROR"
_VERSION_1 = ("receiver_", "sender_iban", "record_count", "current_page")
_VERSION_2 = ("instructed_totals", "debtor_", "creditor_", "booking_status")
_SLOW_REFERENCE = "TEST-"  # demonstration banks answer such references slowly, or not at all


def main(arguments: list[str] | None = None) -> int:
    parser = command.parser("tests.fuzzing.openapi", __doc__)
    parser.add_argument("--examples", type=int, default=300, help="requests per operation")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="what the requests are generated from")
    parser.add_argument("--document", choices=DOCUMENTS, action="append", help="only this one")
    options = parser.parse_args(arguments)
    print(f"{options.examples} requests per operation, --seed {options.seed}", flush=True)
    started = time.monotonic()
    _LOG.parent.mkdir(exist_ok=True)
    with _LOG.open("wb") as log, run_stack(output=log) as stack:
        stackfile.point_at_stack(os.environ, stack["environment"])
        outcomes = _run_documents(prepare_callers(stack), options)
    failed = [outcome for outcome in outcomes if outcome.failures]
    for outcome in failed:
        for failure in outcome.failures.values():
            print(f"\n{outcome.operation}\n  {failure}")
    total = sum(outcome.statuses.total() for outcome in outcomes)
    print(f"\n{total} requests in {time.monotonic() - started:.0f} s, {len(failed)} operations failed")
    print(f"The service's log is in {_LOG}")
    return 1 if failed else 0


@dataclass
class Outcome:
    operation: str
    statuses: Counter[int] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    def __str__(self) -> str:
        counts = " ".join(f"{status}:{count}" for status, count in sorted(self.statuses.items()))
        state = "FAILED" if self.failures else "ok"
        return f"{state:6} {self.operation:44} {self.statuses.total():5} in {self.seconds:5.1f} s   {counts}"

    def add_failure(self, reason: str, response: Any) -> None:
        request = response.request
        lines = [
            reason,
            f"{request.method} {request.url}",
            f"headers {dict(request.headers)}",
            f"body {request.body!r}",
        ]
        lines.append(f"answer {response.status_code} {response.text[:2000]}")
        self.failures.setdefault(f"{response.status_code} {reason.splitlines()[0][:100]}", "\n  ".join(lines))


def _run_documents(callers: Callers, options: argparse.Namespace) -> list[Outcome]:
    names = [name for name in _PARTS if name in (options.document or DOCUMENTS)]
    with ProcessPoolExecutor(_PROCESSES, mp_context=get_context("spawn")) as pool:
        tasks = [
            pool.submit(run_operations, callers, name, options.examples, options.seed, part)
            for name in names
            for part in range(_PARTS[name])
        ]
        return [outcome for task in tasks for outcome in task.result()]


def run_operations(callers: Callers, name: str, examples: int, number: int, part: int) -> list[Outcome]:
    """Send requests to some operations of a document.

    Args:
        examples: the minimum number of requests per operation.
        number: the seed of the generated requests.
    """
    load_all_checks()
    schema = schemathesis.openapi.from_dict(callers.document(name))
    operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    outcomes = []
    with requests.Session() as session:
        session.trust_env = False
        for operation in operations[part :: _PARTS[name]]:
            outcomes.append(_Trial(callers, name, operation, session).run(examples, number))
            print(outcomes[-1], flush=True)
    return outcomes


class _Trial:
    def __init__(self, callers: Callers, name: str, operation: Any, session: requests.Session) -> None:
        self._callers = callers
        self._operation = operation
        self._session = session
        self._checks = [CHECKS.get_one(check) for check in _CHECKS]
        self._rejection = [] if operation.path in _REDIRECTING else [CHECKS.get_one(_REJECTION_CHECK)]
        self._bank = None if name == "tpp" else BankCredentials(callers.banks[int(name[-1])])
        self._outcome = Outcome(f"{operation.method.upper()} {operation.path}")

    def run(self, examples: int, number: int) -> Outcome:
        started, statuses = time.monotonic(), self._outcome.statuses
        for body in self._documented_bodies():
            self._generate(GenerationMode.POSITIVE, 1, number, body=body, media_type="application/json")
        self._generate(GenerationMode.POSITIVE, examples * 2 // 3, number)
        self._generate(GenerationMode.NEGATIVE, examples // 3, number)
        if statuses.total() < examples:
            self._generate(GenerationMode.POSITIVE, examples - statuses.total(), number + 1)
        if statuses.total() < examples:
            self._outcome.failures["too few"] = f"only {statuses.total()} different requests were sent"
        self._outcome.seconds = time.monotonic() - started
        return self._outcome

    def _documented_bodies(self) -> Sequence[Any]:
        """Return the request body examples of the document. They contain ids of the stack, so that requests succeed."""
        content = self._operation.definition.raw.get("requestBody", {}).get("content", {}).get("application/json", {})
        return [example["value"] for example in content.get("examples", {}).values()]

    def _generate(self, mode: GenerationMode, count: int, number: int, **fixed: Any) -> None:
        @seed(number)
        @settings(
            max_examples=count,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=self._operation.as_strategy(generation_mode=mode, **fixed))
        def trial(case: Any) -> None:
            self._call(case)

        try:
            trial()
        except (Unsatisfiable, schemathesis.core.control.SkipTest):
            return  # a request without members cannot be invalid

    def _call(self, case: Any) -> None:
        if _SLOW_REFERENCE in repr(case.body).upper():
            return
        try:
            response = case.call(
                base_url=self._callers.base_url,
                session=self._session,
                auth=self._credentials(case),
                timeout=PATIENCE_SECONDS,
                allow_redirects=False,
            )
        except (requests.exceptions.InvalidHeader, UnicodeError):
            return  # HTTP cannot carry such a request
        self._outcome.statuses[response.status_code] += 1
        if response.status_code >= 500 and not _is_refused_by_bank(response):
            self._outcome.add_failure("a server error", response)
        try:
            case.validate_response(
                response, checks=self._checks + ([] if case.media_type == _FORM else self._rejection)
            )
        except BaseExceptionGroup as group:
            for failure in group.exceptions:
                self._outcome.add_failure(f"{type(failure).__name__}: {failure}", response)

    def _credentials(self, case: Any) -> AuthBase:
        """Return the credentials of the bank or of the TPP, or no credentials for a request with invalid headers.

        Every tenth TPP request has no bearer token. The bearer token is for the bank with the protocol version that has
        the request's members.
        """
        parts = case.meta.components.items()
        if any(str(place.value) == "header" and part.mode.is_negative for place, part in parts):
            return NoCredentials()
        if self._bank is not None:
            return self._bank
        number, members = self._outcome.statuses.total(), f"{case.query} {case.body}"
        version = 1 + number % 2
        for each, marks in (1, _VERSION_1), (2, _VERSION_2):
            if any(mark in members for mark in (*marks, self._callers.banks[each].account_id)):
                version = each
        security = self._operation.definition.raw.get("security", [])
        return TppCredentials(self._callers, version, security, with_bearer=number % 10 != 9)


def _is_refused_by_bank(response: Any) -> bool:
    """Return whether a 502 response is the documented response to a rejection by the bank."""
    return bool(response.status_code == 502 and f'"{_BANK_REFUSED}"' in response.text)


if __name__ == "__main__":
    command.run(main)
