"""The operation ids of the documents for generators, which read as names of methods."""

from __future__ import annotations

from collections.abc import Mapping

TPP_METHODS: Mapping[str, str] = {
    "authorize": "authorize",
    "oauth_par": "push_authorization",
    "token": "request_tokens",
    "oauth_introspect": "introspect_token",
    "token_revoke": "revoke_token",
    "scope": "list_scopes",
    "banks": "list_banks",
    "bank": "get_bank",
    "consent": "get_consent",
    "consents": "list_consents",
    "events": "list_events",
    "requests": "get_deferred_request",
    "well_known_oauth_authorization_server": "get_server_metadata",
    "well_known_oauth_protected_resource": "get_resource_metadata",
    "well_known_jwks_json": "get_keys",
    "oauth_authorize": "open_authorization",
    "unified_accounts": "list_unified_accounts",
    "unified_account": "get_unified_account",
    "unified_balances": "list_unified_balances",
    "unified_transactions": "list_unified_transactions",
    "unified_funds_confirmations": "confirm_unified_funds",
    "unified_payments": "initiate_unified_payment",
    "unified_bulk_payments": "initiate_unified_bulk_payment",
    "unified_direct_payments": "initiate_unified_direct_payment",
    "unified_payment_status": "get_unified_payment_status",
    "accounts": "list_accounts",
    "account": "get_account",
    "account_balance": "get_account_balance",
    "account_payments": "list_account_payments",
    "account_payment": "get_account_payment",
    "account_transactions": "list_account_transactions",
    "funds_confirmations": "confirm_funds",
    "payment_initiation": "initiate_payment",
    "bulk_payment_initiation": "initiate_bulk_payment",
    "direct_payment_initiation": "initiate_direct_payment",
    "payment_status": "get_payment_status",
}
"""The names of the methods of the TPP API, by operation id of the exact document."""
BANK_METHODS: Mapping[str, str] = {
    "init_authorization": "init_authorization",
    "consent": "save_consent",
    "token_revoke": "revoke_token",
    "payments_status": "report_payment_status",
    "consents_status": "check_consent_status",
    "daily_performance": "report_daily_performance",
    "public_key": "get_public_key",
    "cancel": "cancel_authorization",
}
"""The names of the methods of a bank API, by operation id of the exact document."""
_ANSWER = "answer_"
"""Begins the name of a webhook, which the bank's server implements."""


def method_name(operation_id: str, *, of_banks: bool) -> str:
    """Return the name of an operation of the TPP API or, ``of_banks``, of a bank API. A card action has its own."""
    if operation_id.startswith("webhook_"):
        return operation_id.replace("webhook_", _ANSWER, 1)
    return (BANK_METHODS if of_banks else TPP_METHODS).get(operation_id, operation_id)
