"""A PSU's consent at one bank: accounts, payments, and automatic token refresh."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from causeway import errors
from causeway.tpp._async.caller import AsyncPayer
from causeway.tpp._async.refresher import AsyncTokenRefresher
from causeway.tpp._generated import calls
from causeway.tpp._pages import MOST_LEFT_OUT, PageChecker
from causeway.tpp._request import Day, build_request, read_answer

if TYPE_CHECKING:
    from causeway.tpp._async.native import AsyncNativeConsent
    from causeway.tpp._async.transport import AsyncTransport
    from causeway.tpp._generated.models import (
        Account,
        AccountAnswer,
        Accounts,
        Amount,
        Balances,
        BulkPayment,
        ConsentAnswer,
        FundsAccount,
        FundsConfirmation,
        Initiation,
        IntrospectionAnswer,
        Payment,
        Problem,
        Transaction,
        Transactions,
    )
    from causeway.tpp._generated.psu import Psu
    from causeway.tpp.tokens import OnRefresh, Reload, Tokens

log = logging.getLogger("causeway")


class AsyncConsent(AsyncPayer):
    """One consent. ``AsyncTpp.redeem`` and ``AsyncTpp.consent`` return it.

    The access token is refreshed automatically: a minute before it expires, and when the hub refuses it. Concurrent
    callers share one refresh. Store the tokens that ``on_refresh`` gets. If several objects or processes use one
    consent, pass ``reload``, because a second use of a refresh token after more than a minute ends the consent.
    ``consent_id`` is the hub's id of the consent.

    Calls and answers have the same shape at every bank; what a bank does not say is ``None``. ``native`` has the calls
    in the shape of the bank's protocol version.

    Methods that call the bank take ``psu``, the data of the present PSU's request, and ``prefer_async``: the hub then
    accepts the call immediately and calls the bank later, and the method waits up to five and a half minutes for the
    outcome. With ``native=True``, each entry of a read has ``.native``, the entry in the shape of the bank's version.
    """

    _session: AsyncTokenRefresher

    def __init__(
        self,
        transport: AsyncTransport,
        tokens: Tokens,
        on_refresh: OnRefresh | None = None,
        reload: Reload | None = None,
    ) -> None:
        super().__init__(transport, AsyncTokenRefresher(transport, tokens, on_refresh, reload))
        self.consent_id = tokens.consent_id

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.consent_id}>"

    @property
    def tokens(self) -> Tokens:
        """The current tokens of the consent."""
        return self._session.tokens

    @cached_property
    def native(self) -> AsyncNativeConsent:
        """The calls in the shape of the bank's protocol version."""
        from causeway.tpp._async.native import AsyncNativeConsent

        return AsyncNativeConsent(self._transport, self._session)

    async def refresh(self) -> Tokens:
        """Refresh the tokens immediately. Raises ``AuthorizationEnded`` if the consent has ended."""
        renewed = await self._session.renew(self.tokens)
        if renewed is None:
            raise errors.AuthorizationEnded(400, title="the consent has ended", error="invalid_grant")
        return renewed

    async def details(self) -> ConsentAnswer:
        """Get the scopes and accounts that the PSU approved, and the end of the consent (``GET /tpp/consent``)."""
        answer: ConsentAnswer = await self._fetch(build_request(calls.CONSENT))
        return answer

    async def introspect(self) -> IntrospectionAnswer:
        """Get the hub's description of the access token (``POST /oauth/introspect``)."""
        form = {"token": self.tokens.access_token}
        request = build_request(calls.OAUTH_INTROSPECT, form=form)
        answer: IntrospectionAnswer = read_answer(request, await self._transport.send(request))
        return answer

    async def revoke(self) -> None:
        """End the consent and all its tokens (``POST /tpp/token/revoke``)."""
        form = {"token": self.tokens.refresh_token}
        await self._transport.send(build_request(calls.TOKEN_REVOKE, form=form))
        self._session.ended = True

    # Accounts and balances

    async def accounts(
        self, *, native: bool = False, psu: Psu | None = None, prefer_async: bool = False
    ) -> AsyncIterator[Account]:
        """Yield the PSU's accounts (``GET /tpp/unified/accounts``). The first iteration sends the request.

        Entries that the hub left out because the bank sent them damaged are logged; ``accounts_answer`` returns them in
        ``.problems``.
        """
        answer = await self.accounts_answer(native=native, psu=psu, prefer_async=prefer_async)
        _log_problems(answer.problems)
        for account in answer.accounts:
            yield account

    async def accounts_answer(
        self, *, native: bool = False, psu: Psu | None = None, prefer_async: bool = False
    ) -> Accounts:
        """Get the PSU's accounts, as one answer (``GET /tpp/unified/accounts``)."""
        query = {"native": _flag(native)}
        answer: Accounts = await self._read(calls.UNIFIED_ACCOUNTS, query, psu, prefer_async)
        return answer

    async def account(
        self, account: Account | str, *, native: bool = False, psu: Psu | None = None, prefer_async: bool = False
    ) -> AccountAnswer:
        """Get one account (``GET /tpp/unified/account``) in ``.account``. ``account`` is an account or its id."""
        query = {"account_id": _id_of(account), "native": _flag(native)}
        answer: AccountAnswer = await self._read(calls.UNIFIED_ACCOUNT, query, psu, prefer_async)
        return answer

    async def balances(
        self, account: Account | str, *, native: bool = False, psu: Psu | None = None, prefer_async: bool = False
    ) -> Balances:
        """Get an account's balances (``GET /tpp/unified/balances``) in ``.balances``, one for each type."""
        query = {"account_id": _id_of(account), "native": _flag(native)}
        answer: Balances = await self._read(calls.UNIFIED_BALANCES, query, psu, prefer_async)
        return answer

    # Transactions of an account, and funds

    async def transactions(
        self,
        account: Account | str,
        *,
        since: Day | None = None,
        until: Day | None = None,
        status: Literal["booked", "pending", "all"] = "all",
        limit: int | None = None,
        native: bool = False,
        psu: Psu | None = None,
    ) -> AsyncIterator[Transaction]:
        """Yield all transactions of an account, page by page. On each page, booked ones come before pending ones.

        ``since`` and ``until`` are the first and the last day, ``datetime.date`` or ``YYYY-MM-DD``. ``limit`` (1 to
        100) is the size of a page. Entries that the hub left out because the bank sent them damaged are logged.
        """
        pages = self.transactions_pages(
            account, since=since, until=until, status=status, limit=limit, native=native, psu=psu
        )
        async for page in pages:
            _log_problems(page.problems)
            for transaction in page.transactions:
                yield transaction

    async def transactions_pages(
        self,
        account: Account | str,
        *,
        since: Day | None = None,
        until: Day | None = None,
        status: Literal["booked", "pending", "all"] = "all",
        limit: int | None = None,
        native: bool = False,
        psu: Psu | None = None,
    ) -> AsyncIterator[Transactions]:
        """Yield all pages of an account's transactions. A page may be empty although further pages follow.

        Raises ``UnusablePages`` instead of a page that repeats an earlier one, and after 1,000 empty pages in a row.
        """
        cursor: str | None = None
        pages = PageChecker(most_empty=MOST_LEFT_OUT)
        while True:
            page = await self.transactions_page(
                account, since=since, until=until, status=status, limit=limit, cursor=cursor, native=native, psu=psu
            )
            pages.check(page.transactions, [each.stable_key for each in page.transactions], page.next_cursor)
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return

    async def transactions_page(
        self,
        account: Account | str,
        *,
        since: Day | None = None,
        until: Day | None = None,
        status: Literal["booked", "pending", "all"] = "all",
        limit: int | None = None,
        cursor: str | None = None,
        native: bool = False,
        psu: Psu | None = None,
        prefer_async: bool = False,
    ) -> Transactions:
        """Get one page of an account's transactions (``GET /tpp/unified/transactions``).

        Pass its ``next_cursor`` as ``cursor``, with all other arguments unchanged. It is ``None`` on the last page.
        """
        query = {
            "account_id": _id_of(account),
            "from": since,
            "to": until,
            "status": status,
            "limit": limit,
            "cursor": cursor,
            "native": _flag(native),
        }
        answer: Transactions = await self._read(calls.UNIFIED_TRANSACTIONS, query, psu, prefer_async)
        return answer

    async def confirm_funds(
        self,
        account: Account | FundsAccount | str,
        amount: Amount,
        *,
        psu: Psu | None = None,
        prefer_async: bool = False,
    ) -> FundsConfirmation:
        """Check whether an account has an amount (``POST /tpp/unified/funds_confirmations``).

        Of an account from ``accounts``, the bank gets the identifiers that its version takes.
        """
        from causeway.tpp._generated.models import FundsRequest

        body = FundsRequest(account=_funds_account(account), amount=amount)
        call = build_request(calls.UNIFIED_FUNDS_CONFIRMATIONS, body=body, psu=psu, prefer_async=prefer_async)
        answer: FundsConfirmation = await self._fetch(call)
        return answer

    # Paying, and deferred calls

    async def pay(
        self,
        order: Payment,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        psu: Psu | None = None,
        prefer_async: bool = False,
    ) -> Initiation:
        """Initiate a payment (``POST /tpp/unified/payments``). Open its ``confirmation_url`` in the PSU's browser.

        The payment is retried after lost answers and broken connections with one ``idempotency_key``, so that it
        reaches the bank once. Pass your own key, such as the order number, to be able to retry after a crash: for 24
        hours, with the same order and the same method, because the key of a native call is another payment. Raises
        ``OutcomeUnknown`` if the bank may have the payment, ``BankUnavailable`` if it was not sent, and ``ApiError``
        with the ``reason_code`` ``refused_by_bank`` if the bank refused it, or ``not_at_this_bank`` if the bank's
        version cannot carry a member of the order.
        """
        answer: Initiation = await self._pay(
            calls.UNIFIED_PAYMENTS, order, idempotency_key, request_id, psu, prefer_async
        )
        return answer

    async def pay_bulk(
        self,
        order: BulkPayment,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        psu: Psu | None = None,
        prefer_async: bool = False,
    ) -> Initiation:
        """Initiate up to 1000 payments that the PSU confirms together (``POST /tpp/unified/bulk_payments``).

        Idempotency keys, retries and errors are the same as for ``pay``.
        """
        answer: Initiation = await self._pay(
            calls.UNIFIED_BULK_PAYMENTS, order, idempotency_key, request_id, psu, prefer_async
        )
        return answer


def _flag(native: bool) -> str | None:
    return "1" if native else None


def _id_of(account: Account | str) -> str:
    return account if isinstance(account, str) else account.account_id


def _funds_account(account: Account | FundsAccount | str) -> FundsAccount:
    from causeway.tpp._generated.models import Account, FundsAccount

    if isinstance(account, str):
        return FundsAccount(account_id=account)
    if not isinstance(account, Account):
        return account
    return FundsAccount(
        account_id=account.account_id,
        iban=account.iban,
        bban=account.bban,
        sort_code=account.sort_code,
        account_number=account.account_number,
    )


def _log_problems(problems: tuple[Problem, ...]) -> None:
    for problem in problems:
        log.warning("left out of the bank's answer: %s: %s %s", problem.position, problem.member, problem.reason)
