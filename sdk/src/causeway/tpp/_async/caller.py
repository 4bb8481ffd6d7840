"""The common base of clients and consents: responses, deferred calls, and the status of payments."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from causeway import _waiting, errors
from causeway.tpp._generated import calls
from causeway.tpp._request import Attempt, Request, build_request, error_of, is_temporary, read_answer, unknown_outcome
from causeway.tpp._statuses import is_final

if TYPE_CHECKING:
    from causeway.tpp._generated.models import AcceptedRequest, AskedStatus, OrderWithoutPayment, ReportedStatus
    from causeway.tpp._generated.psu import Psu

DEFERRED_SECONDS = 330.0
"""Maximum number of seconds to wait for the outcome of a deferred call. The hub determines the outcome within five
minutes.
"""
POLL_SECONDS = 1.5
"""Number of seconds between requests for the state of a deferred call."""


class AsyncCaller:
    """Makes calls, either with only the client's credentials or with the access token of a consent."""

    async def _send(self, request: Request) -> Attempt:
        raise NotImplementedError

    async def _fetch(self, request: Request, version: int | None = None) -> Any:
        """Return the record of a call's response. For a deferred call, wait until the call is complete."""
        answer = await self._send(request)
        if answer.outcome == 202 and "location" in answer.headers:
            answer = await self._outcome(request, answer)
        return read_answer(request, answer, version)

    async def _outcome(self, request: Request, accepted: Attempt) -> Attempt:
        """Return the outcome of a deferred call. If a payment's outcome cannot be fetched, raise ``OutcomeUnknown``."""
        try:
            outcome = await self._poll(request, str(accepted.data.get("request_id")))
        except errors.CausewayError as error:
            if request.kind == "payment":
                raise unknown_outcome(request, replace(accepted, reason=f"deferred, but {error}")) from error
            raise
        if not outcome.succeeded:
            raise error_of(request, outcome, lost=False)
        return outcome

    async def _poll(self, request: Request, request_id: str) -> Attempt:
        deadline = _waiting.now() + DEFERRED_SECONDS
        while True:
            found = await self.deferred(request_id)
            if found.status is not None and found.body is not None:
                return Attempt(found.status, found.body)
            if _waiting.now() >= deadline:
                raise errors.WaitTimeout(f"{request.call.operation}: deferred, and not yet done", found)
            await _waiting.async_sleep(POLL_SECONDS)

    async def deferred(self, request_id: str) -> AcceptedRequest:
        """Get the state of a deferred call (``GET /tpp/requests/{request_id}``), with the response if the call is
        complete.

        Calls with ``prefer_async=True`` wait automatically. Use this method after the application was interrupted.
        """
        answer: AcceptedRequest = await self._fetch(build_request(calls.REQUESTS, path={"request_id": request_id}))
        return answer

    async def payment_status(
        self,
        payment_id: str | None = None,
        *,
        request_id: str | None = None,
        bic: str | None = None,
        psu: Psu | None = None,
        prefer_async: bool = False,
    ) -> ReportedStatus | AskedStatus | OrderWithoutPayment:
        """Get the status of a payment (``GET /tpp/payment_status``), by the payment id or by the X-Request-Id of the
        order.

        Banks of version 1 return ``ReportedStatus``, banks of version 2 ``AskedStatus``. ``OrderWithoutPayment``
        describes an order whose payment id is unknown. Use a consent to query payments at the bank of the consent. Use
        the client to query a direct payment, and pass its ``bic``.
        """
        query = {"payment_id": payment_id, "request_id": request_id, "bic": bic}
        request = build_request(calls.PAYMENT_STATUS, query=query, psu=psu, prefer_async=prefer_async)
        answer: ReportedStatus | AskedStatus | OrderWithoutPayment = await self._fetch(request)
        return answer

    async def wait_for_payment(
        self,
        payment_id: str | None = None,
        *,
        request_id: str | None = None,
        bic: str | None = None,
        timeout: float = 600.0,
    ) -> ReportedStatus | AskedStatus | OrderWithoutPayment:
        """Poll for the final status of a payment, which requires the PSU's decision, for at most ``timeout`` seconds.

        ``causeway.tpp.is_paid(status)`` is true if the account is debited. Raises ``WaitTimeout`` with the last status.
        Temporary failures of the bank, the hub or the network do not end the wait.
        """
        deadline, pause = _waiting.now() + timeout, 1.0
        last: ReportedStatus | AskedStatus | OrderWithoutPayment | errors.CausewayError
        while True:
            try:
                last = await self.payment_status(payment_id, request_id=request_id, bic=bic)
                if is_final(last):
                    return last
            except (errors.ApiError, errors.ConnectionLost) as error:
                if not is_temporary(error):
                    raise
                last, pause = error, max(pause, getattr(error, "retry_after", None) or 0.0)
            if _waiting.now() + pause > deadline:
                raise errors.WaitTimeout(f"payment {payment_id or request_id} has no final status yet", last)
            await _waiting.async_sleep(pause)
            pause = min(pause * 1.5, 10.0)
