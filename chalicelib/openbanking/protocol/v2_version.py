"""Version 2 of the bank protocol (specification, Version 2). Its messages are in ``v2_*_messages``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic.alias_generators import to_camel

from chalicelib.openbanking.protocol import bank_calls, errors, v1_version
from chalicelib.openbanking.protocol.payment_enumerations import VERSION_2_SCHEMES, Kind
from chalicelib.openbanking.protocol.payment_statuses import CODES
from chalicelib.openbanking.protocol.scopes import Scope
from chalicelib.openbanking.protocol.version import Version, Webhooks, by_name
from chalicelib.openbanking.protocol.webhooks import PAYMENT_SERVICE, AnswerForm, Nothing, Webhook


def scheme_of_payment(request: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield a single payment, which has its own scheme, and its currency."""
    yield request, request["instructed_amount"]["currency"]


def scheme_of_bulk(request: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """All payments in a bulk payment share one scheme."""
    yield request, request["instructed_totals"]["currency"]


def is_later_page(request: Mapping[str, Any]) -> bool:
    """Whether a request for an account's transactions has the ``page_key`` of a previous page."""
    return "page_key" in request


ACCOUNTS = Scope("accounts", "AISP", "account list and details")
BALANCES = Scope("accounts.balances", "AISP", "balances")
TRANSACTIONS = Scope("accounts.transactions", "AISP", "transactions")
SINGLE_PAYMENTS = Scope("payments.single", "PISP", "single payment initiation")
BULK_PAYMENTS = Scope("payments.bulk", "PISP", "bulk payment initiation")
FUNDS_CONFIRMATIONS = Scope("funds_confirmations", "CBPII", "confirmation of funds")
UNKNOWN = frozenset({"RESOURCE_UNKNOWN"})


@cache
def load_webhooks() -> Webhooks:
    """Return the webhooks of version 2. The webhooks and their messages are loaded on first use."""
    from chalicelib.openbanking.protocol import v2_account_messages as accounts
    from chalicelib.openbanking.protocol import v2_payment_messages as payments

    single_status = Webhook(
        "/v2_payment_single_status", None, payments.StatusRequest, payments.StatusAnswer, part_of=PAYMENT_SERVICE
    )
    """Status of a single payment. The status of a single or direct payment. X-Auth-Token is absent for a direct
    payment.
    """
    bulk_status = Webhook(
        "/v2_payment_bulk_status", None, payments.StatusRequest, payments.StatusAnswer, part_of=PAYMENT_SERVICE
    )
    """Status of a bulk payment. The status of a bulk payment."""
    reads: dict[str, Webhook] = {}
    reads["accounts"] = Webhook("/v2_accounts", ACCOUNTS, Nothing, accounts.AccountsAnswer, account_id="resource_id")
    """Accounts. The accounts that the PSU approved; a multicurrency account has one entry per currency."""
    reads["account"] = Webhook(
        "/v2_account",
        ACCOUNTS,
        accounts.AccountRequest,
        accounts.AccountAnswer,
        accounts.account_as_object,
        unknown=UNKNOWN,
    )
    """Account details. The details of one account. ``account`` is an object; a list with one entry is also accepted."""
    reads["account_balance"] = Webhook(
        "/v2_account_balances", BALANCES, accounts.AccountRequest, accounts.BalancesAnswer, unknown=UNKNOWN
    )
    """Account balances. The balances of an account, one entry per type."""
    reads["account_transactions"] = Webhook(
        "/v2_account_transactions",
        TRANSACTIONS,
        accounts.TransactionsRequest,
        accounts.TransactionsAnswer,
        expected=accounts.transactions_model,
        is_later_page=is_later_page,
        unknown=UNKNOWN,
    )
    """Transactions of an account. A page of an account's booked and pending transactions, newest first. ``amount`` is
    negative when money left the account. The days of ``date_from`` and ``date_to`` are included, ``both`` returns the
    transactions of ``booked`` and ``pending``, and ``page_size`` may limit both lists together or each list separately.
    ``page_key`` identifies the next page and is absent on the last page.
    """
    reads["funds_confirmations"] = Webhook(
        "/v2_funds_confirmations",
        FUNDS_CONFIRMATIONS,
        payments.FundsRequest,
        payments.FundsAnswer,
        to_tpp_answer=payments.funds_available,
    )
    """Confirmation of funds. Whether the account has sufficient funds."""
    initiations: dict[Kind, Webhook] = {}
    initiations["single"] = Webhook(
        "/v2_payment_single",
        SINGLE_PAYMENTS,
        payments.SinglePayment,
        payments.InitiationAnswer,
        to_tpp_answer=payments.to_initiation_answer,
        scheme_places=scheme_of_payment,
    )
    """Single payment initiation. Check whether the payment can be executed, and return the URL where the PSU confirms
    it. Afterwards, send the PSU's browser to ``callback_url`` with ``status``, ``payment_id`` and, after a failure,
    ``message``.
    """
    initiations["bulk"] = Webhook(
        "/v2_payment_bulk",
        BULK_PAYMENTS,
        payments.BulkPayment,
        payments.InitiationAnswer,
        to_tpp_answer=payments.to_initiation_answer,
        scheme_places=scheme_of_bulk,
    )
    """Bulk payment initiation. A request with up to 1000 payments in one currency, which the PSU confirms together. In
    all other respects, it is like a single payment.
    """
    initiations["direct"] = Webhook(
        "/v2_payment_direct_single",
        None,
        payments.DirectPayment,
        payments.InitiationAnswer,
        to_tpp_answer=payments.to_initiation_answer,
        sends_token=False,
        part_of=PAYMENT_SERVICE,
        scheme_places=scheme_of_payment,
    )
    """Direct payment initiation. A direct payment has no consent: there is no X-Auth-Token."""
    return Webhooks(
        relayed=reads,
        payments=initiations,
        payment_status={"single": single_status, "bulk": bulk_status, "direct": single_status},
    )


VERSION = Version(
    number=2,
    prefix="/v2",
    spell=to_camel,
    signature_required=True,
    errors=errors.version_2_error,
    answers=AnswerForm(
        spell=to_camel,
        code="code",
        text="title",
        says_status=False,
        unknown_service=frozenset({"WRONG_CREDENTIALS", "HEADERS_ERROR"}),
        unknown_token=frozenset({"AUTHENTICATION_REQUIRED"}),
        bank_failed=frozenset({"INTERNAL_SERVER_ERROR", "ASPSP_UNKNOWN_ERROR"}),
    ),
    scopes=by_name(ACCOUNTS, BALANCES, TRANSACTIONS, SINGLE_PAYMENTS, BULK_PAYMENTS, FUNDS_CONFIRMATIONS),
    schemes=VERSION_2_SCHEMES,
    statuses=CODES,
    status_member="transaction_status",
    calls={
        "initiate": bank_calls.InitAuthorizationV2,
        "save_consent": bank_calls.SaveConsentV2,
        "revoke_token": bank_calls.RevokeTokenV2,
        "report_status": bank_calls.PaymentsStatusV2,
        "report_day": bank_calls.DailyPerformance,
        "list_states": bank_calls.ConsentsStatusV2,
    },
    load_webhooks=load_webhooks,
    revoke_token=v1_version.REVOKE_TOKEN,
    switches=frozenset({"no_date_to"}),
)
