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
        "Start an authorization",
        "Returns the URL at the bank where the PSU consents. Send the PSU's browser there, unchanged. The browser "
        "returns to the Callback URL with `authorization_code`, `code` (the same value), `state` and `iss`, or, "
        "if no consent was given, with `error`, `error_description`, `state` and `iss`. The PSU approves either "
        "all scopes or none.",
    ),
    "/oauth/authorize": Purpose(
        "Start an authorization in the browser (RFC 6749)",
        "For off-the-shelf OAuth clients: redirects the browser to the bank. Unknown and empty parameters are "
        "ignored. An invalid request redirects to the Callback URL with `error`, `error_description`, `state` and "
        "`iss`. For an unknown client or an unregistered `redirect_uri`, the browser gets an error page instead, "
        "because that URL cannot be trusted. While the request is open, opening the same URL again redirects to "
        "the bank again. Without `bic`, the browser gets a page on which the PSU chooses among the banks that provide "
        "all requested scopes; until the bank has saved a consent, the PSU can go back and choose another. A client "
        "that has pushed its request sends `client_id` and `request_uri` only; other parameters are ignored beside it, "
        "except `chosen_bic`, by which that page adds the PSU's choice.",
    ),
    "/oauth/par": Purpose(
        "Push an authorization request (RFC 9126)",
        "Takes a form, and no JSON, with the parameters of `GET /oauth/authorize` and the client's credentials, and "
        "returns a `request_uri`, valid for 60 seconds. Send the PSU's browser to `GET /oauth/authorize` with "
        "`client_id` and `request_uri`. A DPoP proof, or `dpop_jkt`, binds the code to the key. Mandatory for clients "
        "with the profile `fapi2`, which must send `redirect_uri` and a code challenge. Without `bic`, the PSU chooses "
        "the bank, within 30 minutes of opening the request.",
    ),
    "/oauth/introspect": Purpose(
        "Describe a token (RFC 7662)",
        "Accepts JSON or a form. Describes an access or refresh token of the calling client. A token that is not "
        'valid, or is another client\'s, is `{"active": false}`.',
    ),
    "/tpp/token": Purpose(
        "Exchange a code or a refresh token for tokens",
        "Accepts JSON or a form. A code can be used once, within one minute (ten in the local stage); a second "
        "use revokes the tokens issued for the first. If `GET /oauth/authorize` or a pushed request named "
        "`redirect_uri`, send the same one with the code. Refresh tokens rotate: each use returns a new pair, and a "
        "repeat within a minute returns the same pair; a client with the profile `fapi2` keeps its refresh token. The "
        "client authenticates by its method: HTTP Basic (user: Client ID, password: client secret), `client_id` and "
        "`client_secret`, or `client_assertion` in the body, or the certificate of the connection. Contradictory "
        "credentials are refused. With a DPoP proof, the tokens are bound to its key; a client's record can demand "
        "that, or tokens that are bound to its certificate.",
    ),
    "/tpp/token/revoke": Purpose(
        "End a consent (RFC 7009)",
        "Accepts JSON or a form. Any access or refresh token of the client ends its consent and all of the "
        "consent's tokens; the bank is notified. The token of a consent that has ended, an unknown token, or one of "
        "another client has no effect and gets the same response.",
    ),
    "/tpp/scope": Purpose(
        "List the scopes of a bank", "The scopes that the bank provides, in the order of its protocol version."
    ),
    "/tpp/banks": Purpose(
        "List the banks",
        "The banks that match all filters, sorted by BIC, and what each can do; `total` counts them. A page beyond the "
        "last is empty. Changes appear within a minute, and whether a bank responds within two.",
    ),
    "/tpp/banks/{bic}": Purpose("Read one bank", "What a bank can do, as in the list."),
    "/tpp/consent": Purpose(
        "Read the consent of a bearer", "The scopes and accounts that the PSU approved, and the end of the consent."
    ),
    "/tpp/consents": Purpose(
        "List the client's consents",
        "All consents that PSUs gave to this client, newest first, including those that have ended and those at banks "
        "that are no longer reachable. Needs no token and returns none. Pass `next` as `after` to get the following "
        "page, with the same or other filters. With `bic` or `status`, a page examines up to 1,000 consents: it may "
        "have fewer than `limit`, even none, although `has_more` is true.",
    ),
    "/tpp/events": Purpose(
        "Fetch events",
        "For clients whose events are recorded for fetching instead of sent to an Events URL. Oldest first, kept for "
        "30 days; without `after` from the oldest. Pass `next`, which is always present, as `after`: at once if "
        "`has_more` is true, or else in a second or more. A client that follows `next` gets every event exactly once, "
        "even one that was written late. A page may have fewer events than `limit` although `has_more` is true. The "
        "client must authenticate: its Client ID alone is not enough.",
    ),
    "/tpp/requests/{request_id}": Purpose(
        "Read the outcome of a deferred call",
        "For calls that returned 202. `status` and `body` are null until the state is `done` or `failed`; then "
        "they are the call's actual status and body. Outcomes are kept for 24 hours from acceptance of the call. "
        "Any valid bearer of the same consent can read them, including that of a spent one-time consent. Direct "
        "payments and their status are read by the same client without a bearer.",
    ),
    "/tpp/accounts": Purpose("List the PSU's accounts", "The accounts that the PSU approved, as returned by the bank."),
    "/tpp/account": Purpose(
        "Read one account",
        "The details of an account. For version 1 banks, pass `iban` or `account_id`; for version 2 banks, "
        "`account_id` (the account's `resource_id`).",
    ),
    "/tpp/account_balance": Purpose(
        "Read an account's balances",
        "Version 1 banks return `accounts` (one entry with its balance), version 2 banks `balances`.",
    ),
    "/tpp/account_payments": Purpose(
        "List an account's payments",
        "Version 1 banks only: a page of the account's payments, newest first. `amount` is negative when money left "
        "the account. For version 2 banks, use `GET /tpp/account_transactions`.",
    ),
    "/tpp/account_payment": Purpose("Read one payment of an account", "Version 1 banks only."),
    "/tpp/account_transactions": Purpose(
        "List an account's transactions",
        "Version 2 banks only: booked and pending transactions, page by page, newest first. `amount` is negative when "
        "money left the account. For version 1 banks, use `GET /tpp/account_payments`.",
    ),
    "/tpp/funds_confirmations": Purpose(
        "Confirm the availability of funds",
        "Returns yes or no for banks of both versions. If a version 1 bank returns its balance instead, the "
        "service compares the amounts.",
    ),
    "/tpp/payment_initiation": Purpose(
        "Initiate a payment",
        "Returns the bank's URL where the PSU confirms the payment; open it in the PSU's browser. The PSU returns "
        "to `callback_url` with `status`, `payment_id` and, after a failure, `message`. A redirect can be forged, "
        "so check the status with `GET /tpp/payment_status`. A one-time consent is used up by the first payment "
        "that the bank may have received.",
    ),
    "/tpp/bulk_payment_initiation": Purpose(
        "Initiate a bulk payment",
        "Up to 1000 payments that the PSU confirms together. The totals must be the exact sums of the payments per "
        "currency.",
    ),
    "/tpp/direct_payment_initiation": Purpose(
        "Initiate a payment without a consent",
        "Like a single payment, at the bank identified by `bic`. No bearer is needed, because the PSU authorizes "
        "the payment directly at the bank.",
    ),
    "/tpp/payment_status": Purpose(
        "Read a payment's status",
        "Version 1 banks: the statuses reported by the bank, with their history. Version 2 banks: the current "
        "status, requested from the bank. For a direct payment, pass `bic` and no bearer. A spent one-time bearer "
        "can still read its own payment. With `request_id` instead of `payment_id`, the payment is found by the "
        "X-Request-Id of its order, for 90 days; if the bank named no payment, the answer has the order's `outcome`.",
    ),
    "/.well-known/oauth-authorization-server": Purpose(
        "Read the authorization server's metadata (RFC 8414)", "For off-the-shelf OAuth clients."
    ),
    "/.well-known/oauth-protected-resource": Purpose(
        "Read the API's metadata as a protected resource (RFC 9728)",
        "Names the authorization server and the ways of sending tokens.",
    ),
    "/.well-known/jwks.json": Purpose(
        "Read the service's public keys (RFC 7517)",
        "The keys with which the service signs its calls to banks, newest first; two during a rotation.",
    ),
}

BANK_CALLS: Mapping[str, Purpose] = {
    "initiate": Purpose(
        "Start an authorization",
        "The PSU has opened an OAuth2 authorization URL at the bank. Returns the TPP, the requested scopes, and "
        "the URL for the PSU if no consent is given.",
    ),
    "save_consent": Purpose(
        "Save a consent",
        "The PSU has approved all requested scopes. Send the PSU's browser to the callback URL, and keep the access "
        "token with the PSU: webhooks about this PSU carry it in X-Auth-Token.",
    ),
    "revoke_token": Purpose(
        "End a consent",
        "The consent of an access token has ended at the bank. The call also succeeds, without effect, if the consent "
        "is already revoked or expired.",
    ),
    "report_status": Purpose(
        "Report a payment's status",
        "Call this whenever the status of a payment changes. The latest report counts; after a final status "
        "({final}), further reports are ignored but succeed. A report on a payment that the bank has not yet "
        "returned to the service is refused, but kept for 15 minutes.",
    ),
    "report_day": Purpose(
        "Report a day's performance",
        "Call this once a day with the average times that PSUs took to confirm consents and payments. A later "
        "report for the same day replaces the earlier one.",
    ),
    "list_states": Purpose(
        "Read the states of consents",
        "For a bank that may have missed something, for example after an outage: the states of up to 100 of its "
        "consents, identified by their access tokens or by their ids, the part of a token before the dot. The response "
        "has an entry for each, in the order of the request: first those of tokens, then those of ids. A consent is "
        "`unknown` if it does not exist or is another bank's, or if the token is not that of the consent. Nothing is "
        "stored: repeating the call, also with the same X-Request-Id, returns the states at that time.",
    ),
    "public_key": Purpose(
        "Read the service's public keys",
        "The keys that sign webhooks, as PEM, newest first; two during a rotation. Fetch them again when a "
        "signature does not verify.",
    ),
    "cancel": Purpose(
        "Leave without a consent",
        "For the PSU's browser, without headers: ends the authorization request and redirects to the TPP. "
        "Repeated requests redirect to the same URL. After a consent, the call has no effect.",
    ),
}

WEBHOOKS: Mapping[str, Purpose] = {
    "/accounts": Purpose("Accounts", "The accounts that the PSU approved."),
    "/account": Purpose("Account details", "One account, identified by IBAN or by the bank's own identifier."),
    "/account_balance": Purpose(
        "Account balance", "The balance of an account. `accounts` is a list; a single object is also accepted."
    ),
    "/account_payments": Purpose(
        "Payments of an account",
        "A page of an account's payments, newest first; pending ones may come before all others. `amount` is negative "
        "when money left the account. `paginator` is an object; a list of objects is also accepted.",
    ),
    "/account_payment": Purpose(
        "Payment of an account", "One payment. `amount` is negative when money left the account."
    ),
    "/funds_confirmations": Purpose(
        "Confirmation of funds",
        "Return either `funds_available`, or `currency` and `balance` for the service to compare.",
    ),
    "/payment_initiation": Purpose(
        "Payment initiation",
        "Check whether the payment can be executed, and return the URL where the PSU confirms it. Afterwards, "
        "send the PSU's browser to `callback_url` with `status`, `payment_id` and, after a failure, `message`.",
    ),
    "/bulk_payment_initiation": Purpose(
        "Bulk payment initiation", "Up to 1000 payments, confirmed together; otherwise like a single payment."
    ),
    "/direct_payment_initiation": Purpose(
        "Direct payment initiation",
        "A payment without a consent: there is no X-Auth-Token, and the PSU chooses the account at the bank.",
    ),
    "/v2_accounts": Purpose(
        "Accounts", "The accounts that the PSU approved; a multicurrency account has one entry per currency."
    ),
    "/v2_account": Purpose(
        "Account details", "One account. `account` is an object; a list with one entry is also accepted."
    ),
    "/v2_account_balances": Purpose("Account balances", "The balances of an account, one entry per type."),
    "/v2_account_transactions": Purpose(
        "Transactions of an account",
        "A page of an account's booked and pending transactions, newest first. `amount` is negative when money left "
        "the account. The days of `date_from` and `date_to` are included, `both` lists what `booked` and `pending` "
        "list, and `page_size` may count both together or separately. `page_key` identifies the next page and is "
        "absent on the last.",
    ),
    "/v2_funds_confirmations": Purpose("Confirmation of funds", "Whether the account has sufficient funds."),
    "/v2_payment_single": Purpose(
        "Single payment initiation",
        "Check whether the payment can be executed, and return the URL where the PSU confirms it. Afterwards, "
        "send the PSU's browser to `callback_url` with `status`, `payment_id` and, after a failure, `message`.",
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
        "The status of a single or direct payment. X-Auth-Token is absent for a direct payment.",
    ),
    "/v2_payment_bulk_status": Purpose("Status of a bulk payment", "The status of a bulk payment."),
    "/revoke_token": Purpose(
        "A consent has ended",
        "The TPP or the service has ended the consent of this token, which is the one that `consent` returned to the "
        "bank. The call is repeated for up to three days "
        "until it succeeds, or until the bank responds with 404 or 410, which mean that it does not know the "
        "token.",
    ),
}
