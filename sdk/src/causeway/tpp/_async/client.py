"""The client of a third-party provider: authorizations, consents, events, and direct payments."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Self
from urllib.parse import urlencode

from causeway import _waiting, errors
from causeway._addresses import base_address
from causeway._retries import Retries
from causeway.tpp._async.caller import AsyncPayer
from causeway.tpp._async.consent import AsyncConsent
from causeway.tpp._async.directory import AsyncDirectory
from causeway.tpp._authorization import authorization_members, challenge_members, code_of_callback
from causeway.tpp._credentials import Credentials
from causeway.tpp._generated import calls
from causeway.tpp._request import build_request
from causeway.tpp.tokens import OnRefresh, Reload, Tokens

if TYPE_CHECKING:
    import httpx

    from causeway.tpp._async.native import AsyncNativeTpp
    from causeway.tpp._credentials import ClientAssertion, ProofKey
    from causeway.tpp._generated.literals import ConsentStatus, ConsentType, Scope
    from causeway.tpp._generated.models import (
        AuthorizeAnswer,
        ConsentEntry,
        ConsentsAnswer,
        EventEntry,
        EventsAnswer,
        Initiation,
        IntrospectionAnswer,
        Payment,
        PushedAnswer,
        TokenAnswer,
    )
    from causeway.tpp._generated.psu import Psu


class AsyncTpp(AsyncDirectory, AsyncPayer):
    """One client of the hub. Use one object for the whole program; it is safe for concurrent use.

    A client authenticates with one of the following: a secret, a signing key, or a TLS certificate in ``http_client``.
    A public client has no credentials.

    The methods raise the errors in ``causeway.errors``. The object is a context manager; ``aclose`` closes its
    connections.
    """

    def __init__(
        self,
        base_url: str,
        *,
        client_id: str,
        client_secret: str | None = None,
        assertion: ClientAssertion | None = None,
        dpop: ProofKey | None = None,
        retries: Retries | None = None,
        timeout: float = 30.0,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        """Create a client without sending a request. Raises ``ConfigurationError`` if an argument is invalid.

        Args:
            base_url: the hub's URL, with ``https://``.
            client_id: the client's id.
            client_secret: the client's secret.
            assertion: the client's signing key, such as a ``PrivateKeyJwt``, instead of a secret.
            dpop: the key to which the client's tokens are bound, such as a ``DpopKey``.
            retries: the retries of failed calls; by default 3.
            timeout: the timeout of a response in seconds. The hub waits up to 20 s for a bank.
            http_client: a custom HTTP client, for example with a proxy or certificates. The timeouts of this HTTP
            client are ignored.
        """
        from causeway.tpp._async.transport import AsyncTransport

        self.base_url = base_address(base_url, "base_url")
        if not (client_id.isascii() and client_id.isprintable() and client_id.strip()):
            raise errors.ConfigurationError("client_id must be printable ASCII")
        if client_secret == "":
            raise errors.ConfigurationError("client_secret is empty: pass None for a client that has none")
        if client_secret is not None and assertion is not None:
            raise errors.ConfigurationError("a client has either client_secret or assertion")
        self.client_id = client_id
        self._dpop = dpop
        credentials = Credentials(client_id, client_secret, assertion, dpop)
        super().__init__(AsyncTransport(self.base_url, credentials, http_client, retries or Retries(), timeout))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r}, client_id={self.client_id!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections, including those of this client's consents."""
        await self._transport.aclose()

    @cached_property
    def native(self) -> AsyncNativeTpp:
        """The calls in the shape of the banks' protocol versions."""
        from causeway.tpp._async.native import AsyncNativeTpp

        return AsyncNativeTpp(self._transport)

    # Authorizations and tokens

    async def authorize(
        self,
        *,
        bic: str,
        scopes: Sequence[Scope],
        redirect_uri: str | None = None,
        state: str | None = None,
        code_verifier: str | None = None,
        consent_type: ConsentType | None = None,
    ) -> AuthorizeAnswer:
        """Start an authorization (``POST /tpp/authorize``). Send the PSU's browser to the ``redirect_url`` of the
        result.

        ``bic`` identifies the bank. ``scopes`` are either unified scopes, such as ``accounts:read``, or scopes of the
        bank's version. ``redirect_uri`` is one of the client's Callback URLs, by default the first. ``consent_type`` is
        ``reusable`` by default.

        The callback contains ``state``, which must be a new value for each authorization. By default, the hub creates
        this value. ``code_verifier`` (``causeway.tpp.new_code_verifier()``) protects the code with PKCE, which is
        required in production. Store it with the state, and pass it to ``redeem``. A request whose response was lost is
        retried only without your own ``state``.
        """
        body = {
            "bic": bic,
            "scopes": list(scopes),
            "redirect_uri": redirect_uri,
            "state": state,
            **challenge_members(code_verifier),
            "consent_type": consent_type,
        }
        request = build_request(calls.AUTHORIZE, kind="read" if state is None else "once", body=body)
        answer: AuthorizeAnswer = await self._fetch(request)
        return answer

    async def push_authorization(
        self,
        *,
        scopes: Sequence[Scope],
        bic: str | None = None,
        redirect_uri: str | None = None,
        state: str | None = None,
        code_verifier: str | None = None,
        consent_type: ConsentType | None = None,
    ) -> PushedAnswer:
        """Push an authorization request (``POST /oauth/par``, RFC 9126). The ``request_uri`` in the response is valid
        for a minute.

        Send the browser to ``authorization_url(request_uri=…)``. Without ``bic`` the PSU chooses the bank.
        """
        form = authorization_members(scopes, bic, redirect_uri, state, code_verifier, consent_type)
        answer: PushedAnswer = await self._fetch(build_request(calls.OAUTH_PAR, form=form))
        return answer

    def authorization_url(
        self,
        *,
        request_uri: str | None = None,
        scopes: Sequence[Scope] = (),
        bic: str | None = None,
        redirect_uri: str | None = None,
        state: str | None = None,
        code_verifier: str | None = None,
        consent_type: ConsentType | None = None,
    ) -> str:
        """Return the URL at the hub that the PSU's browser must open (``GET /oauth/authorize``).

        Pass either the ``request_uri`` of a pushed request, or ``scopes`` and further parameters. Without ``bic``, the
        PSU chooses the bank.
        """
        members: dict[str, str | None] = {"client_id": self.client_id, "request_uri": request_uri}
        if request_uri is None:
            members |= authorization_members(scopes, bic, redirect_uri, state, code_verifier, consent_type)
            members["dpop_jkt"] = self._dpop.thumbprint if self._dpop else None
        query = urlencode({name: value for name, value in members.items() if value is not None})
        return f"{self.base_url}{calls.OAUTH_AUTHORIZE.path}?{query}"

    async def redeem(
        self,
        code: str,
        *,
        redirect_uri: str | None = None,
        code_verifier: str | None = None,
        on_refresh: OnRefresh | None = None,
    ) -> AsyncConsent:
        """Exchange the code from the callback for a consent (``POST /tpp/token``). A code is valid for one minute and
        can be used only once.

        Store ``consent.tokens`` immediately. ``on_refresh`` is called with each new pair of tokens before the tokens
        are used. Pass ``redirect_uri`` and ``code_verifier`` if they were passed to the authorization. Raises
        ``AuthorizationEnded`` if the code is invalid.
        """
        asked_at = _waiting.now()
        answer = await self.exchange(code=code, redirect_uri=redirect_uri, code_verifier=code_verifier)
        return AsyncConsent(self._transport, Tokens.of(answer, asked_at), on_refresh)

    async def redeem_callback(
        self,
        url: str,
        *,
        state: str,
        redirect_uri: str | None = None,
        code_verifier: str | None = None,
        on_refresh: OnRefresh | None = None,
    ) -> AsyncConsent:
        """Check ``state`` and ``iss`` in the complete callback URL, then exchange its code as ``redeem`` does.

        ``state`` is the state in this PSU's session. Raises ``ForgedCallback`` if the URL does not match the state or
        issuer (RFC 9207), and ``ConsentRefused`` if the PSU gave no consent.
        """
        code = code_of_callback(url, state=state, issuer=await self._transport.issuer())
        return await self.redeem(code, redirect_uri=redirect_uri, code_verifier=code_verifier, on_refresh=on_refresh)

    def consent(
        self, tokens: Tokens, *, on_refresh: OnRefresh | None = None, reload: Reload | None = None
    ) -> AsyncConsent:
        """Create a consent from stored tokens. ``on_refresh`` must store each new pair of tokens before they are used.

        Before a refresh, ``reload`` returns the stored tokens. These tokens are used if a different process has
        refreshed them.
        """
        return AsyncConsent(self._transport, tokens, on_refresh, reload)

    async def exchange(
        self,
        *,
        code: str | None = None,
        refresh_token: str | None = None,
        redirect_uri: str | None = None,
        code_verifier: str | None = None,
    ) -> TokenAnswer:
        """Exchange a code or a refresh token for tokens (``POST /tpp/token``). ``redeem`` is simpler."""
        form = {
            "grant_type": "authorization_code" if refresh_token is None else "refresh_token",
            "code": code,
            "refresh_token": refresh_token,
            "redirect_uri": redirect_uri,
            "code_verifier": code_verifier,
        }
        request = build_request(calls.TOKEN, kind="code" if refresh_token is None else "refresh", form=form)
        answer: TokenAnswer = await self._fetch(request)
        return answer

    async def introspect(self, token: str) -> IntrospectionAnswer:
        """Describe an access or refresh token of this client (``POST /oauth/introspect``, RFC 7662)."""
        request = build_request(calls.OAUTH_INTROSPECT, form={"token": token})
        answer: IntrospectionAnswer = await self._fetch(request)
        return answer

    async def revoke(self, token: str) -> None:
        """End the consent of a token (``POST /tpp/token/revoke``, RFC 7009). A call with an unknown token has no
        effect.
        """
        await self._send(build_request(calls.TOKEN_REVOKE, form={"token": token}))

    # Consents and events

    async def consents(
        self, *, bic: str | None = None, status: ConsentStatus | None = None
    ) -> AsyncIterator[ConsentEntry]:
        """Yield all consents that PSUs gave to this client (``GET /tpp/consents``), newest first, page by page."""
        after: str | None = None
        while True:
            page = await self.consents_page(after=after, limit=100, bic=bic, status=status)
            for consent in page.consents:
                yield consent
            after = page.next
            if not page.has_more or after is None:
                return

    async def consents_page(
        self,
        *,
        after: str | None = None,
        limit: int | None = None,
        bic: str | None = None,
        status: ConsentStatus | None = None,
    ) -> ConsentsAnswer:
        """Get one page of this client's consents (``GET /tpp/consents``). ``limit`` is 1 to 100."""
        query = {"after": after, "limit": limit, "bic": bic, "status": status}
        answer: ConsentsAnswer = await self._fetch(build_request(calls.CONSENTS, query=query))
        return answer

    async def events(self, *, after: str | None = None) -> AsyncIterator[EventEntry]:
        """Yield all available events (``GET /tpp/events``), oldest first. ``parse_event(entry.body)`` parses an event.

        Use this method for clients whose events are recorded for fetching. To continue later, use ``events_page`` and
        store ``next`` of the page.
        """
        while True:
            page = await self.events_page(after=after, limit=100)
            for event in page.events:
                yield event
            after = page.next
            if not page.has_more:
                return

    async def events_page(self, *, after: str | None = None, limit: int | None = None) -> EventsAnswer:
        """Get one page of events (``GET /tpp/events``). To get the next page, pass ``next`` of the page as ``after``.
        If ``has_more`` is true, the next page is already available.
        """
        query = {"after": after, "limit": limit}
        answer: EventsAnswer = await self._fetch(build_request(calls.EVENTS, query=query))
        return answer

    # Payments without a consent, and deferred calls

    async def pay_direct(
        self,
        order: Payment,
        *,
        bic: str,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        psu: Psu | None = None,
        prefer_async: bool = False,
    ) -> Initiation:
        """Initiate a payment without a consent (``POST /tpp/unified/direct_payments``) at the bank ``bic``.

        Keys, retries and errors are those of ``consent.pay``. Query the status with the same ``bic``.
        """
        direct = replace(order, extra={**order.extra, "bic": bic})
        answer: Initiation = await self._pay(
            calls.UNIFIED_DIRECT_PAYMENTS, direct, idempotency_key, request_id, psu, prefer_async
        )
        return answer
