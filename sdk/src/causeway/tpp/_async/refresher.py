"""Refreshes the tokens of a consent before they expire, once for all concurrent callers, without losing tokens."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from causeway import _waiting, errors
from causeway.tpp._generated import calls
from causeway.tpp._request import build_request, read_answer
from causeway.tpp.tokens import OnRefresh, Reload, Tokens

if TYPE_CHECKING:
    from causeway.tpp._async.transport import AsyncTransport
    from causeway.tpp._generated.models import TokenAnswer

log = logging.getLogger("causeway")


class AsyncTokenRefresher:
    """The tokens of one consent. ``ended`` means that the hub no longer accepts the refresh token."""

    def __init__(
        self, transport: AsyncTransport, tokens: Tokens, on_refresh: OnRefresh | None, reload: Reload | None
    ) -> None:
        self.tokens = tokens
        self.ended = False
        self._transport = transport
        self._on_refresh = on_refresh
        self._reload = reload
        self._unstored: Tokens | None = None
        self._replaced: set[str] = set()
        self._failures = 0
        self._failure: errors.CausewayError | None = None
        self._lock = _waiting.async_lock()

    async def bearer(self) -> Tokens:
        """Return the current tokens. Refresh the tokens first if they are about to expire."""
        if not self.tokens.is_due(_waiting.now()) and self._unstored is None:
            return self.tokens
        used = self.tokens
        try:
            await self.renew(used)
        except errors.CausewayError as error:
            if used.has_expired(_waiting.now()):
                raise
            log.warning("consent %s: not refreshed, the old token is still valid: %s", self.tokens.consent_id, error)
        return self.tokens

    async def renew(self, used: Tokens) -> Tokens | None:
        """Refresh the tokens, unless a different caller has refreshed them since they were ``used``.

        Returns the newer tokens, or ``None`` if the consent has ended. New tokens are first passed to ``on_refresh``.
        If ``on_refresh`` fails, its error is raised, and the next call passes the same tokens again. All waiting
        callers get the error of a failed refresh. A refresh continues if the caller is cancelled, because a refresh
        token whose response is lost becomes invalid after a minute.
        """
        return await _waiting.async_complete(self._renew, used, self._failures)

    async def _renew(self, used: Tokens, failures: int) -> Tokens | None:
        async with self._lock:
            if self._failure is not None and self._failures > failures and self.tokens is used:
                raise self._failure
            if self.tokens is used and self._unstored is None:
                await self._adopt_stored()
            if self._unstored is None and not self.ended and self._needs_refresh(used):
                self._unstored = await self._refresh(self.tokens)
            if self._unstored is not None:
                await self._store(self._unstored)
            return None if self.tokens is used else self.tokens

    def _needs_refresh(self, used: Tokens) -> bool:
        """Return whether no newer tokens are available, or the newer tokens will also expire soon."""
        return self.tokens is used or self.tokens.is_due(_waiting.now())

    async def _adopt_stored(self) -> None:
        """Use the stored tokens if a different process has refreshed them. If the current tokens are newer, use the
        current tokens.
        """
        if self._reload is None:
            return
        stored = await _waiting.async_call(self._reload)
        if not isinstance(stored, Tokens):
            raise errors.ConfigurationError(f"reload returns the stored Tokens, not {type(stored).__name__}")
        if stored.access_token != self.tokens.access_token and stored.access_token not in self._replaced:
            self._use(stored)
            self.ended = False

    async def _refresh(self, used: Tokens) -> Tokens | None:
        """Get new tokens. Return ``None`` if the hub no longer accepts the refresh token."""
        asked_at = _waiting.now()
        form = {"grant_type": "refresh_token", "refresh_token": used.refresh_token}
        request = build_request(calls.TOKEN, kind="refresh", form=form)
        try:
            answer: TokenAnswer = read_answer(request, await self._transport.send(request))
        except errors.AuthorizationEnded:
            self.ended = True
            return None
        except errors.CausewayError as error:
            self._failures, self._failure = self._failures + 1, error
            raise
        log.info("consent %s: tokens refreshed", self.tokens.consent_id)
        return Tokens.of(answer, asked_at)

    async def _store(self, tokens: Tokens) -> None:
        if self._on_refresh is not None:
            await _waiting.async_call(self._on_refresh, tokens)
        self._use(tokens)
        self._unstored = None

    def _use(self, tokens: Tokens) -> None:
        self._replaced.add(self.tokens.access_token)
        self.tokens = tokens
