"""Sends requests to the hub, and retries a request if its kind of call permits retries."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import httpx

from causeway import _json, _retries, _waiting
from causeway._retries import LOST, NOT_SENT, Retries
from causeway._user_agent import user_agent
from causeway.tpp._generated import calls
from causeway.tpp._request import (
    STILL_RUNNING,
    Attempt,
    Request,
    build_request,
    error_of,
    nonce_demanded,
    proof_refused,
)

if TYPE_CHECKING:
    from causeway.tpp._credentials import Credentials
    from causeway.tpp.tokens import Tokens

log = logging.getLogger("causeway")
CONNECT_SECONDS = 5.0
UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
UNATTENDED_REPEATS = 1
"""Maximum number of retries of a read without the PSU that failed at the bank. The number is low, because each attempt
counts towards the bank's daily limit.
"""
RUNNING_SECONDS = 45.0
"""Maximum number of seconds to wait for the outcome of a payment that is still being sent. The hub reports the outcome
after 30 seconds.
"""


class AsyncSession(Protocol):
    """An interface that provides access tokens for requests."""

    async def bearer(self) -> Tokens:
        """Return the current tokens."""

    async def renew(self, used: Tokens) -> Tokens | None:
        """Return newer tokens than the refused tokens. Return ``None`` if there are no newer tokens."""


@dataclass
class Progress:
    """The state of a request between its attempts."""

    started: float
    repeats: int = 0
    lost: bool = False
    renewed: bool = False
    nonce_sent: bool = False
    bearer: Tokens | None = field(default=None, repr=False)


class AsyncTransport:
    """The connections of one client to one hub."""

    def __init__(
        self,
        base_url: str,
        credentials: Credentials,
        client: httpx.AsyncClient | None,
        retries: Retries,
        timeout: float,
    ) -> None:
        self.base_url = base_url
        self.credentials = credentials
        self.retries = retries
        self.timeout = httpx.Timeout(timeout, connect=CONNECT_SECONDS)
        self.client = client or httpx.AsyncClient()
        self._issuer = ""
        self._nonce: str | None = None

    async def aclose(self) -> None:
        """Close all connections."""
        await self.client.aclose()

    async def send(self, request: Request, session: AsyncSession | None = None) -> Attempt:
        """Send a request and return the hub's success response. Raises the error of the last attempt."""
        progress = Progress(_waiting.now())
        while True:
            progress.bearer = progress.bearer or (await session.bearer() if session else None)
            attempt = await self._attempt(request, progress.bearer)
            if attempt.succeeded and isinstance(attempt.data, dict):
                return attempt
            if await self._repair(request, attempt, progress, session):
                continue
            wait = self._wait(request, attempt, progress)
            if wait is None:
                raise error_of(request, attempt, lost=progress.lost)
            progress.lost |= attempt.is_lost
            log.info(
                "%s (request %s): %s, repeated in %.1f s",
                request.call.operation,
                request.request_id,
                attempt.reason or attempt.outcome,
                wait,
            )
            await _waiting.async_sleep(wait)

    async def _repair(
        self, request: Request, attempt: Attempt, progress: Progress, session: AsyncSession | None
    ) -> bool:
        """Return whether an immediate retry may succeed because an expired token or nonce was replaced."""
        if self._nonce and not progress.nonce_sent and nonce_demanded(attempt):
            progress.nonce_sent = True
            return True
        if session is None or progress.bearer is None or progress.renewed or not bearer_refused(attempt):
            return False
        progress.renewed = True
        try:
            renewed = await session.renew(progress.bearer)
        except Exception as error:
            if request.kind == "payment" and progress.lost:
                raise error_of(request, attempt, lost=True) from error
            raise
        progress.bearer = renewed or progress.bearer
        return renewed is not None

    def _wait(self, request: Request, attempt: Attempt, progress: Progress) -> float | None:
        """Return the number of seconds before the next attempt. Return ``None`` after the last attempt."""
        elapsed = _waiting.now() - progress.started
        if attempt.outcome == STILL_RUNNING and attempt.retry_after and request.kind == "payment":
            return attempt.retry_after if elapsed + attempt.retry_after < RUNNING_SECONDS else None
        if not attempt.may_be_repeated(request.kind):
            return None
        if request.is_unattended and attempt.is_failed_bank and progress.repeats >= UNATTENDED_REPEATS:
            return None
        retries = _retries.REFRESH_WAITS if request.kind == "refresh" else self.retries
        wait = retries.wait(progress.repeats, attempt.retry_after)
        progress.repeats += 1
        if wait is not None and request.kind == "refresh" and elapsed + wait > _retries.REFRESH_SECONDS:
            return None
        return wait

    async def _attempt(self, request: Request, bearer: Tokens | None) -> Attempt:
        """Send a request once."""
        issuer = await self._issuer_for(request)
        try:
            # a client of the program may follow redirects, which would take tokens and payments elsewhere
            response = await self.client.send(self._http_request(request, bearer, issuer), follow_redirects=False)
        except UNSENT as error:
            return Attempt(NOT_SENT, reason=f"no connection to {self.base_url} ({type(error).__name__})")
        except httpx.TransportError as error:
            return Attempt(LOST, reason=f"the connection broke or no answer came in time ({type(error).__name__})")
        except httpx.DecodingError:
            return Attempt(LOST, reason="the answer is damaged")
        self._nonce = response.headers.get("DPoP-Nonce", self._nonce)
        return read(response)

    def _http_request(self, request: Request, bearer: Tokens | None, issuer: str) -> httpx.Request:
        call, now, url = request.call, _waiting.now(), self.base_url + request.path
        authorization = self.credentials.headers(call, url, bearer, now, issuer=issuer, nonce=self._nonce)
        form = {**request.form, **self.credentials.form(call, now, issuer=issuer)} if call.form else None
        return self.client.build_request(
            call.method,
            url,
            params=dict(request.query) or None,
            content=request.body,
            data=form,
            headers={"User-Agent": user_agent(self.client), **request.headers, **authorization},
            timeout=_retries.REFRESH_TIMEOUT if request.kind == "refresh" else self.timeout,
        )

    async def _issuer_for(self, request: Request) -> str:
        """Return the hub's issuer, which signed assertions must contain. Return an empty text if the request needs no
        issuer.
        """
        if self.credentials.assertion is None or not request.call.client:
            return ""
        return await self.issuer()

    async def issuer(self) -> str:
        """Return the issuer in the hub's metadata. The metadata is fetched only once."""
        if not self._issuer:
            request = build_request(calls.WELL_KNOWN_OAUTH_AUTHORIZATION_SERVER)
            metadata = await self.send(request)
            if not metadata.member("issuer"):
                raise error_of(request, replace(metadata, reason="the metadata have no issuer"), lost=False)
            self._issuer = metadata.member("issuer")
        return self._issuer


def read(response: httpx.Response) -> Attempt:
    """Parse a response. A success response that is not JSON is treated as damaged."""
    headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
    try:
        data: Any = _json.loads(response.content)
    except ValueError:
        data = None
    wait = _retries.retry_after(headers.get("retry-after"), _waiting.now())
    if response.is_success and not isinstance(data, dict):
        return Attempt(LOST, None, headers, wait, "the answer is no JSON object")
    return Attempt(response.status_code, data, headers, wait)


def bearer_refused(attempt: Attempt) -> bool:
    """Return whether the hub refused the access token."""
    return attempt.outcome == 401 and attempt.member("code") == "AUTHENTICATION_REQUIRED" and not proof_refused(attempt)
