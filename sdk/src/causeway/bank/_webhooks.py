"""Handles webhooks of the hub: authentication, parsing, consent lookup, and responses in the format of the version."""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from causeway import _json
from causeway._records import Record, RecordError
from causeway.bank import _reads
from causeway.bank._body import read_body
from causeway.bank._call import Webhook, load
from causeway.bank._consents import Consents
from causeway.bank._functions import Functions
from causeway.bank._payments import Payments
from causeway.bank._versions import Version
from causeway.bank.calls import Call, Consent
from causeway.bank.refusals import (
    BadRequest,
    ConsentNotInForce,
    OutOfService,
    Refused,
    RequestIdInvalid,
    ResourceUnknown,
    ScopeMissing,
    WrongCredentials,
    WrongSignature,
)
from causeway.errors import ConnectionLost

if TYPE_CHECKING:
    from causeway.bank.signatures import HubKeys

log = logging.getLogger("causeway")
BODY_BYTES = 5_000_000
UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@dataclass(frozen=True, slots=True)
class Webhooks:
    """Responds to the hub's webhooks."""

    version: Version
    api_keys: Sequence[str] = field(repr=False)
    hub_keys: HubKeys
    functions: Functions
    consents: Consents
    payments: Payments

    async def respond(self, request: Request) -> Response:
        """Respond to any ``POST`` request that is not for a page."""
        path = f"/{request.path_params['path']}"
        known = path if path in self.version.webhooks else "an unknown webhook"
        headers: dict[str, str] = {}
        try:
            answer = await self._answer(path, request)
            status, body = 200, self._success(path, answer)
        except Refused as refused:
            status, body, headers = self._refusal(refused, request)
        except Exception:
            log.exception("%s failed", known)
            status, body, headers = self._refusal(Refused("the bank failed", status=500, code_v1=4002), request)
        log.info("%s %s", known, status)
        return Response(_json.dumps(body), status, headers, media_type="application/json")

    def _success(self, path: str, members: Mapping[str, Any]) -> dict[str, Any]:
        """Add the success status to a response. All responses of version 1 have it, and in the two versions the
        response of ``revoke_token``.
        """
        says_status = self.version.says_status or path == self.version.paths["revoke"]
        return {"status": "success", **members} if says_status else dict(members)

    def _refusal(self, refused: Refused, request: Request) -> tuple[int, dict[str, Any], dict[str, str]]:
        given = request.headers.get("x-request-id", "").lower()
        headers = {} if refused.retry_after is None else {"Retry-After": str(refused.retry_after)}
        return refused.status, self.version.error_body(refused, given if UUID.fullmatch(given) else ""), headers

    async def _answer(self, path: str, request: Request) -> Mapping[str, Any]:
        """Return the members of a success response. Raises ``Refused``."""
        body = await self._authentic_body(request)
        webhook = self.version.webhooks.get(path)
        if webhook is None:
            raise ResourceUnknown
        record = _read(webhook, body)
        token = request.headers.get("x-auth-token", "")
        if path == self.version.paths["revoke"]:
            return await self._revoke(record)
        consent = await self._consent(webhook, token) if webhook.token or token else None
        call = Call(
            psu=consent.psu if consent else "",
            consent=consent,
            request=record,
            request_id=request.headers["x-request-id"].lower(),
            headers={name: value for name, value in request.headers.items() if name.startswith("psu-")},
        )
        return await self._dispatch(path, call, _digest(path, token, body))

    async def _authentic_body(self, request: Request) -> bytes:
        """Return the body if its signature proves that the hub sent it. Raises ``Refused``."""
        given = request.headers.get("x-api-key", "").encode()
        if not any(hmac.compare_digest(given, key.encode()) for key in self.api_keys):
            raise WrongCredentials
        if not UUID.fullmatch(request.headers.get("x-request-id", "")):
            raise RequestIdInvalid
        body = await read_body(request, BODY_BYTES)
        try:
            is_signed = await self.hub_keys.verify(body, request.headers.get("x-signature", ""))
        except ConnectionLost as error:
            log.warning("no webhook can be verified: %s", error)
            raise OutOfService from error
        if not is_signed:
            raise WrongSignature
        return body

    async def _consent(self, webhook: Webhook, token: str) -> Consent:
        """Return the consent of a call. Raises ``ConsentNotInForce`` or ``ScopeMissing``."""
        consent = await self.consents.find(token)
        if webhook.scope is not None and webhook.scope not in consent.scopes:
            raise ScopeMissing
        return consent

    async def _dispatch(self, path: str, call: Call, digest: str) -> Mapping[str, Any]:
        if path in self.version.kinds:
            return await self.payments.initiate(self.version.kinds[path], call, digest)
        if path in self.version.status_paths:
            request: Any = call.request
            return await self.payments.status(call, request.payment_id)
        if call.consent is not None and call.consent.spent:
            raise ConsentNotInForce("the one-time consent was used")
        name = next(name for name, of in self.version.paths.items() if of == path)
        answer = await _reads.READS[name](self.functions, call)
        return answer.to_json()

    async def _revoke(self, record: Any) -> Mapping[str, Any]:
        """End a consent. A duplicate request succeeds. Raises ``ResourceUnknown``."""
        ended = await self.consents.end_by_hub(record.access_token)
        if ended is None:
            raise ResourceUnknown("this bank has no such token")
        if self.functions.revoked is not None:
            await self.functions.call("revoked", ended)
        return {}


def _read(webhook: Webhook, body: bytes) -> Record:
    """Parse a request body and return its record. Raises ``BadRequest``."""
    try:
        return load(webhook.request).from_json(_json.loads(body))
    except RecordError as error:
        raise BadRequest(str(error)) from error
    except ValueError as error:
        raise BadRequest("the body is not JSON", code_v1=4003) from error


def _digest(path: str, token: str, body: bytes) -> str:
    """Compute the digest of an order. Two orders with the same id but different digests are different orders."""
    parts = (path.encode(), token.encode("utf-8", "surrogateescape"), body)
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()
