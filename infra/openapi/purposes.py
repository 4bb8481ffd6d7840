"""The purpose of each call: a title and one or two sentences, by path or name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Purpose:
    """The title of a call, and a short description."""

    title: str
    text: str


TPP_CALLS: Mapping[str, Purpose] = {
    "/tpp/authorize": Purpose(
        "Begin an authorization",
        "Answers the address at the bank where the PSU consents. Send the PSU's browser there, unchanged. It comes "
        "back to the Callback URL with `authorization_code`, `code` (the same value), `state` and `iss`; or, when "
        "there is no consent, with `error`, `error_description`, `state` and `iss`. The PSU approves all scopes or "
        "none.",
    ),
    "/oauth/authorize": Purpose(
        "Begin an authorization in the browser (RFC 6749)",
        "For off-the-shelf OAuth clients: sends the browser to the bank. Parameters that are unknown or empty are "
        "ignored. A wrong request leads back to the Callback URL with `error`, `error_description`, `state` and `iss`; "
        "an unknown client or a foreign `redirect_uri` leads to a page, since the address could be anybody's. The same "
        "address opened again while the request is open leads to the bank again.",
    ),
    "/tpp/token": Purpose(
        "Exchange a code or a refresh token for tokens",
        "Takes JSON or a form. A code is used once, within a minute (ten in the local stage); a second use revokes "
        "what the first one produced. Refresh tokens rotate: each use gives a new pair, within a minute the same one "
        "again. The client is named by X-Api-Key, by HTTP Basic (user: Client ID, password: client secret), or by "
        "`client_id` and `client_secret` in the body; ways that disagree are refused.",
    ),
    "/tpp/token/revoke": Purpose(
        "End a consent (RFC 7009)",
        "Takes JSON or a form. An access or refresh token of the caller's ends its consent with every token of it, and "
        "the bank is told. A token that is unknown, or another client's, changes nothing and gets the same answer.",
    ),
    "/tpp/scope": Purpose(
        "Ask which scopes a bank can provide", "The scopes of the bank, in the order of its version."
    ),
    "/tpp/banks": Purpose(
        "List the banks", "The banks that can be reached, by BIC. A page after the last one is empty."
    ),
    "/tpp/consent": Purpose("Read the consent of a bearer", "What the PSU allowed, and until when."),
    "/tpp/requests/{request_id}": Purpose(
        "Read the outcome of a call that is carried out later",
        "For calls that were answered with 202. `status` and `body` are null until the state is `done` or `failed`; "
        "then they are what the call would have been answered with. Outcomes are kept for 24 hours, from the moment "
        "the call was accepted. Any valid bearer of the same consent reads them, that of a spent one-time consent too; "
        "a direct payment, and the status of one, are read without a bearer by the same client.",
    ),
    "/tpp/accounts": Purpose("List the PSU's accounts", "The accounts that the PSU approved, as the bank tells them."),
    "/tpp/account": Purpose(
        "Read one account",
        "The details of an account. Version 1 banks are asked by `iban` or `account_id`, version 2 banks by "
        "`account_id` (the account's `resource_id`).",
    ),
    "/tpp/account_balance": Purpose(
        "Read an account's balances",
        "Version 1 banks answer with `accounts` (one entry with its balance), version 2 banks with `balances`.",
    ),
    "/tpp/account_payments": Purpose(
        "List an account's payments",
        "Version 1 banks only: a page of the account's payments. Version 2 banks have `GET /tpp/account_transactions`.",
    ),
    "/tpp/account_payment": Purpose("Read one payment of an account", "Version 1 banks only."),
    "/tpp/account_transactions": Purpose(
        "List an account's transactions",
        "Version 2 banks only: booked and pending transactions, a page at a time. Version 1 banks have `GET "
        "/tpp/account_payments`.",
    ),
    "/tpp/funds_confirmations": Purpose(
        "Ask whether there is as much on an account",
        "Yes or no, for banks of both versions. When a version 1 bank tells its balance instead, the amounts are "
        "compared here.",
    ),
    "/tpp/payment_initiation": Purpose(
        "Initiate a payment",
        "The bank answers with an address where the PSU confirms the payment; open it in the PSU's browser. The PSU "
        "comes back to `callback_url` with `status`, `payment_id` and, after a failure, `message`. A redirect can be "
        "forged: ask `GET /tpp/payment_status`. A one-time consent is used up by the first payment that the bank may "
        "have.",
    ),
    "/tpp/bulk_payment_initiation": Purpose(
        "Initiate many payments at once",
        "Up to 1000 payments that the PSU confirms together. The totals must be the exact sums of the payments per "
        "currency.",
    ),
    "/tpp/direct_payment_initiation": Purpose(
        "Initiate a payment without a consent",
        "Like a single payment, at the bank that `bic` names; no bearer is needed, since the PSU authorizes the "
        "payment itself at the bank.",
    ),
    "/tpp/payment_status": Purpose(
        "Ask where a payment stands",
        "At a version 1 bank: what the bank has reported, with the history. At a version 2 bank: what the bank says "
        "now. A direct payment is asked for with `bic` and without a bearer; a spent one-time bearer still reads its "
        "own payment.",
    ),
    "/.well-known/oauth-authorization-server": Purpose(
        "Read the authorization server's metadata (RFC 8414)", "For off-the-shelf OAuth clients."
    ),
    "/.well-known/jwks.json": Purpose(
        "Read the service's public keys (RFC 7517)",
        "The keys that the service signs its calls to banks with, newest first; two while they rotate.",
    ),
}

BANK_CALLS: Mapping[str, Purpose] = {
    "initiate": Purpose(
        "Begin an authorization",
        "The PSU has reached the bank with an OAuth2 authorization URL: who asks for what, and where the PSU goes "
        "without a consent.",
    ),
    "save_consent": Purpose(
        "Save a consent",
        "The PSU has approved all requested scopes. Send the PSU's browser to the callback URL, and keep the access "
        "token with the PSU: webhooks about this PSU carry it in X-Auth-Token.",
    ),
    "revoke_token": Purpose(
        "End a consent",
        "The consent behind an access token has ended at the bank. A token that was revoked before is answered with "
        "success as well.",
    ),
    "report_status": Purpose(
        "Report a payment's status",
        "Whenever the status of a payment changes. Of several reports the last one counts; after a final status "
        "({final}) they are ignored and answered with success. A report on a payment that the bank has not answered "
        "with yet is refused, but kept for 15 minutes.",
    ),
    "report_day": Purpose(
        "Report a day's performance",
        "Once a day: how long PSUs took, on average, to confirm consents and payments. A later report for the same day "
        "replaces the earlier one.",
    ),
    "public_key": Purpose(
        "Read the service's public keys",
        "The keys that webhooks are signed with, as PEM, newest first; two while they rotate. Read them again when a "
        "signature does not verify.",
    ),
    "cancel": Purpose(
        "Leave without a consent",
        "For the PSU's browser, without headers: ends the authorization request and leads back to the TPP. Repeats "
        "lead to the same place; after a consent it has no effect.",
    ),
}

WEBHOOKS: Mapping[str, Purpose] = {
    "/accounts": Purpose("Accounts", "The accounts that the PSU approved."),
    "/account": Purpose("Account details", "One account, named by IBAN or by the bank's own id."),
    "/account_balance": Purpose(
        "Account balance", "The balance of an account. `accounts` is a list; a single object is taken too."
    ),
    "/account_payments": Purpose(
        "Payments of an account",
        "A page of an account's payments. `paginator` is an object; a list of objects is taken too.",
    ),
    "/account_payment": Purpose("Payment of an account", "One payment."),
    "/funds_confirmations": Purpose(
        "Confirmation of funds", "Either `funds_available`; or `currency` and `balance`, and the service compares."
    ),
    "/payment_initiation": Purpose(
        "Payment initiation",
        "Check whether the payment can be executed, and answer where the PSU confirms it. After that send the PSU's "
        "browser to `callback_url` with `status`, `payment_id` and, after a failure, `message`.",
    ),
    "/bulk_payment_initiation": Purpose(
        "Bulk payment initiation", "Up to 1000 payments, confirmed together; otherwise like a single payment."
    ),
    "/direct_payment_initiation": Purpose(
        "Direct payment initiation",
        "A payment without a consent: there is no X-Auth-Token, and the PSU chooses the account at the bank.",
    ),
    "/v2_accounts": Purpose(
        "Accounts", "The accounts that the PSU approved; a multicurrency account has an entry for every currency."
    ),
    "/v2_account": Purpose("Account details", "One account. `account` is an object; a list of one is taken too."),
    "/v2_account_balances": Purpose("Account balances", "The balances of an account, one entry for every type."),
    "/v2_account_transactions": Purpose(
        "Transactions of an account",
        "A page of an account's booked and pending transactions. `page_key` leads to the next page and is absent on "
        "the last.",
    ),
    "/v2_funds_confirmations": Purpose("Confirmation of funds", "Whether there is as much on the account."),
    "/v2_payment_single": Purpose(
        "Single payment initiation",
        "Check whether the payment can be executed, and answer where the PSU confirms it. After that send the PSU's "
        "browser to `callback_url` with `status`, `payment_id` and, after a failure, `message`.",
    ),
    "/v2_payment_bulk": Purpose(
        "Bulk payment initiation",
        "Up to 1000 payments in one currency, confirmed together; otherwise like a single payment.",
    ),
    "/v2_payment_direct_single": Purpose(
        "Direct payment initiation", "A payment without a consent: there is no X-Auth-Token."
    ),
    "/v2_payment_single_status": Purpose(
        "Status of a single payment",
        "Where a single or direct payment stands. X-Auth-Token is absent for a direct payment.",
    ),
    "/v2_payment_bulk_status": Purpose("Status of a bulk payment", "Where a bulk payment stands."),
    "/revoke_token": Purpose(
        "A consent has ended",
        "The TPP, or the service, has ended the consent of this token. Anything but success is sent again, for up to "
        "three days, except 404 and 410: the bank does not know the token.",
    ),
}
