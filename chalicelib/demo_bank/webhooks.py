"""What the service calls at a demonstration bank: one table of rows per version, and the checks before each.

Checked in this order: key, request id, signature, JSON, fields, token, scope. Adding a webhook is adding a row.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from chalice.app import Response

from chalicelib.demo_bank import answers, consents, initiation, refusals, statements
from chalicelib.demo_bank.calls import Call
from chalicelib.demo_bank.consents import Consent
from chalicelib.demo_bank.runtime import Bank
from chalicelib.foundation import jsontext, log
from chalicelib.foundation.crypto.signatures import describe_attempt, verify
from chalicelib.foundation.fields.field_types import InvalidMessage
from chalicelib.foundation.http.web import Incoming, json_answer
from chalicelib.foundation.identifiers import digest
from chalicelib.openbanking.protocol import refusals as service_refusals
from chalicelib.openbanking.protocol.errors import Refusal, refuse_fields
from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.protocol.webhooks import PAYMENTS, Webhook

_BODY_BYTES = 1_000_000
_BULK_BYTES = 5_000_000
"""The service takes 4 MB from a TPP, and adds to every payment the scheme that was left out."""

Answer = Callable[[Call], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Row:
    """One webhook.

    Attributes:
        webhook: the protocol's row: path, model of the body, scope.
        answer: makes the members of the answer.
        consent: whether X-Auth-Token must name a consent in force. A status may be asked for without, and a revocation
            may concern a consent that has ended.
        body_bytes: the longest body that is taken.
    """

    webhook: Webhook
    answer: Answer
    consent: Literal["needed", "if named", "ignored"]
    body_bytes: int = _BODY_BYTES

    @property
    def path(self) -> str:
        return self.webhook.path


def _relayed(version: int, name: str, answer: Answer) -> Row:
    """The row for a question that the service relays."""
    return Row(VERSIONS[version].relayed[name], answer, "needed")


def _payments(version: int) -> tuple[Row, ...]:
    """The rows for every way to initiate a payment."""
    return tuple(
        Row(
            VERSIONS[version].payments[call.kind],
            partial(initiation.initiate, kind=call.kind),
            "needed" if VERSIONS[version].payments[call.kind].sends_token else "ignored",
            _BULK_BYTES if call.kind == "bulk" else _BODY_BYTES,
        )
        for call in PAYMENTS
    )


def _status(*kinds: Kind) -> Row:
    return Row(VERSIONS[2].payment_status[kinds[0]], partial(initiation.status, kinds=kinds), "if named")


_REVOCATION = Row(VERSIONS[1].revoke_token, answers.revoke_token, "ignored")

ROWS: Mapping[int, tuple[Row, ...]] = {
    1: (
        _relayed(1, "accounts", answers.accounts_v1),
        _relayed(1, "account", answers.account_v1),
        _relayed(1, "account_balance", answers.balance_v1),
        _relayed(1, "account_payments", statements.payments_v1),
        _relayed(1, "account_payment", statements.payment_v1),
        _relayed(1, "funds_confirmations", answers.funds_v1),
        *_payments(1),
        _REVOCATION,
    ),
    2: (
        _relayed(2, "accounts", answers.accounts_v2),
        _relayed(2, "account", answers.account_v2),
        _relayed(2, "account_balance", answers.balances_v2),
        _relayed(2, "account_transactions", statements.transactions_v2),
        _relayed(2, "funds_confirmations", answers.funds_v2),
        *_payments(2),
        _status("single", "direct"),
        _status("bulk"),
        _REVOCATION,
    ),
}


def answer(bank: Bank, row: Row, incoming: Incoming) -> Response:
    """Answer one webhook. Raises: Refusal."""
    check_caller(bank, incoming)
    request = _request(row, incoming)
    consent = _consent(bank, row, incoming)
    members = row.answer(Call(bank, request, consent, incoming.request_id, digest(incoming.body)))
    log.info("demo bank: webhook", bank=bank.profile.name, path=row.path)
    return json_answer({"status": "success", **members} if bank.profile.version == 1 else members)


def unknown(bank: Bank, incoming: Incoming) -> Response:
    """Any other path of the bank. Raises: Refusal."""
    check_caller(bank, incoming)
    raise refusals.ACTION_UNKNOWN()


def failure(bank: Bank, incoming: Incoming, error: Exception) -> Response:
    """What went wrong, in the error format of the bank's version."""
    if isinstance(error, Refusal):
        refusal = error
        log.info("demo bank: webhook refused", bank=bank.profile.name, fault=error.fault.name)
    else:
        refusal = refusals.BANK_FAILED()
        log.exception("demo bank: webhook failed", bank=bank.profile.name)
    return json_answer(*refusals.body_and_status(bank.profile.version, refusal, incoming.request_id, bank.clock.time()))


def check_caller(bank: Bank, incoming: Incoming) -> None:
    """Is this the service? Its key, a request id, and its signature over the exact body. Raises: Refusal."""
    key = incoming.headers.get("x-api-key", "")
    if not key:
        raise service_refusals.BANK_KEY_MISSING()
    if not hmac.compare_digest(key.encode(), bank.credentials().api_key.encode()):
        raise refusals.KEY_WRONG()
    if not incoming.has_good_request_id:
        raise service_refusals.REQUEST_ID_NOT_UUID()
    signature = incoming.headers.get("x-signature", "")
    keys = bank.hub_keys()
    if not verify(keys, incoming.body, signature):
        raise refusals.SIGNATURE_WRONG(hint=describe_attempt(keys, incoming.body))


def _request(row: Row, incoming: Incoming) -> Any:
    if len(incoming.body) > row.body_bytes:
        raise refusals.BODY_TOO_LARGE(most=row.body_bytes)
    try:
        return row.webhook.request.read(jsontext.loads(incoming.body or b"{}"))
    except jsontext.InvalidJson as error:
        raise refusals.NOT_JSON(problem=str(error)) from None
    except InvalidMessage as error:
        raise refuse_fields(error) from None


def _consent(bank: Bank, row: Row, incoming: Incoming) -> Consent | None:
    """The consent behind X-Auth-Token; ended, expired and unknown ones are alike to the caller. Raises: Refusal."""
    token = incoming.headers.get("x-auth-token", "")
    if row.consent == "ignored" or (row.consent == "if named" and not token):
        return None
    if not token:
        raise refusals.TOKEN_MISSING()
    consent = consents.find(bank, token)
    if consent is None or not consent.is_active(bank.clock.time()):
        raise refusals.in_version(refusals.TOKEN_NOT_IN_FORCE, bank.profile.version)
    scope = row.webhook.scope
    if scope is not None and scope.name not in consent.scopes:
        raise refusals.SCOPE_NOT_APPROVED(scope=scope.name)
    return consent
