"""A TPP and a PSU at one bank: consent, accounts, payments, revocation, and events."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from chalicelib.openbanking.records.client_record import Client
from infra.tour.browser import Browser, approve_consent, confirm_payment, open_signed_in
from infra.tour.calls import TourFailed, TppCalls, wait_for
from infra.tour.guide import Guide
from infra.tour.receiver import EventReceiver

_SCOPES = {
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
_FETCHED_LATER = ", result fetched later"
_RECEIVERS = {"GBP": "GB33BUKB20201555555555", "EUR": "DE89370400440532013000"}


class BankTour:
    """The journey of one client, played at one bank at a time."""

    def __init__(self, base: str, client: Client, receiver: EventReceiver, guide: Guide) -> None:
        self._base = base
        self._client = client
        self._receiver = receiver
        self._guide = guide
        calls = TppCalls(base, client.client_id, guide)
        self._call, self._call_later = calls.call, calls.call_later

    def bank(self, bank: Mapping[str, Any]) -> None:
        """Play the journey at ``bank``, an entry of the stack file. Raises: TourFailed, NavigationFailed."""
        guide = self._guide
        bic, version = bank["bic"], bank["api_version"]
        guide.chapter(f"{bank['name']} ({bic}, version {version})")

        guide.step("The TPP requests an authorization")
        asked = self._call("POST", "/tpp/authorize", {"bic": bic, "scopes": _SCOPES[version]})

        guide.step("The PSU signs in at the bank, selects accounts and confirms")
        callback = approve_consent(Browser(self._client.callback_url, guide.page), asked["redirect_url"])
        query = _query(callback)
        if query.get("state") != asked["state"]:
            raise TourFailed("the state in the callback is not the one that was sent")

        guide.step("The TPP receives a signed event about the consent")
        self._expect_event("consent.authorised", state=asked["state"])

        guide.step("The TPP exchanges the code for tokens")
        tokens = self._call("POST", "/tpp/token", {"authorization_code": query["authorization_code"]})

        account = self._accounts(version, tokens["access_token"])
        self._payments(bic, version, account, tokens["access_token"])

        guide.step("The TPP refreshes its tokens")
        tokens = self._call("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]})
        self._revocation(bank, tokens)

    def _revocation(self, bank: Mapping[str, Any], tokens: Mapping[str, Any]) -> None:
        """The TPP ends the consent; the bank and the TPP are notified."""
        guide, title = self._guide, self._client.title
        browser, place = Browser(self._client.callback_url, guide.page), f"{bank['domain']}/consents"

        guide.step("The PSU finds the consent at the bank")
        if open_signed_in(browser, place).text_after(title) != [_ACTIVE]:
            raise TourFailed(f"the bank does not list the consent for {title}")
        guide.print_finding(f"{title}: active")

        guide.step("The TPP revokes the consent, and the next call with its token is refused")
        self._call("POST", "/tpp/token/revoke", {"token": tokens["access_token"]})
        self._call("GET", "/tpp/accounts", bearer=tokens["access_token"], expected=401)

        guide.step("It receives a signed event about the revocation")
        self._expect_event("consent.revoked", consent_id=tokens["consent_id"], revoked_by="tpp")

        guide.step("The PSU sees at the bank that the consent was revoked")
        wait_for(
            lambda: open_signed_in(browser, place).text_after(title) == [_ENDED],
            f"{bank['name']} did not list the consent for {title} as revoked",
        )
        guide.print_finding(f"{title}: {_ENDED.lower()}")

    def _expect_event(self, type_: str, **members: Any) -> None:
        """Wait for an event and print it. Raises: TourFailed."""
        event = self._receiver.wait_for_event(type_, **members)
        self._guide.event(event.type, event.message_id, event.data)

    def _accounts(self, version: int, bearer: str) -> Mapping[str, Any]:
        """Read the PSU's accounts. Returns the first account."""
        guide = self._guide
        guide.step("The TPP reads the accounts; the hub queries the bank with a signed webhook")
        accounts = self._call("GET", "/tpp/accounts", bearer=bearer)["accounts"]
        if not accounts:
            raise TourFailed("the bank returned no accounts")
        account: Mapping[str, Any] = accounts[0]
        identifier = account["id"] if version == 1 else account["resource_id"]
        balance = f"/tpp/account_balance?account_id={identifier}"
        if version == 1:
            guide.step("It requests a balance asynchronously and fetches the result later")
            self._call_later("GET", balance, bearer=bearer)
        else:
            self._call("GET", balance, bearer=bearer)

        guide.step("It reads the latest transactions on the first account")
        if version == 1:
            self._call("GET", f"/tpp/account_payments?account_id={identifier}&record_count=2", bearer=bearer)
        else:
            query = f"account_id={identifier}&booking_status=booked&page_size=2"
            self._call("GET", f"/tpp/account_transactions?{query}", bearer=bearer)

        guide.step("It checks whether funds are available for a purchase of 25.00")
        amount = {"amount": "25.00", "currency": account["currency"]}
        asked = {"account": {"iban": account["iban"]}, "instructed_amount": amount}
        self._call("POST", "/tpp/funds_confirmations", asked, bearer=bearer)
        return account

    def _payments(self, bic: str, version: int, account: Mapping[str, Any], bearer: str) -> None:
        guide = self._guide
        orders = payment_requests(version, account, f"{self._base}/payments/callback?{urlencode({'bic': bic})}")

        guide.step("It initiates a single payment, and the PSU confirms it at the bank")
        key = {"Idempotency-Key": str(uuid.uuid4())}
        path = "/tpp/payment_initiation"
        taken = self._call("POST", path, orders["single"], bearer=bearer, headers=key)

        guide.step("It repeats the request with its Idempotency-Key; the bank is not called again")
        again = self._call("POST", path, orders["single"], bearer=bearer, headers=key, silent=True)
        if again != taken:
            raise TourFailed("the repeated request got a different response")
        self._confirm(taken, bearer)

        is_later = version == 2
        guide.step(f"It initiates a bulk payment of two items, confirmed once{_FETCHED_LATER if is_later else ''}")
        initiate = self._call_later if is_later else self._call
        self._confirm(initiate("POST", "/tpp/bulk_payment_initiation", orders["bulk"], bearer=bearer), bearer)

        guide.step("It initiates a direct payment, which needs no consent")
        order = {"bic": bic, **orders["direct"]}
        self._confirm(self._call("POST", "/tpp/direct_payment_initiation", order), "", bic)

    def _confirm(self, taken: Mapping[str, Any], bearer: str, bic: str = "") -> None:
        """The PSU confirms the payment; the TPP queries its status and receives the event."""
        back = confirm_payment(Browser(f"{self._base}/payments/callback", self._guide.page), taken["confirmation_url"])
        if _query(back).get("payment_id") != taken["payment_id"]:
            raise TourFailed("the payment in the callback is not the one that was initiated")
        query = urlencode({"payment_id": taken["payment_id"], **({"bic": bic} if bic else {})})
        status = self._call("GET", f"/tpp/payment_status?{query}", bearer=bearer)
        if status.get("payment_status", 4) != 4 or status.get("transaction_status") in ("RJCT", "CANC"):
            raise TourFailed("the payment was not executed")
        reported = {name: status[name] for name in _STATUSES if name in status}
        self._expect_event("payment.status_changed", payment_id=taken["payment_id"], **reported)


def payment_requests(version: int, account: Mapping[str, Any], callback: str) -> dict[str, dict[str, Any]]:
    """A single, a bulk and a direct payment in the given version's format."""
    currency = account["currency"]
    if version == 1:
        receiver = {"receiver_name": "Oak Street Books", "receiver_iban": _RECEIVERS[currency], "currency": currency}
        single = {**receiver, "amount": "12.50", "reference": "Order 1042", "callback_url": callback}
        items = [{**receiver, "amount": amount, "reference": "Order 1043"} for amount in ("3.10", "4.20")]
        totals = [{"currency": currency, "amount": "7.30"}]
        bulk = {"sender_iban": account["iban"], "callback_url": callback, "totals": totals, "payments": items}
        return {"single": {"sender_iban": account["iban"], **single}, "bulk": bulk, "direct": single}
    debtor = {"iban": account["iban"]}
    items = [
        {
            "creditor_account": {"iban": _RECEIVERS[currency]},
            "creditor_name": "Oak Street Books",
            "remittance_information_unstructured": "Order 1042",
            "instructed_amount": {"amount": amount, "currency": currency},
        }
        for amount in ("12.50", "3.10", "4.20")
    ]
    single = {**items[0], "payment_scheme": "SCTI", "callback_url": callback}
    total = {"currency": currency, "amount": "7.30"}
    bulk = {"debtor_account": debtor, "callback_url": callback, "instructed_totals": total, "payments": items[1:]}
    return {"single": {"debtor_account": debtor, **single}, "bulk": bulk, "direct": single}


def _query(url: str) -> dict[str, str]:
    return {key: values[0] for key, values in parse_qs(urlsplit(url).query).items()}
