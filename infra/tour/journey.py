"""A TPP and a PSU at one bank: consent, accounts, payments, revocation, and events. The TPP is the Python package."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from causeway import tpp as sdk
from chalicelib.openbanking.records.client_record import Client
from infra.tour import polling
from infra.tour.browser import Browser, approve_consent, confirm_payment, open_signed_in
from infra.tour.guide import Guide
from infra.tour.orders import Orders, payment_orders
from infra.tour.polling import TourFailed
from infra.tour.receiver import EventReceiver

_SCOPES: Mapping[int, list[sdk.Scope]] = {
    1: [
        *("account.list", "account.details", "account.balance", "account.payments"),
        *("payment.init", "card_based.funds_confirmations"),
    ],
    2: [
        *("accounts", "accounts.balances", "accounts.transactions"),
        *("payments.single", "payments.bulk", "funds_confirmations"),
    ],
}
_STATUSES = ("payment_status", "transaction_status")
_ACTIVE, _ENDED = "Revoke", "Revoked"
"""The cell next to a TPP in the bank's list of consents: a button, or the state of the consent."""

Account = sdk.AccountV1 | sdk.AccountReferenceV2
Initiated = sdk.InitiationAnswerV1 | sdk.InitiationAnswerV2


class BankTour:
    """The journey of one client, played at one bank at a time."""

    def __init__(self, tpp: sdk.Tpp, client: Client, receiver: EventReceiver, guide: Guide) -> None:
        self._tpp = tpp
        self._client = client
        self._receiver = receiver
        self._guide = guide
        self._payments_callback = f"{tpp.base_url}/payments/callback"

    def bank(self, bank: Mapping[str, Any]) -> None:
        """Play the journey at ``bank``, an entry of the stack file.

        Raises:
            TourFailed, NavigationFailed, CausewayError.
        """
        bic, version = bank["bic"], bank["api_version"]
        self._guide.chapter(f"{bank['name']} ({bic}, version {version})")
        consent = self._authorize(bic, _SCOPES[version])
        account = self._accounts(consent)
        callback = f"{self._payments_callback}?{urlencode({'bic': bic})}"
        orders = payment_orders(version, bic, _iban(account), account.currency, callback)
        self._payments(consent, orders)

        self._guide.step("The TPP refreshes its tokens")
        consent.refresh()
        self._revocation(bank, consent)

    def _authorize(self, bic: str, scopes: list[sdk.Scope]) -> sdk.Consent:
        guide, verifier = self._guide, sdk.new_code_verifier()
        guide.step("The TPP requests an authorization")
        asked = self._tpp.authorize(bic=bic, scopes=scopes, code_verifier=verifier)

        guide.step("The PSU signs in at the bank, selects accounts and confirms")
        callback = approve_consent(Browser(self._client.callback_url, guide.page), asked.redirect_url)

        guide.step("The TPP receives a signed event about the consent")
        self._expect_event("consent.authorised", state=asked.state)

        guide.step("The TPP exchanges the code for tokens")
        return self._tpp.redeem_callback(callback, state=asked.state, code_verifier=verifier)

    def _revocation(self, bank: Mapping[str, Any], consent: sdk.Consent) -> None:
        """The TPP ends the consent; the bank and the TPP are notified."""
        guide, title = self._guide, self._client.title
        browser, place = Browser(self._client.callback_url, guide.page), f"{bank['domain']}/consents"

        guide.step("The PSU finds the consent at the bank")
        if open_signed_in(browser, place).text_after(title) != [_ACTIVE]:
            raise TourFailed(f"the bank does not list the consent for {title}")
        guide.print_finding(f"{title}: active")

        guide.step("The TPP revokes the consent, and the next call with its token is refused")
        consent.revoke()
        _expect_end(consent)

        guide.step("It receives a signed event about the revocation")
        self._expect_event("consent.revoked", consent_id=consent.consent_id, revoked_by="tpp")

        guide.step("The PSU sees at the bank that the consent was revoked")
        polling.wait_for(
            lambda: open_signed_in(browser, place).text_after(title) == [_ENDED],
            f"{bank['name']} did not list the consent for {title} as revoked",
        )
        guide.print_finding(f"{title}: {_ENDED.lower()}")

    def _expect_event(self, type_: str, **members: Any) -> None:
        """Wait for an event and print it. Raises: TourFailed."""
        self._guide.event(self._receiver.wait_for_event(type_, **members))

    def _accounts(self, consent: sdk.Consent) -> Account:
        """Read the PSU's accounts. Returns the first account."""
        guide = self._guide
        guide.step("The TPP reads the accounts; the hub queries the bank with a signed webhook")
        account = next(consent.accounts(), None)
        if account is None:
            raise TourFailed("the bank returned no accounts")
        if isinstance(account, sdk.AccountV1):
            guide.step("It requests a balance asynchronously and fetches the result later")
            consent.balances(account.id, prefer_async=True)
        else:
            consent.balances(account.resource_id)

        guide.step("It reads the latest transactions on the first account")
        if isinstance(account, sdk.AccountV1):
            consent.payments_page(account.id, record_count=2)
        else:
            consent.transactions_page(account.resource_id, booking_status="booked", page_size=2)

        guide.step("It checks whether funds are available for a purchase of 25.00")
        consent.confirm_funds(funds_request(account))
        return account

    def _payments(self, consent: sdk.Consent, orders: Orders) -> None:
        guide = self._guide
        guide.step("It initiates a single payment, and the PSU confirms it at the bank")
        key = str(uuid.uuid4())
        taken = consent.pay(orders.single, idempotency_key=key)

        guide.step("It repeats the request with its Idempotency-Key; the bank is not called again")
        if consent.pay(orders.single, idempotency_key=key) != taken:
            raise TourFailed("the repeated request got a different response")
        self._confirm(taken, consent)

        is_later = isinstance(orders.bulk, sdk.BulkPaymentV2)
        later = ", result fetched later" if is_later else ""
        guide.step(f"It initiates a bulk payment of two items, confirmed once{later}")
        self._confirm(consent.pay_bulk(orders.bulk, prefer_async=is_later), consent)

        guide.step("It initiates a direct payment, which needs no consent")
        self._confirm(self._tpp.pay_direct(orders.direct), self._tpp, orders.direct.bic)

    def _confirm(self, taken: Initiated, payer: sdk.Consent | sdk.Tpp, bic: str | None = None) -> None:
        """The PSU confirms the payment; the TPP queries its status and receives the event."""
        back = confirm_payment(Browser(self._payments_callback, self._guide.page), taken.confirmation_url)
        if parse_qs(urlsplit(back).query).get("payment_id") != [taken.payment_id]:
            raise TourFailed("the payment in the callback is not the one that was initiated")
        status = payer.payment_status(taken.payment_id, bic=bic)
        if sdk.is_final(status) and not sdk.is_paid(status):
            raise TourFailed("the payment was not executed")
        reported = {name: value for name, value in status.to_json().items() if name in _STATUSES}
        self._expect_event("payment.status_changed", payment_id=taken.payment_id, **reported)


def funds_request(account: Account) -> sdk.FundsRequestV1 | sdk.FundsRequestV2:
    """Whether there are 25.00 in the account's currency, in the format of the account's version."""
    amount, iban = Decimal("25.00"), _iban(account)
    if isinstance(account, sdk.AccountV1):
        amount_v1 = sdk.FundsAmountV1(amount=amount, currency=account.currency)
        return sdk.FundsRequestV1(account=sdk.FundsAccountV1(iban=iban), instructed_amount=amount_v1)
    amount_v2 = sdk.InstructedAmountV2(amount=amount, currency=account.currency)
    return sdk.FundsRequestV2(account=sdk.PaymentAccountV2(iban=iban), instructed_amount=amount_v2)


def _iban(account: Account) -> str:
    """The account's IBAN. Raises: TourFailed, if it has none."""
    if account.iban is None:
        raise TourFailed("the first account has no IBAN")
    return account.iban


def _expect_end(consent: sdk.Consent) -> None:
    """Make a call that has to be refused. Raises: TourFailed, if it is not."""
    try:
        consent.accounts_answer()
    except sdk.AuthorizationEnded:
        return
    raise TourFailed("a call with the token of a revoked consent was not refused")
