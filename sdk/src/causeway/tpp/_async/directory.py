"""The hub's directory: the banks with their capabilities, and the metadata and keys of the hub itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from causeway.tpp._async.caller import AsyncCaller
from causeway.tpp._generated import calls
from causeway.tpp._request import build_request

if TYPE_CHECKING:
    from causeway.tpp._generated.literals import PaymentScheme, Scope
    from causeway.tpp._generated.models import (
        BankEntry,
        BanksAnswer,
        KeySet,
        ResourceMetadata,
        ScopeAnswer,
        ServerMetadata,
    )


class AsyncDirectory(AsyncCaller):
    """The calls of a client about banks and the hub."""

    # Banks

    async def scopes(self, bic: str) -> ScopeAnswer:
        """Get the scopes that a bank provides (``GET /tpp/scope``)."""
        answer: ScopeAnswer = await self._fetch(build_request(calls.SCOPE, query={"bic": bic}))
        return answer

    async def bank(self, bic: str) -> BankEntry:
        """Get the capabilities of a bank (``GET /tpp/banks/{bic}``)."""
        answer: BankEntry = await self._fetch(build_request(calls.BANK, path={"bic": bic}))
        return answer

    async def banks(
        self,
        *,
        country: str | None = None,
        q: str | None = None,
        scope: Scope | None = None,
        scheme: PaymentScheme | None = None,
    ) -> AsyncIterator[BankEntry]:
        """Yield all banks that match all filters (``GET /tpp/banks``), page by page, sorted by BIC.

        ``country`` is a code of two letters, and ``q`` is a part of the name or BIC.
        """
        number, seen = 1, 0
        while True:
            page = await self.banks_page(page=number, limit=100, country=country, q=q, scope=scope, scheme=scheme)
            for bank in page.banks:
                yield bank
            number, seen = number + 1, seen + len(page.banks)
            if not page.banks or seen >= page.total:
                return

    async def banks_page(
        self,
        *,
        page: int | None = None,
        limit: int | None = None,
        country: str | None = None,
        q: str | None = None,
        scope: Scope | None = None,
        scheme: PaymentScheme | None = None,
    ) -> BanksAnswer:
        """Get one page of the banks (``GET /tpp/banks``). ``limit`` is 1 to 100. The filters are the same as for
        ``tpp.banks``.
        """
        query = {"page": page, "limit": limit, "country": country, "q": q, "scope": scope, "scheme": scheme}
        answer: BanksAnswer = await self._fetch(build_request(calls.BANKS, query=query))
        return answer

    # The hub itself

    async def server_metadata(self) -> ServerMetadata:
        """Get the metadata of the hub's OAuth server (``GET /.well-known/oauth-authorization-server``, RFC 8414)."""
        request = build_request(calls.WELL_KNOWN_OAUTH_AUTHORIZATION_SERVER)
        answer: ServerMetadata = await self._fetch(request)
        return answer

    async def resource_metadata(self) -> ResourceMetadata:
        """Get the hub's requirements for tokens (``GET /.well-known/oauth-protected-resource``, RFC 9728)."""
        answer: ResourceMetadata = await self._fetch(build_request(calls.WELL_KNOWN_OAUTH_PROTECTED_RESOURCE))
        return answer

    async def keys(self) -> KeySet:
        """Get the hub's public keys (``GET /.well-known/jwks.json``)."""
        answer: KeySet = await self._fetch(build_request(calls.WELL_KNOWN_JWKS_JSON))
        return answer
