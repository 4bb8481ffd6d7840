"""The TPP-facing API: HTTP endpoints below ``/tpp`` (specification, TPP-facing interface)."""

from __future__ import annotations

from chalice.app import Response

from chalicelib.foundation.http.web import Incoming, Routes, View, json_answer
from chalicelib.openbanking.api import answers
from chalicelib.openbanking.api.credentials import add_nonce, bind_code, read_credentials, read_token_request
from chalicelib.openbanking.bank_client.bank_client import BankAnswer
from chalicelib.openbanking.container import OpenBankingContainer
from chalicelib.openbanking.oauth.tpp_request import read_fields, read_parameters, refuse_any_parameters
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.own_answers import Accepted, BankScope, ScopeAnswer
from chalicelib.openbanking.protocol.tpp_calls import (
    FIELD_FAULTS,
    AuthorizeRequest,
    BankPath,
    BanksQuery,
    ConsentsQuery,
    EventsQuery,
    RevokeRequest,
    ScopeQuery,
    TokenRequest,
)
from chalicelib.openbanking.protocol.versions import services_of
from chalicelib.openbanking.protocol.webhooks import STATUS_PATH, PaymentCall, RelayedCall
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.order_answers import DeferredRequest
from chalicelib.openbanking.unified.calls import INITIATIONS, READS, UNIFIED_STATUS_PATH


def _answer_failure(openbanking: OpenBankingContainer, incoming: Incoming, error: Exception) -> Response:
    return answers.failure_answer(openbanking.shared.clock, incoming, error)


def _refuse_unknown_action(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    raise refusals.ACTION_UNKNOWN()


tpp_routes = Routes[OpenBankingContainer](__name__, _answer_failure, _refuse_unknown_action, completed=add_nonce)


@tpp_routes.post("/tpp/authorize")
def authorize_client(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    authentication = openbanking.tpp_authentication
    caller = authentication.authenticate_client_and_proof(read_credentials(openbanking, incoming), [])
    request = read_fields(AuthorizeRequest, incoming.json(), FIELD_FAULTS)
    authentication.check_roles(caller.client, caller.presented, services_of(request.scopes))
    from chalicelib.openbanking.flows.consent.authorization import authorize, describe_authorization

    authorization = openbanking.call(authorize, caller.client, bind_code(request, caller.jkt))
    return json_answer(describe_authorization(authorization, openbanking.shared.clock.time()))


@tpp_routes.post("/tpp/token")
def token(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    from chalicelib.openbanking.flows.consent.tokens import redeem, refresh

    request, credentials = read_token_request(openbanking, incoming, TokenRequest)
    if request.refresh_token is not None:
        return json_answer(openbanking.call(refresh, credentials, request.refresh_token))
    code = request.authorization_code or request.code or ""
    uri, verifier = request.redirect_uri, request.code_verifier
    return json_answer(openbanking.call(redeem, credentials, code, redirect_uri=uri, code_verifier=verifier))


@tpp_routes.post("/tpp/token/revoke")
def revoke(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    from chalicelib.openbanking.flows.consent.tokens import revoke_by_tpp

    request, credentials = read_token_request(openbanking, incoming, RevokeRequest)
    return json_answer(openbanking.call(revoke_by_tpp, credentials, request.token))


@tpp_routes.get("/tpp/scope")
def scope(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    openbanking.tpp_authentication.authenticate_client(read_credentials(openbanking, incoming))
    bank = openbanking.banks.find(read_parameters(ScopeQuery, incoming.parameters()).bic)
    if bank is None:
        raise refusals.BANK_UNKNOWN()
    return json_answer(describe_scopes(bank))


def describe_scopes(bank: Bank) -> ScopeAnswer:
    """Return the scopes that PSUs can grant at a bank."""
    scopes = [BankScope(scope=row.name, service=row.service, meaning=row.meaning) for row in bank.scopes]
    return {"bic": bank.bic, "scopes": scopes, "unified_scopes": bank.unified_scopes}


@tpp_routes.get("/tpp/banks")
def banks(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    from chalicelib.openbanking.flows.bank.directory import list_banks

    openbanking.tpp_authentication.authenticate_client(read_credentials(openbanking, incoming))
    return json_answer(openbanking.call(list_banks, read_parameters(BanksQuery, incoming.parameters())))


@tpp_routes.get("/tpp/banks/{bic}")
def bank(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    from chalicelib.openbanking.flows.bank.directory import describe_bank

    openbanking.tpp_authentication.authenticate_client(read_credentials(openbanking, incoming))
    refuse_any_parameters(incoming)
    return json_answer(openbanking.call(describe_bank, read_parameters(BankPath, dict(incoming.uri)).bic))


@tpp_routes.get("/tpp/consent")
def consent(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    caller = openbanking.tpp_authentication.authenticate_bearer(read_credentials(openbanking, incoming))
    refuse_any_parameters(incoming)
    from chalicelib.openbanking.flows.consent.tokens import describe_consent

    return json_answer(describe_consent(caller.consent))


@tpp_routes.get("/tpp/consents")
def consents(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    from chalicelib.openbanking.flows.consent.states import list_consents

    client = openbanking.tpp_authentication.authenticate_client(read_credentials(openbanking, incoming))
    return json_answer(openbanking.call(list_consents, client, read_parameters(ConsentsQuery, incoming.parameters())))


@tpp_routes.get("/tpp/events")
def events(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    authentication = openbanking.tpp_authentication
    client = authentication.authenticate_confidential_client(read_credentials(openbanking, incoming))
    return json_answer(openbanking.tpp_events.list_events(client, read_parameters(EventsQuery, incoming.parameters())))


def _relay_view(call: RelayedCall) -> View[OpenBankingContainer]:
    def relay_call(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
        from chalicelib.openbanking.flows.reads.relay import relay

        answer = openbanking.call(relay, call, read_credentials(openbanking, incoming), incoming)
        return _timed_answer(openbanking, answer)

    return relay_call


def _payment_view(call: PaymentCall) -> View[OpenBankingContainer]:
    def initiate(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
        from chalicelib.openbanking.flows.payments.initiation import initiate_payment

        answer = openbanking.call(initiate_payment, call, read_credentials(openbanking, incoming), incoming)
        return _timed_answer(openbanking, answer)

    return initiate


def _status_view(path: str) -> View[OpenBankingContainer]:
    def payment_status(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
        from chalicelib.openbanking.flows.payments.status import get_status

        answer = openbanking.call(get_status, path, read_credentials(openbanking, incoming), incoming)
        if isinstance(answer, BankAnswer | DeferredRequest):
            return _timed_answer(openbanking, answer)
        return json_answer(answer)

    return payment_status


@tpp_routes.get("/tpp/requests/{request_id}")
def accepted_request(openbanking: OpenBankingContainer, incoming: Incoming) -> Response:
    from chalicelib.openbanking.flows.deferred_calls import look_up_request

    credentials = read_credentials(openbanking, incoming)
    outcome = openbanking.call(look_up_request, credentials, incoming.uri["request_id"])
    refuse_any_parameters(incoming)
    return json_answer(outcome)


def _timed_answer(openbanking: OpenBankingContainer, answer: BankAnswer | DeferredRequest) -> Response:
    """Return the response for a call to a bank, with the bank's response time. The application adds the service's own
    time.
    """
    if isinstance(answer, DeferredRequest):
        path = f"{openbanking.shared.settings.public_path}/tpp/requests/{answer.request_id}"
        headers = {"Location": path, "Preference-Applied": "respond-async"}
        return json_answer(Accepted(request_id=answer.request_id, state="queued"), 202, headers)
    return json_answer(answer.body, headers={"Server-Timing": f"bank;dur={answer.seconds * 1000:.1f}"})


for _call in READS:
    tpp_routes.serve(_call.path, [_call.method], _relay_view(_call))
for _order in INITIATIONS.values():
    tpp_routes.serve(_order.path, ["POST"], _payment_view(_order))
for _path in (STATUS_PATH, UNIFIED_STATUS_PATH):
    tpp_routes.serve(_path, ["GET"], _status_view(_path))
tpp_routes.serve_below("/tpp", [], _refuse_unknown_action)
