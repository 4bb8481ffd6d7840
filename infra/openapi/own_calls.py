"""The calls that the service answers by itself: of TPPs, of off-the-shelf OAuth clients, and of banks.

What is relayed to banks stands in ``webhooks``, what banks send in ``bank_calls``; together these rows are every
address of the interface.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from chalicelib.foundation.fields.field_types import AN, Bic, Message
from chalicelib.openbanking.protocol import own_answers
from chalicelib.openbanking.protocol.tpp_calls import (
    REQUEST_ID,
    AuthorizeRequest,
    BanksQuery,
    ConsentType,
    RevokeRequest,
    ScopeQuery,
    TokenRequest,
)
from chalicelib.openbanking.protocol.version import BANK_ROOT

Caller = Literal["client", "consent", "consent or client", "token client", "anybody"]
"""Whom a call knows: a client by its Client ID, a consent by client and bearer, a client at the token endpoints."""


class RequestPlace(Message):
    """``GET /tpp/requests/{request_id}``: which request."""

    request_id: AN[REQUEST_ID]


@dataclass(frozen=True, slots=True)
class OwnCall:
    """One call; ``query`` and ``body`` are the models of what it takes, ``place`` is that of what its path names."""

    method: Literal["GET", "POST"]
    path: str
    caller: Caller
    answer: type[Message]
    query: type[Message] | None = None
    body: type[Message] | None = None
    place: type[Message] | None = None


ACCEPTED_REQUEST = "/tpp/requests/{request_id}"
OWN_CALLS: tuple[OwnCall, ...] = (
    OwnCall("POST", "/tpp/authorize", "client", own_answers.AuthorizeAnswer, body=AuthorizeRequest),
    OwnCall("POST", "/tpp/token", "token client", own_answers.TokenAnswer, body=TokenRequest),
    OwnCall("POST", "/tpp/token/revoke", "token client", own_answers.RevokeAnswer, body=RevokeRequest),
    OwnCall("GET", "/tpp/scope", "client", own_answers.ScopeAnswer, query=ScopeQuery),
    OwnCall("GET", "/tpp/banks", "client", own_answers.BanksAnswer, query=BanksQuery),
    OwnCall("GET", "/tpp/consent", "consent", own_answers.ConsentAnswer),
    OwnCall("GET", ACCEPTED_REQUEST, "consent or client", own_answers.AcceptedRequest, place=RequestPlace),
    OwnCall("GET", "/.well-known/oauth-authorization-server", "anybody", own_answers.ServerMetadata),
    OwnCall("GET", "/.well-known/jwks.json", "anybody", own_answers.KeySet),
)


class FrontDoorQuery(Message):
    """``GET /oauth/authorize``: the parameters in the words of RFC 6749."""

    response_type: Literal["code"]
    client_id: AN[64]
    bic: Bic
    scope: AN[4096]
    redirect_uri: AN[2048] | None = None
    state: AN[512] | None = None
    code_challenge: AN[128] | None = None
    code_challenge_method: Literal["S256"] | None = None
    consent_type: ConsentType = "reusable"


class CancelQuery(Message):
    """``GET /bank/cancel/{secret}``: why the PSU comes back without a consent (RFC 6749 §4.1.2.1).

    What that RFC does not allow in them is left out, and what is too long cut.
    """

    error: str | None = None
    error_description: str | None = None


FRONT_DOOR = "/oauth/authorize"
PUBLIC_KEY = f"{BANK_ROOT}/public_key"

BANK_ANSWERS: Mapping[str, Mapping[int, type[Message]]] = {
    "initiate": {1: own_answers.InitAuthorizationAnswer, 2: own_answers.InitAuthorizationAnswerV2},
    "save_consent": {1: own_answers.SaveConsentAnswer, 2: own_answers.SaveConsentAnswerV2},
    "revoke_token": {1: own_answers.Success, 2: own_answers.Success},
    "report_status": {1: own_answers.Success, 2: own_answers.Success},
    "report_day": {2: own_answers.Success},
}
"""What a bank's call is answered with, by the call's name and the version's number."""
