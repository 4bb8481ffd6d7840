"""The simulated hub of the kit: authorization requests, consents, tokens, payments, and the bank's calls.

The order of validation, the error codes and the messages are the same as in the real hub. The simulated hub records
all data for the checks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from chalicelib.foundation import jsontext
from chalicelib.foundation.clock import Clock, timestamp
from chalicelib.foundation.crypto.signatures import describe_attempt, jwk, public_pem, verify
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.identifiers import (
    OpaqueToken,
    is_uuid,
    new_credential,
    new_id,
    new_secret,
    new_uuid,
    read_uuid,
)
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.bank_calls import BANK_CALLS, FIELD_FAULTS, BankCall
from chalicelib.openbanking.protocol.errors import Fault, Refusal, refuse_fields
from chalicelib.openbanking.protocol.own_answers import BankConsent
from chalicelib.openbanking.protocol.tpp_calls import ConsentType, EndedBy
from chalicelib.openbanking.protocol.version import BANK_ROOT, Version
from chalicelib.openbanking.records.authorization_requests import (
    LIFETIME,
    AuthorizationRequest,
    NewAuthorizationRequest,
    with_query,
)
from infra.conformance.bank_file import BankUnderTest
from infra.conformance.caller import Call
from infra.conformance.hub_state import Authorization, HttpAnswer, ReceivedCall, StatusReport
from infra.conformance.masking import Masking

TPP_NAME = "Causeway conformance kit"
REGISTRATION = "SANDBOX-CONFORMANCE"
CLIENT_ID = "causeway-conformance-kit"
CONSENT_SECONDS = 180 * 86400
CALLBACK = "/callback"
ORDER = "order"
"""The query parameter of a payment's ``callback_url`` that contains the order id."""
WITHOUT_ORDER = ""
"""The key for browser returns that lack the query of the ``callback_url``, so that the order is unknown."""
_PAGE = (
    '<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    "<style>:root{{color-scheme:light dark}}body{{font-family:sans-serif;max-width:40rem;margin:4rem auto}}</style>"
    "<h1>{title}</h1><p>{sentence}</p></html>"
)


class Hub:
    """The state of the simulated hub, and its responses to the bank. All methods are thread-safe."""

    def __init__(self, bank: BankUnderTest, key: RSAPrivateKey, masking: Masking, clock: Clock) -> None:
        self.bank = bank
        self.version: Version = bank.version
        self.key = key
        self.masking = masking
        self.clock = clock
        self.calls: list[ReceivedCall] = []
        self.tokens: dict[str, Authorization] = {}
        self.revoked: dict[str, ReceivedCall] = {}
        """The tokens that the bank has revoked, with the bank's calls."""
        self.ended: set[str] = set()
        """The tokens of consents that the kit has ended."""
        self.spent: set[str] = set()
        """The tokens of one-time consents that were used."""
        self.payments: set[str] = set()
        self.reports: dict[str, list[StatusReport]] = {}
        self.returns: dict[str, list[Mapping[str, str]]] = {}
        """The queries of the URLs with which browsers returned from payments, by order."""
        self.changed = threading.Condition(threading.RLock())
        self._authorizations: list[Authorization] = []
        self._answers: dict[tuple[str, str], tuple[bytes, Mapping[str, Any]]] = {}
        self._steps: Mapping[str, Callable[[Any], Mapping[str, object]]] = {
            "initiate": self._initiate,
            "save_consent": self._save_consent,
            "revoke_token": self._revoke_token,
            "report_status": self._report_status,
            "report_day": lambda _: {"status": "success"},
            "list_states": self._list_states,
        }

    # -- what the kit does as hub and TPP

    def open_authorization(self, scopes: Sequence[str], consent_type: ConsentType = "reusable") -> Authorization:
        """Create an authorization request. The PSU opens its ``request_url``."""
        new = NewAuthorizationRequest(
            client_id=CLIENT_ID,
            bic=self.bank.bic,
            api_version=self.version.number,
            scopes=tuple(scopes),
            redirect_uri=self.bank.public_url + CALLBACK,
            consent_type=consent_type,
            state=new_secret(),
            code_challenge=None,
        )
        request = AuthorizationRequest(
            authorization_id=new_id(),
            request_url=with_query(self.bank.authorization_url, new.query_parameters()),
            status="open",
            valid_until=self.clock.time() + LIFETIME,
            cancel_digest="",
            cancel_sealed=b"",
            error=None,
            error_description=None,
            replaced=(),
            **{name: getattr(new, name) for name in NewAuthorizationRequest.__dataclass_fields__},
        )
        authorization = Authorization(request, new_secret())
        with self.changed:
            self._authorizations.append(authorization)
        return authorization

    def observe(self, call: Call) -> None:
        """Record the payment that a response contains, so that the bank may report the payment's status."""
        try:
            found = jsontext.loads(call.reply.body) if call.reply else None
        except jsontext.InvalidJson:
            return
        named = found.get("payment_id", found.get("paymentId")) if isinstance(found, dict) else None
        if isinstance(named, str | int) and not isinstance(named, bool):
            with self.changed:
                self.payments.add(str(named))
                self.changed.notify_all()

    def wait_for(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait at most ``seconds`` until ``condition`` is true. Return whether it became true."""
        with self.changed:
            return self.changed.wait_for(condition, seconds)

    def reports_of(self, payment_id: str) -> list[StatusReport]:
        with self.changed:
            return list(self.reports.get(payment_id, ()))

    # -- what the bank and the PSU's browser ask for

    def handle(self, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        """Respond to one HTTP request. ``headers`` have lower-case names."""
        path = path.removeprefix(urlsplit(self.bank.public_url).path)
        with self.changed:
            answer = self._route(method, path, dict(parse_qsl(query, keep_blank_values=True)), headers, body)
            self.changed.notify_all()
            return answer

    def _route(
        self, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str], body: bytes
    ) -> HttpAnswer:
        cancel = f"{self.version.base}/cancel/"
        if method == "GET" and path == "/bank/public_key":
            return HttpAnswer(200, "application/x-pem-file", public_pem(self.key.public_key()))
        if method == "GET" and path == "/.well-known/jwks.json":
            return HttpAnswer(200, "application/json", jsontext.dumps({"keys": [jwk(self.key.public_key())]}))
        if method == "GET" and path == CALLBACK:
            return self._arrive(query)
        if method == "GET" and path.startswith(cancel):
            return self._cancel(path.removeprefix(cancel), query)
        if path.startswith(f"{BANK_ROOT}/"):
            return self._answer_bank(method, path, headers, body)
        return _page(404, "There is no such page.")

    def _arrive(self, query: Mapping[str, str]) -> HttpAnswer:
        self.masking.add(query.get("code", ""), query.get("authorization_code", ""))
        if ORDER in query or "payment_id" in query:
            self.returns.setdefault(query.get(ORDER, WITHOUT_ORDER), []).append(query)
        for authorization in self._authorizations:
            if authorization.request.state == query.get("state"):
                authorization.arrivals.append(query)
        return _page(200, "You are back at the conformance kit. Close this window, and look at the terminal.")

    def _cancel(self, secret: str, query: Mapping[str, str]) -> HttpAnswer:
        found = next((each for each in self._authorizations if each.cancel_secret == secret), None)
        if found is None:
            return _page(404, "There is no such authorization.")
        found.cancelled = query
        error = {"error": query.get("error") or "access_denied", "state": found.request.state}
        return HttpAnswer(303, "text/plain", "", with_query(found.request.redirect_uri, error))

    def _answer_bank(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        """Respond to a bank's call in the version's format, and record the call."""
        call = next((each for each in BANK_CALLS if path == self.version.base + each.path), None)
        known = call is not None and method == "POST" and call.name in self.version.calls and call.name in self._steps
        self.masking.add(headers.get("x-signature", ""))
        members, request, invalid = self._read(call, body) if known else (None, None, None)
        refusal: Refusal | None = None
        answer: Mapping[str, Any]
        try:
            if call is None or not known:
                raise refusals.ACTION_UNKNOWN()
            self._authenticate(headers, body)
            self._check_content(call, headers, body, members)
            if invalid is not None:
                raise refuse_fields(invalid, self.version.in_spelling(FIELD_FAULTS))
            status, answer = 200, self._perform(call, headers["x-request-id"].lower(), body, request)
        except Refusal as error:
            refusal = error
            shown_id = read_uuid(headers.get("x-request-id", "")) or new_uuid()
            status, answer = self.version.errors(error, shown_id, self.clock.time())
        text = jsontext.dumps(answer)
        problem = str(invalid) if invalid is not None else ""
        self._keep(
            ReceivedCall(
                path,
                call if known else None,
                dict(headers),
                body,
                members,
                request,
                problem,
                refusal,
                status,
                text,
                self.clock.monotonic(),
            )
        )
        return HttpAnswer(status, "application/json", text)

    def _read(self, call: BankCall | None, body: bytes) -> tuple[Any, Any, InvalidMessage | None]:
        """Parse a body. Return its members, and either the validated request or the faults found in the members."""
        assert call is not None
        try:
            members = jsontext.loads(body)
        except jsontext.InvalidJson:
            return None, None, None
        try:
            return members, self.version.calls[call.name].read(members), None
        except InvalidMessage as error:
            return members, None, error

    def _authenticate(self, headers: Mapping[str, str], body: bytes) -> None:
        key, signature = headers.get("x-api-key", ""), headers.get("x-signature")
        if not key:
            raise refusals.BANK_KEY_MISSING()
        if key != self.bank.api_key:
            raise refusals.BANK_KEY_WRONG()
        if not is_uuid(headers.get("x-request-id", "")):
            raise refusals.REQUEST_ID_NOT_UUID()
        if signature is None and self.version.signature_required:
            raise refusals.SIGNATURE_MISSING()
        keys = [self.bank.bank_public_key]
        if signature is not None and not verify(keys, body, signature):
            raise refusals.SIGNATURE_WRONG(hint=describe_attempt(keys, body))

    @staticmethod
    def _check_content(call: BankCall, headers: Mapping[str, str], body: bytes, members: Any) -> None:
        if len(body) > call.body_bytes:
            raise Refusal(Fault.CONTENT, f"the body is larger than {call.body_bytes} bytes")
        if content_type(headers) != "application/json":
            raise Refusal(Fault.HEADERS, "Content-Type must be application/json")
        if members is None:
            raise Refusal(Fault.NOT_JSON, "the body is not valid JSON")

    def _perform(self, call: BankCall, request_id: str, body: bytes, request: Any) -> Mapping[str, Any]:
        earlier = None if call.is_read else self._answers.get((call.path, request_id))
        if earlier is not None and earlier[0] != body:
            raise refusals.REQUEST_ID_USED()
        if earlier is not None:
            return earlier[1]
        answer = self.version.in_spelling(self._steps[call.name](request))
        self._answers[call.path, request_id] = (body, answer)
        return answer

    def _keep(self, received: ReceivedCall) -> None:
        self.calls.append(received)
        if received.call is None:
            return
        url = getattr(received.request, "request_url", None)
        for authorization in self._authorizations:
            if url is not None and authorization.request.has_request_url(url):
                {"initiate": authorization.initiated, "save_consent": authorization.saved}[received.name].append(
                    received
                )
        accepted = received.refusal is None
        early = received.refusal is not None and received.refusal.fault is Fault.PAYMENT_ID
        if received.name == "report_status" and received.request is not None and (accepted or early):
            reported = StatusReport(received.request.payment_status, received)
            self.reports.setdefault(received.request.payment_id, []).append(reported)
        if received.name == "revoke_token" and received.request is not None and accepted:
            self.revoked.setdefault(received.request.access_token, received)

    # -- the steps, by the names of ``BANK_CALLS``. Raise: Refusal

    def _find_open(self, url: str) -> Authorization:
        found = next((each for each in self._authorizations if each.request.has_request_url(url)), None)
        if found is None or not found.request.is_open(self.clock.time()) or found.cancelled is not None:
            raise refusals.REQUEST_URL_INVALID()
        return found

    def _initiate(self, request: Any) -> Mapping[str, object]:
        found = self._find_open(request.request_url)
        return {
            "tpp_name": TPP_NAME,
            "tpp_registration_number": REGISTRATION,
            "scopes": list(found.request.scopes),
            "cancel_url": self.bank.public_url + self.version.cancel_path.format(secret=found.cancel_secret),
        }

    def _save_consent(self, request: Any) -> Mapping[str, object]:
        scopes = list(request.scopes)
        if not scopes or len(set(scopes)) != len(scopes) or any(name not in self.version.scopes for name in scopes):
            raise refusals.APPROVED_SCOPES_WRONG()
        found = self._find_open(request.request_url)
        if found.token:
            raise refusals.CONSENT_SAVED_BEFORE()
        if set(scopes) != set(found.request.scopes):
            raise refusals.APPROVED_SCOPES_OTHER()
        needs = any(self.version.scopes[name].needs_accounts for name in scopes)
        if needs and not (request.ibans or request.account_ids or request.account_numbers):
            raise refusals.ACCOUNTS_MISSING()
        token, code = new_credential(new_id())[0], new_credential(new_id())[0]
        self.masking.add(token, code)
        found.valid_until = self.clock.time() + CONSENT_SECONDS
        found.callback_url = with_query(
            found.request.redirect_uri, {"authorization_code": code, "code": code, "state": found.request.state}
        )
        found.token = token
        self.tokens[token] = found
        until = timestamp(found.valid_until)
        return {"callback_url": found.callback_url, "access_token": token, "valid_until": until}

    def _revoke_token(self, request: Any) -> Mapping[str, object]:
        if OpaqueToken.parse(request.access_token, parts=1) is None:
            raise refusals.TOKEN_MALFORMED()
        if request.access_token not in self.tokens:
            raise refusals.TOKEN_UNKNOWN()
        return {"status": "success"}

    def _report_status(self, request: Any) -> Mapping[str, object]:
        if request.payment_id not in self.payments:
            raise refusals.PAYMENT_ID_UNKNOWN()
        return {"status": "success"}

    def _list_states(self, request: Any) -> Mapping[str, object]:
        by_id = {token.partition(".")[0]: token for token in self.tokens}
        known: list[tuple[str | None, str | None]] = [(None, each) for each in request.access_tokens or ()]
        known += [(each, by_id.get(each)) for each in request.consent_ids or ()]
        return {"consents": [self._state(consent_id, token) for consent_id, token in known]}

    def _state(self, consent_id: str | None, token: str | None) -> BankConsent:
        found = self.tokens.get(token or "")
        if token is None or found is None:
            nothing: BankConsent = {
                "consent_id": consent_id,
                "status": "unknown",
                "scopes": None,
                "valid_until": None,
                "ended_at": None,
                "ended_by": None,
            }
            return nothing
        ended_by: EndedBy | None = "bank" if token in self.revoked else "tpp" if token in self.ended else None
        return {
            "consent_id": token.partition(".")[0],
            "status": "spent" if token in self.spent else "revoked" if ended_by else "authorised",
            "scopes": list(found.request.scopes),
            "valid_until": timestamp(found.valid_until),
            "ended_at": timestamp(self.clock.time()) if ended_by else None,
            "ended_by": ended_by,
        }


def content_type(headers: Mapping[str, str]) -> str:
    """Return the media type of a body; JSON if the header is missing."""
    return headers.get("content-type", "application/json").partition(";")[0].strip().lower() or "application/json"


def _page(status: int, sentence: str) -> HttpAnswer:
    return HttpAnswer(status, "text/html; charset=utf-8", _PAGE.format(title=TPP_NAME, sentence=sentence))
