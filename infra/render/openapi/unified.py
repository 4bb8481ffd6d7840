"""Builds the operations of the unified calls, which have one request and one response for banks of all versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from chalicelib.foundation.fields.field_types import Message
from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.tpp_calls import PaymentStatusQuery, ScopeQuery
from chalicelib.openbanking.unified import answers, calls, messages, payment_messages
from chalicelib.openbanking.unified.calls import UnifiedCall, UnifiedPaymentCall
from infra.render.openapi import refusals_of_calls, row_docs
from infra.render.openapi.document import body, json_content
from infra.render.openapi.models import model_of
from infra.render.openapi.operations import NONCE, PROOF_HEADER, PSU, Operations, operation, ref, table_of_webhooks
from infra.render.openapi.own_calls import webhooks_of
from infra.render.openapi.schemas import Json, body_example

READS, PAYMENTS = "Unified API", "Unified payments"
TAGS = (
    (READS, "Accounts, balances, transactions and funds, in one shape for banks of both versions."),
    (PAYMENTS, "Payments and their statuses, in one shape for banks of both versions."),
)


_BRITISH: Mapping[str, Any] = {
    "bic": "DEMOGB21",
    "debtor": {"iban": "GB10DEMO04000431926801"},
    "account": {"iban": "GB10DEMO04000431926801"},
    "creditor": {"name": "Bilal Hussain", "sort_code": "040004", "account_number": "40718204"},
    "currency": "GBP",
    "scheme": "FPS",
}
"""The values of members in the examples in pounds, where they differ from the examples in euros."""


class Messages(NamedTuple):
    """The model of a call's query or body, and the type of its response."""

    request: type[Message]
    answer: type[Any]


MESSAGES: Mapping[UnifiedCall, Messages] = {
    calls.UNIFIED_ACCOUNTS: Messages(messages.QUERIES[calls.UNIFIED_ACCOUNTS], answers.UnifiedAccounts),
    calls.UNIFIED_ACCOUNT: Messages(messages.QUERIES[calls.UNIFIED_ACCOUNT], answers.UnifiedAccountAnswer),
    calls.UNIFIED_BALANCES: Messages(messages.QUERIES[calls.UNIFIED_BALANCES], answers.UnifiedBalances),
    calls.UNIFIED_TRANSACTIONS: Messages(messages.QUERIES[calls.UNIFIED_TRANSACTIONS], answers.UnifiedTransactions),
    calls.UNIFIED_FUNDS: Messages(payment_messages.FundsRequest, answers.UnifiedFundsConfirmation),
}
_BODIES: Mapping[Kind, str] = {"single": "Payment", "bulk": "BulkPayment", "direct": "DirectPayment"}
"""The names of the bodies' schemas."""
_STATUS_ID = "unified_payment_status"


class UnifiedOperations(Operations):
    """Builds the operations of the unified calls."""

    def paths(self) -> Json:
        """Return all operations by path and method."""
        paths = {call.path: {call.method.lower(): self.read(call)} for call in calls.UNIFIED_READS}
        paths |= {call.path: {"post": self.payment(call)} for call in calls.UNIFIED_PAYMENTS}
        paths[calls.UNIFIED_STATUS_PATH]["get"] = self.payment_status()
        return paths

    def _parameters(self, query: type[Message]) -> list[Json]:
        """Return the parameters of a query: the mandatory ones first, ``native`` last."""
        return sorted(
            self._schemas.parameters(query), key=lambda each: (not each["required"], each["name"] == "native")
        )

    def read(self, call: UnifiedCall) -> Json:
        """Return the operation of a call that is relayed to the bank."""
        request, answer = MESSAGES[call]
        refused = refusals_of_calls.of_unified_read(call, request)
        is_query = call.method == "GET"
        made = operation(
            call.path,
            row_docs.purpose_of(call, calls.__name__),
            READS,
            "consent",
            [*(self._parameters(request) if is_query else ()), ref(PROOF_HEADER), *PSU, ref("Prefer")],
            {
                "200": self._good(call.path, {0: model_of(answer)}, *NONCE),
                "202": self._accepted_response(call.path, *NONCE),
            }
            | self._responses.refusals(call.path, refused, *NONCE),
            _needs(call),
        )
        return made if is_query else made | {"requestBody": self._body(request, request.__name__)}

    def payment(self, call: UnifiedPaymentCall) -> Json:
        """Return the operation of a payment initiation."""
        is_direct = call.kind == "direct"
        nonce = () if is_direct else NONCE
        refused = refusals_of_calls.of_unified_payment(call)
        made = operation(
            call.path,
            row_docs.purpose_of(call, calls.__name__),
            PAYMENTS,
            "client" if is_direct else "consent",
            [*([] if is_direct else [ref(PROOF_HEADER)]), ref("IdempotencyKey"), *PSU, ref("Prefer")],
            {
                "200": self._good(call.path, {0: model_of(answers.UnifiedInitiation)}, *nonce),
                "202": self._accepted_response(call.path, *nonce),
            }
            | self._responses.refusals(call.path, refused, *nonce),
            _needs(call),
        )
        model, extra = payment_messages.BODIES[call.kind], ScopeQuery if is_direct else None
        return made | {"requestBody": self._body(model, _BODIES[call.kind], extra)}

    def payment_status(self) -> Json:
        """Return the operation of the payment status call."""
        path = calls.UNIFIED_STATUS_PATH
        made = operation(
            path,
            row_docs.purpose("UNIFIED_STATUS_PATH", calls.__name__),
            PAYMENTS,
            "consent or client",
            [*self._schemas.parameters(PaymentStatusQuery), ref(PROOF_HEADER), *PSU, ref("Prefer")],
            {
                "200": self._good(path, {0: model_of(answers.UnifiedPaymentStatus)}, *NONCE),
                "202": self._accepted_response(path, *NONCE),
            }
            | self._responses.refusals(path, refusals_of_calls.of_payment_status(), *NONCE),
        )
        return made | {"operationId": _STATUS_ID}

    def _body(self, model: type[Message], name: str, extra: type[Message] | None = None) -> Json:
        euros = body_example(model, extra)
        examples = {"euros": ("In euros", euros), "pounds": ("In pounds", _in_pounds(euros))}
        return body(json_content(self._schemas.ref(model, name=name, extra=extra), examples))


def _in_pounds(value: Any) -> Any:
    """Return an example with the values of ``_BRITISH``."""
    if isinstance(value, list):
        return [_in_pounds(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: _BRITISH[name] if name in _BRITISH else _in_pounds(each) for name, each in value.items()}


def _needs(call: UnifiedCall | UnifiedPaymentCall) -> str:
    """Return the unified scope of a call, if any, and the native scope and webhook in each version."""
    scope = f"Unified scope: `{call.scope}`.\n\n" if call.scope else ""
    return f"{scope}{table_of_webhooks(webhooks_of(call))}"
