"""What the service calls at a demonstration bank: one table of rows per version, and the checks before each.

Checked in this order: key, request id, signature, JSON, fields, token, scope. Adding a webhook is adding a row.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from chalice.app import Response

from chalicelib.demo_bank import answers, consents
from chalicelib.demo_bank.answers import Call, UnknownToken
from chalicelib.demo_bank.consents import Consent
from chalicelib.demo_bank.runtime import Bank
from chalicelib.foundation import jsontext, log
from chalicelib.foundation.fields import InvalidMessage, Message
from chalicelib.foundation.signatures import verify
from chalicelib.foundation.web import Incoming, json_answer
from chalicelib.openbanking.protocol.bank_calls import RevokeToken
from chalicelib.openbanking.protocol.errors import (
    Fault,
    Refusal,
    refuse_fields,
    version_1_body,
    version_1_status,
    version_2_body,
    version_2_status,
)
from chalicelib.openbanking.protocol.scopes import Version
from chalicelib.openbanking.protocol.webhooks import RELAYED

_BODY_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Row:
    """One webhook.

    Attributes:
        path: below the bank's address.
        needs_token: whether it concerns a consent, named by X-Auth-Token.
        answer: makes the members of the answer.
        request: model of the body.
        scope: that the consent must have.
    """

    path: str
    needs_token: bool
    answer: Callable[[Call], dict[str, Any]]
    request: type[Message]
    scope: str | None = None


def _relayed(version: Version, name: str, answer: Callable[[Call], dict[str, Any]]) -> Row:
    """The row for a call that the service relays; path, model and scope are the protocol's."""
    webhook = next(call.webhooks[version] for call in RELAYED if call.name == name)
    return Row(webhook.path, True, answer, webhook.request, webhook.scope)


ROWS: Mapping[Version, tuple[Row, ...]] = {
    1: (
        _relayed(1, "accounts", answers.accounts_v1),
        _relayed(1, "account", answers.account_v1),
        Row("/revoke_token", False, answers.revoke_token, RevokeToken),
    ),
    2: (
        _relayed(2, "accounts", answers.accounts_v2),
        _relayed(2, "account", answers.account_v2),
        Row("/revoke_token", False, answers.revoke_token, RevokeToken),
    ),
}


def answer(bank: Bank, row: Row, incoming: Incoming) -> Response:
    """Answer one webhook. Raises: Refusal."""
    check_caller(bank, incoming)
    request = _request(row, incoming)
    consent = _consent(bank, row, incoming) if row.needs_token else None
    members = row.answer(Call(bank, request, consent))
    log.info("demo bank: webhook", bank=bank.profile.name, path=row.path)
    return json_answer({"status": "success", **members} if bank.profile.version == 1 else members)


def unknown(bank: Bank, incoming: Incoming) -> Response:
    """Any other path of the bank. Raises: Refusal."""
    check_caller(bank, incoming)
    raise Refusal(Fault.NO_SUCH_ACTION, "this bank has no such webhook")


def failure(bank: Bank, incoming: Incoming, error: Exception) -> Response:
    """What went wrong, in the error format of the bank's version."""
    if isinstance(error, Refusal):
        refusal = error
        log.info("demo bank: webhook refused", bank=bank.profile.name, fault=error.fault.name)
    else:
        refusal = Refusal(Fault.INTERNAL, "the bank failed")
        log.exception("demo bank: webhook failed", bank=bank.profile.name)
    if bank.profile.version == 1:
        status = 404 if isinstance(refusal, UnknownToken) else version_1_status(refusal)
        return json_answer({"status": "error", **version_1_body(refusal)}, status)
    body = version_2_body(refusal, incoming.request_id, bank.clock.time())
    return json_answer(body, version_2_status(refusal))


def check_caller(bank: Bank, incoming: Incoming) -> None:
    """Is this the service? Its key, a request id, and its signature over the exact body. Raises: Refusal."""
    key = incoming.headers.get("x-api-key", "")
    if not key:
        raise Refusal(Fault.NOT_AUTHENTICATED, "header X-Api-Key is required")
    if not hmac.compare_digest(key.encode(), bank.credentials().api_key.encode()):
        raise Refusal(Fault.WRONG_CREDENTIALS, "X-Api-Key is not the key that was agreed on")
    if not incoming.has_good_request_id:
        raise Refusal(Fault.REQUEST_ID, "header X-Request-Id must be a UUID")
    signature = incoming.headers.get("x-signature", "")
    if not verify(bank.hub_keys(), incoming.body, signature):
        raise Refusal(Fault.WRONG_SIGNATURE, "X-Signature is not the service's signature of this body")


def _request(row: Row, incoming: Incoming) -> Any:
    if len(incoming.body) > _BODY_BYTES:
        raise Refusal(Fault.CONTENT, f"the body is larger than {_BODY_BYTES} bytes")
    try:
        return row.request.read(jsontext.loads(incoming.body or b"{}"))
    except jsontext.InvalidJson as error:
        raise Refusal(Fault.NOT_JSON, f"the body is not valid JSON: {error}") from None
    except InvalidMessage as error:
        raise refuse_fields(error) from None


def _consent(bank: Bank, row: Row, incoming: Incoming) -> Consent:
    """The consent behind X-Auth-Token; ended, expired and unknown ones are alike to the caller. Raises: Refusal."""
    token = incoming.headers.get("x-auth-token", "")
    if not token:
        raise Refusal(Fault.NOT_AUTHENTICATED, "header X-Auth-Token is required")
    consent = consents.find(bank, token)
    if consent is None or not consent.is_active(bank.clock.time()):
        fault = Fault.UNKNOWN_TOKEN if bank.profile.version == 1 else Fault.NOT_AUTHENTICATED
        raise Refusal(fault, "X-Auth-Token is not the token of a consent that is in force")
    if row.scope is not None and row.scope not in consent.scopes:
        raise Refusal(Fault.FORBIDDEN, f"the customer did not approve the scope {row.scope}")
    return consent
