"""One document's run: operation by operation, generated requests of both kinds, and every answer checked."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from requests.auth import AuthBase
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.result import Ok

from tests.fuzzing.parties import BankCredentials, Nobody, Parties, TppCredentials
from tests.patience import PATIENCE_SECONDS

CHECKED = (
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
_REFUSES_WRONG_DATA = "negative_data_rejection"
_LENIENT = ("/oauth/authorize",)  # what is wrong with a browser's request is told by redirecting it
_FORM = "application/x-www-form-urlencoded"  # its members without a value count as absent
_BANK_REFUSED = "ASPSP_UNKNOWN_ERROR"
_VERSION_1 = ("receiver_", "sender_iban", "record_count", "current_page")
_VERSION_2 = ("instructed_totals", "debtor_", "creditor_", "booking_status")
_SLEEPS = "TEST-"  # references that demonstration banks answer slowly, or not at all


@dataclass
class Outcome:
    """What became of an operation: answers by status, and the first failure of each kind with its request."""

    operation: str
    statuses: Counter[int] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    def __str__(self) -> str:
        counts = " ".join(f"{status}:{count}" for status, count in sorted(self.statuses.items()))
        state = "FAILED" if self.failures else "ok"
        return f"{state:6} {self.operation:44} {self.statuses.total():5} in {self.seconds:5.1f} s   {counts}"


def run(parties: Parties, name: str, examples: int, number: int, part: tuple[int, int] = (0, 1)) -> list[Outcome]:
    """Run a document's operations; of several ``part``s (index, count) each takes its own.

    Args:
        examples: requests per operation, at least.
        number: the seed of what is generated.
    """
    load_all_checks()
    schema = schemathesis.openapi.from_dict(parties.document(name))
    index, count = part
    with requests.Session() as session:
        session.trust_env = False
        operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
        outcomes = []
        for operation in operations[index::count]:
            outcomes.append(_Trial(parties, name, operation, session).run(examples, number))
            print(outcomes[-1], flush=True)
        return outcomes


class _Trial:
    """One operation's examples."""

    def __init__(self, parties: Parties, name: str, operation: Any, session: requests.Session) -> None:
        self._parties = parties
        self._operation = operation
        self._session = session
        self._checks = [CHECKS.get_one(check) for check in CHECKED]
        self._refuses = [] if operation.path in _LENIENT else [CHECKS.get_one(_REFUSES_WRONG_DATA)]
        self._bank = BankCredentials(parties, int(name[-1])) if name != "tpp" else None
        self._outcome = Outcome(f"{operation.method.upper()} {operation.path}")

    def run(self, examples: int, number: int) -> Outcome:
        started = time.monotonic()
        for body in self._documented():
            self._generate(GenerationMode.POSITIVE, 1, number, body=body, media_type="application/json")
        for mode, share in ((GenerationMode.POSITIVE, examples * 2 // 3), (GenerationMode.NEGATIVE, examples // 3)):
            self._generate(mode, share, number)
        missing = examples - self._outcome.statuses.total()
        if missing > 0:
            self._generate(GenerationMode.POSITIVE, missing, number + 1)
        if self._outcome.statuses.total() < examples:
            self._outcome.failures["too few"] = f"only {self._outcome.statuses.total()} different requests were made"
        self._outcome.seconds = time.monotonic() - started
        return self._outcome

    def _documented(self) -> list[Any]:
        """The documents' own examples of the body; what stands there is real, so they succeed."""
        content = self._operation.definition.raw.get("requestBody", {}).get("content", {}).get("application/json", {})
        return [example["value"] for example in content.get("examples", {}).values()]

    def _generate(self, mode: GenerationMode, count: int, number: int, **fixed: Any) -> None:
        strategy = self._operation.as_strategy(generation_mode=mode, **fixed)

        @seed(number)
        @settings(
            max_examples=count,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=strategy)
        def trial(case: Any) -> None:
            self._call(case)

        try:
            trial()
        except (Unsatisfiable, schemathesis.core.control.SkipTest):
            return  # there is nothing that could be wrong with a request without members

    def _call(self, case: Any) -> None:
        if _SLEEPS in repr(case.body).upper():
            return
        keeps_own = any(
            component.mode.is_negative
            for place, component in case.meta.components.items()
            if str(place.value) == "header"
        )
        credentials = Nobody() if keeps_own else self._credentials(case)
        try:
            response = case.call(
                base_url=self._parties.base,
                session=self._session,
                auth=credentials,
                timeout=PATIENCE_SECONDS,
                allow_redirects=False,
            )
        except (requests.exceptions.InvalidHeader, UnicodeError):
            return  # not a request that HTTP can carry
        self._outcome.statuses[response.status_code] += 1
        if response.status_code >= 500 and not _is_the_banks(response):
            self._fail("a server error", case, response)
        try:
            checks = self._checks + ([] if case.media_type == _FORM else self._refuses)
            case.validate_response(response, checks=checks)
        except BaseExceptionGroup as group:
            for failure in group.exceptions:
                self._fail(f"{type(failure).__name__}: {failure}", case, response)

    def _credentials(self, case: Any) -> AuthBase:
        """The bank's; or the TPP's, with the bearer that fits the request, and now and then without one."""
        if self._bank is not None:
            return self._bank
        number = self._outcome.statuses.total()
        asked = f"{case.query} {case.body}"
        marks = (*_VERSION_2, self._parties.at_banks[2].account_id)
        version = 1 + number % 2
        if any(mark in asked for mark in _VERSION_1):
            version = 1
        if any(mark in asked for mark in marks):
            version = 2
        security = self._operation.definition.raw.get("security", [])
        return TppCredentials(self._parties, version, security, with_bearer=number % 10 != 9)

    def _fail(self, what: str, case: Any, response: Any) -> None:
        request = response.request
        key = f"{response.status_code} {what.splitlines()[0][:100]}"
        shown = f"{what}\n  {request.method} {request.url}\n  headers {dict(request.headers)}\n  body {request.body!r}"
        self._outcome.failures.setdefault(key, f"{shown}\n  answer {response.status_code} {response.text[:2000]}")


def _is_the_banks(response: Any) -> bool:
    """Whether this 502 is the documented answer for a bank that refuses."""
    return bool(response.status_code == 502 and f'"{_BANK_REFUSED}"' in response.text)
