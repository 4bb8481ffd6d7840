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

_SCOPES: Mapping[int, list[sdk.Scope]] = {
    1: ["account.list", "account.balance", "account.payments", "payment.init", "card_based.funds_confirmations"],
    2: [
        *("accounts", "accounts.balances", "accounts.transactions"),
        *("payments.single", "payments.bulk", "funds_confirmations"),
    ],
}
_STATUSES = ("payment_status", "transaction_status")
Account = sdk.AccountV1 | sdk.AccountReferenceV2
Initiated = sdk.InitiationAnswerV1 | sdk.InitiationAnswerV2


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
        asked = self._tpp.authorize(bic=bank["bic"], scopes=_SCOPES[bank["api_version"]], code_verifier=verifier)
        step("The PSU signs in at the bank, selects accounts and confirms")
        callback = approve_consent(self._psu, asked.redirect_url)
        step("The TPP receives a signed event about the consent")
        self._receiver.wait_for_event("consent.authorised", state=asked.state)
        step("The TPP exchanges the code for tokens")
        return self._tpp.redeem_callback(callback, state=asked.state, code_verifier=verifier)

    def _read(self, consent: sdk.Consent) -> Account:
        step = self._guide.step
        step("The TPP reads the accounts; the hub queries the bank with a signed webhook")
        account = next(consent.accounts())
        step("It requests a balance asynchronously and fetches the result later")
        number = account.id if isinstance(account, sdk.AccountV1) else account.resource_id
        consent.balances(number, prefer_async=True)
        step("It reads the latest transactions on the first account")
        if isinstance(account, sdk.AccountV1):
            consent.payments_page(number, record_count=2)
        else:
            consent.transactions_page(number, booking_status="booked", page_size=2)
        step("It checks whether funds are available for a purchase of 25.00")
        consent.confirm_funds(funds_request(account))
        return account

    def _pay(self, bank: Mapping[str, Any], consent: sdk.Consent, account: Account) -> None:
        step, bic, key = self._guide.step, bank["bic"], str(uuid.uuid4())
        order = _order(account, f"{self._payments_callback}?{urlencode({'bic': bic})}")
        step("It initiates a payment, and the PSU confirms it at the bank")
        initiated = consent.pay(order, idempotency_key=key)
        step("It repeats the request with its Idempotency-Key; the bank is not called again")
        if consent.pay(order, idempotency_key=key) != initiated:
            raise TourFailed("the repeated request got a different response")
        self._confirm(initiated, consent)
        step("It initiates a direct payment, which needs no consent")
        direct = sdk.DirectPaymentV1 if isinstance(order, sdk.SinglePaymentV1) else sdk.DirectPaymentV2
        self._confirm(self._tpp.pay_direct(direct.from_json({**order.to_json(), "bic": bic})), self._tpp, bic)

    def _confirm(self, initiated: Initiated, payer: sdk.Consent | sdk.Tpp, bic: str | None = None) -> None:
        back = confirm_payment(Browser(self._payments_callback, self._guide.page), initiated.confirmation_url)
        if parse_qs(urlsplit(back).query).get("payment_id") != [initiated.payment_id]:
            raise TourFailed("the payment in the callback is not the one that was initiated")
        status = payer.payment_status(initiated.payment_id, bic=bic)
        if sdk.is_final(status) and not sdk.is_paid(status):
            raise TourFailed("the payment was not executed")
        reported = {name: value for name, value in status.to_json().items() if name in _STATUSES}
        self._receiver.wait_for_event("payment.status_changed", payment_id=initiated.payment_id, **reported)

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


def funds_request(account: Account) -> sdk.FundsRequestV1 | sdk.FundsRequestV2:
    """Build a request that asks whether 25.00 are available, in the format of the account's version."""
    amount: dict[str, Any] = {"amount": Decimal("25.00"), "currency": account.currency}
    if isinstance(account, sdk.AccountV1):
        payer = sdk.FundsAccountV1(iban=str(account.iban))
        return sdk.FundsRequestV1(account=payer, instructed_amount=sdk.FundsAmountV1(**amount))
    debtor = sdk.PaymentAccountV2(iban=account.iban)
    return sdk.FundsRequestV2(account=debtor, instructed_amount=sdk.InstructedAmountV2(**amount))


def _order(account: Account, callback: str) -> sdk.SinglePaymentV1 | sdk.SinglePaymentV2:
    price, currency, shop = Decimal("12.50"), account.currency, "Oak Street Books"
    if isinstance(account, sdk.AccountV1):
        iban = "GB33BUKB20201555555555"
        return sdk.SinglePaymentV1(
            amount=price, currency=currency, receiver_name=shop, receiver_iban=iban, callback_url=callback
        )
    creditor = sdk.PaymentAccountV2(iban="DE89370400440532013000")
    amount = sdk.InstructedAmountV2(amount=price, currency=currency)
    return sdk.SinglePaymentV2(
        creditor_account=creditor, creditor_name=shop, instructed_amount=amount, callback_url=callback
    )
