"""The bank client signs and sends webhooks and parses the responses (specification, Events).

A circuit breaker pauses calls to a bank that repeatedly fails. Only a few calls may wait for a slow bank at a time.
Responses are parsed in ``bank_answers``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from chalicelib.foundation import context, jsontext, log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.keyring import Keyring
from chalicelib.foundation.crypto.signatures import sign
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.http.outbound import TOTAL_SECONDS, GivenUp, NotReached, Outbound, OutboundError, Reply
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.metrics import Metrics
from chalicelib.openbanking.bank_client.bank_answers import AnswerReader, read_answer
from chalicelib.openbanking.bank_client.bank_circuits import BankCircuits, limit_slow_call
from chalicelib.openbanking.bank_client.bank_failures import SERVER_ERROR, TOO_MANY_REQUESTS, BankFailed, CircuitOpen
from chalicelib.openbanking.protocol.psu_context import UNATTENDED, PsuContext
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import Webhook
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.banks import Banks
from chalicelib.statistics import current_call
from chalicelib.statistics.call_counts import Outcome
from chalicelib.statistics.downtimes import OpenDowntimes
from chalicelib.statistics.slow_calls import SlowCalls

_TEXT = 510
_NO_TIME = "the service had no time left to wait for the bank"
LONGEST_WAIT = 86_400
"""The maximum number of seconds that a bank's ``Retry-After`` can request, which is one day."""


@dataclass(frozen=True, slots=True)
class BankAnswer:
    """A bank's success response: its members, the response time in seconds, and the HTTP status."""

    body: Mapping[str, Any]
    seconds: float
    status: int = 200


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A signed request to the bank ``bic``, ready to send. ``path`` is the webhook's path."""

    bic: str
    path: str
    url: str
    body: bytes
    headers: Mapping[str, str] = field(repr=False)


class BankClient:
    """Sends webhooks to banks. ``breaker`` records which banks respond to this instance."""

    def __init__(
        self,
        banks: Banks,
        keyring: Keyring,
        outbound: Outbound,
        slow_calls: SlowCalls,
        open_downtimes: OpenDowntimes,
        store: Store,
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        self.banks, self.keyring, self.outbound, self.slow_calls = banks, keyring, outbound, slow_calls
        self.breaker = BankCircuits(store, clock, open_downtimes)
        self.clock, self.metrics = clock, metrics

    def call(
        self,
        bank: Bank,
        version: Version,
        webhook: Webhook,
        request: Mapping[str, Any],
        *,
        request_id: str,
        token: str | None,
        psu: PsuContext = UNATTENDED,
    ) -> BankAnswer:
        """Send ``webhook``, and validate and normalise the response.

        ``version`` is the consent's version. An upgraded bank still responds to old consents in their version.

        Raises:
            BankFailed: for any failure.
        """
        token = token if webhook.sends_token else None
        outgoing = self.prepare(bank, webhook.path, request, request_id=request_id, token=token, psu=psu)
        return self.call_prepared(outgoing, version, webhook, request)

    def call_prepared(
        self,
        outgoing: PreparedRequest,
        version: Version,
        webhook: Webhook,
        request: Mapping[str, Any],
        *,
        reader: AnswerReader = read_answer,
        once: bool = False,
    ) -> BankAnswer:
        """Send a prepared request like ``call``. ``reader`` reads the response. Raises: BankFailed."""
        reply = self._send_and_record(outgoing, webhook, once=once)
        try:
            return BankAnswer(reader(version, webhook, request, reply), reply.seconds, reply.status)
        except BankFailed as error:
            failure = self.redact_secrets(error, outgoing)
        failure.bank_seconds = reply.seconds
        failure.status = reply.status
        failure.retry_after = self._retry_after(reply)
        current_call.record_failure(failure.responsible)
        raise failure

    def _send_and_record(self, outgoing: PreparedRequest, webhook: Webhook, *, once: bool) -> Reply:
        """Send a request and record its outcome. An oversized response counts as a response. Raises: BankFailed."""
        at, started = self.clock.time(), self.clock.monotonic()
        bic, service = outgoing.bic, webhook.service
        try:
            reply = self.send(outgoing, once=once)
        except BankFailed as failure:
            outcome = _outcome_of(failure)
            current_call.record_bank_request(bic, service, at, outcome, self.clock.monotonic() - started)
            if outcome != "not_asked":
                current_call.record_failure("bank")
            raise
        current_call.record_bank_request(bic, service, at, "answered", self.clock.monotonic() - started)
        return reply

    def _retry_after(self, reply: Reply) -> int | None:
        """Return the seconds in ``Retry-After``, if a rate-limiting or failing bank sends it."""
        if reply.status != TOO_MANY_REQUESTS and reply.status < SERVER_ERROR:
            return None
        seconds = reply.retry_after(self.clock.real.time())
        return None if seconds is None else min(seconds, LONGEST_WAIT)

    def redact_secrets(self, failure: BankFailed, outgoing: PreparedRequest) -> BankFailed:
        """Mask the request's token and API key in the detail of a failure, then truncate the detail.

        Masking comes first, because a truncated secret would not be recognised.
        """
        text, token = failure.detail, outgoing.headers.get("X-Auth-Token")
        for key in (token, outgoing.headers["X-Api-Key"]):
            for secret in (key, key.split(".")[-1]) if key else ():
                text = text.replace(secret, "***")
        return failure.with_detail(text[:_TEXT], authorize_again=failure.authorize_again and token is not None)

    def prepare(
        self,
        bank: Bank,
        path: str,
        request: Mapping[str, Any],
        *,
        request_id: str,
        token: str | None,
        psu: PsuContext = UNATTENDED,
    ) -> PreparedRequest:
        """Build a signed request. Every step that can fail before sending is part of this method."""
        body = jsontext.dumps(request).encode()
        headers = {
            "Content-Type": "application/json",
            "X-Api-Key": self.banks.outbound_key(bank),
            "X-Request-Id": request_id,
            "X-Signature": sign(self.keyring.signing_key(), body),
        }
        headers |= {"X-Auth-Token": token} if token else {}
        headers |= psu.headers
        return PreparedRequest(bank.bic, path, f"{bank.domain}{path}", body, headers)

    def require_closed(self, bank: Bank, webhook: Webhook) -> None:
        """Check that calls to the bank are not paused, before any claim is made. Raises: BankFailed."""
        try:
            self.breaker.require_closed(bank.bic)
        except CircuitOpen as error:
            current_call.record_bank_request(bank.bic, webhook.service, self.clock.time(), "not_asked", 0)
            raise BankFailed.of_open_circuit(error) from None

    def send(self, outgoing: PreparedRequest, *, once: bool = False) -> Reply:
        """Post a prepared request. Retry once if the connection is refused or dropped.

        If ``once`` is true, as for payments, use a new connection, and never retry or stop before the time limit. If
        less time than the limit is left, do not send the request.

        Raises:
            BankFailed: no complete response was received, or calls to the bank are paused.
        """
        if once and context.seconds_left() < TOTAL_SECONDS:
            raise BankFailed(_NO_TIME, "never", retry_after=1, not_asked=True)
        try:
            self.breaker.admit(outgoing.bic)
        except CircuitOpen as error:
            raise BankFailed.of_open_circuit(error) from None
        started = self.clock.monotonic()
        try:
            with limit_slow_call(self.slow_calls, outgoing.bic, may_give_up=not once) as slow_check:
                reply = self.outbound.post(
                    outgoing.url, outgoing.body, outgoing.headers, repeat=not once, fresh=once, slow_check=slow_check
                )
        except OutboundError as error:
            self._record_failure(outgoing.bic)
            failure = _failure_of(error)
            failure.bank_seconds = self.clock.monotonic() - started
            _log_request(outgoing, failure.bank_seconds, failure=type(error).__name__)
            raise failure from error
        if reply.status < SERVER_ERROR:
            self.breaker.record_success(outgoing.bic)
        else:
            self._record_failure(outgoing.bic)
        _log_request(outgoing, self.clock.monotonic() - started, status=reply.status)
        return reply

    def _record_failure(self, bic: str) -> None:
        if self.breaker.record_failure(bic):
            self.metrics.write({"CircuitOpened": 1}, Bank=bic)


def _failure_of(error: OutboundError) -> BankFailed:
    """Return the failure of a call without a complete response."""
    if isinstance(error, GivenUp):
        return BankFailed.of_given_up_call(error)
    return BankFailed(str(error), "never" if isinstance(error, NotReached) else "unknown")


def _outcome_of(failure: BankFailed) -> Outcome:
    """Return the outcome to count for a failed request.

    A request that this service abandoned does not count as a failure of the bank.
    """
    if failure.not_asked or failure.given_up:
        return "not_asked"
    return "answered" if failure.is_unusable_answer else "unanswered"


def _log_request(outgoing: PreparedRequest, seconds: float, **outcome: Any) -> None:
    milliseconds = round(seconds * 1000, 1)
    log.info(
        "bank called",
        bic=outgoing.bic,
        webhook=outgoing.path,
        sent_as=outgoing.headers["X-Request-Id"],
        **outcome,
        milliseconds=milliseconds,
    )
