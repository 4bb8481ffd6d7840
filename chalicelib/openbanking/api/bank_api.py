"""The bank-facing API: HTTP endpoints below ``/bank`` and ``/bank/v2``.

Routes are derived from each version's declarations. The versions differ in member spelling, paths and errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from chalice.app import Response

from chalicelib.foundation.crypto.signatures import public_pem
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.http.web import Incoming, Routes, UnreadableBody, View, json_answer, redirect, text_answer
from chalicelib.openbanking.api import answers
from chalicelib.openbanking.container import OpenBankingContainer
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.bank_calls import BANK_CALLS, FIELD_FAULTS, BankCall
from chalicelib.openbanking.protocol.errors import refuse_fields
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.records.bank_answers import bank_claim


def answer_failure(openbanking: OpenBankingContainer, incoming: Incoming, error: Exception) -> Response:
    return answers.failure_answer(openbanking.shared.clock, incoming, error)


def _failure_page(openbanking: OpenBankingContainer, incoming: Incoming, error: Exception) -> Response:
    if isinstance(error, UnreadableBody):
        what = f"The request cannot be read: {error}."
        return openbanking.error_page("Not possible here", what, "Go back to the bank's page.", status=400)
    answers.as_refusal(error)
    return openbanking.error_page(
        "Something went wrong here",
        "The service failed while it was returning you from the bank.",
        "Nothing was approved. Load this page again in a moment.",
        status=500,
    )


def refuse_unknown_action(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    raise refusals.ACTION_UNKNOWN()


bank_routes = Routes[OpenBankingContainer](__name__, answer_failure, refuse_unknown_action)

Step = Callable[..., Mapping[str, object]]


def step(name: str) -> Step:
    """Return the flow that handles a call. Its module is loaded with the first such call."""
    match name:
        case "initiate":
            from chalicelib.openbanking.flows.consent.authorization import initiate

            return initiate
        case "save_consent":
            from chalicelib.openbanking.flows.consent.authorization import save_consent

            return save_consent
        case "revoke_token":
            from chalicelib.openbanking.flows.consent.tokens import revoke_by_bank

            return revoke_by_bank
        case "report_status":
            from chalicelib.openbanking.flows.payments.status import record_report

            return record_report
        case "report_day":
            from chalicelib.openbanking.flows.bank.performance_reports import record_day

            return record_day
        case "list_states":
            from chalicelib.openbanking.flows.consent.states import list_states

            return list_states
    raise KeyError(name)


def _bank_view(call: BankCall, version: Version) -> View[OpenBankingContainer]:
    def answer_bank(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
        from chalicelib.openbanking.flows.bank.authentication import authenticate_bank

        headers, body = incoming.headers, incoming.body
        bank = openbanking.call(authenticate_bank, version, headers, body, identity=incoming.identity)
        try:
            request = version.calls[call.name].read(_without_nulls(incoming.json(call.body_bytes)))
        except InvalidMessage as error:
            raise refuse_fields(error, version.in_spelling(FIELD_FAULTS)) from None
        claim = bank_claim(bank.bic, call.path, incoming.request_id, incoming.body)
        answer = openbanking.call(step(call.name), bank, request, claim)
        return json_answer(version.in_spelling(answer))

    return answer_bank


_MISSING_WHEN_NULL = ("request_url", "scopes")
"""Names, in snake_case, of members for which null counts as missing. A missing member has a specific error code."""


def _without_nulls(members: Any) -> Any:
    """Remove the members ``request_url`` and ``scopes`` if their value is null, because null counts as missing."""
    if not isinstance(members, dict):
        return members
    missing = {version.spell(name) for version in VERSIONS.values() for name in _MISSING_WHEN_NULL}
    return {name: value for name, value in members.items() if value is not None or name not in missing}


@bank_routes.get("/bank/public_key")
def public_key(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    """Return the service's public keys in PEM format, newest first."""
    keys = "".join(public_pem(key) for key in openbanking.shared.keyring.public_keys())
    return text_answer(keys, "application/x-pem-file", headers={"Cache-Control": "public, max-age=60"})


def _cancel(version: Version, openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    """Redirect the PSU's browser to the TPP without a consent. No headers are required, and errors are HTML pages."""
    from chalicelib.openbanking.flows.consent.cancellation import UnknownCancelUrl, cancel

    query = dict(incoming.query)
    error, description = query.get("error"), query.get("error_description")
    try:
        return redirect(openbanking.call(cancel, version, incoming.uri["secret"], error=error, description=description))
    except UnknownCancelUrl:
        return openbanking.error_page(
            "Page not found",
            "The address may be mistyped, or its authorization or application no longer exists.",
            "Go back to the application you came from and start again.",
            status=404,
        )


def serve(routes: Routes[OpenBankingContainer], version: Version) -> None:
    """Register the routes of one version of the bank-facing API."""
    for call in BANK_CALLS:
        if call.name in version.calls:
            routes.serve(f"{version.base}{call.path}", ["POST"], _bank_view(call, version))
    routes.serve(version.cancel_path, ["GET"], partial(_cancel, version), _failure_page)
    routes.serve_below(version.base, [], refuse_unknown_action)


for _version in VERSIONS.values():
    serve(bank_routes, _version)
