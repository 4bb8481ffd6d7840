"""The part of the tour with a TPP and a PSU at one bank: consent, accounts, payments, revocation and events. The TPP
uses the Python package.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from causeway import tpp as sdk
from infra.event_receiver import SECONDS, EventReceiver
from infra.psu_browser import Browser, approve_consent, confirm_payment, open_signed_in
from infra.tour.guide import Guide, TourFailed

_SCOPES: list[sdk.Scope] = [
    *("accounts:read", "balances:read", "transactions:read"),
    *("payments:write", "bulk_payments:write", "funds:read"),
]
_PAYEE = "DE89370400440532013000"


class TppTour:
    """The tour of a TPP that receives events at ``receiver``, and of a PSU who returns to ``callback_url``."""

    def __init__(self, tpp: sdk.Tpp, title: str, callback_url: str, receiver: EventReceiver, guide: Guide) -> None:
        self._tpp = tpp
        self._title = title
        self._receiver = receiver
        self._guide = guide
        self._psu = Browser(callback_url, guide.page)
        self._payments_callback = f"{tpp.base_url}/payments/callback"

    def play(self, bank: Mapping[str, Any]) -> None:
        """Run the scenario at ``bank``, an entry of the stack file."""
        self._guide.chapter(f"{bank['name']} ({bank['bic']}, version {bank['api_version']})")
        consent = self._authorize(bank)
        account = self._read(consent)
        self._pay(bank, consent, account)
        self._guide.step("The TPP refreshes its tokens")
        consent.refresh()
        self._revoke(bank, consent)

    def _authorize(self, bank: Mapping[str, Any]) -> sdk.Consent:
        step, verifier = self._guide.step, sdk.new_code_verifier()
        step("The TPP requests an authorization")
        asked = self._tpp.authorize(bic=bank["bic"], scopes=_SCOPES, code_verifier=verifier)
        step("The PSU signs in at the bank, selects accounts and confirms")
        callback = approve_consent(self._psu, asked.redirect_url)
        step("The TPP receives a signed event about the consent")
        self._receiver.wait_for_event("consent.authorised", state=asked.state)
        step("The TPP exchanges the code for tokens")
        return self._tpp.redeem_callback(callback, state=asked.state, code_verifier=verifier)

    def _read(self, consent: sdk.Consent) -> sdk.Account:
        """Read the PSU's accounts and return the first account."""
        step = self._guide.step
        step("The TPP reads the accounts; the hub queries the bank with a signed webhook")
        account = next(consent.accounts())
        step("It requests a balance asynchronously and fetches the result later")
        consent.balances(account, prefer_async=True)
        step("It reads the latest transactions on the first account")
        consent.transactions_page(account, limit=2)
        step("It checks whether funds are available for a purchase of 25.00")
        consent.confirm_funds(account, sdk.Amount(value=Decimal("25.00"), currency=account.currency))
        return account

    def _pay(self, bank: Mapping[str, Any], consent: sdk.Consent, account: sdk.Account) -> None:
        step, bic, key = self._guide.step, bank["bic"], str(uuid.uuid4())
        order = _order(account, f"{self._payments_callback}?{urlencode({'bic': bic})}")
        step("It initiates a payment, and the PSU confirms it at the bank")
        initiated = consent.pay(order, idempotency_key=key)
        step("It repeats the request with its Idempotency-Key; the bank is not called again")
        if consent.pay(order, idempotency_key=key) != initiated:
            raise TourFailed("the repeated request got a different response")
        self._confirm(initiated, consent)
        step("It initiates a direct payment, which needs no consent")
        self._confirm(self._tpp.pay_direct(order, bic=bic), self._tpp, bic)

    def _confirm(self, initiated: sdk.Initiation, payer: sdk.Consent | sdk.Tpp, bic: str | None = None) -> None:
        """Have the PSU confirm the payment. The TPP then queries its status and receives the event."""
        back = confirm_payment(Browser(self._payments_callback, self._guide.page), initiated.confirmation_url)
        if parse_qs(urlsplit(back).query).get("payment_id") != [initiated.payment_id]:
            raise TourFailed("the payment in the callback is not the one that was initiated")
        status = payer.payment_status(initiated.payment_id, bic=bic)
        if status.is_final and not sdk.is_paid(status):
            raise TourFailed("the payment was not executed")
        self._receiver.wait_for_event("payment.status_changed", payment_id=initiated.payment_id, status=status.status)

    def _revoke(self, bank: Mapping[str, Any], consent: sdk.Consent) -> None:
        step = self._guide.step
        step("The PSU finds the consent at the bank")
        self._find_at_bank(bank, "Revoke", "active")
        step("The TPP revokes the consent, and the next call with its token is refused")
        consent.revoke()
        try:
            consent.accounts_answer()
            raise TourFailed("a call with the token of a revoked consent was not refused")
        except sdk.AuthorizationEnded:
            step("It receives a signed event about the revocation")
        self._receiver.wait_for_event("consent.revoked", consent_id=consent.consent_id, revoked_by="tpp")
        step("The PSU sees at the bank that the consent was revoked")
        self._find_at_bank(bank, "Revoked", "revoked")

    def _find_at_bank(self, bank: Mapping[str, Any], cell: str, state: str) -> None:
        deadline = time.monotonic() + SECONDS
        while open_signed_in(self._psu, f"{bank['domain']}/consents").text_after(self._title) != [cell]:
            if time.monotonic() > deadline:
                raise TourFailed(f"{bank['name']} does not list the consent for {self._title} as {state}")
            time.sleep(0.25)
        self._guide.say(f"{self._title}: {state}", "PSU", f"{self._title}: {state}")


def _order(account: sdk.Account, callback: str) -> sdk.Payment:
    """Build a payment order of 12.50 to a bookshop, in the account's currency."""
    return sdk.Payment(
        creditor=sdk.Creditor(name="Oak Street Books", iban=_PAYEE),
        amount=sdk.Amount(value=Decimal("12.50"), currency=account.currency),
        callback_url=callback,
    )
