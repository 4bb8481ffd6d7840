"""Webhooks of a demonstration bank: the webhooks of each protocol version, and the checks before each call.

Checks run in this order: key, request id, signature, JSON, fields, token, scope. A fault bank then applies the
customer's fault.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Literal

from chalice.app import Response

from chalicelib.demo_bank import consents, initiation, orders, refusals
from chalicelib.demo_bank.banks import WEBHOOK_FORMATS
from chalicelib.demo_bank.consents import DemoConsent
from chalicelib.demo_bank.customers import Customer
from chalicelib.demo_bank.directory import find_customer
from chalicelib.demo_bank.faults import FAULTS_BY_NAME, SandboxFault
from chalicelib.demo_bank.refusals import OwnRefusal, UnknownToken
from chalicelib.demo_bank.runtime import DemoBank
from chalicelib.demo_bank.webhook_format import WebhookCall
from chalicelib.foundation import jsontext, log
from chalicelib.foundation.crypto.signatures import describe_attempt, verify
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.http.web import Incoming, UnreadableBody, json_answer
from chalicelib.foundation.identifiers import digest
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol import refusals as service_refusals
from chalicelib.openbanking.protocol.bank_calls import RevokeToken
from chalicelib.openbanking.protocol.errors import Fault, Refusal, refuse_fields
from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import Webhook

_BODY_BYTES = 1_000_000
_BULK_BYTES = 5_000_000
"""The maximum body size of a bulk payment. The service accepts 4 MB, and adds a scheme to each payment without one."""


@dataclass(frozen=True, slots=True)
class WebhookRow:
    """A webhook that a demo bank provides.

    Attributes:
        webhook: the protocol's definition: path, model of the body, scope.
        answer: builds the response members.
        consent: whether X-Auth-Token must belong to an active consent. A status request may have no token, and a
            revocation may concern an ended consent.
        body_bytes: the maximum body size.
    """

    webhook: Webhook
    answer: Callable[[WebhookCall], dict[str, Any]]
    consent: Literal["needed", "if named", "ignored"]
    body_bytes: int = _BODY_BYTES


@cache
def webhook_rows(version: Version) -> Mapping[str, WebhookRow]:
    """Return the webhooks that a version's banks support, by path."""
    answers = WEBHOOK_FORMATS[version.number].answers
    found = [WebhookRow(webhook, answers[name], "needed") for name, webhook in version.relayed.items()]
    found += [_initiation_row(kind, webhook) for kind, webhook in version.payments.items()]
    found += [_status_row(webhook, version) for webhook in dict.fromkeys(version.payment_status.values())]
    found.append(WebhookRow(version.revoke_token, _revoke_token, "ignored"))
    return {row.webhook.path: row for row in found}


def _initiation_row(kind: Kind, webhook: Webhook) -> WebhookRow:
    return WebhookRow(
        webhook,
        partial(initiation.initiate_payment, kind=kind),
        "needed" if webhook.sends_token else "ignored",
        _BULK_BYTES if kind == "bulk" else _BODY_BYTES,
    )


def _status_row(webhook: Webhook, version: Version) -> WebhookRow:
    kinds = [kind for kind, asked in version.payment_status.items() if asked is webhook]
    return WebhookRow(webhook, partial(initiation.get_payment_status, kinds=kinds), "if named")


def _revoke_token(call: WebhookCall) -> dict[str, Any]:
    """End a consent at the service's request. A duplicate request succeeds."""
    request: RevokeToken = call.request
    if not consents.revoke_by_token(call.bank, request.access_token):
        raise UnknownToken
    return {}


def answer_webhook(bank: DemoBank, row: WebhookRow, incoming: Incoming) -> Response:
    """Handle a webhook and return its response. Raises: Refusal."""
    authenticate_hub(bank, incoming)
    request = _read_request(row, incoming)
    consent = _find_consent(bank, row, incoming)
    customer = _find_customer(bank, consent) if consent else None
    form = WEBHOOK_FORMATS[bank.profile.version]
    call = WebhookCall(bank, form, request, consent, customer, incoming.request_id, digest(incoming.body))
    fault = _find_fault(row, call) if bank.profile.plays_faults else None
    log.info("demo bank: webhook", bank=bank.profile.name, path=row.webhook.path)
    if fault is not None and fault.effect is not None:
        return fault.effect(bank, partial(_answer, row, call))
    return _answer(row, call)


def _answer(row: WebhookRow, call: WebhookCall) -> Response:
    members = row.answer(call)
    form = row.webhook.form or call.bank.profile.protocol.answers
    return json_answer({"status": "success", **members} if form.says_status else members)


def _find_fault(row: WebhookRow, call: WebhookCall) -> SandboxFault | None:
    """Return the fault to apply, which is the fault of the consent's customer or of a direct payment's signed-in
    customer.

    Revocations never fail, so that a TPP can always end a consent.
    """
    if call.consent is not None:
        return FAULTS_BY_NAME.get(call.consent.customer_id)
    order = orders.find(call.bank, call.request.payment_id) if row.consent == "if named" else None
    fault = FAULTS_BY_NAME.get(order.customer_id) if order else None
    return fault if fault and not fault.needs_token else None


def refuse_unknown_path(bank: DemoBank, incoming: Incoming) -> Response:
    """Refuse a request to a path that the bank does not define. Raises: Refusal."""
    authenticate_hub(bank, incoming)
    raise refusals.ACTION_UNKNOWN()


def answer_failure(bank: DemoBank, incoming: Incoming, error: Exception) -> Response:
    """Return the error response in the format of the bank's version."""
    if isinstance(error, Refusal):
        refusal = error
        log.info("demo bank: webhook refused", bank=bank.profile.name, fault=error.fault.name)
    elif isinstance(error, UnreadableBody):
        refusal = Refusal(Fault.HEADERS, str(error))
    else:
        refusal = refusals.BANK_FAILED()
        log.exception("demo bank: webhook failed", bank=bank.profile.name)
    headers = refusal.headers if isinstance(refusal, OwnRefusal) else None
    status, body = _error(bank, refusal, incoming.request_id)
    return json_answer(body, status, headers)


def _error(bank: DemoBank, refusal: Refusal, request_id: str) -> tuple[int, Mapping[str, Any]]:
    version = bank.profile.protocol
    status, body = version.errors(refusal, request_id, bank.clock.time())
    if isinstance(refusal, UnknownToken):
        status = 404
    if isinstance(refusal, OwnRefusal):
        status = refusal.status or status
        own = {version.answers.code: bank.format.own_code(refusal), version.answers.text: refusal.message}
        body = {**body, **own}
    return status, {"status": "error", **body} if version.answers.says_status else body


def authenticate_hub(bank: DemoBank, incoming: Incoming) -> None:
    """Authenticate the service: API key, request id, and signature over the exact body. Raises: Refusal."""
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


def _read_request(row: WebhookRow, incoming: Incoming) -> Any:
    if len(incoming.body) > row.body_bytes:
        raise refusals.BODY_TOO_LARGE(most=row.body_bytes)
    try:
        return row.webhook.request.read(jsontext.loads(incoming.body or b"{}"))
    except jsontext.InvalidJson as error:
        raise refusals.NOT_JSON(problem=str(error)) from None
    except InvalidMessage as error:
        raise refuse_fields(error) from None


def _find_customer(bank: DemoBank, consent: DemoConsent) -> Customer:
    customer = find_customer(bank, consent.customer_id)
    if customer is None:
        raise refusals.refuse_token(refusals.TOKEN_NOT_IN_FORCE, bank.format.token_fault)
    return customer


def _find_consent(bank: DemoBank, row: WebhookRow, incoming: Incoming) -> DemoConsent | None:
    """Return the consent for X-Auth-Token, and record its use. Raises: Refusal, for any inactive or unknown token."""
    token = incoming.headers.get("x-auth-token", "")
    if row.consent == "ignored" or (row.consent == "if named" and not token):
        return None
    if not token:
        raise refusals.TOKEN_MISSING()
    consent = consents.find_by_token(bank, token)
    if consent is None or not consent.is_active(bank.clock.time()):
        raise refusals.refuse_token(refusals.TOKEN_NOT_IN_FORCE, bank.format.token_fault)
    scope = row.webhook.scope
    if scope is not None and scope.name not in consent.scopes:
        raise refusals.SCOPE_NOT_APPROVED(scope=scope.name)
    consents.record_use(bank, consent)
    return consent
