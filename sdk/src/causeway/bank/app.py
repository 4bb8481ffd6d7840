"""An ASGI application for banks. The bank registers functions, for example to list accounts and accept payments."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from causeway._addresses import base_address
from causeway._retries import Retries
from causeway.bank import pages
from causeway.bank._consents import Consents
from causeway.bank._functions import Functions
from causeway.bank._outbox import Outbox
from causeway.bank._page_views import PageViews
from causeway.bank._payments import Payments, payment_of
from causeway.bank._webhooks import Webhooks
from causeway.bank.calls import Consent, Payment
from causeway.bank.hub import HubClient
from causeway.bank.refusals import Refused, ResourceUnknown
from causeway.bank.storage import MemoryStorage, Storage
from causeway.errors import ConfigurationError

if TYPE_CHECKING:
    import httpx

    from causeway.bank import _functions
    from causeway.bank._generated.literals import PaymentStatusV1, PaymentStatusV2
    from causeway.bank.signatures import Signer

log = logging.getLogger("causeway")
PENDING_SECONDS = 30.0
"""Number of seconds between retries of calls that the hub has not answered."""
REPORTED = Retries(waits=(0.5,))
"""The retries of status reports. They are few, so that the PSU does not wait for an unavailable hub; failed reports are
sent later.
"""
F = TypeVar("F", bound=Callable[..., Any])
SignIn = TypeVar("SignIn", bound="_functions.SignIn")
ListAccounts = TypeVar("ListAccounts", bound="_functions.ListAccounts")
ListBalances = TypeVar("ListBalances", bound="_functions.ListBalances")
ListPayments = TypeVar("ListPayments", bound="_functions.ListPayments")
FindPayment = TypeVar("FindPayment", bound="_functions.FindPayment")
ListTransactions = TypeVar("ListTransactions", bound="_functions.ListTransactions")
ConfirmFunds = TypeVar("ConfirmFunds", bound="_functions.ConfirmFunds")
Pay = TypeVar("Pay", bound="_functions.Pay")
Confirmed = TypeVar("Confirmed", bound="_functions.Confirmed")
Revoked = TypeVar("Revoked", bound="_functions.Revoked")
ShowPage = TypeVar("ShowPage", bound="_functions.ShowPage")


class Bank:
    """The ASGI application of a bank with API version 1 or 2. Serve the object itself: ``uvicorn bank:bank``.

    Functions are registered with decorators (``@bank.accounts``). Coroutine functions run in the event loop, all other
    functions run in threads. A function may raise ``Refused`` or one of its subclasses. ``psu`` and ``accounts`` are
    mandatory. A webhook without a registered function is refused as unknown.

    ``hub`` is the bank's ``HubClient``, and ``storage`` contains consents and payments.
    """

    def __init__(
        self,
        *,
        version: int,
        hub: str,
        api_key: str | Sequence[str],
        private_key: str | bytes | Signer,
        base_url: str,
        name: str = "Bank",
        storage: Storage | None = None,
        template: str = pages.TEMPLATE,
        consent_path: str = "/consent",
        routes: Sequence[BaseRoute] = (),
        http_client: httpx.AsyncClient | None = None,
        retries: Retries | None = None,
    ) -> None:
        """Create the application. Register ``base_url`` with the hub as the bank's domain, and ``base_url`` +
        ``consent_path`` as its Authorization URL.

        Args:
            version: the version of the bank protocol, 1 or 2.
            hub: the hub's URL for banks.
            api_key: the API key that the bank and the hub send. During a key rotation, a list of all accepted keys; the
            first key is sent.
            private_key: an RSA key in PEM format, or a ``Signer``; the operator of the hub registers the public key.
            base_url: the bank's URL, without a trailing slash.
            name: the bank's name on its pages.
            storage: stores consents and payments; by default in memory, for tests.
            template: the HTML of pages, with ``{bank}``, ``{title}`` and ``{content}``; alternatively, implement
            ``page``.
            consent_path: the path of the page to which the hub sends PSUs.
            routes: additional routes of the application.
            http_client: the HTTP client for calls to the hub, for example with a client certificate. The application
            does not close it.
            retries: the retries of failed calls to the hub; by default 3.
        """
        from causeway.bank.signatures import HubKeys

        keys = (api_key,) if isinstance(api_key, str) else tuple(api_key)
        if not keys or not all(keys):
            raise ConfigurationError("a bank has an API key")
        self.storage = storage or MemoryStorage()
        self._owns_client = http_client is None
        self.hub = HubClient(
            hub, version=version, api_key=keys[0], private_key=private_key, http_client=http_client, retries=retries
        )
        reporter = HubClient(
            hub,
            version=version,
            api_key=keys[0],
            private_key=self.hub.signer,
            http_client=self.hub.client,
            retries=REPORTED,
        )
        self._functions = Functions()
        self._outbox = Outbox(self.storage, reporter)
        self._consents = Consents(self.storage, self._outbox)
        base_url = base_address(base_url, "base_url")
        self._payments = Payments(
            self.hub.version, self.storage, self._functions, self._consents, self._outbox, base_url
        )
        hub_keys = HubKeys(self.hub.client, f"{self.hub.url}/bank/public_key")
        self._webhooks = Webhooks(self.hub.version, keys, hub_keys, self._functions, self._consents, self._payments)
        self._pages = PageViews(
            name,
            base_url,
            consent_path,
            template,
            self.storage,
            self._functions,
            self._consents,
            self._payments,
            self.hub,
        )
        self._app = Starlette(
            routes=[*routes, *self._routes(consent_path)],
            lifespan=self._lifespan,
            exception_handlers={Refused: self._pages.show_refusal},
        )

    def _routes(self, consent_path: str) -> list[BaseRoute]:
        return [
            Route(consent_path, self._pages.arrive, methods=["GET"]),
            Route("/consents", self._pages.list_consents, methods=["GET"]),
            Route("/decide/{secret}", self._pages.decide, methods=["GET", "POST"]),
            Route("/{path:path}", self._webhooks.respond, methods=["POST"]),
            Route("/{path:path}", _nothing, methods=["GET"]),
        ]

    @property
    def version(self) -> int:
        """The version of the bank protocol."""
        return self.hub.version.number

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle an ASGI request. Raises ``ConfigurationError`` if a mandatory function is missing."""
        if scope["type"] != "lifespan":  # where the server is told, as a failed start
            self._check()
        await self._app(scope, receive, send)

    def _check(self) -> None:
        for name in ("psu", "accounts"):
            if getattr(self._functions, name) is None:
                raise ConfigurationError(f"the bank's function {name} is missing")

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self._check()
        sender = asyncio.create_task(self._send_pending_forever())
        try:
            yield
        finally:
            sender.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await sender
            if self._owns_client:
                await self.hub.aclose()

    async def _send_pending_forever(self) -> None:
        while True:
            try:
                await self.send_pending()
            except Exception:
                log.exception("pending calls cannot be made")
            await asyncio.sleep(PENDING_SECONDS)

    # -- what the bank does by itself

    async def send_pending(self) -> None:
        """Make the calls that the hub has not answered. The running application does this every 30 seconds."""
        await self._payments.catch_up()
        for ended in await self._consents.catch_up():
            if self._functions.revoked is not None:
                await self._functions.call("revoked", ended)
        await self._outbox.send()

    async def report_status(self, payment_id: str, status: PaymentStatusV1 | PaymentStatusV2) -> None:
        """Store and report a new status of a payment. Raises ``ResourceUnknown`` if there is no such payment."""
        if await self._payments.find(payment_id) is None:
            raise ResourceUnknown
        await self._payments.report(payment_id, status)

    async def undecided_payments(self) -> list[Payment]:
        """Return the confirmed payments whose outcome is unknown: ``confirmed`` has failed, is running, or was
        interrupted.

        Compare the payments with the bank's books, and report their statuses.
        """
        return await self._payments.undecided()

    async def find_payment(self, payment_id: str) -> Payment | None:
        """Return the accepted payment with the given id, or ``None`` if there is no such payment."""
        value = await self._payments.find(payment_id)
        return payment_of(value) if value else None

    async def consents(self, psu: str) -> list[Consent]:
        """Return the active consents of a PSU, oldest first."""
        return await self._consents.of(psu)

    async def end_consent(self, psu: str, consent_id: str) -> bool:
        """End a consent at the PSU's request, and notify the hub. Returns whether the consent was active."""
        return await self._consents.end_by_psu(psu, consent_id) is not None

    # -- functions to fill in

    def psu(self, function: SignIn) -> SignIn:
        """``(request: Request) -> str | Response``: return the id of the PSU who is signed in at the bank.

        Without a signed-in PSU, return a response that begins the sign-in, with strong authentication.
        """
        return self._fill("psu", function)

    def accounts(self, function: ListAccounts) -> ListAccounts:
        """``(call: Call) -> list[AccountV1] | list[AccountReferenceV2]``: all accounts of the PSU.

        The consent page displays these accounts. Responses to the hub contain only the accounts that the PSU approved.
        """
        return self._fill("accounts", function)

    def balances(self, function: ListBalances) -> ListBalances:
        """``(call: Call, account: Account) -> list[BalanceV1] | list[BalanceV2]``: an account's balances."""
        return self._fill("balances", function)

    def payments(self, function: ListPayments) -> ListPayments:
        """``(call: Call, account: AccountV1) -> list[ListedPaymentV1] | PaymentsAnswerV1``: an account's payments.

        A returned list must contain all payments, newest first; the application divides the list into pages. A returned
        ``PaymentsAnswerV1`` must be the page requested by ``call.request``. An amount is negative for debits. Version 1
        only.
        """
        return self._fill("payments", function)

    def payment(self, function: FindPayment) -> FindPayment:
        """``(call: Call, payment_id: str) -> PaymentV1 | None``: a booked payment of the PSU. Version 1 only."""
        return self._fill("payment", function)

    def transactions(self, function: ListTransactions) -> ListTransactions:
        """``(call: Call, account: AccountReferenceV2) -> TransactionsV2 | TransactionsAnswerV2``: an account's
        transactions.

        A returned ``TransactionsV2`` must contain all transactions, newest first; the application filters and pages
        them. A returned ``TransactionsAnswerV2`` must be the page requested by ``call.request``. Version 2 only.
        """
        return self._fill("transactions", function)

    def funds(self, function: ConfirmFunds) -> ConfirmFunds:
        """``(call: Call, account: Account, amount: Decimal, currency: str) -> bool``:
        whether an account covers an amount.
        """
        return self._fill("funds", function)

    def pay(self, function: Pay) -> Pay:
        """``(order: Order) -> str | None``: accept a payment order, or refuse it by raising ``Refused``.

        Refuse an order whose amount exceeds the balance, or whose currency differs from the account's currency.

        Return the payment's id if the bank assigns ids; otherwise, the application creates one. No money moves before
        the PSU confirms the payment. This function is called once per order.
        """
        return self._fill("pay", function)

    def confirmed(self, function: Confirmed) -> Confirmed:
        """``(payment: Payment) -> PaymentStatusV1 | PaymentStatusV2 | None``: book a confirmed payment.

        The returned status is reported to the hub. If the function returns ``None``, the payment is considered
        executed.

        The function is called once per payment. If it raises ``Refused``, the payment is rejected. After any other
        error, the payment remains undecided until ``report_status`` is called.
        """
        return self._fill("confirmed", function)

    def revoked(self, function: Revoked) -> Revoked:
        """``(consent: Consent) -> None``: handle the end of a consent. The function may be called more than once for
        the same consent.
        """
        return self._fill("revoked", function)

    def page(self, function: ShowPage) -> ShowPage:
        """``(request: Request, page: Page) -> str | Response``: the HTML of a page, instead of the template."""
        return self._fill("page", function)

    def _fill(self, name: str, function: F) -> F:
        setattr(self._functions, name, function)
        return function


async def _nothing(_: Request) -> Response:
    return PlainTextResponse("There is nothing here.", 404)
