"""The functions that a bank implements."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from causeway.bank.refusals import ResourceUnknown

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from causeway.bank._generated.models_v1 import (
        BalanceV1,
        FundsAnswerV1,
        ListedPaymentV1,
        PaymentsAnswerV1,
        PaymentV1,
    )
    from causeway.bank._generated.models_v2 import BalanceV2, TransactionsAnswerV2, TransactionsV2
    from causeway.bank.accounts import Account
    from causeway.bank.calls import Call, Consent, Order, Payment
    from causeway.bank.pages import Page

    Rows = Sequence[ListedPaymentV1] | PaymentsAnswerV1
    Found = TransactionsV2 | TransactionsAnswerV2
    Balances = Sequence[BalanceV1] | Sequence[BalanceV2]
    Funds = bool | FundsAnswerV1
    SignIn = Callable[[Request], str | Response | Awaitable[str | Response]]
    ListAccounts = Callable[[Call], Sequence[Account] | Awaitable[Sequence[Account]]]
    ListBalances = Callable[[Call, Any], Balances | Awaitable[Balances]]
    ListPayments = Callable[[Call, Any], Rows | Awaitable[Rows]]
    FindPayment = Callable[[Call, str], PaymentV1 | Awaitable[PaymentV1 | None] | None]
    ListTransactions = Callable[[Call, Any], Found | Awaitable[Found]]
    ConfirmFunds = Callable[[Call, Any, Any, str], Funds | Awaitable[Funds]]
    Pay = Callable[[Order], str | Awaitable[str | None] | None]
    Confirmed = Callable[[Payment], Any]
    Revoked = Callable[[Consent], Awaitable[None] | None]
    ShowPage = Callable[[Request, Page], str | Response | Awaitable[str | Response]]


@dataclass
class Functions:
    """The functions of a bank by name; ``None`` if the bank does not implement a function."""

    psu: SignIn | None = None
    accounts: ListAccounts | None = None
    balances: ListBalances | None = None
    payments: ListPayments | None = None
    payment: FindPayment | None = None
    transactions: ListTransactions | None = None
    funds: ConfirmFunds | None = None
    pay: Pay | None = None
    confirmed: Confirmed | None = None
    revoked: Revoked | None = None
    page: ShowPage | None = None

    async def call(self, name: str, *arguments: object) -> Any:
        """Call a function and return its result. Raises ``ResourceUnknown`` if the bank does not implement the
        function.

        Coroutine functions run in the event loop, other functions in a thread.
        """
        function = getattr(self, name)
        if function is None:
            raise ResourceUnknown
        if inspect.iscoroutinefunction(function):
            return await function(*arguments)
        answer = await run_in_threadpool(function, *arguments)
        return await answer if inspect.isawaitable(answer) else answer
