"""The authorization flow, from a TPP's request to a consent or a cancellation (specification, Flows).

``authorize`` returns a URL at the bank to the TPP. The bank passes this URL to ``initiate`` to get the TPP's details
and scopes. After the PSU's decision, the bank calls ``save_consent`` or redirects the PSU to the cancel URL
(flows/consent/cancellation.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock, timestamp
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.identifiers import new_secret
from chalicelib.foundation.requests.claims import Claim
from chalicelib.foundation.requests.engine import Engine
from chalicelib.foundation.requests.facts import Facts, Key
from chalicelib.foundation.requests.outcome import Outcome
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.flows.tpp_events import TppEvents
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.bank_calls import InitAuthorization, SaveConsent
from chalicelib.openbanking.protocol.british_accounts import distinct_accounts
from chalicelib.openbanking.protocol.oauth_security import CODE_SECONDS
from chalicelib.openbanking.protocol.own_answers import AuthorizeAnswer, InitAuthorizationAnswer, SaveConsentAnswer
from chalicelib.openbanking.protocol.tpp_calls import AuthorizationParameters
from chalicelib.openbanking.protocol.tpp_events import ConsentAuthorised
from chalicelib.openbanking.protocol.unified_scopes import UNIFIED_SCOPES, is_mixture
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import scope_tables, services_of
from chalicelib.openbanking.records.authorization_requests import (
    LIFETIME,
    AuthorizationRequest,
    AuthorizationRequests,
    NewAuthorizationRequest,
    authorization_key,
    parse_request_url,
)
from chalicelib.openbanking.records.bank_answers import BankAnswers
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.client_record import Client, client_key
from chalicelib.openbanking.records.consents import Accounts, Consent, Consents
from chalicelib.statistics import current_call

Channel = Literal["client", "browser", "pushed"]
"""How a request arrived: from the client itself, from a browser, or pushed by the client (RFC 9126)."""


def authorize(
    client: Client,
    request: AuthorizationParameters,
    *,
    channel: Channel = "client",
    chosen_bic: str | None = None,
    is_sandbox: bool,
    clock: Clock,
    banks: Banks,
    authorization_requests: AuthorizationRequests,
    engine: Engine,
) -> AuthorizationRequest:
    """Store a TPP's request. The PSU must open the returned request's ``request_url``.

    Args:
        chosen_bic: the bank that the user has chosen for a request without a bank.

    Raises:
        Refusal: the bank or a scope is unknown, the redirect URI is not the client's, or the state was used before.
    """
    new = validate_request(client, request, channel=channel, is_sandbox=is_sandbox, banks=banks)
    if chosen_bic is not None:
        new = choose_bank(banks, new, chosen_bic)
    repeatable = channel != "client"
    return open_request(
        new,
        repeatable=repeatable,
        clock=clock,
        banks=banks,
        authorization_requests=authorization_requests,
        engine=engine,
    )


def validate_request(
    client: Client, request: AuthorizationParameters, *, channel: Channel, is_sandbox: bool, banks: Banks
) -> NewAuthorizationRequest:
    """Check a TPP's request. A generated state for a browser is sent to the bank only. Raises: Refusal."""
    bank = _require_bank(banks, request.bic) if request.bic else None
    if bank is not None:
        current_call.record_concern(bank.bic, "authorization")
    _check_channel(client, request, channel)
    _check_request(client, bank, request, is_sandbox=is_sandbox)
    new = NewAuthorizationRequest(
        client_id=client.client_id,
        bic=None,
        api_version=None,
        scopes=tuple(request.scopes),
        redirect_uri=request.redirect_uri or client.callback_url,
        consent_type=request.consent_type,
        state=request.state or new_secret(),
        code_challenge=request.code_challenge,
        returns_state=request.state is not None or channel == "client",
        dpop_jkt=request.dpop_jkt,
        pushed=channel == "pushed",
        chooses_bank=bank is None,
        names_redirect_uri=request.redirect_uri is not None and channel != "client",
        requested_scopes=tuple(name for name in request.scopes if name in UNIFIED_SCOPES),
    )
    return new.at(bank) if bank else new


def check_state(new: NewAuthorizationRequest, *, store: Store, clock: Clock) -> None:
    """Check that a request can still be opened. Called before the user chooses a bank. Raises: Refusal."""
    item = store.get(*new.key)
    if item is not None:
        _check_replaceable(AuthorizationRequest.from_item(item), new, clock.time())


def choose_bank(banks: Banks, new: NewAuthorizationRequest, bic: str) -> NewAuthorizationRequest:
    """Return the request with the bank that the user has chosen. Raises: Refusal."""
    bank = _require_bank(banks, bic)
    current_call.record_concern(bank.bic, "authorization")
    return _at_bank(new, bank)


def open_request(
    new: NewAuthorizationRequest,
    *,
    repeatable: bool,
    clock: Clock,
    banks: Banks,
    authorization_requests: AuthorizationRequests,
    engine: Engine,
) -> AuthorizationRequest:
    """Store a validated request.

    ``repeatable`` is true for requests from browsers. A duplicate of an open request (reload, back button) returns the
    open request, and the choice of another bank replaces it.

    Raises:
        Refusal: the bank is missing or no longer provides the scopes, the state was used before, or the duplicated
            request has ended.
    """
    bank = _require_bank(banks, new.bic or "")
    new = _at_bank(new, bank)

    def decide(facts: Facts) -> Outcome[AuthorizationRequest]:
        before = facts.find(AuthorizationRequest, new.key)
        if before is not None and not repeatable:
            raise refusals.STATE_USED()
        if before is not None and before.repeats(new, bank.authorization_url):
            if not before.is_open(clock.time()):
                raise refusals.AUTHORIZATION_ENDED()
            return Outcome(before)
        if before is not None:
            _check_replaceable(before, new, clock.time())
        put = authorization_requests.put_request(new, bank.authorization_url, before)
        opened = AuthorizationRequest.from_item(put.item)
        return Outcome(opened, [put], report=lambda: _report_opened(opened, before))

    return engine.carry_out(decide, Facts([new.key], [None]))  # hardly any state is used twice


def initiate(
    bank: Bank,
    request: InitAuthorization,
    claim: Claim,
    *,
    settings: Settings,
    clock: Clock,
    authorization_requests: AuthorizationRequests,
    bank_answers: BankAnswers,
    engine: Engine,
) -> InitAuthorizationAnswer:
    """Return the TPP's details and the requested scopes to the bank. Raises: Refusal."""
    keys = _keys_of(request.request_url)

    def decide(facts: Facts) -> Outcome[InitAuthorizationAnswer]:
        repeated = bank_answers.find_answer(claim, facts.item(claim.key))
        authorization, client = _require_request(facts, keys, bank, request.request_url)
        if repeated is not None:
            return Outcome(repeated)
        _check_client(client, authorization)
        if not authorization.is_open(clock.time()):
            raise refusals.REQUEST_URL_INVALID()
        cancel_path = authorization.version.cancel_path
        cancel_secret = authorization_requests.cancel_credential(authorization)
        answer: InitAuthorizationAnswer = {
            "tpp_name": client.title,
            "tpp_registration_number": client.registration_number,
            "scopes": list(authorization.scopes),
            "cancel_url": settings.bank_api_url + cancel_path.format(secret=cancel_secret),
        }
        return bank_answers.answer(claim, answer)

    return engine.carry_out(decide, engine.read([*keys, claim.key]))


def save_consent(
    bank: Bank,
    request: SaveConsent,
    claim: Claim,
    *,
    settings: Settings,
    clock: Clock,
    authorization_requests: AuthorizationRequests,
    consents: Consents,
    bank_answers: BankAnswers,
    tpp_events: TppEvents,
    engine: Engine,
) -> SaveConsentAnswer:
    """Save the consent that the PSU approved, and end the request. Raises: Refusal."""
    scopes = _read_approved_scopes(bank.version, request.scopes)
    keys = _keys_of(request.request_url)

    def decide(facts: Facts) -> Outcome[SaveConsentAnswer]:
        repeated = bank_answers.find_answer(claim, facts.item(claim.key))
        authorization, client = _require_request(facts, keys, bank, request.request_url)
        if repeated is not None:
            return Outcome(repeated)
        _check_client(client, authorization)
        _check_approvable(authorization, scopes, clock.time())
        accounts = _read_approved_accounts(bank.version, request)
        code_seconds = CODE_SECONDS if client.security.is_fapi2 else None
        new = consents.new(authorization, accounts, bank.consent_days, code_seconds)
        consent_id, parameters = new.consent.consent_id, {"authorization_code": new.code, "code": new.code}
        answer: SaveConsentAnswer = {
            "callback_url": authorization.return_url(parameters, settings.public_url),
            "access_token": new.bank_token,
            "valid_until": timestamp(new.consent.valid_until),
        }
        return bank_answers.answer(
            claim,
            answer,
            [authorization_requests.update_to_approve(authorization, consent_id), *new.operations],
            tpp_events.record(client, "consent.authorised", _describe_authorised(authorization, new.consent)),
            report=lambda: log.info("consent saved", consent_id=consent_id, bic=bank.bic),
            members={"saved_consent": consent_id},
        )

    return engine.carry_out(decide, engine.read([*keys, claim.key]))


def describe_authorization(authorization: AuthorizationRequest, now: int) -> AuthorizeAnswer:
    """Return the response for an open request: the URL for the PSU and the seconds until it expires."""
    return {
        "redirect_url": authorization.request_url,
        "state": authorization.state,
        "expires_in": max(0, min(LIFETIME, authorization.valid_until - now)),
    }


def _report_opened(opened: AuthorizationRequest, before: AuthorizationRequest | None) -> None:
    members = {"authorization_id": opened.authorization_id, "bic": opened.bic}
    if before is None:
        log.info("authorization opened", **members)
    else:
        log.info("authorization replaced", **members)


def _keys_of(request_url: str) -> list[Key]:
    """Return the keys of the authorization request and of the client that a URL names. Raises: Refusal."""
    ids = parse_request_url(request_url)
    if ids is None:
        raise refusals.REQUEST_URL_INVALID()
    return [authorization_key(ids[0]), client_key(ids[1])]


def _read_approved_scopes(version: Version, scopes: Sequence[str]) -> set[str]:
    if not scopes or len(set(scopes)) != len(scopes) or any(scope not in version.scopes for scope in scopes):
        raise refusals.APPROVED_SCOPES_WRONG()
    return set(scopes)


def _read_approved_accounts(version: Version, request: SaveConsent) -> Accounts:
    """Return the approved accounts without duplicate identifiers, in the bank's order. Raises: Refusal."""
    accounts = {
        "ibans": list(dict.fromkeys(request.ibans or ())),
        "account_ids": list(dict.fromkeys(request.account_ids or ())),
        "account_numbers": distinct_accounts(request.account_numbers or ()),
    }
    needed = any(version.scopes[scope].needs_accounts for scope in request.scopes)
    if needed and not any(accounts.values()):
        raise refusals.ACCOUNTS_MISSING()
    return accounts


def _check_approvable(authorization: AuthorizationRequest, scopes: set[str], now: int) -> None:
    if authorization.status == "approved":
        raise refusals.CONSENT_SAVED_BEFORE()
    if not authorization.is_open(now):
        raise refusals.REQUEST_URL_INVALID()
    if scopes != set(authorization.scopes):
        raise refusals.APPROVED_SCOPES_OTHER()


def _describe_authorised(authorization: AuthorizationRequest, consent: Consent) -> ConsentAuthorised:
    return {
        "consent_id": consent.consent_id,
        "bic": consent.bic,
        "state": authorization.returned_state.get("state", ""),
        "scopes": list(consent.scopes),
        "unified_scopes": consent.unified_scopes,
        "consent_type": consent.consent_type,
        "valid_until": timestamp(consent.valid_until),
    }


def _require_bank(banks: Banks, bic: str) -> Bank:
    bank = banks.find(bic)
    if bank is None:
        raise refusals.BANK_UNKNOWN()
    return bank


def _at_bank(new: NewAuthorizationRequest, bank: Bank) -> NewAuthorizationRequest:
    """Return a request at its bank, whose version or scopes may have changed since it was checked. Raises: Refusal."""
    if not bank.provides(new.named_scopes):
        raise refusals.SCOPES_NOT_PROVIDED()
    return new.at(bank)


def _check_replaceable(before: AuthorizationRequest, new: NewAuthorizationRequest, now: int) -> None:
    if not before.can_be_replaced_by(new):
        raise refusals.STATE_USED()
    if not before.is_open(now):
        raise refusals.AUTHORIZATION_ENDED()


def _check_channel(client: Client, request: AuthorizationParameters, channel: Channel) -> None:
    """Check that a request uses the channel that the client's record demands (RFC 9126 §6, FAPI 2.0 §5.3.2.2). Raises:
    Refusal.
    """
    security = client.security
    if security.requires_pushed_requests and channel != "pushed":
        raise refusals.REQUEST_NOT_PUSHED()
    if channel == "browser" and not security.starts_in_browser:
        raise refusals.REQUEST_NOT_PUSHED()
    if security.is_fapi2 and request.redirect_uri is None:
        raise refusals.REDIRECT_URI_MISSING()
    if security.is_fapi2 and request.code_challenge is None:
        raise refusals.CODE_CHALLENGE_MISSING()


def _check_request(client: Client, bank: Bank | None, request: AuthorizationParameters, *, is_sandbox: bool) -> None:
    if request.redirect_uri is not None and request.redirect_uri not in client.callback_urls:
        raise refusals.REDIRECT_URI_FOREIGN()
    if not request.scopes:
        raise refusals.SCOPES_EMPTY()
    if len(set(request.scopes)) != len(request.scopes):
        raise refusals.SCOPES_REPEATED()
    if is_mixture(request.scopes):
        raise refusals.SCOPES_MIXED()
    if bank is not None and not bank.provides(request.scopes):
        raise refusals.SCOPES_NOT_PROVIDED()
    if all(set(request.scopes) - set(table) for table in scope_tables()):
        raise refusals.SCOPES_OF_NO_VERSION()
    if request.consent_type == "one_time" and services_of(request.scopes) != {"PISP"}:
        raise refusals.ONE_TIME_NOT_FOR_PAYMENTS()
    if not is_sandbox and request.code_challenge is None:
        raise refusals.CODE_CHALLENGE_MISSING()


def _require_request(facts: Facts, keys: Sequence[Key], bank: Bank, url: str) -> tuple[AuthorizationRequest, Client]:
    """Return the authorization request that ``url`` names at the bank, and the request's client. Raises: Refusal."""
    authorization = facts.find(AuthorizationRequest, keys[0])
    if authorization is None or authorization.bic != bank.bic or not authorization.has_request_url(url):
        raise refusals.REQUEST_URL_INVALID()
    log.bind(authorization_id=authorization.authorization_id)
    client = facts.find(Client, keys[1])
    if client is None or not client.active:
        raise refusals.TPP_GONE()
    return authorization, client


def _check_client(client: Client, authorization: AuthorizationRequest) -> None:
    """Check that the client's record still allows a request. Raises: Refusal."""
    if authorization.redirect_uri not in client.callback_urls:
        raise refusals.CALLBACK_URL_GIVEN_UP()
    if client.security.requires_pushed_requests and not authorization.pushed:
        raise refusals.REQUEST_URL_INVALID()
