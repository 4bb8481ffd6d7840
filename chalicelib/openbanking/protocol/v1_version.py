"""Version 1 of the bank protocol (specification, Version 1). Its messages are in ``v1_*_messages``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from chalicelib.openbanking.protocol import bank_calls, errors
from chalicelib.openbanking.protocol.payment_enumerations import VERSION_1_SCHEMES, Kind
from chalicelib.openbanking.protocol.payment_statuses import NUMBERS
from chalicelib.openbanking.protocol.scopes import Scope
from chalicelib.openbanking.protocol.version import Version, Webhooks, by_name
from chalicelib.openbanking.protocol.webhooks import (
    PAYMENT_SERVICE,
    Acknowledgement,
    AnswerForm,
    Nothing,
    TokenEnded,
    Webhook,
)


def snake_case(name: str) -> str:
    """Return the name unchanged, because version 1 uses snake_case."""
    return name


def scheme_of_request(request: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield a single payment, which has its own scheme, and its currency."""
    yield request, request["currency"]


def schemes_of_payments(request: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each payment in a bulk payment, which has its own scheme, and the payment's currency."""
    for payment in request["payments"]:
        yield payment, payment["currency"]


def is_later_page(request: Mapping[str, Any]) -> bool:
    """Whether a request for an account's payments is for a page after the first."""
    return bool(request["current_page"] > 1)


ACCOUNT_LIST = Scope("account.list", "AISP", "account list")
ACCOUNT_BALANCE = Scope("account.balance", "AISP", "account balance")
ACCOUNT_DETAILS = Scope("account.details", "AISP", "account details")
ACCOUNT_PAYMENTS = Scope("account.payments", "AISP", "account payments list")
ACCOUNT_PAYMENT = Scope("account.payment", "AISP", "single payment details")
PAYMENT_INIT = Scope("payment.init", "PISP", "payment initiation")
FUNDS_CONFIRMATIONS = Scope("card_based.funds_confirmations", "CBPII", "confirmation of funds")

UNKNOWN = frozenset({"4001", "RESOURCE_UNKNOWN"})
"""The error codes for an unknown account or payment. ``4001`` means wrong content, and the service has validated all
other content of the request.
"""
ANSWERS = AnswerForm(
    spell=snake_case,
    code="error_code",
    text="message",
    says_status=True,
    unknown_service=frozenset({"4200"}),
    unknown_token=frozenset({"4201", "4202"}),
    bank_failed=frozenset({"4000", "4002"}),
)
REVOKE_TOKEN = Webhook("/revoke_token", None, TokenEnded, Acknowledgement, part_of="authorization", form=ANSWERS)
"""A consent has ended. The TPP or the service has ended the consent to which this access token belongs. The token was
returned to the bank by ``consent``. The call is repeated for up to three days until it succeeds, or until the bank
responds with 404 or 410, which mean that the token is unknown to the bank.
"""


@cache
def load_webhooks() -> Webhooks:
    """Return the webhooks of version 1. The webhooks and their messages are loaded on first use."""
    from chalicelib.openbanking.protocol import v1_account_messages as accounts
    from chalicelib.openbanking.protocol import v1_payment_messages as payments

    reads: dict[str, Webhook] = {}
    reads["accounts"] = Webhook("/accounts", ACCOUNT_LIST, Nothing, accounts.AccountsAnswer, account_id="id")
    """Accounts. The accounts that the PSU approved."""
    reads["account"] = Webhook(
        "/account", ACCOUNT_DETAILS, accounts.AccountRequest, accounts.AccountAnswer, unknown=UNKNOWN
    )
    """Account details. The details of one account, identified by IBAN or by the bank's own identifier."""
    reads["account_balance"] = Webhook(
        "/account_balance",
        ACCOUNT_BALANCE,
        accounts.AccountRequest,
        accounts.BalancesAnswer,
        accounts.balances_as_list,
        unknown=UNKNOWN,
    )
    """Account balance. The balance of an account. ``accounts`` is a list; a single object is also accepted."""
    reads["account_payments"] = Webhook(
        "/account_payments",
        ACCOUNT_PAYMENTS,
        accounts.PaymentsRequest,
        accounts.PaymentsAnswer,
        accounts.paginator_as_object,
        is_later_page=is_later_page,
        unknown=UNKNOWN,
    )
    """Payments of an account. A page of an account's payments, newest first. Pending payments may come before all other
    payments. ``amount`` is negative when money left the account. ``paginator`` is an object; a list of objects is also
    accepted.
    """
    reads["account_payment"] = Webhook(
        "/account_payment", ACCOUNT_PAYMENT, accounts.PaymentRequest, accounts.PaymentAnswer, unknown=UNKNOWN
    )
    """Payment of an account. The details of one payment. ``amount`` is negative when money left the account."""
    reads["funds_confirmations"] = Webhook(
        "/funds_confirmations",
        FUNDS_CONFIRMATIONS,
        payments.FundsRequest,
        payments.FundsAnswer,
        to_tpp_answer=payments.funds_available,
    )
    """Confirmation of funds. Return either ``funds_available``, or ``currency`` and ``balance`` for the service to
    compare.
    """
    initiations: dict[Kind, Webhook] = {}
    initiations["single"] = Webhook(
        "/payment_initiation",
        PAYMENT_INIT,
        payments.SinglePayment,
        payments.InitiationAnswer,
        scheme_places=scheme_of_request,
    )
    """Payment initiation. Check whether the payment can be executed, and return the URL where the PSU confirms it.
    Afterwards, send the PSU's browser to ``callback_url`` with ``status``, ``payment_id`` and, after a failure,
    ``message``.
    """
    initiations["bulk"] = Webhook(
        "/bulk_payment_initiation",
        PAYMENT_INIT,
        payments.BulkPayment,
        payments.InitiationAnswer,
        scheme_places=schemes_of_payments,
    )
    """Bulk payment initiation. A request with up to 1000 payments, which the PSU confirms together. In all other
    respects, it is like a single payment.
    """
    initiations["direct"] = Webhook(
        "/direct_payment_initiation",
        None,
        payments.DirectPayment,
        payments.InitiationAnswer,
        sends_token=False,
        part_of=PAYMENT_SERVICE,
        scheme_places=scheme_of_request,
    )
    """Direct payment initiation. A direct payment has no consent: there is no X-Auth-Token, and the PSU chooses the
    account at the bank.
    """
    return Webhooks(relayed=reads, payments=initiations, payment_status={})


VERSION = Version(
    number=1,
    prefix="",
    spell=snake_case,
    signature_required=False,
    errors=errors.version_1_error,
    answers=ANSWERS,
    scopes=by_name(
        ACCOUNT_LIST,
        ACCOUNT_BALANCE,
        ACCOUNT_DETAILS,
        ACCOUNT_PAYMENTS,
        ACCOUNT_PAYMENT,
        PAYMENT_INIT,
        FUNDS_CONFIRMATIONS,
    ),
    schemes=VERSION_1_SCHEMES,
    statuses=NUMBERS,
    status_member="payment_status",
    calls={
        "initiate": bank_calls.InitAuthorization,
        "save_consent": bank_calls.SaveConsent,
        "revoke_token": bank_calls.RevokeToken,
        "report_status": bank_calls.PaymentsStatus,
        "list_states": bank_calls.ConsentsStatus,
    },
    load_webhooks=load_webhooks,
    revoke_token=REVOKE_TOKEN,
    switches=frozenset({"balance_type"}),
)
