"""The common base of clients and consents: responses, deferred calls, and the status of payments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from causeway import _waiting, errors
from causeway.tpp._generated import calls
from causeway.tpp._request import Attempt, Request, build_request, error_of, is_temporary, read_answer, unknown_outcome
from causeway.tpp._statuses import is_final

if TYPE_CHECKING:
    from causeway._records import Record
    from causeway.tpp._async.refresher import AsyncTokenRefresher
    from causeway.tpp._async.transport import AsyncTransport
    from causeway.tpp._call import Call
    from causeway.tpp._generated.models import AcceptedRequest, PaymentStatus
    from causeway.tpp._generated.psu import Psu

DEFERRED_SECONDS = 330.0
"""Maximum number of seconds to wait for the outcome of a deferred call. The hub determines the outcome within five
minutes.
"""
POLL_SECONDS = 1.5
"""Number of seconds between requests for the state of a deferred call."""


class AsyncCaller:
    """Makes calls: as the client alone or, with a session, with a consent's access token."""

    def __init__(self, transport: AsyncTransport, session: AsyncTokenRefresher | None = None) -> None:
        self._transport = transport
        self._session = session

    async def _send(self, request: Request) -> Attempt:
        return await self._transport.send(request, self._session)

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
            found: AcceptedRequest = await self._fetch(_request_for(request_id))
            if found.status is not None and found.body is not None:
                return Attempt(found.status, found.body)
            if _waiting.now() >= deadline:
                raise errors.WaitTimeout(f"{request.call.operation}: deferred, and not yet done", found)
            await _waiting.async_sleep(POLL_SECONDS)

    async def _read(
        self,
        call: Call,
        query: Mapping[str, object],
        psu: Psu | None,
        prefer_async: bool,
        *,
        version: int | None = None,
    ) -> Any:
        request = build_request(call, query=query, psu=psu, prefer_async=prefer_async)
        return await self._fetch(request, version)

    async def _pay(
        self,
        call: Call,
        order: Record | Mapping[str, Any],
        idempotency_key: str | None,
        request_id: str | None,
        psu: Psu | None,
        prefer_async: bool,
        *,
        version: int | None = None,
    ) -> Any:
        request = build_request(
            call,
            kind="payment",
            body=order,
            psu=psu,
            prefer_async=prefer_async,
            request_id=request_id,
            idempotency_key=idempotency_key,
        )
        return await self._fetch(request, version)

    async def _wait(
        self, ask: Callable[..., Any], payment_id: str | None, request_id: str | None, bic: str | None, timeout: float
    ) -> Any:
        """Call ``ask`` until it returns a final status. Raises ``WaitTimeout``."""
        deadline, pause = _waiting.now() + timeout, 1.0
        while True:
            try:
                last = await ask(payment_id, request_id=request_id, bic=bic)
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


class AsyncPayer(AsyncCaller):
    """The calls that a client and a consent have in common."""

    async def deferred(self, request_id: str) -> AcceptedRequest:
        """Get the state of a deferred call (``GET /tpp/requests/{request_id}``), with its answer once it is done.

        Calls with ``prefer_async=True`` wait automatically. Use this method after an interruption of the program.
        """
        answer: AcceptedRequest = await self._fetch(_request_for(request_id))
        return answer

    async def payment_status(
        self,
        payment_id: str | None = None,
        *,
        request_id: str | None = None,
        bic: str | None = None,
        psu: Psu | None = None,
        prefer_async: bool = False,
    ) -> PaymentStatus:
        """Get the status of a payment (``GET /tpp/unified/payments``), by its id or by its order's X-Request-Id.

        A consent queries the payments of its bank; the client alone queries a direct payment, with its ``bic``. The
        order may also be a native one.
        """
        query = {"payment_id": payment_id, "request_id": request_id, "bic": bic}
        answer: PaymentStatus = await self._read(calls.UNIFIED_PAYMENT_STATUS, query, psu, prefer_async)
        return answer

    async def wait_for_payment(
        self,
        payment_id: str | None = None,
        *,
        request_id: str | None = None,
        bic: str | None = None,
        timeout: float = 600.0,
    ) -> PaymentStatus:
        """Poll for the final status of a payment until the PSU has decided, for at most ``timeout`` seconds.

        ``causeway.tpp.is_paid(status)`` is true if the money leaves the account. Raises ``WaitTimeout`` with the last
        status. Temporary failures of the bank, the hub or the network do not end the wait.
        """
        answer: PaymentStatus = await self._wait(self.payment_status, payment_id, request_id, bic, timeout)
        return answer


def _request_for(request_id: str) -> Request:
    return build_request(calls.REQUESTS, path={"request_id": request_id})
