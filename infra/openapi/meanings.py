"""The meaning of each member: one sentence and one valid example.

Lookup order: ``v1.PaymentRecord.status`` (module, model, name), ``v1.status``, ``status``. Members that are objects
have no example of their own: it is built from their members' examples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic.alias_generators import to_snake

from chalicelib.openbanking.protocol.payment_enumerations import SCHEME_MEANINGS
from chalicelib.openbanking.protocol.payment_statuses import CODES, NUMBERS
from chalicelib.openbanking.protocol.v2_messages import BALANCE_TYPES

OWN_ADDRESS = "http://127.0.0.1:8000"
"""The service's URL in examples, replaced with the actual one when the documents are served."""

_CONSENT, _REQUEST = "5f8d0c1e9b7a463f2d1c0b", "b81f6e03d29c4a57e6f1d8"
_STATE = "lVZ1uF2wC8mJr0d6oKxq3A"
_RANDOM = "3q2-7wX9aLr0Zk5vYtJmNcB1dFgHsUe4iOpQlAzXyVw"
_CODE = f"5f8d0c1e9b7a463f2d1c0b.{_RANDOM}"
_ACCESS = f"5f8d0c1e9b7a463f2d1c0b~a41b22c63d84e5f607182a~DEMODEF1XXX.{_RANDOM}"
_REFRESH = f"5f8d0c1e9b7a463f2d1c0b~c93d1e5f708192a3b4c5d6.{_RANDOM}"
_BANK_TOKEN = f"7a3e9c1d5b20f8e6a4c2d1.{_RANDOM}"
_CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
_VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
_CALLBACK = "https://tpp.example.com/callback"
_REQUEST_URL = (
    "https://bank.example/authorize?response_type=code&client_id=4f1c2b7a9d8e6f503a1b2c"
    f"&redirect_uri=https%3A%2F%2Ftpp.example.com%2Fcallback&scope=accounts&state={_STATE}&consent_type=reusable"
)
_GB_IBAN, _DE_IBAN = "GB10DEMO04000431926801", "DE61100999000004711001"
_GB_ACCOUNT, _DE_ACCOUNT = "1031926801", "65e1d84d-bbff-5020-8a18-fa562a050c8d"
_IN_CURRENCY = "How much, with no more decimals than the currency has, zeros at the end aside"

Meaning = tuple[str, Any]

MEANINGS: Mapping[str, Meaning] = {
    # accounts
    "account": ("The account", None),
    "account_id": ("The bank's own identifier of the account", _DE_ACCOUNT),
    "v1.account_id": ("The bank's own identifier of the account", _GB_ACCOUNT),
    "account_ids": ("The bank's own identifiers of the approved accounts", [_DE_ACCOUNT]),
    "account_name": ("The name that the account is held in", "Ada Okafor"),
    "account_number": ("The local account number", "31926801"),
    "account_numbers": ("The approved accounts' local numbers, possibly with the sort code first", ["04000431926801"]),
    "accounts": ("The accounts", None),
    "additional_data": ("Whatever else the bank tells; handed on to the TPP as it is", None),
    "v1.Account.additional_data": (
        "Whatever else the bank tells; handed on to the TPP as it is",
        [{"sort_code": "040004", "account_number": "31926801"}],
    ),
    "balance": ("The balance, with a dot as decimal separator", "1250.75"),
    "balance_amount": ("How much it is", None),
    "balance_type": ("Which balance this is", "interimAvailable"),
    "balances": ("The balances, one entry for every type", None),
    "bban": ("The local identifier of the account (basic bank account number)", "100999000004711001"),
    "card_number": ("The card's number, masked by the bank", "4111110000001111"),
    "currency": ("The currency", "EUR"),
    "v1.currency": ("The currency", "GBP"),
    "v1.FundsAnswer.currency": ("The currency of the balance: the one that was asked for", "GBP"),
    "iban": ("The account's IBAN", _DE_IBAN),
    "v1.iban": ("The account's IBAN", _GB_IBAN),
    "ibans": ("The approved accounts' IBANs", [_DE_IBAN]),
    "id": ("The bank's identifier", _GB_ACCOUNT),
    "internal_account_id": ("The bank's own identifier of the account", _GB_ACCOUNT),
    "name": ("The account's name", "Everyday Account"),
    "v2.AccountReference.name": ("The account's name", "Girokonto"),
    "v2.CreditorBank.name": ("The name of the creditor's bank", "Nordea Bank Abp"),
    "payment_schemes": ("The payment schemes that the account can pay by", ["SCT", "SCTI"]),
    "resource_id": ("The account's identifier; an account in several currencies has one for each", _DE_ACCOUNT),
    "sort_code": ("The sort code that goes with the account number", "040004"),
    # payments of an account
    "date_created": ("When the payment was made (ISO 8601)", "2026-11-20"),
    "description": ("What the payment was for", "Monthly rent"),
    "paginator": ("Which page this is", None),
    "payment": ("The payment", None),
    "payments": ("The payments", None),
    "v1.PaymentRecord.id": ("The payment's identifier at the bank", "31926801261103"),
    "v1.PaymentRecord.status": ("Where the payment stands", 4),
    "v1.PaymentRecord.reference": ("The payment's reference", "RENT NOVEMBER"),
    "v1.PaymentRecord.amount": ("How much was paid, with a dot as decimal separator", "950.00"),
    "type": (
        "How it was paid: Bank transfer, Card transfer, Internal transfer, Load, Withdrawal or Other",
        "Bank transfer",
    ),
    "sender_data": ("Who paid", None),
    "receiver_data": ("Who was paid", None),
    "v1.PaymentParty.bic": ("The BIC of the account's bank", "DEMOGB21"),
    "record_count": ("How many payments a page holds at most", 100),
    "current_page": ("Which page", 1),
    "v1.Paginator.limit": ("How many payments a page holds at most", 100),
    # transactions of an account
    "booked": ("Transactions that are booked", None),
    "pending": ("Transactions that are not booked yet", None),
    "booking_date": ("When it was booked", "2026-11-20"),
    "value_date": ("When it counts", "2026-11-20"),
    "booking_status": ("Which transactions", "both"),
    "date_from": ("The first day", "2026-11-01"),
    "date_to": ("The last day", "2026-11-30"),
    "page_key": ("Which page: the page_key of the answer before; left out for the first page", "2"),
    "v2.TransactionsAnswer.page_key": ("Leads to the next page; absent on the last one", "2"),
    "page_size": ("How many transactions a page holds at most", 100),
    "transaction_amount": ("How much it was, negative when money left the account", None),
    "v2.TransactionAmount.amount": ("How much it was, negative when money left the account", "-42.90"),
    "transaction_id": ("The transaction's identifier at the bank", "0004711001261103"),
    "transactions": ("The transactions", None),
    # payment initiation
    "amount": ("How much", "12.50"),
    "v1.InCurrency.amount": (_IN_CURRENCY, "12.50"),
    "v2.InCurrency.amount": (_IN_CURRENCY, "12.50"),
    "bic": ("The bank's BIC; of 8 characters, its head office", "DEMODEF1"),
    "v2.CreditorBank.bic": ("The BIC of the creditor's bank", "NDEAFIHH"),
    "building_number": ("Number of the building", "12a"),
    "callback_url": (
        "Where the PSU comes back to: same scheme, host and port as one of the client's Callback URLs",
        f"{OWN_ADDRESS}/payments/callback",
    ),
    "confirmation_url": (
        "Where the PSU confirms the payment: an https address, in the local stage also an http one",
        "https://bank.example/confirm/9f3c1b",
    ),
    "country": ("The country", "DE"),
    "v1.SingleAddress.country": ("The country", "GBR"),
    "v1.BulkAddress.country": ("The country", "GB"),
    "v2.CreditorBank.country": ("The country of the creditor's bank", "FI"),
    "creditor_account": ("The account that is paid", {"iban": "DE12100999000005820011"}),
    "v2.Transaction.creditor_account": ("The account that was paid", {"iban": "DE12100999000005820011"}),
    "creditor_address": ("The creditor's address", None),
    "creditor_bank": ("The creditor's bank; mandatory with the scheme SWIFT", None),
    "creditor_name": ("Who is paid", "Kaffeerösterei Lindgren"),
    "debtor_account": ("The account that pays; without it the PSU chooses one at the bank", None),
    "v2.Transaction.debtor_account": ("The account that paid", None),
    "debtor_name": ("Who pays", "Lena Brandt"),
    "funds_available": ("Whether there is as much on the account", True),
    "instructed_amount": ("How much", None),
    "instructed_totals": ("The exact sum of all payments", None),
    "message_for_receiver": ("What the receiver reads", "Invoice 2026-117"),
    "payment_id": ("The payment's identifier at the bank", "P2026112100017"),
    "v1.PaymentRequest.payment_id": ("The payment's identifier at the bank", "31926801261103"),
    "payment_scheme": ("How the payment is made", "SCT"),
    "v1.payment_scheme": ("How the payment is made", "FPS"),
    "postal_code": ("Postal code", "10117"),
    "post_code": ("Postal code", "SW1A 1AA"),
    "receiver_account_number": ("The receiver's account number; with the sort code in place of the IBAN", "40718204"),
    "receiver_address": ("The receiver's address", None),
    "receiver_iban": ("The receiver's IBAN", "GB53DEMO04000440718204"),
    "receiver_name": ("Who is paid", "Bilal Hussain"),
    "receiver_sort_code": ("The sort code that goes with the receiver's account number", "040004"),
    "reference": ("The reference", "INV 2026-117"),
    "v2.reference": ("The reference", "RF18539007547034"),
    "reference_type": ("What kind of reference it is", "SCOR"),
    "remittance_information_structured": ("What the payment is for, as a reference", None),
    "remittance_information_unstructured": ("What the payment is for, in words", "Invoice 2026-117"),
    "sender_iban": ("The account that pays; without it the PSU chooses one at the bank", _GB_IBAN),
    "v1.BulkPayment.sender_iban": ("The account that pays", _GB_IBAN),
    "status": ("Where the payment stands", "RCVD"),
    "street_name": ("The street", "Unter den Linden"),
    "totals": ("The exact sums of the payments, one entry for the currency", None),
    "town_name": ("The town", "Berlin"),
    "transaction_status": ("Where the payment stands", "ACSC"),
    "payment_status": ("Where the payment stands", 4),
    "bank_calls.PaymentsStatusV2.payment_status": (
        "Where the payment stands: a code or, since the protocol's table says N, a number",
        "ACSC",
    ),
    "history": ("Every status that the payment has had, the first one first", None),
    "at": ("When it was reported", "2026-11-21T09:30:00+00:00"),
    # authorization
    "authorization_code": ("The code from the callback", _CODE),
    "code": ("The code from the callback, as RFC 6749 names it", _CODE),
    "code_challenge": (
        "PKCE: base64url of the verifier's SHA-256, 43 characters (mandatory in production)",
        _CHALLENGE,
    ),
    "code_challenge_method": ("PKCE: how the challenge was made", "S256"),
    "code_verifier": ("PKCE: the verifier; required if and only if the request had a challenge", _VERIFIER),
    "client_id": ("The Client ID, where no header names it", "4f1c2b7a9d8e6f503a1b2c"),
    "client_secret": ("The client's secret, if it has one", _RANDOM),
    "consent_type": ("Whether the consent lasts; `one_time` goes with payment scopes only", "reusable"),
    "grant_type": ("What is exchanged; inferred when absent", "authorization_code"),
    "redirect_uri": ("Must equal one of the client's Callback URLs, character for character", _CALLBACK),
    "refresh_token": ("The latest refresh token, for the next pair", _REFRESH),
    "response_type": ("Always `code`", "code"),
    "scope": ("The scopes, with a space between them", "accounts accounts.balances"),
    "own_answers.BankScope.scope": ("The scope's name", "accounts"),
    "tpp_calls.TokenRequest.scope": ("Accepted, and ignored: tokens have the consent's scopes", "accounts"),
    "service": ("The role that the scope belongs to", "AISP"),
    "meaning": ("What the scope allows", "account list and details"),
    "scopes": ("The scopes: rights that the PSU is asked for", ["accounts"]),
    "bank_calls.SaveConsent.scopes": ("The approved scopes: exactly those requested", ["account.list"]),
    "bank_calls.SaveConsentV2.scopes": ("The approved scopes: exactly those requested", ["accounts"]),
    "own_answers.ScopeAnswer.scopes": ("The scopes", None),
    "state": ("Comes back with the PSU; never used by this client before, made when absent", _STATE),
    "own_answers.AuthorizeAnswer.state": ("Yours, or the one that was made: compare it when the PSU is back", _STATE),
    "token": ("An access or refresh token", _REFRESH),
    "token_type_hint": ("Ignored", "refresh_token"),
    "redirect_url": ("Where to send the PSU's browser, unchanged", _REQUEST_URL),
    "expires_in": ("For so many seconds", 3600),
    "own_answers.AuthorizeAnswer.expires_in": ("The PSU has so many seconds to decide", 1800),
    "access_token": ("The bearer", _ACCESS),
    "own_answers.SaveConsentAnswer.access_token": ("The token of this consent, sent back in X-Auth-Token", _BANK_TOKEN),
    "bank_calls.access_token": ("The token of the consent, as the service gave it to the bank", _BANK_TOKEN),
    "token_type": ("Always `Bearer`", "Bearer"),
    "consent_id": ("The consent's identifier", _CONSENT),
    "valid_until": ("The end of the consent; nothing outlives it", "2027-05-20T09:30:00+00:00"),
    "own_answers.ConsentAnswer.status": ("The bearer of a consent that has ended is refused", "authorised"),
    "own_answers.ConsentAnswer.ibans": (
        "The approved accounts' IBANs, as the bank named them; perhaps none",
        [_DE_IBAN],
    ),
    "own_answers.ConsentAnswer.account_ids": ("The approved accounts' identifiers at the bank; perhaps none", []),
    "own_answers.ConsentAnswer.account_numbers": ("The approved accounts' local numbers; perhaps none", []),
    # banks
    "banks": ("The banks of this page", None),
    "own_answers.BankEntry.name": ("The bank's name", "Demo Bank Two"),
    "own_answers.BankEntry.country": ("The bank's country (ISO 3166-1)", "DE"),
    "api_version": ("The version of the protocol that the bank speaks", 2),
    "page": ("Which page", 1),
    "limit": ("How many banks a page holds at most", 20),
    "total": ("How many banks there are in all", 2),
    # bank-facing calls
    "request_url": ("The OAuth2 authorization URL that the PSU came with, whole and unaltered", _REQUEST_URL),
    "tpp_name": ("The TPP's name, to show to the PSU", "Example TPP"),
    "tpp_registration_number": ("The TPP's registration number, to show to the PSU", "SANDBOX-4f1c2b7a"),
    "cancel_url": (
        "Where the PSU's browser goes when there is no consent; `error` and `error_description` may be added",
        f"{OWN_ADDRESS}/bank/cancel/d04b98f48e8f8bcc15c6ae.{_RANDOM}",
    ),
    "own_answers.callback_url": (
        "Where the PSU's browser goes now, unchanged",
        f"{_CALLBACK}?authorization_code={_CODE}&code={_CODE}&state={_STATE}&iss=https%3A%2F%2Fcauseway.example",
    ),
    "own_answers.Success.status": ("Always `success`", "success"),
    "date": ("The day that the data is for", "2026-11-20"),
    "consent_duration": ("Average milliseconds to confirm a consent", 42000),
    "payment_duration": ("Average milliseconds to complete the confirmation of a payment", 31500),
    # errors
    "error_code": ("Which error it is", 4301),
    "message": ("What is wrong, for people", "Parameter request_url not correct: the request URL is unknown"),
    "own_calls.WebhookErrorV1.status": ("Always `error`", "error"),
    "own_calls.WebhookErrorV1.error_code": ("The bank's own code", 5101),
    "own_calls.WebhookErrorV1.message": ("What is wrong, for people", "There is not enough money on the account"),
    "errors.Error.code": ("Which error it is", "FORMAT_ERROR"),
    "errors.TokenError.code": ("Which error it is", "FORMAT_ERROR"),
    "own_calls.WebhookError.code": ("Which error it is", "FORMAT_ERROR"),
    "errors.AdditionalError.code": ("Which error it is", "INVALID_MODEL_TYPE"),
    "own_calls.WebhookAdditionalError.code": ("Which error it is", "INVALID_MODEL_TYPE"),
    "title": ("What is wrong, for people; may change", "currency is required"),
    "details": ("Where it is wrong, for people; may change", "currency is required"),
    "timestamp": ("When it happened", "2026-11-21T09:30:00+00:00"),
    "request_id": (
        "The request's X-Request-Id, or the one that was made for it",
        "fdfd4e95-a65f-44f4-8807-2ce2f6b89e89",
    ),
    "additional_errors": ("The single things that are wrong, 50 at most", None),
    "error": ("The error as RFC 6749 names it", "invalid_grant"),
    "own_calls.error": ("Why there is no consent; access_denied when absent", "access_denied"),
    "error_description": ("What is wrong, for people", "the authorization code has expired"),
    "own_calls.error_description": ("Why there is no consent, for people", "The customer declined"),
    "own_calls.scope": ("The scopes, with a space between them", "accounts"),
    "own_calls.client_id": ("The Client ID", "4f1c2b7a9d8e6f503a1b2c"),
    # deferred calls
    "own_answers.Accepted.request_id": ("What the outcome is asked for by", _REQUEST),
    "own_answers.Accepted.state": ("Always `queued`", "queued"),
    "own_calls.RequestPlace.request_id": ("The `request_id` of the 202", _REQUEST),
    "own_answers.AcceptedRequest.state": (
        "How far it has come: `done` after a success, `failed` after a refusal or failure",
        "done",
    ),
    "own_answers.AcceptedRequest.status": ("The HTTP status of the outcome; null before there is one", 200),
    "own_answers.AcceptedRequest.body": (
        "The body of the outcome, an error's too; null before there is one",
        {"funds_available": True},
    ),
    # events
    "tpp_events.state": ("The `state` of the authorization request", _STATE),
    "tpp_events.scopes": ("The scopes that the PSU approved", ["accounts"]),
    "tpp_events.error": ("Why there is no consent: `access_denied` unless the bank says otherwise", "access_denied"),
    "tpp_events.error_description": ("Why there is no consent, for people", "The customer declined"),
    "tpp_events.revoked_by": (
        "Who has ended the consent; `service` after the misuse of a code or refresh token",
        "bank",
    ),
    "tpp_events.ConsentEnding.valid_until": ("The end of the consent", "2026-11-28T09:30:00+00:00"),
    "tpp_events.PaymentStatusChanged.consent_id": ("The consent of the payment; absent for a direct payment", _CONSENT),
    "tpp_events.payment_status": ("At a version 1 bank: where the payment stands", 4),
    "tpp_events.transaction_status": ("At a version 2 bank: where the payment stands", "ACSC"),
    "tpp_events.message": ("Some words", "This is a test."),
    # metadata and keys
    "issuer": ("Who issues the tokens; the `iss` of callbacks", OWN_ADDRESS),
    "authorization_endpoint": ("Where authorizations begin", f"{OWN_ADDRESS}/oauth/authorize"),
    "token_endpoint": ("Where codes and refresh tokens are exchanged", f"{OWN_ADDRESS}/tpp/token"),
    "revocation_endpoint": ("Where consents are ended", f"{OWN_ADDRESS}/tpp/token/revoke"),
    "jwks_uri": ("Where the public keys are", f"{OWN_ADDRESS}/.well-known/jwks.json"),
    "scopes_supported": ("The scopes of both versions", ["accounts", "payments.single"]),
    "response_types_supported": ("Always `code`", ["code"]),
    "response_modes_supported": ("Always `query`", ["query"]),
    "grant_types_supported": ("What is exchanged", ["authorization_code", "refresh_token"]),
    "token_endpoint_auth_methods_supported": ("How clients are named", ["client_secret_basic", "none"]),
    "revocation_endpoint_auth_methods_supported": ("How clients are named", ["client_secret_basic", "none"]),
    "code_challenge_methods_supported": ("How challenges are made", ["S256"]),
    "authorization_response_iss_parameter_supported": ("Whether callbacks carry `iss` (RFC 9207)", True),
    "request_parameter_supported": ("Whether `request` is understood (RFC 9101)", False),
    "request_uri_parameter_supported": ("Whether `request_uri` is understood (RFC 9101)", False),
    "keys": ("The keys, newest first", None),
    "kty": ("The kind of key", "RSA"),
    "use": ("What it is for", "sig"),
    "alg": ("How it signs", "RS256"),
    "kid": ("The key's identifier", "lqTeqB0kHh7pVY3VqPzvC0kqPpRr1XvF0Jb6VhX2yQk"),
    "n": ("The modulus", "sXchX6M2q9hC4m0D5cQ1"),
    "e": ("The exponent", "AQAB"),
}

LEFT_OUT: Mapping[str, frozenset[str]] = {
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
    "tpp_calls.AuthorizeRequest": frozenset({"redirect_uri", "state", "code_challenge", "code_challenge_method"}),
    "tpp_calls.TokenRequest": frozenset(
        {"code", "refresh_token", "redirect_uri", "code_verifier", "client_id", "client_secret", "scope"}
    ),
    "tpp_calls.RevokeRequest": frozenset({"client_id", "client_secret", "token_type_hint"}),
    "tpp_calls.PaymentStatusQuery": frozenset({"bic"}),
    "own_calls.FrontDoorQuery": frozenset({"redirect_uri", "code_challenge", "code_challenge_method"}),
}
"""Members omitted from a model's example: alternatives and rarely used ones."""

TABLES: Mapping[str, Mapping[Any, str]] = {
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
