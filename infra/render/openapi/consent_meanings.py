"""The meaning of each member of the lists of consents, for TPPs and for banks; see ``meanings``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.openbanking.protocol.tpp_calls import ConsentState
from infra.render.openapi.metadata_meanings import Meaning

CONSENT = "5f8d0c1e9b7a463f2d1c0b"
"""The id of a consent, in examples."""
RANDOM = "3q2-7wX9aLr0Zk5vYtJmNcB1dFgHsUe4iOpQlAzXyVw"
"""The secret of a token, in examples."""
BANK_TOKEN = f"7a3e9c1d5b20f8e6a4c2d1.{RANDOM}"
"""A bank's access token, in examples."""
_CURSOR = f"1795257000~{CONSENT}.{RANDOM}"

CONSENTS: Mapping[str, Meaning] = {
    "tpp_calls.ConsentsQuery.bic": ("Only consents at this bank; also at one that is no longer reachable", "DEMODEF1"),
    "tpp_calls.ConsentsQuery.status": ("Only consents in this state", "authorised"),
    "after": ("The `next` of the page before; omit it for the first page", _CURSOR),
    "tpp_calls.ConsentsQuery.limit": ("The maximum number of consents per page", 20),
    "consents": ("The consents", None),
    "next": ("Pass it as `after` to get the following page; null on the last", _CURSOR),
    "has_more": ("Whether there is a following page", True),
    "own_answers.ConsentEntry.bic": ("The bank's BIC", "DEMODEF1"),
    "own_answers.ConsentEntry.status": ("The consent's state", "authorised"),
    "own_answers.ConsentEntry.scopes": ("The scopes that the PSU approved", ["accounts"]),
    "created_at": ("When the PSU gave the consent", "2026-11-21T09:30:00+00:00"),
    "last_used_on": (
        "The day (UTC) on which the client last got a token, valid for an hour, or paid once; null if none is known",
        "2026-11-25",
    ),
    "access_tokens": ("The consents' access tokens, as issued to the bank", [BANK_TOKEN]),
    "consent_ids": ("The consents' ids: their access tokens up to the dot", [CONSENT]),
    "own_answers.BankConsent.consent_id": (
        "The consent's id; null if the token does not have the format of this service's tokens",
        BANK_TOKEN.partition(".")[0],
    ),
    "own_answers.BankConsent.status": ("The consent's state", "revoked"),
    "own_answers.BankConsent.scopes": ("The approved scopes; null if the consent is unknown", ["accounts"]),
    "own_answers.BankConsent.valid_until": (
        "The end of the consent and of all its tokens, unless it ended before; null if it is unknown",
        "2027-05-20T09:30:00+00:00",
    ),
    "ended_at": ("When the consent was revoked; null if it was not", "2026-11-25T16:02:11+00:00"),
    "ended_by": (
        "Who revoked the consent; `service` after the misuse of a code or refresh token. Null if it was not revoked",
        "tpp",
    ),
}
_STATES: Mapping[ConsentState, str] = {
    "authorised": "valid",
    "expired": "at its end",
    "revoked": "ended before that",
    "spent": "a one-time consent that was used for a payment, also after its end",
}
CONSENT_STATES: Mapping[str, Mapping[Any, str]] = {
    "tpp_calls.ConsentsQuery.status": _STATES,
    "own_answers.ConsentEntry.status": _STATES,
    "own_answers.BankConsent.status": {**_STATES, "unknown": "not a consent at this bank, or not its token"},
}
