"""The meaning of each member: one sentence and one valid example.

Lookup order: ``v1.PaymentRecord.status`` (module, model, name), ``v1.status``, ``status``. Members that are objects
have no example of their own: it is built from their members' examples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic.alias_generators import to_snake

from chalicelib.openbanking.protocol.oauth_security import ASSERTION_TYPE, REQUEST_URI
from chalicelib.openbanking.protocol.payment_enumerations import SCHEME_MEANINGS
from chalicelib.openbanking.protocol.payment_statuses import CODES, NUMBERS
from chalicelib.openbanking.protocol.v2_account_messages import BALANCE_TYPES
from infra.render.openapi.bank_meanings import BANKS
from infra.render.openapi.consent_meanings import BANK_TOKEN, CONSENT, CONSENT_STATES, CONSENTS, RANDOM
from infra.render.openapi.error_meanings import ERRORS
from infra.render.openapi.event_meanings import EVENTS, STATE
from infra.render.openapi.metadata_meanings import METADATA, OWN_ADDRESS, Meaning

_REQUEST = "b81f6e03d29c4a57e6f1d8"
_CODE = f"5f8d0c1e9b7a463f2d1c0b.{RANDOM}"
_ACCESS = f"5f8d0c1e9b7a463f2d1c0b~a41b22c63d84e5f607182a~DEMODEF1XXX.{RANDOM}"
_REFRESH = f"5f8d0c1e9b7a463f2d1c0b~c93d1e5f708192a3b4c5d6.{RANDOM}"
_CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
_THUMBPRINT = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"
_ASSERTION = "eyJhbGciOiJFUzI1NiIsImtpZCI6IjIwMjYtMTEifQ.eyJpc3MiOiI0ZjFjMmI3YSJ9.MEUCIQDx"
NONCE = "29920890.k3Xb0Qm7yT2rUe5oLwPzVcAhJfNdSgIi8t1B4x6R9sM"
"""A DPoP nonce, in examples."""
PROOF = "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7fX0.eyJodG0iOiJHRVQifQ.MEQCIFx"
"""A DPoP proof, in examples, shortened."""
_VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
_CALLBACK = "https://tpp.example.com/callback"
_REQUEST_URL = (
    "https://bank.example/authorize?response_type=code&client_id=4f1c2b7a9d8e6f503a1b2c"
    f"&redirect_uri=https%3A%2F%2Ftpp.example.com%2Fcallback&scope=accounts&state={STATE}&consent_type=reusable"
)
_GB_IBAN, _DE_IBAN = "GB10DEMO04000431926801", "DE61100999000004711001"
_GB_ACCOUNT, _DE_ACCOUNT = "1031926801", "65e1d84d-bbff-5020-8a18-fa562a050c8d"
_IN_CURRENCY = "The amount; it must not have more decimals than its currency, not counting trailing zeros"

MEANINGS: Mapping[str, Meaning] = {
    # accounts
    "account": ("The account", None),
    "account_id": ("The bank's own identifier of the account", _DE_ACCOUNT),
    "v1.account_id": ("The bank's own identifier of the account", _GB_ACCOUNT),
    "account_ids": ("The bank's own identifiers of the approved accounts", [_DE_ACCOUNT]),
    "account_name": ("The account holder's name", "Ada Okafor"),
    "account_number": ("The local account number", "31926801"),
    "account_numbers": (
        "The local account numbers of the approved accounts, optionally prefixed with the sort code",
        ["04000431926801"],
    ),
    "accounts": ("The accounts", None),
    "additional_data": ("Additional data from the bank, passed to the TPP unchanged", None),
    "v1.Account.additional_data": (
        "Additional data from the bank, passed to the TPP unchanged",
        [{"sort_code": "040004", "account_number": "31926801"}],
    ),
    "balance": ("The balance, with a dot as decimal separator", "1250.75"),
    "balance_amount": ("The balance amount", None),
    "balance_type": ("The type of balance", "interimAvailable"),
    "balances": ("The balances, one entry per type", None),
    "bban": ("The local identifier of the account (basic bank account number)", "100999000004711001"),
    "card_number": ("The card's number, masked by the bank", "4111110000001111"),
    "currency": ("The currency", "EUR"),
    "v1.currency": ("The currency", "GBP"),
    "v1.FundsAnswer.currency": ("The currency of the balance: the requested one", "GBP"),
    "iban": ("The account's IBAN", _DE_IBAN),
    "v1.iban": ("The account's IBAN", _GB_IBAN),
    "ibans": ("The approved accounts' IBANs", [_DE_IBAN]),
    "id": ("The bank's identifier", _GB_ACCOUNT),
    "internal_account_id": ("The bank's own identifier of the account", _GB_ACCOUNT),
    "name": ("The account's name", "Everyday Account"),
    "v2.AccountReference.name": ("The account's name", "Girokonto"),
    "v2.CreditorBank.name": ("The name of the creditor's bank", "Nordea Bank Abp"),
    "payment_schemes": ("The payment schemes that the account supports", ["SCT", "SCTI"]),
    "resource_id": ("The account's identifier; a multicurrency account has one per currency", _DE_ACCOUNT),
    "sort_code": ("The sort code of the account", "040004"),
    # payments of an account
    "date_created": ("The date of the payment (ISO 8601)", "2026-11-20"),
    "description": ("The purpose of the payment", "Monthly rent"),
    "paginator": ("The position of this page", None),
    "payment": ("The payment", None),
    "payments": ("The payments", None),
    "v1.PaymentsAnswer.payments": ("The payments, newest first; pending ones may come before all others", None),
    "v1.PaymentRecord.id": ("The payment's identifier at the bank", "31926801261103"),
    "v1.PaymentRecord.status": ("The payment's status", 4),
    "v1.PaymentRecord.reference": ("The payment's reference", "RENT NOVEMBER"),
    "v1.PaymentRecord.amount": ("The amount, negative when money left the account", "-950.00"),
    "type": (
        "The type of payment: Bank transfer, Card transfer, Internal transfer, Load, Withdrawal or Other",
        "Bank transfer",
    ),
    "sender_data": ("The payer", None),
    "receiver_data": ("The payee", None),
    "v1.PaymentParty.bic": ("The BIC of the account's bank", "DEMOGB21"),
    "record_count": ("The maximum number of payments per page", 100),
    "current_page": ("The page number", 1),
    "v1.Paginator.limit": ("The maximum number of payments per page", 100),
    # transactions of an account
    "booked": ("Booked transactions, newest first", None),
    "pending": ("Transactions not yet booked", None),
    "booking_date": ("The booking date", "2026-11-20"),
    "value_date": ("The value date", "2026-11-20"),
    "booking_status": ("The transactions to return", "both"),
    "date_from": ("The first day, included", "2026-11-01"),
    "date_to": ("The last day, included", "2026-11-30"),
    "page_key": ("The page_key from the previous response; omit it for the first page", "2"),
    "v2.TransactionsAnswer.page_key": ("The key of the next page; absent on the last page", "2"),
    "page_size": ("The maximum number of booked and of pending transactions per page", 100),
    "transaction_amount": ("The amount, negative when money left the account", None),
    "v2.TransactionAmount.amount": ("The amount, negative when money left the account", "-42.90"),
    "transaction_id": ("The transaction's identifier at the bank", "0004711001261103"),
    "transactions": ("The transactions", None),
    # payment initiation
    "amount": ("The amount", "12.50"),
    "v1.InCurrency.amount": (_IN_CURRENCY, "12.50"),
    "v2.InCurrency.amount": (_IN_CURRENCY, "12.50"),
    "bic": ("The bank's BIC; a BIC of 8 characters denotes the head office", "DEMODEF1"),
    "v2.CreditorBank.bic": ("The BIC of the creditor's bank", "NDEAFIHH"),
    "building_number": ("The building number", "12a"),
    "callback_url": (
        "The URL that the PSU returns to; it must have the scheme, host and port of one of the client's Callback URLs",
        f"{OWN_ADDRESS}/payments/callback",
    ),
    "confirmation_url": (
        "The URL where the PSU confirms the payment: https, or also http in the local stage",
        "https://bank.example/confirm/9f3c1b",
    ),
    "country": ("The country", "DE"),
    "v1.SingleAddress.country": ("The country", "GBR"),
    "v1.BulkAddress.country": ("The country", "GB"),
    "v2.CreditorBank.country": ("The country of the creditor's bank", "FI"),
    "creditor_account": ("The payee's account", {"iban": "DE12100999000005820011"}),
    "v2.Transaction.creditor_account": ("The payee's account", {"iban": "DE12100999000005820011"}),
    "creditor_address": ("The creditor's address", None),
    "creditor_bank": ("The creditor's bank; mandatory for the SWIFT scheme", None),
    "creditor_name": ("The payee's name", "Kaffeerösterei Lindgren"),
    "debtor_account": ("The payer's account; if absent, the PSU chooses one at the bank", None),
    "v2.Transaction.debtor_account": ("The payer's account", None),
    "debtor_name": ("The payer's name", "Lena Brandt"),
    "funds_available": ("Whether the account has sufficient funds", True),
    "instructed_amount": ("The amount", None),
    "instructed_totals": ("The exact sum of all payments", None),
    "message_for_receiver": ("The message for the payee", "Invoice 2026-117"),
    "payment_id": ("The payment's identifier at the bank", "P2026112100017"),
    "v1.PaymentRequest.payment_id": ("The payment's identifier at the bank", "31926801261103"),
    "payment_scheme": ("The payment scheme", "SCT"),
    "v1.payment_scheme": ("The payment scheme", "FPS"),
    "postal_code": ("Postal code", "10117"),
    "post_code": ("Postal code", "SW1A 1AA"),
    "receiver_account_number": (
        "The receiver's account number; together with the sort code, it replaces the IBAN",
        "40718204",
    ),
    "receiver_address": ("The receiver's address", None),
    "receiver_iban": ("The receiver's IBAN", "GB53DEMO04000440718204"),
    "receiver_name": ("The payee's name", "Bilal Hussain"),
    "receiver_sort_code": ("The sort code of the receiver's account", "040004"),
    "reference": ("The reference", "INV 2026-117"),
    "v2.reference": ("The reference", "RF18539007547034"),
    "reference_type": ("The type of reference", "SCOR"),
    "remittance_information_structured": ("The purpose of the payment as a structured reference", None),
    "remittance_information_unstructured": ("The purpose of the payment as text", "Invoice 2026-117"),
    "sender_iban": ("The payer's account; if absent, the PSU chooses one at the bank", _GB_IBAN),
    "v1.BulkPayment.sender_iban": ("The payer's account", _GB_IBAN),
    "status": ("The payment's status", "RCVD"),
    "street_name": ("The street", "Unter den Linden"),
    "totals": ("The exact sums of the payments, one entry per currency", None),
    "town_name": ("The town", "Berlin"),
    "transaction_status": ("The payment's status", "ACSC"),
    "payment_status": ("The payment's status", 4),
    "outcome": (
        "Present while it is unknown whether the bank has the payment, or once the bank said that it does not",
        "unknown",
    ),
    "tpp_calls.PaymentStatusQuery.request_id": (
        "The order's X-Request-Id, in place of the payment_id",
        "fdfd4e95-a65f-44f4-8807-2ce2f6b89e89",
    ),
    "own_answers.OrderWithoutPayment.request_id": ("The order's X-Request-Id", "fdfd4e95-a65f-44f4-8807-2ce2f6b89e89"),
    "bank_calls.PaymentsStatusV2.payment_status": (
        "The payment's status as a code, or as a number, since the protocol's table specifies type N",
        "ACSC",
    ),
    "history": ("All statuses of the payment, oldest first", None),
    "at": ("When the bank reported the status", "2026-11-21T09:30:00+00:00"),
    # authorization
    "authorization_code": ("The code from the callback", _CODE),
    "code": ("The code from the callback, under its RFC 6749 name", _CODE),
    "code_challenge": (
        "PKCE: base64url of the verifier's SHA-256, 43 characters (mandatory in production)",
        _CHALLENGE,
    ),
    "code_challenge_method": ("PKCE: the method that produced the challenge", "S256"),
    "code_verifier": ("PKCE: the verifier; required if, and only if, the request had a challenge", _VERIFIER),
    "client_id": ("The Client ID, if no header contains it", "4f1c2b7a9d8e6f503a1b2c"),
    "client_secret": ("The client's secret, if its method is a secret", RANDOM),
    "client_assertion": ("A signed assertion, if the client's method is `private_key_jwt` (RFC 7523)", _ASSERTION),
    "client_assertion_type": ("Mandatory with `client_assertion`: its only value", ASSERTION_TYPE),
    "dpop_jkt": (
        "The thumbprint (RFC 7638) of the DPoP key with which the code will be exchanged; implied by a DPoP proof",
        _THUMBPRINT,
    ),
    "request_uri": ("The `request_uri` of a pushed request; valid for 60 seconds", f"{REQUEST_URI}{_CODE}"),
    "consent_type": ("Whether the consent is reusable; `one_time` is allowed with payment scopes only", "reusable"),
    "grant_type": ("The type of grant; inferred when absent", "authorization_code"),
    "redirect_uri": ("Must equal one of the client's Callback URLs, character for character", _CALLBACK),
    "tpp_calls.TokenRequest.redirect_uri": (
        "That of the authorization request; mandatory if `GET /oauth/authorize` or a pushed request named it",
        _CALLBACK,
    ),
    "refresh_token": ("The latest refresh token, which is exchanged for a new pair of tokens", _REFRESH),
    "response_type": ("Always `code`", "code"),
    "own_calls.FrontDoorQuery.response_type": ("Always `code`; mandatory without `request_uri`", "code"),
    "own_calls.FrontDoorQuery.bic": ("The bank's BIC; without it, the PSU chooses the bank", "DEMODEF1"),
    "chosen_bic": ("Added by the page on which the PSU chooses the bank; ignored if the client names it", "DEMODEF1"),
    "own_calls.PushedMembers.bic": ("The bank's BIC; without it, the PSU chooses the bank", "DEMODEF1"),
    "own_calls.FrontDoorQuery.scope": ("The scopes, separated by spaces; mandatory without `request_uri`", "accounts"),
    "scope": ("The scopes, separated by spaces", "accounts accounts.balances"),
    "own_answers.BankScope.scope": ("The scope's name", "accounts"),
    "tpp_calls.TokenRequest.scope": ("Accepted but ignored: tokens have the scopes of their consent", "accounts"),
    "service": ("The role that the scope belongs to", "AISP"),
    "meaning": ("What the scope allows", "account list and details"),
    "scopes": ("The scopes that the PSU is asked to approve", ["accounts"]),
    "bank_calls.SaveConsent.scopes": ("The approved scopes: exactly those requested", ["account.list"]),
    "bank_calls.SaveConsentV2.scopes": ("The approved scopes: exactly those requested", ["accounts"]),
    "own_answers.ScopeAnswer.scopes": ("The scopes", None),
    "state": ("Returned with the PSU; must not have been used by this client before; generated when absent", STATE),
    "own_answers.AuthorizeAnswer.state": ("Your state, or a generated one; compare it when the PSU returns", STATE),
    "token": ("An access or refresh token", _REFRESH),
    "token_type_hint": ("Ignored", "refresh_token"),
    "redirect_url": ("The URL to send the PSU's browser to, unchanged", _REQUEST_URL),
    "expires_in": ("The lifetime of the access token in seconds", 3600),
    "own_answers.AuthorizeAnswer.expires_in": ("The seconds that the PSU has to decide", 1800),
    "webhooks.TokenEnded.access_token": (
        "The token of the consent that has ended, as issued to the bank and as in X-Auth-Token",
        BANK_TOKEN,
    ),
    "own_answers.TokenAnswer.access_token": ("The access token, to be sent in the scheme `token_type`", _ACCESS),
    "own_answers.SaveConsentAnswer.access_token": (
        "The token of this consent, which webhooks carry in X-Auth-Token",
        BANK_TOKEN,
    ),
    "bank_calls.access_token": ("The token of the consent, as issued to the bank", BANK_TOKEN),
    "own_answers.PushedAnswer.expires_in": ("The seconds within which the PSU's browser must open it", 60),
    "token_type": ("The scheme in which to send the access token; `DPoP` if it is bound to a DPoP key", "Bearer"),
    "active": ("Whether the token is valid now", True),
    "exp": ("The end of the token, in Unix seconds", 1795257000),
    "iss": ("The issuer of the token", OWN_ADDRESS),
    "own_answers.IntrospectionAnswer.client_id": ("The client that has the token", "4f1c2b7a9d8e6f503a1b2c"),
    "own_answers.IntrospectionAnswer.token_type": ("The scheme of an access token; absent for a refresh token", "DPoP"),
    "cnf": (
        "The key to which the access token is bound: `jkt` (RFC 9449) or `x5t#S256` (RFC 8705); absent if to none",
        {"jkt": _THUMBPRINT},
    ),
    "consent_id": ("The consent's identifier", CONSENT),
    "valid_until": ("The end of the consent and of all its tokens", "2027-05-20T09:30:00+00:00"),
    "own_answers.ConsentAnswer.status": (
        "The consent's status; once a consent has ended, its bearer is refused",
        "authorised",
    ),
    "own_answers.ConsentAnswer.ibans": (
        "The approved accounts' IBANs as supplied by the bank; may be empty",
        [_DE_IBAN],
    ),
    "own_answers.ConsentAnswer.account_ids": ("The approved accounts' identifiers at the bank; may be empty", []),
    "own_answers.ConsentAnswer.account_numbers": ("The approved accounts' local numbers; may be empty", []),
    # banks
    "banks": ("The banks on this page", None),
    "own_answers.BankEntry.name": ("The bank's name", "Demo Bank Two"),
    "own_answers.BankEntry.country": ("The bank's country (ISO 3166-1)", "DE"),
    "api_version": ("The protocol version of the bank", 2),
    "page": ("The page number", 1),
    "limit": ("The maximum number of banks per page", 20),
    "total": ("The total number of banks", 2),
    # bank-facing calls
    "request_url": ("The OAuth2 authorization URL that the PSU opened, complete and unaltered", _REQUEST_URL),
    "tpp_name": ("The TPP's name, to show to the PSU", "Example TPP"),
    "tpp_registration_number": ("The TPP's registration number, to show to the PSU", "SANDBOX-4f1c2b7a"),
    "cancel_url": (
        "The URL for the PSU's browser if no consent is given; you may add `error` and `error_description`",
        f"{OWN_ADDRESS}/bank/cancel/d04b98f48e8f8bcc15c6ae.{RANDOM}",
    ),
    "own_answers.callback_url": (
        "The URL to send the PSU's browser to, unchanged",
        f"{_CALLBACK}?authorization_code={_CODE}&code={_CODE}&state={STATE}&iss=https%3A%2F%2Fcauseway.example",
    ),
    "own_answers.Success.status": ("Always `success`", "success"),
    "date": ("The day the data is for", "2026-11-20"),
    "consent_duration": ("Average time to confirm a consent, in milliseconds", 42000),
    "payment_duration": ("Average time to complete a payment confirmation, in milliseconds", 31500),
    # authorization endpoints
    "own_calls.error": ("The reason why no consent was given; access_denied when absent", "access_denied"),
    "own_calls.error_description": ("The reason why no consent was given, for people", "The customer declined"),
    "own_calls.scope": ("The scopes, separated by spaces", "accounts"),
    "own_calls.client_id": ("The Client ID", "4f1c2b7a9d8e6f503a1b2c"),
    "own_calls.PushedMembers.client_id": ("The Client ID, if no header contains it", "4f1c2b7a9d8e6f503a1b2c"),
    # deferred calls
    "own_answers.Accepted.request_id": ("The identifier for retrieving the outcome", _REQUEST),
    "own_answers.Accepted.state": ("Always `queued`", "queued"),
    "own_calls.RequestPlace.request_id": ("The `request_id` of the 202", _REQUEST),
    "own_answers.AcceptedRequest.state": (
        "The state of the call: `done` after a success, `failed` after a refusal or failure",
        "done",
    ),
    "own_answers.AcceptedRequest.status": ("The HTTP status of the outcome; null until the call has finished", 200),
    "own_answers.AcceptedRequest.body": (
        "The response body, also of an error; null until the call has finished",
        {"funds_available": True},
    ),
    **BANKS,
    **CONSENTS,
    **ERRORS,
    **EVENTS,
    **METADATA,
}

_CREDENTIALS = ("client_id", "client_secret", "client_assertion_type", "client_assertion")
_CHOSEN = ("redirect_uri", "state", "code_challenge", "code_challenge_method", "dpop_jkt")
LEFT_OUT: Mapping[str, frozenset[str]] = {
    "tpp_calls.ConsentsQuery": frozenset({"after"}),
    "tpp_calls.EventsQuery": frozenset({"after"}),
    "bank_calls.ConsentsStatus": frozenset({"consent_ids"}),
    "v1.AccountRequest": frozenset({"iban"}),
    "v1.PaymentsRequest": frozenset({"iban"}),
    "v1.FundsAccount": frozenset({"account_id"}),
    "v1.FundsAnswer": frozenset({"currency", "balance"}),
    "v1.PaymentParty": frozenset({"card_number", "internal_account_id"}),
    "v1.BulkItem": frozenset({"receiver_account_number", "receiver_sort_code"}),
    "v1.DirectPayment": frozenset({"receiver_account_number", "receiver_sort_code"}),
    "v1.SinglePayment": frozenset({"receiver_account_number", "receiver_sort_code"}),
    "v2.AccountReference": frozenset({"account_number", "sort_code"}),
    "v2.TransactionAccount": frozenset({"bban", "account_number", "sort_code"}),
    "v2.PaymentAccount": frozenset({"bban", "account_number", "sort_code"}),
    "v2.Transfer": frozenset({"remittance_information_structured"}),
    "v2.DirectPayment": frozenset({"remittance_information_structured"}),
    "v2.SinglePayment": frozenset({"remittance_information_structured", "creditor_bank"}),
    "v2.TransactionsRequest": frozenset({"page_key"}),
    "tpp_calls.AuthorizeRequest": frozenset(_CHOSEN),
    "tpp_calls.BanksQuery": frozenset({"country", "scope", "scheme", "q"}),
    "tpp_calls.TokenRequest": frozenset(
        {*_CREDENTIALS, "code", "refresh_token", "redirect_uri", "code_verifier", "scope"}
    ),
    "tpp_calls.RevokeRequest": frozenset({*_CREDENTIALS, "token_type_hint"}),
    "tpp_calls.IntrospectionRequest": frozenset({*_CREDENTIALS, "token_type_hint"}),
    "own_calls.PushedMembers": frozenset({*_CREDENTIALS, *_CHOSEN} - {"client_id"}),
    "tpp_calls.PaymentStatusQuery": frozenset({"bic", "request_id"}),
    "own_answers.ReportedStatus": frozenset({"outcome"}),
    "own_calls.AskedStatus": frozenset({"outcome"}),
    "errors.Error": frozenset({"reason_code"}),
    "errors.TokenError": frozenset({"reason_code"}),
    "own_calls.FrontDoorQuery": frozenset({*_CHOSEN, "request_uri", "chosen_bic"} - {"state"}),
}
"""Members omitted from a model's example: alternatives and rarely used ones."""

TABLES: Mapping[str, Mapping[Any, str]] = {
    **CONSENT_STATES,
    "payment_scheme": SCHEME_MEANINGS,
    "balance_type": BALANCE_TYPES,
    "transaction_status": CODES.meanings,
    "v2.InitiationAnswer.status": CODES.meanings,
    "v1.PaymentRecord.status": NUMBERS.meanings,
    "own_answers.payment_status": NUMBERS.meanings,
    "tpp_events.payment_status": NUMBERS.meanings,
    "bank_calls.PaymentsStatus.payment_status": NUMBERS.meanings,
    "bank_calls.PaymentsStatusV2.payment_status": CODES.meanings,
}
"""Members whose values come from a table."""


def find(table: Mapping[str, Any], module: str, models: Sequence[str], member: str) -> Any:
    """The entry of ``table`` for a model's member; ``None`` if there is none.

    ``models`` lists the model and then its bases; ``member`` is in snake_case or camelCase.
    """
    name = to_snake(member)
    keys = [*(f"{module}.{model}.{name}" for model in models), f"{module}.{name}", name]
    return next((table[key] for key in keys if key in table), None)
