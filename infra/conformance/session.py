"""One run against a bank. Checks share steps, and each step runs once, on first use.

If a step fails, the check of this step fails, and other checks that depend on the step raise ``CheckSkipped``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.http.outbound import TOTAL_SECONDS
from chalicelib.foundation.identifiers import new_id
from chalicelib.openbanking.protocol.payment_enumerations import is_confirmation_url
from chalicelib.openbanking.protocol.tpp_calls import ConsentType
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import PAYMENT_SERVICE, Webhook
from infra.conformance import answers, causes, requests
from infra.conformance.bank_file import AccountPart, BankUnderTest
from infra.conformance.caller import Call, Caller
from infra.conformance.evidence import CheckBlocked, CheckSkipped, CheckUnplayed
from infra.conformance.hub import CALLBACK, ORDER, Hub
from infra.conformance.hub_state import Authorization, ReceivedCall, StatusReport
from infra.conformance.psu import Psu, PsuOutcome, Task
from infra.conformance.requests import Members, Order
from infra.conformance.subjects import Subject, subjects

ConsentName = Literal["main", "refused", "ended", "narrow", "one-time"]
"""The consents of a run: the main consent for most checks, a consent that the PSU refuses, a consent that the kit ends,
a consent with a single scope, and a one-time consent for payments.
"""
Decision = Literal["confirm", "refuse"]
DECIDED: Mapping[Decision, str] = {"confirm": "confirmed", "refuse": "refused"}
"""The prefix of the names of payment checks, by the PSU's decision."""
QUIET_SECONDS = 1.0
"""Number of seconds after which the kit prints a message that it is waiting."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """Time limits in seconds: a bank's response, a status report, and the browser's return after the PSU's action."""

    answer: float = TOTAL_SECONDS
    report: float = 30.0
    arrival: float = 5.0


@dataclass(frozen=True, slots=True)
class Attempt:
    """An authorization attempt: its state at the simulated hub, and the outcome of the PSU's task."""

    authorization: Authorization
    outcome: PsuOutcome
    decision: str


@dataclass(frozen=True, slots=True)
class PlayedPayment:
    """A payment that was initiated, and on which the PSU has decided.

    Attributes:
        returned: the query with which the browser returned; ``None`` if the browser did not return.
        report_check: the id of the check that fails if no status is reported.
    """

    call: Call
    payment_id: str
    order_id: str
    decision: Decision
    outcome: PsuOutcome
    returned: Mapping[str, str] | None
    report_check: str


class Session:
    """The state of a run."""

    def __init__(
        self,
        bank: BankUnderTest,
        hub: Hub,
        caller: Caller,
        psu: Psu,
        limits: Limits,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.bank = bank
        self.version: Version = bank.version
        self.hub = hub
        self.caller = caller
        self.psu = psu
        self.limits = limits
        self._say = say
        self._attempts: dict[str, Attempt] = {}
        self._taken: dict[Any, Any] = {}
        self._waited: set[Any] = set()
        self._unreported: list[PlayedPayment] = []
        """The payments for which the bank has reported no status. The kit waits the full time limit only for the first
        one.
        """

    @property
    def account(self) -> AccountPart:
        return self.bank.accounts[0]

    @cached_property
    def other_key(self) -> RSAPrivateKey:
        """Create a key pair that differs from the hub's key pair."""
        return signatures.load_private_key(signatures.generate_private_pem(), own=True)

    def once(self, key: object, step: Callable[[], T]) -> T:
        """Run ``step`` once and return its result. If the step failed, later calls fail with the same reason."""
        if key not in self._taken:
            try:
                self._taken[key] = step()
            except CheckSkipped as reason:
                self._taken[key] = reason
        found = self._taken[key]
        if isinstance(found, CheckSkipped):
            raise type(found)(str(found))
        result: T = found
        return result

    # -- consents

    def scopes_of(self, name: ConsentName) -> tuple[str, ...]:
        """Return the scopes to request. Raises: CheckSkipped."""
        scopes, known = self.bank.scopes, self.version.scopes
        if name == "one-time":
            scopes = tuple(each for each in scopes if known[each].service == PAYMENT_SERVICE)
            if not scopes:
                raise CheckSkipped("customer.scopes has no scope for payments")
        if name == "narrow":
            if len(scopes) == 1:
                raise CheckSkipped("customer.scopes has a single scope")
            scopes = scopes[:1]
        return scopes

    def attempt(self, name: ConsentName) -> Attempt:
        """Return the authorization attempt ``name``, which runs only once. Raises: CheckSkipped, if the PSU's task is
        unsupported.
        """
        if name not in self._attempts:
            kind: ConsentType = "one_time" if name == "one-time" else "reusable"
            authorization = self.hub.open_authorization(self.scopes_of(name), kind)
            decision = "refuse" if name == "refused" else "approve"
            is_done = _is_answered(authorization)
            task = Task("consent", authorization.request.request_url, decision, is_done)
            outcome = self.psu.act(task)
            if outcome.state == "done":
                self.hub.wait_for(is_done, self.limits.arrival)
            self._attempts[name] = Attempt(authorization, outcome, decision)
        found = self._attempts[name]
        if found.outcome.state == "unsupported":
            raise CheckUnplayed(f"the PSU's part was not played: {found.outcome.text}")
        return found

    def token(self, name: ConsentName = "main") -> str:
        """Return the access token of a consent. Raises: CheckSkipped: there is no token."""
        token = self.attempt(name).authorization.token
        if not token:
            raise CheckBlocked(self.no_consent(name))
        if token in self.hub.revoked and name == "main":
            del self._attempts[name]
            return self.token(name)
        return token

    def no_consent(self, name: ConsentName) -> str:
        """Explain why the consent ``name`` does not exist."""
        found = self.attempt(name)
        authorization = found.authorization
        if name != "main" and self._attempts.get("main") and self.attempt("main").authorization.token:
            said = found.outcome.text.splitlines()[0] if found.outcome.text else "the bank did not save it"
            return f"another consent, to {', '.join(authorization.request.scopes)}, was not given: {said}"
        return causes.no_consent(authorization, self.hub.calls)

    def ended_token(self) -> str:
        """Return a token whose revocation the bank has acknowledged. Raises: CheckSkipped."""
        return self.once("ended", self._end_token)

    def _end_token(self) -> str:
        subject = subjects(self)["revoke_token"]
        call = self.good(subject)
        if call.reply is None or answers.read(self.version, subject.webhook, call.members, call.reply).faults:
            raise CheckBlocked("the bank has not acknowledged the end of a consent: see revoke_token.answer-form")
        self.hub.ended.add(self.token("ended"))
        return self.token("ended")

    def end_at_bank(self) -> tuple[str, ReceivedCall | None, PsuOutcome]:
        """Have the PSU end the consent at the bank. Return the token, the bank's call, and the PSU's outcome.

        Raises:
            CheckSkipped.
        """
        return self.once("end at bank", self._end_at_bank)

    def _end_at_bank(self) -> tuple[str, ReceivedCall | None, PsuOutcome]:
        token = self.token()
        self.end_consents(token)
        outcome = self.psu.act(Task("revoke", "", "", lambda: token in self.hub.revoked))
        if outcome.state == "unsupported":
            raise CheckUnplayed(f"the PSU's part was not played: {outcome.text}")
        if outcome.state == "done":
            self._wait(lambda: token in self.hub.revoked, "the bank to call token/revoke")
        return token, self.hub.revoked.get(token), outcome

    def end_consents(self, *exceptions: str) -> None:
        """End the active consents of this run, except ``exceptions``."""
        for token in list(self.hub.tokens):
            if token not in (*exceptions, *self.hub.ended, *self.hub.revoked):
                self.hub.ended.add(token)
                self.caller.send(self.version.revoke_token, {"access_token": token}, token=token)

    # -- webhooks

    def require_offered(self, webhook: Webhook) -> None:
        """Require that the bank offers a webhook. Raises: CheckSkipped: the file excludes the webhook or its scope."""
        if webhook.path in self.bank.not_offered:
            raise CheckSkipped(f"not_offered has {webhook.path}")
        if webhook.scope is not None and webhook.scope.name not in self.bank.scopes:
            raise CheckSkipped(f"customer.scopes does not have {webhook.scope}")

    def request(self, subject: Subject) -> Members:
        """Return the valid request. Raises: CheckSkipped: the request cannot be built."""
        self.require_offered(subject.webhook)
        members = subject.request(self)
        try:
            subject.webhook.request.read(members)
        except InvalidMessage as error:
            raise CheckSkipped(f"the file does not have what {subject.webhook.path} needs: {error}") from None
        return members

    def token_for(self, subject: Subject) -> str | None:
        """Return the token that the hub sends with a webhook. Raises: CheckSkipped."""
        if subject.role == "revocation":
            return self.token("ended")
        kind_sends = subject.kind is None or self.version.payments[subject.kind].sends_token
        return self.token() if subject.webhook.sends_token and kind_sends else None

    def send(self, subject: Subject, members: Mapping[str, Any] | None = None, **variation: Any) -> Call:
        """Send a webhook. By default, send the valid request with its token (see ``Caller.send`` for variations).

        Raises:
            CheckSkipped: the request cannot be built, or the bank no longer responds to this webhook.
        """
        request = self.request(subject) if members is None else dict(members)
        self.require_offered(subject.webhook)
        token = variation.pop("token") if "token" in variation else self.token_for(subject)
        if subject.webhook.path in self.caller.paused:
            raise CheckBlocked(f"the bank has stopped answering {subject.webhook.path}: see {subject.name}.answer-time")
        return self.caller.send(subject.webhook, request, token=token, **variation)

    def good(self, subject: Subject) -> Call:
        """Send the valid request of a subject once, and return the call. Raises: CheckSkipped."""
        return self.once(("good", subject.name), lambda: self.send(subject))

    def good_answer(self, subject: Subject) -> Mapping[str, Any]:
        """Return the members of the response to the valid request. Raises: CheckSkipped: the response is unusable."""
        call = self.good(subject)
        return self.read(subject, call)

    def read(self, subject: Subject, call: Call) -> Mapping[str, Any]:
        """Return the members of a success response. Raises: CheckSkipped: there is no success response."""
        reading = answers.read(self.version, subject.webhook, call.members, call.reply) if call.reply else None
        if reading is None or reading.faults:
            raise CheckBlocked(f"there is no usable response: see {subject.name}.answer-form")
        return reading.members

    # -- payments

    def order(self, *amounts: str) -> tuple[str, Order]:
        """Create an order. Return its id, and the order with a ``callback_url`` that contains the id."""
        order_id = new_id()
        return order_id, Order(amounts, f"{self.bank.public_url}{CALLBACK}?{ORDER}={order_id}")

    def played(self, subject: Subject, decision: Decision) -> PlayedPayment:
        """Return a payment that the PSU confirmed or refused. The payment is initiated only once. Raises:
        CheckSkipped.
        """
        return self.once(("played", subject.name, decision), lambda: self._play(subject, decision))

    def _play(self, subject: Subject, decision: Decision) -> PlayedPayment:
        amount = self.bank.payment.amount
        order_id, order = self.order(*([amount] * (2 if subject.kind == "bulk" else 1)))
        self.require_offered(subject.webhook)
        assert subject.kind is not None
        call = self.send(subject, requests.payment_request(self.bank, subject.kind, order))
        answer = self.read(subject, call)
        return self.decide(call, answer, order_id, decision, f"{subject.name}.{DECIDED[decision]}-report")

    def decide(
        self, call: Call, answer: Mapping[str, Any], order_id: str, decision: Decision, report_check: str
    ) -> PlayedPayment:
        """Have the PSU decide on a payment. Raises: CheckSkipped."""
        group = report_check.partition(".")[0]
        url = str(answer["confirmation_url"])
        if not self.is_page(url):
            raise CheckBlocked(f"the confirmation_url cannot be opened: see {group}.confirmation-url")

        def is_done() -> bool:
            return bool(self.hub.returns.get(order_id))

        outcome = self.psu.act(Task("payment", url, decision, is_done))
        if outcome.state == "unsupported":
            raise CheckUnplayed(f"the PSU's part was not played: {outcome.text}")
        if outcome.state == "done":
            self.hub.wait_for(is_done, self.limits.arrival)
        returned = next(iter(self.hub.returns.get(order_id, ())), None)
        return PlayedPayment(call, str(answer["payment_id"]), order_id, decision, outcome, returned, report_check)

    def is_page(self, url: object) -> bool:
        """Return whether the hub would redirect a PSU's browser to ``url``. Only banks with http addresses may use
        http.
        """
        return is_confirmation_url(url, local=self.bank.base_url.startswith("http:"))

    def reports(self, payment: PlayedPayment, is_awaited: Callable[[Any], bool] = bool) -> list[StatusReport]:
        """Return the status reports of a payment. Wait once for a status that ``is_awaited`` accepts.

        Raises:
            CheckBlocked: the bank's report was refused, or the kit does not wait because an earlier report is missing.
        """
        self.await_report(payment, is_awaited)
        found = self.hub.reports_of(payment.payment_id)
        if found:
            return found
        if refused := self.refused_report(payment):
            raise CheckBlocked(causes.refused(refused))
        if self._unreported and payment is not self._unreported[0]:
            first = self._unreported[0].report_check
            raise CheckBlocked(
                f"no report came, and after the first that is missing the kit waits no more: see {first}"
            )
        return []

    def await_report(self, payment: PlayedPayment, is_awaited: Callable[[Any], bool] = bool) -> None:
        """Wait once for the report of a status. After a report was missing, the wait for other payments is short."""

        def has_come() -> bool:
            if self.refused_report(payment):
                return True
            return any(is_awaited(str(each.status)) for each in self.hub.reports.get(payment.payment_id, ()))

        waited = (payment.payment_id, is_awaited)
        if waited in self._waited or payment in self._unreported:
            return
        self._waited.add(waited)
        self._wait(has_come, f"the report of {payment.report_check}", self._patience())
        if not self.hub.reports_of(payment.payment_id) and not self.refused_report(payment):
            self._unreported.append(payment)

    def _patience(self) -> float:
        """Return the number of seconds to wait for a report. The time is short after a missing report, and 0 if the
        bank has sent no report.
        """
        if not self._unreported:
            return self.limits.report
        return self.limits.arrival if any(call.name == "report_status" for call in self.hub.calls) else 0.0

    def refused_report(self, payment: PlayedPayment) -> ReceivedCall | None:
        """Return the last report of a payment if the kit refused all reports of the payment."""
        if self.hub.reports_of(payment.payment_id):
            return None
        named = payment.payment_id.encode()
        made = [each for each in list(self.hub.calls) if each.name == "report_status" and named in each.body]
        return made[-1] if made and made[-1].refusal is not None else None

    def _wait(self, condition: Callable[[], bool], what: str, seconds: float | None = None) -> None:
        limit = self.limits.report if seconds is None else seconds
        quiet = min(limit, QUIET_SECONDS)
        if not self.hub.wait_for(condition, quiet) and limit > quiet:
            self._say(f"waiting up to {limit:g} s for {what}")
            self.hub.wait_for(condition, limit - quiet)


def _is_answered(authorization: Authorization) -> Callable[[], bool]:
    return lambda: bool(authorization.arrivals)
