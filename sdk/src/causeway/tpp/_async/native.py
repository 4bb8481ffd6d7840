"""The native calls: those of the bank's protocol version, with messages of that version."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Literal

from causeway import errors
from causeway.tpp._async.caller import AsyncCaller
from causeway.tpp._generated import calls
from causeway.tpp._pages import LAST_NUMBER, PageChecker
from causeway.tpp._request import Day, build_request
from causeway.tpp._versions import are_native, version_of_order, version_of_scopes

if TYPE_CHECKING:
    from causeway.tpp._async.refresher import AsyncTokenRefresher
    from causeway.tpp._async.transport import AsyncTransport
    from causeway.tpp._generated.models import (
        AskedStatus,
        ConsentAnswer,
        NativeFundsConfirmation,
        OrderWithoutPayment,
        ReportedStatus,
    )
    from causeway.tpp._generated.models_v1 import (
        AccountAnswerV1,
        AccountsAnswerV1,
        AccountV1,
        BalancesAnswerV1,
        BulkPaymentV1,
        DirectPaymentV1,
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
        DirectPaymentV2,
        FundsRequestV2,
        InitiationAnswerV2,
        SinglePaymentV2,
        TransactionsAnswerV2,
        TransactionV2,
    )
    from causeway.tpp._generated.psu import Psu


class AsyncNativePayer(AsyncCaller):
    """The native calls that a client and a consent have in common."""

    async def payment_status(
        self,
        payment_id: str | None = None,
        *,
        request_id: str | None = None,
        bic: str | None = None,
        psu: Psu | None = None,
        prefer_async: bool = False,
    ) -> ReportedStatus | AskedStatus | OrderWithoutPayment:
        """Get the status of a payment (``GET /tpp/payment_status``), by its id or by its order's X-Request-Id.

        Banks of version 1 return ``ReportedStatus``, banks of version 2 ``AskedStatus``. ``OrderWithoutPayment``
        describes an order whose payment id is unknown. A consent queries the payments of its bank; the client alone
        queries a direct payment, with its ``bic``.
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
        """Poll for the final status of a payment until the PSU has decided, for at most ``timeout`` seconds.

        Raises ``WaitTimeout`` with the last status. Temporary failures of the bank, the hub or the network do not end
        the wait.
        """
        answer: ReportedStatus | AskedStatus | OrderWithoutPayment = await self._wait(
            self.payment_status, payment_id, request_id, bic, timeout
        )
        return answer


class AsyncNativeTpp(AsyncNativePayer):
    """The native calls of a client without a consent, ``tpp.native``."""

    async def pay_direct(
        self,
        order: DirectPaymentV1 | DirectPaymentV2,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        psu: Psu | None = None,
        prefer_async: bool = False,
    ) -> InitiationAnswerV1 | InitiationAnswerV2:
        """Initiate a payment without a consent (``POST /tpp/direct_payment_initiation``).

        Keys, retries and errors are those of ``consent.pay``. Query the status with the order's ``bic``.
        """
        answer: InitiationAnswerV1 | InitiationAnswerV2 = await self._pay(
            calls.DIRECT_PAYMENT_INITIATION,
            order,
            idempotency_key,
            request_id,
            psu,
            prefer_async,
            version=version_of_order(order),
        )
        return answer


class AsyncNativeConsent(AsyncNativePayer):
    """The native calls of a consent, ``consent.native``.

    Answers have the class of the bank's protocol version, in which the consent was given. The bank's id identifies an
    account or, at banks of version 1, the ``iban``.
    """

    def __init__(self, transport: AsyncTransport, session: AsyncTokenRefresher) -> None:
        super().__init__(transport, session)
        scopes = session.tokens.scope.split()
        self._version = version_of_scopes(scopes) if are_native(scopes) else None

    async def version(self) -> int:
        """Return the version of the bank's protocol in which the consent was given, 1 or 2.

        If the consent was requested with unified scopes, the first call queries the hub (``GET /tpp/consent``).
        """
        if self._version is None:
            consent: ConsentAnswer = await self._fetch(build_request(calls.CONSENT))
            self._version = version_of_scopes(consent.scopes)
        return self._version

    # Native accounts and balances

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
        """Get the PSU's accounts, as one answer (``GET /tpp/accounts``)."""
        answer: AccountsAnswerV1 | AccountsAnswerV2 = await self._read(
            calls.ACCOUNTS, {}, psu, prefer_async, version=await self.version()
        )
        return answer

    async def account(
        self,
        account_id: str | None = None,
        *,
        iban: str | None = None,
        psu: Psu | None = None,
        prefer_async: bool = False,
    ) -> AccountAnswerV1 | AccountAnswerV2:
        """Get one account (``GET /tpp/account``) in ``.account``. Only banks of version 1 support ``iban``."""
        query = {"account_id": account_id, "iban": iban}
        answer: AccountAnswerV1 | AccountAnswerV2 = await self._read(
            calls.ACCOUNT, query, psu, prefer_async, version=await self.version()
        )
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

        Version 1: ``.accounts``, with one entry and its ``balance``. Version 2: ``.balances``, one for each type.
        """
        query = {"account_id": account_id, "iban": iban}
        answer: BalancesAnswerV1 | BalancesAnswerV2 = await self._read(
            calls.ACCOUNT_BALANCE, query, psu, prefer_async, version=await self.version()
        )
        return answer

    # Native payments and transactions of an account, and funds

    async def payments(
        self, account_id: str | None = None, *, iban: str | None = None, page_size: int = 100, psu: Psu | None = None
    ) -> AsyncIterator[ListedPaymentV1]:
        """Yield all payments of an account at a bank of version 1 (``GET /tpp/account_payments``), page by page.

        A page that repeats the page before is left out once, because pages shift when payments arrive. Raises
        ``UnusablePages`` if it repeats again.
        """
        pages = PageChecker(repeats_allowed=1)
        for page in range(1, LAST_NUMBER + 1):
            answer = await self.payments_page(account_id, iban=iban, record_count=page_size, current_page=page, psu=psu)
            if pages.check(answer.payments, [each.id for each in answer.payments]):
                for payment in answer.payments:
                    yield payment
            if not answer.payments or len(answer.payments) < answer.paginator.limit:
                return
        raise errors.UnusablePages("pages_too_many")

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

        ``record_count`` is 1 to 100; the last page has fewer payments than its ``paginator.limit``.
        """
        query = {"account_id": account_id, "iban": iban, "record_count": record_count, "current_page": current_page}
        answer: PaymentsAnswerV1 = await self._read(calls.ACCOUNT_PAYMENTS, query, psu, prefer_async)
        return answer

    async def payment(self, payment_id: str, *, psu: Psu | None = None, prefer_async: bool = False) -> PaymentAnswerV1:
        """Get one payment of an account at a bank of version 1 (``GET /tpp/account_payment``) in ``.payment``."""
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
        """Yield all pages of an account's transactions at a bank of version 2, ``booked`` and ``pending`` apart.

        Raises ``UnusablePages`` instead of a page that repeats the page before or a ``page_key``, and after 20 empty
        pages in a row.
        """
        page_key: str | None = None
        pages = PageChecker()
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
            page_key = answer.page_key or None
            found = answer.transactions
            entries = [*(found.booked or ()), *(found.pending or ())]
            pages.check(entries, [each.transaction_id for each in entries], page_key)
            yield answer
            if page_key is None:
                return

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
    ) -> NativeFundsConfirmation:
        """Check whether the requested account has the requested amount (``POST /tpp/funds_confirmations``)."""
        call = build_request(calls.FUNDS_CONFIRMATIONS, body=request, psu=psu, prefer_async=prefer_async)
        answer: NativeFundsConfirmation = await self._fetch(call)
        return answer

    # Native payments, and their status

    async def pay(
        self,
        order: SinglePaymentV1 | SinglePaymentV2,
        *,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        psu: Psu | None = None,
        prefer_async: bool = False,
    ) -> InitiationAnswerV1 | InitiationAnswerV2:
        """Initiate a payment (``POST /tpp/payment_initiation``). Open its ``confirmation_url`` in the PSU's browser.

        The payment is retried after lost answers and broken connections with one ``idempotency_key``, so that it
        reaches the bank once. Pass your own key, such as the order number, to be able to retry after a crash: for 24
        hours, with the same order. Raises ``OutcomeUnknown`` if the bank may have the payment, ``BankUnavailable`` if
        it was not sent, and ``ApiError`` with the ``reason_code`` ``refused_by_bank`` if the bank refused it.
        """
        answer: InitiationAnswerV1 | InitiationAnswerV2 = await self._pay(
            calls.PAYMENT_INITIATION,
            order,
            idempotency_key,
            request_id,
            psu,
            prefer_async,
            version=version_of_order(order),
        )
        return answer

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

        Keys, retries and errors are those of ``pay``.
        """
        answer: InitiationAnswerV1 | InitiationAnswerV2 = await self._pay(
            calls.BULK_PAYMENT_INITIATION,
            order,
            idempotency_key,
            request_id,
            psu,
            prefer_async,
            version=version_of_order(order),
        )
        return answer
