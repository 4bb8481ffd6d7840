"""Tokens: exchange of codes and refresh tokens, and revocation.

A code that is redeemed twice, or a refresh token that is used after its successor, may have been stolen. The consent
and all its tokens are revoked, and the bank is notified.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from functools import partial

from chalicelib.delivery.outbox import Outbox, RecordedDeliveries
from chalicelib.foundation import log, security_refusals
from chalicelib.foundation.clock import Clock, timestamp
from chalicelib.foundation.identifiers import OpaqueToken, base64url
from chalicelib.foundation.requests.claims import Claim
from chalicelib.foundation.requests.engine import Engine
from chalicelib.foundation.requests.facts import Facts, Key
from chalicelib.foundation.requests.outcome import Outcome, Proof
from chalicelib.openbanking.flows.bank.notifications import record_revoke_token
from chalicelib.openbanking.flows.tpp_authentication import TppAuthentication
from chalicelib.openbanking.flows.tpp_events import TppEvents
from chalicelib.openbanking.oauth.tpp_request import TppCredentials
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.bank_calls import RevokeToken
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.oauth_security import Confirmation, token_type
from chalicelib.openbanking.protocol.own_answers import ConsentAnswer, RevokeAnswer, Success, TokenAnswer
from chalicelib.openbanking.protocol.tpp_calls import EndedBy
from chalicelib.openbanking.protocol.tpp_events import ConsentRevoked
from chalicelib.openbanking.records.bank_answers import BankAnswers
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.client_record import Client, client_key
from chalicelib.openbanking.records.consents import Consent, Consents, IssuedTokens, consent_key, grant_key, token_key
from chalicelib.openbanking.records.grants import Grant, TokenPair
from chalicelib.statistics import current_call

_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")


def redeem(
    credentials: TppCredentials,
    code: str,
    *,
    redirect_uri: str | None,
    code_verifier: str | None,
    clock: Clock,
    tpp_authentication: TppAuthentication,
    consents: Consents,
    tpp_events: TppEvents,
    outbox: Outbox,
    engine: Engine,
) -> TokenAnswer:
    """Exchange an authorization code for tokens. A code can be used once.

    Raises:
        Refusal: with an ``oauth_error``. Only a second use of the code has side effects.
    """
    credential = OpaqueToken.parse(code, parts=1)
    keys = [consent_key(credential.ids[0]), grant_key(credential.ids[0])] if credential else []
    caller = tpp_authentication.authenticate_client_and_proof(credentials, keys)

    def decide(facts: Facts) -> Outcome[TokenAnswer]:
        consent, grant = _find_consent_and_grant(facts, credential)
        if credential is None or consent is None or grant is None or not credential.matches(grant.code_digest):
            raise refusals.CODE_INVALID()
        if consent.client_id != caller.client.client_id:
            raise _refuse(refusals.CODE_INVALID, caller.client, "the code is another client's")
        current_call.record_concern(consent.bic, "authorization")
        tpp_authentication.check_roles(caller.client, caller.presented, consent.services)
        confirmation = tpp_authentication.require_confirmation(caller)
        if grant.dpop_jkt not in (None, caller.jkt):
            raise _refuse(refusals.CODE_INVALID, caller.client, "the code is bound to another DPoP key")
        if caller.client.security.is_fapi2:
            _check_fapi2_redemption(caller.client, grant, redirect_uri)
        _check_redemption(grant, redirect_uri, code_verifier)
        now = clock.time()
        if grant.code_redeemed_at is not None:
            _check_not_ended(consent, refusals.CODE_USED, now)
            return _end_misused(consent, caller.client, refusals.CODE_USED, consents, tpp_events, outbox)
        if now >= grant.code_valid_until or not consent.is_valid(now):
            raise refusals.CODE_EXPIRED()
        return _issue(consent, consents.first_pair(consent, confirmation), confirmation, now)

    return engine.carry_out(decide, Facts(keys, caller.items))


def refresh(
    credentials: TppCredentials,
    token: str,
    *,
    clock: Clock,
    tpp_authentication: TppAuthentication,
    consents: Consents,
    tpp_events: TppEvents,
    outbox: Outbox,
    engine: Engine,
) -> TokenAnswer:
    """Exchange a refresh token for the next pair. A retry within 60 s returns the same pair.

    A ``fapi2`` client gets a new access token, and retains its refresh token.

    Raises:
        Refusal.
    """
    credential = OpaqueToken.parse(token, parts=2)
    keys: list[Key] = []
    if credential is not None:
        consent_id = credential.ids[0]
        keys = [consent_key(consent_id), grant_key(consent_id), token_key("refresh", credential)]
    caller = tpp_authentication.authenticate_client_and_proof(credentials, keys)

    def decide(facts: Facts) -> Outcome[TokenAnswer]:
        consent, grant = _find_consent_and_grant(facts, credential)
        if (
            credential is None
            or consent is None
            or grant is None
            or not credential.matches((facts.item(token_key("refresh", credential)) or {}).get("digest"))
        ):
            raise refusals.REFRESH_TOKEN_INVALID()
        if consent.client_id != caller.client.client_id:
            raise _refuse(refusals.REFRESH_TOKEN_INVALID, caller.client, "the refresh token is another client's")
        current_call.record_concern(consent.bic, "authorization")
        if not consent.is_valid(clock.time()):
            raise refusals.REFRESH_TOKEN_INVALID()
        tpp_authentication.check_roles(caller.client, caller.presented, consent.services)
        confirmation = tpp_authentication.require_confirmation(caller)
        _check_binding(caller.client, grant, confirmation)
        now, refresh_id = clock.time(), credential.ids[1]
        if grant.refresh_id == refresh_id:
            issued = (
                consents.next_access(consent, token, refresh_id, confirmation)
                if caller.client.security.is_fapi2
                else consents.next_pair(consent, refresh_id, confirmation)
            )
            return _issue(consent, issued, confirmation, now)
        repeated = consents.repeated_pair(grant, refresh_id)
        if repeated is not None:
            _check_own_pair(grant, confirmation)
            return Outcome(_describe_tokens(consent, repeated, confirmation, now))
        _check_not_ended(consent, refusals.REFRESH_TOKEN_USED, now)
        return _end_misused(consent, caller.client, refusals.REFRESH_TOKEN_USED, consents, tpp_events, outbox)

    return engine.carry_out(decide, Facts(keys, caller.items))


def revoke_by_tpp(
    credentials: TppCredentials,
    token: str,
    *,
    clock: Clock,
    tpp_authentication: TppAuthentication,
    consents: Consents,
    tpp_events: TppEvents,
    outbox: Outbox,
    engine: Engine,
) -> RevokeAnswer:
    """End the consent to which the caller's token belongs. Other tokens have no effect (RFC 7009 §2.2)."""
    credential = OpaqueToken.parse(token, parts=2) or OpaqueToken.parse(token, parts=3)
    keys = []
    if credential is not None:
        keys = [consent_key(credential.ids[0]), token_key("access", credential), token_key("refresh", credential)]
    client, found = tpp_authentication.authenticate_client_and_read(credentials, keys)
    if credential is None or not found[0]:
        return {}
    consent = Consent.from_item(found[0])
    is_token = any(credential.matches(item["digest"]) for item in found[1:] if item)
    if is_token and consent.client_id == client.client_id:
        end_consent(
            consent,
            client,
            by="tpp",
            clock=clock,
            consents=consents,
            tpp_events=tpp_events,
            outbox=outbox,
            engine=engine,
        )
    return {}


def revoke_by_bank(
    bank: Bank,
    request: RevokeToken,
    claim: Claim,
    *,
    clock: Clock,
    consents: Consents,
    bank_answers: BankAnswers,
    tpp_events: TppEvents,
    engine: Engine,
) -> Success:
    """End the consent to which the bank's token belongs. Raises: Refusal."""
    credential = OpaqueToken.parse(request.access_token, parts=1)
    if credential is None:
        raise refusals.TOKEN_MALFORMED()

    def decide(facts: Facts) -> Outcome[Success]:
        consent = facts.find(Consent, consent_key(credential.ids[0]))
        if consent is None or consent.bic != bank.bic or not credential.matches(consent.bank_token_digest):
            raise refusals.TOKEN_UNKNOWN()
        answer: Success = {"status": "success"}
        if consent.has_ended(clock.time()):
            return bank_answers.answer(claim, answer)
        client = facts.find(Client, client_key(consent.client_id))
        event = tpp_events.record(client, "consent.revoked", _describe_revoked(consent, "bank"))
        writes, members = [consents.update_revoked(consent, "bank")], {"ended_consent": consent.consent_id}
        return bank_answers.answer(claim, answer, writes, event, partial(_report_end, consent, "bank"), members=members)

    facts = engine.read([consent_key(credential.ids[0]), claim.key])
    return engine.carry_out(bank_answers.once(claim, decide), facts)


def end_consent(
    consent: Consent,
    client: Client | None = None,
    *,
    by: EndedBy,
    clock: Clock,
    consents: Consents,
    tpp_events: TppEvents,
    outbox: Outbox,
    engine: Engine,
) -> None:
    """End a consent immediately and notify bank and TPP. A revoked or expired consent does not change.

    ``client`` is the consent's client, if already read.
    """
    if by == "tpp":
        current_call.record_concern(consent.bic, "authorization")

    def decide(facts: Facts) -> Outcome[None]:
        current = facts.latest(Consent, consent, consent_key(consent.consent_id))
        if current is None or current.has_ended(clock.time()):
            return Outcome(None)
        owner = client or facts.find(Client, client_key(consent.client_id))
        deliveries = _record_end(current, by, owner, tpp_events, outbox)
        writes = [consents.update_revoked(current, by)]
        return Outcome(None, writes, deliveries, report=partial(_report_end, current, by))

    engine.carry_out(decide, Facts())


def _record_end(
    consent: Consent, by: EndedBy, client: Client | None, tpp_events: TppEvents, outbox: Outbox
) -> RecordedDeliveries:
    """Return the deliveries that notify bank and TPP of a consent's end."""
    event = tpp_events.record(client, "consent.revoked", _describe_revoked(consent, by))
    return record_revoke_token(outbox, consent) + event


def _end_misused(
    consent: Consent,
    client: Client,
    row: refusals.RefusalRow,
    consents: Consents,
    tpp_events: TppEvents,
    outbox: Outbox,
) -> Outcome[TokenAnswer]:
    """End a consent because a request reused the consent's authorization code or a refresh token."""

    def report() -> None:
        security_refusals.record(
            "misused_token", "token request refused", client_id=consent.client_id, reason="used before"
        )
        _report_end(consent, "service")

    deliveries = _record_end(consent, "service", client, tpp_events, outbox)
    return Outcome(row(), [consents.update_revoked(consent, "service")], deliveries, report=report)


def _check_not_ended(consent: Consent, row: refusals.RefusalRow, now: int) -> None:
    """Refuse a credential of a consent that has ended, without counting it as misuse. Raises: Refusal."""
    if consent.has_ended(now):
        raise row()


def _check_own_pair(grant: Grant, confirmation: Confirmation | None) -> None:
    """Check that the caller has the key to which the token pair of an earlier refresh is bound. Raises: Refusal."""
    if grant.cnf != confirmation:
        reason = "the stored answer is bound to another key"
        security_refusals.record("wrong_key", "token request refused", reason=reason)
        raise refusals.REFRESH_TOKEN_INVALID()


def _issue(consent: Consent, issued: IssuedTokens, confirmation: Confirmation | None, now: int) -> Outcome[TokenAnswer]:
    """Issue new tokens. The row of the access token proves that the tokens are stored."""
    answer = _describe_tokens(consent, issued.pair, confirmation, now)
    return Outcome(answer, issued.operations, proof=Proof([issued.key]))


def _describe_tokens(consent: Consent, pair: TokenPair, confirmation: Confirmation | None, now: int) -> TokenAnswer:
    log.bind(consent_id=consent.consent_id)
    return {
        "access_token": pair.access_token,
        "token_type": token_type(confirmation),
        "expires_in": max(0, pair.access_valid_until - now),
        "refresh_token": pair.refresh_token,
        "scope": " ".join(consent.named_scopes),
        "unified_scopes": consent.unified_scopes,
        "consent_id": consent.consent_id,
        "valid_until": timestamp(consent.valid_until),
    }


def _describe_revoked(consent: Consent, by: EndedBy) -> ConsentRevoked:
    return ConsentRevoked(consent_id=consent.consent_id, bic=consent.bic, revoked_by=by)


def describe_consent(consent: Consent) -> ConsentAnswer:
    """Describe a consent in the format of ``GET /tpp/consent``."""
    return {
        "consent_id": consent.consent_id,
        "status": consent.status,
        "consent_type": consent.consent_type,
        "scopes": list(consent.scopes),
        "unified_scopes": consent.unified_scopes,
        "bic": consent.bic,
        "ibans": consent.accounts.get("ibans", []),
        "account_ids": consent.accounts.get("account_ids", []),
        "account_numbers": consent.accounts.get("account_numbers", []),
        "valid_until": timestamp(consent.valid_until),
    }


def _report_end(consent: Consent, by: EndedBy) -> None:
    log.audit("consent ended", consent_id=consent.consent_id, by=by)


def _refuse(row: refusals.RefusalRow, client: Client, reason: str) -> Refusal:
    """Return the refusal of a request that may be an attack. Only the log contains the reason for the refusal."""
    security_refusals.record("wrong_key", "token request refused", client_id=client.client_id, reason=reason)
    return row()


def _check_fapi2_redemption(client: Client, grant: Grant, redirect_uri: str | None) -> None:
    """Check a redemption against the FAPI 2.0 profile, even if the client got this profile after the request. Raises:
    Refusal.
    """
    if redirect_uri is None:
        raise refusals.REDIRECT_URI_MISSING()
    if grant.code_challenge is None:
        raise _refuse(refusals.CODE_INVALID, client, "the authorization request had no code_challenge")


def _check_binding(client: Client, grant: Grant, confirmation: Confirmation | None) -> None:
    """Check that a refresh does not weaken the binding of the tokens (RFC 9449 §5, RFC 8705 §4).

    The refresh token of a public client is bound to the key. The refresh token of a confidential client is bound to its
    authentication. This client may use a new key, but must use a key of the same kind.

    Raises:
        Refusal.
    """
    if grant.cnf is None:
        return
    same = grant.cnf == confirmation
    same_kind = client.is_confidential and confirmation is not None and confirmation.keys() == grant.cnf.keys()
    if not same and not same_kind:
        raise _refuse(refusals.REFRESH_TOKEN_INVALID, client, "the tokens are bound to another key")


def _find_consent_and_grant(facts: Facts, credential: OpaqueToken | None) -> tuple[Consent | None, Grant | None]:
    """Find the consent and the grant to which a credential belongs."""
    if credential is None:
        return None, None
    consent_id = credential.ids[0]
    return facts.find(Consent, consent_key(consent_id)), facts.find(Grant, grant_key(consent_id))


def _check_redemption(grant: Grant, redirect_uri: str | None, verifier: str | None) -> None:
    """Check the redirect URI (RFC 6749 §4.1.3) and the code verifier (RFC 7636). The code remains valid after a
    mismatch.
    """
    if redirect_uri is None and grant.names_redirect_uri:
        raise refusals.REDIRECT_URI_MISSING()
    if redirect_uri is not None and redirect_uri != grant.redirect_uri:
        raise refusals.REDIRECT_URI_OTHER()
    if (grant.code_challenge is None) != (verifier is None):
        raise (refusals.CODE_VERIFIER_MISSING if verifier is None else refusals.CODE_VERIFIER_NOT_ALLOWED)()
    if verifier is not None and not _matches_challenge(verifier, grant.code_challenge or ""):
        raise refusals.CODE_VERIFIER_WRONG()


def _matches_challenge(verifier: str, challenge: str) -> bool:
    if not _VERIFIER.fullmatch(verifier):
        return False
    hashed = base64url(hashlib.sha256(verifier.encode()).digest())
    return hmac.compare_digest(hashed.encode(), challenge.encode())
