"""Builds the operations of the unified calls, which have one request and one response for banks of all versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from chalicelib.foundation.fields.field_types import Message
from chalicelib.openbanking.unified import answers, calls, messages
from chalicelib.openbanking.unified.calls import UnifiedCall
from infra.render.openapi import refusals_of_calls, row_docs
from infra.render.openapi.models import model_of
from infra.render.openapi.operations import NONCE, PROOF_HEADER, PSU, Operations, operation, ref, table_of_webhooks
from infra.render.openapi.own_calls import webhooks_of
from infra.render.openapi.schemas import Json

TAG = ("Unified API", "Accounts, balances and transactions, in one shape for banks of both versions.")


class Messages(NamedTuple):
    """The model of a call's query or body, and the type of its response."""

    request: type[Message]
    answer: type[Any]


MESSAGES: Mapping[UnifiedCall, Messages] = {
    calls.UNIFIED_ACCOUNTS: Messages(messages.AccountsQuery, answers.UnifiedAccounts),
    calls.UNIFIED_ACCOUNT: Messages(messages.AccountQuery, answers.UnifiedAccountAnswer),
    calls.UNIFIED_BALANCES: Messages(messages.AccountQuery, answers.UnifiedBalances),
    calls.UNIFIED_TRANSACTIONS: Messages(messages.TransactionsQuery, answers.UnifiedTransactions),
}


class UnifiedOperations(Operations):
    """Builds the operations of the unified calls."""

    def paths(self) -> Json:
        """Return all operations by path and method."""
        return {call.path: {call.method.lower(): self.read(call)} for call in calls.UNIFIED_READS}

    def _parameters(self, query: type[Message]) -> list[Json]:
        """Return the parameters of a query, the mandatory ones first."""
        return sorted(self._schemas.parameters(query), key=lambda each: not each["required"])

    def read(self, call: UnifiedCall) -> Json:
        """Return the operation of a call that is relayed to the bank."""
        request, answer = MESSAGES[call]
        refused = refusals_of_calls.of_unified_read(call, request)
        return operation(
            call.path,
            row_docs.purpose_of(call, calls.__name__),
            TAG[0],
            "consent",
            [*self._parameters(request), ref(PROOF_HEADER), *PSU, ref("Prefer")],
            {
                "200": self._good(call.path, {0: model_of(answer)}, *NONCE),
                "202": self._accepted_response(call.path, *NONCE),
            }
            | self._responses.refusals(call.path, refused, *NONCE),
            f"Unified scope: `{call.scope}`.\n\n{table_of_webhooks(webhooks_of(call))}",
        )
