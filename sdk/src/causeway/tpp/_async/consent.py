"""A PSU's consent at one bank: accounts, payments, and automatic token refresh."""

from __future__ import annotations

import datetime
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Literal

from causeway import errors
from causeway.tpp._async.caller import AsyncCaller
from causeway.tpp._async.refresher import AsyncTokenRefresher
from causeway.tpp._generated import calls
from causeway.tpp._request import Attempt, Request, build_request, read_answer

if TYPE_CHECKING:
    from causeway.tpp._async.transport import AsyncTransport
    from causeway.tpp._call import Call
    from causeway.tpp._generated.models import ConsentAnswer, FundsConfirmation, IntrospectionAnswer
    from causeway.tpp._generated.models_v1 import (
        AccountAnswerV1,
        AccountsAnswerV1,
        AccountV1,
        BalancesAnswerV1,
        BulkPaymentV1,
        FundsRequestV1,
        InitiationAnswerV1,
        ListedPaymentV1,
        PaymentAnswerV1,
        PaymentsAnswerV1,
        SinglePaymentV1,
    )
    from causeway.tpp._generated.models_v2 import (
        AccountAnswerV2,
        AccountReferenceV2,
        AccountsAnswerV2,
        BalancesAnswerV2,
        BulkPaymentV2,
        FundsRequestV2,
        InitiationAnswerV2,
        SinglePaymentV2,
        TransactionsAnswerV2,
        TransactionV2,
    )
    from causeway.tpp._generated.psu import Psu
    from causeway.tpp.tokens import OnRefresh, Reload, Tokens

Day = datetime.date | str


class AsyncConsent(AsyncCaller):
    """One consent of a PSU, created by ``AsyncTpp.redeem`` or ``AsyncTpp.consent``.

    The access token is refreshed automatically a minute before it expires, and when the hub refuses it. Concurrent
    calls share one refresh. Store the tokens that are passed to ``on_refresh``. If several objects or processes use the
    same consent, pass ``reload``, because a second use of a refresh token after more than a minute ends the consent.

    Responses have the class for the bank's protocol version, which is determined by the consent's scopes. ``version``
    is 1 or 2. ``consent_id`` is the consent's id at the hub.

    Methods that call the bank accept ``psu``, the data of the present PSU's request, and ``prefer_async``. With
    ``prefer_async``, the hub accepts the call immediately and calls the bank later, and the method waits up to five and
    a half minutes for the outcome. An account is identified by the bank's id or, at banks of version 1, by the
    ``iban``.
    """

    def __init__(
        self,
        transport: AsyncTransport,
        tokens: Tokens,
        on_refresh: OnRefresh | None = None,
        reload: Reload | None = None,
    ) -> None:
        self._transport = transport
        self._session = AsyncTokenRefresher(transport, tokens, on_refresh, reload)
        self.consent_id = tokens.consent_id
        self.version = tokens.version

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.consent_id} at a bank of version {self.version}>"

    @property
    def tokens(self) -> Tokens:
        """The current tokens of the consent."""
        return self._session.tokens

    async def refresh(self) -> Tokens:
        """Refresh the tokens immediately. Raises ``AuthorizationEnded`` if the consent has ended."""
        renewed = await self._session.renew(self.tokens)
        if renewed is None:
            raise errors.AuthorizationEnded(400, title="the consent has ended", error="invalid_grant")
        return renewed

    async def _send(self, request: Request) -> Attempt:
        return await self._transport.send(request, self._session)

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
        self, *, psu: Psu | None = None, prefer_async: bool = False
    ) -> AsyncIterator[AccountV1 | AccountReferenceV2]:
        """Yield the PSU's accounts (``GET /tpp/accounts``). The first iteration sends the request."""
        answer = await self.accounts_answer(psu=psu, prefer_async=prefer_async)
        for account in answer.accounts:
            yield account

    async def accounts_answer(
        self, *, psu: Psu | None = None, prefer_async: bool = False
    ) -> AccountsAnswerV1 | AccountsAnswerV2:
        """Get all accounts of the PSU in a single response (``GET /tpp/accounts``)."""
        answer: AccountsAnswerV1 | AccountsAnswerV2 = await self._read(calls.ACCOUNTS, {}, psu, prefer_async)
        return answer

    async def account(
        self,
        account_id: str | None = None,
        *,
        iban: str | None = None,
        psu: Psu | None = None,
        prefer_async: bool = False,
    ) -> AccountAnswerV1 | AccountAnswerV2:
        """Get one account (``GET /tpp/account``) as ``.account`` of the response. Only banks of version 1 support
        ``iban``.
        """
        query = {"account_id": account_id, "iban": iban}
        answer: AccountAnswerV1 | AccountAnswerV2 = await self._read(calls.ACCOUNT, query, psu, prefer_async)
        return answer

    async def balances(
        self,
        account_id: str | None = None,
        *,
        iban: str | None = None,
        psu: Psu | None = None,
        prefer_async: bool = False,
    ) -> BalancesAnswerV1 | BalancesAnswerV2:
        """Get an account's balances (``GET /tpp/account_balance``).

        In version 1, the response has ``.accounts`` with one entry, which has a ``balance``. In version 2, it has
        ``.balances`` with one entry for each type of balance.
        """
        query = {"account_id": account_id, "iban": iban}
        answer: BalancesAnswerV1 | BalancesAnswerV2 = await self._read(calls.ACCOUNT_BALANCE, query, psu, prefer_async)
        return answer

    # Payments and transactions of an account, and funds

    async def payments(
        self, account_id: str | None = None, *, iban: str | None = None, page_size: int = 100, psu: Psu | None = None
    ) -> AsyncIterator[ListedPaymentV1]:
        """Yield all payments of an account at a bank of version 1 (``GET /tpp/account_payments``), page by page."""
        page, earlier = 1, None
        while True:
            answer = await self.payments_page(account_id, iban=iban, record_count=page_size, current_page=page, psu=psu)
            if answer.payments and answer.payments == earlier:
                raise errors.UnexpectedAnswer(f"the bank gives the page {page - 1} again as the page {page}")
            for payment in answer.payments:
                yield payment
            if not answer.payments or len(answer.payments) < answer.paginator.limit:
                return
            page, earlier = page + 1, answer.payments

    async def payments_page(
        self,
        account_id: str | None = None,
        *,
        iban: str | None = None,
        record_count: int | None = None,
        current_page: int | None = None,
        psu: Psu | None = None,
        prefer_async: bool = False,
    ) -> PaymentsAnswerV1:
        """Get one page of an account's payments at a bank of version 1 (``GET /tpp/account_payments``).

        ``record_count`` is 1 to 100. The last page has fewer payments than ``paginator.limit`` of the page.
        """
        query = {"account_id": account_id, "iban": iban, "record_count": record_count, "current_page": current_page}
        answer: PaymentsAnswerV1 = await self._read(calls.ACCOUNT_PAYMENTS, query, psu, prefer_async)
        return answer

    async def payment(self, payment_id: str, *, psu: Psu | None = None, prefer_async: bool = False) -> PaymentAnswerV1:
        """Get one payment of an account at a bank of version 1 (``GET /tpp/account_payment``) as ``.payment`` of the
        response.
        """
        query = {"payment_id": payment_id}
        answer: PaymentAnswerV1 = await self._read(calls.ACCOUNT_PAYMENT, query, psu, prefer_async)
        return answer

    async def transactions(
        self,
        account_id: str,
        *,
        booking_status: Literal["booked", "pending"] = "booked",
        date_from: Day | None = None,
        date_to: Day | None = None,
        page_size: int | None = None,
        psu: Psu | None = None,
    ) -> AsyncIterator[TransactionV2]:
        """Yield all booked or all pending transactions of an account at a bank of version 2, page by page."""
        pages = self.transactions_pages(
            account_id,
            booking_status=booking_status,
            date_from=date_from,
            date_to=date_to,
            page_size=page_size,
            psu=psu,
        )
        async for page in pages:
            found = page.transactions
            for transaction in (found.booked if booking_status == "booked" else found.pending) or ():
                yield transaction

    async def transactions_pages(
        self,
        account_id: str,
        *,
        booking_status: Literal["booked", "pending", "both"] = "both",
        date_from: Day | None = None,
        date_to: Day | None = None,
        page_size: int | None = None,
        psu: Psu | None = None,
    ) -> AsyncIterator[TransactionsAnswerV2]:
        """Yield all pages of an account's transactions at a bank of version 2. Each page lists ``booked`` and
        ``pending`` transactions separately.
        """
        page_key: str | None = None
        earlier: set[str] = set()
        while True:
            answer = await self.transactions_page(
                account_id,
                booking_status=booking_status,
                page_key=page_key,
                page_size=page_size,
                date_from=date_from,
                date_to=date_to,
                psu=psu,
            )
            yield answer
            if answer.page_key is None:
                return
            page_key = answer.page_key
            if page_key in earlier:
                raise errors.UnexpectedAnswer(f"the bank names the page {page_key} as the next one a second time")
            earlier.add(page_key)

    async def transactions_page(
        self,
        account_id: str,
        *,
        booking_status: Literal["booked", "pending", "both"] = "both",
        page_key: str | None = None,
        page_size: int | None = None,
        date_from: Day | None = None,
        date_to: Day | None = None,
        psu: Psu | None = None,
        prefer_async: bool = False,
    ) -> TransactionsAnswerV2:
        """Get one page of an account's transactions at a bank of version 2 (``GET /tpp/account_transactions``).

        Dates are ``datetime.date`` or ``YYYY-MM-DD``; ``page_size`` is 1 to 999. The last page has no ``page_key``.
        """
        query = {
            "account_id": account_id,
            "booking_status": booking_status,
            "page_key": page_key,
            "page_size": page_size,
            "date_from": date_from,
            "date_to": date_to,
        }
        answer: TransactionsAnswerV2 = await self._read(calls.ACCOUNT_TRANSACTIONS, query, psu, prefer_async)
        return answer

    async def confirm_funds(
        self, request: FundsRequestV1 | FundsRequestV2, *, psu: Psu | None = None, prefer_async: bool = False
    ) -> FundsConfirmation:
        """Check whether the requested account has the requested amount (``POST /tpp/funds_confirmations``)."""
        call = build_request(calls.FUNDS_CONFIRMATIONS, body=request, psu=psu, prefer_async=prefer_async)
        answer: FundsConfirmation = await self._fetch(call, self.version)
        return answer

    # Paying, and deferred calls

    async def pay(
        self,
        order: SinglePaymentV1 | SinglePaymentV2,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        psu: Psu | None = None,
        prefer_async: bool = False,
    ) -> InitiationAnswerV1 | InitiationAnswerV2:
        """Initiate a payment (``POST /tpp/payment_initiation``). Open the ``confirmation_url`` of the response in the
        PSU's browser.

        After a lost response or connection, the payment is retried with the same ``idempotency_key``, so that the bank
        receives it only once. If you pass a key, such as the order number, you can retry the same order after a crash,
        for 24 hours. Raises ``OutcomeUnknown`` if the bank may have received the payment, ``BankUnavailable`` if the
        payment was not sent, and ``ApiError`` with the ``reason_code`` ``refused_by_bank`` if the bank refused the
        payment.
        """
        return await self._pay(calls.PAYMENT_INITIATION, order, idempotency_key, request_id, psu, prefer_async)

    async def pay_bulk(
        self,
        order: BulkPaymentV1 | BulkPaymentV2,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        psu: Psu | None = None,
        prefer_async: bool = False,
    ) -> InitiationAnswerV1 | InitiationAnswerV2:
        """Initiate up to 1000 payments that the PSU confirms together (``POST /tpp/bulk_payment_initiation``).

        Idempotency keys, retries and errors are the same as for ``pay``.
        """
        return await self._pay(calls.BULK_PAYMENT_INITIATION, order, idempotency_key, request_id, psu, prefer_async)

    async def _pay(
        self,
        call: Call,
        order: SinglePaymentV1 | SinglePaymentV2 | BulkPaymentV1 | BulkPaymentV2,
        idempotency_key: str | None,
        request_id: str | None,
        psu: Psu | None,
        prefer_async: bool,
    ) -> InitiationAnswerV1 | InitiationAnswerV2:
        request = build_request(
            call,
            kind="payment",
            body=order,
            psu=psu,
            prefer_async=prefer_async,
            request_id=request_id,
            idempotency_key=idempotency_key,
        )
        answer: InitiationAnswerV1 | InitiationAnswerV2 = await self._fetch(request, self.version)
        return answer

    async def _read(self, call: Call, query: dict[str, Any], psu: Psu | None, prefer_async: bool) -> Any:
        request = build_request(call, query=query, psu=psu, prefer_async=prefer_async)
        return await self._fetch(request, self.version)
