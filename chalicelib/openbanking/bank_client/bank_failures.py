"""Bank failures: a single exception class that contains the bank's own code and message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from chalicelib.foundation.fields.written_text import is_written
from chalicelib.foundation.http.outbound import GivenUp, ResponseTooLarge
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.bank_identifiers import is_payment_id
from chalicelib.openbanking.protocol.errors import Detail, ReasonCode, Refusal

NOT_FOUND = 404
SERVER_ERROR = 500
TOO_MANY_REQUESTS = 429
OPEN_SECONDS = 30
"""The number of seconds for which a circuit stays open, and for which a probe may run. No call takes longer, so an
outcome reported during a probe is the outcome of that probe.
"""

Reach = Literal["never", "refused", "unknown"]
"""How far a request got: it was never sent, the bank refused it, or the outcome is unknown."""


class CircuitOpen(Exception):
    """Calls to the party are paused.

    Attributes:
        retry_after: whole seconds, at least 1, until a call may be admitted again.
    """

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(f"calls are paused for {retry_after} s")


class BankFailed(Refusal):
    """The bank was unreachable, refused the request, or violated the protocol in its response.

    Attributes:
        reach: how far the request got: it was never sent, it was refused, or its outcome is unknown.
        authorize_again: whether the bank rejected the PSU's token.
        quoted: whether the detail is the bank's own text, which may contain data about the PSU.
        broken: whether the error code indicates a failure of the bank itself.
        unknown_resource: whether the requested account or payment does not exist at the bank. This is the caller's
        error
            (404), not a failure of the bank (502).
        status: the HTTP status of the bank's response, or ``None`` without a response.
        retry_after: seconds to wait, set by the bank or by the open circuit breaker.
        not_asked: whether the request was not sent because the circuit breaker is open or no time was left.
        given_up: whether the request was abandoned before its time limit because too many calls wait for the bank.
        answer: the members of an unusable success response, or ``None`` if there was none.
        reason_code: why the bank's pages of a list cannot be used, for programs.
    """

    def __init__(
        self,
        detail: str,
        reach: Reach = "unknown",
        *,
        authorize_again: bool = False,
        quoted: bool = False,
        broken: bool = False,
        unknown_resource: bool = False,
        status: int | None = None,
        retry_after: int | None = None,
        not_asked: bool = False,
        given_up: bool = False,
        answer: Mapping[str, Any] | None = None,
        reason_code: ReasonCode | None = None,
    ) -> None:
        self.not_asked = not_asked
        self.given_up = given_up
        self.answer = answer
        self.broken = broken
        self.unknown_resource = unknown_resource
        self.reach: Reach = reach
        self.authorize_again = authorize_again
        self.quoted = quoted
        self.status = status
        row = refusals.RESOURCE_UNKNOWN_TO_BANK if unknown_resource else refusals.BANK_FAILED
        row = refusals.BANK_REFUSED_TOKEN if authorize_again else row
        said = Detail(refusals.BANK_FAILED.fault, _printable(detail))
        super().__init__(row.fault, row.sentence, [said], retry_after=retry_after, reason_code=reason_code)

    @classmethod
    def of_open_circuit(cls, error: CircuitOpen) -> BankFailed:
        """Return the failure for a request that was not sent because the circuit breaker is open."""
        text = f"the bank does not answer at the moment and is not asked again for {error.retry_after} s"
        return cls(text, "never", retry_after=error.retry_after, not_asked=True)

    @classmethod
    def of_given_up_call(cls, error: GivenUp) -> BankFailed:
        """Return the failure for a read that was abandoned because too many other calls wait for the bank."""
        return cls(str(error), retry_after=OPEN_SECONDS, given_up=True)

    def with_detail(self, detail: str, *, authorize_again: bool) -> BankFailed:
        """Return a copy of the failure with a different ``detail``."""
        return BankFailed(
            detail,
            self.reach,
            authorize_again=authorize_again,
            quoted=self.quoted,
            broken=self.broken,
            unknown_resource=self.unknown_resource,
            status=self.status,
            retry_after=self.retry_after,
            not_asked=self.not_asked,
            given_up=self.given_up,
            answer=self.answer,
            reason_code=self.reason_code,
        )

    @property
    def payment_id(self) -> str | None:
        """The payment_id in an unusable success response. The bank has probably accepted the payment with this id."""
        named = self.answer.get("payment_id") if self.answer else None
        return named if is_payment_id(named) else None

    @property
    def reason(self) -> str:
        """The cause without the bank's own text, for records and logs."""
        return f"the bank responded with an error and status {self.status}" if self.quoted else self.detail

    @property
    def log_members(self) -> dict[str, object]:
        """The members of a log line, including the status of the bank's response, if any, and the reason for the
        failure.
        """
        return super().log_members | {"bank_status": self.status, "bank_failure": self.reason}

    @property
    def responsible(self) -> Literal["bank", "caller"]:
        """The responsible party: ``caller`` if the bank refused the request, ``bank`` if it failed or is overloaded."""
        return "caller" if self.reach == "refused" and not (self.is_rate_limited or self.broken) else "bank"

    @property
    def is_unusable_answer(self) -> bool:
        """Whether the bank responded with success, but its response cannot be used."""
        succeeded = self.status is not None and 200 <= self.status < 300
        return self.reach == "unknown" and (succeeded or isinstance(self.__cause__, ResponseTooLarge))

    @property
    def is_rate_limited(self) -> bool:
        """Whether the bank refused the request because of its rate limit."""
        return self.status == TOO_MANY_REQUESTS

    @property
    def detail(self) -> str:
        """The bank's own text, or the cause of the failure."""
        return self.details[0].details


def _printable(text: str) -> str:
    return text if is_written(text) else "".join(each if is_written(each) else " " for each in text)
